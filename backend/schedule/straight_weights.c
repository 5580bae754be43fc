/*
 * Places of weights in what other tiles leave free. These have their places already, each for as long as it lives.
 *
 * A queue loads weights one after the other, each as soon as what had its memory before is over, whatever place the
 * load has in the kernel's order. So a tile of weights gets the memory that is free first: where what had it before
 * ended the earliest. Memory is looked at in cells; each knows what has it when.
 */
#include "backend/schedule/chain.h"

#include "backend/tile/rules.h"

enum { CELL = 64 }; /* bytes of a partition: places of tiles are multiples */

struct stay { /* of a tile, in the kernel's order */
    int first, last;
};

struct memory_cell {
    struct stay *stays; /* by time; none meet */
    int n, cap;
};

struct gaps {
    struct arena *a;
    struct memory_cell *cells;
    int64_t n;
    int *since;   /* per cell: the last instruction of what had it before the tile in hand; FREE, TAKEN */
    int64_t *max; /* cells of a window whose `since` falls, the latest first */
};

enum { FREE = -1, TAKEN = INT32_MAX };

static int64_t cells_of(int64_t bytes)
{
    return (bytes + CELL - 1) / CELL;
}

static void stay_at(struct gaps *g, int64_t address, int64_t size, struct stay s)
{
    for (int64_t c = address / CELL; c < cells_of(address + size); c++) {
        struct memory_cell *cell = &g->cells[c];
        ARENA_GROW(g->a, cell->stays, cell->n, cell->cap);
        int i = cell->n++;
        for (; i > 0 && cell->stays[i - 1].first > s.first; i--)
            cell->stays[i] = cell->stays[i - 1];
        cell->stays[i] = s;
    }
}

static int since(const struct memory_cell *c, struct stay s)
{
    int low = 0, high = c->n; /* stays before `low` begin before s ends */
    while (low < high) {
        int middle = (low + high) / 2;
        if (c->stays[middle].first <= s.last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return FREE;
    return c->stays[low - 1].last < s.first ? c->stays[low - 1].last : TAKEN;
}

/* The lowest of the places that are free first; -1: none is free for so long. */
static int64_t free_first(const struct gaps *g, int64_t size, struct stay s)
{
    int64_t width = cells_of(size), head = 0, tail = 0, best = -1;
    int min = TAKEN;
    for (int64_t c = 0; c < g->n; c++) {
        g->since[c] = since(&g->cells[c], s);
        while (tail > head && g->since[g->max[tail - 1]] <= g->since[c])
            tail--;
        g->max[tail++] = c;
        if (g->max[head] <= c - width)
            head++;
        if (c + 1 >= width && g->since[g->max[head]] < min)
            min = g->since[g->max[head]], best = (c + 1 - width) * CELL;
    }
    return best;
}

int place_in_gaps(struct kernel *k, const struct lived_tile *lived, int n, const bool *placed, int64_t bytes)
{
    struct arena scratch = {0};
    struct gaps g = {.a = &scratch, .n = bytes / CELL};
    g.cells = ARENA_ARRAY(&scratch, struct memory_cell, g.n + 1);
    g.since = ARENA_ARRAY(&scratch, int, g.n + 1), g.max = ARENA_ARRAY(&scratch, int64_t, g.n + 1);
    int failed = -1;
    for (int i = 0; i < n; i++) {
        const struct tile *t = &k->tiles[lived[i].tile];
        if (t->mem == MEM_SBUF && placed[lived[i].tile])
            stay_at(&g, t->address, tile_partition_bytes(t), (struct stay){lived[i].first, lived[i].last});
    }
    for (int i = 0; i < n && failed < 0; i++) {
        struct tile *t = &k->tiles[lived[i].tile];
        if (t->mem != MEM_SBUF || placed[lived[i].tile])
            continue;
        struct stay s = {lived[i].first, lived[i].last};
        t->address = free_first(&g, tile_partition_bytes(t), s);
        if (t->address < 0)
            failed = lived[i].first;
        else
            stay_at(&g, t->address, tile_partition_bytes(t), s);
    }
    arena_free(&scratch);
    return failed;
}
