#include "passes/integer_product.h"
#include "passes/pass.h"

#include <string.h>

bool single_8bit(const struct value *v)
{
    if (!is_8bit(v))
        return false;
    for (int i = 0; i < v->type.rank; i++)
        if (v->type.dims[i] != 1)
            return false;
    return true;
}

/* Pads of a convolution are numbers, not a rule. */
static bool explicit_pads(const struct attrs *a)
{
    return !attr_is(a, "auto_pad", "SAME_UPPER") && !attr_is(a, "auto_pad", "SAME_LOWER");
}

bool integer_product_of(struct integer_product *p, enum op op, const struct attrs *attrs,
                        struct value *x, struct value *zero, struct value *w, struct value *w_zero)
{
    bool conv = op == OP_conv_integer;
    *p = (struct integer_product){
        .op = op, .x = x, .zero = zero, .w = w, .w_zero = w_zero, .attrs = attrs};
    if (!is_8bit(x) || !is_8bit(w) || !w->constant || (zero && !single_8bit(zero)) ||
        (w_zero && !w_zero->constant) || tensor_count(w->constant) == 0)
        return false;
    if (conv ? w->type.rank < 3 || w->type.rank > 4 || x->type.rank != w->type.rank
             : w->type.rank != 2 || x->type.rank < 2)
        return false;
    if (conv && zero && !zero->constant &&
        (!explicit_pads(attrs) || attr_int(attrs, "channels_last", 0)))
        return false;
    const int64_t *dims = w->constant->dims;
    p->out_channels = conv ? dims[0] : dims[1];
    p->inner = conv ? tensor_count(w->constant) / dims[0] : 1;
    int64_t zeros = w_zero ? tensor_count(w_zero->constant) : 1;
    return zeros == 1 || zeros == p->out_channels;
}

static int64_t channel_of(const struct integer_product *p, int64_t i)
{
    return i / p->inner % p->out_channels;
}

static int64_t weight_zero(const struct integer_product *p, int64_t channel)
{
    const struct tensor *z = p->w_zero ? p->w_zero->constant : NULL;
    return z ? tensor_i64(z, tensor_count(z) == 1 ? 0 : channel) : 0;
}

static bool is_s8(int64_t v)
{
    return v >= INT8_MIN && v <= INT8_MAX;
}

bool integer_weights_fit(const struct integer_product *p)
{
    const struct tensor *w = p->w->constant;
    for (int64_t i = 0; i < tensor_count(w); i++)
        if (!is_s8(tensor_i64(w, i) - weight_zero(p, channel_of(p, i))))
            return false;
    return true;
}

/* ---- weights ---- */

static struct value *s8_weights(struct graph *g, const struct value *like, int8_t *data)
{
    struct tensor made = *like->constant;
    made.data = data;
    made.dtype = DT_I8;
    made.owned = false;
    return constant_new(g, &made, like->name);
}

/*
 * w - zero = made + excess[channel]: no excess where that difference is s8. Alike for all channels
 * whose zero point is the same. Returns whether there is any.
 */
static bool shift_weights(const struct integer_product *p, int8_t *made, int32_t *excess)
{
    const struct tensor *w = p->w->constant;
    int64_t n = tensor_count(w), middle = w->dtype == DT_U8 ? 128 : 0;
    bool any = false, one_zero = !p->w_zero || tensor_count(p->w_zero->constant) == 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t channel = channel_of(p, i), zero = weight_zero(p, channel);
        if (!is_s8(tensor_i64(w, i) - zero))
            excess[channel] = (int32_t)(middle - zero), any = true;
    }
    for (int64_t o = 0; o < p->out_channels && any && one_zero; o++)
        excess[o] = (int32_t)(middle - weight_zero(p, 0));
    for (int64_t i = 0; i < n; i++) {
        int64_t channel = channel_of(p, i);
        made[i] = (int8_t)(tensor_i64(w, i) - weight_zero(p, channel) - excess[channel]);
    }
    return any;
}

/* Weights of ones: one channel, or as many as there are where each sees rows of its own. */
static struct value *ones_like(struct graph *g, const struct integer_product *p)
{
    bool conv = p->op == OP_conv_integer, one = !conv || attr_int(p->attrs, "group", 1) == 1;
    struct tensor shape = *p->w->constant;
    if (one)
        shape.dims[conv ? 0 : 1] = 1;
    size_t n = (size_t)tensor_count(&shape);
    shape.data = memset(arena_alloc(&g->arena, n + 16), 1, n);
    shape.dtype = DT_I8;
    shape.owned = false;
    return constant_new(g, &shape, p->w->name);
}

/* One s32 number per channel, as an operand beside the sums; a single one when they are alike. */
static struct value *per_channel(struct graph *g, const struct integer_product *p, const int32_t *v)
{
    int64_t dims[MAX_RANK] = {p->out_channels, 1, 1, 1};
    bool first = p->op == OP_conv_integer && !attr_int(p->attrs, "channels_last", 0), same = true;
    for (int64_t o = 1; o < p->out_channels; o++)
        same &= v[o] == v[0];
    return constant_copy(g, DT_I32, same ? 0 : first ? p->x->type.rank - 1 : 1, dims, v, NULL);
}

/* ---- rows ---- */

struct value *emit_centred(struct node *at, struct value *x, struct value *zero, struct diag *d)
{
    struct builder b = builder_before(at, d);
    struct value *in[] = {x, constant_scalar(at->parent->graph, DT_F32, 1), zero};
    if (zero && !zero->constant) {
        zero = b_cast(&b, zero, DT_F32);
        return b_sub(&b, zero ? b_cast(&b, x, DT_F32) : NULL, zero);
    }
    return b_op(&b, OP_dequantize_linear, in, zero ? 3 : 2, NULL);
}

/* s8 as u8: 128 more. */
static struct value *made_unsigned(struct node *at, struct value *x, struct diag *d)
{
    struct builder b = builder_before(at, d);
    struct graph *g = at->parent->graph;
    struct value *wide = emit_centred(at, x, NULL, d);
    struct value *in[] = {wide, constant_scalar(g, DT_F32, 1), constant_scalar(g, DT_U8, 128)};
    return wide ? b_op(&b, OP_quantize_linear, in, 3, NULL) : NULL;
}

/* The rows' image with its pads around it; *attrs are then those of a product without pads. */
static struct value *padded(struct node *at, struct value *x, struct value *zero,
                            struct attrs *attrs, struct diag *d)
{
    struct builder b = builder_before(at, d);
    struct graph *g = at->parent->graph;
    int count, spatial = x->type.rank - 2;
    const int64_t *v = attr_ints(attrs, "pads", &count);
    int64_t pads[2 * MAX_RANK] = {0}, none[2 * MAX_RANK] = {0};
    bool any = false;
    for (int i = 0; i < spatial && count == 2 * spatial; i++) {
        pads[2 + i] = v[i], pads[x->type.rank + 2 + i] = v[spatial + i];
        any |= v[i] || v[spatial + i];
    }
    if (!any || attr_is(attrs, "auto_pad", "VALID"))
        return x;
    attr_set_ints(&g->arena, attrs, "pads", none, count);
    struct value *in[] = {x, constant_i64s(g, pads, 2 * x->type.rank), zero};
    return b_op(&b, OP_pad, in, 3, NULL);
}

/* The bias plus the zero point, a computed one, times the negated sums of the weights. */
static struct value *bias_of(struct node *at, const struct integer_product *p, struct diag *d)
{
    struct builder b = builder_before(at, d);
    struct graph *g = at->parent->graph;
    const struct tensor *w = p->w->constant;
    uint32_t *sums = ARENA_ARRAY(&g->arena, uint32_t, p->out_channels);
    memset(sums, 0, sizeof *sums * (size_t)p->out_channels);
    for (int64_t i = 0; i < tensor_count(w); i++) {
        int64_t channel = channel_of(p, i);
        sums[channel] -= (uint32_t)(tensor_i64(w, i) - weight_zero(p, channel));
    }
    struct value *factor = constant_copy(g, DT_I32, 1, &p->out_channels, sums, p->w->name);
    struct value *zero = b_cast(&b, p->zero, DT_I32);
    if (zero && p->zero->type.dtype == DT_I8)
        zero = b_add(&b, zero, constant_scalar(g, DT_I32, 128));
    struct value *v = zero ? b_mul(&b, zero, factor) : NULL;
    return v && p->bias ? b_add(&b, v, p->bias) : v;
}

/* ---- the product ---- */

static struct value *product(struct node *at, const struct integer_product *p, struct value *w,
                             const struct attrs *attrs, struct value *bias, struct diag *d)
{
    struct builder b = builder_before(at, d);
    struct value *in[] = {p->x, w, p->zero, NULL, bias};
    return b_op(&b, p->op, in, bias ? 5 : p->zero ? 3 : 2, attrs);
}

struct value *emit_integer_product(struct node *at, const struct integer_product *given,
                                   struct diag *d)
{
    struct builder b = builder_before(at, d);
    struct graph *g = at->parent->graph;
    struct integer_product p = *given;
    struct attrs attrs = attrs_copy(&g->arena, given->attrs);
    bool is_signed = p.x->type.dtype == DT_I8, computed = p.zero && !p.zero->constant;
    int8_t *w = arena_alloc(&g->arena, (size_t)tensor_count(p.w->constant) + 16);
    int32_t *excess = ARENA_ARRAY(&g->arena, int32_t, p.out_channels);
    memset(excess, 0, sizeof *excess * (size_t)p.out_channels);
    bool shifted = shift_weights(&p, w, excess);
    if (computed) {
        p.bias = bias_of(at, &p, d);
        if (!p.bias)
            return NULL;
        if (p.op == OP_conv_integer)
            p.x = padded(at, p.x, p.zero, &attrs, d);
        p.zero = NULL;
    } else if (is_signed) {
        p.zero = constant_scalar(g, DT_U8,
                                 (double)(128 + (p.zero ? tensor_i64(p.zero->constant, 0) : 0)));
    }
    if (is_signed && p.x)
        p.x = made_unsigned(at, p.x, d);
    struct value *y = p.x ? product(at, &p, s8_weights(g, p.w, w), &attrs, p.bias, d) : NULL;
    if (!y || !shifted)
        return y;
    struct value *rows = product(at, &p, ones_like(g, &p), &attrs, NULL, d);
    rows = rows ? b_mul(&b, rows, per_channel(g, &p, excess)) : NULL;
    return rows ? b_add(&b, y, rows) : NULL;
}

/* ---- what becomes one ---- */

const struct node *dequantized(const struct value *v)
{
    const struct node *n = made_by(v, OP_dequantize_linear);
    bool f32 = n && n->in[1]->type.dtype == DT_F32 && n->out[0]->type.dtype == DT_F32;
    return f32 && is_8bit(n->in[0]) && attr_int(&n->attrs, "block_size", 0) == 0 ? n : NULL;
}

bool is_integer_weight(const struct options *o, const struct node *n)
{
    if (o->opt_level == 0 || o->strict_target || n->op != OP_dequantize_linear ||
        !dequantized(n->out[0]) || !n->out[0]->uses)
        return false;
    for (const struct use *u = n->out[0]->uses; u; u = u->next)
        if ((u->node->op != OP_conv && u->node->op != OP_matmul && u->node->op != OP_gemm) ||
            u->index != 1 || !dequantized(u->node->in[0]))
            return false;
    return true;
}
