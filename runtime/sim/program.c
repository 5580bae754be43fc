/*
 * Programs: one step after the other, on one or two cores.
 */
#include "neff/isa/cost.h"

#include "runtime/sim/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY_INSTANCES = 1 << 20 }; /* about a second */

struct run {
    struct sim *s;
    struct diag *d;
    struct arena kernels;                  /* numbers of kernels, kept for further launches */
    const struct number_kernel **numbers; /* per kernel, NULL: not yet */
    const int32_t *const **aliases;        /* per kernel: per tile, see launch_state */
    struct place *places;                  /* per slot */
    int64_t *slot_sizes;                   /* bytes */
    struct core_state *cores;
    struct flight *flight;
    int32_t *kernels_ahead; /* launches that no call has come after yet */
    int nahead, ahead_cap;
    int64_t instances_ahead;
    int64_t regions; /* that were run */
    struct moment now;
    int depth;
};

/* ---- kernels ---- */

static bool tiles_alias(const struct number_kernel *k, int a, int b)
{
    const struct tile *s = &k->k->tiles[a], *t = &k->k->tiles[b];
    if (a == b)
        return true;
    return s->mem == t->mem && s->address >= 0 && t->address >= 0 &&
           s->address < t->address + k->tile_bytes[b] && t->address < s->address + k->tile_bytes[a];
}

static const int32_t *const *aliases_of(const struct number_kernel *k, struct arena *a)
{
    int n = k->k->ntiles;
    const int32_t **lists = ARENA_ARRAY(a, const int32_t *, n + 1);
    int32_t *list = ARENA_ARRAY(a, int32_t, n + 1);
    for (int i = 0; i < n; i++) {
        int found = 0;
        for (int j = 0; j < n; j++)
            if (tiles_alias(k, i, j))
                list[found++] = j;
        list[found++] = -1;
        lists[i] = arena_copy(a, list, sizeof *list * (size_t)found);
    }
    return lists;
}

static const struct number_kernel *numbers_of(struct run *r, int kernel)
{
    if (!r->numbers[kernel]) {
        struct number_kernel *k = ARENA_NEW(&r->kernels, struct number_kernel);
        if (!number_kernel(r->s, kernel, k, &r->kernels, r->d))
            return NULL;
        number_uses(k, r->s, &r->kernels);
        r->numbers[kernel] = k;
        r->aliases[kernel] = aliases_of(k, &r->kernels);
    }
    return r->numbers[kernel];
}

/* Runs the launches that are ahead; the next step begins when all are complete. */
static bool land(struct run *r)
{
    struct sim *s = r->s;
    struct flight *f = r->flight;
    if (!r->nahead)
        return true;
    *f = (struct flight){.s = s,
                         .d = r->d,
                         .nsteps = r->nahead,
                         .kernels = r->kernels_ahead,
                         .numbers = r->numbers,
                         .aliases = r->aliases,
                         .places = r->places,
                         .slot_sizes = r->slot_sizes,
                         .reach = s->chain,
                         .max = s->m->strict && !s->o.in_turn ? MAX_STEPS : 1,
                         .begin = r->now,
                         .end = r->now,
                         .before = r->now,
                         .cores = r->cores};
    r->nahead = 0;
    r->instances_ahead = 0;
    if (!run_flight(f))
        return false;
    r->now = f->end;
    return true;
}

static bool launch(struct run *r, int kernel)
{
    const struct number_kernel *k = numbers_of(r, kernel);
    if (!k) /* a fault of an earlier step is named first, where that does not take long */
        return r->instances_ahead < MANY_INSTANCES && land(r) && false;
    if (k->instances > r->s->o.max_insns)
        return fail(r->d, "kernel '%s': more than %lld instructions; give smaller shapes",
                    k->k->name ? k->k->name : "", (long long)r->s->o.max_insns / 16);
    grow((void **)&r->kernels_ahead, r->nahead, &r->ahead_cap, sizeof *r->kernels_ahead);
    r->kernels_ahead[r->nahead++] = kernel;
    r->instances_ahead += k->instances;
    return true;
}

/* ---- calls ---- */

static bool plain_call(struct run *r, int call)
{
    struct sim *s = r->s;
    const struct call *c = &s->p->calls[call];
    const struct timing *t = machine_timing(s->m);
    double flops = call_flops(s->p, c, s->o.values), bytes = call_bytes(s->p, c, s->o.values);
    double ns = flops / (t->gpsimd_ops_per_cycle * s->m->pool_ghz);
    double memory = bytes / (t->dma_engines * t->dma_engine_gbps);
    ns = t->call_start_ns + (ns > memory ? ns : memory);
    int64_t ps = rounded_ps(ns * 1000);
    s->work_ps += ps;
    if (s->work_ps >= SIM_LONGEST)
        return too_long(r->d) || fail_in(r->d, "node '%s'", c->node >= 0 ? s->p->nodes[c->node].name : op_name(c->op));
    grow((void **)&s->launches, s->nlaunches, &s->launches_cap, sizeof *s->launches);
    struct sim_launch *l = &s->launches[s->nlaunches++];
    *l = (struct sim_launch){.kernel = -1,
                             .call = call,
                             .overlap = 1,
                             .work = {.start = r->now.at,
                                      .end = r->now.at + ps,
                                      .adds = ps,
                                      .busy[ENGINE_POOL] = ps}};
    watch_reads(s, c->in, c->nin, r->now.known); /* its faults name the step */
    s->chain += ps;
    s->tracks[0][ENGINE_POOL].busy += ps;
    s->tracks[0][ENGINE_POOL].insns++;
    s->hbm_read += (int64_t)bytes; /* results included */
    s->hbm_useful += (int64_t)bytes;
    struct sim_record x = {.ready = l->work.start,
                           .start = l->work.start,
                           .end = l->work.end,
                           .cause = r->now.record,
                           .insn = -1,
                           .launch = s->nlaunches - 1,
                           .track = ENGINE_POOL,
                           .why = WHY_STEP};
    r->now = (struct moment){l->work.end, add_record(s, x),
                             clock_after(s, r->now.known, 0, ENGINE_POOL)};
    if (!c->nregions)
        watch_writes(s, c->out, c->nout, r->now.known);
    return true;
}

static const struct sim_trips *trips_of(const struct run *r, const struct call *c)
{
    const struct sim_options *o = &r->s->o;
    const char *name = c->node >= 0 ? r->s->p->nodes[c->node].name : NULL;
    const struct sim_trips *found = NULL;
    for (int i = 0; i < o->ntrips; i++)
        if (!o->trips[i].node || (name && !strcmp(name, o->trips[i].node)))
            found = found && found->node && !o->trips[i].node ? found : &o->trips[i];
    return found;
}

/* A number of iterations that is a constant of the program. */
static bool constant_trips(const struct program *p, const struct call *c, int64_t *n)
{
    int slot = c->op == OP_loop && c->nin > 0 ? c->in[0] : -1;
    if (slot < 0 || p->slots[slot].kind != SLOT_CONST || !p->slots[slot].data.data ||
        p->slots[slot].data.dtype != DT_I64)
        return false;
    memcpy(n, p->slots[slot].data.data, sizeof *n);
    return true;
}

static void assume(struct run *r, const struct call *c)
{
    struct sim *s = r->s;
    const char *name = c->node >= 0 ? s->p->nodes[c->node].name : op_name(c->op);
    if (!s->assumed_trips)
        s->assumed_trips = arena_strdup(&s->arena, name);
    else if (!strstr(s->assumed_trips, name) && strlen(s->assumed_trips) < 400)
        s->assumed_trips = arena_printf(&s->arena, "%s, %s", s->assumed_trips, name);
}

static bool run_region(struct run *r, int region);

static bool control(struct run *r, int call)
{
    const struct program *p = r->s->p;
    const struct call *c = &p->calls[call];
    const struct sim_trips *t = trips_of(r, c);
    int64_t n = t ? t->count : 1;
    if (!t && !constant_trips(p, c, &n))
        assume(r, c);
    if (++r->depth > 64)
        return fail(r->d, "regions are nested too deeply");
    bool ok = true;
    if (c->op == OP_if) {
        int branch = t && t->count == 0 && c->nregions > 1 ? 1 : 0;
        ok = run_region(r, c->regions[branch]);
    } else {
        for (int64_t i = 0; ok && i < n; i++)
            for (int g = 0; ok && g < c->nregions; g++)
                ok = run_region(r, c->regions[g]);
    }
    watch_writes(r->s, c->out, c->nout, r->now.known);
    r->depth--;
    return ok;
}

static bool run_region(struct run *r, int region)
{
    const struct program_region *g = &r->s->p->regions[region];
    if (++r->regions > r->s->o.max_insns / 16) /* those without steps, too */
        return fail(r->d, "more than %lld turns of loops; give fewer iterations with --trips",
                    (long long)(r->s->o.max_insns / 16));
    if (region)
        watch_writes(r->s, g->params, g->nparams, r->now.known);
    for (int i = 0; i < g->nsteps; i++) {
        int index = g->steps[i].index;
        if (r->s->nlaunches + r->nahead > r->s->o.max_insns / 16)
            return fail(r->d, "more than %d steps; give fewer iterations with --trips",
                        r->s->nlaunches + r->nahead);
        if (g->steps[i].kind != STEP_LAUNCH && !land(r))
            return false;
        if (g->steps[i].kind == STEP_LAUNCH) {
            if (step_is_for(&g->steps[i], BF16_RATE) && !launch(r, index))
                return false;
        } else if (r->s->p->calls[index].nregions) {
            if (!plain_call(r, index) || !control(r, index))
                return false;
        } else if (!plain_call(r, index)) {
            return false;
        }
    }
    if (!land(r)) /* the call that a region belongs to waits for its results */
        return false;
    watch_reads(r->s, g->results, g->nresults, r->now.known);
    return true;
}

/* ---- the whole ---- */

static int by_time(const void *a, const void *b)
{
    const struct sim_live *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    int64_t p = (int64_t)x->sbuf + x->psum, q = (int64_t)y->sbuf + y->psum;
    return (p > q) - (p < q); /* what ends first */
}

static void find_peaks(struct sim *s)
{
    int64_t sbuf = 0, psum = 0;
    if (s->nlive)
        qsort(s->live, (size_t)s->nlive, sizeof *s->live, by_time);
    for (int i = 0; i < s->nlive; i++) {
        sbuf += s->live[i].sbuf, psum += s->live[i].psum;
        s->sbuf_peak = sbuf > s->sbuf_peak ? sbuf : s->sbuf_peak;
        s->psum_peak = psum > s->psum_peak ? psum : s->psum_peak;
    }
}

static int by_ps(const void *a, const void *b)
{
    const struct sim_wait *x = a, *y = b;
    if (x->ps != y->ps)
        return x->ps < y->ps ? 1 : -1;
    if (x->kernel != y->kernel)
        return x->kernel - y->kernel;
    return x->insn != y->insn ? x->insn - y->insn : x->cause_insn - y->cause_insn;
}

static void sort_waits(struct sim *s)
{
    int n = 0;
    for (int i = 0; i < s->waits_cap; i++)
        if (s->waits[i].times)
            s->waits[n++] = s->waits[i];
    s->nwaits = n;
    if (n)
        qsort(s->waits, (size_t)n, sizeof *s->waits, by_ps);
}

static bool run_all(struct sim *s, struct diag *d)
{
    const struct program *p = s->p;
    struct run r = {.s = s, .d = d, .now = {.record = -1}};
    r.numbers = ARENA_ARRAY(&r.kernels, const struct number_kernel *, p->nkernels + 1);
    r.aliases = ARENA_ARRAY(&r.kernels, const int32_t *const *, p->nkernels + 1);
    r.flight = ARENA_NEW(&r.kernels, struct flight);
    r.cores = ARENA_ARRAY(&r.kernels, struct core_state, SIM_CORES);
    r.slot_sizes = slot_sizes(p, s->o.values, &r.kernels);
    r.places = slot_places(s, r.slot_sizes, &r.kernels);
    bool ok = run_region(&r, 0);
    s->latency = r.now.at;
    s->last = r.now.record;
    free(r.kernels_ahead);
    arena_free(&r.kernels);
    return ok;
}

struct sim *sim_run(const struct program *p, const struct sim_options *o, struct diag *d)
{
    struct sim *s = calloc(1, sizeof *s);
    if (!s) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    s->p = p, s->o = *o;
    s->m = o->machine ? o->machine : machine_find(p->target ? p->target : "cpu");
    s->o.cores = o->cores == 2 ? 2 : 1;
    s->o.max_insns = o->max_insns ? o->max_insns : 50000000;
    s->watch = o->check ? watch_new(s) : NULL;
    bool ok = run_all(s, d);
    if (!ok) {
        sim_free(s);
        return NULL;
    }
    find_peaks(s);
    sort_waits(s);
    return s;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    free(s->records);
    free(s->launches);
    free(s->live);
    free(s->waits);
    watch_free(s->watch);
    arena_free(&s->arena);
    free(s);
}

/* ---- shapes ---- */

bool sim_shape_parse(struct sim_shape *s, const char *text, struct arena *a, struct diag *d)
{
    const char *equals = strchr(text, '=');
    *s = (struct sim_shape){0};
    if (!equals || equals == text)
        return fail(d, "'%s': expected NAME=1,3,224 or SYMBOL=4", text);
    s->name = arena_strndup(a, text, (size_t)(equals - text));
    for (const char *at = equals; *at;) {
        char *end;
        long long v = strtoll(at + 1, &end, 10);
        if (end == at + 1 || v < 0 || v > INT32_MAX || (*end && *end != ',') ||
            s->ndims == MAX_RANK)
            return fail(d, "'%s': expected whole numbers separated by ','", text);
        s->dims[s->ndims++] = v;
        at = end;
    }
    return true;
}

static bool set_symbol(const struct program *p, int64_t *symbols, const struct sim_shape *s)
{
    for (int i = 0; i < p->dims.nsymbols; i++)
        if (!strcmp(p->dims.symbols[i].name, s->name)) {
            symbols[i] = s->dims[0];
            return true;
        }
    return false;
}

static bool set_input(const struct program *p, int64_t *symbols, const struct sim_shape *s,
                      struct diag *d)
{
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct slot *x = &p->slots[p->regions[0].params[i]];
        if (strcmp(x->name, s->name))
            continue;
        if (x->type.rank != s->ndims)
            return fail(d, "input '%s' has rank %d, not %d", s->name, x->type.rank, s->ndims);
        for (int k = 0; k < s->ndims; k++) {
            int symbol = dim_as_symbol(&p->dims, x->type.dims[k]);
            if (symbol >= 0)
                symbols[symbol] = s->dims[k];
            else if (dim_is_const(x->type.dims[k]) && x->type.dims[k] != s->dims[k])
                return fail(d, "input '%s' has %lld in dimension %d, not %lld", s->name,
                            (long long)x->type.dims[k], k, (long long)s->dims[k]);
        }
        return true;
    }
    return fail(d, "no input and no symbol of the name '%s'", s->name);
}

int64_t *sim_bind(const struct program *p, const struct sim_shape *shapes, int nshapes,
                  const char **assumed, struct arena *a, struct diag *d)
{
    return sim_bind_others(p, shapes, nshapes, 1, assumed, a, d);
}

int64_t *sim_bind_others(const struct program *p, const struct sim_shape *shapes, int nshapes, int64_t others,
                         const char **assumed, struct arena *a, struct diag *d)
{
    const struct dim_table *t = &p->dims;
    int64_t *symbols = ARENA_ARRAY(a, int64_t, t->nsymbols + 1),
            *values = ARENA_ARRAY(a, int64_t, t->nnodes + 1);
    for (int i = 0; i < t->nsymbols; i++)
        symbols[i] = t->symbols[i].size ? t->symbols[i].size : -1;
    for (int i = 0; i < nshapes; i++)
        if (!(shapes[i].ndims == 1 && set_symbol(p, symbols, &shapes[i])) &&
            !set_input(p, symbols, &shapes[i], d))
            return NULL;
    const char *list = NULL;
    for (int i = 0; i < t->nsymbols; i++) {
        if (symbols[i] >= 0)
            continue;
        int64_t most = t->symbols[i].max ? t->symbols[i].max : INT64_MAX;
        symbols[i] = t->symbols[i].runtime ? 1 : others < most ? others : most;
        list = list ? arena_printf(a, "%s, %s", list, t->symbols[i].name)
                    : arena_strdup(a, t->symbols[i].name);
    }
    if (assumed)
        *assumed = list;
    dim_eval_all(t, symbols, values);
    return values;
}
