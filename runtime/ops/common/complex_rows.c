#include "runtime/ops/common/complex_rows.h"


static void complex_sums(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n, float sign)
{
    if (xs && ys)
        xs = ys = 1; /* known, so that vectors are made of it */
    for (int64_t i = 0; i < n; i++) {
        z[2 * i] = x[2 * i * xs] + sign * y[2 * i * ys];
        z[2 * i + 1] = x[2 * i * xs + 1] + sign * y[2 * i * ys + 1];
    }
}

static void complex_add(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n)
{
    complex_sums(z, x, xs, y, ys, n, 1);
}

static void complex_sub(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n)
{
    complex_sums(z, x, xs, y, ys, n, -1);
}

static void complex_mul(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n)
{
    if (xs && ys)
        xs = ys = 1; /* known, so that vectors are made of it */
    for (int64_t i = 0; i < n; i++) {
        const float xr = x[2 * i * xs], xi = x[2 * i * xs + 1], yr = y[2 * i * ys], yi = y[2 * i * ys + 1];
        z[2 * i] = xr * yr - xi * yi, z[2 * i + 1] = xr * yi + xi * yr;
    }
}

complex_row_fn *complex_row(enum op op)
{
    return op == OP_add ? complex_add : op == OP_sub ? complex_sub : op == OP_mul ? complex_mul : NULL;
}
