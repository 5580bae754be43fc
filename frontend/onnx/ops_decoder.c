/*
 * Attention of decoders, of com.microsoft: one query behind a cache, layouts of blocks, positions of three axes.
 */
#include "frontend/onnx/ops.h"

/* ---- MRotaryEmbedding: columns of the table belong to one of three streams of positions ---- */

/* The stream of each of `half` columns. False after a failure. */
static bool streams_of(struct onnx_node *n, int64_t *half, const int64_t **of)
{
    int count;
    const int64_t *sizes = attr_ints(&n->attrs, "mrope_section", &count);
    int64_t layout = attr_int(&n->attrs, "mrope_layout", 0);
    *half = 0;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 0 || sizes[i] > INT32_MAX)
            return NODE_ERROR(n, "attribute 'mrope_section' has %lld, expected 0 or more", (long long)sizes[i]);
        *half += sizes[i];
    }
    if (count != 3 || *half < 1)
        return NODE_ERROR(n, "attribute 'mrope_section' has %d sizes of %lld in all, expected 3 of 1 or more", count,
                          (long long)*half);
    if (layout != 0 && layout != 1)
        return NODE_ERROR(n, "attribute 'mrope_layout' is %lld, expected 0 or 1", (long long)layout);
    int64_t *stream = ARENA_ARRAY(&n->b->g->arena, int64_t, *half);
    for (int64_t i = 0; stream && i < *half; i++) {
        int64_t place = i % 3;
        if (layout)
            stream[i] = place && i < 3 * sizes[place] ? place : 0;
        else
            stream[i] = i < sizes[0] ? 0 : i < sizes[0] + sizes[1] ? 1 : 2;
    }
    *of = stream;
    return stream != NULL;
}

/* Rows of the table (L,half) at positions (3,B,S), each column at those of its stream: (B,S,half). */
static struct value *rows_by_stream(struct onnx_node *n, struct value *table, struct value *positions, int64_t half,
                                    const int64_t *of)
{
    struct value *parts[3];
    int64_t *order = ARENA_ARRAY(&n->b->g->arena, int64_t, half), *mine = ARENA_ARRAY(&n->b->g->arena, int64_t, half);
    int64_t before = 0;
    int count = 0;
    for (int s = 0; order && mine && s < 3; s++) {
        int64_t columns = 0;
        for (int64_t i = 0; i < half; i++)
            if (of[i] == s)
                order[i] = before + columns, mine[columns++] = i;
        if (!columns)
            continue;
        struct value *some = b_gather(n->b, table, b_i64s(n->b, mine, (int)columns), 1);
        struct value *at = b_gather(n->b, positions, b_scalar(n->b, DT_I64, s), 0);
        parts[count++] = b_gather(n->b, some, at, 0);
        before += columns;
    }
    struct value *y = count == 1 ? parts[0] : b_concat(n->b, parts, count, 2);
    for (int64_t i = 0; order && i < half; i++)
        if (order[i] != i)
            return b_gather(n->b, y, b_i64s(n->b, order, (int)half), 2);
    return y;
}

bool lower_mrotary_embedding(struct onnx_node *n)
{
    int rank, table;
    int64_t half, heads = attr_int(&n->attrs, "num_heads", 0), size = attr_int(&n->attrs, "rotary_embedding_dim", 0);
    const int64_t *of = NULL;
    struct value *x = n->in[0];
    struct attrs a = {0};
    if (!b_rank(n, x, "'input'", &rank) || !streams_of(n, &half, &of))
        return false;
    if ((rank != 3 && rank != 4) || ((rank == 3 || size) && (heads < 1 || heads > INT32_MAX)))
        return NODE_ERROR(n, "'input' of rank %d with attributes num_heads %lld and rotary_embedding_dim %lld, "
                             "expected rank 4, or 3 and the number of heads", rank, (long long)heads, (long long)size);
    const dim_t *d = x->type.dims;
    struct dim_table *t = &n->b->g->dims;
    dim_t width = rank == 4 ? d[3] : dim_floordiv(t, d[2], heads);
    dim_t positions[] = {3, d[0], rank == 4 ? d[2] : d[1]};
    if (rank == 3 && !b_require(n->b, GUARD_MULTIPLE, d[2], heads, "columns of 'input' and num_heads"))
        return false;
    if (!b_rank(n, n->in[2], "'cos_cache'", &table))
        return false;
    if (table != 2)
        return NODE_ERROR(n, "'cos_cache' has rank %d, expected 2", table);
    dim_t rows[] = {n->in[2]->type.dims[0], half};
    if (!b_require(n->b, GUARD_EQUAL, size ? size : width, 2 * half, "sizes of heads and of 'mrope_section'") ||
        !b_has_dims(n, 1, "'position_ids'", positions, 3) || !b_has_dims(n, 2, "'cos_cache'", rows, 2) ||
        !b_has_dims(n, 3, "'sin_cache'", rows, 2))
        return false;
    struct arena *arena = &n->b->g->arena;
    attr_set_int(arena, &a, "interleaved", attr_int(&n->attrs, "interleaved", 0));
    attr_set_int(arena, &a, "num_heads", heads);
    attr_set_int(arena, &a, "rotary_embedding_dim", size);
    struct value *cosines = rows_by_stream(n, n->in[2], n->in[1], half, of);
    struct value *sines = rows_by_stream(n, n->in[3], n->in[1], half, of);
    return b_done(n, b_op(n->b, OP_rotary_embedding, (struct value *[]){x, cosines, sines}, 3, &a));
}

/* ---- DecoderMaskedMultiHeadAttention: one query; its keys from a cache that it grows, or from an encoder ---- */

struct one_query {
    struct onnx_node *n;
    int64_t heads;
    struct value *past; /* with a cache: how many rows of it there are, rank 1 */
};

/* (B,heads,1,D) put behind the rows of the cache (B,heads,M,D). */
static struct value *grown(const struct one_query *c, struct value *cache, struct value *fresh)
{
    struct onnx_node *n = c->n;
    struct value *places = b_2(n->b, OP_expand, c->past, b_dim(n->b, fresh, 0));
    return b_op(n->b, OP_tensor_scatter, (struct value *[]){cache, fresh, places}, 3, NULL);
}

/* The rows of a cache that are there; of each beam those of the beam that a row came from. */
static struct value *rows_of(const struct one_query *c, struct value *cache)
{
    static const int64_t by_row[] = {0, 2, 1, 3}, back[] = {2}, column[] = {1};
    struct onnx_node *n = c->n;
    struct value *zero = b_i64(n->b, 0), *axis = b_i64(n->b, 2), *beams = b_in(n, 8), *from = b_in(n, 9);
    struct value *total = b_add(n->b, c->past, b_i64(n->b, 1));
    struct value *rows = b_op(n->b, OP_slice, (struct value *[]){cache, zero, total, axis}, 4, NULL);
    if (!from || !beams)
        return rows;
    struct value *batch = b_dim(n->b, cache, 0);
    struct value *width = b_reshape_to(n->b, b_cast(n->b, beams, DT_I64), (int64_t[]){1}, 1);
    struct value *own = count_up(n, batch), *places = count_up(n, total);
    struct value *shape = b_concat(n->b, (struct value *[]){batch, b_i64(n->b, -1)}, 2, 0);
    from = b_reshape(n->b, b_cast(n->b, from, DT_I64), shape);
    from = b_op(n->b, OP_slice, (struct value *[]){from, zero, total, b_i64(n->b, 1)}, 4, NULL);
    struct value *first = b_sub(n->b, own, b_2(n->b, OP_mod, own, width));
    from = b_add(n->b, from, b_unsqueeze(n->b, first, column, 1));
    struct value *old = b_2(n->b, OP_lt, places, c->past);
    from = b_select(n->b, old, from, b_unsqueeze(n->b, own, column, 1));
    struct value *at[] = {b_unsqueeze(n->b, from, back, 1), NULL};
    struct value *all = b_2(n->b, OP_expand, places, b_shape(n->b, from));
    at[1] = b_unsqueeze(n->b, all, back, 1);
    struct value *index[] = {b_transpose(n->b, rows, by_row, 4), b_concat(n->b, at, 2, 2)};
    return b_transpose(n->b, b_op(n->b, OP_gather_nd, index, 2, NULL), by_row, 4);
}

/* Part i of three of the bias (Hq+Hk+Hv) added to x (B,1,H). */
static struct value *with_bias(struct onnx_node *n, struct value *x, int i)
{
    struct value *h = b_dim(n->b, n->in[0], 2), *from = b_mul(n->b, h, b_i64(n->b, i));
    struct value *to = b_add(n->b, from, h), *axis = b_i64(n->b, 0);
    if (!b_in(n, 10))
        return x;
    return b_add(n->b, x, b_op(n->b, OP_slice, (struct value *[]){n->in[10], from, to, axis}, 4, NULL));
}

static bool decoder_operands(const struct one_query *c, bool *cross)
{
    struct onnx_node *n = c->n;
    int rank[3];
    for (int i = 0; i < 3; i++) {
        if (!b_in(n, i))
            return NODE_ERROR(n, "input %d is left out: packed queries, keys and values are not supported", i);
        if (!b_rank(n, n->in[i], i == 0 ? "'query'" : i == 1 ? "'key'" : "'value'", &rank[i]))
            return false;
    }
    *cross = rank[1] == 4;
    if (rank[0] != 3 || rank[2] != rank[1] || (rank[1] != 3 && rank[1] != 4))
        return NODE_ERROR(n, "query, key and value have ranks %d, %d and %d, expected 3, and 3 or 4 twice", rank[0],
                          rank[1], rank[2]);
    const dim_t *q = n->in[0]->type.dims;
    struct dim_table *t = &n->b->g->dims;
    dim_t width = dim_floordiv(t, q[2], c->heads), bias = dim_mul(t, q[2], 3);
    dim_t keys[] = {q[0], c->heads, n->in[1]->type.dims[2], width};
    if (!b_require(n->b, GUARD_EQUAL, q[1], 1, "steps of 'query', and 1") ||
        !b_require(n->b, GUARD_MULTIPLE, q[2], c->heads, "columns of 'query' and num_heads") ||
        !b_has_dims(n, 10, "'bias'", &bias, 1))
        return false;
    if (!*cross)
        return b_has_dims(n, 1, "'key'", q, 3) && b_has_dims(n, 2, "'value'", q, 3);
    if (b_in(n, 4))
        return NODE_ERROR(n, "'attention_bias' is given, which keys of an encoder do not have");
    return b_has_dims(n, 1, "'key'", keys, 4) && b_has_dims(n, 2, "'value'", keys, 4);
}

/* Keys and values of the query itself, behind those of the cache if there is one. */
static bool own_keys(struct one_query *c, struct value *kv[2])
{
    struct onnx_node *n = c->n;
    bool shared = attr_int(&n->attrs, "past_present_share_buffer", 0) != 0;
    bool cached = b_in(n, 5) && b_in(n, 6);
    if (cached != (b_in(n, 5) || b_in(n, 6)) || cached != shared || (cached && !b_in(n, 7)))
        return NODE_ERROR(n, "past_key, past_value, past_sequence_length and past_present_share_buffer 1 go together");
    if (b_in(n, 8) && !b_in(n, 9))
        return NODE_ERROR(n, "'cache_indirection' is left out, 'beam_width' needs it");
    for (int i = 0; i < 2; i++) {
        /* without a cache the bias is that of the query alone, as ONNX Runtime has it */
        struct value *row = cached ? with_bias(n, n->in[1 + i], 1 + i) : n->in[1 + i], *cache = b_in(n, 5 + i);
        struct value *fresh = kv[i] = split_heads(n, row, c->heads);
        if (!cached)
            continue;
        c->past = b_reshape_to(n->b, b_cast(n->b, n->in[7], DT_I64), (int64_t[]){1}, 1);
        cache = grown(c, cache, fresh);
        if (n->nout > 1 + i)
            n->out[1 + i] = cache;
        kv[i] = rows_of(c, cache);
    }
    return !diag_failed(n->b->d);
}

bool lower_decoder_attention(struct onnx_node *n)
{
    static const int64_t places[] = {1, 2};
    struct one_query c = {n, attr_int(&n->attrs, "num_heads", 0), NULL};
    struct value *kv[2], *sum = b_in(n, 4);
    bool cross = false;
    int rank;
    if (c.heads < 1 || c.heads > INT32_MAX)
        return NODE_ERROR(n, "attribute 'num_heads' is %lld, expected 1 or more", (long long)c.heads);
    if (!b_has_default(n, "output_qk", 0) || !decoder_operands(&c, &cross))
        return false;
    kv[0] = n->in[1], kv[1] = n->in[2];
    if (!cross && !own_keys(&c, kv))
        return false;
    for (int i = 1; i < n->nout; i++)
        if (n->wanted[i] && !n->out[i])
            return NODE_ERROR(n, "output %d is wanted, which there is with a cache only, and the third never", i);
    if (b_in(n, 3)) {
        if (!b_rank(n, n->in[3], "'mask_index'", &rank))
            return false;
        if (rank != 2)
            return NODE_ERROR(n, "'mask_index' has rank %d, expected 2", rank);
        struct value *sees = b_2(n->b, OP_ne, n->in[3], b_like(n->b, n->in[3], 0));
        struct value *hidden = b_like(n->b, n->in[0], attr_float(&n->attrs, "mask_filter_value", -10000));
        struct value *mask = b_select(n->b, sees, b_like(n->b, n->in[0], 0), hidden);
        mask = b_unsqueeze(n->b, mask, places, 2);
        sum = sum ? b_add(n->b, sum, mask) : mask;
    }
    struct value *q = split_heads(n, with_bias(n, n->in[0], 0), c.heads);
    return b_done(n, join_heads(n, attend(n, q, kv[0], kv[1], sum)));
}
