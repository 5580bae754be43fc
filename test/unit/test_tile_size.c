/*
 * How dimensions are cut: all of it, in tiles alike, and in more of them where there are few instances.
 */
#include "backend/lower/tile_size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void tiles_are_alike(void **state)
{
    for (dim_t count = 1; count < 400; count += 1 + count / 13)
        for (dim_t max = 1; max < 130; max += 1 + max / 5) {
            dim_t tile = even_tile(count, max);
            assert_in_range(tile, 1, max);
            assert_int_equal(ceil_div(count, tile), ceil_div(count, max));
        }
}

static void few_instances_become_more(void **state)
{
    assert_int_equal(spread_tile(49, 64, 3, 21), 17);   /* 9 instead of 3 */
    assert_int_equal(spread_tile(196, 64, 1, 21), 20);  /* 10 instead of 4 */
    assert_int_equal(spread_tile(196, 64, 1, 7), 13);   /* 16 */
    assert_int_equal(spread_tile(196, 64, 4, 7), 49);   /* 16 as it is */
    assert_int_equal(spread_tile(3136, 64, 1, 21), 64); /* 49 as it is */
    assert_int_equal(spread_tile(7, 64, 1, 21), 7);
    for (dim_t count = 1; count < 300; count += 1 + count / 9)
        for (dim_t others = 1; others < 40; others += 3)
            for (dim_t min = 1; min < 64; min += 9) {
                dim_t tile = spread_tile(count, 64, others, min), plain = even_tile(count, 64);
                assert_true(tile >= 1 && tile <= plain);
                assert_true(tile == plain || 2 * tile > min); /* cut evenly, from at least that */
                if (ceil_div(count, plain) * others >= 16)
                    assert_int_equal(tile, plain);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_alike),
        cmocka_unit_test(few_instances_become_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
