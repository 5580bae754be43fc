/*
 * The bytes of patterns: which two have one in common, against marked bytes.
 */
#include "neff_test.h"

#include "runtime/sim/region.h"

enum { BYTES = 4096, MIDDLE = BYTES / 2, ROUNDS = 20000 };

static uint32_t seed = 1;

static int64_t draw(int64_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % n;
}

/* A few dims; steps of neighbouring runs, of rows, and odd ones. */
static struct number_ap any_pattern(void)
{
    static const int64_t steps[] = {1, 1, 2, 4, 4, 8, 16, 16, 17, 32, 0};
    struct number_ap a = {.rank = (uint8_t)draw(4), .size = draw(2) ? 4 : 1, .offset.base = MIDDLE / 4 + draw(16)};
    for (int i = 0; i < a.rank; i++) {
        int64_t step = steps[draw(sizeof steps / sizeof *steps)];
        a.dim[i] = (struct number_dim){.step = draw(8) ? step : -step, .count = draw(20) ? 1 + draw(4) : 0, .var = -1};
    }
    return a;
}

static void mark(const struct number_ap *a, int dim, int64_t element, uint8_t bytes[BYTES])
{
    if (dim == a->rank) {
        for (int64_t i = 0; i < a->size; i++)
            bytes[element * a->size + i] = 1;
        return;
    }
    for (int64_t i = 0; i < a->dim[dim].count; i++)
        mark(a, dim + 1, element + i * a->dim[dim].step, bytes);
}

static void patterns_meet_where_their_bytes_do(void **state)
{
    int meetings = 0, apart = 0, missed = 0;
    for (int n = 0; n < ROUNDS; n++) {
        struct number_ap a = any_pattern(), b = any_pattern();
        uint8_t of_a[BYTES] = {0}, of_b[BYTES] = {0};
        mark(&a, 0, a.offset.base, of_a), mark(&b, 0, b.offset.base, of_b);
        bool common = false, within = false;
        struct byte_runs r = region_of(&a, NULL), s = region_of(&b, NULL);
        for (int i = 0; i < BYTES; i++) {
            common |= of_a[i] && of_b[i];
            within |= of_a[i] && (i < r.low || i >= r.high);
        }
        assert_false(within);
        bool meet = regions_meet(&r, &s);
        assert_int_equal(meet, regions_meet(&s, &r));
        assert_true(meet || !common);
        meetings += common, apart += !common, missed += meet && !common;
    }
    assert_true(meetings > ROUNDS / 20 && apart > ROUNDS / 10);
    assert_in_range(missed, 0, ROUNDS / 100); /* dims that overlap themselves are taken for whole runs */
}

static struct byte_runs rows_of(int64_t offset, int64_t rows, int64_t row, int64_t elements)
{
    struct number_ap a = {.rank = 2, .size = 4, .offset.base = offset};
    a.dim[0] = (struct number_dim){.step = row, .count = rows, .var = -1};
    a.dim[1] = (struct number_dim){.step = 1, .count = elements, .var = -1};
    return region_of(&a, NULL);
}

static void columns_of_the_same_rows_are_apart(void **state)
{
    struct byte_runs left = rows_of(0, 128, 1024, 512), right = rows_of(512, 128, 1024, 512),
                  both = rows_of(511, 128, 1024, 2), all = rows_of(0, 128, 1024, 1024);
    assert_false(regions_meet(&left, &right));
    assert_true(regions_meet(&left, &both) && regions_meet(&right, &both) && regions_meet(&all, &right));
    assert_int_equal(all.rank, 0);
    assert_true(regions_equal(&left, &left) && !regions_equal(&left, &right));
    struct byte_runs anywhere = region_anywhere();
    assert_true(regions_meet(&anywhere, &left) && regions_meet(&right, &anywhere));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns_meet_where_their_bytes_do),
                                       cmocka_unit_test(columns_of_the_same_rows_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
