/*
 * Places of kernels of many thousand instructions without loops. What place.c does compares pairs.
 *
 * Memory is given in turn, as in a ring: a tile begins where the one before it ended, so that what has the memory next
 * waits for long ago. Tiles of different kinds have rings of their own. In one for all, weights would wait for whatever
 * had the memory before, and stand in their queue before all others. So the other tiles may come first, close together
 * in what the rest of the kernel needs of a ring, and weights take what is free first (straight_weights.c).
 */
#include "backend/schedule/chain.h"

#include "backend/tile/rules.h"

#include <stdlib.h>

enum ring_of { LARGE, SMALL, WEIGHTS /* none: they come last */, PSUM, RINGS };
enum { SMALLEST_LARGE = 1536 }; /* bytes; small tiles between large ones would leave these no room */

struct taken {
    int64_t from, to;
    int last;
};

struct ring {
    struct taken *taken; /* by address */
    int n;
    int64_t from, to, next;
};

struct straight {
    const struct program *p;
    struct kernel *k;
    const struct machine *m;
    struct lived_tile *lived; /* by birth */
    int n;
    uint8_t *ring; /* per tile */
};

/* ---- one ring ---- */

/* The first place from `at` on that is free; -1. */
static int64_t first_free(const struct ring *r, const struct machine *m, const struct tile *t, int64_t at, int64_t size)
{
    at = settle_tile(m, t, at, size);
    for (int i = 0; i < r->n && at + size > r->taken[i].from; i++)
        if (at < r->taken[i].to)
            at = settle_tile(m, t, r->taken[i].to, size);
    return at + size <= r->to ? at : -1;
}

static void drop_dead(struct ring *r, int now)
{
    int n = 0;
    for (int i = 0; i < r->n; i++)
        if (r->taken[i].last >= now)
            r->taken[n++] = r->taken[i];
    r->n = n;
}

static void take(struct ring *r, int64_t from, int64_t to, int last)
{
    int i = r->n++;
    for (; i > 0 && r->taken[i - 1].from > from; i--)
        r->taken[i] = r->taken[i - 1];
    r->taken[i] = (struct taken){from, to, last};
    r->next = to;
}

/* ---- which ring ---- */

bool loads_constant(const struct program *p, const struct insn *n)
{
    enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
    return n->op == INSN_dma_copy && n->ap[SRC].mem == MEM_HBM && n->ap[DST].mem == MEM_SBUF &&
           p->slots[slot_root(p, n->ap[SRC].tensor)].kind == SLOT_CONST;
}

/* SBUF's tiles into LARGE, or small ones apart, and those that loads of constants write. */
static void choose_rings(const struct straight *s, bool small_apart, bool weights_apart)
{
    const struct kernel *k = s->k;
    for (int t = 0; t < k->ntiles; t++) {
        bool small = small_apart && tile_partition_bytes(&k->tiles[t]) < SMALLEST_LARGE;
        s->ring[t] = k->tiles[t].mem == MEM_PSUM ? PSUM : small ? SMALL : LARGE;
    }
    for (int i = 0; weights_apart && i < k->ninsns; i++)
        if (loads_constant(s->p, &k->insns[i]))
            s->ring[k->insns[i].ap[AP(dma_copy, dst)].tensor] = WEIGHTS;
}

/* Per instruction, the most bytes of each ring that live at a time from then on. */
typedef int64_t peaks_t[RINGS];
static peaks_t *find_peaks(const struct straight *s, struct arena *a)
{
    int n = s->k->ninsns;
    peaks_t *peaks = arena_alloc(a, sizeof *peaks * (size_t)(n + 2));
    for (int i = 0; i < s->n; i++) {
        int tile = s->lived[i].tile;
        peaks[s->lived[i].first][s->ring[tile]] += tile_partition_bytes(&s->k->tiles[tile]);
        peaks[s->lived[i].last + 1][s->ring[tile]] -= tile_partition_bytes(&s->k->tiles[tile]);
    }
    for (int i = 1; i < n; i++)
        for (int r = 0; r < RINGS; r++)
            peaks[i][r] += peaks[i - 1][r];
    for (int i = n - 2; i >= 0; i--)
        for (int r = 0; r < RINGS; r++)
            peaks[i][r] = peaks[i][r] > peaks[i + 1][r] ? peaks[i][r] : peaks[i + 1][r];
    return peaks;
}

/* ---- places ---- */

/* Behind the tile before it, or where there is room first, so that the tile lies in the ring's first `room` bytes; -1.
 */
static int64_t place_of(const struct straight *s, const struct ring *r, const struct tile *t, int64_t room)
{
    int64_t size = tile_partition_bytes(t), at = first_free(r, s->m, t, r->next, size);
    if (at < 0 || at + size > r->from + room) {
        int64_t low = first_free(r, s->m, t, r->from, size);
        at = at < 0 || (low >= 0 && low < at) ? low : at;
    }
    return at;
}

/* All but weights in turn, each within `turns` percent of what its ring needs from then on, where that has room; with
 * 0 where there is room first. -1, or at which instruction there was none at all. */
static int place_all(const struct straight *s, struct ring rings[RINGS], const peaks_t *peaks, int turns)
{
    for (int i = 0; i < s->n; i++) {
        int which = s->ring[s->lived[i].tile];
        struct tile *t = &s->k->tiles[s->lived[i].tile];
        struct ring *r = &rings[which];
        if (which == WEIGHTS)
            continue;
        drop_dead(r, s->lived[i].first);
        int64_t at = turns ? place_of(s, r, t, which == PSUM ? r->to : turns * peaks[s->lived[i].first][which] / 100)
                           : first_free(r, s->m, t, r->from, tile_partition_bytes(t));
        if (at < 0)
            return s->lived[i].first;
        t->address = at;
        take(r, at, at + tile_partition_bytes(t), s->lived[i].last);
    }
    return -1;
}

/* In rings as chosen that end at byte `end` of SBUF. */
static int place_in_rings(const struct straight *s, const peaks_t *peaks, int64_t end, int turns)
{
    struct arena scratch = {0};
    int64_t unit = s->m->psum_bank, others = peaks[0][LARGE] + peaks[0][SMALL];
    int64_t middle = peaks[0][SMALL] == 0 ? end : end / unit * peaks[0][LARGE] / others * unit;
    struct ring rings[] = {[LARGE] = {.to = middle},
                           [SMALL] = {.from = middle, .to = end, .next = middle},
                           [PSUM] = {.to = s->m->psum}};
    for (int r = 0; r < RINGS; r++)
        rings[r].taken = ARENA_ARRAY(&scratch, struct taken, s->n + 1);
    int failed = place_all(s, rings, peaks, turns);
    arena_free(&scratch);
    return failed;
}

/* Weights take what others leave free: these have `percent` less than all of what weights could do without. */
static int place_before_weights(const struct straight *s, bool small_apart, int percent)
{
    enum { TURNS = 140 }; /* 100 to 200 are within 3% on resnet50 */
    struct arena scratch = {0};
    bool *placed = ARENA_ARRAY(&scratch, bool, s->k->ntiles + 1);
    choose_rings(s, small_apart, true);
    const peaks_t *peaks = find_peaks(s, &scratch);
    int64_t unit = s->m->psum_bank, free = s->m->sbuf - peaks[0][LARGE] - peaks[0][SMALL] - peaks[0][WEIGHTS];
    int64_t end = (s->m->sbuf - peaks[0][WEIGHTS] - (free > 0 ? free * percent / 100 : 0)) / unit * unit;
    for (int t = 0; t < s->k->ntiles; t++)
        placed[t] = s->ring[t] != WEIGHTS;
    int failed = place_in_rings(s, peaks, end, TURNS);
    if (failed < 0)
        failed = place_in_gaps(s->k, s->lived, s->n, placed, s->m->sbuf);
    arena_free(&scratch);
    return failed;
}

/* As much for weights as leaves room for the others. */
static int place_weights_apart(const struct straight *s)
{
    static const int percent[] = {95, 80, 65, 50, 35, 20, 5};
    int failed = 0;
    for (size_t i = 0; failed >= 0 && i < sizeof percent / sizeof *percent; i++)
        for (int small_apart = 1; failed >= 0 && small_apart >= 0; small_apart--)
            failed = place_before_weights(s, small_apart, percent[i]);
    return failed;
}

static int place_together(const struct straight *s, bool in_turn)
{
    enum { WHOLE_RING = 1 << 24 };
    struct arena scratch = {0};
    int failed = 0;
    for (int small_apart = in_turn; failed >= 0 && small_apart >= 0; small_apart--) {
        choose_rings(s, small_apart, false);
        failed = place_in_rings(s, find_peaks(s, &scratch), s->m->sbuf, in_turn ? WHOLE_RING : 0);
    }
    arena_free(&scratch);
    return failed;
}

static int by_birth(const void *a, const void *b)
{
    const struct lived_tile *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->tile - y->tile;
}

int place_straight(struct program *p, struct kernel *k, const struct machine *m, enum straight_places how)
{
    struct arena scratch = {0};
    struct straight s = {.p = p, .k = k, .m = m, .lived = ARENA_ARRAY(&scratch, struct lived_tile, k->ntiles + 1)};
    const struct tile_span *spans = tile_spans(p, k, &scratch);
    s.ring = ARENA_ARRAY(&scratch, uint8_t, k->ntiles + 1);
    for (int t = 0; t < k->ntiles; t++)
        if (spans[t].first >= 0)
            s.lived[s.n++] = (struct lived_tile){t, spans[t].first, spans[t].last};
        else
            k->tiles[t].address = 0;
    qsort(s.lived, (size_t)s.n, sizeof *s.lived, by_birth);
    int failed = how == PLACE_WEIGHTS_APART ? place_weights_apart(&s) : place_together(&s, how == PLACE_IN_TURN);
    arena_free(&scratch);
    return failed;
}
