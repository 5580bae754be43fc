/*
 * How the updates of a scatter meet what is there, in the elements' own type.
 */
#ifndef RUNTIME_OPS_JOIN_H
#define RUNTIME_OPS_JOIN_H

#include "neff/core/op.h"

#include <stddef.h>
#include <stdint.h>

/* n elements: y = y op x, rounded to the type; steps in elements. */
typedef void join_fn(void *y, int64_t y_step, const void *x, int64_t x_step, int64_t n);

/* Extremes of floats are NaN where either is; of two zeros it is b, the update. */
#define JOINED_MAX(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define JOINED_MIN(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))

/* NULL: none here, eval_elementwise has it. */
join_fn *join_of(enum op op, int dtype);
/* y = y op x of dense rows of n elements by the kernel for columns that are reduced: what is there is the sum or
 * extreme so far. pitch 0, rows 1. Of two zeros, the result may be what is there. */
typedef void join_columns_fn(float *y, const float *x, ptrdiff_t pitch, size_t rows, size_t n);
/* NULL: there is none, or its call does not pay. */
join_columns_fn *join_columns_of(enum op op, int dtype, int64_t n);

#endif
