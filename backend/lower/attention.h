/*
 * Keys and values of attention: one tensor, or the parts of a concatenation, read where they lie.
 *
 * A decoder gives attention one query, the keys and values of the past, and those of the new token
 * behind them. The concatenation needs no kernel of its own then: each instance reads the parts of
 * its head and, when the whole is an output, writes them there while the caches hold them.
 */
#ifndef BACKEND_ATTENTION_H
#define BACKEND_ATTENTION_H

#include "backend/lower/strided.h"

enum { MAX_PARTS = 4 };

struct attended {
    int nparts;
    struct strided part[MAX_PARTS];
    dim_t at[MAX_PARTS];              /* its first key */
    dim_t steps[MAX_PARTS][MAX_RANK]; /* of the batch dims */
    struct value *whole;               /* to be written, or NULL */
};

/* One attention, while it is lowered. */
struct attention {
    struct strided q, mask, y;
    struct attended k, v;
    struct lowering *l;
    bool masked, causal, hidden_are_zero; /* hidden_are_zero: rows without a key, instead of NaN */
    int64_t causal_offset;
    float scale;
    int nbatch;
    dim_t queries, keys, width, value_width; /* widths of a head */
    dim_t q_steps[MAX_RANK], mask_steps[MAX_RANK];
    int var[MAX_RANK], var_query, var_key; /* var_key -1: one block */
    dim_t tile, block;
    struct ap queries_in; /* strict targets: (width, queries) in SBUF */
    int64_t heads, head;  /* of the last batch dim in an instance, and which is emitted */
};

/* ---- attention_operands.c ---- */

/* An operand without dims, moved to the instance and the head. */
struct ap attention_operand(struct lowering *l, const struct attention *a, const struct strided *s,
                            const dim_t *steps);
/* A tile's queries, or a block's keys, as the next dim of p. */
void attention_push_queries(struct lowering *l, const struct attention *a, struct ap *p, dim_t step);
void attention_push_keys(struct lowering *l, const struct attention *a, struct ap *p, dim_t step);
/* The mask of the block; absent when there is none. */
struct ap attention_mask(struct lowering *l, const struct attention *a);
/* A tile (queries, columns), clipped to the queries there are. */
struct ap attention_tile(struct kernel_builder *k, const struct attention *a, int mem, int dtype,
                         dim_t columns);
/* Scores from products: scaled, masked, and those of later keys hidden. */
void attention_scores(struct kernel_builder *k, const struct attention *a, struct ap scores,
                      struct ap products);

/* Weights of a block: scores become exp(scores + bias), `sum` (a column) the sums of rows. */
void attention_weights(struct kernel_builder *k, struct ap weights, struct ap scores, struct ap bias, struct ap sum);

/* The result: what is accumulated, over the sum of weights (a column). */
void attention_divide(struct kernel_builder *k, const struct attention *a, struct ap y, struct ap sum, struct ap total);

/* strict_attention.c: all keys at once, several heads in an instance. */
bool strict_attention_fits(const struct attention *a);
int64_t strict_attention_heads(const struct attention *a, const struct type *y);
void emit_strict_attention(struct kernel_builder *k, struct attention *a);

/* What plan_attention_tiles says. */
struct attention_plan {
    bool one_row; /* all scores of an instance are one row: one query, in FP32 */
};
/* A concatenation of keys or values: attention reads the parts, and writes the whole where others need it. */
bool read_in_parts(struct lowering *l, const struct node *n);
/* Keys (operand 1) or values (2). */
struct attended attended_operand(struct lowering *l, const struct node *n, int operand);
/* Writes the whole; vars: the grid's variable of each batch dim, -1 where that is 1. */
void attended_append(struct lowering *l, struct kernel_builder *k, const struct attended *o, int nbatch,
                     const int *vars);

#endif
