/*
 * The last change of the order of a kernel that is placed: what stands before an instruction in its engine's stream,
 * but waits for another engine, lets it pass. The order of kernels beside each other keeps each kernel's own, which
 * knew nothing of its neighbours.
 *
 * Instructions are executed in the time that they take, roughly, as estimate.c does; an engine that is free takes the
 * one of its next WINDOW instructions that can begin first. Of those that can begin at the same time it takes the first
 * one, or the one with the longest chain of others behind it: both are tried. Work that another engine can do as well
 * goes to that one where it ends sooner there. Places stay, and so does the order of all that touches the same memory.
 * Transfers of one engine stay in their order; of traced kernels, whose authors mostly load all of one operand first,
 * it is tried as well that what is needed first is loaded first.
 */
#include "backend/schedule/chain.h"

#include <math.h>
#include <string.h>

enum { WINDOW = 128 };

struct refinement {
    const struct kernel *k;
    const struct machine *m;
    const int64_t *values;
    double *costs, *moves;   /* per instruction: of its engine; of the DMA engines */
    unsigned *engines;       /* that can do it beside its own; 0 */
    uint8_t *taken;          /* by which one it is executed */
    int *successors, *first; /* first[i] to first[i + 1] of i */
    int *open;               /* what it comes after and has not been executed */
    double *ready;           /* when that is over */
    double *chain;           /* from its begin to the end of the longest chain of what comes after it */
    bool by_chain;           /* of what can begin at the same time, the one with the longest chain goes first */
    bool loads_pass;         /* so do transfers of one engine; else these stay in their order */
    bool *done;
    int *stream, head[ENGINE_COUNT], tail[ENGINE_COUNT]; /* instructions of each engine, in order */
    struct busy busy;
    struct next { /* of an engine's, or of what another one's stream has for it */
        int insn; /* -1: none can begin */
        double at;
    } next[ENGINE_COUNT][ENGINE_COUNT];
    bool known[ENGINE_COUNT][ENGINE_COUNT]; /* next */
    bool shares;                            /* engines share ports */
    unsigned movable[ENGINE_COUNT];         /* engines that can do something of a stream's */
};

static void find_successors(struct refinement *r, const struct links *links, struct arena *a)
{
    int n = r->k->ninsns;
    r->first = ARENA_ARRAY(a, int, n + 2), r->successors = ARENA_ARRAY(a, int, links->n + 1);
    r->open = ARENA_ARRAY(a, int, n + 1);
    int *at = ARENA_ARRAY(a, int, n + 1);
    for (int i = 0; i < links->n; i++)
        r->first[links->at[i].from + 1]++;
    for (int i = 0; i < n; i++)
        r->first[i + 1] += r->first[i], at[i] = r->first[i];
    for (int i = 0; i < links->n; i++) {
        r->successors[at[links->at[i].from]++] = links->at[i].to;
        r->open[links->at[i].to]++;
    }
}

static void find_streams(struct refinement *r, struct arena *a)
{
    int n = 0;
    r->stream = ARENA_ARRAY(a, int, r->k->ninsns + 1);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        r->head[e] = n;
        for (int i = 0; i < r->k->ninsns; i++)
            if (r->k->insns[i].engine == e)
                r->stream[n++] = i;
        r->tail[e] = n;
    }
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* The engine's instruction that can begin first; of several the first, or the one with the longest chain. */
static struct next next_of(const struct refinement *r, int engine)
{
    struct next best = {-1, INFINITY};
    bool transfers = true; /* none of them waits */
    for (int x = r->head[engine], seen = 0; x < r->tail[engine] && seen < WINDOW; x++) {
        int i = r->stream[x];
        bool transfer = insn_is_transfer(&r->k->insns[i]);
        if (r->done[i])
            continue;
        seen++;
        if (!r->open[i] && (!transfer || transfers || r->loads_pass)) {
            double at = straight_begin(&r->busy, r->m, &r->k->insns[i], r->ready[i]);
            bool by_chain = r->by_chain || (transfer && r->loads_pass);
            if (at < best.at || (by_chain && at == best.at && r->chain[i] > r->chain[best.insn]))
                best = (struct next){i, at};
        }
        transfers &= !transfer;
    }
    return best;
}

/* The one of another engine's that can begin here first, and ends sooner than there. */
static struct next next_from(const struct refinement *r, int engine, int from)
{
    struct next best = {-1, INFINITY};
    for (int x = r->head[from], seen = 0; x < r->tail[from] && seen < WINDOW; x++) {
        int i = r->stream[x];
        seen += !r->done[i];
        if (r->done[i] || r->open[i] || !(r->engines[i] >> engine & 1))
            continue;
        struct insn n = r->k->insns[i];
        double there = straight_begin(&r->busy, r->m, &n, r->ready[i]) + r->costs[i];
        n.engine = (uint8_t)engine;
        double at = straight_begin(&r->busy, r->m, &n, r->ready[i]);
        if (at < best.at && at + cost_on(r->m, n, engine, r->values) < there)
            best = (struct next){i, at};
    }
    return best;
}

/* A stream has changed, and an engine is busy for longer, or a port that others share with it; -1: none. */
static void forget_next(struct refinement *r, int stream, int taken)
{
    if (taken >= 0 && r->shares)
        memset(r->known, 0, sizeof r->known);
    for (int e = 0; e < ENGINE_COUNT; e++) {
        r->known[e][stream] = false;
        if (taken >= 0)
            r->known[e][taken] = r->known[taken][e] = false;
    }
}

static struct next next_for(struct refinement *r, int engine, int from)
{
    struct next *x = &r->next[engine][from];
    if (r->known[engine][from])
        return *x;
    *x = (struct next){-1, INFINITY};
    if (engine == from)
        *x = next_of(r, engine);
    else if (r->movable[from] >> engine & 1)
        *x = next_from(r, engine, from);
    r->known[engine][from] = true;
    return *x;
}

static void execute(struct refinement *r, int i, double at)
{
    struct insn n = r->k->insns[i];
    int *head = &r->head[n.engine], tail = r->tail[n.engine];
    n.engine = r->taken[i];
    double end = straight_execute(&r->busy, r->m, &n, r->costs[i], r->moves[i], at, 0);
    r->done[i] = true;
    forget_next(r, r->k->insns[i].engine, n.engine);
    while (*head < tail && r->done[r->stream[*head]])
        (*head)++;
    for (int x = r->first[i]; x < r->first[i + 1]; x++) {
        int next = r->successors[x];
        if (--r->open[next] == 0)
            forget_next(r, r->k->insns[next].engine, -1);
        r->ready[next] = later(straight_after(r->m, &n, &r->k->insns[next], at, end), r->ready[next]);
    }
}

static void execute_all(struct refinement *r, int *order)
{
    for (int n = 0; n < r->k->ninsns; n++) {
        struct next first = {-1, INFINITY};
        int engine = 0;
        for (int e = 0; e < ENGINE_COUNT; e++)
            for (int from = 0; from < ENGINE_COUNT; from++) {
                struct next x = next_for(r, e, from);
                if (x.insn >= 0 && (x.at < first.at || (x.at == first.at && x.insn < first.insn)))
                    first = x, engine = e;
            }
        order[n] = first.insn; /* there is one: the first that is not done comes after nothing that is not */
        r->taken[first.insn] = (uint8_t)engine;
        if (engine != r->k->insns[first.insn].engine)
            r->costs[first.insn] = cost_on(r->m, r->k->insns[first.insn], engine, r->values);
        execute(r, first.insn, first.at);
    }
}

static void *permuted(const void *from, const int *order, int n, size_t size, struct arena *a)
{
    char *to = arena_alloc(a, (size_t)(n + 1) * size);
    for (int i = 0; i < n; i++)
        memcpy(to + (size_t)i * size, (const char *)from + (size_t)order[i] * size, size);
    return to;
}

/* From the begin of i to the end of what comes after it; of a transfer that may pass others, from its end on. */
static double chain_by(const struct refinement *r, int i, int next)
{
    double own = r->costs[i] + r->moves[i], after = straight_after(r->m, &r->k->insns[i], &r->k->insns[next], 0, own);
    return r->chain[next] + (r->loads_pass && insn_is_transfer(&r->k->insns[i]) ? after - own : after);
}

/* Where transfers may pass others, engines take the rest as it stands: what is needed first has the longest chain. */
static void find_chains(struct refinement *r)
{
    int later_of[ENGINE_COUNT];
    for (int e = 0; e < ENGINE_COUNT; e++)
        later_of[e] = -1;
    for (int i = r->k->ninsns - 1; i >= 0; i--) {
        bool transfer = insn_is_transfer(&r->k->insns[i]);
        int *same = &later_of[r->k->insns[i].engine];
        r->chain[i] = r->loads_pass && transfer ? 0 : r->costs[i] + r->moves[i];
        for (int x = r->first[i]; x < r->first[i + 1]; x++)
            r->chain[i] = later(r->chain[i], chain_by(r, i, r->successors[x]));
        if (!r->loads_pass || transfer)
            continue;
        if (*same >= 0)
            r->chain[i] = later(r->chain[i], r->costs[i] + r->chain[*same]);
        *same = i;
    }
}

/* The kernel in an order of its own; its price. */
static double attempt(const struct program *p, struct kernel *k, const struct machine *m, const int64_t *values,
                      const struct links *links, bool by_chain, bool loads_pass)
{
    struct arena a = {0};
    int n = k->ninsns, *order = ARENA_ARRAY(&a, int, n + 1);
    struct refinement r = {.k = k, .m = m, .values = values, .by_chain = by_chain, .loads_pass = loads_pass};
    r.costs = ARENA_ARRAY(&a, double, n + 1), r.moves = ARENA_ARRAY(&a, double, n + 1);
    straight_costs(m, k->insns, n, values, r.costs, r.moves);
    find_successors(&r, links, &a);
    find_streams(&r, &a);
    r.chain = ARENA_ARRAY(&a, double, n + 1);
    find_chains(&r);
    r.ready = ARENA_ARRAY(&a, double, n + 1), r.done = ARENA_ARRAY(&a, bool, n + 1);
    r.engines = ARENA_ARRAY(&a, unsigned, n + 1), r.taken = ARENA_ARRAY(&a, uint8_t, n + 1);
    const struct timing *t = machine_timing(m);
    r.shares = t->shared_psum_port || t->shared_sbuf_port;
    for (int i = 0; i < n; i++) {
        r.engines[i] = engines_for(m, &k->insns[i]);
        r.movable[k->insns[i].engine] |= r.engines[i];
    }
    execute_all(&r, order);
    struct insn *old = arena_copy(&a, k->insns, sizeof *old * (size_t)n);
    for (int i = 0; i < n; i++) {
        k->insns[i] = old[order[i]];
        k->insns[i].engine = r.taken[order[i]];
    }
    double ns = straight_price(p, k, m, permuted(r.costs, order, n, sizeof(double), &a),
                               permuted(r.moves, order, n, sizeof(double), &a));
    arena_free(&a);
    return ns;
}

double refine_order(const struct program *p, struct kernel *k, const struct machine *m, const int64_t *values,
                    double ns)
{
    struct arena scratch = {0};
    struct links links;
    size_t size = sizeof *k->insns * (size_t)k->ninsns;
    struct insn *old = arena_copy(&scratch, k->insns, size), *best = arena_copy(&scratch, k->insns, size);
    straight_links(p, k, m, &links, &scratch);
    for (int way = 0; way < (k->traced ? 4 : 2); way++) {
        memcpy(k->insns, old, size);
        double after = attempt(p, k, m, values, &links, way & 1, way > 1);
        if (after >= ns)
            continue;
        ns = after;
        memcpy(best, k->insns, size);
    }
    memcpy(k->insns, best, size);
    arena_free(&scratch);
    return ns;
}
