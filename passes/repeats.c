#include "passes/repeats.h"

#include "passes/match.h"
#include "passes/rewrite.h"

#include <string.h>

enum { SMALL_TABLE = 256 };

/* What an operator repeats, with dims of 1 where it does, of as many dims as its result. */
static struct value *source_of(struct graph *g, struct node *at, struct value *v, struct diag *d)
{
    struct builder b = builder_before(at, d);
    int64_t dims[MAX_RANK];
    int count = 0;
    struct node *def = v->def;
    if (def->op == OP_expand)
        return v->def->in[0];
    const int64_t *place = attr_ints(&def->attrs, "dims", &count);
    if (!dims_ascend(place, count))
        return NULL;
    for (int i = 0; i < v->type.rank; i++)
        dims[i] = 1;
    for (int i = 0; i < count; i++)
        dims[place[i]] = def->in[0]->type.dims[i];
    return b_reshape_to(&b, def->in[0], dims, v->type.rank);
}

/* Whether a table of `outer` blocks of `count` pieces has equal pieces in each block. */
static bool repeats(const char *data, size_t outer, size_t count, size_t piece)
{
    for (size_t o = 0; o < outer; o++, data += count * piece)
        if (memcmp(data, data + piece, (count - 1) * piece))
            return false;
    return true;
}

/* The first of every `count` pieces. */
static void keep_first(char *to, const char *from, size_t outer, size_t count, size_t piece)
{
    for (size_t o = 0; o < outer; o++)
        memmove(to + o * piece, from + o * count * piece, piece);
}

/* A constant of the result's shape, with dims of 1 where it repeats itself. */
static struct value *thin_table(struct graph *g, const struct value *v)
{
    const struct tensor *t = v->constant;
    size_t size = dtype_bytes(t->dtype), outer = 1, inner = size;
    struct tensor thin = tensor_view(t->dtype, t->rank, t->dims, NULL);
    const char *data = t->data;
    if (size == 0 || tensor_count(t) < SMALL_TABLE || tensor_bytes(t) != size * (size_t)tensor_count(t))
        return NULL;
    for (int i = 0; i < t->rank; i++)
        inner *= (size_t)t->dims[i];
    for (int i = 0; i < t->rank; i++) {
        size_t count = (size_t)thin.dims[i];
        inner /= count;
        if (count > 1 && repeats(data, outer, count, inner)) {
            char *less = arena_alloc(&g->arena, outer * inner + 16);
            keep_first(less, data, outer, count, inner);
            data = less, thin.dims[i] = 1;
        }
        outer *= (size_t)thin.dims[i];
    }
    thin.data = (void *)data;
    return data == t->data ? NULL : constant_new(g, &thin, v->name);
}

static struct value *thinned(struct graph *g, struct node *n, struct value *v, struct diag *d)
{
    const struct type *y = &n->out[0]->type;
    if (!v || !type_is_static(&v->type))
        return v;
    struct value *thin = NULL;
    if (v->constant && v->constant->kind == VK_TENSOR && same_dims(&v->type, y))
        thin = thin_table(g, v);
    else if ((made_by(v, OP_broadcast_in_dim) && v->def->nin == 1) || made_by(v, OP_expand))
        thin = type_is_static(&v->def->in[0]->type) ? source_of(g, n, v, d) : NULL;
    return thin ? thin : v;
}

/* The shape of numpy broadcasting, from the last dim on; the rank. */
static int joint_shape(struct value *const *v, int n, int64_t *dims)
{
    int rank = 0;
    for (int i = 0; i < n; i++)
        rank = v[i] && v[i]->type.rank > rank ? v[i]->type.rank : rank;
    for (int k = 0; k < rank; k++)
        dims[k] = 1;
    for (int i = 0; i < n; i++)
        for (int k = 0; v[i] && k < v[i]->type.rank; k++)
            if (v[i]->type.dims[k] != 1)
                dims[rank - v[i]->type.rank + k] = v[i]->type.dims[k];
    return rank;
}

/* y repeated to n's shape. */
static struct value *repeat(struct graph *g, struct node *n, struct value *y, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *t = &n->out[0]->type;
    int64_t place[MAX_RANK];
    struct attrs a = {0};
    if (!y || same_type(y, n->out[0]))
        return y;
    for (int i = 0; i < y->type.rank; i++)
        place[i] = t->rank - y->type.rank + i;
    attr_set_ints(&g->arena, &a, "dims", place, y->type.rank);
    attr_set_ints(&g->arena, &a, "shape", t->dims, t->rank);
    return b_op(&b, OP_broadcast_in_dim, &y, 1, &a);
}

struct value *of_unrepeated(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *y = &n->out[0]->type;
    struct value *in[MAX_ELEMENTWISE];
    int64_t joint[MAX_RANK];
    bool any = false;
    if (!(op_infos[n->op].flags & OPF_ELEMENTWISE) || (op_infos[n->op].flags & OPF_IMPURE) ||
        n->op == OP_clip || n->nin > MAX_ELEMENTWISE || n->nout != 1 || !type_is_static(y))
        return NULL;
    for (int i = 0; i < n->nin; i++)
        if (!n->in[i] || !type_is_static(&n->in[i]->type))
            return NULL;
    for (int i = 0; i < n->nin; i++) {
        in[i] = thinned(g, n, n->in[i], d);
        any |= in[i] != n->in[i];
    }
    if (!any)
        return NULL;
    int rank = joint_shape(in, n->nin, joint);
    bool whole = rank == y->rank && !memcmp(joint, y->dims, sizeof *joint * (size_t)rank);
    struct value *v = b_op(&b, n->op, in, n->nin, &n->attrs);
    return whole ? v : repeat(g, n, v, d);
}
