/*
 * BeamSearch of com.microsoft: of each prompt the likeliest sequences as a whole, of as many as there are beams in
 * every turn (generation.h).
 */
#include "frontend/onnx/generation.h"
#include "frontend/onnx/ops.h"

#include <math.h>

/* What is kept: scores of the beams (B,M); those of sequences that have ended (B,M), from the best on, minus infinity
 * where there is none, and their tokens (B,M,max). */
enum { BEAM_SCORES, ENDED_SCORES, ENDED_TOKENS, KEPT };

static const int64_t column[] = {1}, last[] = {-1};

struct beams {
    struct generation *g;
    struct value *batch;  /* a list of one */
    struct value *square; /* the shape (B,M) */
    struct value *first;  /* (B,1): the row of each prompt's first beam */
    struct value *weight; /* how many tokens there are, to the power of length_penalty */
};

static struct beams beams_of(struct generation *g, const struct text_turn *t)
{
    struct builder *b = g->n->b;
    struct beams s = {.g = g, .batch = b_dim(b, g->n->in[0], 0)};
    struct value *power = b_in(g->n, 5), *length = b_cast(b, t ? t->length : g->max, DT_F32);
    s.square = b_concat(b, (struct value *[]){s.batch, g->beams}, 2, 0);
    s.first = b_mul(b, b_unsqueeze(b, count_up(g->n, s.batch), column, 1), g->beams);
    s.weight = power ? b_2(b, OP_pow, length, power) : length;
    return s;
}

static struct value *by_place(struct builder *b, struct value *x, struct value *places)
{
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "axis", 1);
    return b_op(b, OP_gather_elements, (struct value *[]){x, places}, 2, &a);
}

/* Sequences that end, scores (B,M) and tokens (B,M,max), put among those that have: the best of all stay, earlier ones
 * before others as good. */
static void add_ended(struct beams *s, struct value *scores, struct value *tokens, struct text_state *k)
{
    struct builder *b = s->g->n->b;
    struct attrs a = {0};
    struct value *all[] = {k->own[ENDED_SCORES], scores}, *rows[] = {k->own[ENDED_TOKENS], tokens};
    struct node *best = b_node(b, OP_topk, (struct value *[]){b_concat(b, all, 2, 1), s->g->beams}, 2, 2, NULL);
    if (!best)
        return;
    attr_set_int(&b->g->arena, &a, "batch_dims", 1);
    struct value *index[] = {b_concat(b, rows, 2, 1), b_unsqueeze(b, best->out[1], last, 1)};
    k->own[ENDED_SCORES] = best->out[0];
    k->own[ENDED_TOKENS] = b_op(b, OP_gather_nd, index, 2, &a);
}

/*
 * (B): the best of the continuations by which ONNX Runtime decides whether a prompt is done: it looks, for prompt i, at
 * 2M of them from the (i * M)th on, where the prompt's own begin at (i * 2M).
 */
static struct value *best_looked_at(struct beams *s, struct value *values)
{
    struct builder *b = s->g->n->b;
    struct value *parts = b_concat(b, (struct value *[]){b_i64(b, -1), s->g->beams}, 2, 0);
    struct value *best = b_reduce(b, OP_reduce_max, b_reshape(b, values, parts), column, 1, false);
    struct value *at = count_up(s->g->n, s->batch), *own = b_gather(b, best, at, 0);
    struct value *next = b_gather(b, best, b_add(b, at, b_i64(b, 1)), 0);
    return b_2(b, OP_max, own, next);
}

/* Prompts are done that have as many sequences as beams, if none can become better (or that is not asked for). */
static struct value *are_done(struct beams *s, struct value *values, struct text_state *k)
{
    struct onnx_node *n = s->g->n;
    struct builder *b = n->b;
    struct value *worst = b_squeeze(b, b_slice(b, k->own[ENDED_SCORES], -1, INT64_MAX, 1), column, 1);
    struct value *full = b_2(b, OP_gt, worst, b_scalar(b, DT_F32, -INFINITY));
    if (!attr_int(&n->attrs, "early_stopping", 0)) {
        struct value *better = b_2(b, OP_lt, worst, b_div(b, best_looked_at(s, values), s->weight));
        full = b_2(b, OP_and, full, b_1(b, OP_not, better));
    }
    return b_2(b, OP_or, k->done, full);
}

/* The best 2M of all continuations, (B,2M) each: their scores, tokens and beams. */
struct continuations {
    struct value *values, *tokens, *beams, *ends;
};

static bool best_of(struct beams *s, struct value *scores, struct continuations *c)
{
    struct builder *b = s->g->n->b;
    struct value *width = b_dim(b, scores, 2), *count = b_mul(b, s->g->beams, b_i64(b, 2));
    struct value *flat = b_flatten(b, scores, 1);
    struct node *best = b_node(b, OP_topk, (struct value *[]){flat, count}, 2, 2, NULL);
    if (!best)
        return false;
    c->values = best->out[0];
    c->tokens = b_2(b, OP_mod, best->out[1], width);
    c->beams = b_div(b, best->out[1], width);
    c->ends = b_2(b, OP_eq, c->tokens, b_scalar(b, DT_I64, s->g->eos < 0 ? -1 : (double)s->g->eos));
    return true;
}

/* Places in (B,2M) of the first M that do not end, in their order. */
static struct value *going_on(struct beams *s, const struct continuations *c)
{
    struct builder *b = s->g->n->b;
    struct value *count = b_dim(b, c->values, 1), *places = count_up(s->g->n, count);
    struct value *key = b_select(b, c->ends, b_i64(b, -1), b_sub(b, count, places));
    struct node *first = b_node(b, OP_topk, (struct value *[]){key, s->g->beams}, 2, 2, NULL);
    return first ? first->out[1] : NULL;
}

static void choose_beams(struct generation *g, const struct text_turn *t, struct value *logits, struct text_state *k)
{
    struct builder *b = g->n->b;
    struct beams s = beams_of(g, t);
    struct continuations c;
    struct value *scores = generation_scores(g, t, b_1(b, OP_log_softmax, logits));
    scores = b_reshape(b, scores, b_concat(b, (struct value *[]){s.square, b_dim(b, logits, 1)}, 2, 0));
    scores = b_add(b, scores, b_unsqueeze(b, k->own[BEAM_SCORES], last, 1));
    if (g->n->nout > 2 && g->n->wanted[2])
        k->scores = scores;
    if (!best_of(&s, scores, &c))
        return;
    struct value *was = b_unsqueeze(b, k->done, column, 1), *none = b_scalar(b, DT_F32, -INFINITY);
    struct value *zero = b_scalar(b, DT_I64, 0), *places = going_on(&s, &c);
    /* those that end, of the first M */
    struct value *ending = b_2(b, OP_and, c.ends, b_1(b, OP_not, was)), *from = b_i64(b, 0), *axis = b_i64(b, 1);
    struct value *score = b_select(b, ending, b_div(b, c.values, s.weight), none);
    score = b_op(b, OP_slice, (struct value *[]){score, from, g->beams, axis}, 4, NULL);
    struct value *rows = b_op(b, OP_slice, (struct value *[]){c.beams, from, g->beams, axis}, 4, NULL);
    add_ended(&s, score, b_gather(b, t->tokens, b_add(b, rows, s.first), 0), k);
    /* those that go on; prompts that are done go on with the very first row, keys and values with it if they have more
     * beams than one */
    struct value *single = b_2(b, OP_eq, g->beams, b_i64(b, 1));
    struct value *next = b_select(b, was, b_scalar(b, DT_I64, (double)g->pad), by_place(b, c.tokens, places));
    struct value *beams = b_select(b, was, zero, b_add(b, by_place(b, c.beams, places), s.first));
    k->own[BEAM_SCORES] = b_select(b, was, b_scalar(b, DT_F32, 0), by_place(b, c.values, places));
    k->from = b_reshape_to(b, b_select(b, b_2(b, OP_and, was, single), s.first, beams), last, 1);
    next = b_cast(b, b_reshape_to(b, next, last, 1), DT_I32);
    struct text_turn after = {t->length, b_gather(b, t->tokens, b_reshape_to(b, beams, last, 1), 0), t->first};
    k->tokens = generation_append(g, &after, next);
    k->next = b_unsqueeze(b, next, column, 1);
    k->done = are_done(&s, c.values, k);
}

/* Nothing has ended; of each prompt's beams, which are all alike, only the first counts. */
static void before_all(struct beams *s, struct text_state *k)
{
    struct generation *g = s->g;
    struct builder *b = g->n->b;
    struct value *places = count_up(g->n, g->beams), *low = b_scalar(b, DT_F32, -1e9);
    struct value *first = b_select(b, b_2(b, OP_eq, places, b_i64(b, 0)), b_scalar(b, DT_F32, 0), low);
    struct value *cube = b_concat(b, (struct value *[]){s->square, g->max}, 2, 0);
    k->own[BEAM_SCORES] = b_2(b, OP_expand, first, s->square);
    k->own[ENDED_SCORES] = b_2(b, OP_expand, b_scalar(b, DT_F32, -INFINITY), s->square);
    k->own[ENDED_TOKENS] = b_2(b, OP_expand, b_scalar(b, DT_I32, (double)g->pad), cube);
    k->done = b_2(b, OP_expand, b_scalar(b, DT_BOOL, 0), s->batch);
    k->owned = KEPT;
}

/* Scores of all turns, zero where there was none any more. */
static struct value *all_scores(struct generation *g, struct value *scores)
{
    struct builder *b = g->n->b;
    struct value *turns = b_sub(b, g->max, g->start), *shape = b_shape(b, scores);
    struct value *left = b_sub(b, turns, b_dim(b, scores, 0));
    shape = b_concat(b, (struct value *[]){left, b_slice(b, shape, 1, INT64_MAX, 0)}, 2, 0);
    struct value *zeros = b_2(b, OP_expand, b_scalar(b, DT_F32, 0), shape);
    return b_concat(b, (struct value *[]){scores, zeros}, 2, 0);
}

bool lower_beam_search(struct onnx_node *n)
{
    struct generation g = {.n = n};
    struct text_state k = {0};
    if (!b_in(n, 3) || !b_in(n, 4))
        return NODE_ERROR(n, "'num_beams' or 'num_return_sequences' is left out, this operator needs both");
    if (!generation_begin(&g, 6, n->in[3]))
        return false;
    struct builder *b = n->b;
    struct beams s = beams_of(&g, NULL);
    before_all(&s, &k);
    if (diag_failed(b->d) || !generation_run(&g, choose_beams, &k))
        return false;
    struct value *done = b_unsqueeze(b, k.done, column, 1), *none = b_scalar(b, DT_F32, -INFINITY);
    struct value *scores = b_select(b, done, none, b_div(b, k.own[BEAM_SCORES], s.weight));
    struct value *shape = b_concat(b, (struct value *[]){s.square, g.max}, 2, 0);
    add_ended(&s, scores, b_reshape(b, k.tokens, shape), &k);
    struct value *places = count_up(n, n->in[4]), *beams = count_up(n, g.beams);
    struct value *results[] = {k.own[ENDED_TOKENS], k.own[ENDED_SCORES]};
    if (diag_failed(b->d) || !b_require(b, GUARD_AT_MAX, places->type.dims[0], beams->type.dims[0],
                                        "num_return_sequences and num_beams"))
        return false;
    for (int i = 0; i < 2 && i < n->nout; i++)
        n->out[i] = b_gather(b, results[i], places, 1);
    if (n->nout > 2 && n->wanted[2])
        n->out[2] = all_scores(&g, k.scores);
    return !diag_failed(b->d);
}
