/*
 * pass axis_last: softmax, hardmax and the places of extremes over a dim behind which fewer elements lie than a
 * vector has: with that dim last, where a row is a vector of its own. Requires inferred types; runs after layout.
 */
#include "passes/rewrite.h"

enum { MAX_BEHIND = 7, MIN_ALONG = 8, MIN_ELEMENTS = 4096 };

/* The axis of a node that gains, or -1. */
static int turned_axis(const struct node *n)
{
    const bool finds = n->op == OP_argmax || n->op == OP_argmin;
    if (!finds && n->op != OP_softmax && n->op != OP_log_softmax && n->op != OP_hardmax)
        return -1;
    const struct type *x = &n->in[0]->type;
    if (x->kind != VK_TENSOR || x->rank < 2 || x->dtype != DT_F32)
        return -1;
    int64_t axis = attr_int(&n->attrs, "axis", finds ? 0 : -1), behind = 1, elements = 1;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank)
        return -1;
    for (int i = 0; i < x->rank; i++) {
        bool known = dim_is_const(x->dims[i]);
        if (!known && i >= axis)
            return -1;
        int64_t size = known && x->dims[i] < MIN_ELEMENTS ? x->dims[i] : MIN_ELEMENTS; /* as much as counts */
        behind *= i > axis && behind <= MAX_BEHIND ? size : 1;
        elements *= elements < MIN_ELEMENTS ? size : 1;
    }
    bool gains = behind > 1 && behind <= MAX_BEHIND && x->dims[axis] >= MIN_ALONG && elements >= MIN_ELEMENTS;
    return gains ? (int)axis : -1;
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    int axis = turned_axis(n);
    if (axis < 0)
        return true;
    int rank = n->in[0]->type.rank;
    int64_t last[MAX_RANK], back[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        last[i] = i < axis ? i : i < rank - 1 ? i + 1 : axis;
        back[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
    }
    struct attrs as = attrs_copy(&p->g->arena, &n->attrs);
    attr_set_int(&p->g->arena, &as, "axis", rank - 1);
    struct builder b = builder_before(n, p->d);
    struct value *x = b_permute(&b, n->in[0], last), *v = b_op(&b, n->op, &x, 1, &as);
    if (v && v->type.rank == rank)
        v = b_permute(&b, v, back);
    why(p->o, n, "axis.last", "over the last dim of a transpose, as few elements lie behind that of the node");
    return node_replace(n, v);
}

bool pass_axis_last(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    int before = g->next_node;
    if (o->strict_target)
        return true;
    if (!for_each_node(g->main, visit, &p))
        return false;
    if (g->next_node != before) { /* transposes of what several nodes read */
        merge_common(g);
        remove_dead(g);
    }
    return true;
}
