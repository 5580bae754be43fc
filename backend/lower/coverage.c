#include "backend/lower/coverage.h"

#include "backend/lower/product.h"
#include "backend/lower/strided.h"
#include "passes/ir/winograd.h"

enum { PRODUCT_BATCH = 2, ATTENTION_BATCH = 3 }; /* dims of a batch that are not 1 */

bool strided_broadcast(struct lowering *l, const struct strided *s, int skip_last, int rank,
                       const dim_t *dims, dim_t *steps)
{
    int have = s->rank - skip_last, missing = rank - have;
    if (missing < 0)
        return false;
    for (int i = 0; i < rank; i++) {
        bool absent = i < missing;
        if (!broadcast_step(&l->p->dims, absent ? 1 : s->dims[i - missing], dims[i],
                            absent ? 0 : s->steps[i - missing], &steps[i]))
            return false;
    }
    return true;
}

bool product_takes(struct lowering *l, const struct node *n)
{
    struct value *a = outer_value(l, n->in[0]), *b = outer_value(l, n->in[1]);
    const struct type *x = &a->type, *w = &b->type, *y = &n->out[0]->type;
    if (touches_nothing(n) || !has_layout(l, a) || !has_layout(l, b) || !has_layout(l, n->out[0]) ||
        x->rank < 2 || w->rank < 2 || !engine_float(x->dtype) || !engine_float(w->dtype) ||
        !engine_float(y->dtype))
        return false;
    if (b->constant && w->rank == 2 && !attr_int(&n->attrs, "trans_a", 0))
        return false; /* packed when compiling */
    bool ta = attr_int(&n->attrs, "trans_a", 0), tb = attr_int(&n->attrs, "trans_b", 0);
    dim_t k = x->dims[x->rank - (ta ? 2 : 1)], other = w->dims[w->rank - (tb ? 1 : 2)];
    if (k != other && dim_is_const(k) && dim_is_const(other))
        return false; /* expressions are compared when the instruction's shapes are bound */
    int batch = 0;
    for (int i = 0; i < y->rank - 2; i++) {
        const struct type *operands[] = {x, w};
        batch += y->dims[i] != 1;
        for (int o = 0; o < 2; o++) {
            int at = i - (y->rank - operands[o]->rank);
            dim_t step;
            if (at >= 0 &&
                !broadcast_step(&l->p->dims, operands[o]->dims[at], y->dims[i], 1, &step))
                return false;
        }
    }
    return batch <= PRODUCT_BATCH;
}

struct strided strided_shape(const struct value *v)
{
    struct strided s = {.rank = v->type.rank};
    for (int i = 0; i < s.rank; i++)
        s.dims[i] = v->type.dims[i];
    return s;
}

bool attention_takes(struct lowering *l, const struct node *n)
{
    const struct type *y = &n->out[0]->type;
    dim_t steps[MAX_RANK], scores[MAX_RANK];
    if (touches_nothing(n) || !has_layout(l, n->out[0]) || !engine_float(y->dtype))
        return false;
    int nbatch = y->rank - 2, several = 0;
    for (int i = 0; i < nbatch; i++)
        several += y->dims[i] != 1;
    if (several > ATTENTION_BATCH)
        return false;
    const struct type *x = &n->in[0]->type;
    if (!attr_find(&n->attrs, "scale") && (x->rank < 1 || !dim_is_const(x->dims[x->rank - 1])))
        return false; /* 1 / sqrt(width) is a number in the program */
    for (int i = 0; i < n->nin && n->in[i]; i++) {
        struct value *v = outer_value(l, n->in[i]);
        if (!has_layout(l, v) || !engine_float(v->type.dtype))
            return false;
        struct strided s = strided_shape(v);
        if (i < 3 && (s.rank < 2 || !strided_broadcast(l, &s, 2, nbatch, y->dims, steps)))
            return false;
    }
    struct strided q = strided_shape(outer_value(l, n->in[0])),
                   k = strided_shape(outer_value(l, n->in[1])),
                   v = strided_shape(outer_value(l, n->in[2]));
    dim_t width = q.dims[q.rank - 1], value_width = v.dims[v.rank - 1];
    if (l->m->strict && !(dim_is_const(width) && width <= l->m->matmul_k &&
                          dim_is_const(value_width) && value_width <= l->m->matmul_n))
        return false; /* heads are wider than the Tensor engine */
    if (q.dims[q.rank - 1] != k.dims[k.rank - 1] || k.dims[k.rank - 2] != v.dims[v.rank - 2] ||
        k.dims[k.rank - 2] == 0 || q.dims[q.rank - 1] == 0)
        return false;
    if (n->nin > 3 && n->in[3]) {
        struct strided mask = strided_shape(outer_value(l, n->in[3]));
        for (int i = 0; i < nbatch; i++)
            scores[i] = y->dims[i];
        scores[nbatch] = q.dims[q.rank - 2], scores[nbatch + 1] = k.dims[k.rank - 2];
        return strided_broadcast(l, &mask, 0, nbatch + 2, scores, steps);
    }
    return true;
}

bool conv_takes(struct lowering *l, struct group *g, struct conv *c)
{
    struct node *first = g->nodes[0];
    bool integer = first->op == OP_conv_integer;
    if (!conv_geometry(l, first, c) || !c->last ||
        first->out[0]->type.dtype != (integer ? DT_I32 : DT_F32) || !epilogue_possible(l, g, 0)) {
        why(l->o, first, "tile.conv-form",
            "only channels-last 1-D and 2-D convolutions with weights of a known shape that do "
            "not crop have a tile program");
        return false;
    }
    int type = c->weights->type.dtype;
    int64_t per_group = c->out_channels / c->group;
    c->depthwise = !integer && c->group > 1 && c->group == c->channels_in && per_group == 1;
    if (c->depthwise ? !depthwise_types(c)
                     : !product_types(c->x, type) || (c->group > 1 && per_group > PACK_COLUMNS) ||
                           (!c->w && !pack_computed_possible(type, c->in_group))) {
        why(l->o, first, "tile.conv-types",
            "operand types, or more than 64 outputs in each of several groups");
        return false;
    }
    return true;
}

/* What a value in a fused group stands for. */
static const struct value *outside(const struct node *whole, const struct value *v)
{
    for (int i = 0; whole->op == OP_fused && i < whole->regions[0]->nparams; i++)
        if (whole->regions[0]->params[i] == v)
            return whole->in[i];
    return v;
}

bool pads_planes(const struct node *whole, const struct node *n, const struct conv *c)
{
    const struct node *def = outside(whole, n->in[0])->def;
    struct conv_size size;
    int count;
    if (!def || def->op != OP_transpose || c->spatial != 2 || c->column || c->depthwise || !c->w ||
        !(c->top | c->left | c->bottom | c->right) || winograd_can(n, &size))
        return false;
    const int64_t *perm = attr_ints(&def->attrs, "perm", &count);
    return count == 4 && perm[0] == 0 && perm[1] == 2 && perm[2] == 3 && perm[3] == 1;
}
