/*
 * Sums, products and extremes of integers by the kernels for rows of them.
 */
#ifndef RUNTIME_OPS_REDUCE_INTEGERS_H
#define RUNTIME_OPS_REDUCE_INTEGERS_H

#include "runtime/ops/common/walk.h"

#include "neff/core/op.h"

/* Operand 0 of the walk, which has not begun, is x, operand 1 the results. z holds what an empty reduction gives.
 * False, and nothing done, where no kernel computes this, or rows are too short for it to pay. */
bool reduce_integers_by_rows(enum op op, const struct walk *dims, const struct tensor *x, struct tensor *z);

#endif
