/*
 * Gradient: reverse-mode differentiation of what the graph computes between xs and y. The nodes
 * that y needs are walked from the last to the first; each adds to the gradients of its operands by
 * its operator's rule. Operands that differ from the values named in xs and zs have that part of
 * the graph computed again from them.
 */
#include "frontend/onnx/ops.h"
#include "frontend/onnx/scope.h"

#include <string.h>

struct tape {
    struct onnx_node *n;
    struct value **replaced; /* by value id: what stands for it, NULL: itself */
    struct value **gradient; /* by value id: of y by it, NULL: none yet */
    bool *active;            /* by value id: depends on one of xs */
    int nvalues;             /* that existed before */
};

/* One step back: adds to the gradients of x->in from g, that of the first result. */
typedef void (*rule_fn)(struct tape *t, struct node *x, struct value *g);

/* ---- gradients of operands ---- */

/* g summed over the dims that v was stretched along. */
static struct value *shrink(struct onnx_node *n, struct value *g, struct value *v)
{
    int rank = g ? g->type.rank : -1, own = v->type.rank, count = 0;
    int64_t axes[MAX_RANK];
    if (diag_failed(n->b->d))
        return NULL;
    if (rank < 0 || own < 0) {
        NODE_ERROR(n, "the rank of a value to differentiate by is not known; give the inputs' "
                      "shapes with --shape");
        return NULL;
    }
    for (int i = 0; i < rank; i++) {
        int at = i - (rank - own);
        if (at < 0 || (v->type.dims[at] == 1 && g->type.dims[i] != 1))
            axes[count++] = i;
        else if (!b_require(n->b, GUARD_EQUAL, v->type.dims[at], g->type.dims[i],
                            "a value and its gradient"))
            return NULL;
    }
    if (count)
        g = b_reduce(n->b, OP_reduce_sum, g, axes, count, true);
    return rank == own ? g : b_reshape(n->b, g, b_shape(n->b, v));
}

static bool wants(const struct tape *t, const struct node *x, int i)
{
    return i < x->nin && x->in[i] && x->in[i]->id < t->nvalues && t->active[x->in[i]->id];
}

static void give(struct tape *t, struct node *x, int i, struct value *g)
{
    if (!wants(t, x, i) || diag_failed(t->n->b->d))
        return;
    struct value **sum = &t->gradient[x->in[i]->id];
    g = shrink(t->n, g, x->in[i]);
    *sum = *sum ? b_add(t->n->b, *sum, g) : g;
}

static struct value *now(struct tape *t, struct value *v)
{
    return v && v->id < t->nvalues && t->replaced[v->id] ? t->replaced[v->id] : v;
}

/* ---- rules ---- */

#define RULE(name)     static void name(struct tape *t, struct node *x, struct value *g)
#define A              now(t, x->in[0])
#define B              now(t, x->in[1])
#define Y              now(t, x->out[0])
#define N              t->n
#define ADD(x, y)      b_add(N->b, x, y)
#define SUB(x, y)      b_sub(N->b, x, y)
#define MUL(x, y)      b_mul(N->b, x, y)
#define DIV(x, y)      b_div(N->b, x, y)
#define ONE(op, a)     b_1(N->b, OP_##op, a)
#define NUM(v)         b_like(N->b, A, v)
#define IF(test, x, y) b_select(N->b, test, x, y)
#define CMP(op, x, y)  b_2(N->b, OP_##op, x, y)
/* y = f(x): the factor in terms of A and Y. */
#define UNARY_RULE(name, factor)                                                                   \
    RULE(name)                                                                                     \
    {                                                                                              \
        give(t, x, 0, MUL(g, factor));                                                             \
    }

RULE(pass)
{
    give(t, x, 0, g);
}
RULE(grad_neg)
{
    give(t, x, 0, ONE(neg, g));
}
UNARY_RULE(grad_exp, Y)
UNARY_RULE(grad_expm1, ADD(Y, NUM(1)))
UNARY_RULE(grad_log, ONE(reciprocal, A))
UNARY_RULE(grad_log1p, ONE(reciprocal, ADD(A, NUM(1))))
UNARY_RULE(grad_sqrt, DIV(NUM(0.5), Y))
UNARY_RULE(grad_rsqrt, MUL(NUM(-0.5), DIV(Y, A)))
UNARY_RULE(grad_reciprocal, ONE(neg, MUL(Y, Y)))
UNARY_RULE(grad_square, MUL(NUM(2), A))
UNARY_RULE(grad_abs, ONE(sign, A))
UNARY_RULE(grad_sin, ONE(cos, A))
UNARY_RULE(grad_cos, ONE(neg, ONE(sin, A)))
UNARY_RULE(grad_tan, ADD(NUM(1), MUL(Y, Y)))
UNARY_RULE(grad_asin, ONE(rsqrt, SUB(NUM(1), MUL(A, A))))
UNARY_RULE(grad_acos, ONE(neg, ONE(rsqrt, SUB(NUM(1), MUL(A, A)))))
UNARY_RULE(grad_atan, ONE(reciprocal, ADD(NUM(1), MUL(A, A))))
UNARY_RULE(grad_sinh, ONE(cosh, A))
UNARY_RULE(grad_cosh, ONE(sinh, A))
UNARY_RULE(grad_tanh, SUB(NUM(1), MUL(Y, Y)))
UNARY_RULE(grad_asinh, ONE(rsqrt, ADD(MUL(A, A), NUM(1))))
UNARY_RULE(grad_acosh, ONE(rsqrt, SUB(MUL(A, A), NUM(1))))
UNARY_RULE(grad_atanh, ONE(reciprocal, SUB(NUM(1), MUL(A, A))))
UNARY_RULE(grad_erf, MUL(NUM(1.12837916709551257390), ONE(exp, ONE(neg, MUL(A, A)))))
UNARY_RULE(grad_sigmoid, MUL(Y, SUB(NUM(1), Y)))
UNARY_RULE(grad_relu, IF(CMP(gt, A, NUM(0)), NUM(1), NUM(0)))
UNARY_RULE(grad_softplus, ONE(sigmoid, A))
UNARY_RULE(grad_softsign, ONE(reciprocal, ONE(square, ADD(NUM(1), ONE(abs, A)))))
RULE(grad_silu)
{
    struct value *s = ONE(sigmoid, A);
    give(t, x, 0, MUL(g, ADD(s, MUL(Y, SUB(NUM(1), s)))));
}
RULE(grad_gelu)
{
    struct value *below = MUL(NUM(0.5), ADD(NUM(1), ONE(erf, MUL(A, NUM(0.70710678118654752)))));
    struct value *density = MUL(A, NUM(0.39894228040143268));
    density = MUL(density, ONE(exp, MUL(NUM(-0.5), MUL(A, A))));
    give(t, x, 0, MUL(g, ADD(below, density)));
}
UNARY_RULE(grad_leaky_relu,
           IF(CMP(lt, A, NUM(0)), NUM(attr_float(&x->attrs, "alpha", 0.01f)), NUM(1)))
RULE(grad_elu)
{
    struct value *negative = CMP(lt, A, NUM(0));
    struct value *slope = ADD(Y, NUM(attr_float(&x->attrs, "alpha", 1)));
    give(t, x, 0, MUL(g, IF(negative, slope, NUM(1))));
}
RULE(nothing) {}

RULE(grad_add)
{
    give(t, x, 0, g);
    give(t, x, 1, g);
}

RULE(grad_sub)
{
    give(t, x, 0, g);
    give(t, x, 1, ONE(neg, g));
}

RULE(grad_mul)
{
    if (wants(t, x, 0))
        give(t, x, 0, MUL(g, B));
    if (wants(t, x, 1))
        give(t, x, 1, MUL(g, A));
}

RULE(grad_div)
{
    if (wants(t, x, 0))
        give(t, x, 0, DIV(g, B));
    if (wants(t, x, 1))
        give(t, x, 1, ONE(neg, DIV(MUL(g, Y), B)));
}

RULE(grad_pow)
{
    if (wants(t, x, 0))
        give(t, x, 0, MUL(g, MUL(B, b_2(N->b, OP_pow, A, SUB(B, b_like(N->b, B, 1))))));
    if (wants(t, x, 1))
        give(t, x, 1, MUL(g, MUL(Y, ONE(log, A))));
}

/* Where both are equal each has half. */
RULE(grad_extreme)
{
    struct value *half = MUL(g, NUM(0.5)), *zero = NUM(0), *same = CMP(eq, A, B);
    struct value *first = x->op == OP_max ? CMP(gt, A, B) : CMP(lt, A, B);
    give(t, x, 0, IF(same, half, IF(first, g, zero)));
    give(t, x, 1, IF(same, half, IF(first, zero, g)));
}

RULE(grad_where)
{
    struct value *zero = b_like(N->b, B, 0);
    give(t, x, 1, IF(A, g, zero));
    give(t, x, 2, IF(A, zero, g));
}

RULE(grad_clip)
{
    struct value *in = g;
    if (now(t, x->in[1]))
        in = IF(CMP(lt, A, B), NUM(0), in);
    if (x->nin > 2 && now(t, x->in[2]))
        in = IF(CMP(gt, A, now(t, x->in[2])), NUM(0), in);
    give(t, x, 0, in);
}

static struct value *product(struct tape *t, struct value *a, bool trans_a, struct value *b,
                             bool trans_b, double alpha)
{
    struct attrs as = {0};
    attr_set_int(&N->b->g->arena, &as, "trans_a", trans_a);
    attr_set_int(&N->b->g->arena, &as, "trans_b", trans_b);
    attr_set_float(&N->b->g->arena, &as, "alpha", alpha);
    return b_op(N->b, OP_matmul, (struct value *[]){a, b}, 2, &as);
}

/* y = alpha op(a) op(b): the gradients are products too; vectors count as a row and a column. */
static void product_rule(struct tape *t, struct node *x, struct value *g, bool ta, bool tb,
                         double alpha)
{
    static const int64_t front[] = {0}, back[] = {-1};
    struct value *a = A, *b = B;
    int ra = a->type.rank, rb = b->type.rank;
    if (ra < 1 || rb < 1) {
        NODE_ERROR(N, "the rank of a product's operand is not known");
        return;
    }
    if (rb == 1)
        g = b_unsqueeze(N->b, g, back, 1), b = b_unsqueeze(N->b, b, back, 1);
    if (ra == 1)
        g = b_unsqueeze(N->b, g, rb == 1 ? front : (int64_t[]){-2}, 1),
        a = b_unsqueeze(N->b, a, front, 1);
    if (wants(t, x, 0)) {
        struct value *d =
            ta ? product(t, b, tb, g, true, alpha) : product(t, g, false, b, !tb, alpha);
        give(t, x, 0, ra == 1 ? b_squeeze(N->b, d, (int64_t[]){-2}, 1) : d);
    }
    if (wants(t, x, 1)) {
        struct value *d =
            tb ? product(t, g, true, a, ta, alpha) : product(t, a, !ta, g, false, alpha);
        give(t, x, 1, rb == 1 ? b_squeeze(N->b, d, back, 1) : d);
    }
}

RULE(grad_matmul)
{
    const struct attrs *as = &x->attrs;
    product_rule(t, x, g, attr_int(as, "trans_a", 0), attr_int(as, "trans_b", 0),
                 attr_float(as, "alpha", 1));
}

RULE(grad_gemm)
{
    const struct attrs *as = &x->attrs;
    product_rule(t, x, g, attr_int(as, "transA", 0), attr_int(as, "transB", 0),
                 attr_float(as, "alpha", 1));
    if (wants(t, x, 2))
        give(t, x, 2, MUL(g, b_like(N->b, g, attr_float(as, "beta", 1))));
}

/* g with the reduced dims put back as ones. */
static struct value *put_back(struct tape *t, struct node *x, struct value *g)
{
    struct attrs as = {0};
    int count;
    const int64_t *axes = attr_ints(&x->attrs, "axes", &count);
    if (attr_int(&x->attrs, "keepdims", 1))
        return g;
    if (!axes && !(x->nin > 1 && x->in[1])) { /* all */
        int rank;
        int64_t ones[MAX_RANK];
        for (int i = 0; i < MAX_RANK; i++)
            ones[i] = 1;
        return b_rank(N, A, "a reduced value", &rank) ? b_reshape_to(N->b, g, ones, rank) : NULL;
    }
    return b_op(N->b, OP_unsqueeze, (struct value *[]){g, axes ? b_i64s(N->b, axes, count) : B}, 2, &as);
}

RULE(grad_reduce_sum)
{
    g = put_back(t, x, g);
    give(t, x, 0, b_2(N->b, OP_expand, g, b_shape(N->b, A)));
}

RULE(grad_reduce_mean)
{
    struct value *count = b_cast(N->b, ONE(size, A), b_dtype(g));
    count = DIV(count, b_cast(N->b, ONE(size, Y), b_dtype(g)));
    g = DIV(put_back(t, x, g), count);
    give(t, x, 0, b_2(N->b, OP_expand, g, b_shape(N->b, A)));
}

RULE(grad_reduce_sum_square)
{
    struct value *twice = MUL(A, NUM(2));
    give(t, x, 0, MUL(twice, put_back(t, x, g)));
}
RULE(grad_reduce_l1)
{
    struct value *sign = ONE(sign, A);
    give(t, x, 0, MUL(sign, put_back(t, x, g)));
}
RULE(grad_reduce_l2)
{
    give(t, x, 0, MUL(A, put_back(t, x, DIV(g, Y))));
}
RULE(grad_reduce_log_sum_exp)
{
    struct value *share = ONE(exp, SUB(A, put_back(t, x, Y)));
    give(t, x, 0, MUL(share, put_back(t, x, g)));
}

/* The largest elements share alike. */
RULE(grad_reduce_extreme)
{
    struct value *hit = b_cast(N->b, CMP(eq, A, put_back(t, x, Y)), b_dtype(g));
    struct attrs as = attrs_copy(&N->b->g->arena, &x->attrs);
    attr_set_int(&N->b->g->arena, &as, "keepdims", 1);
    struct value *in[] = {hit, x->nin > 1 ? B : NULL};
    struct value *count = b_op(N->b, OP_reduce_sum, in, x->nin > 1 ? 2 : 1, &as);
    give(t, x, 0, MUL(hit, DIV(put_back(t, x, g), count)));
}

RULE(grad_view)
{
    give(t, x, 0, b_reshape(N->b, g, b_shape(N->b, A)));
}

RULE(grad_transpose)
{
    int count, rank;
    const int64_t *perm = attr_ints(&x->attrs, "perm", &count);
    int64_t inverse[MAX_RANK];
    if (!b_rank(N, A, "a transposed value", &rank))
        return;
    for (int i = 0; i < rank; i++)
        inverse[perm ? perm[i] : rank - 1 - i] = i;
    give(t, x, 0, b_transpose(N->b, g, inverse, rank));
}

RULE(grad_cast)
{
    give(t, x, 0, b_cast(N->b, g, b_dtype(A)));
}

RULE(grad_concat)
{
    struct value *at = b_i64(N->b, 0);
    int axis = (int)attr_int(&x->attrs, "axis", 0);
    for (int i = 0; i < x->nin; i++) {
        struct value *part = now(t, x->in[i]);
        int place = axis < 0 ? axis + part->type.rank : axis;
        struct value *end = ADD(at, b_dim(N->b, part, place));
        if (wants(t, x, i))
            give(t, x, i,
                 b_op(N->b, OP_slice, (struct value *[]){g, at, end, b_i64(N->b, axis)}, 4, NULL));
        at = end;
    }
}

RULE(grad_gather)
{
    static const int64_t flat[] = {-1};
    if (attr_int(&x->attrs, "axis", 0) != 0) {
        NODE_ERROR(N, "Gather along axis %lld cannot be differentiated yet, along axis 0 it can",
                   (long long)attr_int(&x->attrs, "axis", 0));
        return;
    }
    struct value *rest = b_op(
        N->b, OP_slice, (struct value *[]){b_shape(N->b, A), b_i64(N->b, 1), b_i64(N->b, INT64_MAX)}, 3, NULL);
    struct value *rows = b_reshape_to(N->b, B, (int64_t[]){-1, 1}, 2);
    struct value *shape = b_concat(N->b, (struct value *[]){b_i64s(N->b, flat, 1), rest}, 2, 0);
    struct value *zeros = b_2(N->b, OP_expand, b_like(N->b, g, 0), b_shape(N->b, A));
    struct attrs as = {0};
    attr_set_str(&N->b->g->arena, &as, "reduction", "add");
    give(t, x, 0,
         b_op(N->b, OP_scatter_nd, (struct value *[]){zeros, rows, b_reshape(N->b, g, shape)}, 3, &as));
}

static struct value *along(struct tape *t, struct node *x, struct value *v)
{
    int64_t axis = attr_int(&x->attrs, "axis", -1);
    return b_reduce(N->b, OP_reduce_sum, v, &axis, 1, true);
}

RULE(grad_softmax)
{
    give(t, x, 0, MUL(Y, SUB(g, along(t, x, MUL(g, Y)))));
}
RULE(grad_log_softmax)
{
    struct value *probability = ONE(exp, Y);
    give(t, x, 0, SUB(g, MUL(probability, along(t, x, g))));
}

static const struct {
    enum op op;
    rule_fn rule;
} rules[] = {
    {OP_identity, pass},
    {OP_expand, pass},
    {OP_neg, grad_neg},
    {OP_exp, grad_exp},
    {OP_expm1, grad_expm1},
    {OP_log, grad_log},
    {OP_log1p, grad_log1p},
    {OP_sqrt, grad_sqrt},
    {OP_rsqrt, grad_rsqrt},
    {OP_reciprocal, grad_reciprocal},
    {OP_square, grad_square},
    {OP_abs, grad_abs},
    {OP_sin, grad_sin},
    {OP_cos, grad_cos},
    {OP_tan, grad_tan},
    {OP_asin, grad_asin},
    {OP_acos, grad_acos},
    {OP_atan, grad_atan},
    {OP_sinh, grad_sinh},
    {OP_cosh, grad_cosh},
    {OP_tanh, grad_tanh},
    {OP_asinh, grad_asinh},
    {OP_acosh, grad_acosh},
    {OP_atanh, grad_atanh},
    {OP_erf, grad_erf},
    {OP_sigmoid, grad_sigmoid},
    {OP_relu, grad_relu},
    {OP_softplus, grad_softplus},
    {OP_softsign, grad_softsign},
    {OP_silu, grad_silu},
    {OP_gelu, grad_gelu},
    {OP_leaky_relu, grad_leaky_relu},
    {OP_elu, grad_elu},
    {OP_sign, nothing},
    {OP_floor, nothing},
    {OP_ceil, nothing},
    {OP_round, nothing},
    {OP_shape, nothing},
    {OP_size, nothing},
    {OP_add, grad_add},
    {OP_sub, grad_sub},
    {OP_mul, grad_mul},
    {OP_div, grad_div},
    {OP_pow, grad_pow},
    {OP_max, grad_extreme},
    {OP_min, grad_extreme},
    {OP_where, grad_where},
    {OP_clip, grad_clip},
    {OP_matmul, grad_matmul},
    {OP_gemm, grad_gemm},
    {OP_reduce_sum, grad_reduce_sum},
    {OP_reduce_mean, grad_reduce_mean},
    {OP_reduce_sum_square, grad_reduce_sum_square},
    {OP_reduce_l1, grad_reduce_l1},
    {OP_reduce_l2, grad_reduce_l2},
    {OP_reduce_log_sum_exp, grad_reduce_log_sum_exp},
    {OP_reduce_max, grad_reduce_extreme},
    {OP_reduce_min, grad_reduce_extreme},
    {OP_reshape, grad_view},
    {OP_flatten, grad_view},
    {OP_squeeze, grad_view},
    {OP_unsqueeze, grad_view},
    {OP_transpose, grad_transpose},
    {OP_cast, grad_cast},
    {OP_concat, grad_concat},
    {OP_gather, grad_gather},
    {OP_softmax, grad_softmax},
    {OP_log_softmax, grad_log_softmax},
};

static rule_fn rule_of(enum op op)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == op)
            return rules[i].rule;
    return NULL;
}

/* ---- the walk ---- */

/* Marks what depends on xs, and computes again what depends on a replaced value. */
static bool forward(struct tape *t, struct node *last)
{
    for (struct node *x = t->n->b->r->first; x; x = x->next) {
        bool active = false, changed = false;
        struct value **in = ARENA_ARRAY(&t->n->b->g->arena, struct value *, x->nin + 1);
        for (int i = 0; i < x->nin; i++) {
            in[i] = now(t, x->in[i]);
            active |= wants(t, x, i);
            changed |= in[i] != x->in[i];
        }
        for (int i = 0; i < x->nout; i++) /* xs stay what they are, whatever made them */
            if (active && x->out[i] && !t->replaced[x->out[i]->id])
                t->active[x->out[i]->id] = true;
        if (changed && x->nregions)
            return NODE_ERROR(
                t->n, "node '%s' (%s) with a subgraph cannot be computed again from other values",
                x->name, x->source ? x->source : op_name(x->op));
        struct node *again = changed ? b_node(t->n->b, x->op, in, x->nin, x->nout, &x->attrs) : NULL;
        for (int i = 0; again && i < x->nout; i++)
            if (x->out[i] && !t->replaced[x->out[i]->id])
                t->replaced[x->out[i]->id] = again->out[i];
        if (x == last || diag_failed(t->n->b->d))
            break;
    }
    return !diag_failed(t->n->b->d);
}

static bool backward(struct tape *t, struct node *last, const bool *stop)
{
    for (struct node *x = last; x && !diag_failed(t->n->b->d); x = x->prev) {
        struct value *g = x->nout && x->out[0] ? t->gradient[x->out[0]->id] : NULL;
        if (!g || stop[x->out[0]->id])
            continue;
        rule_fn rule = rule_of(x->op);
        bool needed = false;
        for (int i = 0; i < x->nin; i++)
            needed |= wants(t, x, i);
        if (needed && !rule)
            return NODE_ERROR(t->n, "node '%s' (%s) cannot be differentiated", x->name,
                              x->source ? x->source : op_name(x->op));
        if (needed)
            rule(t, x, g);
    }
    return !diag_failed(t->n->b->d);
}

static struct value *named(struct onnx_node *n, struct str name)
{
    struct value *v = scope_find(n->scope, arena_strndup(&n->b->g->arena, name.p, name.n));
    if (!v)
        NODE_ERROR(n, "there is no value '%.*s' before this node", (int)name.n, name.p);
    return v;
}

bool lower_gradient(struct onnx_node *n)
{
    int nxs, nzs;
    const struct str *xs = attr_strs(&n->attrs, "xs", &nxs), *zs = attr_strs(&n->attrs, "zs", &nzs);
    struct arena *arena = &n->b->g->arena;
    int count = n->b->g->next_value;
    struct tape t = {n, ARENA_ARRAY(arena, struct value *, count),
                     ARENA_ARRAY(arena, struct value *, count), ARENA_ARRAY(arena, bool, count),
                     count};
    bool *stop = ARENA_ARRAY(arena, bool, count);
    struct value *y = named(n, attr_str(&n->attrs, "y", ""));
    if (!y || n->nin != nxs + nzs || n->nout > nxs)
        return y ? NODE_ERROR(n, "%d inputs and %d outputs for %d xs and %d zs", n->nin, n->nout,
                              nxs, nzs)
                 : false;
    struct value **by = ARENA_ARRAY(arena, struct value *, nxs + nzs + 1);
    for (int i = 0; i < nxs + nzs; i++) {
        by[i] = named(n, i < nxs ? xs[i] : zs[i - nxs]);
        if (!by[i] || !n->in[i])
            return by[i] ? NODE_ERROR(n, "input %d is left out", i) : false;
        stop[by[i]->id] = true;
        t.active[by[i]->id] = i < nxs;
        t.replaced[by[i]->id] = n->in[i];
    }
    if (y->def && y->def->parent != n->b->r)
        return NODE_ERROR(n, "y is computed outside of this graph");
    struct node *last = y->def;
    if (last && !forward(&t, last))
        return false;
    struct value *at = now(&t, y);
    t.gradient[y->id] = b_2(n->b, OP_expand, b_like(n->b, at, 1), b_shape(n->b, at));
    if (last && !backward(&t, last, stop))
        return false;
    for (int i = 0; i < n->nout; i++) {
        struct value *g = t.gradient[by[i]->id];
        n->out[i] = g ? g : b_2(n->b, OP_expand, b_like(n->b, n->in[i], 0), b_shape(n->b, n->in[i]));
    }
    return !diag_failed(n->b->d);
}
