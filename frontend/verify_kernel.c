/* What --verify has in place of plain routines of kernels written by hand. */
#include "frontend/compile.h"
#include "frontend/verify.h"

/* A graph of nothing but the call, for operands of these sizes. */
static struct graph *graph_of(const struct op_call *call)
{
    struct graph *g = graph_new();
    struct value **in = ARENA_ARRAY(&g->arena, struct value *, call->nin + 1);
    for (int i = 0; i < call->nin; i++) {
        const struct tensor *t = call->in[i];
        struct type type = {.kind = t->kind};
        if (t->kind == VK_TENSOR)
            type = type_tensor(t->dtype, t->rank, t->dims);
        in[i] = region_add_param(g->main, &type, arena_printf(&g->arena, "operand %d", i));
    }
    struct node *n = node_new(g, OP_kernel_call, in, call->nin, call->nout, "");
    n->attrs = attrs_copy(&g->arena, call->attrs);
    node_append(g->main, n);
    node_append(g->main, node_new(g, OP_return, n->out, call->nout, 0, ""));
    g->output_names = ARENA_ARRAY(&g->arena, const char *, call->nout + 1);
    for (int i = 0; i < call->nout; i++)
        g->output_names[i] = arena_printf(&g->arena, "result %d", i);
    g->noutputs = call->nout;
    return g;
}

static bool run(struct context *c, struct op_call *call)
{
    struct diag *d = call->env->d;
    for (int i = 0; i < call->nin; i++)
        if (!context_set_input(c, i, call->in[i], d))
            return false;
    if (!context_run(c, d))
        return false;
    for (int i = 0; i < call->nout; i++)
        if (!tensor_copy(call->out[i], context_output(c, i), d))
            return false;
    return true;
}

bool verify_run_kernel(const struct command *c, struct op_call *call)
{
    struct command alone = {.target = c->target,
                            .options = {.opt_level = c->options.opt_level,
                                        .auto_cast = CAST_NONE,
                                        .cast_type = c->options.cast_type}};
    struct diag *d = call->env->d;
    struct graph *g = graph_of(call);
    struct program *p = compile_graph(g, &alone, d);
    struct model *m = p ? model_new(p, d) : NULL;
    struct context *run_alone = m ? context_new(m, 1, d) : NULL;
    bool ok = run_alone && run(run_alone, call);
    context_free(run_alone);
    model_free(m);
    graph_free(g);
    return ok;
}
