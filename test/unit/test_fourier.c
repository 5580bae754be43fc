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

#include "test/unit/op_test.h"

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

static bool check_length(struct work *w, int64_t n, int sign)
{
    double complex *x = WORK(w, double complex, n), *y = WORK(w, double complex, n);
    struct fourier *f = fourier_plan(w, n, sign);
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

static bool check_all(struct op_call *c, struct work *w)
{
    static const int64_t lengths[] = {61,  64,  67,  97,  120,  127,  134,  243, 400,
                                      480, 512, 630, 997, 1024, 2049, 4096, 6007};
    (void)c;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t n = 1; n <= 40; n++)
            check_length(w, n, sign);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            check_length(w, lengths[i], sign);
    }
    return true;
}

static void test_lengths(void **state)
{
    struct diag d = {0};
    struct op_env env = {.d = &d};
    struct op_call c = {.env = &env};
    (void)state;
    assert_true(with_work(&c, check_all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
