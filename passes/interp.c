/*
 * The reference interpreter: every node by its plain routine, one after the other. A value's memory
 * is given back after the node of its region that needs it last.
 */
#include "passes/pass.h"
#include "runtime/ops/common/ops.h"

#include <stdlib.h>

struct interp {
    struct op_env env; /* first: routines get a pointer to it */
    struct graph *g;
    struct region *root;
    const struct interp_hooks *hooks;
    struct arena arena;
    struct tensor *slots; /* by value id */
    int *order;           /* by node id: place in a walk over the root region */
    struct value **dying; /* by order: values to free after the node; a list through `next_dying` */
    struct value **next_dying;
    int steps;
};

static struct region *home(const struct value *v)
{
    return v->def ? v->def->parent : v->param_of;
}

static bool number_node(struct node *n, void *user)
{
    struct interp *p = user;
    p->order[n->id] = p->steps++;
    return true;
}

static void plan_death(struct interp *p, struct value *v)
{
    int last = v->def ? p->order[v->def->id] : -1;
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct node *n = u->node;
        while (n && n->parent != home(v))
            n = n->parent ? n->parent->owner : NULL;
        if (n && p->order[n->id] > last)
            last = p->order[n->id];
    }
    if (last < 0)
        return;
    p->next_dying[v->id] = p->dying[last];
    p->dying[last] = v;
}

static bool plan_node(struct node *n, void *user)
{
    struct interp *p = user;
    for (int i = 0; i < n->nout; i++)
        plan_death(p, n->out[i]);
    for (int r = 0; r < n->nregions; r++)
        for (int i = 0; i < n->regions[r]->nparams; i++)
            plan_death(p, n->regions[r]->params[i]);
    return true;
}

static struct tensor *slot(struct interp *p, const struct value *v)
{
    static struct tensor absent = {.kind = VK_NONE};
    if (!v)
        return &absent;
    return v->constant ? (struct tensor *)v->constant : &p->slots[v->id];
}

static void free_dying(struct interp *p, const struct node *n)
{
    for (struct value *v = p->dying[p->order[n->id]]; v; v = p->next_dying[v->id])
        tensor_free(&p->slots[v->id]);
}

static bool run_node(struct interp *p, struct node *n)
{
    struct tensor **in = calloc((size_t)(n->nin + n->nout) + 1, sizeof *in), **out = in + n->nin;
    if (!in)
        return fail_memory(p->env.d, "out of memory");
    for (int i = 0; i < n->nin; i++)
        in[i] = slot(p, n->in[i]);
    for (int i = 0; i < n->nout; i++) {
        out[i] = &p->slots[n->out[i]->id];
        tensor_free(out[i]);
    }
    struct op_call c = {.op = n->op,
                        .attrs = &n->attrs,
                        .nin = n->nin,
                        .nout = n->nout,
                        .nregions = n->nregions,
                        .in = in,
                        .out = out,
                        .env = &p->env,
                        .user = n};
    bool ok = op_run(&c);
    if (!ok)
        fail_in(p->env.d, "%s", node_text(p->g, n));
    else if (p->hooks && p->hooks->on_node)
        ok = p->hooks->on_node(p->hooks->user, n, &c);
    free(in);
    return ok;
}

/* Results are moved out of values that nothing else needs, and copied from the others. */
static bool take_results(struct interp *p, struct region *r, struct tensor *results, int nresults)
{
    struct node *ret = region_return(r);
    if (ret->nin != nresults)
        return fail_internal(p->env.d, "a region has %d results, expected %d", ret->nin, nresults);
    for (int i = 0; i < nresults; i++) {
        struct value *v = ret->in[i];
        struct tensor *t = slot(p, v);
        bool again = false;
        for (int j = i + 1; j < nresults; j++)
            again |= ret->in[j] == v;
        if (v && !v->constant && home(v) == r && !again && t->owned)
            tensor_move(&results[i], t);
        else if (!tensor_copy(&results[i], t, p->env.d))
            return false;
    }
    free_dying(p, ret);
    return true;
}

static bool run_body(struct interp *p, struct region *r, struct tensor *results, int nresults)
{
    for (struct node *n = r->first; n; n = n->next) {
        if (n->op == OP_return)
            return take_results(p, r, results, nresults);
        if (!run_node(p, n))
            return false;
        free_dying(p, n);
    }
    return fail_internal(p->env.d, "a region has no return");
}

static bool run_region(struct op_env *env, struct op_call *c, int index, struct tensor *args,
                       int nargs, struct tensor *results, int nresults)
{
    struct interp *p = (struct interp *)env;
    struct region *r = ((struct node *)c->user)->regions[index];
    if (nargs != r->nparams)
        return fail_internal(env->d, "region %d of %s has %d parameters, got %d", index,
                             op_name(c->op), r->nparams, nargs);
    for (int i = 0; i < nargs; i++)
        tensor_move(&p->slots[r->params[i]->id], &args[i]);
    return run_body(p, r, results, nresults);
}

/* Inference has told; its symbols have no values here. */
static void result_type(struct op_env *env, struct op_call *c, int r, const struct type *params, int nparams,
                        int result, struct type *type)
{
    const struct node *n = c->user, *ret = r < n->nregions ? region_return(n->regions[r]) : NULL;
    const struct value *v = ret && result < ret->nin ? ret->in[result] : NULL;
    *type = v ? v->type : (struct type){.kind = VK_NONE};
    for (int k = 0; type->kind == VK_TENSOR && k < type->rank; k++)
        type->dims[k] = dim_is_const(type->dims[k]) && type->dims[k] >= 0 ? type->dims[k] : 0;
}

static bool run_kernel(struct op_env *env, struct op_call *c)
{
    const struct interp *p = (const struct interp *)env;
    return p->hooks->run_kernel(p->hooks->user, c);
}

bool interpret(struct graph *g, struct region *r, const struct tensor *args, int nargs,
               struct tensor *results, int nresults, const struct interp_hooks *hooks,
               struct diag *d)
{
    struct interp p = {.env = {.d = d, .run_region = run_region, .result_type = result_type, .random = {1, 2, 3, 4}},
                       .g = g,
                       .root = r,
                       .hooks = hooks};
    if (hooks && hooks->run_kernel)
        p.env.run_kernel = run_kernel;
    if (nargs != r->nparams)
        return fail(d, "got %d inputs, expected %d", nargs, r->nparams);
    p.slots = ARENA_ARRAY(&p.arena, struct tensor, g->next_value);
    for (int i = 0; i < g->next_value; i++)
        p.slots[i].kind = VK_NONE;
    p.order = ARENA_ARRAY(&p.arena, int, g->next_node);
    region_walk(r, number_node, &p);
    p.dying = ARENA_ARRAY(&p.arena, struct value *, p.steps);
    p.next_dying = ARENA_ARRAY(&p.arena, struct value *, g->next_value);
    region_walk(r, plan_node, &p);
    for (int i = 0; i < nargs; i++) {
        p.slots[r->params[i]->id] = args[i];
        p.slots[r->params[i]->id].owned = false;
    }
    for (int i = 0; i < nresults; i++)
        results[i] = (struct tensor){.kind = VK_NONE};
    bool ok = run_body(&p, r, results, nresults);
    for (int i = 0; i < nargs; i++) /* the caller's */
        p.slots[r->params[i]->id] = (struct tensor){.kind = VK_NONE};
    for (int i = 0; i < g->next_value; i++)
        tensor_free(&p.slots[i]);
    if (!ok)
        for (int i = 0; i < nresults; i++)
            tensor_free(&results[i]);
    arena_free(&p.arena);
    return ok;
}
