/*
 * Fourier transforms in FP32 against their definition: complex, real and symmetric lines, short and long, one after the
 * other and side by side; the same bits from each variant of the kernels. And memory that calls keep for the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/ops/common/fourier_f32.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/selected_variants.h"

static float next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (float)(*seed >> 8) / (1 << 23) - 1;
}

/* Number j of a line that lies in pairs `pitch` apart, of the kind. */
static void line_number(const float *x, int64_t pitch, int64_t n, int64_t j, enum fourier_kind kind, double *re,
                        double *im)
{
    const bool mirrored = kind == FOURIER_TO_REAL && j > n / 2;
    const float *at = kind == FOURIER_FROM_REAL ? x + j : x + 2 * pitch * (mirrored ? n - j : j);
    const bool real = kind == FOURIER_FROM_REAL || (kind == FOURIER_TO_REAL && j % (n / 2) == 0);
    *re = at[0], *im = real ? 0 : mirrored ? -at[1] : at[1];
}

/* The definition, in long double: result k. */
static void bin(const float *x, int64_t pitch, int64_t n, int64_t k, int sign, enum fourier_kind kind, double *re,
                double *im)
{
    long double sum_re = 0, sum_im = 0;
    for (int64_t j = 0; j < n; j++) {
        const long double angle = 6.283185307179586476925287L * sign * (long double)(j * k % n) / (long double)n;
        double a, b;
        line_number(x, pitch, n, j, kind, &a, &b);
        sum_re += a * cosl(angle) - b * sinl(angle), sum_im += a * sinl(angle) + b * cosl(angle);
    }
    *re = (double)sum_re, *im = (double)sum_im;
}

static void expect(double got, double want, int64_t n, int64_t k, const char *what)
{
    if (!(fabs(got - want) <= 2e-7 * sqrt((double)n) * (1 + log2((double)n))))
        fail_msg("%s of %lld numbers, result %lld: %g, expected %g", what, (long long)n, (long long)k, got, want);
}

static bool compare; /* with the definition; else only the bits are wanted */

static uint32_t bits_of(const float *y, int64_t n)
{
    uint32_t hash = 1;
    for (int64_t i = 0; i < n; i++) {
        union { float f; uint32_t u; } v = {y[i]};
        hash = hash * 31 + v.u;
    }
    return hash;
}

static uint32_t check_rows(struct work *w, int64_t n, int64_t rows, int sign, enum fourier_kind kind)
{
    static const char *const names[] = {"rows", "real rows", "symmetric rows"};
    const int64_t x_row = kind == FOURIER_FROM_REAL ? n : kind == FOURIER_TO_REAL ? n + 2 : 2 * n;
    const int64_t y_row = kind == FOURIER_FROM_REAL ? n + 2 : kind == FOURIER_TO_REAL ? n : 2 * n;
    float *x = WORK(w, float, rows *x_row), *y = WORK(w, float, rows *y_row);
    struct fourier_f32 *f = fourier_f32_plan(w, n, sign, kind);
    uint32_t seed = (uint32_t)(n + rows);
    assert_non_null(f);
    for (int64_t i = 0; i < rows * x_row; i++)
        x[i] = next(&seed);
    fourier_f32_rows(f, x, y, rows, 0.5);
    for (int64_t r = 0; compare && r < rows; r += r < rows - 1 && r + 5 >= rows ? rows - 1 - r : 5)
        for (int64_t k = 0; k < (kind == FOURIER_FROM_REAL ? n / 2 + 1 : n); k += 1 + n / 11) {
            double re, im;
            bin(x + r * x_row, 1, n, k, sign, kind, &re, &im);
            const float *at = y + r * y_row + (kind == FOURIER_TO_REAL ? k : 2 * k);
            expect(at[0], 0.5 * re, n, k, names[kind]);
            if (kind != FOURIER_TO_REAL)
                expect(at[1], 0.5 * im, n, k, names[kind]);
        }
    return bits_of(y, rows * y_row);
}

static uint32_t check_across(struct work *w, int64_t n, int64_t lines, int sign)
{
    float *x = WORK(w, float, 2 * n * lines), *y = WORK(w, float, 2 * n * lines);
    struct fourier_f32 *f = fourier_f32_plan_across(w, n, sign, lines);
    uint32_t seed = (uint32_t)(n + lines);
    assert_non_null(f);
    for (int64_t i = 0; i < 2 * n * lines; i++)
        x[i] = y[i] = next(&seed);
    fourier_f32_across(f, y, lines, 2);
    for (int64_t l = 0; compare && l < lines; l += l < lines - 1 && l + 13 >= lines ? lines - 1 - l : 13)
        for (int64_t k = 0; k < n; k += 1 + n / 11) {
            double re, im;
            bin(x + 2 * l, lines, n, k, sign, FOURIER_COMPLEX, &re, &im);
            expect(y[2 * (k * lines + l)], 2 * re, n, k, "lines side by side");
            expect(y[2 * (k * lines + l) + 1], 2 * im, n, k, "lines side by side");
        }
    return bits_of(y, 2 * n * lines);
}

static uint32_t hash;

static bool check_all(struct op_call *c, struct work *w)
{
    static const int64_t lengths[] = {4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 21, 30, 32, 49, 64, 100, 128, 210,
                                      256, 257, 343, 400, 480, 512, 686, 960, 1000, 1024, 2048, 4096};
    (void)c;
    hash = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t n = lengths[i];
        const int sign = i % 2 ? -1 : 1;
        for (int kind = FOURIER_COMPLEX; kind <= FOURIER_TO_REAL; kind++)
            for (int64_t rows = 1; rows <= 33 && fourier_f32_admits(n, kind); rows += 16)
                hash = hash * 31 + check_rows(w, n, rows, kind == FOURIER_TO_REAL ? 1 : sign, kind);
        for (int64_t lines = 1; n <= 512 && lines <= 301 && fourier_f32_admits(n, FOURIER_COMPLEX); lines += 75)
            hash = hash * 31 + check_across(w, n, lines, sign);
    }
    return true;
}

static void run_all(void)
{
    struct diag d = {0};
    struct op_env env = {.d = &d};
    struct op_call c = {.env = &env};
    assert_true(with_work(&c, check_all));
}

static uint32_t first_hash;

static void run_again(void)
{
    run_all();
    assert_int_equal(hash, first_hash);
}

static void test_transforms(void **state)
{
    (void)state;
    compare = true;
    run_all();
    compare = false;
    first_hash = hash;
    for_each_variant(run_again);
}

static void test_admitted(void **state)
{
    (void)state;
    assert_true(fourier_f32_admits(4, FOURIER_FROM_REAL) && fourier_f32_admits(35, FOURIER_COMPLEX));
    assert_false(fourier_f32_admits(35, FOURIER_FROM_REAL)); /* no pairs */
    assert_false(fourier_f32_admits(2, FOURIER_COMPLEX) || fourier_f32_admits(11 * 64, FOURIER_COMPLEX));
}

static void *taken;

static bool take_large(struct op_call *c, struct work *w)
{
    char *block = WORK(w, char, 1 << 20);
    (void)c;
    for (int i = 0; block && i < 1 << 20; i += 4096)
        assert_int_equal(block[i], 0);
    if (block)
        memset(block, 1, 1 << 20);
    taken = block;
    return block != NULL;
}

static void test_spares(void **state)
{
    struct diag d = {0};
    struct work_block *spares = NULL;
    struct op_env env = {.d = &d, .work_spares = &spares};
    struct op_call c = {.env = &env};
    (void)state;
    assert_true(with_work(&c, take_large));
    const void *first = taken;
    assert_non_null(spares);
    assert_true(with_work(&c, take_large));
    assert_ptr_equal(taken, first);
    work_drop_spares(&spares);
    assert_null(spares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transforms), cmocka_unit_test(test_admitted),
                                       cmocka_unit_test(test_spares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
