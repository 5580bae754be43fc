/*
 * Places of weights between tiles that have theirs: no two tiles have the same memory at the same time, a tile gets the
 * memory that is free first, and one that nothing has room for is told by its first instruction.
 */
#include "test/unit/neff_test.h"

#include "backend/schedule/chain.h"

enum { TILES = 64, ROOM = 4096 };

struct scene {
    struct tile tiles[TILES];
    struct lived_tile lived[TILES];
    bool placed[TILES];
    int n;
};

/* By birth: of `bytes`, alive from `first` to `last`; at byte `at`, or to be placed where that is -1. */
static void add(struct scene *p, int64_t bytes, int first, int last, int64_t at)
{
    p->tiles[p->n] = (struct tile){.mem = MEM_SBUF, .dtype = DT_U8, .partitions = 1, .elements = bytes, .address = at};
    p->lived[p->n] = (struct lived_tile){p->n, first, last};
    p->placed[p->n++] = at >= 0;
}

static int place(struct scene *p)
{
    struct kernel k = {.tiles = p->tiles, .ntiles = p->n};
    return place_in_gaps(&k, p->lived, p->n, p->placed, ROOM);
}

static void test_free_first(void **state)
{
    (void)state;
    struct scene p = {0};
    add(&p, 1024, 0, 50, 0);     /* free the latest */
    add(&p, 1024, 0, 20, 1024);  /* free first, but something comes there before the last one's end */
    add(&p, 2048, 0, 30, 2048);
    add(&p, 1024, 70, 90, 1024);
    add(&p, 1024, 60, 80, -1);
    add(&p, 1024, 62, 65, -1);   /* between what had the memory and what has it next */
    add(&p, 2048, 66, 80, -1);   /* nothing is free for so long */
    assert_int_equal(place(&p), 66);
    assert_int_equal(p.tiles[4].address, 2048);
    assert_int_equal(p.tiles[5].address, 1024);
}

static void test_never_shared(void **state)
{
    (void)state;
    struct test_random r = {7};
    int placed = 0;
    for (int turn = 0; turn < 2000; turn++) {
        struct scene p = {0};
        for (int n = 2 + below(&r, TILES - 2), first = 0; n > 0; n--, first += below(&r, 4)) {
            int64_t bytes = 64 * (1 + below(&r, 12)) - below(&r, 64);
            add(&p, bytes, first, first + below(&r, 20), -1);
        }
        placed += place(&p) < 0;
        for (int i = 0; i < p.n; i++) /* those that were placed before the one that found no room */
            for (int k = 0; k < i && p.tiles[i].address >= 0; k++) {
                bool together = p.lived[k].last >= p.lived[i].first && p.lived[i].last >= p.lived[k].first;
                bool meet = p.tiles[k].address < p.tiles[i].address + p.tiles[i].elements &&
                            p.tiles[i].address < p.tiles[k].address + p.tiles[k].elements;
                assert_false(together && meet);
                assert_true(p.tiles[i].address + p.tiles[i].elements <= ROOM);
            }
    }
    assert_in_range(placed, 200, 1800); /* both happen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_free_first), cmocka_unit_test(test_never_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
