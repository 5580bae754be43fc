/* Batch normalisation, written out in the arithmetic XLA expands it to; in f32 at least. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

struct norm {
    struct hlo_lower *l;
    int rank, type; /* type: computed in */
    int64_t feature, axes[HLO_MAX_RANK];
    int naxes;
    int64_t count; /* elements per feature; negative: only running tells */
    double epsilon;
    const int64_t *dims;
};

static void norm_init(struct norm *n, struct hlo_lower *l)
{
    const struct hlo_shape *s = h_in_shape(l, 0);
    int dtype = hlo_type_dtype(s->type);
    *n = (struct norm){.l = l,
                       .rank = s->rank,
                       .type = dtype == DT_F64 ? DT_F64 : DT_F32,
                       .count = 1,
                       .feature = hlo_attr_int(l->i, HLO_ATTR_feature_index),
                       .dims = s->dims};
    const struct hlo_attr *e = hlo_attr(l->i, HLO_ATTR_epsilon);
    n->epsilon = e ? e->f : 0;
    for (int k = 0; k < s->rank; k++)
        if (k != n->feature) {
            n->axes[n->naxes++] = k;
            n->count = n->count < 0 || s->dims[k] < 0 ? -1 : n->count * s->dims[k];
        }
}

static struct value *in(const struct norm *n, int k)
{
    return h_cast(n->l, h_in(n->l, k), n->type);
}

/* A value per feature, broadcast over the others. */
static struct value *wide(const struct norm *n, struct value *v)
{
    int64_t dims[HLO_MAX_RANK];
    for (int k = 0; k < n->rank; k++)
        dims[k] = k == n->feature ? n->dims[k] : 1;
    return h_reshape(n->l, v, dims, n->rank);
}

static struct value *sum(const struct norm *n, struct value *x)
{
    return h_reduce(n->l, OP_reduce_sum, x, n->axes, n->naxes, false);
}

/* Elements per feature. */
static struct value *count(const struct norm *n)
{
    struct builder *b = n->l->b;
    if (n->count >= 0)
        return b_scalar(b, n->type, (double)n->count);
    struct value *all = b_1(b, OP_size, h_in(n->l, 0)), *features = b_1(b, OP_size, h_in(n->l, 1));
    features = b_2(b, OP_max, features, b_scalar(b, DT_I64, 1));
    return h_cast(n->l, b_2(b, OP_div, all, features), n->type);
}

static struct value *mean(const struct norm *n, struct value *x)
{
    struct value *s = sum(n, x);
    return b_2(n->l->b, OP_div, s, count(n));
}

static struct value *inverse_deviation(const struct norm *n, struct value *variance)
{
    return b_1(n->l->b, OP_rsqrt, b_2(n->l->b, OP_add, variance, b_scalar(n->l->b, n->type, n->epsilon)));
}

static struct value *leaf(const struct norm *n, struct value *v, int k)
{
    return h_cast(n->l, v, hlo_type_dtype(hlo_leaf(n->l->i->shape, k)->type));
}

static struct value *normalise(const struct norm *n, struct value *centred, struct value *variance,
                               struct value *scale, struct value *offset)
{
    struct value *factor = b_2(n->l->b, OP_mul, inverse_deviation(n, variance), scale);
    struct value *y = b_2(n->l->b, OP_mul, centred, wide(n, factor));
    return b_2(n->l->b, OP_add, y, wide(n, offset));
}

bool hlo_lower_batch_norm_inference(struct hlo_lower *l)
{
    struct norm n;
    norm_init(&n, l);
    if (b_dtype(h_in(l, 0)) == DT_F32) {
        struct attrs a = {0};
        attr_set_float(&l->b->g->arena, &a, "epsilon", n.epsilon);
        h_set_int(l, &a, "axis", n.feature);
        return h_done(
            l, b_op(l->b, OP_batch_norm,
                    (struct value *[]){h_in(l, 0), h_in(l, 1), h_in(l, 2), h_in(l, 3), h_in(l, 4)},
                    5, &a));
    }
    struct value *x[5];
    for (int k = 0; k < 5; k++)
        x[k] = in(&n, k);
    struct value *centred = b_2(l->b, OP_sub, x[0], wide(&n, x[3]));
    return h_done(l, leaf(&n, normalise(&n, centred, x[4], x[1], x[2]), 0));
}

bool hlo_lower_batch_norm_training(struct hlo_lower *l)
{
    struct norm n;
    norm_init(&n, l);
    struct value *x = in(&n, 0), *m = mean(&n, x), *centred = b_2(l->b, OP_sub, x, wide(&n, m));
    struct value *variance = mean(&n, b_2(l->b, OP_mul, centred, centred));
    struct value *scale = in(&n, 1), *offset = in(&n, 2);
    struct value *y = normalise(&n, centred, variance, scale, offset);
    return h_done_all(l, (struct value *[]){leaf(&n, y, 0), leaf(&n, m, 1), leaf(&n, variance, 2)},
                      3);
}

bool hlo_lower_batch_norm_grad(struct hlo_lower *l)
{
    struct norm n;
    norm_init(&n, l);
    struct value *x = in(&n, 0), *dy = in(&n, 4), *centred = b_2(l->b, OP_sub, x, wide(&n, in(&n, 2)));
    struct value *inverse = inverse_deviation(&n, in(&n, 3)), *offset = sum(&n, dy);
    struct value *along = sum(&n, b_2(l->b, OP_mul, dy, centred));
    struct value *scale = b_2(l->b, OP_mul, along, inverse), *each = count(&n);
    /* dx = scale/deviation (dy - mean dy - centred/variance mean(dy centred)) */
    struct value *a = b_2(l->b, OP_sub, dy, wide(&n, b_2(l->b, OP_div, offset, each)));
    struct value *b = b_2(l->b, OP_mul, inverse, inverse);
    b = b_2(l->b, OP_mul, b, b_2(l->b, OP_div, along, each));
    struct value *dx = b_2(l->b, OP_sub, a, b_2(l->b, OP_mul, centred, wide(&n, b)));
    dx = b_2(l->b, OP_mul, dx, wide(&n, b_2(l->b, OP_mul, in(&n, 1), inverse)));
    return h_done_all(
        l, (struct value *[]){leaf(&n, dx, 0), leaf(&n, scale, 1), leaf(&n, offset, 2)}, 3);
}
