/*
 * Warm-up: models whose runs are short beside the time to bring code and memory into the caches are
 * run once on zeros when their context is made, so that the first run finds them there. It adds a
 * few percent to the time of loading and the first run together.
 */
#include "neff/base/use.h"
#include "runtime/exec/bind_kernel.h"
#include "runtime/exec/state.h"

#include <string.h>

/* Models of up to WARMED_NS are run once, those of up to SHORT_NS several times: branch predictors.
 */
enum { WARMED_NS = 500000, SHORT_NS = 5000, SHORT_RUNS = 4 };
enum { TURN_NS = 10, LAUNCH_NS = 300, CALL_NS = 500, CACHED_BYTES_PER_NS = 40, CACHED_FLOPS_PER_NS = 50 };

static double launch_ns(const struct context *c, const struct step *s)
{
    const struct bound_kernel *k = s->kind == STEP_LAUNCH ? c->now->kernels[s->index] : NULL;
    return k ? LAUNCH_NS + (double)k->flops / CACHED_FLOPS_PER_NS + (double)k->work_bytes / CACHED_BYTES_PER_NS +
                   (double)k->steps * TURNS_A_STEP * TURN_NS
             : 0; /* bound while running */
}

/* Time of a run on what lies in the caches, as far as sizes tell: those that kernels state, and the turns they take
 * whatever they state. */
static double expected_ns(const struct context *c)
{
    const struct program *p = c->m->p;
    double ns = 0;
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nsteps; i++)
            if (step_is_for(&p->regions[r].steps[i], BF16_RATE)) /* alike on every processor */
                ns += launch_ns(c, &p->regions[r].steps[i]);
    for (int i = 0; i < p->ncalls; i++) {
        const struct call *call = &p->calls[i];
        ns += CALL_NS;
        for (int k = 0; k < call->nin; k++)
            if (call->in[k] >= 0 && c->now->types[call->in[k]].kind == VK_TENSOR)
                ns += (double)tensor_bytes(&c->now->types[call->in[k]]);
        for (int k = 0; k < call->nout; k++)
            if (call->out[k] >= 0 && c->now->types[call->out[k]].kind == VK_TENSOR)
                ns += (double)tensor_bytes(&c->now->types[call->out[k]]) / CACHED_BYTES_PER_NS;
    }
    return ns;
}

/* Nothing but operators on planned tensors: no state, no control flow, no shapes to be found. */
static bool is_plain(const struct context *c)
{
    const struct program *p = c->m->p;
    if (c->m->has_runtime || p->nregions != 1)
        return false;
    for (int i = 0; i < p->ncalls; i++)
        if (op_info(p->calls[i].op)->flags & (OPF_DATA_DEPENDENT | OPF_REGIONS | OPF_IMPURE) ||
            p->calls[i].op == OP_custom) /* code of others, on numbers nobody asked for */
            return false;
    for (int k = 0; k < p->nkernels; k++)
        if (!c->now->kernels[k])
            return false;
    for (int s = 0; s < p->nslots; s++)
        if (c->now->types[s].kind != VK_TENSOR || c->now->types[s].dtype == DT_STR)
            return false;
    return true;
}

void warm_up(struct context *c)
{
    const struct program_region *r = &c->m->p->regions[0];
    struct diag ignored = {0};
    struct arena zeros = {0};
    double ns = is_plain(c) ? expected_ns(c) : WARMED_NS;
    for (int i = 0; i < r->nparams && ns < WARMED_NS; i++)
        ns += (double)tensor_bytes(&c->input[i]) / CACHED_BYTES_PER_NS;
    if (ns >= WARMED_NS)
        return;
    for (int i = 0; i < r->nparams; i++)
        c->input[i].data = arena_alloc(&zeros, tensor_bytes(&c->input[i]));
    for (int i = ns < SHORT_NS ? SHORT_RUNS : 1; i > 0 && run_limited(c, run_main, &ignored); i--)
        ;
    for (int i = 0; i < r->nparams; i++)
        c->slots[r->params[i]].kind = VK_NONE;
    arena_free(&zeros);
    c->env.d = NULL;
    c->ran = false;
}

double context_estimate(const struct context *c)
{
    return c->now ? 1e-9 * expected_ns(c) : 0;
}

/* ---- contexts that are ready to run ---- */

/* A plan that needs more waits for the first run: the caller may set limits before. */
enum { MAX_PREPARED = 1 << 30 };

static void prepare_first_run(struct context *c)
{
    c->limits.bytes = MAX_PREPARED;
    if (USED(GROUPS) ? bind_group_ahead(c) : bind_ahead(c, 0)) {
        warm_up(c);
        c->clock = c->now->used = 1;
    }
    for (int i = 0; i < c->m->p->regions[0].nparams; i++)
        c->input[i].kind = VK_NONE;
    c->limits.bytes = 0;
    c->part = false;
}

struct context *context_new_by(struct model *m, int threads, const struct parallel *by,
                               struct diag *d)
{
    struct context *c = context_make(m, threads, by, d);
    if (!c)
        return NULL;
    c->by = NULL;
    prepare_first_run(c);
    return c;
}

struct context *context_new(struct model *m, int threads, struct diag *d)
{
    return context_new_by(m, threads, NULL, d);
}
