/*
 * Instances of a step: where engines stand, when their instructions may begin, and what follows.
 */
#include "neff/isa/cost.h"

#include "runtime/sim/state.h"

#include <stdlib.h>
#include <string.h>

static struct instance *slot_of(struct launch_state *l, int64_t index)
{
    return &l->ring[index % l->overlap];
}

void grid_point(const struct number_kernel *k, int64_t index, int64_t *vars)
{
    for (int g = k->ngrid - 1; g >= 0; g--) {
        vars[g] = index % k->grid[g];
        index /= k->grid[g];
    }
}

/* Its number in the whole grid. */
static int64_t in_grid(const struct launch_state *l, int64_t index)
{
    return index * l->cores + l->core;
}

/* ---- instances ---- */

static void open_instance(struct launch_state *l, struct instance *i, int64_t index,
                          struct moment at)
{
    int ntiles = l->k->k->ntiles, nsemaphores = l->k->k->nsemaphores;
    if (!i->tiles) {
        i->tiles = ARENA_ARRAY(l->a, struct tile_state, ntiles + 1);
        i->semaphores = ARENA_ARRAY(l->a, struct signals, nsemaphores + 1);
    }
    for (int t = 0; t < ntiles; t++)
        i->tiles[t] = (struct tile_state){.written = {.record = -1},
                                          .write_track = -1,
                                          .filled = {.record = -1},
                                          .drained = {.record = -1},
                                          .part = -1,
                                          .first = -1,
                                          .reach = l->f->reach};
    for (int s = 0; s < nsemaphores; s++)
        i->semaphores[s].n = i->semaphores[s].all = 0;
    forget_transfers(i);
    i->index = index, i->left = l->active;
    i->opened = i->end = at, i->tenant = NULL;
    i->chain = 0, i->reach = l->f->reach;
}

static void close_instance(struct launch_state *l, struct instance *i)
{
    struct sim *s = l->s;
    note_occupancy(l, i);
    if (i->chain > s->launches[l->launch].work.chain)
        s->launches[l->launch].work.chain = i->chain;
    if (i->reach > s->chain)
        s->chain = i->reach;
    l->c->rooms[i->room].over = true;
    l->c->rooms[i->room].end = i->end;
    struct step_state *x = step_at(l->f, l->step);
    x->end = later(x->end, i->end);
}

/* Instances get memory in the order of the program, so that none waits for a later one. */
static bool is_next(const struct launch_state *l, int64_t instance)
{
    for (int step = l->f->oldest; step < l->step; step++) {
        const struct launch_state *x = &step_at(l->f, step)->on[l->core];
        if (x->working && x->opened < x->count)
            return false;
    }
    return instance == l->opened;
}

/* The engine's instance has memory of its own: now, or once an earlier one is complete. */
static struct instance *enter(struct launch_state *l, struct engine_state *e)
{
    struct instance *i = slot_of(l, e->instance);
    struct moment freed = l->c->freed;
    int room;
    if (i->index == e->instance)
        return i;
    if ((i->index >= 0 && i->left > 0) || !is_next(l, e->instance) || !take_room(l, &room))
        return NULL;
    l->opened++;
    if (i->index >= 0)
        freed = later(freed, i->end);
    open_instance(l, i, e->instance, freed);
    i->room = room;
    return i;
}

/* ---- streams ---- */

/* Goes to the next instruction of the stream; false at its end. */
static bool settle(struct launch_state *l, const struct insn_stream *s, struct engine_state *e)
{
    for (; e->at < s->n; l->jumps++) {
        const struct stream_item *x = &s->items[e->at];
        if (x->kind == STREAM_INSN)
            return true;
        if (l->jumps > l->s->o.max_insns) /* loops of loops without iterations */
            return false;
        int64_t count = number_at(&x->count, e->vars);
        if (x->kind == STREAM_LOOP) {
            e->vars[x->var] = 0;
            e->at = count > 0 ? e->at + 1 : x->other + 1;
        } else if (++e->vars[x->var] < count) {
            e->at = x->other + 1;
        } else {
            e->at++;
        }
    }
    return false;
}

static void next_step(struct engine_state *e)
{
    e->step++, e->instance = 0, e->inside = false;
}

/* The engine has nothing more in its instance. */
static void leave(struct launch_state *l, struct engine_state *e)
{
    struct instance *i = slot_of(l, e->instance);
    if (--i->left == 0)
        close_instance(l, i);
    e->instance++, e->inside = false;
    if (e->instance == l->count) {
        l->working--;
        next_step(e);
    }
}

/* ---- when ---- */

static void not_before(struct candidate *c, struct moment m, enum sim_why why)
{
    const struct clock *known = c->known ? both_known(c->at.known, m.known) : NULL;
    if (m.at > c->at.at) {
        c->at = m;
        c->why = why;
    }
    c->at.known = known;
}

/* Ports delay an instruction, but order nothing. */
static void not_beside(struct candidate *c, struct moment m, enum sim_why why)
{
    not_before(c, (struct moment){m.at, m.record, NULL}, why);
}

/* False: an instance that has not ended has memory that the instruction touches. */
static bool has_room(const struct launch_state *l, const struct instance *i, struct candidate *c)
{
    for (int psum = 0; psum < 2; psum++) {
        struct moment freed;
        if (!(psum ? c->n->psum : c->n->sbuf))
            continue;
        if (!room_begins(l->c, i->room, psum, &freed))
            return false;
        not_before(c, freed, WHY_ROOM);
    }
    return true;
}

/* False: a semaphore has not been signalled often enough yet. */
static bool waits_over(const struct instance *i, const struct engine_state *e,
                       const struct number_insn *n, struct candidate *c)
{
    for (int w = 0; w < n->nwaits; w++) {
        int64_t value = number_at(&n->waits[w].value, e->vars);
        const struct signals *s = &i->semaphores[n->waits[w].semaphore];
        if (value > s->n)
            return false;
        if (value > 0)
            not_before(c, s->given[value - 1].at, WHY_SEMAPHORE);
    }
    return true;
}

/* The engine's own earlier results. */
static void pipeline(const struct launch_state *l, const struct instance *i,
                     const struct number_insn *n, struct candidate *c)
{
    if (n->engine == ENGINE_PE || n->dma || !l->t->dependent_ns)
        return;
    int64_t min = (int64_t)(l->t->dependent_ns * 1000);
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if ((ap->mem != MEM_SBUF && ap->mem != MEM_PSUM) || !ap->reads)
            continue;
        const struct tile_state *t = &i->tiles[ap->tensor];
        if (t->write_track == n->engine)
            not_beside(c, (struct moment){t->write_start + min, t->written.record, NULL},
                       WHY_RESULT);
    }
}

/* Transfers of the engine's own queue that touch the same tiles: the engine's order holds for them
 * too, without semaphores. False: one is not over. */
static bool own_queue(const struct launch_state *l, const struct instance *i,
                      const struct number_insn *n, struct candidate *c)
{
    for (int a = 0; a < n->naps && !n->dma && l->k->queues[n->engine]; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (ap->mem != MEM_SBUF && ap->mem != MEM_PSUM)
            continue;
        if (queue_touches(l, i, ap, n->engine))
            return false;
        for (const int32_t *t = l->aliases[ap->tensor]; *t >= 0; t++) {
            const struct tile_state *x = &i->tiles[*t];
            if (x->queue != n->engine)
                continue;
            not_before(c, x->filled, WHY_QUEUE);
            if (ap->writes)
                not_before(c, x->drained, WHY_QUEUE);
        }
    }
    return true;
}

static void ports(const struct launch_state *l, const struct number_insn *n, struct candidate *c)
{
    bool vector = n->engine == ENGINE_DVE;
    if (n->dma)
        return;
    if (n->sbuf && l->t->shared_sbuf_port && (vector || n->engine == ENGINE_POOL))
        not_beside(c, l->c->sbuf_port, WHY_PORT);
    if (n->psum && l->t->shared_psum_port && (vector || n->engine == ENGINE_ACT))
        not_beside(c, l->c->psum_port, WHY_PORT);
    if (!l->s->m->strict)
        not_beside(c, l->c->processor, WHY_ENGINE);
}

/* False: it is not known yet when earlier steps leave what it uses to the instruction. */
static bool steps_before(const struct launch_state *l, struct engine_state *e, struct candidate *c)
{
    if (!c->n->naccesses)
        return true;
    if (!e->begins)
        e->begins = accesses_begin(l, c->n, in_grid(l, e->instance), &e->begin);
    if (e->begins)
        not_before(c, e->begin.at, WHY_STEP);
    return e->begins;
}

/* The step in flight that the engine works on; NULL: it has come to the end of all of them. */
static struct launch_state *launch_of(struct flight *f, int core, int engine)
{
    struct engine_state *e = &f->cores[core].engines[engine];
    for (; e->step < f->next; next_step(e)) {
        struct launch_state *l = &step_at(f, e->step)->on[core];
        if (l->count > 0 && l->k->streams[engine].n > 0)
            return l;
    }
    return NULL;
}

struct instance *current_instance(struct flight *f, int core, int engine, struct launch_state **at)
{
    struct engine_state *e = &f->cores[core].engines[engine];
    for (;;) {
        struct launch_state *l = *at = launch_of(f, core, engine);
        struct instance *i = l ? enter(l, e) : NULL;
        if (!i || e->inside)
            return i;
        grid_point(l->k, in_grid(l, e->instance), e->vars);
        e->at = 0, e->inside = true;
        if (settle(l, &l->k->streams[engine], e))
            return i;
        leave(l, e);
    }
}

bool find_candidate(struct flight *f, int core, int engine, bool known, struct candidate *c)
{
    struct launch_state *l;
    struct instance *i = current_instance(f, core, engine, &l);
    if (!i)
        return false;
    struct engine_state *e = &l->c->engines[engine];
    c->l = l, c->known = known;
    c->insn = l->k->streams[engine].items[e->at].insn;
    c->n = &l->k->insns[c->insn];
    c->at = e->free, c->why = WHY_ENGINE;
    not_before(c, i->opened,
               i->opened.record == f->begin.record || f->max == 1 ? WHY_STEP : WHY_ROOM);
    if (c->at.record < 0)
        c->why = WHY_START;
    if (!has_room(l, i, c) || !waits_over(i, e, c->n, c) || !steps_before(l, e, c))
        return false;
    if (!own_queue(l, i, c->n, c))
        return false;
    pipeline(l, i, c->n, c);
    ports(l, c->n, c);
    return true;
}

/* ---- what follows ---- */

/* A wait for n signals is one for the first n instructions that give one: those of an engine and of
 * its queue count in the stream's order. */
static void promise_signals(struct launch_state *l, struct instance *i, const struct number_insn *n, int which[2])
{
    for (int k = 0; k < 2; k++) {
        if (n->signal[k] < 0)
            continue;
        struct signals *s = &i->semaphores[n->signal[k]];
        ARENA_GROW(l->a, s->given, s->all, s->cap);
        s->given[which[k] = s->all++] = (struct given){.over = false};
    }
}

static void give_signals(struct instance *i, const struct number_insn *n, const int which[2], struct moment done)
{
    for (int k = 0; k < 2; k++) {
        if (n->signal[k] < 0)
            continue;
        struct signals *s = &i->semaphores[n->signal[k]];
        s->given[which[k]] = (struct given){done, true};
        for (; s->n < s->all && s->given[s->n].over; s->n++)
            if (s->n)
                s->given[s->n].at = later(s->given[s->n].at, s->given[s->n - 1].at);
    }
}

struct chains { /* ps; of results of the step, of one part of it, of the program */
    int64_t step, part, program;
};

/* Those that an instruction continues. */
static struct chains chains(const struct instance *i, const struct number_insn *n)
{
    struct chains c = {0};
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (!ap->reads || (ap->mem != MEM_SBUF && ap->mem != MEM_PSUM))
            continue;
        const struct tile_state *t = &i->tiles[ap->tensor];
        c.program = t->reach > c.program ? t->reach : c.program;
        c.step = t->chain > c.step ? t->chain : c.step;
        if (t->part == n->part && t->part_chain > c.part)
            c.part = t->part_chain;
    }
    return c;
}

/* The chain of the program's results in HBM that an instruction continues, when it is issued. */
static int64_t reach_before(const struct launch_state *l, const struct number_insn *n)
{
    return n->naccesses ? l->c->engines[n->engine].begin.reach : l->f->reach;
}

/* A result of the part, or none that is kept, is there at `end`, after a chain of the part's. */
static void note_part(struct sim_work *part, int64_t end, int64_t chain)
{
    if (!part)
        return;
    part->end = end > part->end ? end : part->end;
    part->chain = chain > part->chain ? chain : part->chain;
}

/* What the instruction leaves to others: it began at `start`, its results are there at `end`. */
static void touch(struct launch_state *l, struct instance *i, const struct number_insn *n,
                  int64_t start, struct moment end, int64_t cost, int64_t reach)
{
    struct chains c = chains(i, n);
    int64_t chain = c.step + cost;
    reach = (c.program > reach ? c.program : reach) + cost;
    note_part(part_work(&l->s->launches[l->launch], n), end.at, c.part + cost);
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *ap = &n->ap[a];
        if (ap->mem != MEM_SBUF && ap->mem != MEM_PSUM)
            continue;
        struct tile_state *t = &i->tiles[ap->tensor];
        t->first = t->first < 0 ? start : t->first;
        t->last = end.at > t->last ? end.at : t->last;
        if (!ap->writes)
            continue;
        t->written = end, t->write_start = start;
        t->write_track = n->dma ? TRACK_QUEUE + n->engine : n->engine;
        t->chain = chain, t->reach = reach;
        t->part = n->part, t->part_chain = c.part + cost;
    }
    note_accesses(l, n, in_grid(l, i->index), end, reach);
    i->chain = chain > i->chain ? chain : i->chain;
    i->reach = reach > i->reach ? reach : i->reach;
    int32_t last = i->end.record < 0 ? end.record : -1;
    i->end = later(i->end, end);
    i->end.record = last >= 0 ? last : i->end.record;
}

static void note_busy(struct sim_work *x, int engine, int64_t start, int64_t ps)
{
    x->busy[engine] += ps, x->insns++;
    if (x->start < 0 || start < x->start)
        x->start = start;
}

static void account(struct launch_state *l, const struct candidate *c, int64_t idle, int64_t ps)
{
    struct sim *s = l->s;
    int engine = c->n->engine;
    struct sim_track *y = &s->tracks[l->core][engine];
    y->busy += ps, y->insns++;
    struct sim_launch *x = &s->launches[l->launch];
    struct sim_work *part = part_work(x, c->n);
    note_busy(&x->work, engine, c->at.at, ps);
    if (part)
        note_busy(part, engine, c->at.at, ps);
    s->insns++;
    if (idle <= 0)
        return;
    if (c->why == WHY_SEMAPHORE) {
        y->waiting += idle;
        add_wait(s, l->k->index, c->insn, engine, c->at.record, idle);
    } else if (c->why == WHY_PORT || c->why == WHY_RESULT) {
        y->blocked += idle;
    }
}

/* Cycles that an instruction pays when it could not begin in the shadow of the one before. */
static int64_t start_up(const struct launch_state *l, const struct candidate *c)
{
    if (c->why != WHY_SEMAPHORE || c->n->dma)
        return 0;
    return cycles_ps(l->t->access_start_cycles, engine_ghz(l->s->m, c->n->engine));
}

/* Cycles until other columns are in the array; most of LoadStationary is beside the product before.
 */
static int64_t load_array(struct launch_state *l, const struct number_insn *n,
                          const struct instance *i, const int64_t *vars)
{
    if (n->op != INSN_nc_matmul || !l->s->m->strict)
        return 0;
    const struct number_ap *ap = &n->ap[AP(nc_matmul, stationary)];
    struct stationary *held = &l->c->array,
                      new = {i->index, number_at(&ap->offset, vars), ap->tensor, l->launch, {.record = -1}};
    if (ap->mem != MEM_HBM)
        new.written = i->tiles[ap->tensor].written;
    if (new.instance == held->instance && new.launch == held->launch &&
        new.offset == held->offset && new.tile == held->tile &&
        new.written.at == held->written.at)
        return 0;
    *held = new;
    return cycles_ps(l->t->pe_switch_cycles, l->s->m->pe_ghz);
}

static void use_ports(struct launch_state *l, const struct number_insn *n, struct moment end)
{
    bool vector = n->engine == ENGINE_DVE;
    if (n->sbuf && (vector || n->engine == ENGINE_POOL))
        l->c->sbuf_port = end;
    if (n->psum && (vector || n->engine == ENGINE_ACT))
        l->c->psum_port = end;
    l->c->processor = end;
}

/* HBM that neither the caller nor the archive has: what one step leaves there for another. */
static bool between_steps(const struct sim *s, const struct number_ap *a)
{
    const struct slot *x = &s->p->slots[a->tensor];
    return a->mem == MEM_HBM && !x->is_output && (x->kind == SLOT_PLANNED || x->kind == SLOT_DYNAMIC);
}

/* An instruction's reads are taken for those of the first operand that it reads in HBM, its writes alike. */
static void count_spills(struct sim *s, const struct number_insn *n, const struct demand *w)
{
    bool read = false, written = false;
    for (int a = 0; a < n->naps; a++) {
        const struct number_ap *x = &n->ap[a];
        if (x->mem != MEM_HBM)
            continue;
        if (x->reads && !read)
            s->reloaded += between_steps(s, x) ? w->read : 0;
        if (x->writes && !written)
            s->spilled += between_steps(s, x) ? w->written : 0;
        read |= x->reads, written |= x->writes;
    }
}

static void count_work(struct launch_state *l, const struct number_insn *n, const struct demand *w)
{
    struct sim *s = l->s;
    for (int a = 0; a < n->naps && w->read; a++)
        if (n->ap[a].mem == MEM_HBM && n->ap[a].reads) {
            l->uses[n->ap[a].use].bytes_read += w->read;
            break;
        }
    s->matmul_flops += w->matmul;
    struct sim_launch *x = &s->launches[l->launch];
    struct sim_work *part = part_work(x, n);
    x->work.matmul_flops += w->matmul;
    if (part)
        part->matmul_flops += w->matmul;
    s->pe_flops += w->array;
    s->hbm_read += w->read;
    s->hbm_written += w->written;
    count_spills(s, n, w);
}

void issue(const struct candidate *c)
{
    struct launch_state *l = c->l;
    struct sim *s = l->s;
    const struct number_insn *n = c->n;
    struct engine_state *e = &l->c->engines[n->engine];
    struct instance *i = slot_of(l, e->instance);
    struct demand w = n->varies ? insn_work(s->m, n, e->vars) : n->work;
    int64_t idle = c->at.at - e->free.at, ps = w.ps + start_up(l, c);
    if (n->engine == ENGINE_PE)
        ps += load_array(l, n, i, e->vars);
    struct sim_record r = {.ready = c->at.at,
                           .start = c->at.at,
                           .end = c->at.at + ps,
                           .cause = c->at.record,
                           .insn = c->insn,
                           .launch = l->launch,
                           .instance = (int32_t)in_grid(l, e->instance),
                           .track = n->engine,
                           .why = (uint8_t)c->why,
                           .core = (uint8_t)l->core};
    struct moment done = {r.end, add_record(s, r),
                          clock_after(s, c->at.known, l->core, n->engine)};
    account(l, c, idle, ps);
    count_work(l, n, &w);
    s->work_ps += ps + w.runs * w.run_ps;
    e->free = done;
    if (n->dma) {
        struct flying *f = start_transfer(l, i, n, c->insn, &w, done, e->vars);
        f->issued = r.start, f->reach = reach_before(l, n);
        promise_signals(l, i, n, f->signal);
        i->left++, l->working++; /* until it is over */
        return;
    }
    int which[2];
    promise_signals(l, i, n, which);
    use_ports(l, n, done);
    watch_insn(l, i, n, c->insn, e->vars, c->at.known, done.known);
    if (n->engine == ENGINE_PE)
        done.at += cycles_ps(l->t->pe_result_cycles, s->m->pe_ghz);
    touch(l, i, n, r.start, done, w.ps, reach_before(l, n));
    give_signals(i, n, which, done);
}

void transfer_follows(const struct flying *f, struct moment done)
{
    struct launch_state *l = f->l;
    touch(l, f->i, f->n, f->issued, done, f->cost, f->reach);
    give_signals(f->i, f->n, f->signal, done);
    if (--f->i->left == 0)
        close_instance(l, f->i);
    l->working--;
}

void advance(struct launch_state *l, int engine)
{
    struct engine_state *e = &l->c->engines[engine];
    const struct insn_stream *s = &l->k->streams[engine];
    e->at++, e->begins = false;
    if (!settle(l, s, e))
        leave(l, e);
}
