/*
 * Products of floats of 16 bits (and of 32, which a cast makes so) with what usually follows them in one kernel:
 * biases, residuals, scales, activations, roundings to another type and back, pools; and what is computed in FP32 and
 * rounded.
 */
#include "test/random_families.h"

enum { MAX_TAIL = 4 };

static int float_type(struct recipe *r)
{
    static const int types[] = {DT_BF16, DT_BF16, DT_F16, DT_F16, DT_F32};
    return types[random_below(r, 5)];
}

/* Weights of a sum of n products, by a power of two smaller so that sums stay small. */
static int weights(struct recipe *r, int dtype, int rank, const int64_t *dims, int64_t n)
{
    int at = leaf(r, random_below(r, 8) ? ITEM_CONST : ITEM_INPUT, dtype, rank, dims, false);
    if (at < 0)
        return -1;
    double factor = 1;
    while (factor * factor * (double)n > 1)
        factor /= 2;
    struct tensor *t = &r->items[at].value;
    for (int64_t i = 0; i < tensor_count(t); i++)
        dtype_store_f64(dtype, t->data, (size_t)i, factor * tensor_f64(t, i));
    return at;
}

/* ---- what follows a product ---- */

static int last(const struct recipe *r)
{
    return r->n - 1;
}

/* A value for each channel (dimension `axis`), of the same type. */
static int by_channel(struct recipe *r, int a, int axis, bool positive)
{
    const struct type t = r->items[a].type;
    int64_t dims[MAX_RANK];
    for (int i = axis; i < t.rank; i++)
        dims[i - axis] = i == axis ? t.dims[i] : 1;
    return leaf(r, random_below(r, 6) ? ITEM_CONST : ITEM_INPUT, t.dtype, t.rank - axis, dims, positive);
}

static bool tail_two(struct recipe *r, enum op op, int a, int b)
{
    const bool turned = random_below(r, 2);
    return b >= 0 && node(r, op, turned ? (int[]){b, a} : (int[]){a, b}, 2, NULL, 0);
}

static bool tail_residual(struct recipe *r, int a)
{
    const struct type t = r->items[a].type;
    int b = choose(r, (struct wish){t.dtype, t.rank, t.rank, 0});
    for (int i = 0; b >= 0 && i < t.rank; i++)
        if (r->items[b].type.dims[i] != t.dims[i])
            b = -1;
    if (b < 0 || b == a)
        b = leaf(r, ITEM_INPUT, t.dtype, t.rank, t.dims, false);
    static const enum op ops[] = {OP_add, OP_add, OP_add, OP_mul, OP_sub, OP_max};
    return tail_two(r, ops[random_below(r, 6)], a, b);
}

static bool tail_activation(struct recipe *r, int a)
{
    static const enum op ops[] = {OP_relu, OP_silu,       OP_gelu,         OP_sigmoid, OP_tanh,      OP_leaky_relu,
                                  OP_neg,  OP_hard_swish, OP_hard_sigmoid, OP_square,  OP_gelu_tanh, OP_abs};
    return node(r, ops[random_below(r, 12)], &a, 1, NULL, 0);
}

static bool tail_clip(struct recipe *r, int a)
{
    const int dtype = r->items[a].type.dtype;
    int low = leaf(r, ITEM_CONST, dtype, 0, NULL, true), high = leaf(r, ITEM_CONST, dtype, 0, NULL, true);
    if (low < 0 || high < 0)
        return false;
    dtype_store_f64(dtype, r->items[low].value.data, 0, random_below(r, 2) ? 0 : -1.5);
    dtype_store_f64(dtype, r->items[high].value.data, 0, 3);
    return node(r, OP_clip, (int[]){a, low, high}, 3, NULL, 0);
}

/* To another type, and perhaps back. */
static bool tail_cast(struct recipe *r, int a)
{
    static const int types[] = {DT_F32, DT_BF16, DT_F16};
    const int from = r->items[a].type.dtype, to = types[random_below(r, 3)];
    struct attrs there = {0}, back = {0};
    attr_set_int(&r->arena, &there, "to", to);
    attr_set_int(&r->arena, &back, "to", from);
    if (!node(r, OP_cast, &a, 1, &there, 0))
        return false;
    a = last(r);
    return random_below(r, 2) || node(r, OP_cast, &a, 1, &back, 0);
}

static bool tail_pool(struct recipe *r, int a)
{
    const struct type t = r->items[a].type;
    if (t.rank != 4)
        return false;
    int64_t kernel[2], strides[2], pads[4];
    for (int i = 0; i < 2; i++) {
        kernel[i] = 2 + random_below(r, 2), strides[i] = 1 + random_below(r, 2);
        pads[i] = random_below(r, 2), pads[2 + i] = random_below(r, 2);
        if (t.dims[2 + i] < 3)
            return false;
    }
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "kernel_shape", kernel, 2);
    attr_set_ints(&r->arena, &attrs, "strides", strides, 2);
    attr_set_ints(&r->arena, &attrs, "pads", pads, 4);
    return node(r, random_below(r, 2) ? OP_max_pool : OP_average_pool, &a, 1, &attrs, 0);
}

/* A few operators after item `a`, whose channels are dimension `axis`. */
static bool draw_tail(struct recipe *r, int a, int axis)
{
    const int n = random_below(r, MAX_TAIL + 1);
    const struct type t = r->items[a].type;
    for (int i = 0; i < n; i++) {
        bool made = false;
        switch (random_below(r, 8)) {
        case 0: made = tail_two(r, OP_add, a, by_channel(r, a, axis, false)); break;
        case 1: made = tail_two(r, OP_mul, a, by_channel(r, a, axis, false)); break;
        case 2:
        case 3: made = tail_residual(r, a); break;
        case 4: made = tail_clip(r, a); break;
        case 5: made = tail_cast(r, a); break;
        case 6: made = tail_pool(r, a); break;
        default: made = tail_activation(r, a);
        }
        if (made)
            a = last(r);
        if (r->items[a].type.rank != t.rank || r->n > MAX_ITEMS - 8)
            break;
    }
    return true;
}

/* ---- products ---- */

static int rows_of(struct recipe *r, int dtype, int rank, const int64_t *dims)
{
    int found = choose(r, (struct wish){dtype, rank, rank, 0});
    return found >= 0 && random_below(r, 2) ? found : leaf(r, ITEM_INPUT, dtype, rank, dims, false);
}

static bool draw_narrow_conv(struct recipe *r, enum op op)
{
    static const int channels[] = {1, 2, 3, 4, 8, 16, 17, 24, 32, 64};
    const int dtype = float_type(r);
    int64_t dims[4] = {1 + random_below(r, 2), channels[random_below(r, 10)], 3 + random_below(r, 14),
                       3 + random_below(r, 14)};
    int x = rows_of(r, dtype, 4, dims);
    if (x < 0 || r->items[x].type.dims[1] < 1)
        return false;
    const int64_t c = r->items[x].type.dims[1], group = random_below(r, 5) ? 1 : c;
    const bool usual = random_below(r, 3) > 0; /* 3x3, stride 1, the image's size stays */
    int64_t w[4] = {group == 1 ? channels[random_below(r, 10)] : c, c / group, 3, 3}, strides[2] = {1, 1};
    int64_t pads[4] = {1, 1, 1, 1}, dilations[2] = {1, 1};
    for (int i = 0; !usual && i < 2; i++) {
        w[2 + i] = 1 + random_below(r, 4), strides[i] = 1 + random_below(r, 2);
        pads[i] = random_below(r, 3), pads[2 + i] = random_below(r, 3), dilations[i] = 1 + random_below(r, 6) / 5;
    }
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "strides", strides, 2);
    attr_set_ints(&r->arena, &attrs, "pads", pads, 4);
    attr_set_ints(&r->arena, &attrs, "dilations", dilations, 2);
    attr_set_ints(&r->arena, &attrs, "kernel_shape", w + 2, 2);
    attr_set_int(&r->arena, &attrs, "group", group);
    for (int i = 0; i < 2; i++)
        if (r->items[x].type.dims[2 + i] < (w[2 + i] - 1) * dilations[i] + 1)
            return false;
    int in[3] = {x, weights(r, dtype, 4, w, w[1] * w[2] * w[3]), -1}, n = 2;
    if (random_below(r, 2))
        in[n++] = leaf(r, ITEM_CONST, dtype, 1, w, false);
    return node(r, op, in, n, &attrs, 0) && draw_tail(r, last(r), 1);
}

static bool draw_narrow_product(struct recipe *r, enum op op)
{
    static const int sizes[] = {1, 2, 5, 8, 15, 16, 31, 32, 33, 64, 100, 129};
    const int dtype = float_type(r), rank = 2 + random_below(r, 2);
    int64_t dims[3] = {1 + random_below(r, 3), sizes[random_below(r, 12)], sizes[random_below(r, 12)]};
    int x = rows_of(r, dtype, rank, dims + 3 - rank);
    if (x < 0)
        return false;
    const struct type t = r->items[x].type;
    const int64_t k = t.dims[t.rank - 1], n = sizes[random_below(r, 12)];
    const bool turned = random_below(r, 2), batched = t.rank == 3 && random_below(r, 4) == 0;
    int64_t w[3] = {t.dims[0], turned ? n : k, turned ? k : n};
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "trans_b", turned);
    int b = k < 1 ? -1 : weights(r, dtype, batched ? 3 : 2, batched ? w : w + 1, k);
    return b >= 0 && node(r, op, (int[]){x, b}, 2, &attrs, 0) && draw_tail(r, last(r), t.rank - 1);
}

/* ---- computed in FP32, rounded once ---- */

static int any_narrow(struct recipe *r, int min_rank)
{
    const int dtype = random_below(r, 2) ? DT_F16 : DT_BF16;
    int64_t dims[4] = {1 + random_below(r, 2), 2 + 2 * random_below(r, 8), 3 + random_below(r, 9),
                       4 + random_below(r, 40)};
    return rows_of(r, dtype, min_rank > 2 ? 4 : 2 + random_below(r, 3), dims);
}

static bool draw_narrow_axis(struct recipe *r, enum op op)
{
    int a = any_narrow(r, 2);
    if (a < 0)
        return false;
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "axis", random_below(r, 2) ? -1 : random_below(r, r->items[a].type.rank));
    return node(r, op, &a, 1, &attrs, 0);
}

static bool draw_narrow_reduce(struct recipe *r, enum op op)
{
    int a = any_narrow(r, 2);
    if (a < 0)
        return false;
    int64_t axis = random_below(r, r->items[a].type.rank);
    struct attrs attrs = {0};
    attr_set_ints(&r->arena, &attrs, "axes", &axis, 1);
    attr_set_int(&r->arena, &attrs, "keepdims", random_below(r, 2));
    return node(r, op, &a, 1, &attrs, 0);
}

static bool draw_narrow_norm(struct recipe *r, enum op op)
{
    const bool by_group = op == OP_group_norm || op == OP_instance_norm || op == OP_batch_norm;
    int a = any_narrow(r, by_group ? 4 : 2);
    if (a < 0)
        return false;
    const struct type t = r->items[a].type;
    const int64_t n = t.dims[by_group ? 1 : t.rank - 1];
    int in[5] = {a}, nin = op == OP_batch_norm ? 5 : by_group || (op == OP_layer_norm && random_below(r, 2)) ? 3 : 2;
    for (int i = 1; i < nin; i++)
        in[i] = leaf(r, ITEM_CONST, t.dtype, 1, &n, i == 4);
    struct attrs attrs = {0};
    if (op == OP_group_norm)
        attr_set_int(&r->arena, &attrs, "num_groups", n % 2 == 0 ? 2 : 1);
    return n >= 4 && node(r, op, in, nin, &attrs, 0);
}

const struct random_family narrow_families[] = {
    {draw_narrow_conv, 6, {OP_conv}},
    {draw_narrow_product, 6, {OP_matmul}},
    {draw_narrow_axis, 1, {OP_softmax, OP_log_softmax}},
    {draw_narrow_reduce, 1, {OP_reduce_sum, OP_reduce_mean, OP_reduce_max, OP_reduce_l2, OP_reduce_log_sum_exp}},
    {draw_narrow_norm, 2, {OP_layer_norm, OP_rms_norm, OP_group_norm, OP_instance_norm, OP_batch_norm}},
};
const int narrow_families_count = sizeof narrow_families / sizeof *narrow_families;
