/*
 * Operators of com.microsoft that generate text: the decoder, a subgraph, runs once on the prompt and then in a loop
 * on one token after the other. What is kept of a sequence is a row of max_length tokens, filled up with the padding
 * token.
 */
#ifndef FRONTEND_ONNX_GENERATION_H
#define FRONTEND_ONNX_GENERATION_H

#include "frontend/onnx/build.h"

struct generation {
    struct onnx_node *n; /* its builder is that of the region at work */
    int64_t pad, eos, ngram;
    struct value *penalty, *min_length, *vocab, *prefix; /* operands, or NULL */
    struct value *beams;                                 /* of each sequence, a list of one; NULL: one */
    struct value *ids, *positions, *mask;                /* of the prompt, (rows,S) each; rows: batch and its beams */
    struct value *next_positions;                        /* (rows,1): of the first token that is generated */
    struct value *rows, *start, *max;                    /* lists of one: rows, S, max_length */
    struct value *blank;                                 /* (rows,max): the prompts, and padding */
    struct value **past; /* keys and values: of each layer (2,rows,heads,P,size), or two of (rows,heads,P,size) */
    int npast;
    int row_axis, growing_axis;
    struct value **fixed; /* what else a decoder takes from an encoder: its mask, its states or not; keys and values */
    int nfixed, nbefore;  /* nbefore: of those that come before `past` */
    struct value *logits; /* that an encoder made for the first token, (rows,V); or NULL */
};

/* One turn: how many tokens the rows of `tokens` (rows,max) have, a list of one. */
struct text_turn {
    struct value *length, *tokens;
    bool first;
};

/* What a search keeps from turn to turn, its own part. */
enum { MAX_KEPT = 8 };
struct text_state {
    struct value *tokens, *next; /* (rows,max); (rows,1), the tokens to go on with */
    struct value *done;          /* bool, one for each prompt */
    struct value *own[MAX_KEPT];
    int owned;
    struct value *from;   /* rows whose keys and values these rows go on with; NULL: their own */
    struct value *scores; /* of all tokens, for the search's last output; or NULL */
};

/* Chooses tokens by scores (rows,V) of f32 and puts them behind the others. */
typedef void (*choose_fn)(struct generation *g, const struct text_turn *t, struct value *logits, struct text_state *k);

/* What the node's operands say: from place `first` on a penalty of repetitions, masks of the vocabulary for all turns
 * and for the first, and the prompt's mask; beams may be NULL. */
bool generation_begin(struct generation *g, int first, struct value *beams);
/* With an encoder: that runs at once, on the node's first operand, and the decoder begins with one token. */
bool generation_encode(struct generation *g, struct value *attention_mask);
/* Each row of x as often as there are beams. */
struct value *generation_rows(struct generation *g, struct value *x);
/* Logits of the last of the tokens, (rows,V) of f32, from those of all; NULL after a failure. */
struct value *generation_logits(struct generation *g, struct value *all);
/* All turns. k: at first what is kept before there is any, in the end what is left; scores of all turns behind each
 * other. */
bool generation_run(struct generation *g, choose_fn choose, struct text_state *k);

/* Scores with those of tokens changed that the node's operands and attributes are about. */
struct value *generation_scores(struct generation *g, const struct text_turn *t, struct value *scores);
/* tokens with `next` (rows) at place `length` of each row. */
struct value *generation_append(struct generation *g, const struct text_turn *t, struct value *next);

#endif
