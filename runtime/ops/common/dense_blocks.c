/* Small factors of dense matrices (dense.h). Each element waits for the one before: there is nothing for vectors. */
#include "runtime/ops/common/dense.h"

#include <math.h>

#define T            double
#define PARTS        1
#define TYPED(name)  real_##name
#define CONJUGATE(x) (x)
#define REAL_PART(x) (x)
#define TIMES(x, y)  ((x) * (y))
#define SIZE_OF(x)   fabs(x)
#include "runtime/ops/common/dense_blocks.inc"

#define T            double complex
#define PARTS        2
#define TYPED(name)  complex_##name
#define CONJUGATE(x) conj(x)
#define REAL_PART(x) creal(x)
#define TIMES(x, y)  dense_times(x, y)
#define SIZE_OF(x)   (fabs(creal(x)) + fabs(cimag(x))) /* what LAPACK compares */
#include "runtime/ops/common/dense_blocks.inc"

int64_t dense_cholesky_block(int parts, double *a, int64_t pitch, int64_t n, bool stops)
{
    return parts > 1 ? complex_cholesky_block((double complex *)a, pitch, n, stops)
                     : real_cholesky_block(a, pitch, n, stops);
}

int64_t dense_factor_columns(int parts, double *a, int64_t pitch, int64_t m, int64_t first, int64_t end,
                             double *pivots)
{
    return parts > 1 ? complex_factor_columns((double complex *)a, pitch, m, first, end, (double complex *)pivots)
                     : real_factor_columns(a, pitch, m, first, end, pivots);
}
