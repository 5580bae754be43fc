/*
 * The order of kernels that became one: each begins when the one before is half done, where what it needs is there by
 * then. Of two neighbours one mostly keeps the Tensor engine busy and the other one the Vector engine.
 *
 * Every instruction gets a time: kernels run at half their speed, one begins when half of the one before is over, later
 * where there is no room for both. An instruction's time is not before that of those that it depends on, and the order
 * is that of the times. A kernel's own order stays. Of such an order and the kernels one after the other, of weights
 * placed after all others or among them, and of the queues that may load again what was stored, those are taken that an
 * estimate says take the least time.
 */
#include "backend/schedule/chain.h"

#include "neff/isa/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOWER = 2, DELAYS = 4, TRIES = 24 }; /* a kernel is delayed by 1/DELAYS of the one before at a time */

struct timed {
    double at;
    int insn;
};

/* Kernels beside each other, or one after the other as they are. */
struct arrangement {
    bool beside, arranged; /* delays and `ahead` are those of an order that fits */
    enum straight_places places;
    int *delays;  /* of parts */
    double ahead; /* a load begins at most so long before its use, ns */
};

struct overlap {
    struct program *p;
    struct kernel *k;
    const struct machine *m;
    const int64_t *values;  /* of dims */
    const int *parts;
    int nparts;
    struct insn *own;       /* in the kernels' own order */
    struct links needs;     /* of these */
    double *costs, *moves;  /* of these, ns, of all but transfers; of transfers */
    double *lengths;        /* of parts, at full speed */
    int *part_of;           /* of instructions */
    double *times;
    struct timed *order;
    struct arrangement *way; /* that is tried */
};

static int by_time(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->insn - y->insn;
}

static int end_of(const struct overlap *o, int part)
{
    return part + 1 < o->nparts ? o->parts[part + 1] : o->k->ninsns;
}

static void find_costs(struct overlap *o)
{
    straight_costs(o->m, o->own, o->k->ninsns, o->values, o->costs, o->moves);
    for (int part = 0; part < o->nparts; part++) {
        double engines[ENGINE_COUNT] = {0};
        for (int i = o->parts[part]; i < end_of(o, part); i++) {
            o->part_of[i] = part;
            engines[o->own[i].engine] += o->costs[i];
        }
        for (int e = 0; e < ENGINE_COUNT; e++)
            o->lengths[part] = engines[e] > o->lengths[part] ? engines[e] : o->lengths[part];
    }
}

/* ---- loads of constants and inputs ---- */

enum { LEAD_NS = 4000 }; /* before what needs it */

struct load {
    double needed; /* when */
    int insn;
};

static int by_need(const void *a, const void *b)
{
    const struct load *x = a, *y = b;
    return x->needed != y->needed ? (x->needed < y->needed ? -1 : 1) : x->insn - y->insn;
}

/* Loads that wait for nothing: of constants, and, as the kernel begins, of inputs. */
static bool loads_at_once(const struct overlap *o, int insn)
{
    const struct insn *n = &o->own[insn];
    const struct ap *src = &n->ap[AP(dma_copy, src)];
    if (n->op == INSN_dma_copy && o->times[insn] < LEAD_NS && src->mem == MEM_HBM &&
        n->ap[AP(dma_copy, dst)].mem != MEM_HBM && o->p->slots[src->tensor].kind == SLOT_INPUT)
        return true;
    return loads_constant(o->p, n);
}

/* Per tile, when something else than such loads first touches it. */
static double *first_touches(const struct overlap *o, struct arena *a)
{
    double *first = ARENA_ARRAY(a, double, o->k->ntiles + 1);
    for (int t = 0; t < o->k->ntiles; t++)
        first[t] = -1;
    for (int i = 0; i < o->k->ninsns; i++)
        for (int x = 0; x < insn_info(o->own[i].op)->naps && !loads_at_once(o, i); x++) {
            const struct ap *ap = &o->own[i].ap[x];
            bool on_chip = ap->mem == MEM_SBUF || ap->mem == MEM_PSUM;
            if (on_chip && (first[ap->tensor] < 0 || o->times[i] < first[ap->tensor]))
                first[ap->tensor] = o->times[i];
        }
    return first;
}

/* Such loads begin so early that the DMA engines, one load after the other, have brought each when it is needed. */
static void load_early(struct overlap *o)
{
    struct arena scratch = {0};
    const double *first = first_touches(o, &scratch);
    struct load *loads = ARENA_ARRAY(&scratch, struct load, o->k->ninsns + 1);
    int n = 0;
    for (int i = 0; i < o->k->ninsns; i++) {
        double needed = loads_at_once(o, i) ? first[o->own[i].ap[AP(dma_copy, dst)].tensor] : -1;
        if (needed >= o->times[i])
            loads[n++] = (struct load){needed, i};
    }
    qsort(loads, (size_t)n, sizeof *loads, by_need);
    double begin = n ? loads[n - 1].needed : 0;
    for (int i = n - 1; i >= 0; i--) {
        double latest = loads[i].needed - LEAD_NS, *at = &o->times[loads[i].insn];
        begin = (begin < latest ? begin : latest) - o->moves[loads[i].insn];
        begin = begin > loads[i].needed - o->way->ahead ? begin : loads[i].needed - o->way->ahead;
        *at = begin < *at ? begin : *at;
    }
    arena_free(&scratch);
}

static void put_beside(struct overlap *o)
{
    double start = 0;
    for (int part = 0; part < o->nparts; part++) {
        double all = 0, done = 0;
        start += part ? o->lengths[part - 1] * o->way->delays[part] / DELAYS : 0;
        for (int i = o->parts[part]; i < end_of(o, part); i++)
            all += o->costs[i];
        for (int i = o->parts[part]; i < end_of(o, part); i++) {
            o->times[i] = start + (all > 0 ? done / all * SLOWER * o->lengths[part] : 0);
            done += o->costs[i];
        }
        start += o->lengths[part];
    }
    memcpy(o->k->insns, o->own, sizeof *o->own * (size_t)o->k->ninsns);
    for (int i = 0; i < o->needs.n; i++) {
        const struct link *l = &o->needs.at[i];
        o->times[l->to] = o->times[l->from] > o->times[l->to] ? o->times[l->from] : o->times[l->to];
    }
    load_early(o);
    for (int i = 0; i < o->k->ninsns; i++)
        o->order[i] = (struct timed){o->times[i], i};
    qsort(o->order, (size_t)o->k->ninsns, sizeof *o->order, by_time);
    for (int i = 0; i < o->k->ninsns; i++)
        o->k->insns[i] = o->own[o->order[i].insn];
}

/* The last kernel that has begun where there was no room begins later; false: none can. */
static bool delay(struct overlap *o, int insn)
{
    int last = 0;
    for (int i = 0; i <= insn; i++)
        last = o->part_of[o->order[i].insn] > last ? o->part_of[o->order[i].insn] : last;
    while (last > 0 && o->way->delays[last] == DELAYS)
        last--;
    if (last == 0)
        return false;
    o->way->delays[last] += o->way->delays[last] ? 2 : 1;
    o->way->delays[last] = o->way->delays[last] < DELAYS ? o->way->delays[last] : DELAYS;
    return true;
}

static bool fits(struct overlap *o, int *failed)
{
    put_beside(o);
    *failed = place_straight(o->p, o->k, o->m, o->way->places);
    return *failed < 0;
}

static void delay_all(struct overlap *o, int delays)
{
    for (int part = 0; part < o->nparts; part++)
        o->way->delays[part] = delays;
}

/* With loads so early; the fewest delays that leave room. */
static bool delayed_fits(struct overlap *o)
{
    int failed;
    delay_all(o, 0);
    if (fits(o, &failed))
        return true;
    delay_all(o, DELAYS);
    if (!fits(o, &failed))
        return false;
    delay_all(o, 0);
    for (int i = 0; i < TRIES; i++) {
        if (fits(o, &failed))
            return true;
        if (!delay(o, failed))
            break;
    }
    delay_all(o, DELAYS);
    return fits(o, &failed);
}

/* Kernels begin one beside the other as far as there is room, and loads as early; false: there is none. Weights that
 * are placed last begin when their memory is free, whatever their place in the order: the latest leaves most room. */
static bool beside(struct overlap *o)
{
    static const double ahead[] = {INFINITY, 200e3, 50e3, 25e3, 12e3, 6e3};
    enum { COUNT = sizeof ahead / sizeof *ahead };
    int failed;
    if (o->way->arranged) /* with another queue it fitted so */
        return fits(o, &failed) || delayed_fits(o);
    for (int a = o->way->places == PLACE_WEIGHTS_APART ? COUNT - 1 : 0; a < COUNT; a++) {
        o->way->ahead = ahead[a];
        if (delayed_fits(o))
            return o->way->arranged = true;
    }
    return false;
}

static bool in_turn(struct overlap *o)
{
    memcpy(o->k->insns, o->own, sizeof *o->own * (size_t)o->k->ninsns);
    for (int i = 0; i < o->k->ninsns; i++)
        o->order[i].insn = i;
    return place_straight(o->p, o->k, o->m, o->way->places) < 0 ||
           (o->way->places == PLACE_IN_TURN && place_straight(o->p, o->k, o->m, PLACE_LOWEST) < 0);
}

/* Nanoseconds of the kernel as it is arranged. */
static double estimate(const struct overlap *o)
{
    struct arena scratch = {0};
    double *costs = ARENA_ARRAY(&scratch, double, o->k->ninsns + 1);
    double *moves = ARENA_ARRAY(&scratch, double, o->k->ninsns + 1);
    for (int i = 0; i < o->k->ninsns; i++) {
        costs[i] = o->costs[o->order[i].insn];
        moves[i] = o->moves[o->order[i].insn];
    }
    double ns = straight_price(o->p, o->k, o->m, costs, moves);
    arena_free(&scratch);
    return ns;
}

/* ---- which order, and whose queue loads again what the kernel has stored ---- */

/* Loads of what the kernel stores wait for it, and loads of weights stand behind them when one engine starts both. Now
 * the engine starts them; whether there are any. */
static bool reload_by(struct overlap *o, uint8_t engine)
{
    enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
    struct arena scratch = {0};
    bool any = false, *stored = ARENA_ARRAY(&scratch, bool, o->p->nslots + 1);
    for (int i = 0; i < o->k->ninsns; i++)
        if (insn_is_transfer(&o->own[i]) && o->own[i].ap[DST].mem == MEM_HBM)
            stored[slot_root(o->p, o->own[i].ap[DST].tensor)] = true;
    for (int i = 0; i < o->k->ninsns; i++) {
        struct insn *n = &o->own[i];
        if (n->op == INSN_dma_copy && n->ap[SRC].mem == MEM_HBM && n->ap[DST].mem != MEM_HBM &&
            stored[slot_root(o->p, n->ap[SRC].tensor)])
            n->engine = engine, any = true;
    }
    arena_free(&scratch);
    return any;
}

/* What takes the least time; ns, by the estimate, INFINITY: nothing has room. */
static double choose(struct overlap *o)
{
    struct arrangement ways[] = {{.beside = true, .places = PLACE_IN_TURN},
                         {.places = PLACE_IN_TURN},
                         {.beside = true, .places = PLACE_WEIGHTS_APART},
                         {.places = PLACE_WEIGHTS_APART}};
    enum { WAYS = sizeof ways / sizeof *ways };
    static const double WORTH_A_QUEUE = 0.997; /* of the time: less is not told apart by estimates (resnet50) */
    static const uint8_t engines[] = {ENGINE_SP, ENGINE_POOL, ENGINE_ACT, ENGINE_DVE};
    struct arena scratch = {0};
    size_t insns = sizeof *o->k->insns * (size_t)o->k->ninsns, tiles = sizeof *o->k->tiles * (size_t)o->k->ntiles;
    struct insn *best = ARENA_ARRAY(&scratch, struct insn, o->k->ninsns + 1);
    struct tile *placed = ARENA_ARRAY(&scratch, struct tile, o->k->ntiles + 1);
    double min = INFINITY;
    for (int w = 0; w < WAYS; w++)
        ways[w].delays = ARENA_ARRAY(&scratch, int, o->nparts);
    for (size_t e = 0; e < sizeof engines && (!e || reload_by(o, engines[e])); e++)
        for (int w = 0; w < WAYS; w++) {
            o->way = &ways[w];
            double ns = (ways[w].beside ? beside(o) : in_turn(o)) ? estimate(o) : INFINITY;
            if (ns < INFINITY)
                ns = refine_order(o->p, o->k, o->m, o->values, ns);
            if (ns >= (e ? WORTH_A_QUEUE * min : min))
                continue;
            min = ns;
            memcpy(best, o->k->insns, insns);
            memcpy(placed, o->k->tiles, tiles);
        }
    if (min < INFINITY) {
        memcpy(o->k->insns, best, insns);
        memcpy(o->k->tiles, placed, tiles);
    }
    arena_free(&scratch);
    return min;
}

bool overlap_kernels(struct program *p, struct kernel *k, const struct machine *m, const int *parts, int nparts)
{
    struct arena scratch = {0};
    struct diag d = {0};
    int n = k->ninsns + 1;
    struct overlap o = {.p = p, .k = k, .m = m, .parts = parts, .nparts = nparts};
    o.own = arena_copy(&scratch, k->insns, sizeof *k->insns * (size_t)k->ninsns);
    o.costs = ARENA_ARRAY(&scratch, double, n), o.moves = ARENA_ARRAY(&scratch, double, n);
    o.times = ARENA_ARRAY(&scratch, double, n);
    o.lengths = ARENA_ARRAY(&scratch, double, nparts);
    o.part_of = ARENA_ARRAY(&scratch, int, n), o.order = ARENA_ARRAY(&scratch, struct timed, n);
    straight_needs(p, k, &o.needs, &scratch);
    double ns = INFINITY;
    o.values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, &d);
    if (o.values) {
        find_costs(&o);
        ns = choose(&o);
    }
    arena_free(&scratch);
    return ns < INFINITY;
}
