/*
 * What tests of kernels share: the variant under test, random rows, distances between floats, and
 * the loop over all variants.
 */
#ifndef TEST_UNIT_KERNEL_TEST_H
#define TEST_UNIT_KERNEL_TEST_H

#include "runtime/kernels/kernels.h"
#include "test/unit/guarded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct kernel_table *table; /* the variant under test */

static uint32_t random_state = 12345;
static inline uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}
static inline float uniform(float low, float high)
{
    return low + (high - low) * (float)(next_random() >> 8) / 16777216.0f;
}
static inline float *random_row(size_t n)
{
    float *x = malloc((n ? n : 1) * sizeof *x); /* exact size: ASan sees every overrun */
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(-2, 2);
    return x;
}
static inline uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static inline float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static inline struct in_row row(const float *p)
{
    return (struct in_row){p, 1};
}
static const struct in_row none = {NULL, 0};

/* Difference in units in the last place of the f32 nearest to max(|expected|, floor). */
static inline double ulps(float got, double expected, double floor)
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

/* Runs the tests for every variant, with `table` set to it; says which cannot run here. The number
 * of failures. */
static inline int run_variants(const struct CMUnitTest *tests, size_t n)
{
    static const char *const names[] = {
#define KERNEL_VARIANT(name, ...) #name,
#include "runtime/kernels/kernels.def"
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        table = kernels_find(names[i]);
        if (table)
            failed += _cmocka_run_group_tests(names[i], tests, n, NULL, NULL);
        else
            print_message("[ SKIPPED  ] %s: not built, or this CPU cannot run it\n", names[i]);
    }
    return failed;
}

#endif
