#include "passes/rewrite.h"

#include <stdlib.h>

struct value **cast_of(struct casts *c, struct graph *g, const struct value *v)
{
    if (v->id >= c->nvalues) {
        int n = g->next_value * 2;
        struct value **grown = ARENA_ARRAY(&g->arena, struct value *, n);
        arena_move_(grown, c->of, sizeof *grown * (size_t)c->nvalues);
        c->of = grown;
        c->nvalues = n;
    }
    return &c->of[v->id];
}

struct node *after_source(const struct value *v)
{
    return v->def ? v->def->next : v->param_of->first;
}

struct value *cast_at_source(struct value *v, int dtype, struct diag *d)
{
    struct builder b = builder_before(after_source(v), d);
    struct value *made = b_cast(&b, v, dtype);
    if (made)
        made->name = v->name;
    return made;
}

bool node_replace(struct node *n, struct value *with)
{
    if (!with)
        return false;
    if (!with->name)
        with->name = n->out[0]->name;
    value_replace(n->out[0], with);
    node_remove(n);
    return true;
}

struct value *constant_floats(struct graph *g, int dtype, int rank, const int64_t *dims,
                              const double *v, const char *name)
{
    struct tensor t = tensor_view(dtype, rank, dims, NULL);
    t.data = arena_alloc(&g->arena, tensor_bytes(&t) + 16);
    dtype_store_f64n(dtype, t.data, (size_t)tensor_count(&t), v);
    return constant_new(g, &t, name);
}

struct value *constant_unwritten(struct graph *g, int dtype, int rank, const int64_t *dims, const char *name,
                                 struct diag *d)
{
    struct tensor t = tensor_view(dtype, rank, dims, NULL);
    t.data = malloc(tensor_bytes(&t) + 16);
    if (!t.data)
        return fail_memory(d, "out of memory: a constant of %zu bytes", tensor_bytes(&t)), NULL;
    graph_own(g, t.data);
    return constant_new(g, &t, name);
}

struct value *constant_channels(struct graph *g, const double *v, int64_t n, int rank, bool last, const char *name)
{
    int64_t dims[MAX_RANK] = {n};
    int ones = last ? 0 : rank - 2;
    for (int i = 1; i <= ones; i++)
        dims[i] = 1;
    return constant_floats(g, DT_F32, 1 + (ones > 0 ? ones : 0), dims, v, name);
}

struct value *constant_ones(struct graph *g, int64_t n)
{
    double *v = ARENA_ARRAY(&g->arena, double, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        v[i] = 1;
    return constant_floats(g, DT_F32, 1, &n, v, NULL);
}

struct value *constant_scaled(struct graph *g, const struct value *v, int axis, const double *scale)
{
    struct tensor made = *v->constant;
    const float *from = made.data;
    float *to = malloc(tensor_bytes(&made) + 16);
    int64_t inner = 1, count = tensor_count(&made);
    if (!to)
        return NULL;
    graph_own(g, to);
    for (int i = axis + 1; i < made.rank; i++)
        inner *= made.dims[i];
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)(from[i] * scale[i / inner % made.dims[axis]]);
    made.data = to;
    made.owned = false;
    return constant_new(g, &made, v->name);
}

double *constant_doubles(struct graph *g, const struct value *v)
{
    size_t n = (size_t)tensor_count(v->constant);
    double *out = ARENA_ARRAY(&g->arena, double, n);
    dtype_load_f64n(v->constant->dtype, v->constant->data, n, out);
    return out;
}

bool for_each_node(struct region *r, bool (*visit)(struct node *n, void *user), void *user)
{
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregions; i++)
            if (!for_each_node(n->regions[i], visit, user))
                return false;
        if (!visit(n, user))
            return false;
    }
    return true;
}
