/*
 * Activations: a product of x and a gate t(x). Whatever the order of the multiplications, the
 * primitives above the gate are a polynomial in x and t, and those inside it a polynomial in x; a
 * row says which.
 */
#include "passes/compose.h"

#include <math.h>

enum { DEGREE = 3, DEPTH = 6, MAX_CANDIDATES = 16 };

struct poly {
    double c[2][DEGREE + 1]; /* c[j][i]: of t^j x^i */
};

static bool multiply(const struct poly *a, const struct poly *b, struct poly *out)
{
    struct poly r = {{{0}}};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            for (int l = 0; l < 2; l++)
                for (int k = 0; k <= DEGREE; k++) {
                    double p = a->c[j][i] * b->c[l][k];
                    if (p == 0)
                        continue;
                    if (j + l > 1 || i + k > DEGREE)
                        return false;
                    r.c[j + l][i + k] += p;
                }
    *out = r;
    return true;
}

static void combine(struct poly *a, double factor, const struct poly *b)
{
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            a->c[j][i] += factor * b->c[j][i];
}

/* v as a polynomial in x and t (which may be NULL); false when it is none of low degree. */
static bool polynomial(const struct value *v, const struct value *x, const struct value *t,
                       int depth, struct poly *out)
{
    struct poly b;
    double number;
    *out = (struct poly){{{0}}};
    if (v == x || (t && v == t)) {
        *(v == x ? &out->c[0][1] : &out->c[1][0]) = 1;
        return true;
    }
    if (constant_number(v, &number)) {
        out->c[0][0] = number;
        return isfinite(number);
    }
    const struct node *n = v->def;
    if (!n || !depth || n->nin < 1 || !n->in[0])
        return false;
    bool both = n->op == OP_add || n->op == OP_sub || n->op == OP_mul;
    if (!both && n->op != OP_div && n->op != OP_pow && n->op != OP_square && n->op != OP_neg)
        return false;
    if (n->op == OP_div || n->op == OP_pow) {
        if (!constant_number(n->in[1], &number) || !polynomial(n->in[0], x, t, depth - 1, &b))
            return false;
        if (n->op == OP_div) {
            combine(out, 1 / number, &b);
            return number != 0;
        }
        *out = b;
        for (int i = 1; i < (int)number; i++)
            if (!multiply(out, &b, out))
                return false;
        return number == 2 || number == 3;
    }
    if (!polynomial(n->in[0], x, t, depth - 1, out))
        return false;
    if (n->op == OP_square)
        return multiply(out, out, out);
    if (n->op == OP_neg) {
        b = *out;
        combine(out, -2, &b);
        return true;
    }
    if (!polynomial(n->in[1], x, t, depth - 1, &b))
        return false;
    if (n->op == OP_mul)
        return multiply(out, &b, out);
    combine(out, n->op == OP_add ? 1 : -1, &b);
    return true;
}

/* Constants are written with six or seven digits, or rounded to a narrow type. */
static double tolerance(const struct value *x)
{
    double unit = ldexp(1, -float_format(x->type.dtype)->man_bits);
    return unit > 1e-6 ? 2 * unit : 4e-6;
}

static bool close_to(double got, double want, double rel)
{
    return fabs(got - want) <= rel * fabs(want);
}

static bool equal(const struct poly *got, const struct poly *want, double rel)
{
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= DEGREE; i++)
            if (!close_to(got->c[j][i], want->c[j][i], rel))
                return false;
    return true;
}

/* ---- gates ---- */

static double limit(const struct node *clip, int i)
{
    double v;
    return i < clip->nin && clip->in[i] && constant_number(clip->in[i], &v) ? v : NAN;
}

static bool gate_any(const struct node *t)
{
    return true;
}
static bool gate_clip_6(const struct node *t)
{
    return limit(t, 1) == 0 && limit(t, 2) == 6;
}
static bool gate_clip_1(const struct node *t)
{
    return limit(t, 1) == 0 && limit(t, 2) == 1;
}
static bool gate_hard_sigmoid(const struct node *t)
{
    return close_to(attr_float(&t->attrs, "alpha", 0.2), 1.0 / 6, 4e-6) &&
           close_to(attr_float(&t->attrs, "beta", 0.5), 0.5, 4e-6);
}

#define ROOT_HALF    0.70710678118654752440
#define ROOT_2_BY_PI 0.79788456080286535588

static const struct {
    enum op becomes, gate;
    bool (*is_gate)(const struct node *t);
    struct poly argument, result;
} rows[] = {
    {OP_gelu, OP_erf, gate_any, {{{0, ROOT_HALF}}}, {{{0, 0.5}, {0, 0.5}}}},
    {OP_gelu, OP_erfc, gate_any, {{{0, -ROOT_HALF}}}, {{{0}, {0, 0.5}}}},
    {OP_gelu_tanh,
     OP_tanh,
     gate_any,
     {{{0, ROOT_2_BY_PI, 0, ROOT_2_BY_PI * 0.044715}}},
     {{{0, 0.5}, {0, 0.5}}}},
    {OP_silu, OP_sigmoid, gate_any, {{{0, 1}}}, {{{0}, {0, 1}}}},
    {OP_hard_swish, OP_hard_sigmoid, gate_hard_sigmoid, {{{0, 1}}}, {{{0}, {0, 1}}}},
    {OP_hard_swish, OP_clip, gate_clip_6, {{{3, 1}}}, {{{0}, {0, 1.0 / 6}}}},
    {OP_hard_swish, OP_clip, gate_clip_1, {{{0.5, 1.0 / 6}}}, {{{0}, {0, 1}}}},
};
enum { NROWS = sizeof rows / sizeof *rows };

struct candidates {
    struct value *v[MAX_CANDIDATES];
    int count;
};

/* Values of that type (its tensors) below v through arithmetic, v included. */
static void collect(struct candidates *c, struct value *v, const struct type *type, int depth)
{
    static const enum op arithmetic[] = {OP_add, OP_sub, OP_mul, OP_div, OP_pow, OP_square, OP_neg};
    for (int i = 0; i < c->count; i++)
        if (c->v[i] == v)
            return;
    if (!v || v->constant || c->count == MAX_CANDIDATES)
        return;
    if (type_equal(&v->type, type))
        c->v[c->count++] = v;
    for (size_t k = 0; v->def && depth && k < sizeof arithmetic / sizeof *arithmetic; k++)
        for (int i = 0; v->def->op == arithmetic[k] && i < v->def->nin; i++)
            collect(c, v->def->in[i], type, depth - 1);
}

/* The operand of softplus, also written log(1 + exp(x)); else NULL. */
static struct value *softplus_of(struct value *v)
{
    struct node *n = v->def, *e = NULL;
    if (!n)
        return NULL;
    if (n->op == OP_softplus)
        return n->in[0];
    if (n->op == OP_log1p)
        e = made_by(n->in[0], OP_exp);
    struct node *sum = n->op == OP_log ? made_by(n->in[0], OP_add) : NULL;
    for (int i = 0; sum && i < 2; i++)
        if (constant_is(sum->in[i], 1))
            e = made_by(sum->in[!i], OP_exp);
    return e && same_type(e->in[0], v) ? e->in[0] : NULL;
}

/* x * tanh(softplus(x)) */
static struct value *mish(struct compose *c, struct node *n, struct node *t)
{
    struct builder b = builder_before(n, c->d);
    struct poly p;
    static const struct poly product = {{{0}, {0, 1}}};
    struct value *x = t->op == OP_tanh ? softplus_of(t->in[0]) : NULL;
    if (!x || !same_type(x, n->out[0]) || !polynomial(n->out[0], x, t->out[0], DEPTH, &p) ||
        !equal(&p, &product, tolerance(x)))
        return NULL;
    return b_1(&b, OP_mish, x);
}

/* x * sigmoid(alpha * x) */
static struct value *swish(struct compose *c, struct node *n, struct node *t, struct value *x)
{
    struct builder b = builder_before(n, c->d);
    struct poly p;
    static const struct poly product = {{{0}, {0, 1}}};
    struct attrs as = {0};
    if (t->op != OP_sigmoid || !polynomial(t->in[0], x, NULL, DEPTH, &p) || p.c[0][0] != 0 ||
        p.c[0][1] == 0 || p.c[0][2] != 0 || p.c[0][3] != 0)
        return NULL;
    attr_set_float(&c->g->arena, &as, "alpha", p.c[0][1]);
    if (!polynomial(n->out[0], x, t->out[0], DEPTH, &p) || !equal(&p, &product, tolerance(x)))
        return NULL;
    return b_op(&b, OP_swish, &x, 1, &as);
}

static struct value *with_gate(struct compose *c, struct node *n, struct node *t)
{
    struct builder b = builder_before(n, c->d);
    struct candidates xs = {.count = 0};
    struct poly p;
    collect(&xs, t->in[0], &n->out[0]->type, DEPTH);
    for (int i = 0; i < xs.count; i++) {
        struct value *x = xs.v[i];
        for (int r = 0; r < NROWS; r++) {
            if (rows[r].gate != t->op || !rows[r].is_gate(t) ||
                !polynomial(t->in[0], x, NULL, DEPTH, &p) ||
                !equal(&p, &rows[r].argument, tolerance(x)))
                continue;
            if (!polynomial(n->out[0], x, t->out[0], DEPTH, &p))
                continue;
            if (equal(&p, &rows[r].result, tolerance(x)))
                return b_1(&b, rows[r].becomes, x);
            if (rows[r].becomes == OP_gelu && n->out[0]->uses->node->op == OP_return)
                why(c->o, n, "compose.gelu-factor", "looks like gelu, but is %g x + %g x erf",
                    p.c[0][1], p.c[1][1]);
        }
        struct value *made = swish(c, n, t, x);
        if (made)
            return made;
    }
    return mish(c, n, t);
}

/* Gates below v, through arithmetic. */
static struct value *search(struct compose *c, struct node *n, struct value *v, int depth)
{
    struct node *t = v->def;
    struct value *made;
    if (!t || v->type.kind != VK_TENSOR)
        return NULL;
    switch (t->op) {
    case OP_erf:
    case OP_erfc:
    case OP_tanh:
    case OP_sigmoid:
    case OP_hard_sigmoid:
    case OP_clip:
        return with_gate(c, n, t);
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_div:
        for (int i = 0; depth && i < 2; i++)
            if ((made = search(c, n, t->in[i], depth - 1)))
                return made;
        return NULL;
    default:
        return NULL;
    }
}

struct value *compose_activation(struct compose *c, struct node *n)
{
    enum { ABOVE = 3 }; /* operators between the root and its gate */
    return dtype_is_float(n->out[0]->type.dtype) ? search(c, n, n->out[0], ABOVE) : NULL;
}

/* 1 / (1 + exp(-x)) */
struct value *compose_sigmoid(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    struct value *a, *x;
    struct node *sum;
    if (!is_reciprocal(n->out[0], &a) || !(sum = made_by(a, OP_add)))
        return NULL;
    for (int i = 0; i < 2; i++) {
        struct node *e = made_by(sum->in[!i], OP_exp);
        struct node *minus = e ? made_by(e->in[0], OP_neg) : NULL;
        double factor;
        if (!constant_is(sum->in[i], 1) || !e)
            continue;
        if (minus)
            x = minus->in[0];
        else if (!is_scaled(e->in[0], &x, &factor) || factor != -1)
            continue;
        return same_type(x, n->out[0]) ? b_1(&b, OP_sigmoid, x) : NULL;
    }
    return NULL;
}

/* min(max(x, low), high) in either order, relu for max(x, 0). */
struct value *compose_clip(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    double outer, inner = 0;
    int at = constant_number(n->in[1], &outer) ? 0 : constant_number(n->in[0], &outer) ? 1 : -1;
    if (at < 0 || !dtype_is_float(n->out[0]->type.dtype) || isnan(outer))
        return NULL;
    struct value *v = n->in[at], *x = NULL;
    struct node *first = v->def;
    if (first && n->op == OP_min && first->op == OP_relu)
        x = first->in[0];
    else if (first && first->op == (n->op == OP_min ? OP_max : OP_min))
        for (int i = 0; i < 2 && !x; i++)
            if (constant_number(first->in[i], &inner))
                x = first->in[!i];
    double low = n->op == OP_min ? inner : outer, high = n->op == OP_min ? outer : inner;
    if (!x || !same_type(x, n->out[0]) || !(low <= high))
        return NULL;
    int dtype = x->type.dtype;
    struct value *in[] = {x, constant_scalar(c->g, dtype, low), constant_scalar(c->g, dtype, high)};
    return b_op(&b, OP_clip, in, 3, NULL);
}

/* clip(x + 3, 0, 6) / 6 */
struct value *compose_hard_sigmoid(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    struct value *v;
    double factor;
    if (!is_scaled(n->out[0], &v, &factor) || !close_to(factor, 1.0 / 6, tolerance(v)))
        return NULL;
    struct node *clip = made_by(v, OP_clip), *sum = clip ? made_by(clip->in[0], OP_add) : NULL;
    for (int i = 0; sum && gate_clip_6(clip) && i < 2; i++) {
        if (!constant_is(sum->in[i], 3) || !same_type(sum->in[!i], n->out[0]))
            continue;
        struct attrs as = {0};
        attr_set_float(&c->g->arena, &as, "alpha", 1.0 / 6);
        attr_set_float(&c->g->arena, &as, "beta", 0.5);
        return b_op(&b, OP_hard_sigmoid, &sum->in[!i], 1, &as);
    }
    return NULL;
}
