/*
 * Normalisations. A row is divided by the root of its variance (layer) or mean square (RMS) first;
 * scale and bias are taken in when the multiplication and the addition after it are reached.
 */
#include "passes/compose.h"

#include <math.h>

/* v is sqrt(a). */
static bool is_root(const struct value *v, struct value **a)
{
    struct node *n = v->def;
    if (!n || (n->op != OP_sqrt && n->op != OP_pow))
        return false;
    *a = n->in[0];
    return n->op == OP_sqrt || (constant_is(n->in[1], 0.5) && same_type(*a, v));
}

/* v is 1 / sqrt(a). */
static bool is_inverse_root(const struct value *v, struct value **a)
{
    struct value *root;
    struct node *n = v->def;
    if (n && n->op == OP_rsqrt)
        *a = n->in[0];
    else if (n && n->op == OP_pow && constant_is(n->in[1], -0.5) && same_type(n->in[0], v))
        *a = n->in[0];
    else
        return is_reciprocal(v, &root) && is_root(root, a);
    return true;
}

/* a is var + epsilon. */
static struct value *take_epsilon(struct value *a, double *epsilon)
{
    struct node *n = made_by(a, OP_add);
    *epsilon = 0;
    for (int i = 0; n && i < 2; i++)
        if (constant_number(n->in[i], epsilon) && same_type(n->in[!i], a))
            return n->in[!i];
    return a;
}

/* c is x - mean(x). */
static struct value *centred(struct value *c, struct composed_reduction *mean)
{
    struct node *n = made_by(c, OP_sub);
    bool is = n && same_type(n->in[0], c) && is_mean(n->in[1], mean) && mean->x == n->in[0];
    return is ? n->in[0] : NULL;
}

struct statistics {
    struct value *x; /* what is normalised */
    bool has_mean;   /* its mean is subtracted */
    struct composed_reduction over;
    double epsilon;
};

/* mean(x^2) - mean(x)^2 */
static bool is_moment_difference(const struct value *var, struct value *x, struct composed_reduction *over)
{
    struct node *n = made_by(var, OP_sub);
    struct composed_reduction first;
    struct value *mean = n ? square_root_of(n->in[1]) : NULL;
    return mean && is_mean(mean, &first) && first.x == x && is_mean(n->in[0], over) &&
           square_root_of(over->x) == x && same_axes(&first, over);
}

/* c divided by the root of a, a being a statistic of c (or of what c was centred from). */
static bool find_statistics(struct value *c, struct value *a, struct statistics *s)
{
    struct composed_reduction mean;
    struct value *var = take_epsilon(a, &s->epsilon), *x = centred(c, &mean);
    s->has_mean = false;
    if (x && is_moment_difference(var, x, &s->over)) {
        s->x = x, s->has_mean = same_axes(&mean, &s->over);
        return s->has_mean;
    }
    if (!is_mean(var, &s->over))
        return false;
    struct value *squared = square_root_of(s->over.x);
    struct composed_reduction again;
    struct value *other = squared && x ? centred(squared, &again) : NULL;
    s->has_mean = x && other == x && same_axes(&mean, &s->over) && same_axes(&again, &s->over);
    s->x = s->has_mean ? x : c;
    return s->has_mean || squared == c;
}

/* Elements of a row when known, else 0. */
static int64_t row_length(const struct type *x, int rows_from, int64_t *dims)
{
    int64_t n = 1;
    for (int i = rows_from; i < x->rank; i++) {
        if (!dim_is_const(x->dims[i]) || x->dims[i] < 1 || x->dims[i] > 1 << 24)
            return 0;
        dims[i - rows_from] = x->dims[i];
        n *= x->dims[i];
        if (n > 1 << 24)
            return 0;
    }
    return n;
}

/* A constant of one number: of the row's shape when that is known, else of one element. */
static struct value *filled(struct compose *c, const struct type *x, int rows_from, double number)
{
    int64_t dims[MAX_RANK] = {1}, n = row_length(x, rows_from, dims);
    int rank = n ? x->rank - rows_from : 1;
    double *v = ARENA_ARRAY(&c->g->arena, double, n ? n : 1);
    for (int64_t i = 0; i < (n ? n : 1); i++)
        v[i] = number;
    return constant_floats(c->g, x->dtype, rank, dims, v, NULL);
}

static struct value *emit_norm(struct compose *c, struct node *n, const struct statistics *s)
{
    struct builder b = builder_before(n, c->d);
    int count = trailing_axes(&s->over);
    const struct type *t = &s->x->type;
    if (!count) {
        why(c->o, n, "compose.norm-axes", "looks like a normalisation, but not over the last dims");
        return NULL;
    }
    if (!dtype_is_float(t->dtype) || !same_type(s->x, n->out[0]))
        return NULL;
    struct attrs as = {0};
    attr_set_int(&c->g->arena, &as, "axis", -count);
    attr_set_float(&c->g->arena, &as, "epsilon", s->epsilon);
    struct value *in[] = {s->x, filled(c, t, t->rank - count, 1)};
    return b_op(&b, s->has_mean ? OP_layer_norm : OP_rms_norm, in, 2, &as);
}

/* c / sqrt(a), c * (1 / sqrt(a)) */
struct value *compose_norm(struct compose *c, struct node *n)
{
    struct statistics s;
    struct value *a;
    for (int i = 0; i < (n->op == OP_mul ? 2 : 1); i++) {
        bool divided = n->op == OP_div ? is_root(n->in[1], &a) : is_inverse_root(n->in[!i], &a);
        if (divided && find_statistics(n->in[i], a, &s)) {
            if (value_count_uses(n->in[n->op == OP_div ? 1 : !i]) == 1)
                return emit_norm(c, n, &s);
            why(c->o, n, "compose.norm-shared",
                "is a normalisation whose statistics others need too: they are not computed twice");
            return NULL;
        }
        struct node *sum = n->op == OP_div ? made_by(n->in[1], OP_add) : NULL;
        for (int k = 0; sum && k < 2; k++)
            if (is_root(sum->in[k], &a) && find_statistics(n->in[0], a, &s))
                why(c->o, n, "compose.norm-epsilon",
                    "looks like a normalisation, but epsilon is added outside the root");
    }
    return NULL;
}

/* v spans rows of y: its trimmed dims are the row's, or it is one number. A constant of the row's
 * shape, or v. */
static struct value *row_operand(struct compose *c, struct value *v, const struct type *y,
                                 int rows_from)
{
    double number;
    int rank = y->rank - rows_from, extra = v->type.rank - rank;
    if (v->type.kind != VK_TENSOR || v->type.dtype != y->dtype)
        return NULL;
    if (constant_number(v, &number))
        return filled(c, y, rows_from, number);
    if (extra < 0)
        return NULL;
    for (int i = 0; i < v->type.rank; i++)
        if (v->type.dims[i] != (i < extra ? 1 : y->dims[rows_from + i - extra]))
            return NULL;
    if (extra == 0)
        return v;
    if (!v->constant)
        return NULL;
    struct tensor t =
        tensor_view(v->type.dtype, rank, v->constant->dims + extra, v->constant->data);
    return constant_new(c->g, &t, v->name);
}

static int first_row_dim(const struct node *norm)
{
    int64_t axis = attr_int(&norm->attrs, "axis", -1);
    return (int)(axis < 0 ? axis + norm->in[0]->type.rank : axis);
}

/* layer_norm(x, 1) * scale */
struct value *compose_norm_scale(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    for (int i = 0; i < 2; i++) {
        struct node *norm = made_by(n->in[i], OP_layer_norm);
        norm = norm ? norm : made_by(n->in[i], OP_rms_norm);
        if (!norm || norm->nin != 2 || norm->nout != 1 || !constant_is(norm->in[1], 1) ||
            !same_type(norm->out[0], n->out[0]))
            continue;
        if (!value_has_one_use(norm->out[0])) {
            why(c->o, n, "compose.norm-shared",
                "the normalisation without its scale is needed too");
            continue;
        }
        struct value *scale = row_operand(c, n->in[!i], &norm->in[0]->type, first_row_dim(norm));
        if (!scale) {
            why(c->o, n, "compose.norm-scale",
                "the factor is not one value for each place of a row");
            continue;
        }
        struct value *in[] = {norm->in[0], scale};
        return b_op(&b, norm->op, in, 2, &norm->attrs);
    }
    return NULL;
}

/* layer_norm(x, scale) + bias */
struct value *compose_norm_bias(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    for (int i = 0; i < 2; i++) {
        struct node *norm = made_by(n->in[i], OP_layer_norm);
        if (!norm || norm->nin != 2 || norm->nout != 1 || !same_type(norm->out[0], n->out[0]) ||
            !value_has_one_use(norm->out[0]))
            continue;
        struct value *bias = row_operand(c, n->in[!i], &norm->in[0]->type, first_row_dim(norm));
        struct value *in[] = {norm->in[0], norm->in[1], bias};
        if (bias)
            return b_op(&b, OP_layer_norm, in, 3, &norm->attrs);
    }
    return NULL;
}

/* x * k + (bias - mean * k), with k = scale / sqrt(var + epsilon) */
struct value *compose_norm_folded(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    for (int i = 0; i < 2; i++) {
        struct node *xk = made_by(n->in[i], OP_mul), *rest = made_by(n->in[!i], OP_sub);
        struct node *mk = rest ? made_by(rest->in[1], OP_mul) : NULL;
        for (int p = 0; xk && mk && p < 4; p++) {
            struct value *x = xk->in[p & 1], *k = xk->in[!(p & 1)], *mean = mk->in[p >> 1], *a;
            struct statistics s = {.x = x, .has_mean = true};
            struct composed_reduction m, again;
            struct node *ks = made_by(k, OP_mul);
            if (mk->in[!(p >> 1)] != k || !ks || !is_mean(mean, &m) || m.x != x)
                continue;
            int at = is_inverse_root(ks->in[0], &a) ? 1 : is_inverse_root(ks->in[1], &a) ? 0 : -1;
            struct value *var = at < 0 ? NULL : take_epsilon(a, &s.epsilon), *squared;
            if (!var || !is_mean(var, &s.over) || !(squared = square_root_of(s.over.x)) ||
                centred(squared, &again) != x || !same_axes(&m, &s.over) || !same_axes(&again, &m))
                continue;
            struct value *plain = emit_norm(c, n, &s);
            if (!plain)
                return NULL;
            struct node *norm = plain->def;
            int rows_from = first_row_dim(norm);
            struct value *scale = row_operand(c, ks->in[at], &x->type, rows_from);
            struct value *bias = row_operand(c, rest->in[0], &x->type, rows_from);
            struct value *in[] = {x, scale, bias};
            return scale && bias ? b_op(&b, OP_layer_norm, in, 3, &norm->attrs)
                                 : NULL;
        }
    }
    return NULL;
}

/* ---- group normalisation, written as instance normalisation of groups seen as channels ---- */

/* The numbers of a constant of `groups` elements, each repeated for the channels of its group. */
static struct value *repeated(struct compose *c, const struct value *v, int64_t groups,
                              int64_t channels)
{
    if (!v->constant || tensor_count(v->constant) != groups)
        return NULL;
    double *from = constant_doubles(c->g, v), *to = ARENA_ARRAY(&c->g->arena, double, channels);
    for (int64_t i = 0; i < channels; i++)
        to[i] = from[i / (channels / groups)];
    return constant_floats(c->g, v->type.dtype, 1, &channels, to, NULL);
}

/* reshape(instance_norm(reshape(x))) */
struct value *compose_group_norm(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    struct node *norm = made_by(n->in[0], OP_instance_norm);
    struct node *before = norm ? made_by(norm->in[0], OP_reshape) : NULL;
    if (!before || attr_int(&norm->attrs, "channels_last", 0))
        return NULL;
    struct value *x = before->in[0];
    const struct type *t = &x->type, *seen = &before->out[0]->type;
    if (!same_type(x, n->out[0]) || t->rank < 3 || seen->rank < 3 || t->dims[0] != seen->dims[0] ||
        !dim_is_const(t->dims[1]) || !dim_is_const(seen->dims[1]) || seen->dims[1] < 1 ||
        t->dims[1] < 1 || t->dims[1] > 1 << 24 || t->dims[1] % seen->dims[1]) {
        why(c->o, n, "compose.group_norm-shape",
            "the reshapes around do not make groups of channels");
        return NULL;
    }
    struct value *in[] = {x, repeated(c, norm->in[1], seen->dims[1], t->dims[1]),
                          repeated(c, norm->in[2], seen->dims[1], t->dims[1])};
    if (!in[1] || !in[2])
        return NULL;
    struct attrs as = {0};
    attr_set_int(&c->g->arena, &as, "num_groups", seen->dims[1]);
    attr_set_float(&c->g->arena, &as, "epsilon", attr_float(&norm->attrs, "epsilon", 1e-5));
    return b_op(&b, OP_group_norm, in, 3, &as);
}

/* Numbers for each channel (dim 1 of y) from a constant that broadcasts along it, else NULL. */
static double *per_channel(struct compose *c, const struct value *v, const struct type *y)
{
    double number, *from;
    int64_t channels = y->dims[1];
    int lead = y->rank - v->type.rank;
    if (!v->constant || v->type.dtype != y->dtype || lead < 0)
        return NULL;
    bool uniform = constant_number(v, &number);
    for (int i = 0; i < v->type.rank && !uniform; i++)
        if (v->type.dims[i] != (i + lead == 1 ? channels : 1))
            return NULL;
    if (!uniform && lead > 1)
        return NULL;
    double *to = ARENA_ARRAY(&c->g->arena, double, channels);
    from = constant_doubles(c->g, v);
    for (int64_t i = 0; i < channels; i++)
        to[i] = uniform ? number : from[i];
    return to;
}

/* group_norm(x, scale, bias) followed by * or + with a constant for each channel */
static struct value *into_group(struct compose *c, struct node *n, bool multiply)
{
    struct builder b = builder_before(n, c->d);
    for (int i = 0; i < 2; i++) {
        struct node *norm = made_by(n->in[i], OP_group_norm);
        if (!norm || !value_has_one_use(norm->out[0]) || !same_type(norm->out[0], n->out[0]) ||
            !norm->in[1]->constant || !norm->in[2]->constant ||
            attr_int(&norm->attrs, "channels_last", 0))
            continue;
        double *v = per_channel(c, n->in[!i], &n->out[0]->type);
        int64_t channels = n->out[0]->type.dims[1];
        if (!v || !dim_is_const(channels) || tensor_count(norm->in[1]->constant) != channels ||
            tensor_count(norm->in[2]->constant) != channels)
            continue;
        double *scale = constant_doubles(c->g, norm->in[1]),
               *bias = constant_doubles(c->g, norm->in[2]);
        for (int64_t k = 0; k < channels; k++) {
            scale[k] *= multiply ? v[k] : 1;
            bias[k] = multiply ? bias[k] * v[k] : bias[k] + v[k];
        }
        int dtype = n->out[0]->type.dtype;
        struct value *in[] = {norm->in[0], constant_floats(c->g, dtype, 1, &channels, scale, NULL),
                              constant_floats(c->g, dtype, 1, &channels, bias, NULL)};
        return b_op(&b, OP_group_norm, in, 3, &norm->attrs);
    }
    return NULL;
}

struct value *compose_group_scale(struct compose *c, struct node *n)
{
    return into_group(c, n, true);
}
struct value *compose_group_bias(struct compose *c, struct node *n)
{
    return into_group(c, n, false);
}
