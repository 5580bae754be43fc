/*
 * pass outer: products of columns by rows, which sum up one term, as multiplications of what is broadcast, in FP32 and
 * FP64. Chips have them from the Tensor engine sooner. Requires inferred types.
 */
#include "passes/rewrite.h"

static bool is_outer(const struct node *n)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type;
    bool is_float = x->dtype == DT_F32 || x->dtype == DT_F64;
    return is_float && w->dtype == x->dtype && n->out[0]->type.dtype == x->dtype && x->rank >= 2 && w->rank >= 2 &&
           x->dims[x->rank - 1] == 1 && w->dims[w->rank - 2] == 1;
}

/* As numpy has it: neither transposed nor scaled. */
static bool is_plain(const struct node *n)
{
    return n->op == OP_matmul && !attr_int(&n->attrs, "trans_a", 0) && !attr_int(&n->attrs, "trans_b", 0) &&
           attr_float(&n->attrs, "alpha", 1) == 1;
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    if (!is_plain(n) || !is_outer(n))
        return true;
    why(p->o, n, "outer.mul", "one term a sum: a multiplication");
    struct builder b = builder_before(n, p->d);
    return node_replace(n, b_mul(&b, n->in[0], n->in[1]));
}

bool pass_outer(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &p);
}
