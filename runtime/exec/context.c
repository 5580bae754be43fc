/*
 * Contexts: the memory and threads of one stream of runs.
 */
#include "neff/base/use.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/state.h"
#include "runtime/kernels/select.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool allocate(struct context *c, struct diag *d)
{
    const struct program *p = c->m->p;
    const struct program_region *main_region = &p->regions[0];
    size_t nslots = (size_t)p->nslots + 1;
    c->input = calloc((size_t)main_region->nparams + 1, sizeof *c->input);
    c->output = calloc((size_t)main_region->nresults + 1, sizeof *c->output);
    c->key = calloc((size_t)main_region->nparams + 1, sizeof(int64_t) * (2 + MAX_RANK));
    c->slots = calloc(nslots, sizeof *c->slots);
    c->address = calloc(nslots, sizeof *c->address);
    c->symbols = calloc((size_t)p->dims.nsymbols + 1, sizeof *c->symbols);
    c->values = calloc((size_t)p->dims.nnodes + 1, sizeof *c->values);
    c->cache = calloc((size_t)p->nkernels + 1, sizeof *c->cache);
    c->calls = calloc((size_t)p->ncalls + 1, sizeof *c->calls);
    if (!c->input || !c->output || !c->key || !c->slots || !c->address || !c->symbols ||
        !c->values || !c->cache || !c->calls)
        return fail_memory(d, "out of memory");
    for (int i = 0; i < main_region->nparams; i++)
        c->input[i].kind = VK_NONE;
    for (int i = 0; i < main_region->nresults; i++)
        c->output[i].own.kind = c->output[i].result.kind = VK_NONE;
    for (int s = 0; s < p->nslots; s++)
        c->slots[s].kind = VK_NONE;
    c->absent.kind = VK_NONE;
    return true;
}

/* Operand lists of calls, with the slots' tensors in place once and for all. */
static bool make_calls(struct context *c, struct diag *d)
{
    const struct program *p = c->m->p;
    for (int i = 0; i < p->ncalls; i++) {
        const struct call *call = &p->calls[i];
        struct tensor **operands = calloc((size_t)(call->nin + call->nout) + 1, sizeof *operands);
        if (!operands)
            return fail_memory(d, "out of memory");
        for (int j = 0; j < call->nin; j++)
            operands[j] = call->in[j] >= 0 ? &c->slots[call->in[j]] : &c->absent;
        for (int j = 0; j < call->nout; j++)
            operands[call->nin + j] = call->out[j] >= 0 ? &c->slots[call->out[j]] : NULL;
        c->calls[i] = (struct op_call){.op = call->op,
                                       .attrs = &call->attrs,
                                       .nin = call->nin,
                                       .nout = call->nout,
                                       .nregions = call->nregions,
                                       .in = operands,
                                       .out = operands + call->nin,
                                       .env = &c->env,
                                       .user = c};
    }
    return true;
}

/* ---- cores of libraries' operators ---- */

struct cores {
    void (*job)(void *arg, int i);
    void *arg;
    int count, workers;
};

static void run_worker(void *arg, int worker)
{
    const struct cores *k = arg;
    for (int i = worker; i < k->count; i += k->workers)
        k->job(k->arg, i);
}

static void run_parallel(struct op_env *env, int n, void (*job)(void *arg, int i), void *arg)
{
    struct context *c = (struct context *)((char *)env - offsetof(struct context, env));
    struct cores k = {job, arg, n, c->threads < n ? c->threads : n};
    if (c->pool)
        pool_run(c->pool, k.workers, run_worker, &k);
    else
        run_worker(&k, 0);
}

struct context *context_make(struct model *m, int threads, const struct parallel *by,
                             struct diag *d)
{
    struct context *c = calloc(1, sizeof *c);
    if (!c) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    c->m = m;
    c->by = by;
    c->threads = threads > 0 ? threads : physical_cores();
    if (m->engine_threads)
        c->threads = ENGINE_COUNT;
    c->bf16_rate = m->bf16_rate ? m->bf16_rate : kernels_get()->bf16_rate;
    c->limits.steps = DEFAULT_STEPS;
    for (int i = 0; i < 4; i++)
        c->env.random[i] = 0x9E3779B97F4A7C15u * (uint64_t)(i + 1);
    c->env.run_region = USED(CALLS) ? run_region : NULL;
    c->env.result_type = USED(CALLS) ? region_result_type : NULL;
    c->env.parallel = run_parallel;
    c->env.core_scratch = &c->core_scratch;
    c->env.work_spares = &c->work_spares;
    c->env.guard_operands = m->guard_operands;
    if (!allocate(c, d) || !make_calls(c, d) || !workers_start(c, d) || !workers_reserve(c, 0, 0, d)) {
        context_free(c);
        return NULL;
    }
    return c;
}

static void free_groups(struct context *c)
{
    struct batch_groups *g = c->groups;
    for (int i = 0; g && g->whole && i < c->m->p->regions[0].nresults; i++)
        tensor_free(&g->whole[i]);
    for (int t = 0; g && g->alone && t < c->threads; t++)
        context_free(g->alone[t]);
    if (g) {
        free(g->alone);
        free(g->key);
        free(g->inputs);
        free(g->memory);
        free(g->whole);
    }
    free(g);
}

void context_free(struct context *c)
{
    if (!c)
        return;
    const struct program *p = c->m->p;
    if (c->workers)
        workers_stop(c);
    for (int i = 0; c->calls && i < p->ncalls; i++)
        free((void *)c->calls[i].in);
    for (int s = 0; c->slots && s < p->nslots; s++)
        if (p->slots[s].kind == SLOT_DYNAMIC || p->slots[s].kind == SLOT_PLANNED)
            tensor_free(&c->slots[s]);
    for (int s = 0; c->alone && s < p->nslots; s++)
        tensor_free(&c->alone[s]);
    for (int k = 0; c->cache && k < p->nkernels; k++) {
        arena_free(&c->cache[k].arena);
        free(c->cache[k].symbols);
    }
    for (int i = 0; c->output && i < p->regions[0].nresults; i++)
        tensor_free(&c->output[i].own);
    for (int i = 0; i < c->nbound; i++)
        bound_free(c->bound[i]);
    if (USED(STATES))
        states_free(c);
    if (USED(GROUPS))
        free_groups(c);
    tensor_drop_spares(&c->spares);
    large_free(c->memory, c->memory_bytes);
    free(c->input);
    free(c->output);
    free(c->key);
    free(c->slots);
    free(c->address);
    free(c->alone);
    free(c->symbols);
    free(c->values);
    free(c->cache);
    free(c->calls);
    free(c->core_scratch);
    work_drop_spares(&c->work_spares);
    free(c);
}

void strict_kernels_select(bool on)
{
    kernels_select_here(on ? "strict" : NULL);
}

int context_threads(const struct context *c)
{
    return c->threads;
}

bool context_set_input(struct context *c, int i, const struct tensor *t, struct diag *d)
{
    const struct program_region *r = &c->m->p->regions[0];
    if (i < 0 || i >= r->nparams)
        return fail(d, "input %d of a model that has %d", i, r->nparams);
    size_t size = t->kind == VK_TENSOR ? dtype_bytes(t->dtype) : 1;
    if (t->kind == VK_TENSOR && (t->rank < 0 || t->rank > MAX_RANK || !size))
        return fail(d, "input '%s' is not a tensor", c->m->p->slots[r->params[i]].name);
    size_t align = size > 8 ? 8 : size;
    if (t->kind == VK_TENSOR && (uintptr_t)t->data % align)
        return fail(d, "the memory of input '%s' is not aligned to its elements of %zu bytes",
                    c->m->p->slots[r->params[i]].name, size);
    c->input[i] = *t;
    c->input[i].owned = false;
    if (USED(STATES))
        states_input_set(c, i);
    return true;
}

bool context_set_output(struct context *c, int i, void *memory, size_t bytes, struct diag *d)
{
    const struct program_region *r = &c->m->p->regions[0];
    if (i < 0 || i >= r->nresults)
        return fail(d, "output %d of a model that has %d", i, r->nresults);
    const struct type *t = &c->m->p->slots[r->results[i]].type;
    if (memory && (t->kind != VK_TENSOR || t->dtype == DT_STR))
        return fail(
            d, "output '%s' holds strings or is no tensor: it cannot be placed in given memory",
            c->m->p->output_names[i]);
    if (USED(STATES) && memory && state_of_output(c, i))
        return fail(d, "output '%s' stays in the memory of its state", c->m->p->output_names[i]);
    if (memory && (uintptr_t)memory % 16)
        return fail(d, "memory for output '%s' is not aligned to 16 bytes",
                    c->m->p->output_names[i]);
    c->output[i].memory = memory;
    c->output[i].bytes = bytes;
    c->placed = false;
    return true;
}

const struct tensor *context_output(const struct context *c, int i)
{
    if (!c->ran || i < 0 || i >= c->m->p->regions[0].nresults)
        return NULL;
    struct bound_state *state = USED(STATES) ? state_of_output(c, i) : NULL;
    return state ? state_output(c, state) : &c->output[i].result;
}

int64_t context_arena_bytes(const struct context *c)
{
    return c->now ? c->now->plan.size : 0;
}

void context_set_profile(struct context *c, struct profile *p)
{
    c->profile = p;
}

void context_watch(struct context *c,
                   bool (*seen)(void *user, struct context *c, int step, struct diag *d),
                   void *user)
{
    c->seen = seen;
    c->seen_user = user;
}

const struct tensor *context_slot(const struct context *c, int slot)
{
    return &c->slots[slot];
}
