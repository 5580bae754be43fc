/*
 * DMA: a transfer is a list of contiguous pieces that up to all DMA engines of the core move side
 * by side. Engines work on one transfer after the other, in the order in which they become ready;
 * the transfers of one queue complete in order.
 */
#include "runtime/sim/state.h"

#include <string.h>

void ap_span(const struct number_ap *a, const int64_t *vars, int64_t *low, int64_t *high)
{
    int64_t first = number_at(&a->offset, vars), last = first;
    for (int i = 0; i < a->rank; i++) {
        int64_t count = ap_dim_count(&a->dim[i], vars), reach;
        if (count < 1 || __builtin_mul_overflow(a->dim[i].step, count - 1, &reach))
            continue;
        *(reach < 0 ? &first : &last) += reach;
    }
    *low = first * a->size + a->slot_offset, *high = (last + 1) * a->size + a->slot_offset;
}

/* ---- the order of a queue ---- */

enum { MAX_TOUCHED = 64 };

static struct transfer_state *transfer_state(struct launch_state *l, struct instance *i, const struct number_ap *ap, int tensor,
                                             int queue)
{
    for (int n = 0; n < i->ntransfers; n++) {
        struct transfer_state *t = &i->transfers[n];
        if (t->tensor == tensor && t->mem == ap->mem && t->queue == queue)
            return t;
    }
    ARENA_GROW(l->a, i->transfers, i->ntransfers, i->transfers_cap);
    struct transfer_state *t = &i->transfers[i->ntransfers++];
    *t = (struct transfer_state){.tensor = tensor,
                                 .queue = queue,
                                 .mem = ap->mem,
                                 .older = {INT64_MAX, INT64_MIN},
                                 .written = {.record = -1},
                                 .read = {.record = -1}};
    return t;
}

void forget_transfers(struct instance *i)
{
    for (int n = 0; n < i->ntransfers; n++) {
        struct transfer_state *t = &i->transfers[n];
        t->n = 0, t->older = (struct range){INT64_MAX, INT64_MIN};
        t->written = t->read = (struct moment){.record = -1};
    }
}

/* Those of a queue that an operand has to follow: in a tile that shares memory with its own, all. */
static struct moment follow(const struct transfer_state *t, const struct number_ap *ap, const struct region *r, bool same,
                            struct moment after)
{
    bool old = !same || (r->low < t->older.high && t->older.low < r->high);
    if (old)
        after = later(after, t->written);
    if (old && ap->writes)
        after = later(after, t->read);
    for (int n = 0; n < t->n; n++)
        if ((ap->writes || t->touched[n].writes) && (!same || regions_meet(&t->touched[n].bytes, r)))
            after = later(after, t->touched[n].end);
    return after;
}

static struct region region_of_operand(const struct number_insn *n, int operand, const int64_t *vars)
{
    bool indirect = insn_info(n->op)->ap[operand].reach == REACH_INDIRECT;
    return indirect ? region_anywhere() : region_of(&n->ap[operand], vars);
}

static bool keeps_order(const struct number_ap *ap)
{
    return ap->mem != MEM_NONE && (ap->mem != MEM_HBM || ap->rewritten);
}

/* Earlier transfers of the same queue that touch what this one touches. */
static struct moment queue_order(struct launch_state *l, struct instance *i, const struct number_insn *n, const int64_t *vars)
{
    struct moment after = {.record = -1};
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (!keeps_order(ap))
            continue;
        struct region r = region_of_operand(n, a, vars);
        if (ap->mem == MEM_HBM) {
            after = follow(transfer_state(l, i, ap, ap->tensor, n->engine), ap, &r, true, after);
            continue;
        }
        for (const int32_t *t = l->aliases[ap->tensor]; *t >= 0; t++)
            after = follow(transfer_state(l, i, ap, *t, n->engine), ap, &r, *t == ap->tensor, after);
    }
    return after;
}

static void forget(struct transfer_state *t, int first, int count)
{
    memmove(&t->touched[first], &t->touched[first + count], sizeof *t->touched * (size_t)(t->n - first - count));
    t->n -= count;
}

/* The older half is known by its ends from now on. */
static void fold_older(struct transfer_state *t)
{
    int half = t->n / 2;
    for (int n = 0; n < half; n++) {
        const struct touched *x = &t->touched[n];
        struct moment *m = x->writes ? &t->written : &t->read;
        *m = later(*m, x->end);
        t->older.low = x->bytes.low < t->older.low ? x->bytes.low : t->older.low;
        t->older.high = x->bytes.high > t->older.high ? x->bytes.high : t->older.high;
    }
    forget(t, 0, half);
}

/* Transfers of a queue complete in order: the same access again takes the place of an earlier one. */
static void note_touched(struct launch_state *l, struct instance *i, const struct number_insn *n, const int64_t *vars,
                         int64_t trigger, struct moment end)
{
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (ap->mem != MEM_NONE && ap->mem != MEM_HBM) {
            struct tile_state *t = &i->tiles[ap->tensor];
            *(ap->writes ? &t->filled : &t->drained) = end;
            t->queue = n->engine;
        }
        if (!keeps_order(ap))
            continue;
        struct transfer_state *t = transfer_state(l, i, ap, ap->tensor, n->engine);
        struct region r = region_of_operand(n, a, vars);
        for (int k = t->n - 1; k >= 0; k--) {
            const struct touched *x = &t->touched[k];
            if ((!l->s->watch && x->end.at <= trigger) || (x->writes == ap->writes && regions_equal(&x->bytes, &r)))
                forget(t, k, 1);
        }
        if (t->n == MAX_TOUCHED)
            fold_older(t);
        ARENA_GROW(l->a, t->touched, t->n, t->cap);
        t->touched[t->n++] = (struct touched){r, ap->writes, end};
    }
}

/* The `wanted` engines that are free first, in order of that. */
static int choose(const struct core_state *c, int engines, int wanted, int *order)
{
    int n = 0;
    for (int e = 0; e < engines; e++) {
        int at = n < wanted ? n : wanted;
        while (at > 0 && c->dma[order[at - 1]].at > c->dma[e].at) {
            if (at < wanted)
                order[at] = order[at - 1];
            at--;
        }
        if (at < wanted)
            order[at] = e;
        n += n < wanted;
    }
    return n;
}

struct moment run_transfer(struct launch_state *l, struct instance *i, const struct number_insn *n,
                           int insn, const struct work *w, struct moment trigger,
                           const int64_t *vars)
{
    struct sim *s = l->s;
    struct core_state *c = l->c;
    int engines = (int)l->t->dma_engines, lane = LANE_QUEUE + n->engine, order[MAX_DMA_ENGINES];
    int64_t latency = (int64_t)(l->t->dma_start_ns * 1000);
    int wanted = w->runs < engines ? (int)w->runs : engines;
    struct sim_record r = {.insn = insn,
                           .launch = l->launch,
                           .lane = (uint8_t)lane,
                           .instance = (int32_t)(i->index * l->cores + l->core),
                           .core = (uint8_t)l->core,
                           .why = WHY_TRIGGER,
                           .cause = trigger.record,
                           .ready = trigger.at};
    struct moment before = queue_order(l, i, n, vars);
    if (before.at > trigger.at)
        r.ready = before.at, r.cause = before.record, r.why = WHY_QUEUE;
    int64_t begin = r.ready + latency, first = INT64_MAX, end = begin;
    int used = wanted ? choose(c, engines, wanted, order) : 0;
    int64_t left = w->runs;
    struct moment held = {.record = -1};
    for (int e = 0; e < used; e++) {
        struct moment *m = &c->dma[order[e]];
        int64_t pieces = (left + used - e - 1) / (used - e), ps = pieces * w->run_ps;
        int64_t start = m->at > begin ? m->at : begin;
        left -= pieces;
        first = start < first ? start : first;
        if (start + ps > end)
            end = start + ps, held = *m;
        s->dma_busy += (double)ps / engines;
        m->at = start + ps;
    }
    if (held.at > begin && held.record >= 0)
        r.ready = held.at, r.cause = held.record, r.why = WHY_DMA;
    r.start = used ? first : begin;
    struct moment *queue_end = &c->queue_end[n->engine];
    if (end < queue_end->at)
        end = queue_end->at;
    r.end = end;
    const struct clock *known = both_known(trigger.known, before.known);
    struct moment done = {end, add_record(s, r),
                          clock_after(s, both_known(known, queue_end->known), l->core, lane)};
    *queue_end = done;
    watch_insn(l, i, n, insn, vars, known, done.known);
    for (int e = 0; e < used; e++)
        c->dma[order[e]].record = done.record;
    note_touched(l, i, n, vars, trigger.at, done);
    struct sim_lane *y = &s->lanes[l->core][lane];
    y->busy += r.end - r.start, y->insns++;
    s->launches[l->launch].busy[lane] += r.end - r.start;
    s->launches[l->launch].dma_ps += w->runs * w->run_ps / engines;
    s->launches[l->launch].dma_bytes += w->bytes;
    s->launches[l->launch].dma_pieces += w->runs;
    s->dma_bytes += w->bytes;
    s->transfers++;
    return done;
}
