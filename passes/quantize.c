/*
 * pass quantize: products of quantised operands in the form that has a tile program. Requires
 * inferred types.
 *
 *   conv_integer or matmul_integer of u8 rows by constant s8 weights without a zero point (x may
 * have one): s32 sums cast to f32, mul by the scales, quantize_linear with scale 1: elementwise, an
 * epilogue of the product
 *
 * qlinear_conv, qlinear_matmul, and products of dequantised operands become that, whatever their
 * types and zero points: integer_product.h. A depthwise qlinear_conv whose weights need more than 8
 * bits then becomes a convolution of integers as f32, exact since its sums are short; so does a
 * matrix product of two computed operands. All equal the plain routines, but for products of
 * dequantised operands: there the sum is exact where the plain routine rounds every product, so the
 * quantised result may differ by one where the sum is near the middle.
 */
#include "passes/integer_product.h"

#include <math.h>

static const struct value *operand(const struct node *n, int i)
{
    return i < n->nin ? n->in[i] : NULL;
}

/* ---- the product ---- */

static struct value *one(struct rewriter *q)
{
    return constant_scalar(q->g, DT_F32, 1);
}

/* sums * factor of their channel, in f32. */
static struct value *emit_scaled(struct rewriter *q, struct node *at, struct value *sums,
                                 const struct integer_product *p, const float *factor)
{
    struct builder b = builder_before(at, q->d);
    int64_t dims[MAX_RANK] = {p->out_channels, 1, 1, 1};
    int rank = p->op == OP_conv_integer && !attr_int(p->attrs, "channels_last", 0)
                   ? p->x->type.rank - 1
                   : 1;
    struct value *factors = constant_copy(q->g, DT_F32, rank, dims, factor, NULL);
    return sums ? b_mul(&b, sums->type.dtype == DT_F32 ? sums : b_cast(&b, sums, DT_F32), factors)
                : NULL;
}

/* Scale of the rows times scales of the weights, divided by `over`; NULL when they are not known or
 * not one per channel. */
static float *factors_of(struct rewriter *q, const struct value *x_scale,
                         const struct value *w_scale, float over, int64_t out_channels)
{
    if (!single_constant(x_scale) || !is_tensor(w_scale) || !w_scale->constant)
        return NULL;
    int64_t n = tensor_count(w_scale->constant);
    if (n != 1 && n != out_channels)
        return NULL;
    float *f = ARENA_ARRAY(&q->g->arena, float, out_channels), x = (float)tensor_f64(x_scale->constant, 0);
    for (int64_t i = 0; i < out_channels; i++)
        f[i] = x * (float)tensor_f64(w_scale->constant, n == 1 ? 0 : i) / over;
    return f;
}

/* ---- depthwise convolutions ---- */

/* One weight in each of as many groups as there are channels. */
static bool is_depthwise(const struct integer_product *p)
{
    const struct tensor *w = p->w->constant;
    return p->op == OP_conv_integer && w->dims[1] == 1 &&
           attr_int(p->attrs, "group", 1) == w->dims[0];
}

/* The sums of a depthwise convolution, in f32: exact. */
static struct value *emit_depthwise(struct rewriter *q, struct node *at,
                                    const struct integer_product *p)
{
    struct builder b = builder_before(at, q->d);
    const struct tensor *w = p->w->constant;
    int64_t zeros = p->w_zero ? tensor_count(p->w_zero->constant) : 0;
    if (zeros > 1 && zeros != p->out_channels)
        return NULL;
    double *wide = ARENA_ARRAY(&q->g->arena, double, tensor_count(w));
    for (int64_t i = 0; i < tensor_count(w); i++)
        wide[i] = tensor_f64(w, i) -
                  (zeros ? tensor_f64(p->w_zero->constant, zeros == 1 ? 0 : i / p->inner) : 0);
    struct value *weights = constant_floats(q->g, DT_F32, w->rank, w->dims, wide, p->w->name);
    struct value *x = emit_centred(at, p->x, p->zero, q->d);
    struct value *y =
        x ? b_op(&b, OP_conv, (struct value *[]){x, weights}, 2, p->attrs) : NULL;
    if (!y || !p->bias)
        return y;
    int64_t dims[MAX_RANK] = {p->out_channels, 1, 1, 1};
    struct value *bias = constant_floats(q->g, DT_F32, p->x->type.rank - 1, dims,
                                         constant_doubles(q->g, p->bias), p->bias->name);
    return b_add(&b, y, bias);
}

static bool short_sums(const struct integer_product *p)
{
    const double max = 1 << 24;
    double bias = 0;
    for (int64_t i = 0; p->bias && i < p->out_channels; i++)
        bias = fmax(bias, fabs(tensor_f64(p->bias->constant, i)));
    return 255.0 * 255.0 * (double)p->inner + bias < max;
}

/* Depthwise sums in f32: as integers, wide weights would take a second such convolution. */
static bool sums_in_f32(const struct rewriter *q, const struct integer_product *p)
{
    return q->o->cast_type != DT_F8E4M3FN && is_depthwise(p) && short_sums(p) &&
           !integer_weights_fit(p);
}

/* The sums, s32 or f32. */
static struct value *emit_sums(struct rewriter *q, struct node *at,
                               const struct integer_product *p)
{
    return sums_in_f32(q, p) ? emit_depthwise(q, at, p) : emit_integer_product(at, p, q->d);
}

/* ---- matrix products of two computed operands ---- */

/* The largest number that x - zero can be. */
static double max_centred(const struct value *x, const struct value *zero)
{
    bool is_signed = x->type.dtype == DT_I8;
    double low = is_signed ? -128 : 0,
           z = zero && zero->constant ? tensor_f64(zero->constant, 0) : 0;
    return zero && !zero->constant ? 255 : fmax(z - low, low + 255 - z);
}

/*
 * Sums in f32 of the centred operands, when they are exact: every operand has 8 bits and a sign,
 * which bf16 holds as well. NULL with no failure when they are not.
 */
static struct value *emit_computed(struct rewriter *q, struct node *n, struct value *a,
                                   struct value *a_zero, struct value *b, struct value *b_zero)
{
    const double exact = 1 << 24;
    bool fits = is_8bit(a) && is_8bit(b) && !b->constant && a->type.rank >= 2 &&
                b->type.rank >= 2 && (!a_zero || single_8bit(a_zero)) &&
                (!b_zero || single_8bit(b_zero)) && q->o->cast_type != DT_F8E4M3FN;
    dim_t k = fits ? a->type.dims[a->type.rank - 1] : 0;
    if (!fits || !dim_is_const(k) ||
        (double)k * max_centred(a, a_zero) * max_centred(b, b_zero) >= exact)
        return NULL;
    why(q->o, n, "quantize.computed", "a product in f32: its sums are exact there");
    a = emit_centred(n, a, a_zero, q->d);
    b = a ? emit_centred(n, b, b_zero, q->d) : NULL;
    struct builder at = builder_before(n, q->d);
    return b_2(&at, OP_matmul, a, b);
}

/* What is rounded to integers of 8 bits is no value of the model: --auto-cast all leaves it as it is. */
static void keep_digits(struct rewriter *q, const struct value *scaled)
{
    struct value *sums = scaled->def->in[0];
    if (q->o->auto_cast != CAST_ALL)
        return;
    attr_set_int(&q->g->arena, &scaled->def->attrs, "keep_fp32", 1);
    if (sums->def && sums->def->op != OP_cast)
        attr_set_int(&q->g->arena, &sums->def->attrs, "keep_fp32", 1);
}

static bool convert_computed_qlinear(struct rewriter *q, struct node *n)
{
    struct builder b = builder_before(n, q->d);
    if (n->op != OP_qlinear_matmul || !single_constant(n->in[6]) || !single_constant(n->in[7]) ||
        !is_8bit(n->in[7]))
        return true;
    float *factor = factors_of(q, n->in[1], n->in[4], (float)tensor_f64(n->in[6]->constant, 0), 1);
    struct value *y = factor ? emit_computed(q, n, n->in[0], n->in[2], n->in[3], n->in[5]) : NULL;
    if (!y)
        return !diag_failed(q->d);
    y = b_mul(&b, y, constant_scalar(q->g, DT_F32, (double)*factor));
    if (y)
        keep_digits(q, y);
    return y && node_replace(n, b_op(&b, OP_quantize_linear, (struct value *[]){y, one(q), n->in[7]}, 3, NULL));
}

/* Whether all that read v read it in f32. */
static bool read_in_f32(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->node->op != OP_cast || u->node->out[0]->type.dtype != DT_F32)
            return false;
    return true;
}

/* Sums in f32 instead of s32 ones that are read so. */
static void replace_casts(struct value *sums, struct value *with)
{
    for (const struct use *u = sums->uses; u; u = u->next)
        value_replace(u->node->out[0], with); /* the casts are dead */
}

static bool convert_computed_integer(struct rewriter *q, struct node *n)
{
    if (!read_in_f32(n->out[0]))
        return true;
    struct value *y = n->op == OP_matmul_integer && !operand(n, 4)
                          ? emit_computed(q, n, n->in[0], (struct value *)operand(n, 2), n->in[1],
                                          (struct value *)operand(n, 3))
                          : NULL;
    if (!y)
        return !diag_failed(q->d);
    replace_casts(n->out[0], y);
    return true;
}

/* ---- qlinear_conv, qlinear_matmul, conv_integer, matmul_integer ---- */

static bool convert_qlinear(struct rewriter *q, struct node *n)
{
    struct builder b = builder_before(n, q->d);
    struct integer_product p;
    enum op op = n->op == OP_qlinear_conv ? OP_conv_integer : OP_matmul_integer;
    if (!integer_product_of(&p, op, &n->attrs, n->in[0], n->in[2], n->in[3], n->in[5]))
        return convert_computed_qlinear(q, n);
    if (!single_constant(n->in[6]) || !single_constant(n->in[7]) || !is_8bit(n->in[7]))
        return true;
    p.bias = (struct value *)operand(n, 8);
    if (p.bias && (!p.bias->constant || tensor_count(p.bias->constant) != p.out_channels))
        return true;
    float *factors =
        factors_of(q, n->in[1], n->in[4], (float)tensor_f64(n->in[6]->constant, 0), p.out_channels);
    if (!factors)
        return true;
    struct value *sums = is_depthwise(&p) && short_sums(&p) && !integer_weights_fit(&p)
                             ? emit_depthwise(q, n, &p)
                             : emit_integer_product(n, &p, q->d);
    struct value *y = emit_scaled(q, n, sums, &p, factors);
    if (!y)
        return false;
    keep_digits(q, y);
    why(q->o, n, "quantize.product", "an integer product with an epilogue");
    return node_replace(n, b_op(&b, OP_quantize_linear, (struct value *[]){y, one(q), n->in[7]}, 3, NULL));
}

/* Nothing is left to be done: no zero points but a known one of u8 rows. */
static bool is_plain(const struct node *n)
{
    const struct value *zero = operand(n, 2);
    return n->in[0]->type.dtype == DT_U8 && n->in[1]->type.dtype == DT_I8 && n->in[1]->constant &&
           !operand(n, 3) && (!zero || zero->constant);
}

/* The addition of one s32 number per channel that alone reads the sums, or NULL. */
static struct node *added_bias(const struct node *n, const struct integer_product *p)
{
    struct node *add = value_has_one_use(n->out[0]) ? n->out[0]->uses->node : NULL;
    if (!add || add->op != OP_add || add->parent != n->parent || p->bias ||
        !same_type(add->out[0], n->out[0]) || attr_int(p->attrs, "channels_last", 0))
        return NULL;
    const struct type *t = &add->in[add->in[0] == n->out[0]]->type;
    int rank = n->out[0]->type.rank, channel = p->op == OP_conv_integer ? 1 : rank - 1;
    int at = channel - (rank - t->rank); /* of the dim that has all elements */
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != (i == at ? p->out_channels : 1))
            return NULL;
    bool known = p->zero && p->zero->constant; /* then the bias must be */
    return at >= 0 && !known ? add : NULL;
}

static bool convert_integer(struct rewriter *q, struct node *n)
{
    struct integer_product p;
    if (is_plain(n))
        return true;
    if (!integer_product_of(&p, n->op, &n->attrs, n->in[0], (struct value *)operand(n, 2), n->in[1],
                            (struct value *)operand(n, 3)))
        return convert_computed_integer(q, n);
    p.bias = (struct value *)operand(n, 4);
    why(q->o, n, "quantize.sums", "a product of unsigned rows by signed weights");
    if (read_in_f32(n->out[0]) && (!p.bias || p.bias->constant) && sums_in_f32(q, &p)) {
        struct value *y = emit_depthwise(q, n, &p);
        if (y)
            replace_casts(n->out[0], y);
        return y != NULL;
    }
    struct node *add = added_bias(n, &p);
    if (!add)
        return node_replace(n, emit_integer_product(n, &p, q->d));
    struct builder b = builder_before(add, q->d);
    p.bias = b_reshape_to(&b, add->in[add->in[0] == n->out[0]], &p.out_channels, 1);
    struct value *y = p.bias ? emit_integer_product(add, &p, q->d) : NULL;
    if (!y)
        return false;
    y->name = add->out[0]->name;
    value_replace(add->out[0], y); /* nobody reads the sums without it */
    return true;
}

/* ---- products of dequantised operands ---- */

/* Whether the scales of the weights lie along the dim that makes channels. */
static bool scales_fit(const struct node *w, int axis)
{
    int rank = w->in[0]->type.rank;
    int64_t given = attr_int(&w->attrs, "axis", 1);
    return single_constant(w->in[1]) || (given < 0 ? given + rank : given) == axis;
}

/* A constant matrix (output channels, k) as (k, out_channels). */
static struct value *exchanged(struct rewriter *q, const struct value *w)
{
    const struct tensor *t = w->constant;
    struct tensor made = *t;
    int64_t out_channels = t->dims[0], k = t->dims[1];
    const int8_t *from = t->data;
    int8_t *to = made.data = arena_alloc(&q->g->arena, (size_t)(out_channels * k) + 16);
    made.dims[0] = k, made.dims[1] = out_channels;
    made.owned = false;
    for (int64_t o = 0; o < out_channels; o++)
        for (int64_t i = 0; i < k; i++)
            to[i * out_channels + o] = from[o * k + i];
    return constant_new(q->g, &made, w->name);
}

static bool convert_dequantized(struct rewriter *q, struct node *n)
{
    const struct node *x = dequantized(n->in[0]), *w = dequantized(n->in[1]);
    bool conv = n->op == OP_conv, transposed = attr_int(&n->attrs, "trans_b", 0) != 0;
    const struct attrs none = {0}; /* of a matrix product as it has become */
    struct integer_product p;
    if (!x || !w || operand(n, 2) || n->out[0]->type.dtype != DT_F32 ||
        !single_constant(x->in[1]) || !scales_fit(w, conv || transposed ? 0 : 1) ||
        attr_int(&n->attrs, "trans_a", 0) || attr_float(&n->attrs, "alpha", 1) != 1 ||
        (transposed && (!w->in[0]->constant || w->in[0]->type.rank != 2)) ||
        !integer_product_of(&p, conv ? OP_conv_integer : OP_matmul_integer,
                            conv ? &n->attrs : &none, x->in[0], (struct value *)operand(x, 2),
                            transposed ? exchanged(q, w->in[0]) : w->in[0],
                            (struct value *)operand(w, 2)))
        return true;
    float *factors = factors_of(q, x->in[1], w->in[1], 1, p.out_channels);
    if (!factors)
        return true;
    why(q->o, n, "quantize.product", "an integer product with an epilogue");
    return node_replace(n, emit_scaled(q, n, emit_sums(q, n, &p), &p, factors));
}

/* ---- pools ---- */

static bool same_number(const struct value *a, const struct value *b)
{
    return single_constant(a) && single_constant(b) && a->type.dtype == b->type.dtype &&
           tensor_f64(a->constant, 0) == tensor_f64(b->constant, 0);
}

/* quantize_linear(max_pool(dequantize_linear(x))) by one scale and zero point: the greatest of
 * numbers as they are stored. */
static bool convert_pooled(struct rewriter *q, struct node *n)
{
    struct node *pool = n->in[0]->def;
    const struct node *x = dequantized(pool->in[0]);
    if (!x || !value_has_one_use(n->in[0]) || (pool->nout > 1 && pool->out[1]->uses) ||
        !same_number(x->in[1], n->in[1]) || !(tensor_f64(n->in[1]->constant, 0) > 0) ||
        x->in[0]->type.dtype != n->out[0]->type.dtype || !operand(x, 2) != !operand(n, 2) ||
        (operand(n, 2) && !same_number(x->in[2], n->in[2])))
        return true;
    why(q->o, n, "quantize.pool", "the greatest of numbers as they are stored");
    struct builder b = builder_before(n, q->d);
    b.name = pool->name;
    return node_replace(n, b_op(&b, pool->op, x->in, 1, &pool->attrs));
}

/* ---- movement ---- */

/* Elements change places only; how many operands are data. */
static int moved_operands(const struct node *n)
{
    return n->op == OP_concat ? n->nin : n->op == OP_reshape || n->op == OP_transpose ? 1 : 0;
}

/* v quantised like n quantises: before elements are moved, so that bytes are moved, and the
 * producer takes it along. */
static struct value *emit_early(struct rewriter *q, struct node *n, struct value *v, int depth)
{
    struct node *move = v->def;
    int data = move && depth && value_has_one_use(v) && move->parent == n->parent
                   ? moved_operands(move)
                   : 0;
    struct builder b = builder_before(n, q->d);
    if (!data)
        return b_op(&b, OP_quantize_linear, (struct value *[]){v, n->in[1], (struct value *)operand(n, 2)}, n->nin,
                    &n->attrs);
    struct value **in = ARENA_ARRAY(&q->g->arena, struct value *, move->nin);
    for (int i = 0; i < move->nin; i++) {
        in[i] = i < data ? emit_early(q, n, move->in[i], depth - 1) : move->in[i];
        if (i < data && !in[i])
            return NULL;
    }
    b.name = move->name;
    return b_op(&b, move->op, in, move->nin, &move->attrs);
}

static bool convert_quantize(struct rewriter *q, struct node *n)
{
    enum { DEPTH = 16 };
    const struct node *move = n->in[0]->def;
    bool single_zero = !operand(n, 2) || single_constant(operand(n, 2));
    if (!move || !moved_operands(move) || !value_has_one_use(n->in[0]) ||
        !single_constant(n->in[1]) || !single_zero || attr_int(&n->attrs, "block_size", 0))
        return true;
    return node_replace(n, emit_early(q, n, n->in[0], DEPTH));
}

/* ---- the pass ---- */

static bool visit(struct node *n, void *user)
{
    struct rewriter *q = user;
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
    struct rewriter q = {g, o, d};
    if (o->strict_target)
        return true;
    if (!for_each_node(g->main, visit, &q))
        return false;
    remove_dead(g);
    merge_common(g); /* products of the same rows share what was made of them */
    remove_dead(g);
    struct options rest = *o; /* weights of products that stay in f32 are folded now */
    rest.opt_level = 0;
    return pass_fold(g, &rest, d);
}
