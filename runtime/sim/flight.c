/*
 * The event loop: steps in flight, on one core or two.
 *
 * Each engine stands at an instruction of its stream. When an instruction's waits are all
 * signalled, the time at which it may begin is known. Of all engines the one that may begin first
 * goes on, so that what competes for a port or for DMA engines gets it in the order of time.
 */
#include "runtime/sim/state.h"

#include <string.h>

static bool better(const struct candidate *a, const struct candidate *b)
{
    if (a->at.at != b->at.at)
        return a->at.at < b->at.at;
    if (a->l->step != b->l->step)
        return a->l->step < b->l->step;
    int64_t x = a->l->c->engines[a->n->engine].instance, y = b->l->c->engines[b->n->engine].instance;
    return x != y ? x < y : a->insn < b->insn;
}

bool too_long(struct diag *d)
{
    return fail(d, "it would take longer than %lld hours; give smaller shapes",
                (long long)(SIM_LONGEST / INT64_C(3600000000000000)));
}

static bool too_many(const struct flight *f)
{
    return fail(f->d, "more than %lld instructions; give smaller shapes",
                (long long)f->s->o.max_insns);
}

/* ---- deadlock ---- */

static const char *node_name(const struct launch_state *l, const struct number_insn *n)
{
    return n->node >= 0 ? l->s->p->nodes[n->node].name : "";
}

static void explain_wait(const struct launch_state *l, const struct instance *i, int engine)
{
    const struct engine_state *x = &l->c->engines[engine];
    int insn = l->k->streams[engine].items[x->at].insn;
    const struct number_insn *n = &l->k->insns[insn];
    for (int w = 0; w < n->nwaits; w++) {
        int64_t value = number_at(&n->waits[w].value, x->vars);
        int semaphore = n->waits[w].semaphore;
        if (value <= i->semaphores[semaphore].n)
            continue;
        size_t used = strlen(l->d->text);
        snprintf(l->d->text + used, sizeof l->d->text - used,
                 "\n  %s waits at instruction %d (%s%s%s) for semaphore %d to reach %lld; it is "
                 "at %d",
                 engine_names[engine], insn, insn_info(n->op)->name,
                 n->node >= 0 ? ", node " : "", node_name(l, n), semaphore, (long long)value,
                 i->semaphores[semaphore].n);
    }
}

static bool explain_deadlock(struct flight *f)
{
    fail(f->d, "deadlock: no engine can go on");
    for (int core = 0; core < f->s->o.cores; core++)
        for (int e = 0; e < ENGINE_COUNT; e++) {
            struct launch_state *l;
            struct instance *i = current_instance(f, core, e, &l);
            if (i)
                explain_wait(l, i, e);
        }
    return false;
}

/* ---- the event loop ---- */

/* The instruction that may begin first; none: best->n is NULL. */
static void find_best(struct flight *f, struct candidate *best)
{
    struct candidate c;
    *best = (struct candidate){.n = NULL};
    for (int core = 0; core < f->s->o.cores; core++)
        for (int e = 0; e < ENGINE_COUNT; e++)
            if (find_candidate(f, core, e, false, &c) && (!best->n || better(&c, best)))
                *best = c;
}

/* Goes on with transfers until one is over, but not beyond `until`; false: none is. */
static bool end_transfers(struct flight *f, int64_t until)
{
    for (;;) {
        struct core_state *c = &f->cores[0];
        for (int core = 1; core < f->s->o.cores; core++)
            if (dma_next(&f->cores[core].dma) < dma_next(&c->dma))
                c = &f->cores[core];
        int64_t next = dma_next(&c->dma);
        if (next == INT64_MAX || next > until)
            return false;
        dma_step(&c->dma);
        bool any = false;
        for (struct flying *x; (x = transfer_over(c)); any = true)
            transfer_follows(x, end_transfer(x));
        if (any)
            return true;
    }
}

static bool fly(struct flight *f)
{
    const struct sim *s = f->s;
    for (open_steps(f); f->oldest < f->nsteps; open_steps(f)) {
        struct candidate best;
        find_best(f, &best);
        if (end_transfers(f, best.n ? best.at.at : INT64_MAX))
            continue;
        if (!best.n) {
            int at = f->oldest;
            open_steps(f); /* streams without instructions have come to their ends */
            if (f->oldest == at)
                return explain_deadlock(f);
            continue;
        }
        if (s->insns >= s->o.max_insns || best.l->jumps > s->o.max_insns)
            return too_many(f);
        if (s->watch)
            find_candidate(f, best.l->core, best.n->engine, true, &best);
        issue(&best);
        if (s->work_ps >= SIM_LONGEST)
            return too_long(f->d);
        advance(best.l, best.n->engine);
    }
    return true;
}

bool run_flight(struct flight *f)
{
    for (int c = 0; c < f->s->o.cores; c++) {
        struct core_state *x = &f->cores[c];
        for (int e = 0; e < ENGINE_COUNT; e++)
            x->engines[e] = (struct engine_state){.free = f->begin};
        x->array = (struct stationary){.instance = -1};
        x->last_over = f->begin;
        dma_reset(&x->dma, (int)machine_timing(f->s->m)->dma_engines, f->begin.at);
        x->sbuf_port = x->psum_port = x->processor = x->freed = x->forgotten = f->begin;
        x->oldest_room = x->next_room = 0;
    }
    bool ok = fly(f);
    if (!ok && f->oldest < f->next) {
        const struct kernel *k = step_at(f, f->oldest)->k->k;
        fail_in(f->d, "kernel '%s'", k->name ? k->name : "");
    }
    for (int c = 0; c < f->s->o.cores; c++) {
        struct core_state *x = &f->cores[c];
        memset(x->oldest, 0, sizeof x->oldest), memset(x->newest, 0, sizeof x->newest);
        x->spare = NULL;
        arena_free(&x->transfers);
    }
    for (int i = 0; i < 2 * MAX_STEPS; i++) {
        arena_free(&f->steps[i].arena);
        arena_free(&f->steps[i].kept);
    }
    return ok;
}
