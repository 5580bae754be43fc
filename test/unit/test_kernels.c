/*
 * Every kernel of every variant this CPU can run, against scalar references in double.
 * XCC_KERNELS_EXHAUSTIVE=1 tries all 2^32 floats on the activations instead of a dense sample.
 */
#include "neff/pack.h"
#include "runtime/kernels/gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct kernel_table *table; /* the variant under test */

static uint32_t random_state = 12345;
static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}
static float uniform(float low, float high)
{
    return low + (high - low) * (float)(next_random() >> 8) / 16777216.0f;
}
static float *random_row(size_t n)
{
    float *x = malloc((n ? n : 1) * sizeof *x); /* exact size: ASan sees every overrun */
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(-2, 2);
    return x;
}
static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static struct in_row row(const float *p)
{
    return (struct in_row){p, 1};
}
static const struct in_row none = {NULL, 0};

/* Difference in units in the last place of the f32 nearest to max(|expected|, floor). */
static double ulps(float got, double expected, double floor)
{
    if (isnan(expected))
        return isnan(got) ? 0 : INFINITY;
    if (isinf((float)expected) || isinf(got))
        return (float)expected == got                          ? 0
               : fabs(expected) > 3.4e38 && fabs(got) > 3.4e38 ? 1
                                                               : INFINITY;
    double m = fmax(fmax(fabs(expected), floor), 0x1p-126);
    return fabs(got - expected) / ldexp(1.0, ilogb(m) - 23);
}

/* ---- activations ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double ref_copy(double x, const float *p)
{
    return x;
}
static double ref_relu(double x, const float *p)
{
    return x < 0 ? 0 : x;
}
static double ref_clip(double x, const float *p)
{
    return x < p[0] ? p[0] : x > p[1] ? p[1] : x;
}
static double ref_leaky_relu(double x, const float *p)
{
    return x < 0 ? x * p[0] : x;
}
static double ref_round_shift(double x, const float *p)
{
    return nearbyint(x) + p[0];
}
static double ref_thresholded_relu(double x, const float *p)
{
    return x > p[0] ? x : 0;
}
static double ref_sigmoid(double x, const float *p)
{
    return sigmoid(x);
}
static double ref_tanh(double x, const float *p)
{
    return tanh(x);
}
static double ref_exp(double x, const float *p)
{
    return exp(x);
}
static double ref_expm1(double x, const float *p)
{
    return expm1(x);
}
static double ref_log(double x, const float *p)
{
    return log(x);
}
static double ref_log1p(double x, const float *p)
{
    return log1p(x);
}
static double ref_erf(double x, const float *p)
{
    return erf(x);
}
static double ref_gelu(double x, const float *p)
{
    return x == -INFINITY ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2);
}
static double ref_gelu_tanh(double x, const float *p)
{
    return x == -INFINITY ? -0.0 : x * sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
static double ref_silu(double x, const float *p)
{
    return x == -INFINITY ? -0.0 : x * sigmoid(x);
}
static double ref_hard_sigmoid(double x, const float *p)
{
    double y = p[0] * x + p[1];
    return y < 0 ? 0 : y > 1 ? 1 : y;
}
static double ref_hard_swish(double x, const float *p)
{
    double y = x / 6 + 0.5;
    return x * (y < 0 ? 0 : y > 1 ? 1 : y);
}
static double ref_softplus(double x, const float *p)
{
    return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}
static double ref_mish(double x, const float *p)
{
    return x == -INFINITY ? -0.0 : x * tanh(ref_softplus(x, p));
}
static double ref_elu(double x, const float *p)
{
    return x <= 0 ? p[0] * expm1(x) : x;
}
static double ref_celu(double x, const float *p)
{
    return x <= 0 ? p[0] * expm1(x / p[0]) : x;
}
static double ref_selu(double x, const float *p)
{
    return p[1] * (x <= 0 ? p[0] * expm1(x) : x);
}
static double ref_softsign(double x, const float *p)
{
    return x / (1 + fabs(x));
}
static double ref_sqrt(double x, const float *p)
{
    return sqrt(x);
}
static double ref_rsqrt(double x, const float *p)
{
    return 1 / sqrt(x);
}
static double ref_reciprocal(double x, const float *p)
{
    return 1 / x;
}
static double ref_abs(double x, const float *p)
{
    return fabs(x);
}
static double ref_neg(double x, const float *p)
{
    return -x;
}
static double ref_square(double x, const float *p)
{
    return x * x;
}
static double ref_sign(double x, const float *p)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static double ref_floor(double x, const float *p)
{
    return floor(x);
}
static double ref_ceil(double x, const float *p)
{
    return ceil(x);
}
static double ref_round(double x, const float *p)
{
    return rint(x);
}
static double ref_sin(double x, const float *p)
{
    return sin(x);
}
static double ref_cos(double x, const float *p)
{
    return cos(x);
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
static void parameters_of(int activation, float *p)
{
    p[0] = activation == ACTIVATION_clip           ? -0.75f
           : activation == ACTIVATION_hard_sigmoid ? 0.2f
                                                   : 0.5f;
    p[1] = activation == ACTIVATION_clip ? 1.5f : activation == ACTIVATION_selu ? 1.05f : 0.5f;
}

/* Largest error over x, reported with where it is. */
static void check_activation(int which, const float *x, size_t n, double *worst, float *at)
{
    static float y[4096];
    const struct activation_case *c = &activation_cases[which];
    float p[2];
    parameters_of(which, p);
    table->activation[which]((struct out_row){y, 1}, row(x), none, none, n, p);
    for (size_t i = 0; i < n; i++) {
        bool special = isnan(x[i]) || isinf(x[i]);
        if (!special && (x[i] < c->low || x[i] > c->high))
            continue;
        double expected = c->reference(x[i], p);
        double e = ulps(y[i], c->ulp == 0 ? (float)expected : expected, c->floor);
        if (e > *worst) {
            *worst = e;
            *at = x[i];
        }
    }
}

static void test_activations(void **state)
{
    static float x[4096];
    bool all = getenv("XCC_KERNELS_EXHAUSTIVE") != NULL, good = true;
    for (int a = 0; a < ACTIVATION_COUNT; a++) {
        const struct activation_case *c = &activation_cases[a];
        double worst = 0;
        float at = 0;
        uint64_t step = all ? 1 : 9973; /* over bit patterns: dense in every binade */
        for (uint64_t u = 0; u < 0x100000000u;) {
            size_t n = 0;
            for (; n < 4096 && u < 0x100000000u; u += step)
                x[n++] = float_of((uint32_t)u);
            check_activation(a, x, n, &worst, &at);
        }
        for (int i = 0; i < 100; i++) { /* and evenly over the range people use */
            for (int j = 0; j < 4095; j++)
                x[j] = uniform(fmaxf(c->low, -12), fminf(c->high, 12));
            check_activation(a, x, 4095, &worst, &at);
        }
        static const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
        check_activation(a, specials, 5, &worst, &at);
        if (getenv("XCC_KERNELS_REPORT") || worst > c->ulp)
            print_message("%s %s: %.2f ulp at %.9g (bound %.2f)\n", table->name, c->name, worst, at,
                          c->ulp);
        good &= worst <= c->ulp;
    }
    assert_true(good);
}

/* Bias, scale, strides, tails: the same numbers as element by element. */
static void test_activation_operands(void **state)
{
    float p[2] = {0.5f, 1.5f};
    for (size_t n = 0; n < 70; n = n < 36 ? n + 1 : n + 7)
        for (int steps = 1; steps <= 3; steps += 2) {
            float *x = random_row(n * steps), *s = random_row(n), *b = random_row(1);
            float *y = random_row(n * steps);
            table->activation[ACTIVATION_clip]((struct out_row){y, steps},
                                               (struct in_row){x, steps}, row(s),
                                               (struct in_row){b, 0}, n, p);
            for (size_t i = 0; i < n; i++) {
                double e = (double)x[i * steps] * s[i] + b[0];
                e = e < p[0] ? p[0] : e > p[1] ? p[1] : e;
                assert_true(ulps(y[i * steps], e, 4) <= 1);
            }
            free(x), free(s), free(b), free(y);
        }
    float zero = -0.0f, y;
    table->activation[ACTIVATION_copy]((struct out_row){&y, 1}, row(&zero), none, none, 1, p);
    assert_int_equal(bits_of(y), bits_of(zero));
}

/* ---- binary, compare, select ---- */

static double binary_reference(int op, double a, double b)
{
    switch (op) {
    case BINARY_add:
        return a + b;
    case BINARY_sub:
        return a - b;
    case BINARY_rsub:
        return b - a;
    case BINARY_mul:
        return a * b;
    case BINARY_div:
        return a / b;
    case BINARY_rdiv:
        return b / a;
    case BINARY_max:
        return isnan(a) ? a : isnan(b) || b > a ? b : a;
    case BINARY_min:
        return isnan(a) ? a : isnan(b) || b < a ? b : a;
    case BINARY_pow:
        return pow(a, b);
    default:
        return a < 0 ? a * b : a;
    }
}

static void test_binary(void **state)
{
    static const float odd[] = {0, -0.0f, 1, -1, 2, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f};
    for (int op = 0; op < BINARY_COUNT; op++)
        for (size_t n = 1; n < 300; n = n < 40 ? n + 1 : n + 83)
            for (int form = 0; form < 4; form++) {
                ptrdiff_t as = form == 1   ? 0
                               : form == 3 ? 2
                                           : 1,
                          bs = form == 2   ? 0
                               : form == 3 ? 3
                                           : 1;
                float *a = random_row(2 * n), *b = random_row(3 * n), *y = random_row(n);
                for (size_t i = 0; i < 2 * n; i++)
                    a[i] = i % 3 == 1 ? odd[next_random() % 10] : a[i];
                for (size_t i = 0; i < 3 * n; i++)
                    b[i] = i % 5 == 1 ? odd[next_random() % 10] : b[i];
                table->binary[op]((struct out_row){y, 1}, (struct in_row){a, as},
                                  (struct in_row){b, bs}, n);
                for (size_t i = 0; i < n; i++) {
                    float av = a[(ptrdiff_t)i * as], bv = b[(ptrdiff_t)i * bs];
                    double e = binary_reference(op, av, bv);
                    double bound = op == BINARY_pow ? 1 : 0;
                    assert_true(ulps(y[i], op == BINARY_pow ? e : (float)e, 0) <= bound);
                }
                free(a), free(b), free(y);
            }
}

static bool compare_reference(int op, float a, float b)
{
    switch (op) {
#define KERNEL_COMPARE(name, operator)                                                             \
    case COMPARE_##name:                                                                           \
        return a operator b;
#include "runtime/kernels/kernels.def"
    }
    return false;
}

static void test_compare_select(void **state)
{
    for (size_t n = 1; n < 80; n++) {
        float *a = random_row(n), *b = random_row(n), *y = random_row(n);
        uint8_t *m = malloc(n);
        for (size_t i = 0; i < n; i += 3)
            b[i] = a[i];
        a[n / 2] = NAN;
        for (int op = 0; op < COMPARE_COUNT; op++) {
            table->compare[op](m, 1, row(a), row(b), n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(m[i], compare_reference(op, a[i], b[i]));
        }
        table->compare[COMPARE_lt](m, 1, row(a), row(b), n);
        table->select((struct out_row){y, 1}, m, 1, row(a), (struct in_row){b, 0}, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(bits_of(y[i]), bits_of(m[i] ? a[i] : b[0]));
        free(a), free(b), free(y), free(m);
    }
}

/* ---- conversions ---- */

static double round_to(double x, int significand_bits, int lowest_exponent)
{
    if (x == 0 || !isfinite(x))
        return x;
    int e = ilogb(x);
    if (e < lowest_exponent)
        e = lowest_exponent;
    double unit = ldexp(1, e - significand_bits + 1);
    return rint(x / unit) * unit;
}
static double half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}
static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static void test_convert(void **state)
{
    enum { N = 1000 };
    float x[N], y[N], z[N];
    uint16_t h[N];
    int8_t s[N];
    uint8_t u[N];
    int32_t w[N];
    for (uint64_t at = 0; at < 0x100000000u; at += 1999 * N) {
        for (int i = 0; i < N; i++)
            x[i] = float_of((uint32_t)(at + 1999 * (uint64_t)i));
        table->convert[CONVERT_bf16_from_f32](h, 1, x, 1, N);
        table->convert[CONVERT_f32_from_bf16](y, 1, h, 1, N);
        table->convert[CONVERT_bf16_round](z, 1, x, 1, N);
        for (int i = 0; i < N; i++) {
            double e = round_to(x[i], 8, -126);
            assert_true(same(y[i], fabs(e) > 3.4e38 ? copysign(INFINITY, e) : e));
            assert_int_equal(bits_of(y[i]), bits_of(z[i]));
        }
        table->convert[CONVERT_f16_from_f32](h, 1, x, 1, N);
        table->convert[CONVERT_f32_from_f16](y, 1, h, 1, N);
        table->convert[CONVERT_f16_round](z, 1, x, 1, N);
        for (int i = 0; i < N; i++) {
            double e = round_to(x[i], 11, -14);
            assert_true(same(y[i], fabs(e) > 65504 ? copysign(INFINITY, e) : e));
            assert_true(same(y[i], half_value(h[i])));
            assert_int_equal(bits_of(y[i]), bits_of(z[i]));
        }
        table->convert[CONVERT_tf32_round](y, 1, x, 1, N);
        table->convert[CONVERT_fp8_e4m3_round](z, 1, x, 1, N);
        for (int i = 0; i < N; i++) {
            double e = round_to(x[i], 11, -126), q = round_to(x[i], 4, -6);
            assert_true(same(y[i], fabs(e) > 3.4028235e38 ? copysign(INFINITY, e) : e));
            assert_true(fabs(q) > 448 || isnan(q) ? isnan(z[i]) : same(z[i], q));
        }
        table->convert[CONVERT_i8_from_f32](s, 1, x, 1, N);
        table->convert[CONVERT_u8_from_f32](u, 1, x, 1, N);
        table->convert[CONVERT_i32_from_f32](w, 1, x, 1, N);
        for (int i = 0; i < N; i++) {
            double r = isnan(x[i]) ? 0 : rint(x[i]);
            assert_int_equal(s[i], (int)fmax(-128, fmin(127, r)));
            assert_int_equal(u[i], (int)fmax(0, fmin(255, r)));
            assert_int_equal(w[i], (int32_t)fmax(-2147483648.0, fmin(2147483647.0, r)));
        }
    }
    for (int i = 0; i < N; i++)
        w[i] = (int32_t)next_random();
    table->convert[CONVERT_f32_from_i32](y, 1, w, 1, N);
    table->convert[CONVERT_f32_from_i8](x, 1, s, 1, N);
    table->convert[CONVERT_f32_from_u8](z, 1, u, 1, N);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)w[i] && x[i] == s[i] && z[i] == u[i]);
    /* strides and tails */
    for (size_t n = 1; n < 40; n++) {
        uint16_t t[120];
        float *v = random_row(3 * n);
        memset(t, 0x55, sizeof t);
        table->convert[CONVERT_bf16_from_f32](t, 2, v, 3, n);
        for (size_t i = 0; i < n; i++) {
            table->convert[CONVERT_bf16_from_f32](h, 1, v + 3 * i, 1, 1);
            assert_int_equal(t[2 * i], h[0]);
            assert_int_equal(t[2 * i + 1], 0x5555);
        }
        free(v);
    }
}

static void test_copy_transpose(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    for (int s = 0; s < 4; s++)
        for (size_t rows = 1; rows < 40; rows += rows < 4 ? 1 : 6)
            for (size_t cols = 1; cols < 40; cols += 5) {
                size_t size = sizes[s];
                uint8_t *x = malloc(rows * cols * size), *y = malloc(rows * cols * size);
                for (size_t i = 0; i < rows * cols * size; i++)
                    x[i] = (uint8_t)next_random();
                table->transpose(y, (ptrdiff_t)rows, x, (ptrdiff_t)cols, rows, cols, size);
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = 0; j < cols; j++)
                        assert_memory_equal(y + (j * rows + i) * size, x + (i * cols + j) * size,
                                            size);
                /* a column, copied out */
                table->copy(y, (ptrdiff_t)size, x, (ptrdiff_t)(cols * size), rows, size);
                for (size_t i = 0; i < rows; i++)
                    assert_memory_equal(y + i * size, x + i * cols * size, size);
                free(x), free(y);
            }
}

/* ---- reductions ---- */

static double reduce_reference(int op, const float *data, ptrdiff_t step, size_t n)
{
    double a = 0;
    switch (op) {
#define KERNEL_REDUCE(name, start, body)                                                           \
    case REDUCE_##name:                                                                            \
        a = start;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            double x = data[(ptrdiff_t)i * step];                                                  \
            a = body;                                                                              \
        }                                                                                          \
        break;
#include "runtime/kernels/kernels.def"
    }
    return a;
}

static void test_reduce(void **state)
{
    for (size_t n = 0; n < 1500; n = n < 70 ? n + 1 : n * 2 + 1)
        for (int step = 1; step <= 3; step++) {
            float *x = random_row(n * step);
            for (int op = 0; op < REDUCE_COUNT; op++) {
                double e = reduce_reference(op, x, step, n);
                float y = table->reduce[op]((struct in_row){x, step}, n);
                double scale = op == REDUCE_prod ? fabs(e)
                               : op == REDUCE_max || op == REDUCE_min
                                   ? 0
                                   : reduce_reference(REDUCE_sum_abs, x, step, n) * 2;
                double bound = scale * (2 + n / 32.0 + 6) * 0x1p-24 +
                               (op == REDUCE_prod ? n * fabs(e) * 0x1p-23 : 0);
                assert_true(y == e || fabs(y - e) <= bound + 1e-30);
            }
            if (n) {
                float before = x[0];
                x[n / 2 * step] = 7;
                assert_int_equal(table->argmax((struct in_row){x, step}, n), n / 2);
                x[n / 2 * step] = -7;
                assert_int_equal(table->argmin((struct in_row){x, step}, n), n / 2);
                x[n / 2 * step] = NAN;
                assert_true(isnan(table->reduce[REDUCE_max]((struct in_row){x, step}, n)));
                assert_true(isnan(table->reduce[REDUCE_min]((struct in_row){x, step}, n)));
                assert_int_equal(table->argmax((struct in_row){x, step}, n), n / 2);
                x[0] = before;
            }
            free(x);
        }
    for (size_t n = 1; n < 60; n += 3) {
        enum { ROWS = 5 };
        float *x = random_row(ROWS * (n + 2) - 2), *y = random_row(n), *start = random_row(n);
        for (int op = 0; op < REDUCE_COUNT; op++) {
            memcpy(y, start, n * sizeof *y);
            table->reduce_columns[op](y, x, (ptrdiff_t)n + 2, ROWS, n);
            for (size_t j = 0; j < n; j++) {
                double e = reduce_reference(op, x + j, (ptrdiff_t)n + 2, ROWS);
                double a = start[j];
                e = op == REDUCE_prod  ? a * e
                    : op == REDUCE_max ? fmax(a, e)
                    : op == REDUCE_min ? fmin(a, e)
                                       : a + e;
                assert_true(fabs(y[j] - e) <= 1e-4);
            }
        }
        free(x), free(y), free(start);
    }
}

static void test_softmax_norms(void **state)
{
    for (size_t n = 1; n < 2000; n = n < 70 ? n + 1 : n * 3)
        for (int step = 1; step <= 2; step++) {
            float *x = random_row(n * step), *y = random_row(n * step), *g = random_row(n),
                  *b = random_row(n);
            struct in_row in = {x, step};
            struct out_row out = {y, step};
            double sum = 0, mean = 0, variance = 0, square = 0, top = -INFINITY;
            for (size_t i = 0; i < n; i++) {
                top = fmax(top, x[i * step]);
                sum += exp(x[i * step]);
                mean += x[i * step] / (double)n;
                square += (double)x[i * step] * x[i * step] / (double)n;
            }
            for (size_t i = 0; i < n; i++)
                variance += (x[i * step] - mean) * (x[i * step] - mean) / (double)n;
            table->softmax(out, in, n);
            for (size_t i = 0; i < n; i++)
                assert_true(ulps(y[i * step], exp(x[i * step]) / sum, 0) <=
                            6 + sqrt((double)n) / 8);
            table->log_softmax(out, in, n);
            for (size_t i = 0; i < n; i++)
                assert_true(ulps(y[i * step], x[i * step] - log(sum), 2) <= 8);
            float s = table->exp_sum(out, in, (float)top, n);
            assert_true(fabs(s - sum * exp(-top)) <= 1e-6 * s + 1e-6);
            float m, v;
            table->mean_variance(in, n, &m, &v);
            assert_true(fabs(m - mean) <= 1e-6 && fabs(v - variance) <= 1e-6 * (1 + variance));
            table->layer_norm(out, in, row(g), row(b), n, 1e-5f);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(y[i * step] -
                                 ((x[i * step] - mean) / sqrt(variance + 1e-5) * g[i] + b[i])) <=
                            2e-5);
            table->rms_norm(out, in, row(g), n, 1e-5f);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(y[i * step] - x[i * step] / sqrt(square + 1e-5) * g[i]) <= 4e-6);
            free(x), free(y), free(g), free(b);
        }
}

/* ---- windows ---- */

static double epilogue_reference(const struct epilogue *e, double x, int channel)
{
    if (e->bias)
        x += e->bias[channel];
    return activation_cases[e->activation].reference(x, e->p);
}

static void test_pool(void **state)
{
    for (size_t n = 1; n < 50; n++) {
        enum { TAPS = 7 };
        float *rows[TAPS], *y = random_row(n);
        for (int t = 0; t < TAPS; t++)
            rows[t] = random_row(n);
        for (int sum = 0; sum < 2; sum++) {
            if (sum)
                table->pool_sum(y, (const float *const *)rows, TAPS, n, 1.0f / TAPS);
            else
                table->pool_max(y, (const float *const *)rows, TAPS, n);
            for (size_t c = 0; c < n; c++) {
                double e = sum ? 0 : -INFINITY;
                for (int t = 0; t < TAPS; t++)
                    e = sum ? e + rows[t][c] / (double)TAPS : fmax(e, rows[t][c]);
                assert_true(fabs(y[c] - e) <= (sum ? 1e-6 : 0));
            }
        }
        for (int t = 0; t < TAPS; t++)
            free(rows[t]);
        free(y);
    }
}

static void test_dot(void **state)
{
    enum { ROWS = 3 };
    for (size_t n = 0; n < 300; n += n < 70 ? 1 : 37)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            float *a = random_row(ROWS * (n + 5)), *w = random_row(n + 1), y[2 * ROWS], old = 0.5f;
            for (int i = 0; i < 2 * ROWS; i++)
                y[i] = old;
            table->dot(y, 2, a, (ptrdiff_t)n + 5, w, ROWS, n, accumulate);
            for (size_t r = 0; r < ROWS; r++) {
                double e = accumulate ? old : 0;
                for (size_t i = 0; i < n; i++)
                    e += (double)a[r * (n + 5) + i] * w[i];
                assert_true(fabs(y[2 * r] - e) <= 4e-6 * (1 + sqrt((double)n)));
                assert_true(y[2 * r + 1] == old);
            }
            free(a), free(w);
        }
}

static void check_depthwise(int kernel, int stride, int dilation, int width, int channels,
                            bool bf16, enum kernel_activation activation)
{
    int pad = kernel / 2 * dilation, reach = (kernel - 1) * dilation + 1;
    int outs = (width + 2 * pad - reach) / stride + 1;
    if (outs < 1)
        return;
    size_t n = (size_t)width * (size_t)channels;
    int step = channels + channels % 3; /* between the weights of taps */
    float *x[8], *w = random_row((size_t)(kernel * kernel * step)),
                 *bias = random_row((size_t)channels);
    float *y = random_row((size_t)outs * (size_t)channels);
    uint16_t *h[8];
    const void *rows[8];
    for (int i = 0; i < kernel; i++) {
        x[i] = random_row(n);
        h[i] = malloc(n * sizeof *h[i]);
        table->convert[CONVERT_bf16_from_f32](h[i], 1, x[i], 1, n);
        if (bf16)
            table->convert[CONVERT_bf16_round](x[i], 1, x[i], 1, n);
        rows[i] = i == 0 && kernel > 1 ? NULL : bf16 ? (const void *)h[i] : x[i];
    }
    struct depthwise_row d = {rows,
                              channels,
                              width,
                              kernel,
                              kernel,
                              stride,
                              dilation,
                              pad,
                              channels,
                              0,
                              outs,
                              bf16,
                              w,
                              step,
                              y,
                              channels,
                              {bias, activation, {0.1f, 0.7f}}};
    table->depthwise(&d);
    for (int j = 0; j < outs; j++)
        for (int c = 0; c < channels; c++) {
            double e = 0;
            for (int ky = 0; ky < kernel; ky++)
                for (int kx = 0; kx < kernel; kx++) {
                    int at = j * stride - pad + kx * dilation;
                    if (rows[ky] && at >= 0 && at < width)
                        e += (double)x[ky][at * channels + c] * w[(ky * kernel + kx) * step + c];
                }
            e = epilogue_reference(&d.epilogue, e, c);
            assert_true(fabs(y[j * channels + c] - e) <= 3e-5);
        }
    for (int i = 0; i < kernel; i++)
        free(x[i]), free(h[i]);
    free(w), free(bias), free(y);
}

static void test_depthwise(void **state)
{
    static const int channels[] = {1, 3, 16, 19, 33};
    static const enum kernel_activation activations[] = {
        ACTIVATION_copy, ACTIVATION_relu, ACTIVATION_clip, ACTIVATION_silu, ACTIVATION_hard_swish};
    int i = 0;
    for (int kernel = 1; kernel <= 7; kernel++)
        for (int stride = 1; stride <= 3; stride++)
            for (int dilation = 1; dilation <= 2; dilation++)
                for (int width = 1; width < 40; width += 4)
                    for (int bf16 = 0; bf16 < 2; bf16++, i++)
                        check_depthwise(kernel, stride, dilation, width, channels[i % 5], bf16,
                                        activations[i / 5 % 5]);
}

/* ---- matrix tiles ---- */

struct gemm_case {
    enum gemm_type type;
    int rows, outs, k, taps, blocks; /* batch: taps x blocks of k */
    bool accumulate, own, addresses;
};

static float bf16_value(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

static void check_gemm(const struct gemm_case *t)
{
    static const enum pack_type packs[] = {PACK_F32, PACK_BF16, PACK_S8};
    int batch = t->taps * t->blocks, slack = 3 + t->rows % 2, a_pitch = t->blocks * t->k + slack,
        a_rows = t->rows + t->taps - 1;
    size_t size = pack_element_size(packs[t->type]);
    size_t a_count = (size_t)a_rows * (size_t)a_pitch - (size_t)slack;
    size_t w_count = (size_t)batch * (size_t)t->k * (size_t)t->outs;
    size_t c_count = (size_t)(t->rows - 1) * (size_t)(t->outs + 2) + (size_t)t->outs;
    uint8_t *a = malloc(a_count * size), *w = malloc(w_count * size);
    double *av = malloc(a_count * sizeof *av), *wv = malloc(w_count * sizeof *wv);
    static const uint32_t small[] = {0, 40, UINT32_MAX};
    uint32_t mostly_small = small[(t->rows + t->outs + t->k) % 3];
    for (size_t i = 0; i < a_count + w_count; i++) {
        bool weight = i >= a_count;
        size_t at = weight ? i - a_count : i;
        float x = uniform(-1, 1);
        uint16_t h;
        table->convert[CONVERT_bf16_from_f32](&h, 1, &x, 1, 1);
        double value;
        if (t->type == GEMM_F32) {
            memcpy((weight ? w : a) + 4 * at, &x, 4);
            value = x;
        } else if (t->type == GEMM_BF16) {
            memcpy((weight ? w : a) + 2 * at, &h, 2);
            value = bf16_value(h);
        } else {
            uint8_t byte = next_random() % 8 ? (uint8_t)next_random() : weight ? 0x80 : 0xff;
            if (!weight && mostly_small && next_random() % mostly_small)
                byte &= 0x7f; /* the kernels treat quads without a greater number apart */
            (weight ? w : a)[at] = byte;
            value = weight ? (int8_t)byte : byte;
        }
        (weight ? wv : av)[at] = value;
    }
    struct pack_shape shape = {packs[t->type], batch, t->k, t->outs};
    struct pack_source source = {w, (int64_t)t->k * t->outs, t->outs, 1};
    size_t packed_size = pack_size(&shape);
    uint8_t *packed = aligned_alloc(64, (packed_size + 63) / 64 * 64),
            *back = malloc(w_count * size);
    pack_weights(packed, &shape, &source);
    struct pack_source to = {NULL, source.group_step, source.k_step, 1};
    unpack_weights(back, &to, &shape, packed);
    assert_memory_equal(back, w, w_count * size);

    float *c = malloc(c_count * 4);
    int32_t *ci = (int32_t *)(void *)c;
    for (int out = 0; out < t->outs; out += PACK_OUTS) { /* block by block, as the compiler emits */
        int outs = t->outs - out < PACK_OUTS ? t->outs - out : PACK_OUTS,
            width = pack_width(t->outs);
        int64_t group = pack_k(shape.type, t->k) * width;
        struct gemm_tile tile = {
            t->type,
            t->rows,
            outs,
            t->k,
            a_pitch,
            t->outs + 2,
            width,
            t->accumulate,
            {{0}, {t->taps, a_pitch, group * t->blocks}, {t->blocks, t->k, group}}};
        struct gemm g;
        (t->own ? gemm_prepare_own : gemm_prepare)(&g, &tile, table);
        for (int r = 0; r < t->rows; r++)
            for (int o = 0; o < outs; o++) {
                size_t at = (size_t)(r * (t->outs + 2) + out + o);
                if (t->type == GEMM_U8S8)
                    ci[at] = t->accumulate ? 1000 : -1;
                else
                    c[at] = t->accumulate ? 3.0f : NAN;
            }
        const uint8_t *wb = packed + (size_t)pack_offset(&shape, out, 0) * size;
        if (t->addresses) {
            const void **as = malloc((size_t)batch * sizeof *as),
                       **ws = malloc((size_t)batch * sizeof *ws);
            for (int b = 0; b < batch; b++) {
                as[b] = a + (size_t)(b / t->blocks * a_pitch + b % t->blocks * t->k) * size;
                ws[b] = wb + (size_t)(b * group) * size;
            }
            gemm_run_addresses(&g, as, ws, batch, c + out);
            free(as), free(ws);
        } else {
            gemm_run(&g, a, wb, c + out);
        }
    }
    for (int r = 0; r < t->rows; r++)
        for (int o = 0; o < t->outs; o++) {
            double e = t->accumulate ? t->type == GEMM_U8S8 ? 1000 : 3 : 0;
            for (int b = 0; b < batch; b++)
                for (int k = 0; k < t->k; k++)
                    e += av[(size_t)((r + b / t->blocks) * a_pitch + b % t->blocks * t->k + k)] *
                         wv[(size_t)((b * t->k + k) * t->outs + o)];
            size_t at = (size_t)(r * (t->outs + 2) + o);
            double got = t->type == GEMM_U8S8 ? ci[at] : c[at], total = batch * t->k;
            double bound =
                t->type == GEMM_U8S8 ? 0 : 4 * (sqrt(total) + 4) * (sqrt(total) + 4) * 0x1p-24;
            if (!(fabs(got - e) <= bound))
                fail_msg("%s type %d rows %d outs %d k %d taps %d blocks %d own %d: [%d][%d] is "
                         "%.9g, expected %.9g",
                         table->name, t->type, t->rows, t->outs, t->k, t->taps, t->blocks, t->own,
                         r, o, got, e);
        }
    free(a), free(w), free(av), free(wv), free(packed), free(back), free(c);
}

static void test_gemm(void **state)
{
    static const int rows[] = {1, 2, 3, 5, 6, 7, 13, 14, 28}, outs[] = {1, 8, 16, 17, 40, 64, 100};
    static const int ks[] = {1, 2, 3, 7, 16, 33, 64, 300};
    int i = 0;
    for (int type = GEMM_F32; type <= GEMM_U8S8; type++)
        for (int r = 0; r < 9; r++)
            for (int o = 0; o < 7; o++)
                for (int k = 0; k < 8; k++, i++) {
                    struct gemm_case c = {type,      rows[r],    outs[o],    ks[k],     1 + i % 3,
                                          1 + i % 2, i % 5 == 0, i % 4 != 0, i % 7 == 0};
                    check_gemm(&c);
                }
    struct gemm_case many = {GEMM_F32, 7,     20,    3,    90,
                             2,        false, false, false}; /* over one piece of the batch */
    for (int type = GEMM_F32; type <= GEMM_U8S8; type++)
        for (int own = 0; own < 2; own++) {
            many.type = type;
            many.own = own;
            check_gemm(&many);
        }
    struct gemm_case deep = {GEMM_F32, 14,    100,   1600, 2,
                             1,        false, false, false}; /* a sum that is cut into pieces */
    for (int way = 0; way < 8; way++) {
        deep.type = way & 1 ? GEMM_BF16 : GEMM_F32;
        deep.addresses = way & 2;
        deep.accumulate = way & 4;
        check_gemm(&deep);
    }
}

static void check_weight_only(int k, int outs, int block, int bits, bool zeros)
{
    int blocks = (k + block - 1) / block;
    uint8_t *q = malloc((size_t)(k * outs));
    float *scale = random_row((size_t)(blocks * outs)), *zero = random_row((size_t)(blocks * outs));
    float *x = random_row((size_t)k), *y = random_row((size_t)outs), centre = 5;
    for (int i = 0; i < k * outs; i++)
        q[i] = (uint8_t)(next_random() & (bits == 8 ? 255 : 15));
    struct pack_quantized shape = {k, outs, block, bits, zeros};
    void *packed = aligned_alloc(64, (pack_quantized_size(&shape) + 63) / 64 * 64);
    pack_quantized(packed, &shape, q, 1, k, scale, zero, 1, blocks);
    struct weight_only_row row = {x, packed, y, k, outs, block, bits, zeros, centre};
    table->weight_only(&row);
    for (int o = 0; o < outs; o++) {
        double e = 0, size = 0;
        for (int i = 0; i < k; i++) {
            int value = bits == 8 ? (int8_t)q[o * k + i] : q[o * k + i];
            double middle = zeros ? zero[o * blocks + i / block] : centre;
            double w = ((double)value - middle) * scale[o * blocks + i / block], product = x[i] * w;
            if (o < PACK_OUTS) {
                float unpacked[PACK_OUTS];
                table->weight_only_unpack(&row, i, 1, unpacked);
                assert_true(fabs(unpacked[o] - w) <= fabs(w) * 1e-6 + 1e-6);
            }
            e += product;
            size += fabs(x[i]) * (fabs((double)value) + fabs(middle)) *
                    fabs(scale[o * blocks + i / block]);
        }
        assert_true(fabs(y[o] - e) <= size * 1e-5);
    }
    free(q), free(scale), free(zero), free(x), free(y), free(packed);
}

static void test_weight_only(void **state)
{
    for (int bits = 4; bits <= 8; bits += 4)
        for (int block = 16; block <= 64; block *= 2)
            for (int k = 1; k < 200; k += 33)
                for (int outs = 1; outs < 150; outs += 21)
                    check_weight_only(k, outs, block, bits, k % 2);
}

/* ---- every variant that runs here ---- */

static void test_selection(void **state)
{
    assert_null(kernels_find("no such variant"));
    assert_false(kernels_select("no such variant"));
    assert_non_null(kernels_find("portable"));
    assert_true(kernels_select("portable"));
    assert_ptr_equal(kernels_get(), kernels_find("portable"));
    assert_true(kernels_select(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations), cmocka_unit_test(test_activation_operands),
        cmocka_unit_test(test_binary),      cmocka_unit_test(test_compare_select),
        cmocka_unit_test(test_convert),     cmocka_unit_test(test_copy_transpose),
        cmocka_unit_test(test_reduce),      cmocka_unit_test(test_softmax_norms),
        cmocka_unit_test(test_pool),        cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_dot),         cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_weight_only),
    };
    const struct CMUnitTest selection[] = {cmocka_unit_test(test_selection)};
    static const char *const names[] = {
#define KERNEL_VARIANT(name, built, lanes, fma) #name,
#include "runtime/kernels/kernels.def"
    };
    int failed = cmocka_run_group_tests_name("selection", selection, NULL, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        table = kernels_find(names[i]);
        if (!table) {
            print_message("[ SKIPPED  ] %s: not built, or this CPU cannot run it\n", names[i]);
            continue;
        }
        failed +=
            _cmocka_run_group_tests(names[i], tests, sizeof tests / sizeof tests[0], NULL, NULL);
    }
    return failed;
}
