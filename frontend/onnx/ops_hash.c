/*
 * Operators of com.microsoft that find places in tables of embeddings, from hashes of each token with those before it.
 */
#include "frontend/onnx/ops.h"
#include "frontend/onnx/ragged.h"

/* Which inputs they are. */
struct ngram_inputs {
    int past, offsets, end, segments;
};

struct ngrams {
    struct onnx_node *n;
    struct ngram_inputs in;
    int64_t max, heads;
    struct value *all;  /* (B,most - 1 + S): what went before, then the tokens */
    struct value *fill; /* a scalar: what stands for a token that does not count */
    struct value *end;  /* a scalar, or NULL */
    struct value *jump; /* (B,most - 1 + S), bool: a segment begins; or NULL */
};

/* The columns of x that are `back` places before those of the tokens. */
static struct value *before(const struct ngrams *g, struct value *x, int64_t back)
{
    return b_slice(g->n->b, x, g->max - 1 - back, back ? -back : INT64_MAX, 1);
}

static struct value *either(struct onnx_node *n, struct value *a, struct value *b)
{
    return a && b ? b_2(n->b, OP_or, a, b) : a ? a : b;
}

/* (B,most - 1) columns of one value, then x (B,S). */
static struct value *led_by(struct onnx_node *n, struct value *value, struct value *x, int64_t columns)
{
    struct value *shape = b_concat(n->b, (struct value *[]){b_dim(n->b, x, 0), b_i64(n->b, columns)}, 2, 0);
    return b_concat(n->b, (struct value *[]){b_2(n->b, OP_expand, value, shape), x}, 2, 1);
}

/* Where a segment begins in ids (B,S), but for the first. */
static struct value *begins(struct onnx_node *n, struct value *ids)
{
    struct value *later = b_slice(n->b, ids, 1, INT64_MAX, 1), *first = b_slice(n->b, ids, 0, 1, 1);
    struct value *other = b_2(n->b, OP_ne, later, b_slice(n->b, ids, 0, -1, 1));
    return b_concat(n->b, (struct value *[]){b_2(n->b, OP_ne, first, first), other}, 2, 1);
}

/* The same, and nowhere among the tokens before them. */
static struct value *jumps(const struct ngrams *g, struct value *segments)
{
    struct onnx_node *n = g->n;
    struct value *no = b_cast(n->b, b_scalar(n->b, DT_I32, 0), DT_BOOL);
    return led_by(n, no, begins(n, segments), g->max - 1);
}

/* Hashes of 2 to `most` tokens, each for all of its heads: (B,S,(most - 1) * heads). */
static struct value *hashes(const struct ngrams *g)
{
    static const int64_t last[] = {2};
    struct onnx_node *n = g->n;
    struct value *mix = NULL, *cut = NULL;
    struct value **parts = ARENA_ARRAY(&n->b->g->arena, struct value *, g->max);
    for (int64_t back = 0; parts && back < g->max && !diag_failed(n->b->d); back++) {
        struct value *token = before(g, g->all, back);
        if (back && g->end)
            cut = either(n, cut, b_2(n->b, OP_eq, token, g->end));
        struct value *counted = back && cut ? b_select(n->b, cut, g->fill, token) : token;
        if (back && g->jump) {
            cut = either(n, cut, before(g, g->jump, back - 1));
            counted = b_select(n->b, cut, g->fill, token);
        }
        struct value *factor = b_slice(n->b, n->in[1], back, back + 1, 0);
        struct value *term = b_mul(n->b, counted, factor);
        mix = mix ? b_2(n->b, OP_xor, mix, term) : term;
        if (!back)
            continue;
        struct value *sizes = b_slice(n->b, n->in[2], (back - 1) * g->heads, back * g->heads, 0);
        parts[back - 1] = b_2(n->b, OP_mod, b_unsqueeze(n->b, mix, last, 1), sizes);
    }
    return parts ? b_concat(n->b, parts, (int)g->max - 1, 2) : NULL;
}

/* The tokens have that rank. */
static bool ngram_operands(struct ngrams *g, int ids)
{
    struct onnx_node *n = g->n;
    int rank, factors, one;
    g->max = attr_int(&n->attrs, "max_ngram_size", 0), g->heads = attr_int(&n->attrs, "n_head_per_ngram", 0);
    if (g->max < 2 || g->max > 64 || g->heads < 1 || g->heads > INT32_MAX)
        return NODE_ERROR(n, "max_ngram_size is %lld and n_head_per_ngram %lld, expected 2 to 64, and 1 or more",
                          (long long)g->max, (long long)g->heads);
    if (!b_rank(n, n->in[0], "'input_ids'", &rank) || !b_rank(n, n->in[1], "'multipliers'", &factors))
        return false;
    if (rank != ids || factors != 1)
        return NODE_ERROR(n, "'input_ids' has rank %d and 'multipliers' rank %d, expected %d and 1", rank, factors,
                          ids);
    dim_t heads = (g->max - 1) * g->heads;
    if (b_in(n, g->in.end) && !b_rank(n, n->in[g->in.end], "'eos_token_id'", &one))
        return false;
    if (b_in(n, g->in.end) && one != 0)
        return NODE_ERROR(n, "'eos_token_id' has rank %d, expected 0", one);
    const struct tensor *sizes = b_constant(n->in[2]);
    for (int64_t i = 0; sizes && i < tensor_count(sizes); i++)
        if (tensor_i64(sizes, i) < 1)
            return NODE_ERROR(n, "'vocab_sizes' has %lld at %lld, expected 1 or more", (long long)tensor_i64(sizes, i),
                              (long long)i);
    return b_require(n->b, GUARD_AT_MAX, g->max, n->in[1]->type.dims[0], "'max_ngram_size' and multipliers") &&
           b_has_dims(n, 2, "'vocab_sizes'", &heads, 1) && b_has_dims(n, g->in.offsets, "'head_offsets'", &heads, 1) &&
           b_has_dims(n, g->in.segments, "'segment_ids'", n->in[0]->type.dims, ids);
}

/* What stands for tokens before the first, and where reading goes no further back. */
static void read_ends(struct ngrams *g)
{
    struct onnx_node *n = g->n;
    struct value *end = b_in(n, g->in.end);
    /* a double holds not every id of 64 bits */
    struct value *pad = b_cast(n->b, b_i64(n->b, attr_int(&n->attrs, "pad_id", 0)), b_dtype(n->in[0]));
    g->fill = end ? end : b_reshape(n->b, pad, b_i64s(n->b, NULL, 0));
    g->end = end && attr_int(&n->attrs, "reset_on_eos", 0) ? end : NULL;
}

/* The history, given or filled, before tokens (B,S). */
static bool lead(struct ngrams *g, struct value *tokens)
{
    struct onnx_node *n = g->n;
    struct value *past = b_in(n, g->in.past);
    dim_t dims[] = {tokens->type.dims[0], g->max - 1};
    if (!b_has_dims(n, g->in.past, "'past_ids'", dims, 2))
        return false;
    g->all = past ? b_concat(n->b, (struct value *[]){past, tokens}, 2, 1) : led_by(n, g->fill, tokens, g->max - 1);
    return !diag_failed(n->b->d);
}

static struct value *placed(const struct ngrams *g, struct value *y)
{
    return b_in(g->n, g->in.offsets) ? b_add(g->n->b, y, g->n->in[g->in.offsets]) : y;
}

bool lower_ngram_hash_mapping(struct onnx_node *n)
{
    struct ngrams g = {.n = n, .in = {3, 4, 5, 6}};
    if (!ngram_operands(&g, 2))
        return false;
    read_ends(&g);
    if (!lead(&g, n->in[0]))
        return false;
    g.jump = b_in(n, 6) ? jumps(&g, n->in[6]) : NULL;
    if (n->nout > 1)
        n->out[1] = b_slice(n->b, g.all, 1 - g.max, INT64_MAX, 1);
    return b_done(n, placed(&g, hashes(&g)));
}

/* The last most - 1 columns of each request in x (B,most - 1 + longest). */
static struct value *latest(const struct ngrams *g, const struct ragged *r, struct value *x)
{
    static const int64_t column[] = {1};
    struct onnx_node *n = g->n;
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    struct value *from = b_unsqueeze(n->b, r->lengths, column, 1);
    struct value *at = b_add(n->b, from, count_up(n, b_i64(n->b, g->max - 1)));
    return b_op(n->b, OP_gather_elements, (struct value *[]){x, at}, 2, &a);
}

/* The same of the tokens of several requests, each with a history of its own. */
bool lower_varlen_ngram_hash_mapping(struct onnx_node *n)
{
    struct ngrams g = {.n = n, .in = {4, 5, 6, 7}};
    struct ragged r;
    struct value *segments = b_in(n, 7), *past = b_in(n, 8);
    if (!b_has_default(n, "state_update_capacity", 0) || !ngram_operands(&g, 1))
        return false;
    if (b_in(n, 9) || (n->nout > 3 && n->wanted[3]))
        return NODE_ERROR(n, "capture_count and state_update are not supported");
    if (!b_in(n, 3) || (past && !segments))
        return NODE_ERROR(n, "'%s' is left out", past ? "segment_ids" : "cumulative_sequence_length");
    if (n->nout > 2 && n->wanted[2] && (!segments || !past))
        return NODE_ERROR(n, "output 'present_segment_ids' needs segment_ids and past_segment_ids");
    read_ends(&g);
    if (!read_ragged(&r, n, 3, n->in[0]) || !lead(&g, filled_up(&r, n->in[0])))
        return false;
    if (segments) {
        segments = filled_up(&r, segments);
        dim_t dims[] = {segments->type.dims[0], g.max - 1};
        if (!b_has_dims(n, 8, "'past_segment_ids'", dims, 2))
            return false;
        struct value *all = past ? b_concat(n->b, (struct value *[]){past, segments}, 2, 1) : NULL;
        g.jump = all ? begins(n, all) : jumps(&g, segments);
        if (n->nout > 2 && n->wanted[2])
            n->out[2] = latest(&g, &r, all);
    }
    if (n->nout > 1)
        n->out[1] = latest(&g, &r, g.all);
    return b_done(n, placed(&g, taken(&r, hashes(&g))));
}
