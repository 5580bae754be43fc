/*
 * pass requantize: the scale of a quantisation goes into what it quantises, so that sums of
 * products are scaled, rounded and stored by one instruction. Requires inferred types; runs after
 * quantize.
 *
 *   quantize_linear(sums * a + b, s)            round(sums * (a/s) + b/s) + zero
 *   quantize_linear(dequantized x + y, s)       round(x * (x_scale/s) + (y * (y_scale/s) + c)) +
 * zero
 *
 * Relu and clip before a quantisation are left to its saturation where that does the same. Numbers
 * are those of the plain routines up to the last bit of f32 before rounding, so that a result may
 * differ by one where a value is near the middle between two.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

#include <math.h>

enum { DEPTH = 8 };

struct scaler {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    struct node *at;  /* the quantisation */
    double scale;     /* everything is divided by */
    double offset;    /* to be added, already divided */
    double low, high; /* what the quantisation saturates at, less its zero point */
};

static bool number(const struct value *v, double *out)
{
    if (!single_constant(v))
        return false;
    *out = tensor_f64(v->constant, 0);
    return true;
}

/* A constant divided by the scale. */
static struct value *divided(struct scaler *s, const struct value *c)
{
    double *v = constant_doubles(s->g, c);
    for (int64_t i = 0; i < tensor_count(c->constant); i++)
        v[i] /= s->scale;
    return constant_floats(s->g, DT_F32, c->type.rank, c->constant->dims, v, c->name);
}

static bool is_dequantized(const struct value *v)
{
    const struct node *n = made_by(v, OP_dequantize_linear);
    double unused;
    return n && is_8bit(n->in[0]) && number(n->in[1], &unused) && v->type.dtype == DT_F32 &&
           n->in[1]->type.dtype == DT_F32 && !attr_int(&n->attrs, "block_size", 0) &&
           (n->nin < 3 || !n->in[2] || number(n->in[2], &unused));
}

/* Whether the scale can be divided out of v. */
static bool divisible(const struct scaler *s, const struct value *v, int depth)
{
    const struct node *n = v->def;
    double unused;
    if (v->constant || is_dequantized(v))
        return v->type.dtype == DT_F32;
    if (!n || !depth || v->type.dtype != DT_F32 || !value_has_one_use(v) ||
        n->parent != s->at->parent)
        return false;
    switch (n->op) {
    case OP_mul:
        return n->in[1]->constant || n->in[0]->constant;
    case OP_add:
        return divisible(s, n->in[0], depth - 1) && divisible(s, n->in[1], depth - 1);
    case OP_relu:
        return divisible(s, n->in[0], depth - 1);
    case OP_clip:
        return (n->nin < 2 || !n->in[1] || number(n->in[1], &unused)) &&
               (n->nin < 3 || !n->in[2] || number(n->in[2], &unused)) &&
               divisible(s, n->in[0], depth - 1);
    default:
        return false;
    }
}

static struct value *divide(struct scaler *s, struct value *v);

static struct value *divide_dequantized(struct scaler *s, const struct node *n)
{
    struct builder b = builder_before(s->at, s->d);
    double scale = 1, zero = 0;
    number(n->in[1], &scale);
    if (n->nin > 2 && n->in[2])
        number(n->in[2], &zero);
    s->offset -= zero * scale / s->scale;
    struct value *wide = b_cast(&b, n->in[0], DT_F32);
    struct value *factor = constant_scalar(s->g, DT_F32, scale / s->scale);
    return wide ? b_mul(&b, wide, factor) : NULL;
}

/* The offset collected so far is added to x. */
static struct value *with_offset(struct scaler *s, struct value *x)
{
    struct builder b = builder_before(s->at, s->d);
    double offset = s->offset;
    s->offset = 0;
    if (!x || offset == 0)
        return x;
    return b_add(&b, x, constant_scalar(s->g, DT_F32, offset));
}

static struct value *divide_sum(struct scaler *s, const struct node *n)
{
    struct builder b = builder_before(s->at, s->d);
    struct value *x = divide(s, n->in[0]), *y = x ? divide(s, n->in[1]) : NULL;
    bool constant = n->in[1]->constant || n->in[0]->constant;
    if (y && !constant)
        y = with_offset(s, y);
    return b_add(&b, x, y);
}

/* Whether saturating does what clipping to low..high, of numbers that are then rounded, does. */
static bool saturates(const struct scaler *s, double low, double high)
{
    return low < s->low + 0.5 && high > s->high - 0.5;
}

/* Only the quantisation itself reads v. */
static bool is_last(const struct scaler *s, const struct node *n)
{
    return n->out[0] == s->at->in[0];
}

static struct value *divide_clip(struct scaler *s, const struct node *n)
{
    double low = n->op == OP_relu ? 0 : -INFINITY, high = INFINITY;
    if (n->op == OP_clip && n->nin > 1 && n->in[1])
        number(n->in[1], &low);
    if (n->op == OP_clip && n->nin > 2 && n->in[2])
        number(n->in[2], &high);
    low /= s->scale, high /= s->scale;
    struct value *x = with_offset(s, divide(s, n->in[0]));
    if (!x || (is_last(s, n) && saturates(s, low, high)))
        return x;
    struct builder b = builder_before(s->at, s->d);
    if (n->op == OP_relu)
        return b_1(&b, OP_relu, x);
    b.name = n->name;
    struct value *in[] = {x, constant_scalar(s->g, DT_F32, low),
                          constant_scalar(s->g, DT_F32, high)};
    return b_op(&b, OP_clip, in, 3, NULL);
}

/* v / scale - the offset; divisible() has been asked. */
static struct value *divide(struct scaler *s, struct value *v)
{
    struct builder b = builder_before(s->at, s->d);
    if (v->constant)
        return divided(s, v);
    const struct node *n = v->def;
    if (is_dequantized(v))
        return divide_dequantized(s, n);
    switch (n->op) {
    case OP_mul:
        return n->in[1]->constant ? b_mul(&b, n->in[0], divided(s, n->in[1]))
                                  : b_mul(&b, n->in[1], divided(s, n->in[0]));
    case OP_add:
        return divide_sum(s, n);
    default:
        return divide_clip(s, n);
    }
}

static bool visit(struct node *n, void *user)
{
    struct scaler *s = user;
    double zero = 0;
    s->at = n;
    s->offset = 0;
    if (n->op != OP_quantize_linear || !is_8bit(n->out[0]) || n->in[0]->type.dtype != DT_F32 ||
        n->in[0]->constant || !number(n->in[1], &s->scale) || n->in[1]->type.dtype != DT_F32 ||
        !(s->scale > 0) || !isfinite(s->scale) || attr_int(&n->attrs, "block_size", 0) ||
        attr_find(&n->attrs, "precision") || (n->nin > 2 && n->in[2] && !number(n->in[2], &zero)) ||
        !divisible(s, n->in[0], DEPTH))
        return true;
    bool is_unsigned = n->out[0]->type.dtype == DT_U8;
    s->low = (is_unsigned ? 0 : -128) - zero, s->high = (is_unsigned ? 255 : 127) - zero;
    if (s->scale == 1 && n->in[0]->def->op == OP_mul)
        return true; /* as it would become */
    struct value *x = with_offset(s, divide(s, n->in[0]));
    if (!x)
        return false;
    why(s->o, n, "requantize.scale", "its scale is part of what it quantises");
    node_set_input(n, 0, x);
    node_set_input(n, 1, constant_scalar(s->g, DT_F32, 1));
    return true;
}

bool pass_requantize(struct graph *g, const struct options *o, struct diag *d)
{
    struct scaler s = {.g = g, .o = o, .d = d};
    if (o->strict_target)
        return true;
    if (!for_each_node(g->main, visit, &s))
        return false;
    remove_dead(g);
    return true;
}
