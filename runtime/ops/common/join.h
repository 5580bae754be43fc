/*
 * How the updates of a scatter meet what is there, in the elements' own type.
 */
#ifndef RUNTIME_OPS_JOIN_H
#define RUNTIME_OPS_JOIN_H

#include "neff/core/op.h"

#include <stdint.h>

/* n elements: y = y op x, rounded to the type; steps in elements. */
typedef void join_fn(void *y, int64_t y_step, const void *x, int64_t x_step, int64_t n);

/* Extremes of floats are NaN where either is; of two zeros it is b, the update. */
#define JOINED_MAX(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define JOINED_MIN(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))

/* NULL: none here, eval_elementwise has it. */
join_fn *join_of(enum op op, int dtype);
/* The same for dense rows of n elements: by a kernel where there is one and its call pays. Of two zeros, that
 * may be what is there. */
join_fn *join_of_rows(enum op op, int dtype, int64_t n);

#endif
