/*
 * pass dynamic_quantize: dynamic_quantize_linear as reductions and elementwise operators, and the
 * zero points that are known only when a model runs. Requires inferred types; runs before quantize.
 *
 *   scale = (max(x, 0) - min(x, 0)) / 255, 1 when that is 0
 *   zero  = -min / scale, rounded and clipped to 0..255
 *   y     = x / scale, rounded, + zero, stored with saturation
 *
 *   matmul_integer(x, w, zero)   matmul_integer(x, w) with the bias zero * (-sums of w's columns)
 */
#include "passes/match.h"
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

/* The greatest or least element of x and 0, of rank 0. */
static struct value *extreme(struct expander *e, struct node *at, enum op reduce, enum op join)
{
    struct attrs attrs = {0};
    attr_set_int(&e->g->arena, &attrs, "keepdims", 0);
    struct value *v = emit(at, reduce, at->in, 1, &attrs, at->name, e->d);
    return v ? emit2(at, join, v, number(e, 0), e->d) : NULL;
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

static bool expand(struct expander *e, struct node *n)
{
    if (n->in[0]->type.dtype != DT_F32)
        return true;
    struct value *high = extreme(e, n, OP_reduce_max, OP_max);
    struct value *low = high ? extreme(e, n, OP_reduce_min, OP_min) : NULL;
    struct value *scale = low ? scale_of(e, n, low, high) : NULL;
    struct value *zero = scale ? zero_of(e, n, low, scale) : NULL;
    struct value *y = zero ? emit2(n, OP_div, n->in[0], scale, e->d) : NULL;
    y = y ? emit1(n, OP_round, y, e->d) : NULL;
    y = y ? emit2(n, OP_add, y, zero, e->d) : NULL;
    struct value *in[] = {y, number(e, 1), constant_scalar(e->g, DT_U8, 0)};
    y = y ? emit(n, OP_quantize_linear, in, 3, NULL, n->name, e->d) : NULL;
    zero = y ? emit_cast(n, zero, DT_U8, e->d) : NULL;
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

/* ---- zero points of rows ---- */

static bool no_zero_point(const struct node *n, int i)
{
    if (i >= n->nin || !n->in[i])
        return true;
    if (!n->in[i]->constant)
        return false;
    for (int64_t k = 0; k < tensor_count(n->in[i]->constant); k++)
        if (tensor_i64(n->in[i]->constant, k))
            return false;
    return true;
}

static bool move_zero_point(struct expander *e, struct node *n)
{
    const struct value *w = n->in[1];
    struct value *zero = n->nin > 2 ? n->in[2] : NULL;
    if (!zero || zero->constant || zero->type.kind != VK_TENSOR || zero->type.rank != 0 ||
        zero->type.dtype != DT_U8 || n->in[0]->type.dtype != DT_U8 || !w->constant ||
        w->type.dtype != DT_I8 || w->type.rank != 2 || n->in[0]->type.rank < 2 ||
        !no_zero_point(n, 3) || (n->nin > 4 && n->in[4]))
        return true;
    int64_t k = w->constant->dims[0], outs = w->constant->dims[1];
    const int8_t *from = w->constant->data;
    int32_t *sums = arena_alloc(&e->g->arena, sizeof *sums * (size_t)(outs ? outs : 1));
    for (int64_t o = 0; o < outs; o++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum -= from[i * outs + o];
        sums[o] = (int32_t)(uint32_t)sum;
    }
    struct value *wide = emit_cast(n, zero, DT_I32, e->d);
    struct value *bias =
        wide ? emit2(n, OP_mul, wide, constant_copy(e->g, DT_I32, 1, &outs, sums, w->name), e->d)
             : NULL;
    struct value *in[] = {n->in[0], n->in[1], NULL, NULL, bias};
    struct value *y = bias ? emit(n, n->op, in, 5, &n->attrs, n->name, e->d) : NULL;
    if (!y)
        return false;
    why(e->o, n, "dynamic_quantize.zero", "its zero point, known when it runs, became a bias");
    y->name = n->out[0]->name;
    value_replace(n->out[0], y);
    node_remove(n);
    return true;
}

static bool visit(struct node *n, void *user)
{
    struct expander *e = user;
    if (n->op == OP_dynamic_quantize_linear)
        return expand(e, n);
    return n->op != OP_matmul_integer || move_zero_point(e, n);
}

bool pass_dynamic_quantize(struct graph *g, const struct options *o, struct diag *d)
{
    struct expander e = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &e);
}
