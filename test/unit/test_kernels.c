/*
 * Kernels of every variant this CPU can run, against scalar references in double; activations:
 * test_activations.c, products: test_gemm.c, images: test_image_kernels.c, quantised data:
 * test_integer_kernels.c.
 */
#include "test/unit/activation_reference.h"
#include "test/unit/kernel_test.h"

#include <float.h>

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
    case BINARY_rem:
        return fmod(a, b);
    default:
        return a < 0 ? a * b : a;
    }
}

static const double POW_ULP = 1.25; /* as kernels.def says */

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
                    double bound = op == BINARY_pow ? POW_ULP : 0;
                    assert_true(ulps(y[i], op == BINARY_pow ? e : (float)e, 0) <= bound);
                }
                free(a), free(b), free(y);
            }
}

/* Powers and remainders of numbers of every size, by exponents of every size. */
static void test_binary_functions(void **state)
{
    static float a[4096], b[4096];
    TENSOR(float, y, 4096);
    double worst = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 4096; i++) {
            a[i] = float_of(next_random() & (round % 2 ? 0x7fffffff : 0xffffffff));
            b[i] = round % 4 == 0   ? (float)(next_random() % 41) - 20
                   : round % 4 == 1 ? uniform(-20, 20)
                   : round % 4 == 2 ? float_of(next_random())
                                    : 80 / log2f(a[i]) * uniform(-2, 2);
            if (round % 8 >= 6)
                a[i] = uniform(0.9f, 1.1f), b[i] *= uniform(0, 1000);
            a[i] = isnan(a[i]) ? NAN : a[i], b[i] = isnan(b[i]) ? NAN : b[i]; /* quiet ones */
        }
        table->binary[BINARY_rem]((struct out_row){y, 1}, row(a), row(b), 4096);
        for (int i = 0; i < 4096; i++)
            if (ulps(y[i], fmod(a[i], b[i]), 0) != 0)
                fail_msg("%s: remainder of %a and %a is %a", table->name, a[i], b[i], y[i]);
        table->binary[BINARY_pow]((struct out_row){y, 1}, row(a), row(b), 4096);
        for (int i = 0; i < 4096; i++) {
            double e = ulps(y[i], pow(a[i], b[i]), 0);
            if (e > POW_ULP)
                fail_msg("%s: %a to the power of %a is %a", table->name, a[i], b[i], y[i]);
            worst = fmax(worst, e);
        }
    }
    if (getenv("XCC_KERNELS_REPORT"))
        print_message("%s pow: %.2f ulp\n", table->name, worst);
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
        for (int yes = 0; yes < 2; yes++) { /* one mask for the row */
            m[0] = (uint8_t)yes;
            table->select((struct out_row){y, 1}, m, 0, row(a), (struct in_row){b, 0}, n);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(bits_of(y[i]), bits_of(yes ? a[i] : b[0]));
        }
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
    float x[N];
    TENSOR(float, y, N);
    TENSOR(float, z, N);
    TENSOR(uint16_t, h, N);
    TENSOR(int8_t, s, N);
    TENSOR(uint8_t, u, N);
    TENSOR(int32_t, w, N);
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
}

static void test_convert_integers(void **state)
{
    enum { N = 1000 };
    TENSOR(float, x, N);
    TENSOR(float, y, N);
    TENSOR(float, z, N);
    int8_t s[N];
    uint8_t u[N];
    int32_t w[N];
    for (int i = 0; i < N; i++)
        w[i] = (int32_t)next_random(), s[i] = (int8_t)next_random(), u[i] = (uint8_t)next_random();
    table->convert[CONVERT_f32_from_i32](y, 1, w, 1, N);
    table->convert[CONVERT_f32_from_i8](x, 1, s, 1, N);
    table->convert[CONVERT_f32_from_u8](z, 1, u, 1, N);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (float)w[i] && x[i] == s[i] && z[i] == u[i]);
}

static void test_convert_strides(void **state)
{
    for (size_t n = 1; n < 40; n++) {
        TENSOR(uint16_t, t, 2 * n);
        TENSOR(uint16_t, h, 1);
        float *v = random_row(3 * n);
        memset(t, 0x55, 2 * n * sizeof *t);
        table->convert[CONVERT_bf16_from_f32](t, 2, v, 3, n);
        for (size_t i = 0; i < n; i++) {
            table->convert[CONVERT_bf16_from_f32](h, 1, v + 3 * i, 1, 1);
            assert_int_equal(t[2 * i], h[0]);
            assert_int_equal(t[2 * i + 1], 0x5555);
        }
        free(v);
    }
}

/* Results whose rows lie so far apart that they share sets of a cache. */
static void test_transpose_far(void **state)
{
    enum { PITCH = 512, ROWS = 300 };
    for (size_t size = 1; size <= 8; size *= 2)
        for (size_t cols = 1; cols < 72; cols += cols < 20 ? 3 : 17) {
            uint8_t *x = malloc(ROWS * cols * size), *y = calloc(PITCH * cols, size);
            for (size_t i = 0; i < ROWS * cols * size; i++)
                x[i] = (uint8_t)next_random();
            table->transpose(y, PITCH, x, (ptrdiff_t)cols, ROWS, cols, size);
            for (size_t j = 0; j < cols; j++)
                for (size_t i = 0; i < PITCH; i++) {
                    static const uint8_t zeros[8];
                    assert_memory_equal(y + (j * PITCH + i) * size, i < ROWS ? x + (i * cols + j) * size : zeros, size);
                }
            free(x), free(y);
        }
}

static void test_copy_transpose(void **state)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    for (int s = 0; s < 4; s++)
        for (size_t rows = 1; rows < 150; rows += rows < 4 ? 1 : rows < 40 ? 6 : 37)
            for (size_t cols = 1; cols < 72; cols += cols < 9 ? 1 : 6) {
                size_t size = sizes[s];
                uint8_t *x = malloc(rows * cols * size), *y = malloc(rows * cols * size);
                for (size_t i = 0; i < rows * cols * size; i++)
                    x[i] = (uint8_t)next_random();
                table->transpose(y, (ptrdiff_t)rows, x, (ptrdiff_t)cols, rows, cols, size);
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = 0; j < cols; j++)
                        assert_memory_equal(y + (j * rows + i) * size, x + (i * cols + j) * size,
                                            size);
                /* a column, copied out from memory that ends with its last element */
                uint8_t *end = malloc(((rows - 1) * cols + 1) * size);
                memcpy(end, x, ((rows - 1) * cols + 1) * size);
                table->copy(y, (ptrdiff_t)size, end, (ptrdiff_t)(cols * size), rows, size);
                for (size_t i = 0; i < rows; i++)
                    assert_memory_equal(y + i * size, x + i * cols * size, size);
                free(end);
                /* an element, repeated */
                table->copy(y, (ptrdiff_t)size, x, 0, rows * cols, size);
                for (size_t i = 0; i < rows * cols; i++)
                    assert_memory_equal(y + i * size, x, size);
                /* from the last to the first */
                table->copy(y, (ptrdiff_t)size, x + (rows * cols - 1) * size, -(ptrdiff_t)size, rows * cols, size);
                for (size_t i = 0; i < rows * cols; i++)
                    assert_memory_equal(y + i * size, x + (rows * cols - 1 - i) * size, size);
                free(x), free(y);
            }
}

/* Words to rows that lie a power of two apart; what is between them stays. */
static void test_transpose_far_rows(void **state)
{
    enum { FAR = 256, COLUMNS = 50 };
    static uint32_t x[FAR * COLUMNS], y[FAR * COLUMNS];
    for (int i = 0; i < FAR * COLUMNS; i++)
        x[i] = next_random();
    for (size_t rows = 1; rows <= FAR; rows += rows < 20 ? 5 : 59)
        for (size_t cols = 1; cols <= COLUMNS; cols += 7)
            for (size_t x_pitch = cols; x_pitch <= FAR && rows * x_pitch <= FAR * COLUMNS; x_pitch += 51) {
                memset(y, 0x5a, sizeof y);
                table->transpose(y, FAR, x, (ptrdiff_t)x_pitch, rows, cols, 4);
                for (size_t j = 0; j < COLUMNS; j++)
                    for (size_t i = 0; i < FAR; i++)
                        assert_int_equal(y[j * FAR + i],
                                         i < rows && j < cols ? x[i * x_pitch + j] : 0x5a5a5a5a);
            }
}

static void test_copy_streamed(void **state)
{
    enum { LIMIT = 400, GUARD = 16 };
    uint8_t x[LIMIT + 64], y[LIMIT + 64 + GUARD];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)next_random();
    for (size_t n = 0; n < LIMIT; n += n < 70 ? 1 : 13)
        for (size_t at = 0; at < 64; at += 7) {
            memset(y, 0x5a, sizeof y);
            table->copy_streamed(y + at, x + (at * 5) % 64, n);
            assert_memory_equal(y + at, x + (at * 5) % 64, n);
            for (size_t i = 0; i < sizeof y; i++)
                assert_true((i >= at && i < at + n) || y[i] == 0x5a);
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

/* Many rows at a time give the bits of one after the other. */
static void test_rows(void **state)
{
    for (size_t n = 1; n < 70; n = n < 36 ? n + 1 : n + 15)
        for (size_t rows = 1; rows < 40; rows += 1 + rows / 3) {
            size_t pitch = n + rows % 3;
            float *x = random_row(rows * pitch), *y = random_row(rows * pitch),
                  *z = random_row(rows * pitch);
            if (rows > 4)
                x[2 * pitch] = NAN, x[3 * pitch + n / 2] = -INFINITY, x[4 * pitch] = -0.0f;
            for (int op = 0; op < REDUCE_COUNT; op++) {
                table->reduce_rows[op](y, x, (ptrdiff_t)pitch, rows, n);
                for (size_t r = 0; r < rows; r++) {
                    float one = table->reduce[op]((struct in_row){x + r * pitch, 1}, n);
                    assert_true(isnan(one) ? isnan(y[r]) : !memcmp(&one, &y[r], sizeof one));
                }
            }
            memcpy(y, z, rows * pitch * sizeof *y);
            float factor = rows % 2 ? 1 : 0.3f;
            for (int logarithm = 0; logarithm < 2; logarithm++) {
                table->softmax_rows(y, (ptrdiff_t)pitch, x, (ptrdiff_t)pitch, rows, n, factor, logarithm);
                for (size_t r = 0; r < rows; r++) {
                    struct out_row one = {z + r * pitch, 1};
                    table->binary[BINARY_mul](one, (struct in_row){x + r * pitch, 1},
                                              (struct in_row){&factor, 0}, n);
                    (logarithm ? table->log_softmax : table->softmax)(one, (struct in_row){z + r * pitch, 1}, n);
                }
                for (size_t i = 0; i < rows * pitch; i++)
                    assert_true(isnan(z[i]) ? isnan(y[i]) : y[i] == z[i]);
            }
            free(x), free(y), free(z);
        }
}

/* Rows that are neighbours of each other; what lies beyond them is not touched. */
static void softmax_across_case(size_t rows, size_t pitch, size_t n, float factor, bool logarithm)
{
    size_t size = pitch * n;
    float *x = random_row(size), *y = random_row(size), *before = malloc(size * sizeof *y);
    memcpy(before, y, size * sizeof *y);
    table->softmax_across(y, (ptrdiff_t)pitch, x, (ptrdiff_t)pitch, rows, n, factor, logarithm);
    for (size_t r = 0; r < pitch; r++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += exp((double)(x[j * pitch + r] * factor));
        for (size_t j = 0; j < n; j++) {
            size_t at = j * pitch + r;
            double z = x[at] * factor;
            if (r >= rows)
                assert_true(!memcmp(&y[at], &before[at], sizeof *y));
            else if (logarithm)
                assert_true(ulps(y[at], z - log(sum), 2) <= 8);
            else
                assert_true(ulps(y[at], exp(z) / sum, 0) <= 6 + sqrt((double)n) / 4);
        }
    }
    table->softmax_across(x, (ptrdiff_t)pitch, x, (ptrdiff_t)pitch, rows, n, factor, logarithm);
    for (size_t at = 0; at < size; at++)
        assert_true(at % pitch >= rows || !memcmp(&x[at], &y[at], sizeof *y));
    free(x), free(y), free(before);
}

static void test_softmax_across(void **state)
{
    for (size_t rows = 1; rows < 70; rows += 1 + rows / 3)
        for (size_t n = 1; n < 600; n += 1 + n / 2)
            for (size_t beyond = 0; beyond <= 3; beyond += 3)
                softmax_across_case(rows, rows + beyond, n, rows % 2 ? 1 : 0.3f, n % 2);
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

/* Two blocks, and what they weigh: the same as the softmax of both together. */
static double softmax_exponent(const struct softmax_block *b, size_t r, size_t i)
{
    double v = b->scale * (double)b->x.at[r * (size_t)b->x.pitch + i];
    return b->bias.at ? v + b->bias.at[r * (size_t)b->bias.pitch + i * (size_t)b->bias.step] : v;
}

static void softmax_block_case(size_t n, bool bf16, int bias_step, bool hidden)
{
    enum { ROWS = 11, SUMS = 20 };
    const size_t widths[2] = {n, 2 * n + 3};
    size_t pitch = 2 * n + 5;
    float *x = random_row(ROWS * pitch), *bias = random_row(ROWS * pitch),
          *y = random_row(ROWS * pitch), *sum = random_row(ROWS * SUMS);
    double total[ROWS] = {0}, max[ROWS], scaled[ROWS * SUMS];
    TENSOR(float, state, ROWS * 4);
    memset(state, 0, ROWS * 4 * sizeof *state);
    for (int r = 0; r < ROWS; r++)
        max[r] = -FLT_MAX;
    for (int block = 0; block < 2; block++) {
        size_t width = widths[block];
        for (size_t i = 0; i < ROWS * pitch; i++) {
            x[i] += (float)(2 * block * (int)(i % 3));
            bias[i] = hidden && i % 7 == 1 ? -INFINITY : bias[i];
        }
        for (size_t i = 0; i < ROWS * SUMS; i++)
            scaled[i] = sum[i] = block ? sum[i] : NAN; /* not read before the second */
        struct softmax_block b = {.x = {x, 1, (ptrdiff_t)pitch},
                                  .bias = {bias_step < 0 ? NULL : bias, bias_step, 1},
                                  .y = {y, (ptrdiff_t)pitch, bf16},
                                  .scale = 0.7f,
                                  .rows = ROWS,
                                  .n = width,
                                  .sums = SUMS,
                                  .state = state,
                                  .sum = sum,
                                  .state_pitch = 4,
                                  .sum_pitch = SUMS,
                                  .more = block != 0};
        table->softmax_block(&b);
        for (size_t r = 0; r < ROWS; r++) {
            double before = max[r], weights = 0;
            for (size_t i = 0; i < width; i++)
                max[r] = fmax(max[r], softmax_exponent(&b, r, i));
            for (size_t i = 0; i < width; i++) {
                double e = exp(softmax_exponent(&b, r, i) - max[r]);
                uint32_t u = bf16 ? (uint32_t)((uint16_t *)y)[r * pitch + i] << 16 : 0;
                float got = y[r * pitch + i];
                if (bf16)
                    memcpy(&got, &u, 4);
                assert_true(fabs(got - e) <= e * (bf16 ? 0.0040 : 2e-6) + 1e-37);
                weights += e;
            }
            total[r] = total[r] * exp(before - max[r]) + weights;
            assert_true(fabs(state[r * 4 + 0] - max[r]) <= 1e-6 * (1 + fabs(max[r])));
            assert_true(fabs(state[r * 4 + 1] - total[r]) <= 2e-6 * total[r]);
            for (int i = 0; i < SUMS; i++) {
                double want = block ? scaled[r * SUMS + i] * exp(before - max[r]) : 0;
                assert_true(block ? fabs(sum[r * SUMS + i] - want) <= 2e-6 * fabs(want)
                                  : isnan(sum[r * SUMS + i]));
            }
        }
        for (size_t i = 0; i < ROWS * SUMS; i++)
            sum[i] = (float)i - 20;
    }
    free(x), free(bias), free(y), free(sum);
}

static void test_softmax_block(void **state)
{
    for (size_t n = 1; n < 300; n = n < 70 ? n + 1 : n * 2)
        for (int bf16 = 0; bf16 < 2; bf16++)
            for (int bias_step = -1; bias_step <= 1; bias_step++)
                softmax_block_case(n, bf16, bias_step, bias_step == 1 && n > 9);
}

static void test_interleave(void **state)
{
    for (size_t n = 1; n < 100; n++) {
        uint16_t *a = malloc(2 * n), *b = malloc(2 * n), *y = malloc(4 * n);
        for (size_t i = 0; i < n; i++)
            a[i] = (uint16_t)next_random(), b[i] = (uint16_t)next_random();
        for (int odd = 0; odd < 2; odd++) {
            table->interleave(y, a, odd ? NULL : b, n);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(y[2 * i], a[i]);
                assert_int_equal(y[2 * i + 1], odd ? 0 : b[i]);
            }
        }
        free(a), free(b), free(y);
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

/* Many rows at a time give the bits of one after the other, of products too small for their type as well. */
static void dot_rows_case(size_t n, ptrdiff_t step, bool accumulate, bool tiny)
{
    enum { ROWS = 37 };
    float *a = random_row(ROWS * n), *w = random_row(n), y[2 * ROWS], z[2 * ROWS];
    for (size_t i = 0; tiny && i < n; i++)
        a[n + i] = -1e-30f, w[i] = 1e-30f;
    for (int i = 0; i < 2 * ROWS; i++)
        y[i] = z[i] = i < ROWS ? -0.0f : 0.5f;
    table->dot(y, step, a, (ptrdiff_t)n, w, ROWS, n, accumulate);
    for (size_t r = 0; r < ROWS; r++)
        table->dot(z + (ptrdiff_t)r * step, step, a + r * n, (ptrdiff_t)n, w, 1, n, accumulate);
    assert_memory_equal(y, z, sizeof y);
    free(a), free(w);
}

static void test_dot_rows(void **state)
{
    for (size_t n = 1; n < 70; n++)
        for (int how = 0; how < 8; how++)
            dot_rows_case(n, 1 + how % 2, how & 2, how & 4);
}

/* ---- the choice of a variant ---- */

static void test_selection(void **state)
{
    assert_null(kernels_find("no such variant"));
    assert_false(kernels_select("no such variant"));
    assert_non_null(kernels_find("portable"));
    assert_true(kernels_select("portable"));
    assert_ptr_equal(kernels_get(), kernels_find("portable"));
    assert_true(kernels_select(NULL));
}

/* The sentinels around tensors of these tests see a byte on either side. */
static void test_sentinels(void **state)
{
    (void)state;
    for (size_t size = 1; size < 70; size += 23) {
        uint8_t *x = guarded_alloc(size);
        const struct guarded_block *b = guarded_blocks;
        assert_ptr_equal(b->data, x);
        assert_int_equal(guarded_fault(b), 0);
        b->data[size] ^= 1;
        assert_int_equal(guarded_fault(b), (int)size);
        b->data[size] ^= 1;
        b->data[-SENTINEL] ^= 1;
        assert_int_equal(guarded_fault(b), -SENTINEL);
        b->data[-SENTINEL] ^= 1;
        guarded_free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentinels),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_binary_functions),
        cmocka_unit_test(test_compare_select),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_convert_integers),
        cmocka_unit_test(test_convert_strides),
        cmocka_unit_test(test_copy_transpose),
        cmocka_unit_test(test_transpose_far), cmocka_unit_test(test_transpose_far_rows),
        cmocka_unit_test(test_softmax_block),
        cmocka_unit_test(test_interleave),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_softmax_norms),
        cmocka_unit_test(test_softmax_across),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_dot_rows),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_copy_streamed),
    };
    const struct CMUnitTest selection[] = {cmocka_unit_test(test_selection)};
    int failed = cmocka_run_group_tests_name("selection", selection, NULL, NULL);
    return failed + run_variants(tests, sizeof tests / sizeof tests[0]);
}
