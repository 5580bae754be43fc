#include "backend/schedule/schedule.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Tiles are without places but for those that the kernel's author gave. */
static void forget_places(struct kernel *k)
{
    for (int i = 0; i < k->ntiles; i++)
        if (!k->tiles[i].fixed)
            k->tiles[i].address = -1;
}

/* The kernel's own order again, without places. */
static void restore(struct kernel *k, const struct insn *own)
{
    if (k->ninsns)
        memcpy(k->insns, own, sizeof *own * (size_t)k->ninsns);
    forget_places(k);
}

/* Instructions pass all others, then fewer and fewer, at last none. */
static const struct way {
    int window;
    enum order_by by;
} ways[] = {{INT_MAX, ORDER_BETTER}, {INT_MAX, ORDER_WORSE}, {128, ORDER_BETTER}, {128, ORDER_WORSE},
            {32, ORDER_BETTER},      {32, ORDER_WORSE},      {0, ORDER_BETTER}};
enum { NWAYS = sizeof ways / sizeof *ways };

/* Of an order: the time from one instance to the next, where so many are under way. */
static double price_of(const struct order_times *t, int beside)
{
    return t->span + (t->end - t->span) / beside;
}

static enum placement order_once(struct program *p, struct kernel *k, const struct machine *m, bool alone, int way,
                                 double *price, int *beside, struct diag *d)
{
    struct order_times times = {INFINITY, INFINITY};
    if (ways[way].window && !order_kernel(p, k, m, ways[way].window, ways[way].by, &times, d))
        return REFUSED;
    enum placement placed = place_kernel(p, k, m, alone, beside, d);
    *price = placed == PLACED && ways[way].window ? price_of(&times, *beside) : INFINITY;
    return placed;
}

/* The freest order if another instance or step has room beside its live tiles, else the cheapest of those for which
 * there is room at all. */
static enum placement order_and_place(struct program *p, struct kernel *k, const struct machine *m,
                                      bool alone, struct diag *d)
{
    struct arena scratch = {0};
    size_t size = sizeof *k->insns * (size_t)k->ninsns;
    struct insn *own = arena_copy(&scratch, k->insns, size);
    enum placement placed = NO_ROOM;
    double least = INFINITY;
    int best = -1;
    for (int i = 0; i < NWAYS && placed != REFUSED && (ways[i].window || best < 0); i++) {
        int beside = 1;
        double price;
        restore(k, own);
        diag_clear(d);
        placed = order_once(p, k, m, alone, i, &price, &beside, d);
        if (placed == PLACED && (best < 0 || price < least))
            best = i, least = price;
        if (i == 0 && placed == PLACED && (alone || beside > 1))
            break;
    }
    if (best >= 0 && placed != REFUSED) {
        double price;
        int beside = 1;
        restore(k, own);
        diag_clear(d);
        placed = order_once(p, k, m, alone, best, &price, &beside, d);
    }
    arena_free(&scratch);
    return placed;
}

static enum placement schedule_once(struct program *p, struct kernel *k, const struct machine *m,
                                    bool alone, struct diag *d)
{
    if (k->own_sync)
        return place_kernel(p, k, m, alone, NULL, d);
    enum placement placed = order_and_place(p, k, m, alone, d);
    return placed != PLACED || sync_kernel(p, k, d) ? placed : REFUSED;
}

bool schedule_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    return schedule_once(p, k, m, false, d) == PLACED;
}

/* Each tile by itself, or where there is no room one for those that live one after the other. */
static enum placement schedule_chip(struct program *p, struct kernel *k, const struct machine *m,
                                    struct diag *d)
{
    part_queues(k);
    size_t size = sizeof *k->insns * (size_t)k->ninsns;
    struct insn *own = arena_copy(&p->arena, k->insns, size);
    diag_clear(d);
    enum placement placed = schedule_once(p, k, m, true, d);
    if (placed != NO_ROOM)
        return placed;
    restore(k, own);
    reuse_tiles(p, k, false);
    diag_clear(d);
    return schedule_once(p, k, m, true, d);
}

/* Instructions of its own, which may change without those of a copy of the kernel. */
static void own_insns(struct program *p, struct kernel *k)
{
    k->insns = arena_copy(&p->arena, k->insns, sizeof *k->insns * (size_t)k->ninsns);
    k->insns_cap = k->ninsns;
    for (int i = 0; i < k->ninsns; i++) {
        struct insn *n = &k->insns[i];
        n->ap = arena_copy(&p->arena, n->ap, sizeof *n->ap * insn_info(n->op)->naps);
    }
}

bool schedule_traced(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    k->traced = true;
    if (k->own_sync)
        return schedule_kernel(p, k, m, d);
    if (!m->strict) {
        reuse_tiles(p, k, true);
        return schedule_kernel(p, k, m, d);
    }
    struct kernel loops = *k; /* tiles are merged in place where there is no room, instructions are copied */
    loops.tiles = arena_copy(&p->arena, k->tiles, sizeof *k->tiles * (size_t)k->ntiles);
    loops.tiles_cap = k->ntiles;
    own_insns(p, k);
    unroll_loops(p, k, m, false);
    join_row_sums(p, k);
    rotate_tiles(p, k, m);
    enum placement placed = schedule_chip(p, k, m, d);
    for (int tight = 0; tight < 2 && placed == NO_ROOM; tight++) { /* tight: engines have the least freedom */
        struct kernel again = loops;
        again.tight = tight;
        again.tiles = arena_copy(&p->arena, loops.tiles, sizeof *loops.tiles * (size_t)loops.ntiles);
        *k = again;
        own_insns(p, k);
        forget_places(k);
        placed = schedule_chip(p, k, m, d);
    }
    return placed == PLACED;
}

bool schedule_program(struct program *p, const struct machine *m, struct diag *d)
{
    for (int i = 0; i < p->nkernels; i++)
        if (!p->kernels[i].scheduled && !schedule_kernel(p, &p->kernels[i], m, d))
            return fail_in(d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    return true;
}
