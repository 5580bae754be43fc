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

/* ---- SparseAttention: blocks of keys that blocks of queries see, by layouts that heads take in turn ---- */

struct sparse {
    struct onnx_node *n;
    int64_t heads, groups, layouts, block;
    struct value *before; /* (B): keys of each batch that were there */
    struct value *total;  /* a list of one */
};

/* (layouts,blocks,blocks) of f32, 1 where a block is seen, from rows (layouts,blocks + 1) and columns of blocks. */
static struct value *seen_blocks(const struct sparse *s)
{
    static const int64_t row[] = {1}, entry[] = {2};
    struct onnx_node *n = s->n;
    struct attrs a = {0};
    struct value *firsts = b_cast(n->b, n->in[5], DT_I64), *columns = b_cast(n->b, n->in[6], DT_I64);
    struct value *one = b_i64(n->b, 1), *entries = count_up(n, b_dim(n->b, columns, 1));
    struct value *blocks = b_sub(n->b, b_dim(n->b, firsts, 1), one), *all = b_mul(n->b, blocks, blocks);
    /* an entry's row: how many rows end at or before it; those behind the last row are put where none is */
    struct value *ends = b_unsqueeze(n->b, b_slice(n->b, firsts, 1, INT64_MAX, 1), entry, 1);
    struct value *behind = b_cast(n->b, b_2(n->b, OP_ge, entries, ends), DT_I64);
    struct value *rows = b_reduce(n->b, OP_reduce_sum, behind, row, 1, false);
    struct value *place = b_add(n->b, b_mul(n->b, rows, blocks), columns);
    place = b_select(n->b, b_2(n->b, OP_lt, rows, blocks), place, all);
    struct value *shape[] = {b_dim(n->b, firsts, 0), b_add(n->b, all, one), NULL};
    struct value *empty = b_2(n->b, OP_expand, b_scalar(n->b, DT_F32, 0), b_concat(n->b, shape, 2, 0));
    struct value *ones = b_2(n->b, OP_expand, b_scalar(n->b, DT_F32, 1), b_shape(n->b, place));
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    struct value *seen = b_op(n->b, OP_scatter_elements, (struct value *[]){empty, place, ones}, 3, &a);
    shape[1] = shape[2] = blocks;
    seen = b_slice(n->b, seen, 0, -1, 1);
    return b_reshape(n->b, seen, b_concat(n->b, shape, 3, 0));
}

/* What is added to the scores, (B,heads,S,total). */
static struct value *layout_mask(const struct sparse *s, struct value *steps)
{
    static const int64_t last[] = {-1}, order[] = {1, 0, 2, 3}, layout[] = {1};
    struct onnx_node *n = s->n;
    struct value *block = b_i64(n->b, s->block), *zero = b_scalar(n->b, DT_F32, 0);
    struct value *i = b_unsqueeze(n->b, s->before, last, 1);
    i = b_add(n->b, i, count_up(n, steps));
    struct value *j = count_up(n, s->total), *dense = seen_blocks(s);
    struct value *rows = b_gather(n->b, dense, b_div(n->b, i, block), 1);
    struct value *seen = b_transpose(n->b, b_gather(n->b, rows, b_div(n->b, j, block), 3), order, 4);
    struct value *past = b_unsqueeze(n->b, b_2(n->b, OP_le, j, b_unsqueeze(n->b, i, last, 1)), layout, 1);
    struct value *sees = b_2(n->b, OP_and, b_2(n->b, OP_ne, seen, zero), past);
    double filter = b_dtype(n->in[0]) == DT_F16 ? -65504 : -3.0e38;
    struct value *mask = b_select(n->b, sees, b_like(n->b, n->in[0], 0), b_like(n->b, n->in[0], filter));
    struct value *times = b_i64s(n->b, (int64_t[]){1, s->heads / s->layouts, 1, 1}, 4);
    return s->heads == s->layouts ? mask : b_2(n->b, OP_tile, mask, times);
}

static struct value *rotated(const struct sparse *s, struct value *x, int64_t heads)
{
    static const int64_t last[] = {-1};
    struct onnx_node *n = s->n;
    struct attrs a = {0};
    struct value *steps = count_up(n, b_dim(n->b, x, 1));
    struct value *places = b_add(n->b, b_unsqueeze(n->b, s->before, last, 1), steps);
    attr_set_int(&n->b->g->arena, &a, "interleaved", attr_int(&n->attrs, "rotary_interleaved", 0));
    attr_set_int(&n->b->g->arena, &a, "num_heads", heads);
    attr_set_int(&n->b->g->arena, &a, "rotary_embedding_dim", -1);
    return b_op(n->b, OP_rotary_embedding, (struct value *[]){x, n->in[9], n->in[10], places}, 4, &a);
}

static bool sparse_attributes(struct sparse *s)
{
    struct onnx_node *n = s->n;
    s->heads = attr_int(&n->attrs, "num_heads", 0), s->groups = attr_int(&n->attrs, "kv_num_heads", 0);
    s->block = attr_int(&n->attrs, "sparse_block_size", 0);
    if (s->heads < 1 || s->groups < 1 || s->heads > INT32_MAX || s->heads % s->groups || s->block < 1 ||
        s->block > INT32_MAX)
        return NODE_ERROR(n, "num_heads %lld, kv_num_heads %lld and sparse_block_size %lld do not go together",
                          (long long)s->heads, (long long)s->groups, (long long)s->block);
    for (int i = 3; i < 9; i++)
        if (!b_in(n, i))
            return NODE_ERROR(n, "input %d is left out, this operator needs it", i);
    if ((b_in(n, 1) == NULL) != (b_in(n, 2) == NULL))
        return NODE_ERROR(n, "one of key and value is left out");
    bool rotates = attr_int(&n->attrs, "do_rotary", 0) != 0;
    return !rotates || (b_in(n, 9) && b_in(n, 10)) ||
           NODE_ERROR(n, "'cos_cache' or 'sin_cache' is left out, do_rotary needs both");
}

/* Shapes of the operands; query, key and value (B,S,heads * D), packed ones taken apart. */
static bool sparse_operands(struct sparse *s, struct value *x[3])
{
    static const char *const names[] = {"'query'", "", "", "'past_key'", "", "'block_row_indices'",
                                        "'block_col_indices'"};
    static const int ranks[] = {3, 0, 0, 4, 0, 2, 2};
    struct onnx_node *n = s->n;
    struct dim_table *t = &n->b->g->dims;
    int rank;
    for (int i = 0; i < 7; i++)
        if (ranks[i] && (!b_rank(n, n->in[i], names[i], &rank) ||
                         (rank != ranks[i] && !NODE_ERROR(n, "%s has rank %d, expected %d", names[i], rank, ranks[i]))))
            return false;
    const dim_t *q = n->in[0]->type.dims, *past = n->in[3]->type.dims, *rows = n->in[5]->type.dims;
    dim_t cache[] = {q[0], s->groups, past[2], past[3]}, columns[] = {rows[0], n->in[6]->type.dims[1]};
    dim_t kv[] = {q[0], q[1], dim_mul(t, past[3], s->groups)};
    dim_t width = dim_mul(t, past[3], b_in(n, 1) ? s->heads : s->heads + 2 * s->groups);
    if (!dim_is_const(rows[0]) || rows[0] < 1 || s->heads % rows[0])
        return NODE_ERROR(n, "the number of layouts of 'block_row_indices' is not known or does not divide %lld heads",
                          (long long)s->heads);
    s->layouts = rows[0];
    if (!b_require(n->b, GUARD_EQUAL, q[2], width, "columns of 'query' and heads") ||
        !b_has_dims(n, 1, "'key'", kv, 3) || !b_has_dims(n, 2, "'value'", kv, 3) ||
        !b_has_dims(n, 3, "'past_key'", cache, 4) || !b_has_dims(n, 4, "'past_value'", cache, 4) ||
        !b_has_dims(n, 6, "'block_col_indices'", columns, 2) ||
        !b_has_dims(n, 8, "'key_total_sequence_lengths'", q, 1))
        return false;
    struct value *size = b_dim(n->b, n->in[3], 3), *from = b_i64(n->b, 0), *axis = b_i64(n->b, 2);
    for (int i = 0; i < 3; i++) {
        x[i] = b_in(n, 1) ? n->in[i] : NULL;
        if (x[i])
            continue;
        struct value *to = b_add(n->b, from, b_mul(n->b, size, b_i64(n->b, i ? s->groups : s->heads)));
        x[i] = b_op(n->b, OP_slice, (struct value *[]){n->in[0], from, to, axis}, 4, NULL);
        from = to;
    }
    return !diag_failed(n->b->d);
}

bool lower_sparse_attention(struct onnx_node *n)
{
    static const int64_t front[] = {2}, list[] = {1}, flat[] = {-1};
    struct sparse s = {.n = n};
    struct value *x[3], *kv[2];
    if (!sparse_attributes(&s) || !sparse_operands(&s, x))
        return false;
    s.total = b_reshape_to(n->b, b_cast(n->b, n->in[7], DT_I64), list, 1);
    struct value *steps = b_dim(n->b, x[0], 1), *lengths = b_reshape_to(n->b, b_cast(n->b, n->in[8], DT_I64), flat, 1);
    struct value *fresh = b_2(n->b, OP_eq, s.total, steps);
    s.before = b_select(n->b, fresh, b_i64(n->b, 0), b_sub(n->b, lengths, steps));
    for (int i = 0; attr_int(&n->attrs, "do_rotary", 0) && i < 2; i++)
        x[i] = rotated(&s, x[i], i ? s.groups : s.heads);
    struct value *zero = b_i64(n->b, 0), *axis = b_i64(n->b, 2);
    for (int i = 0; i < 2; i++) {
        struct value *rows = split_heads(n, x[1 + i], s.groups);
        struct value *cache = b_op(n->b, OP_tensor_scatter, (struct value *[]){n->in[3 + i], rows, s.before}, 3, NULL);
        if (n->nout > 1 + i)
            n->out[1 + i] = cache;
        kv[i] = b_op(n->b, OP_slice, (struct value *[]){cache, zero, s.total, axis}, 4, NULL);
        kv[i] = b_unsqueeze(n->b, kv[i], front, 1);
    }
    const int64_t apart[] = {s.groups, s.heads / s.groups};
    struct value *q = split_heads(n, x[0], s.heads), *mask = layout_mask(&s, steps), *size = b_dim(n->b, q, 3);
    struct value *lead[] = {b_dim(n->b, q, 0), b_i64s(n->b, apart, 2), steps, size};
    struct value *grouped = b_reshape(n->b, q, b_concat(n->b, lead, 4, 0));
    lead[3] = s.total;
    mask = b_reshape(n->b, mask, b_concat(n->b, lead, 4, 0));
    struct value *y = attend(n, grouped, kv[0], kv[1], mask);
    return b_done(n, join_heads(n, b_reshape_as(n->b, y, q)));
}
