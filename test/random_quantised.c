/*
 * Products of 8-bit operands: types, zero points and padding of every kind, as sums and as 8-bit
 * numbers.
 */
#include "test/random_families.h"

/* A leaf whose bytes are of the whole range. */
static int bytes(struct recipe *r, int kind, int dtype, int rank, const int64_t *dims)
{
    int at = leaf(r, kind, dtype, rank, dims, false);
    if (at < 0)
        return -1;
    struct tensor *t = &r->items[at].value;
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((uint8_t *)t->data)[i] = (uint8_t)random_below(r, 256);
    return at;
}

static int number(struct recipe *r, float v)
{
    int at = leaf(r, ITEM_CONST, DT_F32, 0, NULL, true);
    if (at >= 0)
        *(float *)r->items[at].value.data = v;
    return at;
}

static int u8_or_s8(struct recipe *r)
{
    return random_below(r, 2) ? DT_U8 : DT_I8;
}

/* 8-bit rows: an item, or an input when there is none that fits. */
static int rows_of(struct recipe *r, int min_rank, int max_rank)
{
    int dtype = u8_or_s8(r), found = choose(r, (struct wish){dtype, min_rank, max_rank, EXACT});
    int64_t dims[4] = {1 + random_below(r, 2), 1 + random_below(r, 6), 2 + random_below(r, 6),
                       2 + random_below(r, 6)};
    int rank = min_rank + random_below(r, max_rank - min_rank + 1);
    return found >= 0 && random_below(r, 2) ? found : bytes(r, ITEM_INPUT, dtype, rank, dims);
}

/* A number, one known only when the graph runs, or one for each channel. */
static int zero_point(struct recipe *r, int dtype, bool computed, int64_t channels)
{
    bool each = channels > 0 && random_below(r, 2);
    int kind = computed && !each && random_below(r, 3) == 0 ? ITEM_INPUT : ITEM_CONST;
    return bytes(r, kind, dtype, each, &channels);
}

/* Weights for matrices of x; sometimes computed ones. */
static int columns_for(struct recipe *r, int x, bool *constant)
{
    const struct type t = r->items[x].type;
    int64_t dims[2] = {t.dims[t.rank - 1], 1 + random_below(r, random_below(r, 3) ? 12 : 90)};
    *constant = random_below(r, 3) > 0;
    return bytes(r, *constant ? ITEM_CONST : ITEM_INPUT, u8_or_s8(r), 2, dims);
}

static int filters_for(struct recipe *r, int x, struct attrs *attrs)
{
    const struct type t = r->items[x].type;
    int spatial = t.rank - 2;
    int64_t c = t.dims[1], group = random_below(r, 3) || !c ? 1 : c, w[4], pads[4], strides[2];
    w[0] = group == 1 ? 1 + random_below(r, random_below(r, 3) ? 9 : 70)
                      : group * (1 + random_below(r, 2));
    w[1] = group ? c / group : 0;
    for (int i = 0; i < spatial; i++) {
        w[2 + i] = 1 + random_below(r, 2);
        strides[i] = 1 + random_below(r, 2);
        pads[i] = random_below(r, 2), pads[spatial + i] = random_below(r, 2);
    }
    attr_set_ints(&r->arena, attrs, "strides", strides, spatial);
    attr_set_ints(&r->arena, attrs, "pads", pads, 2 * spatial);
    attr_set_ints(&r->arena, attrs, "kernel_shape", w + 2, spatial);
    attr_set_int(&r->arena, attrs, "group", group);
    return c > 0 ? bytes(r, ITEM_CONST, u8_or_s8(r), t.rank, w) : -1;
}

static int dtype_of(const struct recipe *r, int item)
{
    return r->items[item].type.dtype;
}

/* The sums just made, scaled in f32, and perhaps 8-bit numbers again. */
static bool scaled(struct recipe *r, bool quantised)
{
    struct attrs to = {0};
    int sums = r->n - 1, factor = number(r, 1 / 256.0F);
    attr_set_int(&r->arena, &to, "to", DT_F32);
    if (factor < 0 || !node(r, OP_cast, &sums, 1, &to, EXACT) ||
        !node(r, OP_mul, (int[]){r->n - 1, factor}, 2, NULL, EXACT))
        return true;
    if (random_below(r, 3) == 0)
        node(r, OP_relu, (int[]){r->n - 1}, 1, NULL, EXACT);
    int y = r->n - 1, scale = number(r, 0.5F), zero = bytes(r, ITEM_CONST, u8_or_s8(r), 0, NULL);
    if (quantised && zero >= 0)
        node(r, OP_quantize_linear, (int[]){y, scale, zero}, 3, NULL, EXACT);
    return true;
}

static bool draw_sums(struct recipe *r, enum op op)
{
    bool conv = op == OP_conv_integer, constant = true;
    struct attrs attrs = {0};
    int x = rows_of(r, conv ? 3 : 2, 4), in[5] = {x, -1, -1, -1, -1}, n = 2;
    if (x < 0)
        return false;
    in[1] = conv ? filters_for(r, x, &attrs) : columns_for(r, x, &constant);
    if (in[1] < 0)
        return false;
    int64_t out_channels = r->items[in[1]].type.dims[conv ? 0 : 1];
    if (random_below(r, 3))
        in[2] = zero_point(r, dtype_of(r, x), true, 0), n = 3;
    if (random_below(r, 3))
        in[3] = zero_point(r, dtype_of(r, in[1]), false, out_channels), n = 4;
    if (random_below(r, 4) == 0)
        in[4] = leaf(r, ITEM_CONST, DT_I32, 1, &out_channels, false), n = 5;
    if (!node(r, op, in, n, &attrs, EXACT))
        return false;
    if (random_below(r, 3) == 0) { /* a bias of its own */
        int sums = r->n - 1, rank = r->items[sums].type.rank;
        int64_t dims[4] = {1, 1, 1, 1};
        dims[conv ? 1 : rank - 1] = out_channels;
        int bias = leaf(r, random_below(r, 2) ? ITEM_INPUT : ITEM_CONST, DT_I32, rank, dims, false);
        node(r, OP_add, (int[]){sums, bias}, 2, NULL, EXACT);
    }
    return random_below(r, 4) == 0 || scaled(r, random_below(r, 2));
}

static bool draw_requantised(struct recipe *r, enum op op)
{
    bool conv = op == OP_qlinear_conv, constant = true;
    struct attrs attrs = {0};
    int x = rows_of(r, conv ? 3 : 2, 4);
    int w = x < 0 ? -1 : conv ? filters_for(r, x, &attrs) : columns_for(r, x, &constant);
    if (w < 0)
        return false;
    int64_t out_channels = r->items[w].type.dims[conv ? 0 : 1];
    int in[9] = {x,
                 number(r, 0.5F),
                 zero_point(r, dtype_of(r, x), false, 0),
                 w,
                 number(r, 0.0625F),
                 zero_point(r, dtype_of(r, w), false, constant ? out_channels : 0),
                 number(r, 8),
                 bytes(r, ITEM_CONST, u8_or_s8(r), 0, NULL),
                 -1};
    if (conv && random_below(r, 2))
        in[8] = leaf(r, ITEM_CONST, DT_I32, 1, &out_channels, false);
    return node(r, op, in, in[8] >= 0 ? 9 : 8, &attrs, EXACT);
}

/* The greatest and the least of all elements, of few or many. */
static bool draw_extremes(struct recipe *r, enum op op)
{
    int64_t dims[3] = {1 + random_below(r, 4), 1 + random_below(r, 40), 1 + random_below(r, 100)};
    int found = choose(r, (struct wish){DT_F32, 1, 6, EXACT}),
        x = found >= 0 && random_below(r, 2) ? found : leaf(r, ITEM_INPUT, DT_F32, 3, dims, false);
    struct attrs attrs = {0};
    attr_set_int(&r->arena, &attrs, "keepdims", random_below(r, 2));
    enum op other = op == OP_reduce_max ? OP_reduce_min : OP_reduce_max;
    return x >= 0 && node(r, op, &x, 1, &attrs, EXACT) &&
           (random_below(r, 3) == 0 || node(r, other, &x, 1, &attrs, EXACT));
}

static bool draw_dynamic(struct recipe *r, enum op op)
{
    int x = choose(r, (struct wish){DT_F32, 1, 4, EXACT});
    return x >= 0 && node(r, op, &x, 1, NULL, EXACT);
}

const struct random_family quantised_families[] = {
    {draw_extremes, 1, {OP_reduce_max, OP_reduce_min}},
    {draw_dynamic, 1, {OP_dynamic_quantize_linear}},
    {draw_sums, 3, {OP_matmul_integer, OP_conv_integer}},
    {draw_requantised, 2, {OP_qlinear_matmul, OP_qlinear_conv}},
};
const int quantised_families_count = sizeof quantised_families / sizeof *quantised_families;
