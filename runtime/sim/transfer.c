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

static struct slot_state *slot_state(struct launch_state *l, struct instance *i, int32_t slot,
                                     int queue)
{
    for (int n = 0; n < i->nslots; n++)
        if (i->slots[n].slot == slot && i->slots[n].queue == queue)
            return &i->slots[n];
    ARENA_GROW(l->a, i->slots, i->nslots, i->slots_cap);
    i->slots[i->nslots] = (struct slot_state){.slot = slot,
                                              .queue = queue,
                                              .low = INT64_MAX,
                                              .high = INT64_MIN,
                                              .written = {.record = -1},
                                              .read = {.record = -1}};
    return &i->slots[i->nslots++];
}

/* Earlier transfers of the same queue that touch what this one touches. Tiles as a whole. */
static struct moment queue_order(struct launch_state *l, struct instance *i,
                                 const struct number_insn *n, const int64_t *vars)
{
    struct moment after = {.record = -1};
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (ap->mem == MEM_NONE)
            continue;
        if (ap->mem == MEM_HBM && !ap->rewritten)
            continue;
        if (ap->mem == MEM_HBM) {
            struct slot_state *s = slot_state(l, i, ap->tensor, n->engine);
            int64_t low, high;
            ap_span(ap, vars, &low, &high);
            if (low < s->high && s->low < high)
                after = later(after, s->written);
            if (ap->writes)
                after = later(after, s->read);
            continue;
        }
        for (const int32_t *t = l->aliases[ap->tensor]; *t >= 0; t++) {
            const struct tile_state *x = &i->tiles[*t];
            if (x->queue != n->engine)
                continue;
            after = later(after, x->filled);
            if (ap->writes)
                after = later(after, x->drained);
        }
    }
    return after;
}

static void note_touched(struct launch_state *l, struct instance *i, const struct number_insn *n,
                         const int64_t *vars, struct moment end)
{
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (ap->mem == MEM_NONE)
            continue;
        if (ap->mem != MEM_HBM) {
            struct tile_state *t = &i->tiles[ap->tensor];
            *(ap->writes ? &t->filled : &t->drained) = end;
            t->queue = n->engine;
            continue;
        }
        if (!ap->rewritten)
            continue;
        struct slot_state *s = slot_state(l, i, ap->tensor, n->engine);
        if (!ap->writes) {
            s->read = later(s->read, end);
            continue;
        }
        int64_t low, high;
        ap_span(ap, vars, &low, &high);
        s->low = low < s->low ? low : s->low, s->high = high > s->high ? high : s->high;
        s->written = later(s->written, end);
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
    note_touched(l, i, n, vars, done);
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
