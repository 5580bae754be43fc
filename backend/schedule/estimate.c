/*
 * How long a kernel of many instructions without loops takes, roughly: each engine executes its instructions in the
 * kernel's order, each queue its transfers, among which the DMA engines share their time. The simulator
 * (runtime/sim) knows more of types, strides and pieces of transfers; here two orders of one kernel are compared.
 */
#include "backend/schedule/chain.h"

#include "neff/isa/cost.h"

#include <math.h>

/* Of orders that take the same time, mostly that of the transfers, the one whose instructions end earlier on average:
 * engines that fall behind hold up loads in the end. So much of that is added. */
static const double EARLY = 0.001;

struct machine_state {
    const struct kernel *k;
    const struct machine *m;
    const before_t *before;
    double *ends;                /* per instruction that has been executed; others -1 */
    struct busy busy;
};

void straight_costs(const struct machine *m, const struct insn *insns, int n, const int64_t *values, double *costs,
                    double *moves)
{
    for (int i = 0; i < n; i++)
        if (insn_is_transfer(&insns[i]))
            moves[i] = transfer_in_pieces_ns(m, &insns[i], values);
        else
            costs[i] = cost_on(m, insns[i], insns[i].engine, values);
}

/* Whether the instruction takes that port from another engine. */
static bool takes_port(const struct machine *m, const struct insn *n, int port)
{
    const struct timing *t = machine_timing(m);
    bool psum = port == PORT_PSUM, vector = n->engine == ENGINE_DVE;
    if (!(psum ? t->shared_psum_port : t->shared_sbuf_port) || insn_is_transfer(n) ||
        !(vector || n->engine == (psum ? ENGINE_ACT : ENGINE_POOL)))
        return false;
    for (int a = 0; a < insn_info(n->op)->naps; a++)
        if (n->ap[a].mem == (psum ? MEM_PSUM : MEM_SBUF))
            return true;
    return false;
}

double straight_begin(const struct busy *b, const struct machine *m, const struct insn *n, double at)
{
    at = at > b->engines[n->engine] ? at : b->engines[n->engine];
    for (int i = 0; i < PORTS; i++)
        if (b->ports[i] > at && takes_port(m, n, i))
            at = b->ports[i];
    return at;
}

/* The DMA engines take queues in turn: what they have to do for others is shared with them, and ends later by that. */
static double move(double queues[ENGINE_COUNT], int queue, double moves, double at)
{
    double begin = at > queues[queue] ? at : queues[queue], end = begin + moves;
    for (int q = 0; q < ENGINE_COUNT; q++) {
        double left = queues[q] - begin, shared = left < moves ? left : moves;
        if (q == queue || left <= 0)
            continue;
        queues[q] += shared;
        end += shared;
    }
    return queues[queue] = end;
}

double straight_execute(struct busy *b, const struct machine *m, const struct insn *n, double cost, double moves,
                        double at, double free)
{
    const struct timing *t = machine_timing(m);
    double *engine = &b->engines[n->engine];
    if (!insn_is_transfer(n)) {
        for (int i = 0; i < PORTS; i++)
            if (takes_port(m, n, i))
                b->ports[i] = at + cost;
        return *engine = at + cost;
    }
    *engine = at + t->dma_issue_cycles / m->pool_ghz;
    return move(b->queues, n->engine, moves, *engine > free ? *engine : free) + t->dma_start_ns;
}

/* Of a transfer: the stream of its queue; -1. */
static int own_queue(const struct kernel *k, int insn)
{
    return insn_is_transfer(&k->insns[insn]) ? ENGINE_COUNT + k->insns[insn].engine : -1;
}

/* A queue loads what it has stored itself when that is over; its engine goes on meanwhile. Of other transfers of one
 * queue, cells of memory do not tell whether they meet. */
static double queue_free(const struct machine_state *s, int insn)
{
    enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
    int queue = own_queue(s->k, insn), other = queue < 0 ? -1 : s->before[insn][queue];
    bool reloads = other >= 0 && s->k->insns[other].ap[DST].mem == MEM_HBM && s->k->insns[insn].ap[SRC].mem == MEM_HBM;
    return reloads ? s->ends[other] : 0;
}

/* When the instruction may begin; INFINITY: one that it comes after has not been executed. */
static double begin_of(const struct machine_state *s, int insn)
{
    double at = 0;
    for (int i = 0; i < STREAMS; i++) {
        int other = i == own_queue(s->k, insn) ? -1 : s->before[insn][i];
        if (other >= 0 && s->ends[other] < 0)
            return INFINITY;
        double after = other < 0 ? 0 : straight_after(s->m, &s->k->insns[other], &s->k->insns[insn], 0, s->ends[other]);
        at = after > at ? after : at;
    }
    return straight_begin(&s->busy, s->m, &s->k->insns[insn], at);
}

double straight_after(const struct machine *m, const struct insn *from, const struct insn *to, double begun,
                      double ended)
{
    const struct timing *t = machine_timing(m);
    if (insn_is_transfer(to))
        return ended;
    if (from->engine == to->engine && !insn_is_transfer(from))
        return to->engine != ENGINE_PE && begun + t->dependent_ns > ended ? begun + t->dependent_ns : ended;
    double sums = from->engine == ENGINE_PE && !insn_is_transfer(from) ? t->pe_result_cycles / m->pe_ghz : 0;
    return ended + sums + t->access_start_cycles / engine_ghz(m, to->engine);
}

/* Loads of traced kernels pass each other: one that comes before it is needed is no gain. */
static bool counts_early(const struct kernel *k, int insn)
{
    return !k->traced || !insn_is_transfer(&k->insns[insn]);
}

double straight_estimate(const struct program *p, const struct kernel *k, const struct machine *m, const double *costs,
                         const double *moves, double *mean_end)
{
    struct arena scratch = {0};
    struct machine_state s = {.k = k, .m = m};
    int *next = ARENA_ARRAY(&scratch, int, k->ninsns + 1), head[ENGINE_COUNT], last[ENGINE_COUNT];
    double end = 0, sum = 0;
    s.before = straight_order(p, k, m, true, &scratch);
    s.ends = ARENA_ARRAY(&scratch, double, k->ninsns + 1);
    for (int e = 0; e < ENGINE_COUNT; e++)
        head[e] = last[e] = -1;
    for (int i = 0; i < k->ninsns; i++) {
        int e = k->insns[i].engine;
        *(last[e] < 0 ? &head[e] : &next[last[e]]) = i;
        last[e] = i, next[i] = -1, s.ends[i] = -1;
    }
    for (int left = k->ninsns; left > 0; left--) {
        double min = INFINITY;
        int first = -1;
        for (int e = 0; e < ENGINE_COUNT; e++) {
            double at = head[e] < 0 ? INFINITY : begin_of(&s, head[e]);
            if (at < min)
                min = at, first = e;
        }
        if (first < 0)
            break; /* does not happen: what comes before stands before */
        int i = head[first];
        s.ends[i] = straight_execute(&s.busy, m, &k->insns[i], costs[i], moves[i], min, queue_free(&s, i));
        end = s.ends[i] > end ? s.ends[i] : end, sum += counts_early(k, i) ? s.ends[i] : 0;
        head[first] = next[head[first]];
    }
    for (int q = 0; q < ENGINE_COUNT; q++) { /* whose ends were put off by others */
        double over = s.busy.queues[q] > 0 ? s.busy.queues[q] + machine_timing(m)->dma_start_ns : 0;
        end = over > end ? over : end;
    }
    arena_free(&scratch);
    *mean_end = k->ninsns ? sum / k->ninsns : 0;
    return end;
}

double straight_price(const struct program *p, const struct kernel *k, const struct machine *m, const double *costs,
                      const double *moves)
{
    double mean_end, ns = straight_estimate(p, k, m, costs, moves, &mean_end);
    return ns + EARLY * mean_end;
}
