/*
 * Elementwise operators of repeated operands: front ends write out what numpy broadcasting says
 * anyway, and a table that repeats its rows is as long as the result.
 */
#ifndef PASSES_REPEATS_H
#define PASSES_REPEATS_H

#include "passes/ir/ir.h"

/* The same function of what the operands repeat, repeated itself where no operand has a dim whole.
 * NULL when no operand repeats anything, or after a failure. */
struct value *of_unrepeated(struct graph *g, struct node *n, struct diag *d);

#endif
