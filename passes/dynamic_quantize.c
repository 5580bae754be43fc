/*
 * pass dynamic_quantize: dynamic_quantize_linear as reductions and elementwise operators. Requires
 * inferred types; runs before quantize.
 *
 *   scale = (max(x, 0) - min(x, 0)) / 255, 1 when that is 0
 *   zero  = -min / scale, rounded and clipped to 0..255
 *   y     = quantize_linear(x, scale, zero)
 */
#include "passes/rewrite.h"

static struct value *number(struct rewriter *e, double v)
{
    return constant_scalar(e->g, DT_F32, v);
}

/* The greatest or least element of x, of rank 0. */
static struct value *extreme(struct rewriter *e, struct node *at, enum op reduce)
{
    struct builder b = builder_before(at, e->d);
    struct attrs attrs = {0};
    attr_set_int(&e->g->arena, &attrs, "keepdims", 0);
    return b_op(&b, reduce, at->in, 1, &attrs);
}

static struct value *scale_of(struct rewriter *e, struct node *at, struct value *low,
                              struct value *high)
{
    struct builder b = builder_before(at, e->d);
    struct value *scale = b_div(&b, b_sub(&b, high, low), number(e, 255));
    return b_select(&b, b_2(&b, OP_gt, scale, number(e, 0)), scale, number(e, 1));
}

static struct value *zero_of(struct rewriter *e, struct node *at, struct value *low,
                             struct value *scale)
{
    struct builder b = builder_before(at, e->d);
    struct value *v = b_1(&b, OP_neg, low);
    v = v ? b_div(&b, v, scale) : NULL;
    v = v ? b_1(&b, OP_round, v) : NULL;
    struct value *in[] = {v, number(e, 0), number(e, 255)};
    return v ? b_op(&b, OP_clip, in, 3, NULL) : NULL;
}

/* Whole numbers as u8: those outside saturate. */
static struct value *stored(struct rewriter *e, struct node *at, struct value *v)
{
    struct builder b = builder_before(at, e->d);
    struct value *in[] = {v, number(e, 1), constant_scalar(e->g, DT_U8, 0)};
    return v ? b_op(&b, OP_quantize_linear, in, 3, NULL) : NULL;
}

static bool expand(struct rewriter *e, struct node *n)
{
    struct builder b = builder_before(n, e->d);
    if (n->in[0]->type.dtype != DT_F32)
        return true;
    struct value *high = extreme(e, n, OP_reduce_max);
    struct value *low = high ? extreme(e, n, OP_reduce_min) : NULL;
    high = low ? b_2(&b, OP_max, high, number(e, 0)) : NULL;
    low = high ? b_2(&b, OP_min, low, number(e, 0)) : NULL;
    struct value *scale = low ? scale_of(e, n, low, high) : NULL;
    struct value *zero = scale ? zero_of(e, n, low, scale) : NULL;
    zero = zero ? stored(e, n, zero) : NULL;
    struct value *y = zero ? b_op(&b, OP_quantize_linear, (struct value *[]){n->in[0], scale, zero}, 3, NULL) : NULL;
    if (!y)
        return false;
    struct value *results[] = {y, scale, zero};
    for (int i = 0; i < n->nout; i++) {
        results[i]->name = n->out[i]->name;
        value_replace(n->out[i], results[i]);
    }
    node_remove(n);
    return true;
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *e = user;
    return n->op != OP_dynamic_quantize_linear || expand(e, n);
}

bool pass_dynamic_quantize(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter e = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &e);
}
