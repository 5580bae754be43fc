/*
 * Attention operators of com.microsoft, over the core attention: heads apart, masks as a sum.
 */
#include "frontend/onnx/ops.h"

#include <math.h>
#include <string.h>

struct value *split_heads(struct onnx_node *n, struct value *x, int64_t heads)
{
    static const int64_t order[] = {0, 2, 1, 3};
    if (heads < 1) {
        NODE_ERROR(n, "attribute 'num_heads' is %lld", (long long)heads);
        return NULL;
    }
    struct value *y = b_reshape_to(n->b, x, (int64_t[]){0, 0, heads, -1}, 4);
    return b_transpose(n->b, y, order, 4);
}

struct value *join_heads(struct onnx_node *n, struct value *x)
{
    static const int64_t order[] = {0, 2, 1, 3};
    return b_reshape_to(n->b, b_transpose(n->b, x, order, 4), (int64_t[]){0, 0, -1}, 3);
}

struct value *count_up(struct onnx_node *n, struct value *length)
{
    struct value *to = b_reshape(n->b, b_cast(n->b, length, DT_I64), b_i64s(n->b, NULL, 0));
    return b_op(n->b, OP_range, (struct value *[]){b_scalar(n->b, DT_I64, 0), to, b_scalar(n->b, DT_I64, 1)},
                3, NULL);
}

static struct value *where(struct onnx_node *n, struct value *test, struct value *yes,
                           struct value *no)
{
    return b_select(n->b, test, yes, no);
}

/* ---- what is added to the scores ---- */

/* What hides a key whatever else is added: the lowest value that a sum with a mask leaves finite. */
static double hidden(const struct onnx_node *n)
{
    return b_dtype(n->in[0]) == DT_F16 ? -65504 : -3.0e38;
}

/* (S,T): 0 where query i may see key j, else hidden. Query i is at place i + T - S. */
static struct value *causal_mask(struct onnx_node *n, struct value *q, struct value *k)
{
    static const int64_t last[] = {-1};
    struct value *s = b_dim(n->b, q, 2), *t = b_dim(n->b, k, 2);
    struct value *i = count_up(n, s), *j = count_up(n, t);
    i = b_unsqueeze(n->b, b_add(n->b, i, b_sub(n->b, t, s)), last, 1);
    return where(n, b_2(n->b, OP_le, j, i), b_like(n->b, q, 0), b_like(n->b, q, hidden(n)));
}

/* From lengths (B): keys behind a length are hidden, and those before `starts` (B) where given. */
static struct value *length_mask(struct onnx_node *n, struct value *lengths, struct value *starts,
                                 struct value *q, struct value *k, double filter)
{
    static const int64_t places[] = {1, 2, 3};
    struct value *j = count_up(n, b_dim(n->b, k, 2));
    struct value *sees = b_2(n->b, OP_lt, j, b_unsqueeze(n->b, b_cast(n->b, lengths, DT_I64), places, 3));
    if (starts) {
        struct value *first = b_unsqueeze(n->b, b_cast(n->b, starts, DT_I64), places, 3);
        sees = b_2(n->b, OP_and, sees, b_2(n->b, OP_ge, j, first));
    }
    return where(n, sees, b_like(n->b, q, 0), b_like(n->b, q, filter));
}

/*
 * From indices: (B) lengths, (2B) ends and then starts, or (3B+2) lengths and then the places that
 * packed rows would have. Which of them it is, is told from the number of entries.
 */
static struct value *index_mask(struct onnx_node *n, struct value *mask, struct value *q,
                                struct value *k, double filter)
{
    dim_t entries = mask->type.dims[0], batch = q->type.rank > 0 ? q->type.dims[0] : -1;
    if (entries == batch)
        return length_mask(n, mask, NULL, q, k, filter);
    if (dim_is_const(entries) && dim_is_const(batch) && entries != 2 * batch &&
        entries != 3 * batch + 2) {
        NODE_ERROR(n, "a mask of %lld indices for a batch of %lld", (long long)entries,
                   (long long)batch);
        return NULL;
    }
    struct dim_table *t = &n->b->g->dims; /* one of these differences is 0 */
    dim_t lengths = dim_sub(t, entries, batch);
    dim_t ends_and_starts = dim_sub(t, entries, dim_mul(t, batch, 2));
    dim_t packed = dim_sub(t, entries, dim_add(t, dim_mul(t, batch, 3), 2));
    dim_t off = dim_mul(t, lengths, dim_mul(t, ends_and_starts, packed));
    if (!b_require(n->b, GUARD_EQUAL, off, 0, "entries of the mask: as many as rows, or 2 for each"))
        return NULL;
    struct value *b = b_dim(n->b, q, 0), *m = b_dim(n->b, mask, 0), *zero = b_i64(n->b, 0);
    struct value *ends = b_op(n->b, OP_slice, (struct value *[]){mask, zero, b, zero}, 4, NULL);
    struct value *starts =
        b_op(n->b, OP_slice, (struct value *[]){mask, b_sub(n->b, m, b), m, zero}, 4, NULL);
    struct value *both = b_2(n->b, OP_eq, m, b_add(n->b, b, b));
    return length_mask(n, ends, where(n, both, starts, b_like(n->b, starts, 0)), q, k, filter);
}

/* The square (B,1,M,M) for all places, cut to the rows of the queries and the columns of the keys.
 */
static struct value *cut_square(struct onnx_node *n, struct value *mask, struct value *q,
                                struct value *k)
{
    struct value *zero = b_i64(n->b, 0), *rows = b_i64(n->b, 2), *columns = b_i64(n->b, 3);
    struct value *t = b_dim(n->b, k, 2), *past = b_sub(n->b, t, b_dim(n->b, q, 2));
    mask = b_op(n->b, OP_slice, (struct value *[]){mask, past, t, rows}, 4, NULL);
    return b_op(n->b, OP_slice, (struct value *[]){mask, zero, t, columns}, 4, NULL);
}

/* From a mask of ones and zeros: (B,T), (B,S,T) or (B,1,M,M). */
static struct value *raw_mask(struct onnx_node *n, struct value *mask, int rank, struct value *q,
                              struct value *k, double filter)
{
    static const int64_t two[] = {1, 2}, one[] = {1};
    if (rank == 2)
        mask = b_unsqueeze(n->b, mask, two, 2);
    else if (rank == 3)
        mask = b_unsqueeze(n->b, mask, one, 1);
    else
        mask = cut_square(n, mask, q, k);
    struct value *sees = b_2(n->b, OP_ne, mask, b_like(n->b, mask, 0));
    return where(n, sees, b_like(n->b, q, 0), b_like(n->b, q, filter));
}

/* NULL for a mask that hides nothing: one entry for all keys. */
static struct value *mask_of(struct onnx_node *n, struct value *mask, struct value *q,
                             struct value *k, double filter)
{
    int rank;
    if (!b_rank(n, mask, "the mask", &rank))
        return NULL;
    if (rank < 1 || rank > 4) {
        NODE_ERROR(n, "a mask of rank %d", rank);
        return NULL;
    }
    if (rank == 2 && q->type.rank > 0 &&
        !b_require(n->b, GUARD_EXPAND, mask->type.dims[0], q->type.dims[0], "rows of the mask"))
        return NULL;
    if (rank == 2 && mask->type.dims[1] == 1)
        return NULL;
    return rank == 1 ? index_mask(n, mask, q, k, filter) : raw_mask(n, mask, rank, q, k, filter);
}

static struct value *plus(struct onnx_node *n, struct value *a, struct value *b)
{
    return a && b ? b_add(n->b, a, b) : a ? a : b;
}

struct value *attend(struct onnx_node *n, struct value *q, struct value *k, struct value *v, struct value *mask)
{
    struct attrs a = {0};
    double scale = attr_float(&n->attrs, "scale", 0);
    if (scale != 0)
        attr_set_float(&n->b->g->arena, &a, "scale", scale);
    return b_op(n->b, OP_sdpa, (struct value *[]){q, k, v, mask}, mask ? 4 : 3, &a);
}

/* ---- Attention, QAttention ---- */

/* Rows of the past (2,B,heads,P,D) before x. */
static struct value *after_past(struct onnx_node *n, struct value *past, int which, struct value *x)
{
    struct value *old = past ? b_gather(n->b, past, b_scalar(n->b, DT_I64, which), 0) : NULL;
    return past ? b_concat(n->b, (struct value *[]){old, x}, 2, 2) : x;
}

/* From the packed projections (B,S,Hq+Hk+Hv). */
static bool packed_attention(struct onnx_node *n, struct value *qkv, struct value *mask,
                             struct value *past, struct value *bias)
{
    static const int64_t front[] = {0};
    int64_t heads = attr_int(&n->attrs, "num_heads", 0);
    int count;
    const int64_t *sizes = attr_ints(&n->attrs, "qkv_hidden_sizes", &count);
    struct attrs a = {0};
    if (attr_int(&n->attrs, "do_rotary", 0) || attr_int(&n->attrs, "past_present_share_buffer", 0))
        return NODE_ERROR(
            n, "attributes 'do_rotary' and 'past_present_share_buffer' are not supported");
    if (count && count != 3)
        return NODE_ERROR(n, "attribute 'qkv_hidden_sizes' has %d entries, expected 3", count);
    attr_set_int(&n->b->g->arena, &a, "axis", -1);
    if (!count) {
        attr_set_int(&n->b->g->arena, &a, "num_outputs", 3);
        attr_set_int(&n->b->g->arena, &a, "equal", 1);
    }
    struct value *in[] = {qkv, count ? b_i64s(n->b, sizes, 3) : NULL};
    struct node *parts = b_node(n->b, OP_split, in, count ? 2 : 1, 3, &a);
    if (!parts)
        return false;
    struct value *q = split_heads(n, parts->out[0], heads);
    struct value *k = after_past(n, past, 0, split_heads(n, parts->out[1], heads));
    struct value *v = after_past(n, past, 1, split_heads(n, parts->out[2], heads));
    double filter = attr_float(&n->attrs, "mask_filter_value", -10000);
    struct value *sum = mask ? mask_of(n, mask, q, k, filter) : NULL;
    if (attr_int(&n->attrs, "unidirectional", 0))
        sum = plus(n, sum, causal_mask(n, q, k));
    sum = plus(n, sum, bias);
    if (n->nout > 1 && n->wanted[1])
        n->out[1] = b_concat(
            n->b, (struct value *[]){b_unsqueeze(n->b, k, front, 1), b_unsqueeze(n->b, v, front, 1)}, 2, 0);
    return b_done(n, join_heads(n, attend(n, q, k, v, sum)));
}

bool lower_attention_contrib(struct onnx_node *n)
{
    struct value *qkv = b_2(n->b, OP_matmul, n->in[0], n->in[1]);
    if (b_in(n, 2))
        qkv = b_add(n->b, qkv, n->in[2]);
    return packed_attention(n, qkv, b_in(n, 3), b_in(n, 4), b_in(n, 5));
}

/* input, weight, bias, input scale, weight scale, mask?, input zero point?, weight zero point?,
 * past? */
bool lower_qattention(struct onnx_node *n)
{
    struct value *in[] = {n->in[0], n->in[1], b_in(n, 6), b_in(n, 7)};
    struct value *y = b_op(n->b, OP_matmul_integer, in, in[3] ? 4 : in[2] ? 3 : 2, NULL);
    y = b_cast(n->b, y, b_dtype(n->in[3]));
    y = b_mul(n->b, y, b_mul(n->b, n->in[3], n->in[4]));
    return packed_attention(n, b_add(n->b, y, n->in[2]), b_in(n, 5), b_in(n, 8), NULL);
}

/* ---- MultiHeadAttention ---- */

/* Piece `which` of a packed operand (B,S,heads,pieces,D) as (B,heads,S,D). */
static struct value *piece(struct onnx_node *n, struct value *x, int which)
{
    static const int64_t order[] = {0, 2, 1, 3};
    return b_transpose(n->b, b_gather(n->b, x, b_scalar(n->b, DT_I64, which), 3), order, 4);
}

/* Heads of operand i with its share of the bias, whose pieces are of the sizes of q, k and v. */
static struct value *projected(struct onnx_node *n, struct value *x, struct value *bias,
                               int64_t heads)
{
    return split_heads(n, bias ? b_add(n->b, x, bias) : x, heads);
}

static bool mha_operands(struct onnx_node *n, int64_t heads, struct value *out[3])
{
    struct value *q = n->in[0], *k = b_in(n, 1), *v = b_in(n, 2), *bias = b_in(n, 3),
                 *biases[3] = {NULL};
    int rank, key_rank = 0, value_rank = 0;
    if (!b_rank(n, q, "the query", &rank) || (k && !b_rank(n, k, "the key", &key_rank)) ||
        (v && !b_rank(n, v, "the value", &value_rank)))
        return false;
    bool packed = rank == 5, packed_kv = key_rank == 5;
    if ((rank != 3 && !packed) || (k && (key_rank < 3 || key_rank > 5)) ||
        (v && value_rank != key_rank))
        return NODE_ERROR(n, "query, key and value of rank %d, %d and %d, expected 3, or 5 where they "
                             "are packed, and key and value of rank 4 where they are split by heads",
                          rank, key_rank, value_rank);
    if (packed_kv && bias)
        return NODE_ERROR(n, "a bias with packed keys and values is not supported");
    if (packed) {
        for (int i = 0; i < 3; i++) {
            out[i] = piece(n, q, i);
            if (bias) { /* (3, heads, D) */
                struct value *all = b_reshape_to(n->b, bias, (int64_t[]){3, heads, 1, -1}, 4);
                out[i] = b_add(n->b, out[i], b_gather(n->b, all, b_scalar(n->b, DT_I64, i), 0));
            }
        }
        return true;
    }
    if (!k || (!packed_kv && !v))
        return NODE_ERROR(n, "key or value is left out, this operator needs both");
    if (bias) { /* (Hq + Hk + Hv) */
        struct value *hq = b_dim(n->b, q, -1), *twice = b_mul(n->b, hq, b_i64(n->b, 2)), *zero = b_i64(n->b, 0);
        struct value *ends = b_i64(n->b, INT64_MAX);
        biases[0] = b_op(n->b, OP_slice, (struct value *[]){bias, zero, hq, zero}, 4, NULL);
        biases[1] = b_op(n->b, OP_slice, (struct value *[]){bias, hq, twice, zero}, 4, NULL);
        biases[2] = b_op(n->b, OP_slice, (struct value *[]){bias, twice, ends, zero}, 4, NULL);
    }
    out[0] = projected(n, q, biases[0], heads);
    out[1] = packed_kv ? piece(n, k, 0) : key_rank == 4 ? k : projected(n, k, biases[1], heads);
    out[2] = packed_kv ? piece(n, k, 1) : key_rank == 4 ? v : projected(n, v, biases[2], heads);
    return true;
}

bool lower_multi_head_attention(struct onnx_node *n)
{
    struct value *qkv[3], *mask = b_in(n, 4), *sum = NULL;
    double filter = attr_float(&n->attrs, "mask_filter_value", -10000);
    if (b_in(n, 8) || b_in(n, 9) || (n->nout > 3 && n->wanted[3]))
        return NODE_ERROR(n, "caches in place (inputs 8 and 9) and output 3 are not supported");
    if (!mha_operands(n, attr_int(&n->attrs, "num_heads", 0), qkv))
        return false;
    for (int i = 1; i < 3; i++) {
        if (b_in(n, 5 + i))
            qkv[i] = b_concat(n->b, (struct value *[]){n->in[5 + i], qkv[i]}, 2, 2);
        if (n->nout > i)
            n->out[i] = qkv[i];
    }
    if (mask)
        sum = mask_of(n, mask, qkv[0], qkv[1], filter);
    if (attr_int(&n->attrs, "unidirectional", 0))
        sum = plus(n, sum, causal_mask(n, qkv[0], qkv[1]));
    sum = plus(n, sum, b_in(n, 5));
    return b_done(n, join_heads(n, attend(n, qkv[0], qkv[1], qkv[2], sum)));
}

/* ---- RotaryEmbedding ---- */

static struct value *rotate(struct onnx_node *n, struct value *x, struct value *cosines,
                            struct value *sines, struct value *positions, int64_t heads,
                            int64_t interleaved, int64_t size)
{
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    attr_set_int(arena, &a, "interleaved", interleaved);
    attr_set_int(arena, &a, "num_heads", heads);
    attr_set_int(arena, &a, "rotary_embedding_dim", size);
    return b_op(n->b, OP_rotary_embedding, (struct value *[]){x, cosines, sines, positions}, 4, &a);
}

/* Positions (B,S) from one first position for all. */
static struct value *positions_from(struct onnx_node *n, struct value *first, struct value *x,
                                    int steps_axis)
{
    struct value *steps = b_dim(n->b, x, steps_axis);
    struct value *row = count_up(n, steps);
    row = b_add(n->b, row, b_cast(n->b, first, DT_I64));
    return b_2(n->b, OP_expand, row, b_concat(n->b, (struct value *[]){b_dim(n->b, x, 0), steps}, 2, 0));
}

/* x (B,S,columns) whose heads are as wide as two rows of the table; how many they are is not known here. */
static struct value *rotate_counted(struct onnx_node *n, struct value *x, struct value *positions)
{
    static const int64_t order[] = {0, 2, 1, 3};
    dim_t width = dim_mul(&n->b->g->dims, n->in[2]->type.dims[1], 2);
    if (!b_require(n->b, GUARD_MULTIPLE, x->type.dims[2], width, "columns of 'input' and twice those of 'cos_cache'"))
        return NULL;
    struct value *size = b_mul(n->b, b_dim(n->b, n->in[2], 1), b_i64(n->b, 2));
    struct value *shape[] = {b_dim(n->b, x, 0), b_dim(n->b, x, 1), b_i64(n->b, -1), size};
    struct value *apart = b_transpose(n->b, b_reshape(n->b, x, b_concat(n->b, shape, 4, 0)), order, 4);
    apart = rotate(n, apart, n->in[2], n->in[3], positions, 0, attr_int(&n->attrs, "interleaved", 0), 0);
    return b_reshape_as(n->b, b_transpose(n->b, apart, order, 4), x);
}

bool lower_rotary_contrib(struct onnx_node *n)
{
    int rank, place_rank, table_rank;
    int64_t heads = attr_int(&n->attrs, "num_heads", 0),
            size = attr_int(&n->attrs, "rotary_embedding_dim", 0);
    struct value *x = n->in[0], *positions = n->in[1], *table = n->in[2];
    if (!b_rank(n, x, "the operand", &rank) || !b_rank(n, positions, "the positions", &place_rank) ||
        !b_rank(n, table, "'cos_cache'", &table_rank))
        return false;
    if (table_rank != 2)
        return NODE_ERROR(n, "'cos_cache' has rank %d, expected 2", table_rank);
    if (place_rank < 2)
        positions = positions_from(n, positions, x, rank == 3 ? 1 : 2);
    if (rank == 3 && heads == 0 && size)
        return NODE_ERROR(n, "attribute 'rotary_embedding_dim' is %lld, but 'num_heads' is missing", (long long)size);
    dim_t width = rank == 3 ? x->type.dims[2] : 0, half = table->type.dims[1];
    if (dim_is_const(width) && dim_is_const(half) && half > 0 && heads == 0 && width % (2 * half) == 0)
        heads = width / (2 * half);
    if (rank == 3 && heads == 0)
        return b_done(n, rotate_counted(n, x, positions));
    return b_done(n, rotate(n, x, table, n->in[3], positions, heads,
                            attr_int(&n->attrs, "interleaved", 0), size));
}

/* Angles (B,S,D), then q and k (B,heads,S,D), each followed by its own halves swapped and negated.
 */
bool lower_gemma_rotary(struct onnx_node *n)
{
    static const int64_t heads[] = {1};
    struct value *cosines = b_cast(n->b, b_1(n->b, OP_cos, n->in[0]), b_dtype(n->in[1]));
    struct value *sines = b_cast(n->b, b_1(n->b, OP_sin, n->in[0]), b_dtype(n->in[1]));
    cosines = b_unsqueeze(n->b, cosines, heads, 1);
    sines = b_unsqueeze(n->b, sines, heads, 1);
    for (int i = 0; i < 2 && i < n->nout; i++) {
        struct value *even = b_mul(n->b, n->in[1 + 2 * i], cosines);
        n->out[i] = b_add(n->b, even, b_mul(n->b, n->in[2 + 2 * i], sines));
    }
    return !diag_failed(n->b->d);
}

/* ---- GroupQueryAttention ---- */

static bool gqa_supported(struct onnx_node *n)
{
    static const char *const plain[] = {"qk_output", "kv_cache_bit_width", "sliding_window_cache"};
    for (int i = 0; i < 3; i++)
        if (attr_int(&n->attrs, plain[i], 0) > 0)
            return NODE_ERROR(n, "attribute '%s' is not supported", plain[i]);
    for (int i = 12; i < n->nin; i++)
        if (n->in[i])
            return NODE_ERROR(n, "input %d is not supported", i);
    if ((b_in(n, 1) == NULL) != (b_in(n, 2) == NULL))
        return NODE_ERROR(n, "one of key and value is left out");
    return true;
}

/* q, k, v as (B,S,heads*D), from separate or packed operands. */
static bool gqa_operands(struct onnx_node *n, int64_t heads, int64_t kv_heads, struct value *out[3])
{
    if (b_in(n, 1)) {
        for (int i = 0; i < 3; i++)
            out[i] = n->in[i];
        return true;
    }
    dim_t width = n->in[0]->type.rank == 3 ? n->in[0]->type.dims[2] : -1;
    if (!dim_is_const(width) || width < 1 || width % (heads + 2 * kv_heads))
        return NODE_ERROR(n, "the packed operand's width does not split into heads");
    int64_t size = width / (heads + 2 * kv_heads),
            ends[] = {heads * size, (heads + kv_heads) * size, width};
    for (int i = 0; i < 3; i++)
        out[i] = b_slice(n->b, n->in[0], i ? ends[i - 1] : 0, ends[i], 2);
    return true;
}

/* How many keys each batch (B) holds before this call: none when all of them are given now. */
static struct value *keys_before(struct onnx_node *n, struct value *lengths, struct value *total,
                                 struct value *given)
{
    struct value *all_new = b_2(n->b, OP_eq, total, given);
    return where(n, all_new, b_i64(n->b, 0), b_sub(n->b, lengths, given));
}

/* The cache (B,heads,L,D) with the fresh rows behind those before, and zeros behind them. */
static struct value *cached(struct onnx_node *n, struct value *past, struct value *fresh,
                            struct value *before, struct value *total)
{
    return b_op(n->b, OP_cache_append, (struct value *[]){past, fresh, before, total}, 4, NULL);
}

/* What is added to the scores of `queries` by `keys`, (B,1,S,L): query i of a batch is at place before + i and sees the
 * keys of its batch that are not behind it, `window` > 0 keys back at most. */
static struct value *gqa_mask(struct onnx_node *n, struct value *queries, struct value *keys, struct value *lengths,
                              struct value *before)
{
    static const int64_t places[] = {1, 2, 3}, last[] = {-1};
    int64_t window = attr_int(&n->attrs, "local_window_size", -1);
    struct value *j = count_up(n, keys), *i = count_up(n, queries);
    i = b_unsqueeze(n->b, i, last, 1);
    i = b_add(n->b, i, b_unsqueeze(n->b, before, places, 3));
    struct value *sees = b_2(n->b, OP_le, j, i), *own = b_2(n->b, OP_lt, j, b_unsqueeze(n->b, lengths, places, 3));
    sees = b_2(n->b, OP_and, sees, own);
    if (window > 0)
        sees = b_2(n->b, OP_and, sees, b_2(n->b, OP_gt, j, b_sub(n->b, i, b_i64(n->b, window))));
    return where(n, sees, b_like(n->b, n->in[0], 0), b_like(n->b, n->in[0], hidden(n)));
}

/* A key of zeros more, with a score of its own: `sink` (heads), or 0. */
static void add_sink(struct onnx_node *n, struct value *sink, struct value *kv[2],
                     struct value **mask)
{
    struct value *one = b_i64(n->b, 1), *zero = b_like(n->b, kv[0], 0);
    for (int i = 0; i < 2; i++) {
        struct value *shape = b_concat(
            n->b, (struct value *[]){b_dim(n->b, kv[i], 0), b_dim(n->b, kv[i], 1), one, b_dim(n->b, kv[i], 3)},
            4, 0);
        kv[i] = b_concat(n->b, (struct value *[]){kv[i], b_2(n->b, OP_expand, zero, shape)}, 2, 2);
    }
    struct value *score = sink ? b_reshape_to(n->b, sink, (int64_t[]){1, -1, 1, 1}, 4)
                               : b_reshape_to(n->b, zero, (int64_t[]){1, 1, 1, 1}, 4);
    struct value *empty =
        b_mul(n->b, score, zero); /* the mask for each head, then the score for all */
    *mask = b_add(n->b, *mask, empty);
    struct value *shape = b_concat(
        n->b, (struct value *[]){b_dim(n->b, *mask, 0), b_dim(n->b, *mask, 1), b_dim(n->b, *mask, 2), one}, 4,
        0);
    *mask = b_concat(n->b, (struct value *[]){*mask, b_2(n->b, OP_expand, score, shape)}, 2, 3);
}

/* The keys or values that are attended to, (B,groups,1,total,D). */
static struct value *grouped_rows(struct onnx_node *n, struct value *rows, struct value *total)
{
    static const int64_t group[] = {2};
    struct value *zero = b_i64(n->b, 0), *axis = b_i64(n->b, 3);
    if (!b_in(n, 3))
        return b_unsqueeze(n->b, rows, group, 1);
    return b_op(n->b, OP_slice, (struct value *[]){b_unsqueeze(n->b, rows, group, 1), zero, total, axis}, 4, NULL);
}

/* Heads that share keys stand beside each other: (B,groups,heads of one,S,D). Nothing is repeated, and rows of a cache
 * behind the total are not read. */
static struct value *attend_grouped(struct onnx_node *n, struct value *x, struct value *kv[2], struct value *lengths,
                                    struct value *before, struct value *total, int64_t heads, int64_t groups)
{
    static const int64_t apart[] = {0, 2, 3, 1, 4}, together[] = {0, 3, 1, 2, 4}, front[] = {1};
    struct value *q =
        b_transpose(n->b, b_reshape_to(n->b, x, (int64_t[]){0, 0, groups, heads / groups, -1}, 5), apart, 5);
    struct value *k = grouped_rows(n, kv[0], total), *v = grouped_rows(n, kv[1], total);
    struct value *queries = b_dim(n->b, x, 1), *keys = b_in(n, 3) ? total : b_dim(n->b, kv[0], 2);
    struct value *mask = gqa_mask(n, queries, keys, lengths, before);
    mask = b_unsqueeze(n->b, mask, front, 1);
    struct value *y = attend(n, q, k, v, mask);
    return b_reshape_to(n->b, b_transpose(n->b, y, together, 5), (int64_t[]){0, 0, -1}, 3);
}

/* Queries and keys, by the places where they stand. */
static void gqa_rotate(struct onnx_node *n, struct value *x[3], struct value *before, int64_t heads, int64_t groups)
{
    static const int64_t last[] = {-1};
    struct value *steps = count_up(n, b_dim(n->b, x[0], 1));
    struct value *positions = b_in(n, 9) ? n->in[9] : b_add(n->b, b_unsqueeze(n->b, before, last, 1), steps);
    int64_t interleaved = attr_int(&n->attrs, "rotary_interleaved", 0);
    dim_t half = n->in[7] && n->in[7]->type.rank == 2 ? n->in[7]->type.dims[1] : 0;
    for (int i = 0; i < 2; i++)
        x[i] = rotate(n, x[i], b_in(n, 7), b_in(n, 8), positions, i ? groups : heads, interleaved, half ? -1 : 0);
}

/*
 * Batches may hold different numbers of keys: seqlens_k is the total of each batch - 1, fresh keys
 * lie behind the batch's own past. The cache is as long as the past's buffer or the largest total.
 */
bool lower_group_query_attention(struct onnx_node *n)
{
    int64_t heads = attr_int(&n->attrs, "num_heads", 0),
            kv_heads = attr_int(&n->attrs, "kv_num_heads", 0);
    struct value *x[3], *total = b_in(n, 6), *sink = b_in(n, 11);
    if (heads < 1 || kv_heads < 1 || heads % kv_heads)
        return NODE_ERROR(n, "attributes num_heads %lld and kv_num_heads %lld", (long long)heads,
                          (long long)kv_heads);
    if (!gqa_supported(n) || !gqa_operands(n, heads, kv_heads, x))
        return false;
    total = b_reshape_to(n->b, b_cast(n->b, total, DT_I64), (int64_t[]){1}, 1);
    struct value *lengths =
        b_add(n->b, b_cast(n->b, b_reshape_to(n->b, n->in[5], (int64_t[]){-1}, 1), DT_I64), b_i64(n->b, 1));
    struct value *before = keys_before(n, lengths, total, b_dim(n->b, x[0], 1));
    if (attr_int(&n->attrs, "do_rotary", 0))
        gqa_rotate(n, x, before, heads, kv_heads);
    struct value *q = split_heads(n, x[0], heads), *kv[2];
    for (int i = 0; i < 2; i++) {
        struct value *fresh = split_heads(n, x[1 + i], kv_heads), *past = b_in(n, 3 + i);
        kv[i] = past ? cached(n, past, fresh, before, total) : fresh;
        if (n->nout > 1 + i)
            n->out[1 + i] = kv[i];
    }
    bool smooth = sink || attr_int(&n->attrs, "smooth_softmax", 0) > 0;
    if (!smooth && !b_in(n, 10) && attr_float(&n->attrs, "softcap", 0) == 0)
        return b_done(n, attend_grouped(n, x[0], kv, lengths, before, total, heads, kv_heads));
    struct value *queries = b_dim(n->b, q, 2), *keys = b_dim(n->b, kv[0], 2);
    struct value *mask = gqa_mask(n, queries, keys, lengths, before);
    mask = plus(n, mask, b_in(n, 10));
    if (smooth)
        add_sink(n, sink, kv, &mask);
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    if (attr_float(&n->attrs, "scale", 0) != 0)
        attr_set_float(arena, &a, "scale", attr_float(&n->attrs, "scale", 0));
    if (attr_float(&n->attrs, "softcap", 0) != 0)
        attr_set_float(arena, &a, "softcap", attr_float(&n->attrs, "softcap", 0));
    return b_done(
        n, join_heads(n, b_op(n->b, OP_attention, (struct value *[]){q, kv[0], kv[1], mask}, 4, &a)));
}
