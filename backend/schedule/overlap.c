/*
 * The order of kernels that became one: each begins when the one before is half done, where what it needs is there by
 * then. Of two neighbours one mostly keeps the Tensor engine busy and the other one the Vector engine.
 *
 * Every instruction gets a time: kernels run at half their speed, one begins when half of the one before is over. An
 * instruction's time is not before that of those that it depends on, and the order is that of the times. A kernel's own
 * order stays.
 */
#include "backend/schedule/chain.h"

#include "neff/isa/cost.h"

#include <stdlib.h>

struct timed {
    double at;
    int insn;
};

static int by_time(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->insn - y->insn;
}

/* Times of instructions [from, to), which begin at `start`; how long they take at full speed. */
static double spread(const struct kernel *k, const struct machine *m, const int64_t *values, int from, int to,
                     double slower, double start, double *times)
{
    double engines[ENGINE_COUNT] = {0}, all = 0, longest = 0;
    for (int i = from; i < to; i++) {
        const struct insn *n = &k->insns[i];
        double ns = insn_is_transfer(n) ? 0 : insn_ns(m, n, values);
        times[i] = all;
        engines[n->engine] += ns, all += ns;
    }
    for (int e = 0; e < ENGINE_COUNT; e++)
        longest = engines[e] > longest ? engines[e] : longest;
    for (int i = from; i < to; i++)
        times[i] = start + (all > 0 ? times[i] / all : 0) * slower * longest;
    return longest;
}

bool overlap_kernels(const struct program *p, struct kernel *k, const struct machine *m, const int *parts, int nparts,
                     double slower)
{
    struct arena scratch = {0};
    struct diag d = {0};
    const int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, &d);
    double *times = ARENA_ARRAY(&scratch, double, k->ninsns + 1), start = 0;
    for (int i = 0; values && i < nparts; i++)
        start += spread(k, m, values, parts[i], i + 1 < nparts ? parts[i + 1] : k->ninsns, slower, start, times);
    if (values) {
        straight_times(p, k, m, times);
        struct timed *order = ARENA_ARRAY(&scratch, struct timed, k->ninsns + 1);
        for (int i = 0; i < k->ninsns; i++)
            order[i] = (struct timed){times[i], i};
        qsort(order, (size_t)k->ninsns, sizeof *order, by_time);
        struct insn *old = arena_copy(&scratch, k->insns, sizeof *old * (size_t)k->ninsns);
        for (int i = 0; i < k->ninsns; i++)
            k->insns[i] = old[order[i].insn];
    }
    arena_free(&scratch);
    return values != NULL;
}
