/*
 * Functions from the rows of op_elementwise.def, and the helpers that the rows name.
 *
 * Integer division follows XLA: x / 0 is -1, x % 0 is x, and the lowest value divided by -1 is
 * itself.
 */
#include "runtime/ops/common/elementwise.h"

#include "neff/base/use.h"
#include "runtime/ops/common/special.h"

#include <math.h>

static inline int64_t wrap_add(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static inline int64_t wrap_sub(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static inline int64_t wrap_mul(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static inline int64_t wrap_neg(int64_t x)
{
    return wrap_sub(0, x);
}

static inline int64_t int_div(int64_t x, int64_t y)
{
    if (y == 0 || y == -1)
        return y ? wrap_neg(x) : -1;
    return x / y;
}

/* Remainder with the sign of y. */
static inline int64_t floor_mod(int64_t x, int64_t y)
{
    if (y == 0 || y == -1)
        return y ? 0 : x;
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static inline int64_t floor_div(int64_t x, int64_t y)
{
    return wrap_sub(int_div(x, y), y != 0 && y != -1 && x % y != 0 && (x < 0) != (y < 0));
}

/* The same of floats; a remainder of 0 has the sign of y too. */
static inline double floor_mod_(double x, double y)
{
    double r = fmod(x, y);
    if (r == 0)
        return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

static inline uint64_t uint_pow(uint64_t x, uint64_t y)
{
    uint64_t z = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1)
            z *= x;
    return z;
}

/* Negative exponents truncate: only 1 and -1 have a reciprocal. */
static inline int64_t int_pow(int64_t x, int64_t y)
{
    if (y >= 0)
        return (int64_t)uint_pow((uint64_t)x, (uint64_t)y);
    return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
}

static inline double sigmoid_(double x)
{
    if (x >= 0)
        return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

/* f32 with 10 mantissa bits, the type of the Tensor engine's tf32 operands. */
static inline double round_tf32_(double x)
{
    static const struct float_format tf32 = {8, 10, 127, true, true, 1, true};
    return float_decode(&tf32, float_encode(&tf32, x, false));
}

static inline double round_f8e4m3_(double x)
{
    const struct float_format *f = float_format(DT_F8E4M3FN);
    return float_decode(f, float_encode(f, x, true));
}

static inline double gelu_tanh_(double x)
{
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static inline double normal_cdf_(double x)
{
    return 0.5 * erfc(-0.70710678118654752440 * x);
}

static inline double normal_pdf_(double x)
{
    return 0.39894228040143267794 * exp(-0.5 * x * x);
}

/* The derivative of x sigmoid(a x). */
static inline double swish_dx_(double a, double x)
{
    double s = sigmoid_(a * x);
    return s + a * x * s * (1 - s);
}

static inline double abs_max_(double x, double y)
{
    double a = fabs(x), b = fabs(y);
    return a != a || a > b ? a : b;
}

static inline double abs_min_(double x, double y)
{
    double a = fabs(x), b = fabs(y);
    return a != a || a < b ? a : b;
}

/* Shifts past the width give 0, to the right of signed numbers the sign. */
static inline uint64_t shift_left(uint64_t x, uint64_t y)
{
    return y < 64 ? x << y : 0;
}

static inline int64_t shift_right(int64_t x, int64_t y)
{
    return x >> ((uint64_t)y < 64 ? y : 63);
}

/* x between 0 and 1; NaN stays. */
static inline double unit_(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static inline double complex csign_(double complex x)
{
    return x == 0 ? x : x / cabs(x);
}

/* The plain formula: where a part is infinite, C's product looks for an infinity to give, which
 * frameworks do not. */
static inline double complex cmul_(double complex x, double complex y)
{
    double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    return CMPLX(a * c - b * d, a * d + b * c);
}

/* Without a direction there is no number: C gives an infinity or zero parts. */
static inline double complex cexp_(double complex x)
{
    return isfinite(cimag(x)) ? cexp(x) : CMPLX(NAN, NAN);
}

static inline double complex cexpm1_(double complex x)
{
    double re = creal(x), im = cimag(x), half = sin(im / 2);
    if (im == 0)
        return CMPLX(expm1(re), im);
    return CMPLX(expm1(re) * cos(im) - 2 * half * half, exp(re) * sin(im));
}

static inline double complex clog1p_(double complex x)
{
    double re = creal(x), im = cimag(x);
    if (hypot(re, im) > 0.5)
        return clog(1 + x);
    return CMPLX(0.5 * log1p(re * (2 + re) + im * im), atan2(im, 1 + re));
}

static inline double complex cpow_(double complex x, double complex y)
{
    if (y == 0)
        return 1;
    return x == 0 ? (creal(y) > 0 ? 0 : CMPLX(NAN, NAN)) : cpow(x, y);
}

static inline double complex catan2_(double complex x, double complex y)
{
    return -I * clog((y + I * x) / csqrt(x * x + y * y));
}

#undef I
#define NONE 0

/* Integer rows serve signed and unsigned alike; there some comparisons are always false. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"

#define SCALAR(id, expr)                                                                           \
    static inline double f_##id(double x, double y, double a, double b)                            \
    {                                                                                              \
        return expr;                                                                               \
    }                                                                                              \
    static void fn_##id(const double *px, const double *py, double a, double b, double *z,         \
                        int64_t n)                                                                 \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            z[i] = f_##id(px[i], py ? py[i] : 0, a, b);                                            \
    }

#define BULK(name, T, expr)                                                                        \
    static void name(const T *px, const T *py, T *z, int64_t n)                                    \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = px[i], y = py ? py[i] : 0;                                                       \
            (void)x, (void)y;                                                                      \
            z[i] = expr;                                                                           \
        }                                                                                          \
    }

/* Complex numbers are only equal or not: E sees 0 and 0, or 1 and 0. */
#define COMPARE_COMPLEX(id, expr)                                                                  \
    static void cn_##id(const double complex *px, const double complex *py, double complex *z,     \
                        int64_t n)                                                                 \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            double x = px[i] == py[i] ? 0 : 1, y = 0;                                              \
            z[i] = expr;                                                                           \
        }                                                                                          \
    }

#define OP(...)
#define UNARY(id, onnx, hlo, kinds, float_expr, int_expr, complex_expr)                            \
    SCALAR(id, float_expr)                                                                         \
    BULK(sn_##id, int64_t, int_expr)                                                               \
    BULK(un_##id, uint64_t, int_expr)                                                              \
    BULK(cn_##id, double complex, complex_expr)
#define PARAMETRIC(id, onnx, name_a, a, name_b, b, float_expr) SCALAR(id, float_expr)
#define BINARY(id, onnx, hlo, kinds, flags, float_expr, signed_expr, unsigned_expr, complex_expr)  \
    SCALAR(id, float_expr)                                                                         \
    BULK(sn_##id, int64_t, signed_expr)                                                            \
    BULK(un_##id, uint64_t, unsigned_expr)                                                         \
    BULK(cn_##id, double complex, complex_expr)
#define COMPARE(id, onnx, hlo, kinds, flags, expr)                                                 \
    SCALAR(id, expr)                                                                               \
    BULK(sn_##id, int64_t, expr)                                                                   \
    BULK(un_##id, uint64_t, expr)                                                                  \
    COMPARE_COMPLEX(id, expr)
#include "neff/core/op.def"

#define FUNCTIONS(id, kinds)                                                                       \
    (kinds) & KF ? f_##id : NULL, (kinds)&KF ? fn_##id : NULL, (kinds)&KI ? sn_##id : NULL,        \
        (kinds) & (KI | KB) ? un_##id : NULL, (kinds)&KC ? cn_##id : NULL

/* The row of each operator. */
#define OP(...)
#define UNARY(id, onnx, hlo, kinds, ...)                                                           \
    WHEN_USED(EW_##id, static const struct ew_row row_##id = {EW_UNARY, kinds, "", "", 0, 0,       \
                                                              FUNCTIONS(id, kinds)};)
#define PARAMETRIC(id, onnx, name_a, a, name_b, b, ...)                                            \
    WHEN_USED(EW_##id, static const struct ew_row row_##id = {EW_PARAMETRIC, KF, name_a, name_b,   \
                                                              a, b, f_##id, fn_##id, NULL, NULL,   \
                                                              NULL};)
#define BINARY(id, onnx, hlo, kinds, ...)                                                          \
    WHEN_USED(EW_##id, static const struct ew_row row_##id = {EW_BINARY, kinds, "", "", 0, 0,      \
                                                              FUNCTIONS(id, kinds)};)
#define COMPARE(id, onnx, hlo, kinds, ...)                                                         \
    WHEN_USED(EW_##id, static const struct ew_row row_##id = {EW_COMPARE, kinds, "", "", 0, 0,     \
                                                              FUNCTIONS(id, kinds)};)
#include "neff/core/op.def"

static const struct ew_row *const rows[OP_COUNT] = {
#define OP(...)
#define UNARY(id, ...) WHEN_USED(EW_##id, [OP_##id] = &row_##id, )
#define PARAMETRIC     UNARY
#define BINARY         UNARY
#define COMPARE        UNARY
#include "neff/core/op.def"
};

const struct ew_row *ew_row(enum op op)
{
    return rows[op];
}
