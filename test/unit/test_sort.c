/* sort_items: any number of items of any size. */
#include "neff/base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct sort_item {
    int32_t key;
    unsigned char rest[17];
};

static int by_key(const void *a, const void *b)
{
    const struct sort_item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static int by_byte(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static uint32_t next(uint32_t *seed)
{
    return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* Items go as a whole, and none is lost: those of n different keys are n keys in order. */
static void whole(void **state)
{
    enum { MAX = 200 };
    static struct sort_item items[MAX];
    uint32_t seed = 1;
    for (int n = 0; n <= MAX; n++) {
        for (int i = 0; i < n; i++) {
            items[i].key = i - n / 2;
            memset(items[i].rest, i, sizeof items[i].rest);
        }
        for (int i = n - 1; i > 0; i--) {
            int j = (int)(next(&seed) % (uint32_t)(i + 1));
            struct sort_item t = items[i];
            items[i] = items[j], items[j] = t;
        }
        sort_items(items, (size_t)n, sizeof *items, by_key);
        for (int i = 0; i < n; i++) {
            assert_int_equal(items[i].key, i - n / 2);
            for (size_t k = 0; k < sizeof items[i].rest; k++)
                assert_int_equal(items[i].rest[k], i & 255);
        }
    }
}

static void equal_ones(void **state)
{
    unsigned char bytes[1000];
    size_t count[4] = {0}, n = sizeof bytes;
    uint32_t seed = 7;
    for (size_t i = 0; i < n; i++)
        count[bytes[i] = next(&seed) % 4]++;
    sort_items(bytes, n, 1, by_byte);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || bytes[i - 1] <= bytes[i]);
        count[bytes[i]]--;
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(count[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(equal_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
