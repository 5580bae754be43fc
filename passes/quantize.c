/*
 * pass quantize: products of quantised operands in the form that has a tile program. Requires
 * inferred types.
 *
 *   conv_integer or matmul_integer of u8 rows by constant s8 weights without a zero point (x may
 * have one): s32 sums cast to f32, mul by the scales, quantize_linear with scale 1: elementwise, an
 * epilogue of the product
 *
 * qlinear_conv, qlinear_matmul, and products of dequantised operands become that; s8 rows are
 * shifted by 128, and weights get rid of their zero points. A depthwise qlinear_conv whose
 * weights need more than 8 bits then becomes a convolution of integers as f32, exact since its sums
 * are short. All equal the plain routines, but
 * for products of dequantised operands: there the sum is exact where the plain routine rounds every
 * product, so the quantised result may differ by one where the sum is near the middle.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

#include <math.h>
#include <string.h>

struct quantizer {
    struct graph *g;
    const struct options *o;
    struct diag *d;
};

static bool is_tensor(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR && v->type.rank >= 0;
}

static bool is_8bit(const struct value *v)
{
    return is_tensor(v) && (v->type.dtype == DT_U8 || v->type.dtype == DT_I8);
}

static bool single_constant(const struct value *v)
{
    return is_tensor(v) && v->constant && tensor_count(v->constant) == 1;
}

static const struct value *operand(const struct node *n, int i)
{
    return i < n->nin ? n->in[i] : NULL;
}

static bool replace(struct node *n, struct value *with)
{
    if (!with)
        return false;
    with->name = n->out[0]->name;
    value_replace(n->out[0], with);
    node_remove(n);
    return true;
}

/* ---- operands ---- */

/* 8-bit data and what its numbers mean: (x - zero) * scale. */
struct quantized {
    struct value *x, *zero; /* zero NULL: 0 */
    const struct value *scale;
};

/*
 * Weights as s8 without a zero point: element i belongs to channel i / inner % channels. NULL when
 * a number needs more than 8 bits then.
 */
static struct value *signed_weights(struct quantizer *q, struct value *w, const struct value *zero,
                                    int64_t channels, int64_t inner)
{
    const struct tensor *t = w->constant;
    int64_t n = tensor_count(t),
            zeros = zero ? zero->constant ? tensor_count(zero->constant) : 0 : 1;
    bool same = w->type.dtype == DT_I8;
    if (zeros != 1 && zeros != channels)
        return NULL;
    for (int64_t i = 0; zero && i < zeros; i++)
        same &= tensor_i64(zero->constant, i) == 0;
    if (same)
        return w;
    struct tensor made = *t;
    int8_t *to = made.data = arena_alloc(&q->g->arena, (size_t)n + 16);
    made.dtype = DT_I8;
    made.owned = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = tensor_i64(t, i) -
                    (zero ? tensor_i64(zero->constant, zeros == 1 ? 0 : i / inner % channels) : 0);
        if (v < INT8_MIN || v > INT8_MAX)
            return NULL;
        to[i] = (int8_t)v;
    }
    return constant_new(q->g, &made, w->name);
}

static struct value *one(struct quantizer *q)
{
    return constant_scalar(q->g, DT_F32, 1);
}

/* x - zero, as f32. */
static struct value *centred(struct quantizer *q, struct node *at, struct value *x,
                             struct value *zero)
{
    return emit(at, OP_dequantize_linear, (struct value *[]){x, one(q), zero}, zero ? 3 : 2, NULL,
                at->name, q->d);
}

/* Makes s8 rows u8. */
static bool make_unsigned(struct quantizer *q, struct node *at, struct value **x,
                          struct value **zero)
{
    if ((*x)->type.dtype == DT_U8)
        return true;
    struct value *wide = centred(q, at, *x, NULL), *shift = constant_scalar(q->g, DT_U8, 128);
    if (!wide)
        return false;
    *x = emit(at, OP_quantize_linear, (struct value *[]){wide, one(q), shift}, 3, NULL, at->name,
              q->d);
    *zero = constant_scalar(q->g, DT_U8,
                            (double)(128 + (*zero ? tensor_i64((*zero)->constant, 0) : 0)));
    return *x != NULL;
}

/* ---- the product ---- */

struct integer_product {
    enum op op;                      /* OP_conv_integer, OP_matmul_integer */
    struct value *x, *zero;          /* 8-bit rows; zero NULL or constant */
    struct value *w, *w_zero, *bias; /* constant weights; w_zero, bias may be NULL */
    const struct attrs *attrs;
    int64_t outs, inner; /* of the weights: channel of element i is i / inner % outs */
};

static bool product_of(struct integer_product *p, enum op op, const struct node *n, struct value *x,
                       struct value *zero, struct value *w, struct value *w_zero)
{
    bool conv = op == OP_conv_integer;
    *p = (struct integer_product){
        .op = op, .x = x, .zero = zero, .w = w, .w_zero = w_zero, .attrs = &n->attrs};
    if (!is_8bit(x) || !is_8bit(w) || !w->constant || (zero && !single_constant(zero)) ||
        (w_zero && !w_zero->constant))
        return false;
    if (conv ? w->type.rank < 3 || w->type.rank > 4 : w->type.rank != 2 || x->type.rank < 2)
        return false;
    const int64_t *dims = w->constant->dims;
    p->outs = conv ? dims[0] : dims[1];
    p->inner = conv && dims[0] ? tensor_count(w->constant) / dims[0] : 1;
    return tensor_count(w->constant) > 0;
}

/* The s32 sums before `at`, or NULL: with no failure, when the weights do not fit. */
static struct value *emit_sums(struct quantizer *q, struct node *at,
                               const struct integer_product *p)
{
    struct value *w = signed_weights(q, p->w, p->w_zero, p->outs, p->inner), *x = p->x,
                 *zero = p->zero;
    if (!w) {
        why(q->o, at, "quantize.weights", "weights without their zero point need more than 8 bits");
        return NULL;
    }
    if (!make_unsigned(q, at, &x, &zero))
        return NULL;
    return emit(at, p->op, (struct value *[]){x, w, zero, NULL, p->bias},
                p->bias ? 5
                : zero  ? 3
                        : 2,
                p->attrs, at->name, q->d);
}

/* sums * factor of their channel, in f32. */
static struct value *emit_scaled(struct quantizer *q, struct node *at, struct value *sums,
                                 const struct integer_product *p, const float *factor)
{
    int64_t dims[MAX_RANK] = {p->outs, 1, 1, 1};
    int rank = p->op == OP_conv_integer && !attr_int(p->attrs, "channels_last", 0)
                   ? p->x->type.rank - 1
                   : 1;
    struct value *factors = constant_copy(q->g, DT_F32, rank, dims, factor, NULL);
    return sums ? emit2(at, OP_mul,
                        sums->type.dtype == DT_F32 ? sums : emit_cast(at, sums, DT_F32, q->d),
                        factors, q->d)
                : NULL;
}

/* Scale of the rows times scales of the weights, divided by `over`; NULL when they are not known or
 * not one per channel. */
static float *factors_of(struct quantizer *q, const struct value *x_scale,
                         const struct value *w_scale, float over, int64_t outs)
{
    if (!single_constant(x_scale) || !is_tensor(w_scale) || !w_scale->constant)
        return NULL;
    int64_t n = tensor_count(w_scale->constant);
    if (n != 1 && n != outs)
        return NULL;
    float *f = ARENA_ARRAY(&q->g->arena, float, outs), x = (float)tensor_f64(x_scale->constant, 0);
    for (int64_t i = 0; i < outs; i++)
        f[i] = x * (float)tensor_f64(w_scale->constant, n == 1 ? 0 : i) / over;
    return f;
}

/* ---- qlinear_conv, qlinear_matmul ---- */

/* One weight in each of as many groups as there are channels. */
static bool is_depthwise(const struct integer_product *p)
{
    const struct tensor *w = p->w->constant;
    return p->op == OP_conv_integer && w->dims[1] == 1 &&
           attr_int(p->attrs, "group", 1) == w->dims[0];
}

/* The sums of a depthwise convolution, in f32: exact. */
static struct value *emit_depthwise(struct quantizer *q, struct node *at,
                                    const struct integer_product *p)
{
    const struct tensor *w = p->w->constant;
    int64_t zeros = p->w_zero ? tensor_count(p->w_zero->constant) : 0;
    if (zeros > 1 && zeros != p->outs)
        return NULL;
    double *wide = ARENA_ARRAY(&q->g->arena, double, tensor_count(w));
    for (int64_t i = 0; i < tensor_count(w); i++)
        wide[i] = tensor_f64(w, i) -
                  (zeros ? tensor_f64(p->w_zero->constant, zeros == 1 ? 0 : i / p->inner) : 0);
    struct value *weights = constant_floats(q->g, DT_F32, w->rank, w->dims, wide, p->w->name);
    struct value *x = centred(q, at, p->x, p->zero);
    struct value *y =
        x ? emit(at, OP_conv, (struct value *[]){x, weights}, 2, p->attrs, at->name, q->d) : NULL;
    if (!y || !p->bias)
        return y;
    int64_t dims[MAX_RANK] = {p->outs, 1, 1, 1};
    struct value *bias = constant_floats(q->g, DT_F32, p->x->type.rank - 1, dims,
                                         constant_doubles(q->g, p->bias), p->bias->name);
    return emit2(at, OP_add, y, bias, q->d);
}

static bool short_sums(const struct integer_product *p)
{
    const double most = 1 << 24;
    double bias = 0;
    for (int64_t i = 0; p->bias && i < p->outs; i++)
        bias = fmax(bias, fabs(tensor_f64(p->bias->constant, i)));
    return 255.0 * 255.0 * (double)p->inner + bias < most;
}

static bool convert_qlinear(struct quantizer *q, struct node *n)
{
    struct integer_product p;
    enum op op = n->op == OP_qlinear_conv ? OP_conv_integer : OP_matmul_integer;
    if (!product_of(&p, op, n, n->in[0], n->in[2], n->in[3], n->in[5]) ||
        !single_constant(n->in[6]) || !single_constant(n->in[7]) || !is_8bit(n->in[7]))
        return true;
    p.bias = (struct value *)operand(n, 8);
    if (p.bias && (!p.bias->constant || tensor_count(p.bias->constant) != p.outs))
        return true;
    float *factors =
        factors_of(q, n->in[1], n->in[4], (float)tensor_f64(n->in[6]->constant, 0), p.outs);
    if (!factors)
        return true;
    struct value *sums =
        is_depthwise(&p) && short_sums(&p) && !signed_weights(q, p.w, p.w_zero, p.outs, p.inner)
            ? emit_depthwise(q, n, &p)
            : emit_sums(q, n, &p);
    if (!sums)
        return !diag_failed(q->d);
    struct value *y = emit_scaled(q, n, sums, &p, factors);
    if (!y)
        return false;
    why(q->o, n, "quantize.product", "an integer product with an epilogue");
    return replace(n, emit(n, OP_quantize_linear, (struct value *[]){y, one(q), n->in[7]}, 3, NULL,
                           n->name, q->d));
}

/* ---- conv_integer, matmul_integer ---- */

static bool convert_integer(struct quantizer *q, struct node *n)
{
    struct integer_product p;
    bool done = n->in[0]->type.dtype == DT_U8 && n->in[1]->type.dtype == DT_I8 && !operand(n, 3);
    if (done || !product_of(&p, n->op, n, n->in[0], (struct value *)operand(n, 2), n->in[1],
                            (struct value *)operand(n, 3)))
        return true;
    p.bias = (struct value *)operand(n, 4);
    struct value *sums = emit_sums(q, n, &p);
    return sums ? replace(n, sums) : !diag_failed(q->d);
}

/* ---- products of dequantised operands ---- */

static const struct node *dequantized(const struct value *v)
{
    const struct node *n = made_by(v, OP_dequantize_linear);
    bool f32 = n && n->in[1]->type.dtype == DT_F32 && n->out[0]->type.dtype == DT_F32;
    return f32 && is_8bit(n->in[0]) && attr_int(&n->attrs, "block_size", 0) == 0 ? n : NULL;
}

bool quantize_wants(const struct options *o, const struct node *n)
{
    if (o->opt_level == 0 || o->strict_target || n->op != OP_dequantize_linear ||
        !dequantized(n->out[0]) || !n->out[0]->uses)
        return false;
    for (const struct use *u = n->out[0]->uses; u; u = u->next)
        if ((u->node->op != OP_conv && u->node->op != OP_matmul && u->node->op != OP_gemm) ||
            u->index != 1 ||
            !dequantized(u->node->in[0]))
            return false;
    return true;
}

/* Whether the scales of the weights lie along the dim that makes channels. */
static bool scales_fit(const struct node *w, int axis)
{
    int rank = w->in[0]->type.rank;
    int64_t given = attr_int(&w->attrs, "axis", 1);
    return single_constant(w->in[1]) || (given < 0 ? given + rank : given) == axis;
}

/* A constant matrix (outs, k) as (k, outs). */
static struct value *exchanged(struct quantizer *q, const struct value *w)
{
    const struct tensor *t = w->constant;
    struct tensor made = *t;
    int64_t outs = t->dims[0], k = t->dims[1];
    const int8_t *from = t->data;
    int8_t *to = made.data = arena_alloc(&q->g->arena, (size_t)(outs * k) + 16);
    made.dims[0] = k, made.dims[1] = outs;
    made.owned = false;
    for (int64_t o = 0; o < outs; o++)
        for (int64_t i = 0; i < k; i++)
            to[i * outs + o] = from[o * k + i];
    return constant_new(q->g, &made, w->name);
}

static bool convert_dequantized(struct quantizer *q, struct node *n)
{
    const struct node *x = dequantized(n->in[0]), *w = dequantized(n->in[1]);
    bool conv = n->op == OP_conv, transposed = attr_int(&n->attrs, "trans_b", 0) != 0;
    struct integer_product p;
    if (!x || !w || operand(n, 2) || n->out[0]->type.dtype != DT_F32 ||
        !single_constant(x->in[1]) || !scales_fit(w, conv || transposed ? 0 : 1) ||
        attr_int(&n->attrs, "trans_a", 0) || attr_float(&n->attrs, "alpha", 1) != 1 ||
        (transposed && (!w->in[0]->constant || w->in[0]->type.rank != 2)) ||
        !product_of(&p, conv ? OP_conv_integer : OP_matmul_integer, n, x->in[0],
                    (struct value *)operand(x, 2), transposed ? exchanged(q, w->in[0]) : w->in[0],
                    (struct value *)operand(w, 2)))
        return true;
    struct attrs none = {0};
    if (!conv)
        p.attrs = &none; /* of the product as it has become */
    float *factors = factors_of(q, x->in[1], w->in[1], 1, p.outs);
    struct value *sums = factors ? emit_sums(q, n, &p) : NULL;
    if (!sums)
        return !diag_failed(q->d);
    struct value *y = emit_scaled(q, n, sums, &p, factors);
    why(q->o, n, "quantize.product", "an integer product with an epilogue");
    return y && replace(n, y);
}

/* ---- pools ---- */

static bool same_number(const struct value *a, const struct value *b)
{
    return single_constant(a) && single_constant(b) && a->type.dtype == b->type.dtype &&
           tensor_f64(a->constant, 0) == tensor_f64(b->constant, 0);
}

/* quantize_linear(max_pool(dequantize_linear(x))) by one scale and zero point: the greatest of
 * numbers as they are stored. */
static bool convert_pooled(struct quantizer *q, struct node *n)
{
    struct node *pool = n->in[0]->def;
    const struct node *x = dequantized(pool->in[0]);
    if (!x || !value_has_one_use(n->in[0]) || (pool->nout > 1 && pool->out[1]->uses) ||
        !same_number(x->in[1], n->in[1]) || !(tensor_f64(n->in[1]->constant, 0) > 0) ||
        x->in[0]->type.dtype != n->out[0]->type.dtype || !operand(x, 2) != !operand(n, 2) ||
        (operand(n, 2) && !same_number(x->in[2], n->in[2])))
        return true;
    why(q->o, n, "quantize.pool", "the greatest of numbers as they are stored");
    return replace(n, emit(n, pool->op, x->in, 1, &pool->attrs, pool->name, q->d));
}

/* ---- movement ---- */

/* Elements change places only; how many operands are data. */
static int moved_operands(const struct node *n)
{
    return n->op == OP_concat ? n->nin : n->op == OP_reshape || n->op == OP_transpose ? 1 : 0;
}

/* v quantised like n quantises: before elements are moved, so that bytes are moved, and the
 * producer takes it along. */
static struct value *emit_early(struct quantizer *q, struct node *n, struct value *v, int depth)
{
    struct node *move = v->def;
    int data = move && depth && value_has_one_use(v) && move->parent == n->parent
                   ? moved_operands(move)
                   : 0;
    if (!data)
        return emit(n, OP_quantize_linear,
                    (struct value *[]){v, n->in[1], (struct value *)operand(n, 2)}, n->nin,
                    &n->attrs, n->name, q->d);
    struct value **in = ARENA_ARRAY(&q->g->arena, struct value *, move->nin);
    for (int i = 0; i < move->nin; i++) {
        in[i] = i < data ? emit_early(q, n, move->in[i], depth - 1) : move->in[i];
        if (i < data && !in[i])
            return NULL;
    }
    return emit(n, move->op, in, move->nin, &move->attrs, move->name, q->d);
}

static bool convert_quantize(struct quantizer *q, struct node *n)
{
    enum { DEPTH = 16 };
    const struct node *move = n->in[0]->def;
    bool single_zero = !operand(n, 2) || single_constant(operand(n, 2));
    if (!move || !moved_operands(move) || !value_has_one_use(n->in[0]) ||
        !single_constant(n->in[1]) || !single_zero || attr_int(&n->attrs, "block_size", 0))
        return true;
    return replace(n, emit_early(q, n, n->in[0], DEPTH));
}

/* ---- the pass ---- */

static bool visit(struct node *n, void *user)
{
    struct quantizer *q = user;
    switch (n->op) {
    case OP_qlinear_conv:
    case OP_qlinear_matmul:
        return convert_qlinear(q, n);
    case OP_conv_integer:
    case OP_matmul_integer:
        return convert_integer(q, n);
    case OP_conv:
    case OP_matmul:
        return convert_dequantized(q, n);
    case OP_quantize_linear:
        return n->in[0]->def && n->in[0]->def->op == OP_max_pool ? convert_pooled(q, n)
                                                                 : convert_quantize(q, n);
    default:
        return true;
    }
}

bool pass_quantize(struct graph *g, const struct options *o, struct diag *d)
{
    struct quantizer q = {g, o, d};
    if (o->strict_target)
        return true;
    if (!for_each_node(g->main, visit, &q))
        return false;
    remove_dead(g);
    struct options rest = *o; /* weights of products that stay in f32 are folded now */
    rest.opt_level = 0;
    return pass_fold(g, &rest, d);
}
