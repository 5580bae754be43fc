/*
 * Strict targets: tiles get addresses by liveness (lifetime.c), and the machine's rules are
 * checked. Tiles whose address the kernel's author gave keep it. Addresses are bytes in each
 * partition. On `cpu`, where sizes may depend on symbols, the runtime places tiles when shapes are
 * bound.
 */
#include "backend/schedule/schedule.h"

#include "backend/tile/rules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 64 };

struct placed_span {
    int tile, first, last;
    int64_t size;
    bool fixed;
};

/* Spans that have a place, by the time when they are live: of so many instructions each. */
enum { PERIODS = 512 };
struct placed_at {
    int span, next; /* -1: the last one of the list */
};

struct taken_bytes { /* bytes of a partition */
    int64_t first, end;
};

struct placer {
    struct program *p;
    struct kernel *k;
    const struct machine *m;
    bool alone; /* nothing that comes after the kernel's one instance needs room */
    int beside; /* result: see place_kernel */
    struct placed_at *placed;
    int nplaced, placed_cap, period; /* instructions of each */
    int live[PERIODS + 1], begin[PERIODS + 1]; /* what is live in each, what begins there; -1 */
    struct taken_bytes *near; /* by what is live together with the span in hand, by rising addresses */
    int nnear;
    struct diag *d;
    struct arena scratch;
};

/* "tile 3 (psum, node 'Conv_1')" */
static void tile_fault(struct placer *s, int tile)
{
    int node = -1;
    for (int i = 0; i < s->k->ninsns && node < 0; i++)
        for (int a = 0; a < insn_info(s->k->insns[i].op)->naps; a++)
            if (s->k->insns[i].ap[a].mem == s->k->tiles[tile].mem &&
                s->k->insns[i].ap[a].tensor == tile)
                node = s->k->insns[i].node;
    const struct tile *t = &s->k->tiles[tile];
    const char *at = node >= 0 ? s->p->nodes[node].name : "";
    if (t->name)
        fail_in(s->d, "tile '%s'", t->name);
    else
        fail_in(s->d, "tile %d in %s", tile, t->mem == MEM_PSUM ? "psum" : "sbuf");
    if (*at)
        fail_in(s->d, "node '%s'", at);
}

static int by_size(const void *a, const void *b)
{
    const struct placed_span *x = a, *y = b;
    if (x->fixed != y->fixed)
        return x->fixed ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->tile - y->tile;
}

int64_t settle_tile(const struct machine *m, const struct tile *t, int64_t at, int64_t size)
{
    at = (at + ALIGN - 1) / ALIGN * ALIGN;
    int64_t bank = m->psum_bank;
    bool splits = size > bank ? at % bank != 0 : at / bank != (at + size - 1) / bank;
    if (t->mem == MEM_PSUM && splits)
        at = (at + bank - 1) / bank * bank;
    return at;
}

static void forget_placed(struct placer *s)
{
    s->nplaced = 0;
    s->period = s->k->ninsns / PERIODS + 1;
    for (int i = 0; i <= PERIODS; i++)
        s->live[i] = s->begin[i] = -1;
}

/* A tile that nothing uses is live before the first instruction. */
static int period_of(const struct placer *s, int insn)
{
    return (insn + 1) / s->period;
}

static void put_placed(struct placer *s, int *list, int i)
{
    ARENA_GROW(&s->scratch, s->placed, s->nplaced, s->placed_cap);
    s->placed[s->nplaced] = (struct placed_at){i, *list};
    *list = s->nplaced++;
}

static void note_placed(struct placer *s, const struct placed_span *spans, int i)
{
    int first = period_of(s, spans[i].first), last = period_of(s, spans[i].last);
    put_placed(s, &s->begin[first], i);
    for (int t = first; t <= last; t++)
        put_placed(s, &s->live[t], i);
}

static int by_address(const void *a, const void *b)
{
    const struct taken_bytes *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* What spans with a place take of its memory that are live together with spans[i]. */
static void find_near(struct placer *s, const struct placed_span *spans, int i)
{
    int first = period_of(s, spans[i].first), last = period_of(s, spans[i].last);
    s->nnear = 0;
    for (int t = first; t <= last; t++)
        for (int at = t == first ? s->live[t] : s->begin[t]; at >= 0; at = s->placed[at].next) {
            const struct placed_span *j = &spans[s->placed[at].span];
            const struct tile *o = &s->k->tiles[j->tile];
            if (o->mem == s->k->tiles[spans[i].tile].mem && j->last >= spans[i].first && spans[i].last >= j->first)
                s->near[s->nnear++] = (struct taken_bytes){o->address, o->address + j->size};
        }
    qsort(s->near, (size_t)s->nnear, sizeof *s->near, by_address);
}

/* The lowest place at or after `at` that is free while the tile is live; after find_near. */
static int64_t lowest_from(const struct placer *s, const struct placed_span *spans, int i, int64_t at)
{
    const struct tile *t = &s->k->tiles[spans[i].tile];
    at = settle_tile(s->m, t, at, spans[i].size);
    for (int n = 0; n < s->nnear && s->near[n].first < at + spans[i].size; n++)
        if (s->near[n].end > at)
            at = settle_tile(s->m, t, s->near[n].end, spans[i].size);
    return at;
}

static int64_t lowest(const struct placer *s, const struct placed_span *spans, int i)
{
    return lowest_from(s, spans, i, 0);
}

static const char *memory_name(const struct tile *t)
{
    return t->mem == MEM_PSUM ? "psum" : "sbuf";
}

/* The tiles that are live together with spans[i], the largest of those placed first. */
static void no_room(struct placer *s, const struct placed_span *spans, int i, int64_t limit)
{
    enum { NAMED = 8 };
    const struct tile *t = &s->k->tiles[spans[i].tile];
    char list[400] = "";
    size_t n = 0;
    int64_t sum = spans[i].size;
    int alive = 1;
    for (int j = 0; j < i; j++) {
        const struct tile *o = &s->k->tiles[spans[j].tile];
        if (o->mem != t->mem || spans[j].last < spans[i].first || spans[i].last < spans[j].first)
            continue;
        sum += spans[j].size;
        if (alive++ < NAMED && n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, ", %s %lld",
                                  o->name ? o->name : "a tile", (long long)spans[j].size);
    }
    fail(s->d,
         "no room in %s: %d tiles live together need %lld bytes of each partition, %s has %lld: "
         "%s %lld%s%s; make tiles smaller, or use them for a shorter time",
         memory_name(t), alive, (long long)sum, s->m->name, (long long)limit,
         t->name ? t->name : "this one", (long long)spans[i].size, list,
         alive > NAMED ? ", ..." : "");
    tile_fault(s, spans[i].tile);
}

/* Bytes of a partition of the tile's memory, 1/share of it; whole banks of PSUM. */
static int64_t room_of(const struct placer *s, const struct tile *t, int share)
{
    int64_t bank = s->m->psum_bank;
    return t->mem == MEM_PSUM ? s->m->psum / bank / share * bank : s->m->sbuf / share;
}

/* How far apart in the kernel's order the tile is from those that have this memory at other times;
 * -1: one has it at the same time. */
static int distance(const struct placer *s, const struct placed_span *spans, int i, int64_t at)
{
    const struct tile *t = &s->k->tiles[spans[i].tile];
    int min = INT_MAX; /* nothing has it */
    for (int j = 0; j < i; j++) {
        const struct tile *o = &s->k->tiles[spans[j].tile];
        if (o->mem != t->mem || at + spans[i].size <= o->address ||
            o->address + spans[j].size <= at)
            continue;
        int gap = spans[j].last < spans[i].first   ? spans[i].first - spans[j].last
                  : spans[i].last < spans[j].first ? spans[j].first - spans[i].last
                                                   : -1;
        min = gap < min ? gap : min;
    }
    return min;
}

/* The lowest place where what has the memory at other times is at least `apart` instructions away.
 */
static int64_t lowest_apart(const struct placer *s, const struct placed_span *spans, int i, int64_t limit,
                            int apart)
{
    const struct tile *t = &s->k->tiles[spans[i].tile];
    int64_t best = lowest(s, spans, i);
    if (distance(s, spans, i, best) >= apart)
        return best;
    best = limit;
    for (int j = 0; j < i; j++) {
        const struct tile *o = &s->k->tiles[spans[j].tile];
        int64_t at = settle_tile(s->m, t, o->address + spans[j].size, spans[i].size);
        if (o->mem == t->mem && at < best && at + spans[i].size <= limit &&
            distance(s, spans, i, at) >= apart)
            best = at;
    }
    return best;
}

enum {
    MAX_SPREAD = 400, /* tiles: their pairs are compared for each */
    IN_TURN = -1,      /* of more tiles: each begins where the one before it ended */
    FAR = 64, NEAR = 4 /* instructions */
};

static bool one_instance(const struct kernel *k)
{
    for (int i = 0; i < k->ngrid; i++)
        if (k->grid[i] != 1)
            return false;
    return true;
}

/* The first place from where the tile before it ended; the lowest where memory ends. */
static int64_t next_in_turn(const struct placer *s, const struct placed_span *spans, int i, int64_t limit, int64_t *end)
{
    int64_t at = lowest_from(s, spans, i, *end);
    if (at + spans[i].size > limit)
        at = lowest(s, spans, i);
    *end = at + spans[i].size;
    return at;
}

/* The first span for which there is no room in 1/share of each memory, -1 none. `aparts`: of sbuf and of psum. Places
 * that are given stay. */
static int place_apart(struct placer *s, const struct placed_span *spans, const int aparts[2], int share)
{
    int64_t ends[2] = {0}; /* of the tile placed last, in sbuf and psum */
    forget_placed(s);
    for (int i = 0; i < s->k->ntiles; i++) {
        struct tile *t = &s->k->tiles[spans[i].tile];
        int64_t limit = room_of(s, t, share);
        int apart = aparts[t->mem == MEM_PSUM];
        if (!t->fixed)
            find_near(s, spans, i);
        if (!t->fixed)
            t->address = apart == IN_TURN ? next_in_turn(s, spans, i, limit, &ends[t->mem == MEM_PSUM])
                         : apart          ? lowest_apart(s, spans, i, limit, apart)
                                          : lowest(s, spans, i);
        if (t->address + spans[i].size > limit)
            return i;
        note_placed(s, spans, i);
    }
    return -1;
}

/* How many instances may run beside each other with the tiles where they are; of a kernel of one
 * instance, what comes after it counts as another one. */
static int side_by_side(const struct placer *s, const struct placed_span *spans)
{
    enum { LIMIT = 8, LONG = 100 }; /* instructions: engines are busy with two instances of so many */
    int max = one_instance(s->k) ? (s->alone ? 1 : 2) : s->k->ninsns > LONG ? 2 : LIMIT;
    int64_t ends[2] = {0};
    for (int i = 0; i < s->k->ntiles; i++) {
        const struct tile *t = &s->k->tiles[spans[i].tile];
        int64_t *end = &ends[t->mem == MEM_PSUM];
        *end = t->address + spans[i].size > *end ? t->address + spans[i].size : *end;
    }
    ends[1] = (ends[1] + s->m->psum_bank - 1) / s->m->psum_bank * s->m->psum_bank;
    for (; max > 1; max--)
        if (ends[0] * max <= s->m->sbuf && ends[1] * max <= s->m->psum)
            break;
    return max;
}

/* A tile should not wait for what had its memory just before. As many instances as possible run
 * beside each other, each in as little memory as it can; what that leaves is used to keep tiles
 * apart. */
static enum placement place_tiles(struct placer *s)
{
    struct placed_span *spans = ARENA_ARRAY(&s->scratch, struct placed_span, s->k->ntiles + 1);
    const struct tile_span *live = tile_spans(s->p, s->k, &s->scratch);
    s->near = ARENA_ARRAY(&s->scratch, struct taken_bytes, s->k->ntiles + 1);
    for (int i = 0; i < s->k->ntiles; i++) {
        const struct tile *t = &s->k->tiles[i];
        spans[i] = (struct placed_span){i, live[i].first, live[i].last, tile_partition_bytes(t), t->fixed};
    }
    qsort(spans, (size_t)s->k->ntiles, sizeof *spans, by_size);
    int i = place_apart(s, spans, (const int[]){0, 0}, 1);
    if (i < 0) {
        int share = side_by_side(s, spans);
        s->beside = share;
        int apart = s->k->ntiles <= MAX_SPREAD ? 256 : IN_TURN;
        while (place_apart(s, spans, (const int[]){apart, apart}, share) >= 0 && apart)
            apart = apart > NEAR ? apart / 2 : 0;
        if (apart == 0 && s->k->ntiles <= MAX_SPREAD) /* no room in psum: tiles of sbuf need not suffer */
            for (apart = FAR; place_apart(s, spans, (const int[]){apart, 0}, share) >= 0 && apart;)
                apart = apart > NEAR ? apart / 2 : 0;
        return PLACED;
    }
    const struct tile *t = &s->k->tiles[spans[i].tile];
    int64_t limit = room_of(s, t, 1);
    if (!t->fixed) {
        no_room(s, spans, i, limit);
        return NO_ROOM;
    }
    fail(s->d, "bytes %lld to %lld of each partition, %s has %lld", (long long)t->address,
         (long long)(t->address + spans[i].size - 1), s->m->name, (long long)limit);
    tile_fault(s, spans[i].tile);
    return REFUSED;
}

/* ---- rules of strict targets ---- */

static bool check_insns(struct placer *s)
{
    struct tile_context c = {s->p, s->k, s->m, NULL};
    for (int i = 0; i < s->k->ninsns; i++) {
        const struct insn *n = &s->k->insns[i];
        if (tile_check(&c, n, s->d))
            continue;
        fail_in(s->d, "%s", insn_info(n->op)->name);
        if (n->node >= 0 && *s->p->nodes[n->node].name)
            fail_in(s->d, "node '%s'", s->p->nodes[n->node].name);
        return false;
    }
    return true;
}

static enum placement place(struct placer *s)
{
    for (int i = 0; i < s->k->ntiles; i++)
        if (!tile_check_size(s->m, &s->k->tiles[i], s->d)) {
            tile_fault(s, i);
            return REFUSED;
        }
    return check_insns(s) ? place_tiles(s) : REFUSED;
}

enum placement place_kernel(struct program *p, struct kernel *k, const struct machine *m, bool alone,
                            int *beside, struct diag *d)
{
    struct placer s = {.p = p, .k = k, .m = m, .alone = alone, .d = d};
    if (!m->strict)
        return PLACED;
    enum placement placed = place(&s);
    if (beside)
        *beside = s.beside;
    arena_free(&s.scratch);
    return placed;
}
