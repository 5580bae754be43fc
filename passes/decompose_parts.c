#include "passes/decompose_parts.h"

#include "passes/match.h"

#include <float.h>
#include <math.h>

static struct value *number(struct node *at, const struct value *like, double v)
{
    return constant_scalar(at->parent->graph, like->type.dtype, v);
}

/* ---- tests ---- */

static struct value *is_nan(struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    return b_2(&b, OP_ne, n->in[0], n->in[0]);
}

static struct value *is_finite(struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    return b_2(&b, OP_lt, b_1(&b, OP_abs, n->in[0]), number(n, n->in[0], INFINITY));
}

static struct value *is_inf(struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    bool negative = attr_int(&n->attrs, "detect_negative", 1) != 0;
    bool positive = attr_int(&n->attrs, "detect_positive", 1) != 0;
    struct value *x = n->in[0];
    if (!negative && !positive)
        return b_2(&b, OP_lt, x, x);
    return b_2(&b, OP_eq, negative && positive ? b_1(&b, OP_abs, x) : x, number(n, x, positive ? INFINITY : -INFINITY));
}

/* ---- reductions ---- */

/* n's operand, or x, reduced over the axes of n, which stay as 1. */
static struct value *reduced(struct node *n, enum op op, struct value *x, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct attrs as = attrs_copy(&n->parent->graph->arena, &n->attrs);
    struct value *in[2] = {x, n->nin > 1 ? n->in[1] : NULL};
    attr_set_int(&n->parent->graph->arena, &as, "keepdims", 1);
    return x ? b_op(&b, op, in, n->nin, &as) : NULL;
}

/* The axes as an operand; NULL: all of them, or not known. */
static struct value *axes_of(const struct node *n)
{
    int count;
    const int64_t *axes = attr_ints(&n->attrs, "axes", &count);
    if (n->nin > 1 && n->in[1])
        return n->in[1]->constant && tensor_count(n->in[1]->constant) > 0 ? n->in[1] : NULL;
    return count ? constant_i64s(n->parent->graph, axes, count) : NULL;
}

/* log(sum(exp(x - m))) + m, m: the largest, as a number that can be taken away. */
static struct value *log_sum_exp(struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    bool keep = attr_int(&n->attrs, "keepdims", 1) != 0;
    struct value *x = n->in[0], *axes = axes_of(n);
    struct value *m = reduced(n, OP_reduce_max, x, d);
    struct value *bounded[] = {m, number(n, x, -FLT_MAX), number(n, x, FLT_MAX)};
    m = m ? b_op(&b, OP_clip, bounded, 3, NULL) : NULL;
    struct value *e = b_1(&b, OP_exp, b_sub(&b, x, m));
    struct value *y =
        b_add(&b, b_1(&b, OP_log, reduced(n, OP_reduce_sum, e, d)), m);
    return keep ? y : axes ? b_2(&b, OP_squeeze, y, axes) : b_1(&b, OP_squeeze, y);
}

/* x / norm, and 0 where all of x is. */
static struct value *lp_norm(struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct graph *g = n->parent->graph;
    int64_t axis = attr_int(&n->attrs, "axis", -1);
    enum op op = attr_int(&n->attrs, "p", 2) == 2 ? OP_reduce_l2 : OP_reduce_l1;
    struct attrs as = {0};
    attr_set_ints(&g->arena, &as, "axes", &axis, 1);
    struct value *x = n->in[0];
    struct value *norm = x->type.rank ? b_op(&b, op, &x, 1, &as) : b_1(&b, OP_abs, x);
    struct value *nothing = b_2(&b, OP_eq, norm, number(n, x, 0));
    return b_div(&b, x, b_select(&b, nothing, number(n, x, 1), norm));
}

static const struct {
    enum op op;
    bool short_floats; /* exact for f16 and bf16 too */
    struct value *(*parts)(struct node *n, struct diag *d);
} rows[] = {
    {OP_is_nan, true, is_nan},
    {OP_is_inf, true, is_inf},
    {OP_is_finite, true, is_finite},
    {OP_reduce_log_sum_exp, false, log_sum_exp},
    {OP_lp_norm, false, lp_norm},
};

/* Of a reduction whose axes are known. */
static bool takes_axes(const struct node *n)
{
    bool none = !axes_of(n);
    return n->op != OP_reduce_log_sum_exp ||
           !(none && ((n->nin > 1 && n->in[1]) || attr_int(&n->attrs, "noop_with_empty_axes", 0)));
}

bool decompose_parts(struct node *n, struct value **made, struct diag *d)
{
    *made = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct type *x = n->op == rows[i].op ? &n->in[0]->type : NULL;
        bool taken = x && x->kind == VK_TENSOR && x->rank >= 0 &&
                     (x->dtype == DT_F32 || (rows[i].short_floats && dtype_is_short_float(x->dtype)));
        if (taken && takes_axes(n))
            return (*made = rows[i].parts(n, d)) != NULL;
    }
    return true;
}

/* ---- gemm ---- */

static struct value *scaled(struct node *n, struct value *x, double by, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct graph *g = n->parent->graph;
    return by == 1 ? x : b_mul(&b, x, constant_scalar(g, x->type.dtype, by));
}

struct value *gemm_parts(struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct graph *g = n->parent->graph;
    double alpha = attr_float(&n->attrs, "alpha", 1), beta = attr_float(&n->attrs, "beta", 1);
    struct attrs as = {0};
    attr_set_int(&g->arena, &as, "trans_a", attr_int(&n->attrs, "transA", 0));
    attr_set_int(&g->arena, &as, "trans_b", attr_int(&n->attrs, "transB", 0));
    if (attr_int(&n->attrs, "keep_fp32", 0))
        attr_set_int(&g->arena, &as, "keep_fp32", 1);
    if (!is_f32(n->in[0]))
        attr_set_int(&g->arena, &as, "out_dtype", DT_F32);
    struct value *in[] = {n->in[0], n->in[1]};
    struct value *y = b_op(&b, OP_matmul, in, 2, &as);
    if (!y || !(y = scaled(n, y, alpha, d)))
        return NULL;
    if (n->nin > 2 && n->in[2] && beta != 0) { /* as in BLAS, a beta of 0 does not read C */
        struct value *c = scaled(n, n->in[2], beta, d);
        y = c ? b_add(&b, y, c) : NULL;
    }
    return y;
}
