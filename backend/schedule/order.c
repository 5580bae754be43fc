/*
 * List scheduling of the stretches between loops and ends.
 *
 * On strict targets engines run side by side, and each executes its stream in the kernel's order:
 * what is ready first and leads the longest chain goes first. Conflicting instructions keep their
 * order, and none passes more than `window` others: each that it passes may be a tile more that is
 * live. On `cpu` one thread executes the kernel's order, which lowering has chosen for the caches:
 * it stays.
 */
#include "backend/schedule/schedule.h"
#include "neff/isa/cost.h"

#include <string.h>

struct stretch {
    const struct program *p;
    struct kernel *k;
    int first, n, window;
    double *cost, *chain, *ready; /* ns; longest path to the end; earliest start */
    bool *before;                 /* [i * n + j]: i must come before j */
    int *waiting;                 /* predecessors not scheduled yet */
};

static void find_edges(struct stretch *s)
{
    const struct insn *insns = s->k->insns + s->first;
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < j; i++)
            if (insns_conflict(s->p, s->k, &insns[i], &insns[j], false)) {
                s->before[i * s->n + j] = true;
                s->waiting[j]++;
            }
    for (int i = s->n - 1; i >= 0; i--) {
        for (int j = i + 1; j < s->n; j++)
            if (s->before[i * s->n + j] && s->chain[j] > s->chain[i])
                s->chain[i] = s->chain[j];
        s->chain[i] += s->cost[i];
    }
}

/* Of the instructions without open predecessors: earliest start, then longest chain, then first in
 * order. */
static int choose(const struct stretch *s, const bool *done, const double free_at[ENGINE_COUNT])
{
    int best = -1, oldest = 0;
    double best_start = 0;
    while (done[oldest])
        oldest++;
    for (int i = oldest; i < s->n && i - oldest <= s->window; i++) {
        if (done[i] || s->waiting[i])
            continue;
        double at = free_at[s->k->insns[s->first + i].engine];
        double start = s->ready[i] > at ? s->ready[i] : at;
        if (best < 0 || start < best_start || (start == best_start && s->chain[i] > s->chain[best]))
            best = i, best_start = start;
    }
    return best;
}

static void order_stretch(struct stretch *s, struct arena *a)
{
    struct insn *order = ARENA_ARRAY(a, struct insn, s->n);
    bool *done = ARENA_ARRAY(a, bool, s->n);
    double free_at[ENGINE_COUNT] = {0};
    for (int t = 0; t < s->n; t++) {
        int i = choose(s, done, free_at);
        const struct insn *n = &s->k->insns[s->first + i];
        double start = s->ready[i] > free_at[n->engine] ? s->ready[i] : free_at[n->engine];
        double end = start + s->cost[i];
        free_at[n->engine] = end;
        done[i] = true;
        order[t] = *n;
        for (int j = i + 1; j < s->n; j++)
            if (s->before[i * s->n + j]) {
                s->waiting[j]--;
                if (end > s->ready[j])
                    s->ready[j] = end;
            }
    }
    memcpy(s->k->insns + s->first, order, sizeof *order * (size_t)s->n);
}

enum { LONGEST = 512 }; /* pairs are compared */

bool order_kernel(struct program *p, struct kernel *k, const struct machine *m, int window,
                  struct diag *d)
{
    if (!m->strict)
        return true;
    struct arena scratch = {0};
    int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, d);
    for (int i = 0; values && i < k->ninsns; i++) {
        struct stretch s = {.p = p, .k = k, .first = i, .window = window};
        while (i < k->ninsns && !insn_is_structure(&k->insns[i]) && s.n < LONGEST)
            i++, s.n++;
        if (s.n == LONGEST)
            i--;
        if (s.n < 2)
            continue;
        s.cost = ARENA_ARRAY(&scratch, double, s.n);
        s.chain = ARENA_ARRAY(&scratch, double, s.n);
        s.ready = ARENA_ARRAY(&scratch, double, s.n);
        s.waiting = ARENA_ARRAY(&scratch, int, s.n);
        s.before = ARENA_ARRAY(&scratch, bool, s.n *s.n);
        for (int j = 0; j < s.n; j++)
            s.cost[j] = insn_ns(m, &k->insns[s.first + j], values);
        find_edges(&s);
        order_stretch(&s, &scratch);
    }
    arena_free(&scratch);
    return values != NULL;
}
