/*
 * What the files that implement dim.h share: dim_table.c has the expressions, dim_value.c their values,
 * dim.c the arithmetic that makes them.
 */
#ifndef NEFF_DIM_PARTS_H
#define NEFF_DIM_PARTS_H

#include "neff/core/dim.h"

/* ---- dim_table.c ---- */

/* Whether arithmetic on expressions may go on: there is an end to what it may cost. */
bool dim_may_work(struct dim_table *t);
/* The handle of the expression, which is added when missing; past a limit 0, and t->too_large. */
dim_t dim_intern(struct dim_table *t, int op, dim_t a, dim_t b, bool runtime);
/* The expression when it is an `op`, else NULL. Valid until one is added. */
const struct dim_node *dim_node_of(const struct dim_table *t, dim_t d, int op);
/* Depth and size of an operand, which may be a constant. */
struct dim_node dim_operand(const struct dim_table *t, dim_t d);

/* ---- dim_value.c ---- */

/* Of two numbers; the nearest constant where the result is none. */
int64_t dim_apply(int op, int64_t a, int64_t b);

#endif
