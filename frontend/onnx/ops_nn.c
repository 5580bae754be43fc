/* Softmax before opset 13, normalisations, global pools, dropout. */
#include "frontend/onnx/ops.h"

#include <string.h>

/* Below opset 13 the operand is seen as a matrix, split at `axis`. */
bool lower_softmax_flat(struct onnx_node *n)
{
    struct value *x = n->in[0];
    enum op op = core_op("", n->op);
    int64_t axis = attr_int(&n->attrs, "axis", 1);
    int rank = x->type.kind == VK_TENSOR ? x->type.rank : RANK_UNKNOWN;
    struct attrs a = {0};
    if (rank > 0 && (axis == rank - 1 || axis == -1)) {
        attr_set_int(&n->b->g->arena, &a, "axis", -1);
        return b_done(n, b_op(n->b, op, &x, 1, &a));
    }
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    struct value *flat = b_flatten(n->b, x, (int)axis);
    return b_done(n, b_reshape_as(n->b, b_op(n->b, op, &flat, 1, &a), x));
}

/* Old models could keep statistics per element instead of per channel: plain arithmetic. */
static struct value *normalise_elements(struct onnx_node *n)
{
    struct value *x = n->in[0], *scale = n->in[1], *bias = n->in[2], *mean = n->in[3],
                 *var = n->in[4];
    struct value *eps = b_like(n->b, x, attr_float(&n->attrs, "epsilon", 1e-5f));
    struct value *inv = b_1(n->b, OP_reciprocal, b_1(n->b, OP_sqrt, b_add(n->b, var, eps)));
    return b_add(n->b, b_mul(n->b, b_mul(n->b, b_sub(n->b, x, mean), inv), scale), bias);
}

bool lower_batch_norm(struct onnx_node *n)
{
    struct attrs a = {0};
    bool train = n->version >= 14 ? attr_int(&n->attrs, "training_mode", 0) != 0 : n->nout > 1;
    for (int i = 0; i < 5; i++)
        if (!b_in(n, i))
            return NODE_ERROR(n, "input %d is left out, this operator needs it", i);
    attr_set_float(&n->b->g->arena, &a, "epsilon", attr_float(&n->attrs, "epsilon", 1e-5f));
    if (n->version < 9 && !attr_int(&n->attrs, "spatial", 1))
        return train ? NODE_ERROR(
                           n, "training with 'spatial' = 0 is not supported; export for inference")
                     : b_done(n, normalise_elements(n));
    if (!train)
        return b_done(n, b_op(n->b, OP_batch_norm, n->in, 5, &a));
    attr_set_float(&n->b->g->arena, &a, "momentum", attr_float(&n->attrs, "momentum", 0.9f));
    struct node *made = b_node(n->b, OP_batch_norm_train, n->in, 5, 3, &a);
    for (int i = 0; made && i < n->nout && i < 3; i++)
        n->out[i] = made->out[i];
    for (int i = 3; made && i < n->nout; i++)
        if (n->wanted[i])
            return NODE_ERROR(
                n, "output %d (saved statistics) is not supported; export for inference", i);
    return made != NULL;
}

/* One scale and bias for each group, as operator set 18 had it: repeated for the group's channels.
 */
bool lower_group_norm_18(struct onnx_node *n)
{
    int64_t groups = attr_int(&n->attrs, "num_groups", 1), column[] = {-1, 1}, flat[] = {-1};
    struct value *in[3] = {n->in[0]};
    if (groups < 1)
        return NODE_ERROR(n, "attribute 'num_groups' is %lld, expected 1 or more",
                          (long long)groups);
    struct value *per = b_div(n->b, b_dim(n->b, n->in[0], 1), b_i64(n->b, groups));
    struct value *shape = b_concat(n->b, (struct value *[]){b_i64(n->b, groups), per}, 2, 0);
    for (int i = 1; i < 3; i++)
        in[i] = b_reshape_to(n->b, b_2(n->b, OP_expand, b_reshape_to(n->b, n->in[i], column, 2), shape),
                             flat, 1);
    return b_done(n, b_op(n->b, OP_group_norm, in, 3, &n->attrs));
}

/* In FP32, where x has 16 bits: their squares, and powers, are no numbers of such a type. */
static struct value *in_full(struct onnx_node *n, struct value *x)
{
    return dtype_is_short_float(b_dtype(x)) ? b_cast(n->b, x, DT_F32) : x;
}

/* The mean of squares less the squared mean is the mean of the squares of what is centred, and that is not negative. */
static bool normalise(struct onnx_node *n, const int64_t *axes, int count)
{
    struct value *x = in_full(n, n->in[0]);
    struct value *centred = b_sub(n->b, x, b_reduce(n->b, OP_reduce_mean, x, axes, count, true));
    struct value *variance = b_reduce(n->b, OP_reduce_mean, b_mul(n->b, centred, centred), axes, count, true);
    struct value *deviation = b_1(n->b, OP_sqrt, variance);
    struct value *y = b_div(n->b, centred, b_add(n->b, deviation, b_like(n->b, x, 1e-9)));
    return b_done(n, b_cast(n->b, y, b_dtype(n->in[0])));
}

bool lower_mean_variance(struct onnx_node *n)
{
    static const int64_t usual[] = {0, 2, 3};
    int count;
    const int64_t *axes = attr_ints(&n->attrs, "axes", &count);
    bool given = attr_find(&n->attrs, "axes") != NULL;
    const struct type *x = &n->in[0]->type;
    if (x->rank == 0)
        return NODE_ERROR(n, "the operand is a scalar, expected rank 1 or more");
    int there = 0; /* of the usual axes; all of them in an operand of unknown rank */
    while (there < 3 && (x->rank < 0 || usual[there] < x->rank))
        there++;
    return normalise(n, given ? axes : usual, given ? count : there);
}

/*
 * The experimental form: over rows and columns of each image, or over its channels too. The
 * function of operator set 9 was there a release before its number; without the old attributes it
 * is meant.
 */
bool lower_mean_variance_1(struct onnx_node *n)
{
    if (!attr_find(&n->attrs, "across_channels") && !attr_find(&n->attrs, "normalize_variance"))
        return lower_mean_variance(n);
    static const int64_t image[] = {1, 2, 3};
    bool across = attr_int(&n->attrs, "across_channels", 0) != 0;
    const int64_t *axes = across ? image : image + 1;
    int count = across ? 3 : 2;
    if (attr_int(&n->attrs, "normalize_variance", 1))
        return normalise(n, axes, count);
    return b_done(n, b_sub(n->b, n->in[0], b_reduce(n->b, OP_reduce_mean, n->in[0], axes, count, true)));
}

/* Axes 2 and up of an operand of known rank. */
static bool spatial_axes(struct onnx_node *n, int64_t axes[MAX_RANK], int *count)
{
    int rank;
    if (!b_rank(n, n->in[0], "the operand", &rank))
        return false;
    if (rank < 2)
        return NODE_ERROR(n, "operand of rank %d, expected 2 or more (batch, channels, ...)", rank);
    *count = rank - 2;
    for (int i = 0; i < *count; i++)
        axes[i] = i + 2;
    return true;
}

bool lower_global_pool(struct onnx_node *n)
{
    int64_t axes[MAX_RANK];
    int count;
    enum op op = !strcmp(n->op, "GlobalMaxPool") ? OP_reduce_max : OP_reduce_mean;
    if (!spatial_axes(n, axes, &count))
        return false;
    return b_done(n, count ? b_reduce(n->b, op, n->in[0], axes, count, true)
                           : b_1(n->b, OP_identity, n->in[0]));
}

bool lower_global_lp_pool(struct onnx_node *n)
{
    int64_t axes[MAX_RANK];
    int count;
    double p = attr_float(&n->attrs, "p", (double)attr_int(&n->attrs, "p", 2));
    struct value *x = n->in[0];
    if (!spatial_axes(n, axes, &count))
        return false;
    if (!count)
        return b_done(n, b_1(n->b, OP_abs, x));
    if (p == 1 || p == 2)
        return b_done(n, b_reduce(n->b, p == 1 ? OP_reduce_l1 : OP_reduce_l2, x, axes, count, true));
    x = in_full(n, x);
    struct value *powers = b_2(n->b, OP_pow, b_1(n->b, OP_abs, x), b_like(n->b, x, p));
    struct value *sum = b_reduce(n->b, OP_reduce_sum, powers, axes, count, true);
    return b_done(n, b_cast(n->b, b_2(n->b, OP_pow, sum, b_like(n->b, x, 1 / p)), b_dtype(n->in[0])));
}

/* p was a float, and the kernel could be left to the imagination. */
bool lower_lp_pool_1(struct onnx_node *n)
{
    double p = attr_float(&n->attrs, "p", 2);
    if (!attr_find(&n->attrs, "kernel_shape"))
        return NODE_ERROR(n, "attribute 'kernel_shape' is missing, this operator needs it");
    if (p != (double)(int64_t)p)
        return NODE_ERROR(n, "attribute 'p' is %g, expected a whole number", p);
    attr_remove(&n->attrs, "p");
    attr_set_int(&n->b->g->arena, &n->attrs, "p", (int64_t)p);
    return lower_same(n);
}

/* Whether the operand is absent, or a constant of value zero. */
static bool known_false(const struct value *v)
{
    const struct tensor *t = b_constant(v);
    return !v || (t && tensor_count(t) == 1 && tensor_f64(t, 0) == 0);
}

/* Inference passes everything through; the mask is all true. */
static bool pass_through(struct onnx_node *n)
{
    n->out[0] = b_1(n->b, OP_identity, n->in[0]);
    if (n->nout > 1 && n->wanted[1]) {
        struct value *yes = b_scalar(n->b, n->version >= 10 ? DT_BOOL : b_dtype(n->in[0]), 1);
        n->out[1] = b_2(n->b, OP_expand, yes, b_shape(n->b, n->in[0]));
    }
    return !diag_failed(n->b->d);
}

bool lower_dropout(struct onnx_node *n)
{
    if (n->version < 12 || known_false(b_in(n, 2)) || (b_in(n, 1) && known_false(b_in(n, 1))))
        return pass_through(n);
    struct node *made = b_node(n->b, OP_dropout, n->in, n->nin, 2, &n->attrs);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}

static bool all_zero(const struct value *v)
{
    const struct tensor *t = b_constant(v);
    for (int64_t i = 0, many = t ? tensor_count(t) : 1; i < many; i++)
        if (!t || tensor_f64(t, i) != 0)
            return false;
    return true;
}

static bool all_positive(const struct value *v)
{
    const struct tensor *t = b_constant(v);
    for (int64_t i = 0, many = t ? tensor_count(t) : 1; i < many; i++)
        if (!t || tensor_f64(t, i) <= 0)
            return false;
    return true;
}

/* The last state of a sequence without steps is 0 in ONNX Runtime, whatever it began with. */
static void clear_empty_sequences(struct onnx_node *n, struct value *lengths, bool batch_first)
{
    static const int64_t beside[2][2] = {{0, 2}, {1, 2}};
    struct value *some = b_2(n->b, OP_gt, lengths, b_like(n->b, lengths, 0));
    some = b_unsqueeze(n->b, some, beside[batch_first], 2);
    for (int i = 5; i < 7; i++)
        if (b_in(n, i) && !all_zero(n->in[i]))
            n->in[i] = b_op(n->b, OP_where, (struct value *[]){some, n->in[i], b_like(n->b, n->in[i], 0)}, 3, NULL);
}

bool lower_recurrent(struct onnx_node *n)
{
    bool batch_first = attr_int(&n->attrs, "layout", 0) != 0;
    attr_remove(&n->attrs, "output_sequence"); /* which results are wanted says it already */
    if (attr_is(&n->attrs, "direction", "foward"))
        attr_set_str(&n->b->g->arena, &n->attrs, "direction", "forward");
    if (b_in(n, 4)) {
        if (!all_positive(n->in[4]) && (b_in(n, 5) || b_in(n, 6)))
            clear_empty_sequences(n, n->in[4], batch_first);
        struct value *steps = b_dim(n->b, n->in[0], batch_first);
        n->in[4] = b_2(n->b, OP_sequence_lengths, n->in[4], steps);
    }
    return lower_same(n);
}

/* Before the attribute existed, regions were not shifted by half a pixel. */
bool lower_roi_align_10(struct onnx_node *n)
{
    attr_set_str(&n->b->g->arena, &n->attrs, "coordinate_transformation_mode", "output_half_pixel");
    return lower_same(n);
}

bool lower_grid_sample_16(struct onnx_node *n)
{
    if (attr_is(&n->attrs, "mode", "bilinear"))
        attr_set_str(&n->b->g->arena, &n->attrs, "mode", "linear");
    else if (attr_is(&n->attrs, "mode", "bicubic"))
        attr_set_str(&n->b->g->arena, &n->attrs, "mode", "cubic");
    return lower_same(n);
}

/* The axis was an attribute, and 1 by default. */
bool lower_dft_17(struct onnx_node *n)
{
    attr_set_int(&n->b->g->arena, &n->attrs, "axis", attr_int(&n->attrs, "axis", 1));
    return lower_same(n);
}
