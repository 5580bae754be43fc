/*
 * DMA: a transfer is a list of contiguous pieces that up to all DMA engines of the core move side by side (dma.c);
 * those of one queue complete in order (queue.c).
 */
#include "runtime/sim/state.h"

#include <string.h>

static int64_t latency(const struct launch_state *l)
{
    return (int64_t)(l->t->dma_start_ns * 1000);
}

/* ps that its pieces take where the DMA engines have nothing else to do. */
static int64_t alone(const struct flying *f)
{
    int64_t engines = f->l->c->dma.n;
    return (f->work.runs + engines - 1) / engines * f->work.run_ps;
}

static struct flying *new_flying(struct core_state *c)
{
    struct flying *f = c->spare;
    size_t size = sizeof *f + sizeof *f->parts * (size_t)c->dma.n;
    if (f)
        c->spare = f->later;
    else
        f = arena_alloc(&c->transfers, size);
    memset(f, 0, size);
    return f;
}

/* What it follows is over: it moves its first piece as soon as there is time for it. */
static void ready(struct flying *f)
{
    int64_t at = f->after.at > f->trigger.at ? f->after.at : f->trigger.at;
    f->begin = at + latency(f->l);
    dma_add(&f->l->c->dma, f);
}

struct flying *start_transfer(struct launch_state *l, struct instance *i, const struct number_insn *n, int insn,
                              const struct demand *w, struct moment trigger, const int64_t *vars)
{
    struct core_state *c = l->c;
    struct flying *f = new_flying(c);
    f->l = l, f->i = i, f->n = n, f->insn = insn, f->work = *w;
    f->trigger = trigger, f->after = (struct moment){.record = -1};
    memcpy(f->vars, vars, sizeof f->vars);
    f->number = c->ntransfers++;
    f->begin = f->start = f->end = -1;
    f->cost = w->ps + latency(l) + alone(f);
    queue_transfer(f);
    *(c->newest[n->engine] ? &c->newest[n->engine]->behind : &c->oldest[n->engine]) = f;
    c->newest[n->engine] = f;
    if (!f->follows)
        ready(f);
    return f;
}

struct flying *transfer_over(struct core_state *c)
{
    for (int q = 0; q < ENGINE_COUNT; q++)
        if (c->oldest[q] && c->oldest[q]->end >= 0)
            return c->oldest[q];
    return NULL;
}

/* Why it ended when it did: what it would have waited for if DMA engines had nothing else to do, or other pieces. */
static void explain(const struct flying *f, struct sim_record *r)
{
    const struct core_state *c = f->l->c;
    struct moment other = c->queue_end[f->n->engine].at > f->begin ? c->queue_end[f->n->engine] : c->last_over;
    r->why = WHY_TRIGGER, r->cause = f->trigger.record, r->ready = f->trigger.at;
    if (f->after.at > f->trigger.at)
        r->why = WHY_QUEUE, r->cause = f->after.record, r->ready = f->after.at;
    if (r->end > f->begin + alone(f) && other.at > f->begin && other.record >= 0)
        r->why = WHY_DMA, r->cause = other.record, r->ready = other.at;
}

/* Transfers wait in queues beside each other: the sum of that may be longer than all work. */
static int64_t sum_ps(int64_t a, int64_t b)
{
    return a < INT64_MAX - b ? a + b : INT64_MAX;
}

static void note_transfer(struct sim_work *x, const struct sim_record *r, const struct demand *w, int64_t dma_ps)
{
    x->busy[r->track] = sum_ps(x->busy[r->track], r->end - r->start);
    x->dma_ps += dma_ps;
    x->dma_bytes += w->bytes;
    x->dma_pieces += w->runs;
}

static void account(const struct flying *f, const struct sim_record *r)
{
    struct sim *s = f->l->s;
    const struct demand *w = &f->work;
    struct sim_track *y = &s->tracks[f->l->core][r->track];
    struct sim_launch *x = &s->launches[f->l->launch];
    int64_t engines = f->l->c->dma.n;
    s->dma_busy += (double)(w->runs * w->run_ps) / (double)engines;
    s->dma_of_core[f->l->core] += (double)(w->runs * w->run_ps) / (double)engines;
    y->busy = sum_ps(y->busy, r->end - r->start), y->insns++;
    struct sim_work *part = part_work(x, f->n);
    note_transfer(&x->work, r, w, w->runs * w->run_ps / engines);
    if (part)
        note_transfer(part, r, w, w->runs * w->run_ps / engines);
    s->dma_bytes += w->bytes;
    s->transfers++;
}

/* Those behind it that follow it. */
static void let_follow(struct flying *f, struct moment done)
{
    for (struct flying *x = f->behind; x; x = x->behind)
        if (x->follows == f) {
            x->follows = NULL;
            x->after = later(x->after, done);
            ready(x);
        }
}

struct moment end_transfer(struct flying *f)
{
    struct launch_state *l = f->l;
    struct core_state *c = l->c;
    int queue = f->n->engine, track = TRACK_QUEUE + queue;
    struct moment *queue_end = &c->queue_end[queue];
    struct sim_record r = {.insn = f->insn,
                           .launch = l->launch,
                           .track = (uint8_t)track,
                           .instance = (int32_t)(f->i->index * l->cores + l->core),
                           .core = (uint8_t)l->core,
                           .start = f->start,
                           .end = f->end > queue_end->at ? f->end : queue_end->at};
    explain(f, &r);
    const struct clock *known = both_known(f->trigger.known, f->after.known);
    struct moment done = {r.end, add_record(l->s, r),
                          clock_after(l->s, both_known(known, queue_end->known), l->core, track)};
    *queue_end = done;
    if (done.at >= c->last_over.at)
        c->last_over = done;
    watch_insn(l, f->i, f->n, f->insn, f->vars, known, done.known);
    transfer_noted(f, done);
    account(f, &r);
    c->oldest[queue] = f->behind;
    if (!f->behind)
        c->newest[queue] = NULL;
    let_follow(f, done);
    f->later = c->spare;
    c->spare = f;
    return done;
}
