/*
 * Parts of dense linear algebra, for matrices of double (`parts` 1) and of double complex (2), row by row. Sizes, also
 * `pitch` from one row to the next, count elements; scalars are complex for both. What is computed depends on sizes
 * alone. Products of complex numbers are the four products of their parts, as LAPACK has them: infinite and NaN parts
 * are not looked at.
 */
#ifndef RUNTIME_OPS_DENSE_H
#define RUNTIME_OPS_DENSE_H

#include "runtime/ops/common/complex_number.h"

#include <stdbool.h>
#include <stdint.h>

enum { DENSE_BLOCK = 8 }; /* rows or columns of what is computed one by one */

static inline double complex dense_get(int parts, const double *x)
{
    return CMPLX(x[0], parts > 1 ? x[1] : 0);
}

static inline void dense_put(int parts, double *x, double complex v)
{
    x[0] = creal(v);
    if (parts > 1)
        x[1] = cimag(v);
}

static inline double complex dense_times(double complex x, double complex y)
{
    return CMPLX(creal(x) * creal(y) - cimag(x) * cimag(y), creal(x) * cimag(y) + cimag(x) * creal(y));
}

/* Rows of the first of two parts of a matrix of more than DENSE_BLOCK. */
static inline int64_t dense_half(int64_t n)
{
    return (n / 2 + DENSE_BLOCK - 1) / DENSE_BLOCK * DENSE_BLOCK;
}

/* ---- n neighbours ---- */
void dense_take(int parts, double *y, const double *x, double complex f, int64_t n); /* y -= f x */
void dense_scale(int parts, double *x, double complex f, int64_t n);                 /* x *= f */
void dense_divide(int parts, double *x, double complex f, int64_t n);                /* x /= f */
void dense_exchange(int parts, double *x, double *y, int64_t n);
/* The sum of x y, or of x's conjugates times y. */
double complex dense_dot(int parts, const double *x, const double *y, int64_t n, bool conjugate);

/* ---- matrices: first elements, pitches and sizes in the order of BLAS, which callers know ---- */
/* y (cols, rows) = x (rows, cols), or its conjugate. */
void dense_transpose(int parts, double *y, int64_t y_pitch, const double *x, int64_t x_pitch, int64_t rows,
                     int64_t cols, bool conjugate);
/* y (rows, cols) -= a (rows, k) b (k, cols). */
void dense_take_product(int parts, double *y, int64_t y_pitch, const double *a, int64_t a_pitch, const double *b,
                        int64_t b_pitch, int64_t rows, int64_t cols, int64_t k);
/* b (n, cols) becomes the solution of t x = b, of whose t one half counts; unit: and no diagonal. */
void dense_solve(int parts, const double *t, int64_t t_pitch, int64_t n, bool lower, bool unit, double *b,
                 int64_t b_pitch, int64_t cols);
/* The lower half becomes the factor, the upper one nothing of use. Returns the number, from 1, of the first pivot that
 * is not positive, which ends it where `stops`, or 0. */
int64_t dense_cholesky(int parts, double *a, int64_t pitch, int64_t n, bool stops);
/* The same of n <= DENSE_BLOCK. */
int64_t dense_cholesky_block(int parts, double *a, int64_t pitch, int64_t n, bool stops);
/* Columns [first, end) of an L U factor of m rows, and pivots, from 1; the exchanged rows have `pitch` elements.
 * Returns the number, from 1, of the first pivot that is zero, or 0. */
int64_t dense_factor_columns(int parts, double *a, int64_t pitch, int64_t m, int64_t first, int64_t end,
                             double *pivots);

#endif
