#include "passes/rewrite.h"

#include "passes/build.h"

#include <stdlib.h>

struct value *emit(struct node *at, enum op op, struct value *const *in, int nin,
                   const struct attrs *attrs, const char *name, struct diag *d)
{
    struct builder b = builder_before(at, d);
    b.name = name;
    struct node *n = b_node(&b, op, in, nin, 1, attrs);
    return n ? n->out[0] : NULL;
}

struct value *emit1(struct node *at, enum op op, struct value *x, struct diag *d)
{
    return x ? emit(at, op, &x, 1, NULL, at->name, d) : NULL;
}

struct value *emit2(struct node *at, enum op op, struct value *x, struct value *y, struct diag *d)
{
    struct value *in[] = {x, y};
    return x && y ? emit(at, op, in, 2, NULL, at->name, d) : NULL;
}

static bool moves_only_ones(const struct type *t, const int64_t *perm)
{
    int last = -1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = (int)perm[i];
    }
    return true;
}

/* The permuted shape as a reshape operand: constants, one -1 for the one symbolic dim that changed
 * place. */
static bool reshape_operand(const struct type *t, const int64_t *perm, int64_t *shape)
{
    int unknown = 0;
    for (int i = 0; i < t->rank; i++) {
        dim_t d = t->dims[perm[i]];
        shape[i] = dim_is_const(d) ? d : perm[i] == i ? 0 : -1;
        unknown += shape[i] == -1;
        if (d == 0)
            return false;
    }
    return unknown <= 1;
}

struct value *emit_transpose(struct node *at, struct value *x, const int64_t *perm, struct diag *d)
{
    struct graph *g = at->parent->graph;
    int64_t shape[MAX_RANK];
    if (!x)
        return NULL;
    if (moves_only_ones(&x->type, perm) && reshape_operand(&x->type, perm, shape))
        return emit_reshape(at, x, shape, x->type.rank, d);
    struct attrs as = {0};
    attr_set_ints(&g->arena, &as, "perm", perm, x->type.rank);
    return emit(at, OP_transpose, &x, 1, &as, at->name, d);
}

struct value *emit_cast(struct node *at, struct value *x, int dtype, struct diag *d)
{
    struct attrs as = {0};
    attr_set_int(&at->parent->graph->arena, &as, "to", dtype);
    return x ? emit(at, OP_cast, &x, 1, &as, at->name, d) : NULL;
}

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

struct value *emit_cast_at_source(struct value *v, int dtype, struct diag *d)
{
    struct value *made = emit_cast(after_source(v), v, dtype, d);
    if (made)
        made->name = v->name;
    return made;
}

struct value *emit_reshape(struct node *at, struct value *x, const int64_t *dims, int rank,
                           struct diag *d)
{
    struct graph *g = at->parent->graph;
    return x ? emit2(at, OP_reshape, x, constant_i64s(g, dims, rank), d) : NULL;
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
