/*
 * Every activation in double, and how close the kernels promise to come
 * (runtime/kernels/kernels.def).
 */
#ifndef TEST_UNIT_ACTIVATION_REFERENCE_H
#define TEST_UNIT_ACTIVATION_REFERENCE_H

#include "runtime/kernels/kernels.h"

#include <math.h>

static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static inline double ref_copy(double x, const float *p)
{
    return x;
}
static inline double ref_relu(double x, const float *p)
{
    return x < 0 ? 0 : x;
}
static inline double ref_clip(double x, const float *p)
{
    return x < p[0] ? p[0] : x > p[1] ? p[1] : x;
}
static inline double ref_leaky_relu(double x, const float *p)
{
    return x < 0 ? x * p[0] : x;
}
static inline double ref_round_shift(double x, const float *p)
{
    return fmax(nearbyint(x), -3e38F) + p[0]; /* NaN is lowest */
}
static inline double ref_thresholded_relu(double x, const float *p)
{
    return x > p[0] ? x : 0;
}
static inline double ref_sigmoid(double x, const float *p)
{
    return sigmoid(x);
}
static inline double ref_tanh(double x, const float *p)
{
    return tanh(x);
}
static inline double ref_exp(double x, const float *p)
{
    return exp(x);
}
static inline double ref_expm1(double x, const float *p)
{
    return expm1(x);
}
static inline double ref_log(double x, const float *p)
{
    return log(x);
}
static inline double ref_log1p(double x, const float *p)
{
    return log1p(x);
}
static inline double ref_erf(double x, const float *p)
{
    return erf(x);
}
static inline double ref_erfc(double x, const float *p)
{
    return erfc(x);
}
/* Bisection on erf, and on erfc where that is more accurate. */
static inline double ref_erf_inv(double x, const float *p)
{
    double low = 0, high = 6, a = fabs(x);
    if (!(a < 1))
        return a == 1 ? copysign(INFINITY, x) : NAN;
    if (a < 1e-10)
        return x * (sqrt(M_PI) / 2);
    for (int i = 0; i < 90; i++) {
        double y = (low + high) / 2;
        if (a < 0.5 ? erf(y) < a : erfc(y) > 1 - a)
            low = y;
        else
            high = y;
    }
    return copysign(high, x);
}
static inline double ref_gelu(double x, const float *p)
{
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}
static inline double ref_gelu_tanh(double x, const float *p)
{
    return x * sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
static inline double ref_silu(double x, const float *p)
{
    return x * sigmoid(x);
}
static inline double ref_hard_sigmoid(double x, const float *p)
{
    double y = p[0] * x + p[1];
    return y < 0 ? 0 : y > 1 ? 1 : y;
}
static inline double ref_hard_swish(double x, const float *p)
{
    double y = x / 6 + 0.5;
    return x * (y < 0 ? 0 : y > 1 ? 1 : y);
}
static inline double ref_softplus(double x, const float *p)
{
    return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}
static inline double ref_mish(double x, const float *p)
{
    return x * tanh(ref_softplus(x, p));
}
static inline double ref_elu(double x, const float *p)
{
    return x <= 0 ? p[0] * expm1(x) : x;
}
static inline double ref_celu(double x, const float *p)
{
    return x <= 0 ? p[0] * expm1(x / p[0]) : x;
}
static inline double ref_selu(double x, const float *p)
{
    return p[1] * (x <= 0 ? p[0] * expm1(x) : x);
}
static inline double ref_softsign(double x, const float *p)
{
    return x / (1 + fabs(x));
}
static inline double ref_sqrt(double x, const float *p)
{
    return sqrt(x);
}
static inline double ref_rsqrt(double x, const float *p)
{
    return 1 / sqrt(x);
}
static inline double ref_reciprocal(double x, const float *p)
{
    return 1 / x;
}
static inline double ref_abs(double x, const float *p)
{
    return fabs(x);
}
static inline double ref_neg(double x, const float *p)
{
    return -x;
}
static inline double ref_square(double x, const float *p)
{
    return x * x;
}
static inline double ref_sign(double x, const float *p)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static inline double ref_floor(double x, const float *p)
{
    return floor(x);
}
static inline double ref_ceil(double x, const float *p)
{
    return ceil(x);
}
static inline double ref_round(double x, const float *p)
{
    return rint(x);
}
static inline double ref_sin(double x, const float *p)
{
    return sin(x);
}
static inline double ref_cos(double x, const float *p)
{
    return cos(x);
}
static inline double ref_tan(double x, const float *p)
{
    return tan(x);
}
static inline double ref_asin(double x, const float *p)
{
    return asin(x);
}
static inline double ref_acos(double x, const float *p)
{
    return acos(x);
}
static inline double ref_atan(double x, const float *p)
{
    return atan(x);
}
static inline double ref_sinh(double x, const float *p)
{
    return sinh(x);
}
static inline double ref_cosh(double x, const float *p)
{
    return cosh(x);
}
static inline double ref_asinh(double x, const float *p)
{
    return asinh(x);
}
static inline double ref_acosh(double x, const float *p)
{
    return acosh(x);
}
static inline double ref_atanh(double x, const float *p)
{
    return atanh(x);
}
static inline double ref_trunc(double x, const float *p)
{
    return trunc(x);
}
static inline double ref_shrink(double x, const float *p)
{
    return x < -p[1] ? x + p[0] : x > p[1] ? x - p[0] : 0;
}

struct activation_case {
    const char *name;
    double (*reference)(double x, const float *p);
    double ulp, floor;
    float low, high;
};
static const struct activation_case activation_cases[] = {
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high)                                 \
    [ACTIVATION_##name] = {#name, ref_##name, ulp, floor, low, high},
#include "runtime/kernels/kernels.def"
};

#endif
