/*
 * pass dynamic_quantize: dynamic_quantize_linear as reductions and elementwise operators. Requires
 * inferred types; runs before quantize.
 *
 *   scale = (max(x, 0) - min(x, 0)) / 255, 1 when that is 0
 *   zero  = -min / scale, rounded and clipped to 0..255
 *   y     = x / scale, rounded, + zero, stored with saturation
 */
#include "passes/rewrite.h"

struct expander {
    struct graph *g;
    const struct options *o;
    struct diag *d;
};

static struct value *number(struct expander *e, double v)
{
    return constant_scalar(e->g, DT_F32, v);
}

/* The greatest or least element of x, of rank 0. */
static struct value *extreme(struct expander *e, struct node *at, enum op reduce)
{
    struct attrs attrs = {0};
    attr_set_int(&e->g->arena, &attrs, "keepdims", 0);
    return emit(at, reduce, at->in, 1, &attrs, at->name, e->d);
}

static struct value *scale_of(struct expander *e, struct node *at, struct value *low,
                              struct value *high)
{
    struct value *range = emit2(at, OP_sub, high, low, e->d);
    struct value *scale = range ? emit2(at, OP_div, range, number(e, 255), e->d) : NULL;
    struct value *some = scale ? emit2(at, OP_gt, scale, number(e, 0), e->d) : NULL;
    struct value *in[] = {some, scale, number(e, 1)};
    return some ? emit(at, OP_where, in, 3, NULL, at->name, e->d) : NULL;
}

static struct value *zero_of(struct expander *e, struct node *at, struct value *low,
                             struct value *scale)
{
    struct value *v = emit1(at, OP_neg, low, e->d);
    v = v ? emit2(at, OP_div, v, scale, e->d) : NULL;
    v = v ? emit1(at, OP_round, v, e->d) : NULL;
    struct value *in[] = {v, number(e, 0), number(e, 255)};
    return v ? emit(at, OP_clip, in, 3, NULL, at->name, e->d) : NULL;
}

/* Whole numbers as u8: those outside saturate. */
static struct value *stored(struct expander *e, struct node *at, struct value *v)
{
    struct value *in[] = {v, number(e, 1), constant_scalar(e->g, DT_U8, 0)};
    return v ? emit(at, OP_quantize_linear, in, 3, NULL, at->name, e->d) : NULL;
}

static bool expand(struct expander *e, struct node *n)
{
    if (n->in[0]->type.dtype != DT_F32)
        return true;
    struct value *high = extreme(e, n, OP_reduce_max);
    struct value *low = high ? extreme(e, n, OP_reduce_min) : NULL;
    high = low ? emit2(n, OP_max, high, number(e, 0), e->d) : NULL;
    low = high ? emit2(n, OP_min, low, number(e, 0), e->d) : NULL;
    struct value *scale = low ? scale_of(e, n, low, high) : NULL;
    struct value *zero = scale ? zero_of(e, n, low, scale) : NULL;
    struct value *y = zero ? emit2(n, OP_div, n->in[0], scale, e->d) : NULL;
    y = y ? emit1(n, OP_round, y, e->d) : NULL;
    y = y ? emit2(n, OP_add, y, zero, e->d) : NULL;
    y = stored(e, n, y);
    zero = y ? stored(e, n, zero) : NULL;
    if (!zero)
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
    struct expander *e = user;
    return n->op != OP_dynamic_quantize_linear || expand(e, n);
}

bool pass_dynamic_quantize(struct graph *g, const struct options *o, struct diag *d)
{
    struct expander e = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &e);
}
