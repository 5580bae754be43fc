/*
 * Running an operator of a library: operands and results as xop.h has them, one call for each core.
 */
#include "runtime/ops/custom/custom_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct custom_job {
    const struct custom_operator *op;
    struct xop_call call; /* what all cores share */
    int cores;
    char *scratch[XOP_CORES];
    struct custom_state states[XOP_CORES];
    bool failed[XOP_CORES];
    struct guarded *guarded;
};

static void run_core(void *arg, int core)
{
    struct custom_job *j = arg;
    struct custom_work work = {j->op->full, core, j->guarded};
    struct xop_call c = j->call;
    c.core = core;
    c.cores = j->cores;
    c.scratch = j->scratch[core];
    c.state = &j->states[core];
    if (custom_prepare_thread)
        custom_prepare_thread();
    custom_at_work = &work;
    j->failed[core] = !j->op->code->run(&c);
    custom_at_work = NULL;
}

/* The lowest core's failure: whichever ended first. */
static bool report(const struct custom_job *j, struct diag *d)
{
    for (int i = 0; i < j->cores; i++)
        if (j->failed[i] || *j->states[i].error)
            return fail(d, "%s", *j->states[i].error ? j->states[i].error : "it gives no reason");
    return true;
}

static bool run_cores(struct custom_job *j, struct op_env *env)
{
    for (int i = 0; i < j->cores; i++)
        j->states[i] = *(struct custom_state *)j->call.state;
    if (env->parallel && j->cores > 1 && !j->guarded) {
        env->parallel(env, j->cores, run_core, j);
        return report(j, env->d);
    }
    bool ok = true;
    for (int i = 0; i < j->cores && ok; i++) {
        run_core(j, i);
        ok = !j->guarded || guarded_core(j->guarded, i, env->d);
    }
    return ok && report(j, env->d);
}

/* Memory of the cores: kept by those who run more than once. */
static bool run_with_scratch(struct custom_job *j, struct op_env *env)
{
    void *own = NULL;
    if (!env->core_scratch || !*env->core_scratch) {
        own = aligned_alloc(64, (size_t)XOP_CORES * XOP_SCRATCH);
        if (!own)
            return fail_memory(env->d, "out of memory");
        if (env->core_scratch)
            *env->core_scratch = own;
    }
    for (int i = 0; i < XOP_CORES; i++)
        j->scratch[i] = (char *)(env->core_scratch ? *env->core_scratch : own) + (size_t)i * XOP_SCRATCH;
    bool ok = run_cores(j, env);
    if (!env->core_scratch)
        free(own);
    return ok;
}

static bool run_guarded(struct custom_job *j, struct op_env *env)
{
    struct guarded *g = guarded_new(env->d);
    struct xop_tensor *in = (struct xop_tensor *)j->call.in;
    bool ok = g != NULL;
    for (int i = 0; ok && i < j->call.nin; i++) {
        int k = i < j->op->nin ? i : j->op->nin - 1;
        ok = !in[i].data ||
             guarded_add(g, &in[i], custom_bytes(&in[i]), false, j->op->in[k].name, env->d);
    }
    for (int i = 0; ok && i < j->call.nout; i++)
        ok = !j->call.out[i].data || guarded_add(g, &j->call.out[i], custom_bytes(&j->call.out[i]),
                                                 true, j->op->out[i].name, env->d);
    for (int i = 0; ok && i < j->cores; i++)
        ok = (j->scratch[i] = guarded_scratch(g, env->d)) != NULL;
    ((struct custom_state *)j->call.state)->guarded = j->guarded = g;
    ok = ok && run_cores(j, env);
    return g && guarded_end(g, env->d) && ok;
}

/* Types of results, of those left open the dims that are known: for xop_resize. */
static bool open_results(struct op_call *c, struct xop_tensor *out)
{
    struct arena arena = {0};
    struct dim_table dims;
    dim_table_init(&dims, &arena);
    struct type *types = ARENA_ARRAY(&arena, struct type, c->nin + c->nout + 1);
    for (int i = 0; i < c->nin; i++) {
        types[i].kind = c->in[i]->kind;
        if (c->in[i]->kind == VK_TENSOR)
            types[i] = type_tensor(c->in[i]->dtype, c->in[i]->rank, c->in[i]->dims);
    }
    struct infer f = {.op = c->op,
                      .attrs = c->attrs,
                      .dims = &dims,
                      .arena = &arena,
                      .d = c->env->d,
                      .concrete = true,
                      .nin = c->nin,
                      .nout = c->nout,
                      .in = types,
                      .out = types + c->nin,
                      .user = c};
    bool ok = infer_custom(&f);
    for (int i = 0; ok && i < c->nout; i++)
        out[i] = custom_tensor(f.out[i].dtype, f.out[i].rank, f.out[i].dims, NULL);
    arena_free(&arena);
    return ok;
}

/* Of an open operator: results that have no `?` get their memory before it runs. */
static bool begin_open(struct op_call *c, const struct custom_operator *op, struct xop_tensor *out)
{
    if (!open_results(c, out))
        return false;
    for (int i = 0; i < c->nout; i++) {
        bool runtime = false;
        for (int k = 0; k < op->out[i].rank; k++)
            runtime |= op->out[i].dims[k] == CUSTOM_RUNTIME_DIM;
        if (runtime) {
            tensor_free(c->out[i]);
            continue;
        }
        if (!custom_begin_result(c->out[i], &out[i], out[i].dims, c->env->d))
            return false;
    }
    return true;
}

static bool begin_planned(struct op_call *c, struct xop_tensor *out)
{
    for (int i = 0; i < c->nout; i++) {
        struct tensor *t = c->out[i];
        if (tensor_bytes(t))
            memset(t->data, 0, tensor_bytes(t));
        out[i] = custom_tensor(t->dtype, t->rank, t->dims, t->data);
    }
    return true;
}

static bool end_open(struct op_call *c, const struct custom_operator *op, const struct xop_tensor *out)
{
    for (int i = 0; i < c->nout; i++) {
        if (c->out[i]->kind != VK_TENSOR)
            return fail(c->env->d, "it ended without xop_resize of result '%s'", op->out[i].name);
        if (!custom_end_result(c->out[i], &out[i], op->out[i].name, c->env->d))
            return false;
    }
    return true;
}

static bool run(struct op_call *c, const struct custom_operator *op, struct xop_tensor *in,
                struct xop_tensor *out)
{
    for (int i = 0; i < c->nin; i++)
        if (c->in[i]->kind == VK_TENSOR)
            in[i] = custom_tensor(c->in[i]->dtype, c->in[i]->rank, c->in[i]->dims, c->in[i]->data);
    if (!(op->open ? begin_open(c, op, out) : begin_planned(c, out)))
        return false;
    struct custom_state state = {.op = op, .attrs = c->attrs, .call = c, .out = out};
    struct custom_job j = {.op = op,
                    .cores = op->code->flags & XOP_MULTICORE ? XOP_CORES : 1,
                    .call = {.nin = custom_operands(op, c->nin),
                             .nout = c->nout,
                             .in = in,
                             .out = out,
                             .op = op->code,
                             .host = &custom_host,
                             .state = &state}};
    return (c->env->guard_operands ? run_guarded(&j, c->env) : run_with_scratch(&j, c->env)) &&
           (!op->open || end_open(c, op, out));
}

/* Every result has memory, whether somebody wants it or not: an operator need not ask. */
static bool with_all_results(struct op_call *c, const struct custom_operator *op,
                             struct xop_tensor *in, struct xop_tensor *out)
{
    struct tensor own[64], *results[64];
    struct op_call all = *c;
    bool ok = true;
    if (op->nout > 64)
        return fail(c->env->d, "an operator with %d results", op->nout);
    all.nout = op->nout;
    all.out = results;
    for (int i = 0; i < op->nout; i++) {
        own[i] = (struct tensor){.kind = VK_NONE};
        results[i] = wants_result(c, i) ? c->out[i] : &own[i];
    }
    if (!op->open) {
        ok = open_results(&all, out);
        for (int i = 0; ok && i < op->nout; i++)
            if (results[i] == &own[i])
                ok = tensor_alloc(&own[i], out[i].dtype, out[i].rank, out[i].dims, c->env->d);
    }
    ok = ok && run(&all, op, in, out);
    for (int i = 0; i < op->nout; i++)
        tensor_free(&own[i]);
    return ok;
}

bool eval_custom(struct op_call *c)
{
    const struct custom_operator *op = custom_find(c->attrs, c->env->d);
    if (!op)
        return false;
    bool all = c->nout == op->nout;
    for (int i = 0; i < c->nout; i++)
        all &= c->out[i] != NULL;
    int nin = custom_operands(op, c->nin);
    struct xop_tensor *in = calloc((size_t)(nin + op->nout) + 1, sizeof *in);
    if (!in)
        return fail_memory(c->env->d, "out of memory");
    bool ok = all ? run(c, op, in, in + nin) : with_all_results(c, op, in, in + nin);
    free(in);
    return ok || fail_in(c->env->d, "%s", op->full);
}

EVAL_AS(custom_open, eval_custom)
