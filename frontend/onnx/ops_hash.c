/*
 * NGramHashMapping of com.microsoft: places in tables of embeddings, from hashes of each token with those before it.
 */
#include "frontend/onnx/ops.h"

struct ngrams {
    struct onnx_node *n;
    int64_t most, heads;
    struct value *all;  /* (B,most - 1 + S): what went before, then the tokens */
    struct value *fill; /* a scalar: what stands for a token that does not count */
    struct value *end;  /* a scalar, or NULL */
    struct value *jump; /* (B,most - 1 + S), bool: a segment begins; or NULL */
};

/* The columns of x that are `back` places before those of the tokens. */
static struct value *before(const struct ngrams *g, struct value *x, int64_t back)
{
    return b_slice(g->n->b, x, g->most - 1 - back, back ? -back : INT64_MAX, 1);
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

/* Where a segment of ids (B,S) begins, but for the first. */
static struct value *jumps(const struct ngrams *g, struct value *segments)
{
    struct onnx_node *n = g->n;
    struct value *later = b_slice(n->b, segments, 1, INT64_MAX, 1);
    struct value *other = b_2(n->b, OP_ne, later, b_slice(n->b, segments, 0, -1, 1));
    struct value *first = b_slice(n->b, segments, 0, 1, 1), *none = b_2(n->b, OP_ne, first, first);
    struct value *starts = b_concat(n->b, (struct value *[]){none, other}, 2, 1);
    return led_by(n, b_cast(n->b, b_scalar(n->b, DT_I32, 0), DT_BOOL), starts, g->most - 1);
}

/* Hashes of 2 to `most` tokens, each for all of its heads: (B,S,(most - 1) * heads). */
static struct value *hashes(const struct ngrams *g)
{
    static const int64_t last[] = {2};
    struct onnx_node *n = g->n;
    struct value *mix = NULL, *cut = NULL;
    struct value **parts = ARENA_ARRAY(&n->b->g->arena, struct value *, g->most);
    for (int64_t back = 0; parts && back < g->most && !diag_failed(n->b->d); back++) {
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
    return parts ? b_concat(n->b, parts, (int)g->most - 1, 2) : NULL;
}

static bool ngram_operands(struct ngrams *g)
{
    struct onnx_node *n = g->n;
    int rank, factors, one;
    g->most = attr_int(&n->attrs, "max_ngram_size", 0), g->heads = attr_int(&n->attrs, "n_head_per_ngram", 0);
    if (g->most < 2 || g->most > 64 || g->heads < 1 || g->heads > INT32_MAX)
        return NODE_ERROR(n, "max_ngram_size is %lld and n_head_per_ngram %lld, expected 2 to 64, and 1 or more",
                          (long long)g->most, (long long)g->heads);
    if (!b_rank(n, n->in[0], "'input_ids'", &rank) || !b_rank(n, n->in[1], "'multipliers'", &factors))
        return false;
    if (rank != 2 || factors != 1)
        return NODE_ERROR(n, "'input_ids' has rank %d and 'multipliers' rank %d, expected 2 and 1", rank, factors);
    dim_t *ids = n->in[0]->type.dims, heads = (g->most - 1) * g->heads, past[] = {ids[0], g->most - 1};
    if (b_in(n, 5) && !b_rank(n, n->in[5], "'eos_token_id'", &one))
        return false;
    if (b_in(n, 5) && one != 0)
        return NODE_ERROR(n, "'eos_token_id' has rank %d, expected 0", one);
    const struct tensor *sizes = b_constant(n->in[2]);
    for (int64_t i = 0; sizes && i < tensor_count(sizes); i++)
        if (tensor_i64(sizes, i) < 1)
            return NODE_ERROR(n, "'vocab_sizes' has %lld at %lld, expected 1 or more", (long long)tensor_i64(sizes, i),
                              (long long)i);
    return b_require(n->b, GUARD_AT_MAX, g->most, n->in[1]->type.dims[0], "'max_ngram_size' and multipliers") &&
           b_has_dims(n, 2, "'vocab_sizes'", &heads, 1) && b_has_dims(n, 3, "'past_ids'", past, 2) &&
           b_has_dims(n, 4, "'head_offsets'", &heads, 1) && b_has_dims(n, 6, "'segment_ids'", ids, 2);
}

bool lower_ngram_hash_mapping(struct onnx_node *n)
{
    struct ngrams g = {.n = n};
    struct value *end = b_in(n, 5), *past = b_in(n, 3);
    if (!ngram_operands(&g))
        return false;
    /* a double holds not every id of 64 bits */
    int64_t pad = attr_int(&n->attrs, "pad_id", 0);
    struct value *fill = b_reshape(n->b, b_cast(n->b, b_i64(n->b, pad), b_dtype(n->in[0])), b_i64s(n->b, NULL, 0));
    g.fill = end ? end : fill;
    g.end = end && attr_int(&n->attrs, "reset_on_eos", 0) ? end : NULL;
    g.all = past ? b_concat(n->b, (struct value *[]){past, n->in[0]}, 2, 1) : led_by(n, g.fill, n->in[0], g.most - 1);
    g.jump = b_in(n, 6) ? jumps(&g, n->in[6]) : NULL;
    struct value *y = hashes(&g);
    if (n->nout > 1)
        n->out[1] = b_slice(n->b, g.all, 1 - g.most, INT64_MAX, 1);
    return b_done(n, b_in(n, 4) ? b_add(n->b, y, n->in[4]) : y);
}
