/*
 * List scheduling of the stretches between loops and ends.
 *
 * On strict targets engines run side by side, and each executes its stream in the kernel's order.
 * What is ready first goes first; of what is ready at the same time, what leads the longest chain,
 * or what stands first: both orders are tried, and the one that ends sooner is taken. Conflicting
 * instructions keep their order, and none passes more than `window` others: each that it passes may
 * be a tile more that is live. On `cpu` one thread executes the kernel's order, which lowering has
 * chosen for the caches: it stays.
 */
#include "backend/schedule/accesses.h"
#include "neff/isa/cost.h"

#include <stdlib.h>
#include <string.h>

/* Instructions that must come after one, in a list of all. */
struct after {
    int first, n;
};

struct stretch {
    const struct program *p;
    const struct machine *m;
    struct kernel *k;
    int first, n, window;
    double *cost, *chain; /* ns; longest path to the end */
    struct after *after;
    int *successors;
    int *before; /* how many */
};

/* An order, and when its instructions begin if nothing but engines and each other delays them. */
struct attempt {
    const struct stretch *s;
    bool by_chain;
    int *order;
    int *waiting;  /* predecessors not scheduled yet */
    int *open, nopen; /* those without any, that have no place yet, as they stand */
    double *ready; /* earliest start */
    double *start; /* of those that have one */
    bool *done;
    double free_at[ENGINE_COUNT], first[ENGINE_COUNT], dma_free, end;
};

/* ---- what follows what ---- */

struct edge {
    int from, to; /* places in the stretch */
};

struct edges {
    const struct stretch *s;
    struct edge *at;
    int n, cap;
    struct arena *a;
};

/* Accesses of a run from `first` on come before instruction c. */
static void add_edges(struct edges *g, const struct access_run *r, int first, int c, int except)
{
    for (int i = accesses_before(r, first); i < r->n && r->insns[i] < c; i++) {
        if (r->tensors[i] == except)
            continue;
        ARENA_GROW(g->a, g->at, g->n, g->cap);
        g->at[g->n++] = (struct edge){r->insns[i] - g->s->first, c - g->s->first};
    }
}

/* The last write among a list's before c: of all streams, and of c's own engine. -1: none in the stretch. */
struct last_writes {
    int any, own;
};

static struct last_writes last_writes(const struct stretch *s, const struct access_list *l, int c)
{
    struct last_writes w = {-1, -1};
    int stream = stream_of_insn(&s->k->insns[c]);
    for (int i = 0; i < l->nruns[ACCESS_WRITES]; i++) {
        const struct access_run *r = &l->runs[ACCESS_WRITES][i];
        int at = last_access(r, c, -1), insn = at < 0 || r->insns[at] < s->first ? -1 : r->insns[at];
        w.any = insn > w.any ? insn : w.any;
        if (r->stream == stream && stream < ENGINE_COUNT)
            w.own = insn;
    }
    return w;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/*
 * What comes before c, but for what follows from others: c comes after a write of what touches the same as it does, and
 * that came after all that c would have to. Of what its own engine did, the write must have been that engine's too: its
 * results come later on one engine (result_on_engine).
 */
static void edges_to(struct edges *g, const struct access_relation *x, int c, const struct last_writes *alike)
{
    int stream = stream_of_insn(&g->s->k->insns[c]), first = g->s->first;
    struct last_writes w = {-1, -1};
    if (x->list->mutual && x->except < 0)
        w = last_writes(g->s, x->list, c);
    for (int i = 0; i < x->list->nruns[x->kind]; i++) {
        const struct access_run *r = &x->list->runs[x->kind][i];
        bool own = r->stream == stream && stream < ENGINE_COUNT;
        int known = own ? larger(w.own, alike->own) : larger(w.any, alike->any);
        add_edges(g, r, larger(known, first), c, x->except);
    }
}

static void link_edges(struct stretch *s, const struct edges *g, struct arena *a)
{
    s->successors = ARENA_ARRAY(a, int, g->n + 1);
    for (int i = 0; i < g->n; i++) {
        s->after[g->at[i].from].n++;
        s->before[g->at[i].to]++;
    }
    for (int i = 0, total = 0; i < s->n; i++) {
        s->after[i].first = total;
        total += s->after[i].n;
        s->after[i].n = 0;
    }
    for (int i = 0; i < g->n; i++) {
        struct after *x = &s->after[g->at[i].from];
        s->successors[x->first + x->n++] = g->at[i].to;
    }
}

/* What follows each instruction, by its place in the stretch. */
static void find_edges(struct stretch *s, struct accesses *accesses, struct arena *a)
{
    struct edges g = {.s = s, .a = a};
    struct relations found = {0};
    for (int c = s->first; c < s->first + s->n; c++) {
        find_relations(accesses, c, &found);
        for (int i = 0; i < found.n; i++) {
            struct last_writes alike = last_writes(s, found.at[i].alike, c);
            if (found.at[i].same_iteration)
                edges_to(&g, &found.at[i], c, &alike);
        }
    }
    link_edges(s, &g, a);
    for (int i = s->n - 1; i >= 0; i--) {
        const int *next = s->successors + s->after[i].first;
        for (int x = 0; x < s->after[i].n; x++)
            if (s->chain[next[x]] > s->chain[i])
                s->chain[i] = s->chain[next[x]];
        s->chain[i] += s->cost[i];
    }
}

/* ---- an order ---- */

static double start_of(const struct attempt *t, int i)
{
    double at = t->free_at[t->s->k->insns[t->s->first + i].engine];
    return t->ready[i] > at ? t->ready[i] : at;
}

/* Of the open instructions, a place in their list: earliest start, then longest chain or first in order. */
static int choose(const struct attempt *t, int oldest)
{
    const struct stretch *s = t->s;
    int best = -1;
    double best_start = 0;
    for (int x = 0; x < t->nopen && t->open[x] - oldest <= s->window; x++) {
        int i = t->open[x];
        double start = start_of(t, i);
        if (best < 0 || start < best_start ||
            (start == best_start && t->by_chain && s->chain[i] > s->chain[t->open[best]]))
            best = x, best_start = start;
    }
    return best;
}

static void close_insn(struct attempt *t, int place)
{
    t->nopen--;
    memmove(t->open + place, t->open + place + 1, sizeof *t->open * (size_t)(t->nopen - place));
}

static void open_insn(struct attempt *t, int i)
{
    int x = t->nopen++;
    for (; x > 0 && t->open[x - 1] > i; x--)
        t->open[x] = t->open[x - 1];
    t->open[x] = i;
}

/* When its result is there. A transfer's engine only starts it; all share the rate of the DMA engines. */
static double issue(struct attempt *t, int i)
{
    const struct stretch *s = t->s;
    const struct insn *n = &s->k->insns[s->first + i];
    const struct timing *x = machine_timing(s->m);
    double start = start_of(t, i), cost = s->cost[i];
    bool waits = t->ready[i] > t->free_at[n->engine];
    if (t->first[n->engine] == 0)
        t->first[n->engine] = start;
    if (!insn_is_transfer(n)) {
        cost += waits ? x->access_start_cycles / engine_ghz(s->m, n->engine) : 0;
        t->free_at[n->engine] = start + cost;
        return start + cost + (n->engine == ENGINE_PE ? x->pe_result_cycles / engine_ghz(s->m, ENGINE_PE) : 0);
    }
    double begins = start + x->dma_start_ns; /* of the first byte */
    t->free_at[n->engine] = start + x->dma_issue_cycles / engine_ghz(s->m, n->engine);
    t->dma_free = (t->dma_free > begins ? t->dma_free : begins) + cost - x->dma_start_ns;
    return t->dma_free;
}

static bool same_engine(const struct stretch *s, int i, int j)
{
    const struct insn *a = &s->k->insns[s->first + i], *b = &s->k->insns[s->first + j];
    return a->engine == b->engine && !insn_is_transfer(a) && !insn_is_transfer(b);
}

/* For the engine's own next instructions. */
static double result_on_engine(const struct stretch *s, double start, double end)
{
    double min = start + machine_timing(s->m)->dependent_ns;
    return end > min ? end : min;
}

static void try_order(struct attempt *t)
{
    const struct stretch *s = t->s;
    for (int i = 0; i < s->n; i++)
        if (!t->waiting[i])
            t->open[t->nopen++] = i;
    for (int at = 0, oldest = 0; at < s->n; at++) {
        while (t->done[oldest])
            oldest++;
        int place = choose(t, oldest), i = t->open[place];
        close_insn(t, place);
        const int *next = s->successors + s->after[i].first;
        t->start[i] = start_of(t, i);
        double end = issue(t, i);
        t->done[i] = true;
        t->order[at] = i;
        t->end = end > t->end ? end : t->end;
        for (int x = 0; x < s->after[i].n; x++) {
            int j = next[x];
            double there = same_engine(s, i, j) ? result_on_engine(s, t->start[i], end) : end;
            if (--t->waiting[j] == 0)
                open_insn(t, j);
            t->ready[j] = there > t->ready[j] ? there : t->ready[j];
        }
    }
}

static struct attempt attempt_of(const struct stretch *s, bool by_chain, struct arena *a)
{
    struct attempt t = {.s = s,
                        .by_chain = by_chain,
                        .order = ARENA_ARRAY(a, int, s->n),
                        .waiting = arena_copy(a, s->before, sizeof *s->before * (size_t)s->n),
                        .open = ARENA_ARRAY(a, int, s->n),
                        .ready = ARENA_ARRAY(a, double, s->n),
                        .start = ARENA_ARRAY(a, double, s->n),
                        .done = ARENA_ARRAY(a, bool, s->n)};
    try_order(&t);
    return t;
}

/*
 * Transfers stand where they have to begin for what needs them first, and a little before, though
 * their engines could start them sooner: the tiles that they fill are live for less long, and there
 * is room for other instances and steps. Each engine's transfers stay in their order.
 */
enum { LEAD_NS = 4000 };

struct started_insn {
    double at;
    int number, insn; /* in the order that was found */
};

static int by_time(const void *a, const void *b)
{
    const struct started_insn *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->number - y->number;
}

static void delay_transfers(struct attempt *t, struct arena *a)
{
    const struct stretch *s = t->s;
    struct started_insn *places = ARENA_ARRAY(a, struct started_insn, s->n);
    double next_at[ENGINE_COUNT];
    for (int e = 0; e < ENGINE_COUNT; e++)
        next_at[e] = t->end;
    for (int at = s->n - 1; at >= 0; at--) {
        int i = t->order[at];
        const struct insn *n = &s->k->insns[s->first + i];
        double when = t->start[i], needed = next_at[n->engine];
        const int *next = s->successors + s->after[i].first;
        for (int x = 0; x < s->after[i].n; x++) {
            double latest = t->start[next[x]] - s->cost[i] - LEAD_NS;
            needed = latest < needed ? latest : needed;
        }
        if (insn_is_transfer(n) && s->after[i].n && needed > when)
            when = needed;
        next_at[n->engine] = when < next_at[n->engine] ? when : next_at[n->engine];
        places[at] = (struct started_insn){when, at, i};
    }
    qsort(places, (size_t)s->n, sizeof *places, by_time);
    for (int at = 0; at < s->n; at++)
        t->order[at] = places[at].insn;
}

/* From its first instruction to its last, of the engine that takes longest. */
static double longest_span(const struct attempt *t)
{
    double longest = 0;
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (t->free_at[e] - t->first[e] > longest)
            longest = t->free_at[e] - t->first[e];
    return longest;
}

static void order_stretch(struct stretch *s, enum order_by by, struct order_times *times, struct arena *a)
{
    struct attempt chain = attempt_of(s, true, a), own = attempt_of(s, false, a);
    bool worse = by == ORDER_WORSE;
    struct attempt *best = (own.end < chain.end) != worse ? &own : &chain;
    delay_transfers(best, a);
    struct insn *insns = s->k->insns + s->first;
    struct insn *old = arena_copy(a, insns, sizeof *insns * (size_t)s->n);
    for (int i = 0; i < s->n; i++)
        insns[i] = old[best->order[i]];
    times->end += best->end;
    times->span += longest_span(best);
}

/* Of a stretch's instructions; those of transfers are the time of their bytes, and the way there. */
static double cost_of(const struct machine *m, const struct insn *n, const int64_t *values)
{
    return insn_is_transfer(n) ? machine_timing(m)->dma_start_ns + transfer_ns(m, n, values) : insn_ns(m, n, values);
}

enum { LONGEST = 2048 };

bool order_kernel(struct program *p, struct kernel *k, const struct machine *m, int window,
                  enum order_by by, struct order_times *times,
                  struct diag *d)
{
    *times = (struct order_times){0};
    if (!m->strict)
        return true;
    struct arena scratch = {0};
    int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, d);
    struct accesses *accesses = find_accesses(p, k, &scratch);
    for (int i = 0; values && i < k->ninsns; i++) {
        struct stretch s = {.p = p, .m = m, .k = k, .first = i, .window = window};
        while (i < k->ninsns && !insn_is_structure(&k->insns[i]) && s.n < LONGEST)
            i++, s.n++;
        if (s.n == LONGEST)
            i--;
        if (s.n < 2)
            continue;
        s.cost = ARENA_ARRAY(&scratch, double, s.n);
        s.chain = ARENA_ARRAY(&scratch, double, s.n);
        s.after = ARENA_ARRAY(&scratch, struct after, s.n);
        s.before = ARENA_ARRAY(&scratch, int, s.n);
        for (int j = 0; j < s.n; j++)
            s.cost[j] = cost_of(m, &k->insns[s.first + j], values);
        find_edges(&s, accesses, &scratch);
        order_stretch(&s, by, times, &scratch);
    }
    arena_free(&scratch);
    return values != NULL;
}
