/*
 * Which bytes of on-chip memory an instance has in use over time: each tile from its first access to its last. Bytes
 * where several tiles lie count once while any of them is in use: a tile of a loop is in use from its first iteration
 * to its last, though others have the same bytes between.
 */
#include "runtime/sim/state.h"

#include <stdlib.h>

/* A tile that shares bytes with others begins or ends. */
struct tile_event {
    int64_t at;
    int tile;
    int change; /* 1 or -1 */
};

static int by_time(const void *a, const void *b)
{
    const struct tile_event *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->change != y->change ? x->change - y->change : x->tile - y->tile; /* what ends comes first */
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void note(struct sim *s, bool psum, int64_t at, int64_t change)
{
    add_live(s, at, psum ? 0 : change, psum ? change : 0);
}

/* The memory between two neighbouring bounds is a cell, in use by as many tiles as it counts. */
struct memory_cells {
    int64_t *bounds;
    int n, *users;
};

static int cell_at(const struct memory_cells *c, int64_t address)
{
    const int64_t *found = bsearch(&address, c->bounds, (size_t)c->n, sizeof address, by_value);
    return (int)(found - c->bounds);
}

/* The bytes that come into use, or go out of it. */
static int64_t changed(struct memory_cells *c, int64_t low, int64_t high, int change)
{
    int64_t bytes = 0;
    for (int i = cell_at(c, low); c->bounds[i] < high; i++) {
        bool before = c->users[i] > 0;
        c->users[i] += change;
        bytes += before != (c->users[i] > 0) ? c->bounds[i + 1] - c->bounds[i] : 0;
    }
    return bytes * change;
}

static void note_shared(struct launch_state *l, struct tile_event *events, int n, bool psum, struct arena *a)
{
    const struct number_kernel *k = l->k;
    struct memory_cells c = {ARENA_ARRAY(a, int64_t, n + 1), 0, ARENA_ARRAY(a, int, n + 1)};
    int64_t *all = c.bounds;
    for (int i = 0; i < n; i++) /* each tile is there twice: by its beginning, and by its end */
        all[i] = k->k->tiles[events[i].tile].address + (events[i].change > 0 ? 0 : k->tile_bytes[events[i].tile]);
    qsort(all, (size_t)n, sizeof *all, by_value);
    for (int i = 0; i < n; i++)
        if (!c.n || all[i] != c.bounds[c.n - 1])
            c.bounds[c.n++] = all[i];
    qsort(events, (size_t)n, sizeof *events, by_time);
    for (int i = 0; i < n; i++) {
        int64_t low = k->k->tiles[events[i].tile].address, high = low + k->tile_bytes[events[i].tile];
        int64_t bytes = changed(&c, low, high, events[i].change);
        if (bytes)
            note(l->s, psum, events[i].at, bytes);
    }
}

void note_occupancy(struct launch_state *l, const struct instance *i)
{
    struct arena scratch = {0};
    int ntiles = l->k->k->ntiles;
    struct tile_event *events = ARENA_ARRAY(&scratch, struct tile_event, 2 * ntiles + 1);
    for (int psum = 0; psum < 2; psum++) {
        int n = 0;
        for (int t = 0; t < ntiles; t++) {
            const struct tile_state *x = &i->tiles[t];
            if (x->first < 0 || (l->k->k->tiles[t].mem == MEM_PSUM) != psum)
                continue;
            if (l->aliases[t][1] < 0) { /* itself alone */
                note(l->s, psum, x->first, l->k->tile_bytes[t]);
                note(l->s, psum, x->last, -l->k->tile_bytes[t]);
                continue;
            }
            events[n++] = (struct tile_event){x->first, t, 1};
            events[n++] = (struct tile_event){x->last, t, -1};
        }
        note_shared(l, events, n, psum, &scratch);
    }
    arena_free(&scratch);
}
