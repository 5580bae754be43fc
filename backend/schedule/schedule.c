#include "backend/schedule/chain.h"
#include "neff/isa/cost.h"

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
    double min = INFINITY;
    int best = -1;
    for (int i = 0; i < NWAYS && placed != REFUSED && (ways[i].window || best < 0); i++) {
        int beside = 1;
        double price;
        restore(k, own);
        diag_clear(d);
        placed = order_once(p, k, m, alone, i, &price, &beside, d);
        if (placed == PLACED && (best < 0 || price < min))
            best = i, min = price;
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

/* Engines go on with what does not wait. How long the kernel takes then, ns, by the estimate. */
static double refine(const struct program *p, struct kernel *k, const struct machine *m, const int64_t *values)
{
    struct arena scratch = {0};
    double *costs = ARENA_ARRAY(&scratch, double, k->ninsns + 1), *moves = ARENA_ARRAY(&scratch, double, k->ninsns + 1);
    straight_costs(m, k->insns, k->ninsns, values, costs, moves);
    double ns = refine_order(p, k, m, values, straight_price(p, k, m, costs, moves));
    arena_free(&scratch);
    return ns;
}

/* How many parts of 2 KiB in a partition a load of long rows has, which take DMA engines no longer than all at once. */
static int64_t parts_of(const struct insn *n)
{
    enum { PART = 2048, MAX_PARTS = 8 };
    if (n->op != INSN_dma_copy)
        return 1;
    const struct ap *dst = &n->ap[AP(dma_copy, dst)], *src = &n->ap[AP(dma_copy, src)];
    if (dst->mem != MEM_SBUF || src->mem != MEM_HBM || dst->rank < 1 || src->rank < 1 || dst->dtype != src->dtype)
        return 1;
    const struct ap_dim *to = &dst->dim[dst->rank - 1], *from = &src->dim[src->rank - 1];
    if (to->step != 1 || from->step != 1 || to->count != from->count || to->clip || from->clip)
        return 1;
    int64_t parts = to->count * (int64_t)dtype_bytes(dst->dtype) / PART;
    parts = parts > MAX_PARTS ? MAX_PARTS : parts;
    while (parts > 1 && to->count % parts)
        parts--;
    return parts > 1 ? parts : 1;
}

/* Loads of long rows in parts: what needs the first columns does not wait for the last ones, and a part that is needed
 * later may come later. False: there are none. */
static bool part_rows(struct program *p, struct kernel *k)
{
    const struct insn *own = k->insns;
    int64_t n = 0;
    for (int i = 0; i < k->ninsns; i++)
        n += parts_of(&own[i]);
    if (n == k->ninsns || n > INT_MAX / 2)
        return false;
    k->insns = ARENA_ARRAY(&p->arena, struct insn, n + 1);
    k->insns_cap = (int)n + 1, n = 0;
    for (int i = 0; i < k->ninsns; i++) {
        int64_t parts = parts_of(&own[i]);
        for (int64_t part = 0; part < parts; part++) {
            struct insn *x = &k->insns[n++];
            *x = own[i];
            x->ap = parts > 1 ? arena_copy(&p->arena, x->ap, sizeof *x->ap * insn_info(x->op)->naps) : x->ap;
            for (int o = 0; parts > 1 && o < insn_info(x->op)->naps; o++) {
                struct ap_dim *d = &x->ap[o].dim[x->ap[o].rank - 1];
                d->count /= parts;
                x->ap[o].offset.base += part * d->count;
            }
        }
    }
    k->ninsns = (int)n;
    return true;
}

/* The same with places one behind the other, as far from those before as there is room, where that takes less time. */
static double refine_in_turn(struct program *p, struct kernel *k, const struct machine *m, const int64_t *values,
                             const struct insn *insns, double min)
{
    struct arena scratch = {0};
    size_t ninsns = sizeof *insns * (size_t)k->ninsns, ntiles = sizeof *k->tiles * (size_t)k->ntiles;
    const struct insn *refined = arena_copy(&scratch, k->insns, ninsns);
    const struct tile *placed = arena_copy(&scratch, k->tiles, ntiles);
    double ns = INFINITY;
    memcpy(k->insns, insns, ninsns);
    if (place_straight(p, k, m, PLACE_IN_TURN) < 0)
        ns = refine(p, k, m, values);
    if (ns >= min) {
        memcpy(k->insns, refined, ninsns);
        memcpy(k->tiles, placed, ntiles);
    }
    arena_free(&scratch);
    return ns < min ? ns : min;
}

/* Whether it may have several instances, which run beside each other where memory is left. */
static bool is_grid(const struct kernel *k)
{
    bool is = false;
    for (int i = 0; i < k->ngrid; i++)
        is |= k->grid[i] != 1;
    return is;
}

/* Of an instance, what makes up for its having all memory. */
#define ALONE 0.75

/* Of a traced kernel that has places, without loops. INFINITY: it has loops, or its sizes are not known. */
static double refine_traced(struct program *p, struct kernel *k, const struct machine *m)
{
    struct arena scratch = {0};
    struct diag d = {0};
    double ns = INFINITY;
    k->straight = m->strict && k->traced && kernel_is_straight(k);
    const int64_t *values = k->straight ? bind_symbols_for_report(p, NULL, 0, 1, &scratch, &d) : NULL;
    if (values) {
        const struct insn *insns = arena_copy(&scratch, k->insns, sizeof *k->insns * (size_t)k->ninsns);
        ns = refine(p, k, m, values);
        if (!has_fixed_tiles(k)) {
            double less = is_grid(k) ? ns * ALONE : ns, turn = refine_in_turn(p, k, m, values, insns, less);
            ns = turn < less ? turn : ns;
        }
        const struct kernel whole = *k;
        double parts = part_rows(p, k) ? refine(p, k, m, values) : INFINITY;
        if (parts < ns)
            ns = parts;
        else
            *k = whole;
    }
    arena_free(&scratch);
    return ns;
}

/* *ns: of refine_traced. */
static enum placement schedule_once(struct program *p, struct kernel *k, const struct machine *m,
                                    bool alone, double *ns, struct diag *d)
{
    *ns = INFINITY;
    if (k->own_sync)
        return place_kernel(p, k, m, alone, NULL, d);
    enum placement placed = order_and_place(p, k, m, alone, d);
    if (placed == PLACED)
        *ns = refine_traced(p, k, m);
    return placed != PLACED || sync_kernel(p, k, d) ? placed : REFUSED;
}

bool schedule_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    double ns;
    return schedule_once(p, k, m, false, &ns, d) == PLACED;
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

/* The kernel again, as it was; tiles are merged in place where there is no room, instructions are copied. */
static struct kernel copy_of(struct program *p, const struct kernel *k)
{
    struct kernel copy = *k;
    copy.tiles = arena_copy(&p->arena, k->tiles, sizeof *k->tiles * (size_t)k->ntiles);
    copy.tiles_cap = k->ntiles;
    own_insns(p, &copy);
    return copy;
}

/* Each tile by itself, or where there is no room one for those that live one after the other, of each kind so many at
 * least. */
static enum placement schedule_chip(struct program *p, struct kernel *k, const struct machine *m,
                                    int apart, double *ns, struct diag *d)
{
    part_queues(k);
    size_t size = sizeof *k->insns * (size_t)k->ninsns;
    struct insn *own = arena_copy(&p->arena, k->insns, size);
    diag_clear(d);
    enum placement placed = schedule_once(p, k, m, true, ns, d);
    if (placed != NO_ROOM)
        return placed;
    restore(k, own);
    reuse_tiles(p, k, false, apart);
    diag_clear(d);
    return schedule_once(p, k, m, true, ns, d);
}

/* How loops are written out: after they have been ordered, so that engines pass from one to the next, or before that,
 * so that all iterations may run beside each other; both with rows for all partitions made by products, too. */
static const struct straight_way {
    bool before, by_products;
    int apart; /* tiles alike that do not share memory, where there is not enough for all */
} straight_ways[] = {{false, false, 1}, {true, false, 1}, {false, true, 4}, {true, true, 4}};
enum { STRAIGHT_WAYS = sizeof straight_ways / sizeof *straight_ways };

/* What comes between writing loops out and the order. False: no rows to make by products, which were to be. */
static bool prepare_straight(struct program *p, struct kernel *k, const struct machine *m, const struct straight_way *w)
{
    join_same_results(k);
    join_row_sums(p, k);
    if (w->by_products && !broadcast_by_products(p, k, m, NULL, NULL, 0))
        return false;
    rotate_tiles(p, k, m);
    return true;
}

/* Loops as far written out as a kernel with loops may be long, in order and with places. NO_ROOM too where there are no
 * rows to make by products. */
static enum placement schedule_loops(struct program *p, struct kernel *k, const struct machine *m,
                                     const struct straight_way *w, double *ns, struct diag *d)
{
    own_insns(p, k);
    unroll_loops(p, k, m, false);
    return prepare_straight(p, k, m, w) ? schedule_chip(p, k, m, w->apart, ns, d) : NO_ROOM;
}

/* How long it takes then. INFINITY: that does not go. */
static double schedule_straight(struct program *p, struct kernel *k, const struct machine *m,
                                const struct straight_way *w)
{
    struct diag d = {0};
    double ns = INFINITY;
    if (!w->before) {
        if (w != straight_ways && (schedule_loops(p, k, m, w, &ns, &d) != PLACED || ns < INFINITY))
            return ns;
        unroll_straight(p, k, m, true);
        ns = refine_traced(p, k, m);
        return ns < INFINITY && sync_kernel(p, k, &d) ? ns : INFINITY;
    }
    unroll_straight(p, k, m, false);
    return prepare_straight(p, k, m, w) && schedule_chip(p, k, m, w->apart, &ns, &d) == PLACED ? ns : INFINITY;
}

/* Of a kernel that has its order and places, and takes so long then: the best way to write its loops out, where they
 * have not been. Of equal ones the first. */
static void straighten(struct program *p, struct kernel *k, const struct machine *m, const struct kernel *loops,
                       double min)
{
    struct kernel best = *k;
    if (min == INFINITY && !unrolls_straight(loops))
        return;
    const struct kernel placed = *k; /* a builder knows the kernel by its place in the program */
    bool has_loops = min == INFINITY;
    for (int i = 0; i < STRAIGHT_WAYS; i++) {
        const struct straight_way *w = &straight_ways[i];
        if (!has_loops && (w->before || !w->by_products))
            continue;
        *k = copy_of(p, w == straight_ways ? &placed : loops);
        double ns = schedule_straight(p, k, m, w);
        if (ns >= min)
            continue;
        min = ns;
        best = *k;
    }
    *k = best;
}

bool schedule_traced(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    k->traced = true;
    if (k->own_sync)
        return schedule_kernel(p, k, m, d);
    if (!m->strict) {
        reuse_tiles(p, k, true, 1);
        return schedule_kernel(p, k, m, d);
    }
    const struct kernel loops = copy_of(p, k);
    double ns;
    enum placement placed = schedule_loops(p, k, m, straight_ways, &ns, d);
    for (int tight = 0; tight < 2 && placed == NO_ROOM; tight++) { /* tight: engines have the least freedom */
        struct kernel again = copy_of(p, &loops);
        again.tight = tight;
        *k = again;
        forget_places(k);
        placed = schedule_chip(p, k, m, 1, &ns, d);
    }
    if (placed == PLACED)
        straighten(p, k, m, &loops, ns);
    return placed == PLACED;
}

bool schedule_program(struct program *p, const struct machine *m, struct diag *d)
{
    for (int i = 0; i < p->nkernels; i++)
        if (!p->kernels[i].scheduled && !schedule_kernel(p, &p->kernels[i], m, d))
            return fail_in(d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    return true;
}
