/*
 * GreedySearch and Sampling of com.microsoft, and what generating text is made of (generation.h).
 */
#include "frontend/onnx/generation.h"
#include "frontend/onnx/ops.h"
#include "passes/pass.h"

#include <float.h>

enum { FIRST_PAST = 3 }; /* of the decoder's inputs: tokens, positions, mask, keys and values */

static const int64_t column[] = {1};

/* ---- scores ---- */

static struct value *lowest(struct builder *b)
{
    return b_scalar(b, DT_F32, -FLT_MAX);
}

/* (rows,V): whether a token is among those of the list of its row, (rows,L); one that is V is none. */
static struct value *among(struct generation *g, struct value *scores, struct value *tokens)
{
    struct builder *b = g->n->b;
    struct attrs a = {0};
    struct value *width = b_add(b, b_dim(b, scores, 1), b_i64(b, 1));
    struct value *shape = b_concat(b, (struct value *[]){b_dim(b, scores, 0), width}, 2, 0);
    struct value *none = b_2(b, OP_expand, b_scalar(b, DT_BOOL, 0), shape);
    struct value *yes = b_2(b, OP_expand, b_scalar(b, DT_BOOL, 1), b_shape(b, tokens));
    attr_set_int(&b->g->arena, &a, "axis", 1);
    struct value *found = b_op(b, OP_scatter_elements, (struct value *[]){none, tokens, yes}, 3, &a);
    return b_slice(b, found, 0, -1, 1);
}

static struct value *with_penalty(struct generation *g, struct value *scores, struct value *tokens)
{
    struct builder *b = g->n->b;
    struct value *negative = b_2(b, OP_lt, scores, b_scalar(b, DT_F32, 0));
    struct value *more = b_mul(b, scores, g->penalty), *less = b_div(b, scores, g->penalty);
    struct value *changed = b_select(b, negative, more, less);
    return b_select(b, among(g, scores, tokens), changed, scores);
}

/* No run of `ngram` tokens a second time: what followed a run like the last ngram - 1 tokens is not to follow again. */
static struct value *without_repeats(struct generation *g, struct value *scores, struct value *tokens,
                                     struct value *length)
{
    struct builder *b = g->n->b;
    struct value *zero = b_i64(b, 0), *match = NULL;
    struct value *runs = b_2(b, OP_max, b_sub(b, length, b_i64(b, g->ngram - 1)), zero), *places = count_up(g->n, runs);
    for (int64_t i = 0; i + 1 < g->ngram; i++) {
        struct value *place = b_2(b, OP_max, b_sub(b, length, b_i64(b, g->ngram - 1 - i)), zero);
        struct value *there = b_gather(b, tokens, b_add(b, places, b_i64(b, i)), 1);
        struct value *same = b_2(b, OP_eq, there, b_gather(b, tokens, place, 1));
        match = match ? b_2(b, OP_and, match, same) : same;
    }
    struct value *next = b_gather(b, tokens, b_add(b, places, b_i64(b, g->ngram - 1)), 1);
    struct value *nothing = b_cast(b, b_dim(b, scores, 1), DT_I32);
    if (match)
        next = b_select(b, match, next, nothing);
    return b_select(b, among(g, scores, next), lowest(b), scores);
}

/* Scores where the mask is 0 are the lowest. The mask is (V), or (B,V) with a row for all beams. */
static struct value *where_allowed(struct generation *g, struct value *scores, struct value *mask, bool rows)
{
    struct builder *b = g->n->b;
    struct value *banned = b_2(b, OP_eq, mask, b_like(b, mask, 0));
    if (rows && g->beams) {
        struct value *shape[] = {b_dim(b, mask, 0), g->beams, b_dim(b, mask, 1)};
        banned = b_unsqueeze(b, banned, column, 1);
        banned = b_reshape_as(b, b_2(b, OP_expand, banned, b_concat(b, shape, 3, 0)), scores);
    }
    return b_select(b, banned, lowest(b), scores);
}

struct value *generation_scores(struct generation *g, const struct text_turn *t, struct value *scores)
{
    struct builder *b = g->n->b;
    struct value *tokens = NULL;
    if (g->penalty || g->ngram > 0)
        tokens = b_op(b, OP_slice, (struct value *[]){t->tokens, b_i64(b, 0), t->length, b_i64(b, 1)}, 4, NULL);
    if (g->penalty)
        scores = with_penalty(g, scores, tokens);
    if (g->ngram > 0)
        scores = without_repeats(g, scores, tokens, t->length);
    if (g->vocab)
        scores = where_allowed(g, scores, g->vocab, false);
    if (g->prefix && t->first)
        scores = where_allowed(g, scores, g->prefix, true);
    if (!g->min_length || g->eos < 0)
        return scores;
    struct value *early = b_2(b, OP_lt, t->length, b_cast(b, g->min_length, DT_I64));
    struct value *end = b_2(b, OP_eq, count_up(g->n, b_dim(b, scores, 1)), b_i64(b, g->eos));
    return b_select(b, b_2(b, OP_and, end, early), lowest(b), scores);
}

struct value *generation_append(struct generation *g, const struct text_turn *t, struct value *next)
{
    struct builder *b = g->n->b;
    struct value *places = count_up(g->n, b_dim(b, g->blank, 1)), *here = b_2(b, OP_eq, places, t->length);
    return b_select(b, here, b_unsqueeze(b, next, column, 1), t->tokens);
}

/* ---- the prompt ---- */

static struct value *list_of_one(struct builder *b, struct value *x)
{
    return x ? b_reshape_to(b, x, column, 1) : NULL;
}

/* Empty keys and values of each layer, as the decoder's inputs are declared: (2,rows,heads,0,size). */
static bool empty_past(struct generation *g, const struct subgraph *decoder)
{
    struct onnx_node *n = g->n;
    g->row_axis = 1, g->growing_axis = 3;
    g->npast = (int)decoder->graph->n_output - 1;
    if (g->npast < 1 || (int)decoder->graph->n_input != g->npast + FIRST_PAST)
        return NODE_ERROR(n, "the decoder has %zu inputs and %zu outputs, expected tokens, positions, a mask and keys "
                             "and values of each layer, and logits and keys and values of each (no shared buffers)",
                          decoder->graph->n_input, decoder->graph->n_output);
    const Onnx__TypeProto *type = decoder->graph->input[FIRST_PAST]->type;
    bool half = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                type->tensor_type->elem_type == DT_F16;
    g->past = ARENA_ARRAY(&n->b->g->arena, struct value *, g->npast);
    for (int i = 0; i < g->npast; i++) {
        int64_t heads = subgraph_input_dim(decoder, FIRST_PAST + i, 2, 5);
        int64_t size = subgraph_input_dim(decoder, FIRST_PAST + i, 4, 5);
        if (heads < 1 || size < 1)
            return NODE_ERROR(n, "input %d of the decoder is not declared with 5 dimensions, of which the third "
                                 "(heads) and the last are numbers", FIRST_PAST + i);
        struct value *shape[] = {b_i64(n->b, 2), g->rows, b_i64s(n->b, (int64_t[]){heads, 0, size}, 3)};
        g->past[i] = b_2(n->b, OP_expand, b_scalar(n->b, half ? DT_F16 : DT_F32, 0), b_concat(n->b, shape, 3, 0));
    }
    return !diag_failed(n->b->d);
}

static bool check_operands(struct generation *g, int first)
{
    struct onnx_node *n = g->n;
    int rank;
    int64_t kind = attr_int(&n->attrs, "model_type", 0);
    if (kind != 0 && (kind != 1 || !g->beams))
        return NODE_ERROR(n, "attribute 'model_type' is %lld, expected 0, or 1 of BeamSearch", (long long)kind);
    if (!b_rank(n, n->in[0], "'input_ids'", &rank))
        return false;
    if (rank != 2 || b_dtype(n->in[0]) != DT_I32)
        return NODE_ERROR(n, "'input_ids' has rank %d and type %s, expected rank 2 and i32", rank,
                          dtype_name(b_dtype(n->in[0])));
    g->ngram = attr_int(&n->attrs, "no_repeat_ngram_size", 0);
    if (g->ngram > 64)
        return NODE_ERROR(n, "attribute 'no_repeat_ngram_size' is %lld, expected at most 64", (long long)g->ngram);
    struct value *prefix = b_in(n, first + 2);
    if (prefix && !b_rank(n, prefix, "'prefix_vocab_mask'", &rank))
        return false;
    dim_t rows[] = {n->in[0]->type.dims[0], prefix && rank == 2 ? prefix->type.dims[1] : 0};
    return b_has_dims(n, first + 2, "'prefix_vocab_mask'", rows, 2) &&
           b_has_dims(n, first + 3, "'attention_mask'", n->in[0]->type.dims, 2);
}

/* Tokens, places and mask of the prompt: padding has place 0 and is hidden, unless the mask says otherwise. */
static void read_prompt(struct generation *g, struct value *attention_mask)
{
    struct builder *b = g->n->b;
    struct value *ids = g->n->in[0];
    struct attrs a = {0};
    struct value *counts = b_cast(b, b_2(b, OP_ne, ids, b_scalar(b, DT_I32, (double)g->pad)), DT_I32);
    attr_set_int(&b->g->arena, &a, "exclusive", 1);
    struct value *sum = b_op(b, OP_cumsum, (struct value *[]){counts, b_scalar(b, DT_I64, 1)}, 2, &a);
    g->positions = generation_rows(g, b_mul(b, sum, counts));
    g->ids = generation_rows(g, ids);
    g->mask = generation_rows(g, attention_mask ? attention_mask : counts);
    g->next_positions = generation_rows(g, b_reduce(b, OP_reduce_sum, counts, column, 1, true));
}

bool generation_begin(struct generation *g, int first, struct value *beams)
{
    struct onnx_node *n = g->n;
    struct builder *b = n->b;
    struct subgraph decoder;
    struct value *penalty = b_in(n, first);
    g->beams = beams ? b_cast(b, list_of_one(b, beams), DT_I64) : NULL;
    if (!node_subgraph(n, "decoder", &decoder) || !check_operands(g, first))
        return false;
    bool encoded = attr_int(&n->attrs, "model_type", 0) == 1;
    g->pad = attr_int(&n->attrs, "pad_token_id", 0), g->eos = attr_int(&n->attrs, "eos_token_id", 0);
    g->penalty = penalty ? b_cast(b, penalty, DT_F32) : NULL, g->min_length = list_of_one(b, b_in(n, 2));
    g->vocab = b_in(n, first + 1), g->prefix = b_in(n, first + 2);
    if (!encoded)
        read_prompt(g, b_in(n, first + 3));
    else if (!generation_encode(g, b_in(n, first + 3)))
        return false;
    g->rows = b_dim(b, g->ids, 0), g->start = b_dim(b, g->ids, 1);
    struct value *left = b_sub(b, b_cast(b, list_of_one(b, n->in[1]), DT_I64), g->start);
    struct value *shape = b_concat(b, (struct value *[]){g->rows, left}, 2, 0);
    struct value *padding = b_2(b, OP_expand, b_scalar(b, DT_I32, (double)g->pad), shape);
    g->blank = b_concat(b, (struct value *[]){g->ids, padding}, 2, 1);
    g->max = b_dim(b, g->blank, 1);
    return !diag_failed(b->d) && (encoded || empty_past(g, &decoder));
}

/* ---- turns ---- */

/* The decoder on tokens behind `past`; its logits of the last of them. */
static struct value *decode(struct generation *g, const struct subgraph *decoder, struct value *ids,
                            struct value *positions, struct value *mask)
{
    struct onnx_node *n = g->n;
    int count = 0;
    struct value **args = ARENA_ARRAY(&n->b->g->arena, struct value *, g->npast + g->nfixed + FIRST_PAST);
    struct value **results = ARENA_ARRAY(&n->b->g->arena, struct value *, g->npast + 1);
    args[count++] = ids;
    if (!g->fixed)
        args[count++] = positions, args[count++] = mask;
    for (int i = 0; i < g->nfixed + g->npast; i++) {
        bool past = i >= g->nbefore && i < g->nbefore + g->npast;
        args[count++] = past ? g->past[i - g->nbefore] : g->fixed[i < g->nbefore ? i : i - g->npast];
    }
    if (diag_failed(n->b->d) || !import_inline(n, decoder, args, count, results, g->npast + 1))
        return NULL;
    for (int i = 0; i < g->npast; i++)
        g->past[i] = results[1 + i];
    return generation_logits(g, results[0]);
}

/* One turn, with the keys and values of the rows that it goes on with. */
static bool take_turn(struct generation *g, const struct subgraph *decoder, choose_fn choose, const struct text_turn *t,
                      struct value *positions, struct value *mask, struct text_state *k)
{
    struct builder *b = g->n->b;
    struct value *logits = t->first ? g->logits : NULL;
    if (!logits)
        logits = decode(g, decoder, t->first ? g->ids : k->next, positions, mask);
    if (!logits)
        return false;
    choose(g, t, logits, k);
    for (int i = 0; k->from && i < g->npast; i++)
        g->past[i] = b_gather(b, g->past[i], k->from, g->row_axis);
    return !diag_failed(b->d);
}

/* The prompt's mask, and 1 for each token behind it: for tokens behind `past` others. */
static struct value *longer_mask(struct generation *g)
{
    struct builder *b = g->n->b;
    struct value *more = b_sub(b, b_add(b, b_dim(b, g->past[0], 3), b_i64(b, 1)), g->start);
    struct value *shape = b_concat(b, (struct value *[]){g->rows, more}, 2, 0);
    struct value *ones = b_2(b, OP_expand, b_scalar(b, DT_I32, 1), shape);
    return b_concat(b, (struct value *[]){g->mask, ones}, 2, 1);
}

/* What goes from turn to turn, in the loop's order; *count of them. */
static void collect(struct generation *g, struct text_state *k, struct value **positions,
                    struct value ***list, int *count)
{
    *count = 0;
    list[(*count)++] = &k->tokens, list[(*count)++] = &k->next, list[(*count)++] = &k->done;
    if (*positions)
        list[(*count)++] = positions;
    for (int i = 0; i < k->owned; i++)
        list[(*count)++] = &k->own[i];
    for (int i = 0; i < g->npast; i++)
        list[(*count)++] = &g->past[i];
}

static struct value *not_all(struct builder *b, struct value *done)
{
    return b_1(b, OP_not, b_reduce(b, OP_reduce_min, done, NULL, 0, false));
}

/* The loop's parameter for a value: keys and values grow from turn to turn. */
static struct value *parameter(struct generation *g, struct region *r, struct value *v)
{
    struct type t = v->type;
    bool past = false;
    for (int i = 0; i < g->npast; i++)
        past |= v == g->past[i];
    if (past && t.rank > g->growing_axis)
        t.dims[g->growing_axis] = dim_fresh(&g->n->b->g->dims, "turn");
    return region_add_param(r, &t, NULL);
}

/* A turn in the loop's body, whose parameters are in `list` and become what the turn leaves. */
static bool fill_body(struct generation *g, choose_fn choose, struct text_state *k, struct value *round,
                      struct value **positions)
{
    struct builder *b = g->n->b;
    struct subgraph decoder;
    struct value *turn = b_add(b, b_reshape_to(b, round, column, 1), b_i64(b, 1));
    struct text_turn t = {b_add(b, g->start, turn), k->tokens, false};
    struct value *at = *positions, *mask = g->fixed ? NULL : longer_mask(g);
    if (at)
        *positions = b_add(b, at, b_scalar(b, DT_I32, 1));
    return node_subgraph(g->n, "decoder", &decoder) && take_turn(g, &decoder, choose, &t, at, mask, k);
}

static bool run_loop(struct generation *g, choose_fn choose, struct text_state *k)
{
    struct onnx_node *n = g->n, inside = *n;
    struct arena *arena = &n->b->g->arena;
    struct type number = type_tensor(DT_I64, 0, NULL), truth = type_tensor(DT_BOOL, 0, NULL);
    struct value *positions = g->next_positions;
    int count, scans = k->scores != NULL;
    struct value ***list = ARENA_ARRAY(arena, struct value **, g->npast + MAX_KEPT + 4);
    collect(g, k, &positions, list, &count);
    struct value **in = ARENA_ARRAY(arena, struct value *, 2 * count + 4), **results = in + count + 2;
    struct value *trips = b_sub(n->b, b_sub(n->b, g->max, g->start), b_i64(n->b, 1));
    in[0] = b_reshape(n->b, trips, b_i64s(n->b, NULL, 0)), in[1] = not_all(n->b, k->done);
    for (int i = 0; i < count; i++)
        in[2 + i] = *list[i];
    if (diag_failed(n->b->d))
        return false;
    struct node *loop = b_place(n->b, OP_loop, in, count + 2, count + scans, NULL);
    struct region *r = inside.b->r = node_add_region(n->b->g, loop);
    struct value *round = region_add_param(r, &number, NULL);
    region_add_param(r, &truth, NULL);
    for (int i = 0; i < count; i++)
        results[i] = parameter(g, r, *list[i]);
    for (int i = 0; i < count; i++)
        *list[i] = results[i];
    g->n = &inside;
    bool ok = fill_body(g, choose, k, round, &positions);
    g->n = n;
    if (!ok)
        return false;
    results[0] = not_all(inside.b, k->done);
    for (int i = 0; i < count; i++)
        results[1 + i] = *list[i];
    if (scans)
        results[1 + count] = k->scores;
    node_append(r, node_new(n->b->g, OP_return, results, 1 + count + scans, 0, ""));
    if (diag_failed(n->b->d) || !infer_node(n->b->g, loop, n->b->d))
        return false;
    for (int i = 0; i < count; i++)
        *list[i] = loop->out[i];
    if (scans)
        k->scores = loop->out[count];
    return true;
}

bool generation_run(struct generation *g, choose_fn choose, struct text_state *k)
{
    static const int64_t front[] = {0};
    struct onnx_node *n = g->n;
    struct subgraph first;
    if (!node_subgraph(n, node_has_subgraph(n, "init_decoder") ? "init_decoder" : "decoder", &first))
        return false;
    struct text_turn t = {g->start, g->blank, true};
    if (!take_turn(g, &first, choose, &t, g->positions, g->mask, k))
        return false;
    struct value *scores = k->scores;
    if (!run_loop(g, choose, k))
        return false;
    if (scores)
        k->scores = b_concat(n->b, (struct value *[]){b_unsqueeze(n->b, scores, front, 1), k->scores}, 2, 0);
    return !diag_failed(n->b->d);
}

/* ---- GreedySearch: always the likeliest token ---- */

static void keep_greedy(struct generation *g, const struct text_turn *t, struct value *next, struct text_state *k)
{
    struct builder *b = g->n->b;
    struct value *end = b_2(b, OP_eq, next, b_scalar(b, DT_I32, (double)g->eos));
    k->done = k->done ? b_2(b, OP_or, k->done, end) : end;
    next = b_select(b, k->done, b_scalar(b, DT_I32, (double)g->pad), next);
    k->tokens = generation_append(g, t, next);
    k->next = b_unsqueeze(b, next, column, 1);
}

static void choose_likeliest(struct generation *g, const struct text_turn *t, struct value *logits,
                             struct text_state *k)
{
    struct builder *b = g->n->b;
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "axis", 1);
    attr_set_int(&b->g->arena, &a, "keepdims", 0);
    struct value *scores = generation_scores(g, t, logits);
    keep_greedy(g, t, b_cast(b, b_op(b, OP_argmax, &scores, 1, &a), DT_I32), k);
}

bool lower_greedy_search(struct onnx_node *n)
{
    struct generation g = {.n = n};
    struct text_state k = {0};
    return generation_begin(&g, 3, NULL) &&
           generation_run(&g, choose_likeliest, &k) && b_done(n, k.tokens);
}

/* ---- Sampling: one of the likeliest tokens, whose probabilities add up to top_p ---- */

/* Scores, those of tokens that are not to be drawn lowered to filter_value. */
static struct value *filtered(struct generation *g, struct value *scores)
{
    struct onnx_node *n = g->n;
    struct builder *b = n->b;
    struct arena *arena = &b->g->arena;
    bool custom = attr_int(&n->attrs, "custom", 0) != 0;
    double top_p = attr_float(&n->attrs, "top_p", 0);
    struct attrs sort = {0}, sum = {0}, scatter = {0};
    attr_set_int(arena, &sort, "largest", custom);
    attr_set_int(arena, &sum, "exclusive", custom);
    attr_set_int(arena, &scatter, "axis", 1);
    struct value *width = b_dim(b, scores, 1), *places = count_up(n, width);
    struct node *sorted = b_node(b, OP_topk, (struct value *[]){scores, width}, 2, 2, &sort);
    if (!sorted)
        return NULL;
    struct value *chances = b_1(b, OP_softmax, sorted->out[0]), *drop;
    chances = b_op(b, OP_cumsum, (struct value *[]){chances, b_scalar(b, DT_I64, 1)}, 2, &sum);
    if (custom) { /* behind those that reach top_p; the first stays */
        drop = b_2(b, OP_gt, chances, b_scalar(b, DT_F32, top_p));
        drop = b_2(b, OP_and, drop, b_2(b, OP_gt, places, b_i64(b, 0)));
    } else { /* those that make up the rest at most, except the last ones */
        struct value *kept = b_i64(b, attr_int(&n->attrs, "min_tokens_to_keep", 0));
        struct value *limit = b_2(b, OP_max, b_sub(b, width, kept), b_i64(b, 1));
        drop = b_2(b, OP_le, chances, b_scalar(b, DT_F32, (double)(1 - (float)top_p)));
        drop = b_2(b, OP_and, drop, b_2(b, OP_lt, places, limit));
    }
    struct value *low = b_scalar(b, DT_F32, attr_float(&n->attrs, "filter_value", -1e20));
    struct value *some = b_select(b, drop, low, sorted->out[0]);
    return b_op(b, OP_scatter_elements, (struct value *[]){scores, sorted->out[1], some}, 3, &scatter);
}

static void choose_drawn(struct generation *g, const struct text_turn *t, struct value *logits, struct text_state *k)
{
    struct onnx_node *n = g->n;
    struct builder *b = n->b;
    struct attrs a = {0};
    struct value *scores = generation_scores(g, t, logits), *presence = b_in(n, 7), *seed = b_in(n, 8);
    double temperature = attr_float(&n->attrs, "temperature", 1);
    if (temperature > 0 && temperature != 1)
        scores = b_div(b, scores, b_scalar(b, DT_F32, temperature));
    if (presence) {
        struct value *penalty = b_scalar(b, DT_F32, attr_float(&n->attrs, "presence_penalty", 0));
        scores = b_sub(b, scores, b_mul(b, b_cast(b, presence, DT_F32), penalty));
    }
    scores = filtered(g, scores);
    attr_set_int(&b->g->arena, &a, "dtype", DT_I32);
    if (seed)
        attr_set_float(&b->g->arena, &a, "seed", (double)tensor_i64(b_constant(seed), 0));
    struct value *drawn = b_op(b, OP_multinomial, &scores, 1, &a);
    keep_greedy(g, t, b_squeeze(b, drawn, column, 1), k);
}

bool lower_sampling(struct onnx_node *n)
{
    struct generation g = {.n = n};
    struct text_state k = {0};
    const struct tensor *seed = b_constant(b_in(n, 8));
    if (b_in(n, 8) && (!seed || tensor_count(seed) != 1))
        return NODE_ERROR(n, "'seed' is not a constant of one element: random numbers here are not those of ONNX "
                             "Runtime, leave it out or make it a constant");
    if (n->nout > 1 && n->wanted[1])
        return NODE_ERROR(n, "output 1, 'filtered_logits', is wanted, which ONNX Runtime has when it is debugged only");
    return generation_begin(&g, 3, NULL) &&
           generation_run(&g, choose_drawn, &k) && b_done(n, k.tokens);
}
