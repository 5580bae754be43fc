/*
 * Random expressions: what simplification leaves has the value of plain evaluation, lies in its
 * bounds, and reads back from its text. Symbols are 1 or more, as quotients take equal factors not
 * to be 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "neff/core/dim.h"

#include <cmocka.h>

enum { SYMBOLS = 3, ROUNDS = 4000 };

static uint32_t seed = 12345;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* An expression and, beside it, its value computed without the table. */
struct dim_pair {
    dim_t d;
    int64_t v;
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t q = b ? a / b : 0;
    return b && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static struct dim_pair random_expression(struct dim_table *t, const dim_t *symbols,
                                     const int64_t *values, int depth)
{
    if (depth == 0 || random_below(6) == 0) {
        uint32_t i = random_below(SYMBOLS + 2);
        int64_t k = (int64_t)random_below(9) - 3;
        return i < SYMBOLS ? (struct dim_pair){symbols[i], values[i]} : (struct dim_pair){k, k};
    }
    struct dim_pair a = random_expression(t, symbols, values, depth - 1);
    struct dim_pair b = random_expression(t, symbols, values, depth - 1);
    switch (random_below(8)) {
    case 0:
        return (struct dim_pair){dim_add(t, a.d, b.d), a.v + b.v};
    case 1:
        return (struct dim_pair){dim_sub(t, a.d, b.d), a.v - b.v};
    case 2:
        return (struct dim_pair){dim_mul(t, a.d, b.d), a.v * b.v};
    case 3:
        return b.v == 0 ? a : (struct dim_pair){dim_floordiv(t, a.d, b.d), floor_divide(a.v, b.v)};
    case 4:
        return b.v == 0 ? a : (struct dim_pair){dim_ceildiv(t, a.d, b.d), -floor_divide(-a.v, b.v)};
    case 5:
        return (struct dim_pair){dim_mod(t, a.d, b.d), a.v - floor_divide(a.v, b.v) * b.v};
    case 6:
        return (struct dim_pair){dim_min(t, a.d, b.d), a.v < b.v ? a.v : b.v};
    default:
        return (struct dim_pair){dim_max(t, a.d, b.d), a.v > b.v ? a.v : b.v};
    }
}

static void test_random(void **state)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct arena arena = {0};
        struct dim_table t;
        struct diag d = {0};
        dim_table_init(&t, &arena);
        dim_t symbols[SYMBOLS] = {dim_symbol(&t, "n"), dim_symbol(&t, "seq"),
                                  dim_symbol(&t, "a b")};
        int64_t values[SYMBOLS], low, high;
        for (int i = 0; i < SYMBOLS; i++)
            values[i] = 1 + random_below(9);
        struct dim_pair e = random_expression(&t, symbols, values, 4);
        const char *text = dim_text(&t, &arena, e.d), *at = text;
        if (dim_eval(&t, values, e.d) != e.v)
            fail_msg("round %d: %s is %lld, expected %lld", round, text,
                     (long long)dim_eval(&t, values, e.d), (long long)e.v);
        dim_bounds(&t, e.d, &low, &high);
        if (e.v < low || e.v > high)
            fail_msg("round %d: %s is %lld, outside its bounds", round, text, (long long)e.v);
        dim_t back;
        assert_true(dim_parse(&t, &at, &back, &d));
        if (back != e.d || *at)
            fail_msg("round %d: %s reads back as %s", round, text, dim_text(&t, &arena, back));
        arena_free(&arena);
    }
}

static void test_simplified(void **state)
{
    struct arena arena = {0};
    struct dim_table t;
    dim_table_init(&t, &arena);
    dim_t n = dim_symbol(&t, "n"), h = dim_symbol(&t, "h"), nh = dim_mul(&t, n, h);
    assert_int_equal(dim_floordiv(&t, dim_mul(&t, nh, 8), dim_mul(&t, h, 4)), dim_mul(&t, n, 2));
    assert_int_equal(dim_sub(&t, dim_add(&t, n, h), h), n);
    assert_int_equal(dim_max(&t, n, 0), n);
    assert_int_equal(dim_min(&t, n, dim_add(&t, n, 3)), n);
    dim_t other = dim_symbol(&t, "other");
    assert_int_equal(dim_min(&t, n, dim_max(&t, n, other)), n);
    assert_int_equal(dim_max(&t, dim_min(&t, other, n), n), n);
    assert_int_not_equal(dim_min(&t, n, dim_max(&t, 7, other)), n);
    dim_t n1 = dim_add(&t, n, 1), n8 = dim_mul(&t, n1, 8);
    assert_int_equal(dim_mul(&t, dim_mul(&t, n1, h), 8), dim_mul(&t, h, n8));
    assert_int_equal(dim_floordiv(&t, dim_mul(&t, h, n8), n8), h);
    assert_int_equal(dim_constant_factor(&t, dim_mul(&t, nh, 196)), 196);
    assert_int_equal(dim_constant_factor(&t, nh), 1);
    assert_int_equal(dim_constant_factor(&t, n1), 1);
    assert_int_equal(dim_constant_factor(&t, 49), 49);
    arena_free(&arena);
}

static void test_translate(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct dim_table t, other;
    dim_table_init(&t, &arena);
    dim_table_init(&other, &arena);
    dim_t n = dim_symbol(&t, "n"), a = dim_symbol(&other, "a"), b = dim_symbol(&other, "b");
    dim_t expression = dim_add(&other, dim_mul(&other, a, 4), b);
    assert_int_equal(dim_translate(&t, &other, expression, (dim_t[]){n, 3}),
                     dim_add(&t, dim_mul(&t, n, 4), 3));
    assert_int_equal(dim_translate(&t, &other, expression, (dim_t[]){n, DIM_NOT_BOUND}),
                     DIM_NOT_BOUND);
    t.too_large = true; /* no number of the other table is left in this one */
    assert_int_equal(dim_translate(&t, &other, expression, (dim_t[]){n, 3}), 0);
    arena_free(&arena);
}

static void test_broadcast(void **state)
{
    struct arena arena = {0};
    struct dim_table t;
    dim_table_init(&t, &arena);
    dim_t a = dim_symbol(&t, "a"), b = dim_symbol(&t, "b"), c = dim_symbol(&t, "c");
    dim_t deep = a; /* a slice of a table, layer after layer */
    for (int i = 0; i < 64; i++)
        deep = dim_broadcast(&t, deep, dim_min(&t, deep, 1024));
    assert_int_equal(deep, a);
    assert_int_equal(dim_broadcast(&t, dim_min(&t, 2, b), b), b);
    assert_int_not_equal(dim_broadcast(&t, dim_min(&t, 1, b), b), 1); /* 1 at most: b stays what it is */
    assert_false(t.too_large);
    dim_t ab = dim_broadcast(&t, b, a);
    assert_int_equal(dim_broadcast(&t, ab, a), ab);
    assert_int_equal(dim_broadcast(&t, dim_broadcast(&t, c, a), b), dim_broadcast(&t, ab, c));
    assert_int_equal(dim_broadcast(&t, a, 1), a);
    assert_int_equal(dim_broadcast(&t, a, 4), 4);
    const int64_t cases[][3] = {{1, 5, 5}, {5, 1, 5}, {3, 3, 3}, {1, 0, 0}, {0, 1, 0}, {2, 3, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t values[] = {cases[i][0], cases[i][1], 1};
        assert_int_equal(dim_eval(&t, values, ab), cases[i][2]);
    }
    const char *text = dim_text(&t, &arena, dim_broadcast(&t, ab, c)), *at = text;
    dim_t back;
    struct diag d = {0};
    assert_true(dim_parse(&t, &at, &back, &d));
    assert_int_equal(back, dim_broadcast(&t, ab, c));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_simplified),
        cmocka_unit_test(test_translate),
        cmocka_unit_test(test_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
