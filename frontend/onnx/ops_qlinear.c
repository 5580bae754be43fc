/*
 * Quantised operators of com.microsoft: dequantise, compute, quantise; integer products with a
 * scale behind them; weights of few bits.
 */
#include "frontend/onnx/ops.h"

#include <string.h>

static struct value *dequantize(struct onnx_node *n, struct value *x, struct value *scale,
                                struct value *zero)
{
    return b_op(n->b, OP_dequantize_linear, (struct value *[]){x, scale, zero}, zero ? 3 : 2, NULL);
}

/* Without a zero point the type is the operands'. */
static struct value *quantize(struct onnx_node *n, struct value *x, struct value *scale,
                              struct value *zero, int dtype)
{
    struct attrs a = {0};
    if (!zero)
        attr_set_int(&n->b->g->arena, &a, "output_dtype", dtype);
    return b_op(n->b, OP_quantize_linear, (struct value *[]){x, scale, zero}, zero ? 3 : 2, &a);
}

bool lower_qlinear_binary(struct onnx_node *n)
{
    enum op op = !strcmp(n->op, "QLinearMul") ? OP_mul : OP_add;
    struct value *a = dequantize(n, n->in[0], n->in[1], n->in[2]),
                 *b = dequantize(n, n->in[3], n->in[4], n->in[5]);
    return b_done(n, quantize(n, b_2(n->b, op, a, b), n->in[6], b_in(n, 7), b_dtype(n->in[0])));
}

bool lower_qlinear_concat(struct onnx_node *n)
{
    int count = (n->nin - 2) / 3;
    struct value **parts = ARENA_ARRAY(&n->b->g->arena, struct value *, count + 1);
    if (n->nin < 5 || (n->nin - 2) % 3)
        return NODE_ERROR(n, "%d inputs, expected 2 and 3 for each tensor", n->nin);
    for (int i = 0; i < count; i++)
        parts[i] = dequantize(n, n->in[2 + 3 * i], n->in[3 + 3 * i], n->in[4 + 3 * i]);
    struct value *y = b_concat(n->b, parts, count, (int)attr_int(&n->attrs, "axis", 0));
    return b_done(n, quantize(n, y, n->in[0], n->in[1], b_dtype(n->in[2])));
}

/* x, scale, zero point, y scale, y zero point around one operator. */
static bool around(struct onnx_node *n, enum op op, const struct attrs *a)
{
    struct value *x = dequantize(n, n->in[0], n->in[1], n->in[2]);
    return b_done(n, quantize(n, b_op(n->b, op, &x, 1, a), n->in[3], b_in(n, 4), b_dtype(n->in[0])));
}

bool lower_qlinear_unary(struct onnx_node *n)
{
    if (!strcmp(n->op, "QLinearSigmoid"))
        return around(n, OP_sigmoid, NULL);
    return around(n, !strcmp(n->op, "QLinearLeakyRelu") ? OP_leaky_relu : OP_average_pool,
                  &n->attrs);
}

/* Before operator set 13 the operand counts as a matrix, split at the axis. A step of the result is one
 * over a whole number, 1 / scale rounded down: so has it ONNX Runtime, whose operator this is. */
bool lower_qlinear_softmax(struct onnx_node *n)
{
    int64_t opset = attr_int(&n->attrs, "opset", 13), axis = attr_int(&n->attrs, "axis", -1);
    struct attrs a = {0};
    struct value *x = dequantize(n, n->in[0], n->in[1], n->in[2]), *y;
    attr_set_int(&n->b->g->arena, &a, "axis", opset < 13 ? 1 : axis);
    if (opset < 13) {
        struct value *flat = b_flatten(n->b, x, (int)axis);
        y = b_reshape_as(n->b, b_op(n->b, OP_softmax, &flat, 1, &a), x);
    } else {
        y = b_op(n->b, OP_softmax, &x, 1, &a);
    }
    struct value *steps = b_1(n->b, OP_floor, b_1(n->b, OP_reciprocal, n->in[3]));
    return b_done(n, quantize(n, y, b_1(n->b, OP_reciprocal, steps), b_in(n, 4), b_dtype(n->in[0])));
}

bool lower_qlinear_global_pool(struct onnx_node *n)
{
    int rank, first = attr_int(&n->attrs, "channels_last", 0) ? 1 : 2;
    int64_t axes[MAX_RANK];
    if (!b_rank(n, n->in[0], "the operand", &rank) || rank < 3)
        return diag_failed(n->b->d) ? false
                                 : NODE_ERROR(n, "operand of rank %d, expected 3 or more", rank);
    for (int i = 0; i < rank - 2; i++)
        axes[i] = i + first;
    struct value *x = dequantize(n, n->in[0], n->in[1], n->in[2]);
    struct value *y = b_reduce(n->b, OP_reduce_mean, x, axes, rank - 2, true);
    return b_done(n, quantize(n, y, n->in[3], b_in(n, 4), b_dtype(n->in[0])));
}

/* ---- integer products ---- */

static struct value *scaled_product(struct onnx_node *n, struct value *const *in,
                                    struct value *scale, struct value *bias)
{
    struct value *y = b_cast(n->b,
                             b_op(n->b, OP_matmul_integer, in,
                                  in[3]   ? 4
                                  : in[2] ? 3
                                          : 2,
                                  NULL),
                             b_dtype(scale));
    y = b_mul(n->b, y, scale);
    return bias ? b_add(n->b, y, bias) : y;
}

/* a, scale, zero point; b likewise, one or one for each column; sums to start from?; scale and zero
 * point of the result, which is a float without them. */
bool lower_qgemm(struct onnx_node *n)
{
    static const int64_t swap[] = {1, 0};
    struct attrs columns = {0};
    struct value *b = n->in[3], *sums = b_in(n, 6), *scale = b_in(n, 7);
    attr_set_int(&n->b->g->arena, &columns, "axis", 1);
    if (attr_int(&n->attrs, "transB", 0))
        b = b_transpose(n->b, b, swap, 2);
    struct value *x = dequantize(n, n->in[0], n->in[1], n->in[2]);
    if (attr_int(&n->attrs, "transA", 0))
        x = b_transpose(n->b, x, swap, 2);
    b = b_op(n->b, OP_dequantize_linear, (struct value *[]){b, n->in[4], n->in[5]}, 3, &columns);
    struct value *y = b_2(n->b, OP_matmul, x, b);
    if (sums) {
        sums = b_cast(n->b, sums, DT_F32);
        y = b_add(n->b, y, b_mul(n->b, sums, b_mul(n->b, n->in[1], n->in[4])));
    }
    double alpha = attr_float(&n->attrs, "alpha", 1);
    if (alpha != 1)
        y = b_mul(n->b, y, b_like(n->b, y, alpha));
    if (scale)
        y = quantize(n, y, scale, b_in(n, 8), b_dtype(n->in[0]));
    return b_done(n, y);
}

/* a, b, a scale, b scale, a zero point?, b zero point?, bias? */
bool lower_matmul_integer_to_float(struct onnx_node *n)
{
    struct value *in[] = {n->in[0], n->in[1], b_in(n, 4), b_in(n, 5)};
    return b_done(n, scaled_product(n, in, b_mul(n->b, n->in[2], n->in[3]), b_in(n, 6)));
}

/* a is quantised by its range; b, b scale, b zero point?, bias? */
bool lower_dynamic_quantize_matmul(struct onnx_node *n)
{
    struct node *q = b_node(n->b, OP_dynamic_quantize_linear, n->in, 1, 3, NULL);
    if (!q)
        return false;
    struct value *in[] = {q->out[0], n->in[1], q->out[2], b_in(n, 3)};
    return b_done(n, scaled_product(n, in, b_mul(n->b, q->out[1], n->in[2]), b_in(n, 4)));
}

/* Scales or zero points of a direction, or of each of its columns, against (directions, inputs,
 * 4 * hidden). */
static struct value *of_directions(struct onnx_node *n, struct value *v)
{
    static const int64_t middle[] = {1};
    return v->type.rank == 2 ? b_unsqueeze(n->b, v, middle, 1)
                             : b_reshape_to(n->b, v, (int64_t[]){-1, 1, 1}, 3);
}

/* x to 8 bits of its range, and back. */
static struct value *rounded(struct onnx_node *n, struct value *x)
{
    struct node *q = b_node(n->b, OP_dynamic_quantize_linear, &x, 1, 3, NULL);
    return q ? dequantize(n, q->out[0], q->out[1], q->out[2]) : NULL;
}

/* Weights of the state, less their zero points, are whole numbers of nine bits, which bf16 has too: their scale, one
 * for each direction, multiplies the state's products instead. False where they have other scales. */
static bool scale_of_state(struct onnx_node *n, struct value *scale)
{
    const struct tensor *t = scale->constant;
    if (!t || t->kind != VK_TENSOR || t->dtype != DT_F32 || t->rank != 1 ||
        n->in[2]->type.rank != 3 || n->in[2]->type.dims[0] != t->dims[0])
        return false;
    int count = (int)tensor_count(t);
    double *v = ARENA_ARRAY(&n->b->g->arena, double, count + 1);
    for (int i = 0; i < count; i++)
        v[i] = tensor_f64(t, i);
    attr_set_floats(&n->b->g->arena, &n->attrs, "state_scales", v, count);
    return true;
}

/* Weights are dequantised once, but for the scale of those of the state; the input as a whole is rounded to 8 bits by
 * its range, and so is the state of each sequence in each step: ONNX Runtime takes as many sequences together as its
 * threads demand. W and R are (directions, inputs, 4 * hidden). */
bool lower_dynamic_quantize_lstm(struct onnx_node *n)
{
    static const int64_t swap[] = {0, 2, 1};
    struct value *in[8] = {rounded(n, n->in[0])};
    for (int k = 0; k < 2; k++) {
        struct value *scale = b_in(n, 8 + 2 * k), *zero = b_in(n, 9 + 2 * k);
        if (!scale || !zero)
            return NODE_ERROR(n, "input %d is left out, this operator needs it",
                              scale ? 9 + 2 * k : 8 + 2 * k);
        struct value *w = b_cast(n->b, n->in[1 + k], DT_F32);
        w = b_sub(n->b, w, b_cast(n->b, of_directions(n, zero), DT_F32));
        w = k == 1 && scale_of_state(n, scale) ? b_cast(n->b, w, DT_BF16) : b_mul(n->b, w, of_directions(n, scale));
        in[1 + k] = b_transpose(n->b, w, swap, 3);
    }
    for (int i = 3; i < 8; i++)
        in[i] = b_in(n, i);
    attr_set_int(&n->b->g->arena, &n->attrs, "round_state", 1);
    attr_set_int(&n->b->g->arena, &n->attrs, "keep_fp32", 1);
    struct node *made = b_node(n->b, OP_lstm, in, 8, 3, &n->attrs);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}

/* ---- weights of few bits ---- */

struct value *rows_of_bytes(struct onnx_node *n, const uint8_t *from, int bits, int64_t rows, int64_t row_bytes,
                            int64_t count)
{
    uint8_t *v = arena_alloc(&n->b->g->arena, (size_t)(rows * count) + 1);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < count; i++) {
            int64_t bit = i * bits;
            v[r * count + i] = from[r * row_bytes + bit / 8] >> bit % 8 & ((1 << bits) - 1);
        }
    const struct tensor t = {.dtype = DT_U8, .rank = 2, .dims = {rows, count}, .data = v};
    return constant_new(n->b->g, &t, NULL);
}

/* The same of a tensor that `what` names. */
static struct value *unpack(struct onnx_node *n, const struct tensor *t, int bits, int64_t rows,
                            int64_t row_bytes, int64_t count, const char *what)
{
    if (tensor_count(t) < rows * row_bytes || row_bytes * 8 < count * bits) {
        NODE_ERROR(n, "%s has %lld bytes, expected %lld", what, (long long)tensor_count(t),
                   (long long)(rows * row_bytes));
        return NULL;
    }
    return rows_of_bytes(n, t->data, bits, rows, row_bytes, count);
}

/* The same of bytes that are computed. */
static struct value *unpack_computed(struct onnx_node *n, struct value *x, int bits, int64_t rows, int64_t row_bytes,
                                     int64_t count)
{
    const int64_t bytes[] = {rows, row_bytes};
    return b_slice(n->b, values_of_bytes(n, b_reshape_to(n->b, x, bytes, 2), 2, bits), 0, count, 1);
}

/* k / block for each k. */
static struct value *groups_in_order(struct onnx_node *n, int64_t k, int64_t block)
{
    int64_t *of = ARENA_ARRAY(&n->b->g->arena, int64_t, k);
    for (int64_t i = 0; of && i < k; i++)
        of[i] = i / block;
    return constant_copy(n->b->g, DT_I64, 1, &k, of, NULL);
}

static bool packed_shape(struct onnx_node *n, int64_t *rows, int64_t *k, int64_t *block, int *bits)
{
    *rows = attr_int(&n->attrs, "N", 0);
    *k = attr_int(&n->attrs, "K", 0);
    *block = attr_int(&n->attrs, "block_size", 0);
    *bits = (int)attr_int(&n->attrs, "bits", 4);
    if (*rows < 1 || *k < 1 || *block < 8 || *rows > INT32_MAX || *k > INT32_MAX ||
        *block > INT32_MAX)
        return NODE_ERROR(n, "attributes N %lld, K %lld, block_size %lld", (long long)*rows,
                          (long long)*k, (long long)*block);
    return *bits == 2 || *bits == 4 || *bits == 8 ||
           NODE_ERROR(n, "attribute 'bits' is %d, expected 2, 4 or 8", *bits);
}

/* a times the transposed (w - zero) * scale, k belonging to the group that g_idx (K) names; no zero: the middle of
 * `bits`. */
static struct value *matmul_of_groups(struct onnx_node *n, struct value *w, struct value *scale, struct value *zero,
                                      struct value *groups, int bits)
{
    static const int64_t swap[] = {1, 0};
    int dtype = b_dtype(scale);
    struct value *real = b_cast(n->b, w, dtype);
    real = b_sub(n->b, real, zero ? b_gather(n->b, b_cast(n->b, zero, dtype), groups, 1)
                                  : b_scalar(n->b, dtype, 1 << (bits - 1)));
    real = b_mul(n->b, real, b_gather(n->b, scale, groups, 1));
    return b_2(n->b, OP_matmul, n->in[0], b_transpose(n->b, real, swap, 2));
}

/* Columns 0 .. k - 1 of rows of bytes. */
static struct value *first_columns(struct onnx_node *n, struct value *w, int64_t k)
{
    int64_t rows = w->constant->dims[0], width = w->constant->dims[1], dims[] = {rows, k};
    const uint8_t *from = w->constant->data;
    if (width == k)
        return w;
    uint8_t *v = arena_alloc(&n->b->g->arena, (size_t)(rows * k) + 1);
    for (int64_t r = 0; r < rows; r++)
        memcpy(v + r * k, from + r * width, (size_t)k);
    return constant_copy(n->b->g, DT_U8, 2, dims, v, NULL);
}

/* The same where weights or zero points are computed: they are unpacked in each run. */
static bool computed_matmul_nbits(struct onnx_node *n, int64_t rows, int64_t k, int64_t block, int bits)
{
    int64_t blocks = (k + block - 1) / block, dims[] = {rows, blocks};
    struct value *zero = b_in(n, 3), *groups = b_in(n, 4), *bias = b_in(n, 5);
    if (b_dtype(n->in[1]) != DT_U8)
        return NODE_ERROR(n, "weights are %s, expected u8", dtype_name(b_dtype(n->in[1])));
    struct value *w = unpack_computed(n, n->in[1], bits, rows, blocks * (block * bits / 8), k);
    struct value *scale = b_reshape_to(n->b, n->in[2], dims, 2);
    if (zero && b_dtype(zero) == DT_U8)
        zero = unpack_computed(n, zero, bits, rows, (blocks * bits + 7) / 8, blocks);
    else if (zero)
        zero = b_reshape_to(n->b, zero, dims, 2);
    struct value *y = matmul_of_groups(n, w, scale, zero, groups ? groups : groups_in_order(n, k, block), bits);
    return b_done(n, bias ? b_add(n->b, y, bias) : y);
}

/* a times the transposed (N,K) weights, which have a scale and a zero point for each block of a
 * row. */
bool lower_matmul_nbits(struct onnx_node *n)
{
    int64_t rows, k, block;
    int bits, dtype = b_dtype(n->in[0]);
    const struct tensor *b = b_constant(b_in(n, 1)), *zeros = b_constant(b_in(n, 3));
    struct value *groups = b_in(n, 4), *bias = b_in(n, 5), *scale = b_in(n, 2), *zero = NULL;
    if (!packed_shape(n, &rows, &k, &block, &bits))
        return false;
    if (!scale || !b_in(n, 1))
        return NODE_ERROR(n, "weights or scales are left out");
    if (!b || (b_in(n, 3) && !zeros))
        return computed_matmul_nbits(n, rows, k, block, bits);
    if (b->dtype != DT_U8)
        return NODE_ERROR(n, "weights are %s, expected u8", dtype_name(b->dtype));
    int64_t blocks = (k + block - 1) / block, dims[] = {rows, blocks};
    struct value *w =
        unpack(n, b, bits, rows, blocks * (block * bits / 8), blocks * block, "the weight");
    if (zeros && zeros->dtype == DT_U8)
        zero = unpack(n, zeros, bits, rows, (blocks * bits + 7) / 8, blocks, "the zero point");
    else if (zeros)
        zero = b_reshape_to(n->b, n->in[3], dims, 2);
    scale = b_reshape_to(n->b, scale, dims, 2);
    if (!w || !scale || (zeros && !zero))
        return false;
    struct value *y;
    if (groups) {
        y = matmul_of_groups(n, first_columns(n, w, k), scale, zero, groups, bits);
    } else {
        struct attrs a = {0};
        attr_set_int(&n->b->g->arena, &a, "block_size", block);
        attr_set_int(&n->b->g->arena, &a, "trans_b", 1);
        attr_set_float(&n->b->g->arena, &a, "zero_point", 1 << (bits - 1));
        if (attr_int(&n->attrs, "accuracy_level", 0) == 4)
            attr_set_int(&n->b->g->arena, &a, "row_bits", 8);
        struct value *in[] = {b_cast(n->b, n->in[0], DT_F32), first_columns(n, w, k),
                              b_cast(n->b, scale, DT_F32), zero ? b_cast(n->b, zero, DT_F32) : NULL};
        y = b_cast(n->b, b_op(n->b, OP_weight_only_matmul, in, zero ? 4 : 3, &a), dtype);
    }
    return b_done(n, bias ? b_add(n->b, y, bias) : y);
}

/* ---- QuantizeLinear, DequantizeLinear: as the standard's, which came to 16 bits later ---- */

bool lower_quantize_contrib(struct onnx_node *n)
{
    return b_done(n, b_op(n->b, core_op("", n->op), n->in, n->nin, &n->attrs));
}
