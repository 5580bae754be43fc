/*
 * Fourier transforms against their definition, for lengths of few and of many factors and of large
 * primes, forward and back, and linear in what they transform.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/ops/common/fourier.h"

#include <math.h>
#include <stdlib.h>

#include "test/unit/selected_variants.h"

static double next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

/* The definition, in long double. */
static double complex bin(const double complex *x, int64_t n, int64_t k, int sign)
{
    long double re = 0, im = 0, turn = 6.283185307179586476925287L * sign / (long double)n;
    for (int64_t j = 0; j < n; j++) {
        long double angle = turn * (long double)(j * k % n), c = cosl(angle), s = sinl(angle);
        re += creal(x[j]) * c - cimag(x[j]) * s;
        im += creal(x[j]) * s + cimag(x[j]) * c;
    }
    return CMPLX((double)re, (double)im);
}

/* Lines side by side, as many as go together, and the last of them. */
static void check_lines(struct work *w, int64_t n, int sign)
{
    struct fourier *f = fourier_plan(w, n, 7, sign);
    assert_non_null(f);
    struct fourier_lines *lines = fourier_lines(f);
    assert_true(lines->max >= 1 && lines->max <= 7);
    for (int64_t count = lines->max; count > 0; count = count > 1 ? count / 2 : 0) {
        double complex *x = WORK(w, double complex, n *count), *line = WORK(w, double complex, n);
        uint32_t seed = (uint32_t)(n + count);
        for (int64_t i = 0; i < n * count; i++) {
            x[i] = CMPLX(next(&seed), next(&seed));
            lines->re[i] = creal(x[i]), lines->im[i] = cimag(x[i]);
        }
        fourier_transform(f, count);
        for (int64_t j = 0; j < n; j++)
            line[j] = x[j * count + count - 1];
        for (int64_t k = 0; k < n; k += 1 + n / 13) {
            double complex want = bin(line, n, k, sign);
            double allowed = 1e-13 * sqrt((double)n) * (1 + log2((double)n));
            if (!(cabs(CMPLX(lines->re[k * count + count - 1], lines->im[k * count + count - 1]) - want) <= allowed))
                fail_msg("length %lld, sign %d, bin %lld of the last of %lld lines", (long long)n, sign, (long long)k,
                         (long long)count);
        }
    }
}

/* Real lines, against the same numbers as complex ones. */
static void check_real(struct work *w, int64_t n, int sign)
{
    struct fourier *f = fourier_plan_real(w, n, 5, sign);
    assert_non_null(f);
    struct fourier_lines *lines = fourier_lines(f);
    int64_t count = lines->max, step = 1 + n / 13;
    double complex *x = WORK(w, double complex, n *count);
    uint32_t seed = (uint32_t)n;
    for (int64_t l = 0; l < count; l++)
        for (int64_t j = 0; j < n; j++) {
            double v = next(&seed);
            x[l * n + j] = v;
            (j % 2 ? lines->im : lines->re)[j / 2 * count + l] = v;
        }
    fourier_transform(f, count);
    for (int64_t l = 0; l < count; l++)
        for (int64_t k = 0; k <= n / 2; k += k < n / 2 && k + step > n / 2 ? n / 2 - k : step) {
            double complex got = fourier_real(f, count, l, k), want = bin(x + l * n, n, k, sign);
            if (!(cabs(got - want) <= 1e-13 * sqrt((double)n) * (1 + log2((double)n))))
                fail_msg("%lld real numbers, sign %d, bin %lld of line %lld", (long long)n, sign, (long long)k,
                         (long long)l);
            if (k == 0 || k == n / 2)
                assert_true(cimag(got) == 0);
        }
}

static bool check_length(struct work *w, int64_t n, int sign)
{
    double complex *x = WORK(w, double complex, n), *y = WORK(w, double complex, n);
    struct fourier *f = fourier_plan(w, n, 1, sign);
    uint32_t seed = (uint32_t)n;
    assert_non_null(f);
    for (int line = 0; line < 2; line++) { /* a plan serves several lines */
        for (int64_t j = 0; j < n; j++)
            x[j] = CMPLX(next(&seed), next(&seed));
        fourier_line(f, x, y);
        for (int64_t k = 0; k < n; k += 1 + n / 97) {
            double complex want = bin(x, n, k, sign);
            double allowed = 1e-13 * sqrt((double)n) * (1 + log2((double)n));
            if (!(cabs(y[k] - want) <= allowed))
                fail_msg("length %lld, sign %d, bin %lld: %g + %g i, expected %g + %g i",
                         (long long)n, sign, (long long)k, creal(y[k]), cimag(y[k]), creal(want),
                         cimag(want));
        }
    }
    return true;
}

/* Two numbers are added and subtracted: an infinity is no NaN. */
static void check_infinity(struct work *w)
{
    double complex x[2] = {1, CMPLX(INFINITY, 2)}, y[2];
    struct fourier *f = fourier_plan(w, 2, 1, -1);
    assert_non_null(f);
    fourier_line(f, x, y);
    assert_true(creal(y[0]) == INFINITY && cimag(y[0]) == 2 && creal(y[1]) == -INFINITY && cimag(y[1]) == -2);
}

static bool few_lengths;

static bool check_all(struct op_call *c, struct work *w)
{
    static const int64_t lengths[] = {61,  64,  67,  97,  120,  127,  134,  243, 400,
                                      480, 512, 630, 997, 1024, 2049, 4096, 6007};
    (void)c;
    check_infinity(w);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t n = 1; n <= 40; n++) {
            check_length(w, n, sign);
            check_lines(w, n, sign);
            if (n % 2 == 0)
                check_real(w, n, sign);
        }
        check_real(w, 240, sign);
        check_lines(w, 120, sign);
        for (size_t i = 0; !few_lengths && i < sizeof lengths / sizeof *lengths; i++) {
            check_length(w, lengths[i], sign);
            if (lengths[i] % 2 == 0)
                check_real(w, lengths[i], sign);
        }
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

static void test_lengths(void **state)
{
    (void)state;
    run_all();
    few_lengths = true;
    for_each_variant(run_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
