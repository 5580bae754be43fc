/*
 * Operands that are indices into a dim; negative ones count from its end.
 */
#ifndef RUNTIME_OPS_INDICES_H
#define RUNTIME_OPS_INDICES_H

#include "runtime/ops/ops.h"

/* Element i of `indices` as a place in [0, n); fails when it is outside. */
bool index_place(struct op_call *c, const struct tensor *indices, int64_t i, int64_t n,
                 int64_t *out);

#endif
