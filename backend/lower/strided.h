/*
 * Transposes that are never carried out: the tile programs of products and of attention read their
 * operands, and write their results, with steps of their own.
 */
#ifndef BACKEND_STRIDED_H
#define BACKEND_STRIDED_H

#include "backend/lower/group.h"
#include "backend/lower/kernels.h"

struct strided {
    int slot, rank;
    dim_t dims[MAX_RANK], steps[MAX_RANK];
};

/* Where an operand of a product or of attention lies: looks through transposes that are skipped. */
struct strided strided_operand(struct lowering *l, struct value *v);
/* Where their result goes: into the result of a transpose when that is its only user, which is then
 * skipped. */
struct strided strided_result(struct lowering *l, struct value *v);
/* The node needs no code: every user reads through it, or its operand was written in its order. */
bool strided_skips(struct lowering *l, const struct node *n);
/* Dims of v's type; no place, no steps. */
struct strided strided_shape(const struct value *v);
/* Steps of the first `rank` of s over the dims of a space, as broadcast_steps. */
bool strided_broadcast(struct lowering *l, const struct strided *s, int skip_last, int rank,
                       const dim_t *dims, dim_t *steps);

/* coverage.c: whether these tile programs take the node; asked before it is reached. */
bool product_takes(struct lowering *l, const struct node *n);
bool attention_takes(struct lowering *l, const struct node *n);
/* The whole group is a convolution that reads its input, or computed weights, as they lie. */
bool conv_reads_strided(struct lowering *l, const struct node *whole, int operand);
/* The node is a concatenation that attention reads in parts, and writes where it is an output. */
bool attention_appends(struct lowering *l, const struct node *n);
/* A product of two computed operands. */
enum lowered lower_product(struct lowering *l, struct node *n);

#endif
