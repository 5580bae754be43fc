/*
 * Operators of com.microsoft that quantisers and older exporters write: tables and weights of few bits,
 * quantised forms of operators of the standard, and operators that the standard has under the same name.
 */
#include "frontend/onnx/ops.h"

#include <math.h>
#include <string.h>

/* ---- tables of few bits ---- */

struct value *values_of_bytes(struct onnx_node *n, struct value *x, int rank, int bits)
{
    int64_t last = rank, shape[MAX_RANK];
    struct value *parts[8];
    struct attrs right = {0};
    if (bits == 8)
        return x;
    attr_set_str(&n->b->g->arena, &right, "direction", "RIGHT");
    for (int i = 0; i < 8 / bits; i++) {
        struct value *shift[] = {x, b_scalar(n->b, DT_U8, i * bits)};
        struct value *part = i ? b_op(n->b, OP_bit_shift, shift, 2, &right) : x;
        part = b_2(n->b, OP_and, part, b_scalar(n->b, DT_U8, (1 << bits) - 1));
        parts[i] = b_unsqueeze(n->b, part, &last, 1);
    }
    for (int i = 0; i < rank; i++)
        shape[i] = i == rank - 1 ? -1 : 0;
    return b_reshape_to(n->b, b_concat(n->b, parts, 8 / bits, rank), shape, rank);
}

/* data, indices, scales, zero points?: rows are looked up as they are stored, then dequantised by blocks. */
bool lower_gather_block_quantized(struct onnx_node *n)
{
    int rank, at, blocked, indices;
    int64_t bits = attr_int(&n->attrs, "bits", 4), block = attr_int(&n->attrs, "block_size", 128);
    struct value *x = n->in[0], *scale = n->in[2], *zero = b_in(n, 3);
    bool bytes = b_dtype(x) == DT_U8;
    struct attrs a = {0};
    if (!b_rank(n, x, "the data", &rank) || !b_rank(n, n->in[1], "the indices", &indices) ||
        !b_axis(n, attr_int(&n->attrs, "gather_axis", 0), rank, &at) ||
        !b_axis(n, attr_int(&n->attrs, "quantize_axis", 1), rank, &blocked))
        return false;
    if (block < 1 || block > INT32_MAX || (bytes && bits != 4 && bits != 8) || rank + indices > MAX_RANK)
        return NODE_ERROR(n, "attributes bits %lld and block_size %lld", (long long)bits, (long long)block);
    if (at == blocked || (bytes && blocked != rank - 1))
        return NODE_ERROR(n, "blocks along dim %d of %d, rows along dim %d: expected another dim than that of rows%s",
                          blocked, rank, at, bytes ? ", the last one" : "");
    int made = rank - 1 + indices;
    x = b_gather(n->b, x, n->in[1], at), scale = b_gather(n->b, scale, n->in[1], at);
    zero = zero ? b_gather(n->b, zero, n->in[1], at) : NULL;
    if (bytes) {
        x = values_of_bytes(n, x, made, (int)bits);
        zero = zero ? values_of_bytes(n, zero, made, (int)bits) : NULL;
    }
    if (bytes && !zero)
        zero = b_2(n->b, OP_expand, b_scalar(n->b, DT_U8, (double)(1 << (bits - 1))), b_shape(n->b, scale));
    attr_set_int(&n->b->g->arena, &a, "axis", blocked > at ? blocked + indices - 1 : blocked);
    attr_set_int(&n->b->g->arena, &a, "block_size", block);
    struct value *in[] = {x, scale, zero};
    return b_done(n, b_op(n->b, OP_dequantize_linear, in, zero ? 3 : 2, &a));
}

/* What the 16 codes of bitsandbytes mean, times the largest magnitude of their block. */
static const float codes[2][16] = {
    {0, 5.208333333e-03f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -5.208333333e-03f,
     -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
     -0.18477343022823334f, -0.09105003625154495f, 0, 0.07958029955625534f, 0.16093020141124725f,
     0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
     0.7229568362236023f, 1},
};

/* a times the transposed (N,K) weights, which are codes of 4 bits, the first of a byte in its high bits. */
bool lower_matmul_bnb4(struct onnx_node *n)
{
    int64_t rows = attr_int(&n->attrs, "N", 0), k = attr_int(&n->attrs, "K", 0);
    int64_t block = attr_int(&n->attrs, "block_size", 0), type = attr_int(&n->attrs, "quant_type", 0);
    const struct tensor *w = b_constant(n->in[1]), *largest = b_constant(n->in[2]);
    struct attrs a = {0};
    if (rows < 1 || k < 1 || block < 1 || rows > INT32_MAX || k > INT32_MAX || block > INT32_MAX ||
        (type != 0 && type != 1))
        return NODE_ERROR(n, "attributes N %lld, K %lld, block_size %lld, quant_type %lld", (long long)rows,
                          (long long)k, (long long)block, (long long)type);
    if (!w || w->dtype != DT_U8 || !largest || tensor_count(w) < (rows * k + 1) / 2 ||
        tensor_count(largest) < (rows * k + block - 1) / block)
        return NODE_ERROR(n, "weights and magnitudes must be constants, of %lld bytes and %lld blocks",
                          (long long)((rows * k + 1) / 2), (long long)((rows * k + block - 1) / block));
    float *v = ARENA_ARRAY(&n->b->g->arena, float, rows * k);
    const uint8_t *from = w->data;
    for (int64_t i = 0; v && i < rows * k; i++)
        v[i] = codes[type][from[i / 2] >> (i % 2 ? 0 : 4) & 15] * (float)tensor_f64(largest, i / block);
    if (diag_failed(n->b->d))
        return false;
    struct value *b = constant_copy(n->b->g, DT_F32, 2, (int64_t[]){rows, k}, v, NULL);
    attr_set_int(&n->b->g->arena, &a, "trans_b", 1);
    struct value *in[] = {n->in[0], b_cast(n->b, b, b_dtype(n->in[0]))};
    return b_done(n, b_op(n->b, OP_matmul, in, 2, &a));
}

/* Columns of weights as MatMulFpQ4 has them, in blocks of 32: a scale of f32, with kind 1 a zero point of a byte, and
 * 16 bytes, of which the low bits are the first 16 elements. */
enum { COLUMN_BLOCK = 32 };

struct column_blocks {
    int64_t k, rows, each, size; /* each: blocks of a column; size: bytes of a block */
    bool zeros;
};

static void unpack_columns(const struct column_blocks *c, const uint8_t *from, uint8_t *w, float *scale, float *zero)
{
    for (int64_t r = 0; r < c->rows; r++, w += c->k) {
        for (int64_t i = 0; i < c->k; i++) {
            int64_t at = r * c->each + i / COLUMN_BLOCK;
            const uint8_t *block = from + at * c->size, *pairs = block + c->size - 16;
            w[i] = pairs[i % 16] >> (i % COLUMN_BLOCK < 16 ? 0 : 4) & 15;
            memcpy(&scale[at], block, sizeof(float));
            zero[at] = c->zeros ? block[sizeof(float)] : 8;
        }
    }
}

static bool columns_of(struct onnx_node *n, struct column_blocks *c)
{
    const struct tensor *bytes = b_constant(n->in[1]), *shape = b_constant(n->in[2]);
    int64_t kind = attr_int(&n->attrs, "blk_quant_type", 1);
    if (kind != 0 && kind != 1)
        return NODE_ERROR(n, "attribute 'blk_quant_type' is %lld, expected 0 or 1", (long long)kind);
    if (!bytes || !shape || shape->rank != 1 || shape->dims[0] != 2)
        return NODE_ERROR(n, "weights and their shape must be constants, the shape two numbers");
    c->k = tensor_i64(shape, 0), c->rows = tensor_i64(shape, 1);
    if (c->k < 1 || c->rows < 1 || c->k > INT32_MAX || c->rows > INT32_MAX)
        return NODE_ERROR(n, "weights of shape [%lld,%lld]", (long long)c->k, (long long)c->rows);
    c->zeros = kind == 1;
    c->each = (c->k + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    c->size = COLUMN_BLOCK / 2 + (int64_t)sizeof(float) + c->zeros;
    return (bytes->dtype == DT_U8 && tensor_count(bytes) / c->size / c->each == c->rows &&
            tensor_count(bytes) % (c->size * c->each) == 0) ||
           NODE_ERROR(n, "%lld bytes of weights, expected those of shape [%lld,%lld] in blocks of %lld bytes",
                      (long long)tensor_count(bytes), (long long)c->k, (long long)c->rows, (long long)c->size);
}

/* a times (K,N) weights that are codes of 4 bits. */
bool lower_matmul_fpq4(struct onnx_node *n)
{
    struct column_blocks c = {0};
    struct arena *m = &n->b->g->arena;
    struct attrs a = {0};
    if (!columns_of(n, &c))
        return false;
    int64_t dims[] = {c.rows, c.k}, blocks[] = {c.rows, c.each};
    uint8_t *w = ARENA_ARRAY(m, uint8_t, c.rows * c.k);
    float *scale = ARENA_ARRAY(m, float, c.rows * c.each), *zero = ARENA_ARRAY(m, float, c.rows * c.each);
    if (diag_failed(n->b->d))
        return false;
    unpack_columns(&c, b_constant(n->in[1])->data, w, scale, zero);
    attr_set_int(m, &a, "block_size", COLUMN_BLOCK);
    attr_set_int(m, &a, "trans_b", 1);
    struct value *in[] = {n->in[0], constant_copy(n->b->g, DT_U8, 2, dims, w, NULL),
                          constant_copy(n->b->g, DT_F32, 2, blocks, scale, NULL),
                          constant_copy(n->b->g, DT_F32, 2, blocks, zero, NULL)};
    return b_done(n, b_op(n->b, OP_weight_only_matmul, in, 4, &a));
}

/* ---- quantised forms ---- */

static struct value *real(struct onnx_node *n, int first)
{
    struct value *in[] = {n->in[first], n->in[first + 1], b_in(n, first + 2)};
    return b_op(n->b, OP_dequantize_linear, in, in[2] ? 3 : 2, NULL);
}

static struct value *to_8_bits(struct onnx_node *n, struct value *x, int scale, int dtype)
{
    struct value *in[] = {x, n->in[scale], b_in(n, scale + 1)};
    struct attrs a = {0};
    if (!in[2])
        attr_set_int(&n->b->g->arena, &a, "output_dtype", dtype);
    return b_op(n->b, OP_quantize_linear, in, in[2] ? 3 : 2, &a);
}

/* condition; x, scale, zero point; y likewise; scale and zero point of the result. */
bool lower_qlinear_where(struct onnx_node *n)
{
    struct value *in[] = {n->in[0], real(n, 1), real(n, 4)};
    return b_done(n, to_8_bits(n, b_op(n->b, OP_where, in, 3, NULL), 7, b_dtype(n->in[1])));
}

/* (N,...,C) to (N,C,...), or back. */
static struct value *channels(struct onnx_node *n, struct value *x, int rank, bool to_last)
{
    int64_t order[MAX_RANK] = {0};
    for (int i = 1; i < rank; i++)
        order[i] = to_last ? (i == rank - 1 ? 1 : i + 1) : (i == 1 ? rank - 1 : i - 1);
    return b_transpose(n->b, x, order, rank);
}

/* `op` of images with channels last. */
static bool with_channels_last(struct onnx_node *n, enum op op, const struct attrs *a)
{
    int rank;
    if (!b_rank(n, n->in[0], "the images", &rank))
        return false;
    if (rank < 3)
        return NODE_ERROR(n, "images of rank %d, expected 3 or more", rank);
    n->in[0] = channels(n, n->in[0], rank, false);
    return b_done(n, channels(n, b_op(n->b, op, n->in, n->nin, a), rank, true));
}

bool lower_qlinear_conv_contrib(struct onnx_node *n)
{
    static const char *const own[] = {"channels_last", NULL};
    struct attrs a = b_attrs_without(n, own);
    if (attr_int(&n->attrs, "channels_last", 0))
        return with_channels_last(n, OP_qlinear_conv, &a);
    return b_done(n, b_op(n->b, OP_qlinear_conv, n->in, n->nin, &a));
}

bool lower_nhwc_max_pool(struct onnx_node *n)
{
    return with_channels_last(n, OP_max_pool, &n->attrs);
}

/* ---- as the standard's ---- */

bool lower_trilu_contrib(struct onnx_node *n)
{
    return b_done(n, b_op(n->b, OP_trilu, n->in, n->nin, &n->attrs));
}

bool lower_range_contrib(struct onnx_node *n)
{
    struct value *in[] = {n->in[0], n->in[1], b_in(n, 2) ? n->in[2] : b_scalar(n->b, b_dtype(n->in[0]), 1)};
    for (int i = 0; i < 3; i++) /* scalars may be given as lists of one */
        in[i] = b_reshape(n->b, in[i], b_i64s(n->b, NULL, 0));
    return b_done(n, b_op(n->b, OP_range, in, 3, NULL));
}

bool lower_expand_dims(struct onnx_node *n)
{
    static const int64_t one[] = {1};
    struct value *axis = b_reshape_to(n->b, b_cast(n->b, n->in[1], DT_I64), one, 1);
    return b_done(n, b_2(n->b, OP_unsqueeze, n->in[0], axis));
}

/* Modes by the names that the standard had before version 20. */
bool lower_grid_sample_contrib(struct onnx_node *n)
{
    static const char *const own[] = {"mode", NULL};
    struct attrs a = b_attrs_without(n, own);
    attr_set_str(&n->b->g->arena, &a, "mode",
                 attr_is(&n->attrs, "mode", "nearest")   ? "nearest"
                 : attr_is(&n->attrs, "mode", "bicubic") ? "cubic"
                                                         : "linear");
    return b_done(n, b_op(n->b, OP_grid_sample, n->in, 2, &a));
}

/* Values by their first appearance, where each element's value is, how often each appears. */
bool lower_unique_contrib(struct onnx_node *n)
{
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "sorted", 0);
    struct node *made = b_node(n->b, OP_unique, n->in, 1, 4, &a);
    static const int from[] = {0, 2, 3};
    for (int i = 0; made && i < 3 && i < n->nout; i++)
        n->out[i] = made->out[from[i]];
    return made != NULL;
}

/* Slices of `size` elements of dim `at` of x, `step` apart: (...,d,...) to (...,slices,...,size). */
static struct value *unfold(struct onnx_node *n, struct value *x, int at, int64_t size, int64_t step)
{
    static const int64_t last[] = {1};
    int rank = x->type.rank;
    int64_t order[MAX_RANK + 1];
    struct value *firsts = b_sub(n->b, b_dim(n->b, x, at), b_i64(n->b, size - 1)), *zero = b_scalar(n->b, DT_I64, 0);
    firsts = b_reshape(n->b, firsts, b_i64s(n->b, NULL, 0));
    firsts = b_op(n->b, OP_range, (struct value *[]){zero, firsts, b_scalar(n->b, DT_I64, (double)step)}, 3, NULL);
    struct value *offsets[] = {zero, b_scalar(n->b, DT_I64, (double)size), b_scalar(n->b, DT_I64, 1)};
    struct value *places = b_op(n->b, OP_range, offsets, 3, NULL);
    firsts = b_unsqueeze(n->b, firsts, last, 1);
    struct value *y = b_gather(n->b, x, b_add(n->b, firsts, places), at);
    for (int i = 0; i <= rank; i++)
        order[i] = i == rank ? at + 1 : i <= at ? i : i + 1;
    return b_transpose(n->b, y, order, rank + 1);
}

bool lower_unfold_tensor(struct onnx_node *n)
{
    int rank, at;
    int64_t size = attr_int(&n->attrs, "size", 0), step = attr_int(&n->attrs, "step", 1);
    struct value *x = n->in[0];
    if (!b_rank(n, x, "the input", &rank) || !b_axis(n, attr_int(&n->attrs, "dim", -1), rank, &at))
        return false;
    if (size < 1 || step < 1 || size > INT32_MAX || step > INT32_MAX)
        return NODE_ERROR(n, "attributes 'size' and 'step' are %lld and %lld, expected 1 to %d", (long long)size,
                          (long long)step, INT32_MAX);
    return b_require(n->b, GUARD_AT_MAX, size, x->type.dims[at], "attribute 'size' and the dimension") &&
           b_done(n, unfold(n, x, at, size, step));
}

/* Scores (B,V) of tokens that would repeat a run of `ngram_size` of ids (B,S) become -inf. */
bool lower_ngram_repeat_block(struct onnx_node *n)
{
    static const int64_t last[] = {-1}, middle[] = {1};
    int rank[2];
    int64_t size = attr_int(&n->attrs, "ngram_size", 0);
    struct value *ids = n->in[0], *scores = n->in[1];
    struct attrs a = {0};
    if (size < 1 || size > INT32_MAX)
        return NODE_ERROR(n, "attribute 'ngram_size' is %lld, expected 1 to %d", (long long)size, INT32_MAX);
    if (!b_rank(n, ids, "'input_ids'", &rank[0]) || !b_rank(n, scores, "'scores'", &rank[1]))
        return false;
    if (rank[0] != 2 || rank[1] != 2)
        return NODE_ERROR(n, "'input_ids' has rank %d and 'scores' rank %d, expected 2 and 2", rank[0], rank[1]);
    if (!b_require(n->b, GUARD_EQUAL, ids->type.dims[0], scores->type.dims[0], "batches of 'input_ids' and 'scores'"))
        return false;
    struct value *runs = unfold(n, ids, 1, size, 1);
    struct value *tokens = b_squeeze(n->b, b_slice(n->b, runs, size - 1, size, 2), last, 1);
    struct value *blocked = b_2(n->b, OP_eq, tokens, tokens); /* of runs of one all */
    if (size > 1) {
        struct value *before = b_slice(n->b, runs, 0, size - 1, 2);
        struct value *pads = b_i64s(n->b, (int64_t[]){0, size - 1, 0, 0}, 4);
        struct value *latest = b_2(n->b, OP_pad, ids, pads); /* so that there are as many */
        latest = b_unsqueeze(n->b, b_slice(n->b, latest, 1 - size, INT64_MAX, 1), middle, 1);
        blocked = b_reduce(n->b, OP_reduce_min, b_2(n->b, OP_eq, before, latest), last, 1, false);
    }
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    attr_set_str(&n->b->g->arena, &a, "reduction", "min");
    struct value *update = b_select(n->b, blocked, b_like(n->b, scores, -INFINITY), b_like(n->b, scores, INFINITY));
    struct value *beyond = b_sub(n->b, tokens, b_dim(n->b, scores, 1)); /* a token below 0 is not one from the end */
    struct value *negative = b_2(n->b, OP_lt, tokens, b_like(n->b, tokens, 0));
    tokens = b_select(n->b, negative, beyond, tokens);
    struct value *at = b_select(n->b, blocked, tokens, b_like(n->b, tokens, 0));
    return b_done(n, b_op(n->b, OP_scatter_elements, (struct value *[]){scores, at, update}, 3, &a));
}

/* Sums that pass 32 bits wrap around. */
bool lower_matmul_integer_16(struct onnx_node *n)
{
    struct value *a = b_cast(n->b, n->in[0], DT_I32), *b = b_cast(n->b, n->in[1], DT_I32);
    return b_done(n, b_2(n->b, OP_matmul, a, b));
}

bool lower_sample_op(struct onnx_node *n)
{
    return b_done(n, b_1(n->b, OP_identity, n->in[0]));
}

/* The pads of a transposed convolution are columns that its whole result has more: they are cut off. */
bool lower_conv_transpose_dynamic_pads(struct onnx_node *n)
{
    int rank, pads_rank;
    struct value *pads = b_in(n, 2), *in[] = {n->in[0], n->in[1], b_in(n, 3)};
    struct attrs a = attrs_copy(&n->b->g->arena, &n->attrs);
    if (!pads)
        return NODE_ERROR(n, "'Pads' is left out");
    if (!b_rank(n, n->in[0], "'X'", &rank) || !b_rank(n, pads, "'Pads'", &pads_rank))
        return false;
    if (rank < 3 || pads_rank != 1)
        return NODE_ERROR(n, "'X' has rank %d and 'Pads' rank %d, expected 3 or more, and 1", rank, pads_rank);
    int spatial = rank - 2;
    if (!b_require(n->b, GUARD_EQUAL, pads->type.dims[0], 2 * spatial, "'Pads' and twice the spatial dimensions"))
        return false;
    const struct tensor *known = b_constant(pads);
    bool automatic = attr_is(&a, "auto_pad", "SAME_UPPER") || attr_is(&a, "auto_pad", "SAME_LOWER");
    if (!automatic)
        attr_remove(&a, "auto_pad");
    for (int i = 0; known && i < 2 * spatial; i++)
        if (tensor_i64(known, i) < 0)
            return NODE_ERROR(n, "'Pads' has %lld, expected 0 or more", (long long)tensor_i64(known, i));
    if (known && !automatic)
        attr_set_ints(&n->b->g->arena, &a, "pads", known->data, 2 * spatial);
    struct value *y = b_op(n->b, OP_conv_transpose, in, in[2] ? 3 : 2, &a), *axes[MAX_RANK];
    if (known || automatic)
        return b_done(n, y);
    for (int i = 0; i < spatial; i++)
        axes[i] = b_i64(n->b, 2 + i);
    struct attrs end = {0};
    attr_set_int(&n->b->g->arena, &end, "start", 2);
    /* each is to be 0 or more: those below fail there */
    pads = b_2(n->b, OP_sequence_lengths, pads, b_scalar(n->b, DT_I64, INT32_MAX));
    struct value *sizes = b_op(n->b, OP_shape, &y, 1, &end);
    struct value *to = b_sub(n->b, sizes, b_slice(n->b, pads, spatial, INT64_MAX, 0));
    struct value *cut[] = {y, b_slice(n->b, pads, 0, spatial, 0), to, b_concat(n->b, axes, spatial, 0)};
    return b_done(n, b_op(n->b, OP_slice, cut, 4, NULL));
}

/* An attribute that repeats a size: left out, or equal to it. */
static bool repeats(struct onnx_node *n, const char *attribute, dim_t size)
{
    int64_t given = attr_int(&n->attrs, attribute, 0);
    return !attr_find(&n->attrs, attribute) ||
           b_require(n->b, GUARD_EQUAL, given, size, arena_printf(&n->b->g->arena, "attribute '%s'", attribute));
}

/* Words (N,L) of characters, 0 behind the last, to (N,F): the largest tanh of a convolution over embedded characters,
 * at places that lie in the word; 0 for a word that begins with 0. */
bool lower_word_conv_embedding(struct onnx_node *n)
{
    static const char *const names[] = {"'Sequence'", "'W'", "'B'", "'C'"};
    static const int ranks[] = {2, 4, 1, 2};
    static const int64_t plane[] = {1}, last[] = {3}, places[] = {2}, row[] = {1};
    struct value *words = n->in[0], *zero = b_like(n->b, words, 0);
    int rank;
    for (int i = 0; i < 4; i++) {
        if (!b_rank(n, n->in[i], names[i], &rank))
            return false;
        if (rank != ranks[i])
            return NODE_ERROR(n, "%s has rank %d, expected %d", names[i], rank, ranks[i]);
    }
    const dim_t *w = n->in[1]->type.dims, *table = n->in[3]->type.dims;
    if (!b_has_dims(n, 1, names[1], (dim_t[]){w[0], 1, w[2], table[1]}, 4) || !b_has_dims(n, 2, names[2], w, 1) ||
        !b_require(n->b, GUARD_AT_MAX, w[2], words->type.dims[1], "the window and characters of a word") ||
        !repeats(n, "embedding_size", w[0]) || !repeats(n, "conv_window_size", w[2]) ||
        !repeats(n, "char_embedding_size", table[1]))
        return false;
    struct value *x = b_gather(n->b, n->in[3], b_2(n->b, OP_max, words, zero), 0);
    struct value *in[] = {b_unsqueeze(n->b, x, plane, 1), n->in[1], n->in[2]};
    struct value *y = b_squeeze(n->b, b_1(n->b, OP_tanh, b_op(n->b, OP_conv, in, 3, NULL)), last, 1);
    struct value *letters = b_cast(n->b, b_2(n->b, OP_gt, words, zero), DT_I64);
    struct value *length = b_reduce(n->b, OP_reduce_sum, letters, row, 1, true);
    struct value *at = count_up(n, b_dim(n->b, y, 2)), *end = b_add(n->b, at, b_dim(n->b, n->in[1], 2));
    struct value *first = b_2(n->b, OP_eq, at, b_i64(n->b, 0));
    struct value *inside = b_2(n->b, OP_or, first, b_2(n->b, OP_le, end, length));
    y = b_select(n->b, b_unsqueeze(n->b, inside, plane, 1), y, b_like(n->b, y, -INFINITY));
    y = b_reduce(n->b, OP_reduce_max, y, places, 1, false);
    struct value *begun = b_2(n->b, OP_gt, b_slice(n->b, words, 0, 1, 1), zero);
    return b_done(n, b_select(n->b, begun, y, b_like(n->b, y, 0)));
}
