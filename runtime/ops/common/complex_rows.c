#include "runtime/ops/common/complex_rows.h"


/* Neighbours apart, so that vectors are made of them: xs and ys are 1 or 0. */
#define COMPLEX_ROW(name, re, im)                                                                  \
    static inline void name##_by(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n) \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float a = x[2 * i * xs], b = x[2 * i * xs + 1], c = y[2 * i * ys], d = y[2 * i * ys + 1]; \
            z[2 * i] = re, z[2 * i + 1] = im;                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name(float *z, const float *x, int64_t xs, const float *y, int64_t ys, int64_t n)  \
    {                                                                                              \
        if (xs && ys)                                                                              \
            name##_by(z, x, 1, y, 1, n);                                                           \
        else                                                                                       \
            name##_by(z, x, xs, y, ys, n);                                                         \
    }
COMPLEX_ROW(complex_add, a + c, b + d)
COMPLEX_ROW(complex_sub, a - c, b - d)
COMPLEX_ROW(complex_mul, a *c - b * d, a *d + b * c)

complex_row_fn *complex_row(enum op op)
{
    return op == OP_add ? complex_add : op == OP_sub ? complex_sub : op == OP_mul ? complex_mul : NULL;
}
