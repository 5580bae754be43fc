/*
 * Rows of complex numbers of FP32 added, subtracted and multiplied in FP32, without the way of other types through
 * double complex. Products have no infinities where parts are no numbers, as those of XLA.
 */
#ifndef RUNTIME_OPS_COMPLEX_ROWS_H
#define RUNTIME_OPS_COMPLEX_ROWS_H

#include "neff/core/op.h"

#include <stdint.h>

/* n numbers z = x op y, each a pair of floats; z dense, xs and ys 1 or 0, in numbers. */
typedef void complex_row_fn(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n);

/* NULL: none. */
complex_row_fn *complex_row(enum op op);

#endif
