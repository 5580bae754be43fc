/*
 * The DMA engines of a core. Each has a queue for each engine of the core that starts transfers, and works on the
 * pieces at their heads in turn: of n queues that have some, each gets an n-th of its time. A transfer's pieces are
 * dealt out evenly to the engines that have the least to do when it begins.
 */
#include "runtime/sim/state.h"

static void set_next(struct dma_engine *e)
{
    int64_t min = INT64_MAX;
    for (int q = 0; q < ENGINE_COUNT; q++)
        if (e->first[q] && e->first[q]->left < min)
            min = e->first[q]->left;
    e->next = e->active ? e->now + min * e->active : INT64_MAX;
}

/* Nothing ends before `time`; what is left over of a picosecond for each queue comes later. */
static void work_until(struct dma_engine *e, int64_t time)
{
    int64_t each = e->active ? (time - e->now) / e->active : 0;
    if (time <= e->now)
        return;
    for (int q = 0; q < ENGINE_COUNT; q++)
        if (e->first[q])
            e->first[q]->left -= each;
    e->left -= each * e->active;
    e->now = e->active ? e->now + each * e->active : time;
}

static void end_part(struct dma_engine *e, int queue)
{
    struct transfer_part *p = e->first[queue];
    if (--p->of->parts_left == 0)
        p->of->end = e->now;
    e->first[queue] = p->next;
    if (!p->next)
        e->active--;
    else if (p->next->of->start < 0)
        p->next->of->start = e->now;
}

/* What ends first on an engine. */
static void end_parts(struct dma_engine *e)
{
    work_until(e, e->next);
    for (int q = 0; q < ENGINE_COUNT; q++)
        if (e->first[q] && e->first[q]->left <= 0)
            end_part(e, q);
    set_next(e);
}

/* The `wanted` engines that have the least to do, in order of that. */
static int choose(const struct dma *d, int wanted, int *order)
{
    int n = 0;
    for (int e = 0; e < d->n; e++) {
        int at = n < wanted ? n : wanted;
        while (at > 0 && d->engines[order[at - 1]].left > d->engines[e].left) {
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

static void add_part(struct dma_engine *e, int queue, struct transfer_part *p)
{
    struct transfer_part **at = &e->first[queue];
    e->active += !*at;
    if (!*at && p->of->start < 0)
        p->of->start = p->of->begin;
    while (*at)
        at = &(*at)->next;
    *at = p;
    e->left += p->left;
    set_next(e);
}

/* The first of those that wait for their time begins. */
static void arrive(struct dma *d)
{
    struct flying *f = d->arrivals;
    int order[MAX_DMA_ENGINES];
    d->arrivals = f->later;
    for (int e = 0; e < d->n; e++)
        work_until(&d->engines[e], f->begin);
    int64_t left = f->work.runs;
    int used = left > 0 ? choose(d, left < d->n ? (int)left : d->n, order) : 0;
    f->parts_left = used;
    if (!used)
        f->start = f->end = f->begin;
    for (int e = 0; e < used; e++) {
        int64_t pieces = (left + used - e - 1) / (used - e);
        left -= pieces;
        f->parts[e] = (struct transfer_part){f, pieces * f->work.run_ps, NULL};
        add_part(&d->engines[order[e]], f->n->engine, &f->parts[e]);
    }
}

void dma_reset(struct dma *d, int engines, int64_t time)
{
    *d = (struct dma){.n = engines};
    for (int e = 0; e < engines; e++)
        d->engines[e].now = time, d->engines[e].next = INT64_MAX;
}

void dma_add(struct dma *d, struct flying *f)
{
    struct flying **at = &d->arrivals;
    while (*at && (*at)->begin <= f->begin)
        at = &(*at)->later;
    f->later = *at;
    *at = f;
}

static int first_to_end(const struct dma *d)
{
    int first = 0;
    for (int e = 1; e < d->n; e++)
        if (d->engines[e].next < d->engines[first].next)
            first = e;
    return first;
}

int64_t dma_next(const struct dma *d)
{
    int64_t ends = d->engines[first_to_end(d)].next;
    return d->arrivals && d->arrivals->begin < ends ? d->arrivals->begin : ends;
}

void dma_step(struct dma *d)
{
    struct dma_engine *e = &d->engines[first_to_end(d)];
    if (d->arrivals && d->arrivals->begin < e->next)
        arrive(d);
    else
        end_parts(e);
}
