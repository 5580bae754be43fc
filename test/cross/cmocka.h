/*
 * What the unit tests use of cmocka, for machines where that is not installed: builds with XCC_NO_LIBRARIES. A failed
 * assertion ends its test; the number of tests that failed is what a group returns.
 */
#ifndef TEST_CROSS_CMOCKA_H
#define TEST_CROSS_CMOCKA_H

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    void *initial_state;
};
#define cmocka_unit_test(f) {#f, f, NULL}

enum { TEST_FAILED = 1, TEST_SKIPPED = 2 };
static jmp_buf test_end;

#define fail_msg(...)                                                                              \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__),                 \
     fputc('\n', stderr), longjmp(test_end, TEST_FAILED))
#define fail()             fail_msg("failed")
#define skip()             longjmp(test_end, TEST_SKIPPED)
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...)   fprintf(stderr, __VA_ARGS__)

#define ASSERT_THAT(holds, ...) ((holds) ? (void)0 : fail_msg(__VA_ARGS__))
#define assert_true(x)          ASSERT_THAT(x, "%s", #x)
#define assert_false(x)         ASSERT_THAT(!(x), "not %s", #x)
#define assert_null(x)          ASSERT_THAT((x) == NULL, "%s is not NULL", #x)
#define assert_non_null(x)      ASSERT_THAT((x) != NULL, "%s is NULL", #x)
#define assert_ptr_equal(a, b)  ASSERT_THAT((const void *)(a) == (const void *)(b), "%s is not %s", #a, #b)
#define assert_int_equal(a, b)                                                                     \
    ASSERT_THAT((intmax_t)(a) == (intmax_t)(b), "%s is %jd, not %jd", #a, (intmax_t)(a), (intmax_t)(b))
#define assert_int_not_equal(a, b) ASSERT_THAT((intmax_t)(a) != (intmax_t)(b), "%s is %s", #a, #b)
#define assert_in_range(x, low, high)                                                              \
    ASSERT_THAT((uintmax_t)(x) >= (uintmax_t)(low) && (uintmax_t)(x) <= (uintmax_t)(high), "%s is %ju", #x,           \
                (uintmax_t)(x))
#define assert_float_equal(a, b, apart) ASSERT_THAT(fabs((double)((a) - (b))) <= (apart), "%s is not %s", #a, #b)
#define assert_memory_equal(a, b, n)     ASSERT_THAT(!memcmp(a, b, n), "%s differs from %s", #a, #b)
#define assert_memory_not_equal(a, b, n) ASSERT_THAT(memcmp(a, b, n), "%s equals %s", #a, #b)
#define assert_string_equal(a, b)        ASSERT_THAT(!strcmp(a, b), "%s is '%s', not '%s'", #a, a, b)

static inline int run_group(const char *group, const struct CMUnitTest *tests, size_t n)
{
    volatile int failed = 0;
    for (volatile size_t i = 0; i < n; i++) {
        void *state = tests[i].initial_state;
        int end = setjmp(test_end);
        if (!end)
            tests[i].test_func(&state);
        const char *how = end == TEST_FAILED ? "  FAILED  " : end ? " SKIPPED  " : "       OK ";
        printf("[%s] %s %s\n", how, group, tests[i].name);
        fflush(stdout);
        failed += end == TEST_FAILED;
    }
    return failed;
}
#define _cmocka_run_group_tests(name, tests, n, setup, teardown) run_group(name, tests, n)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) run_group(name, tests, sizeof tests / sizeof *tests)
#define cmocka_run_group_tests(tests, setup, teardown)            run_group(#tests, tests, sizeof tests / sizeof *tests)

#endif
