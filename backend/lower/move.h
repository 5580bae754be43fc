/*
 * Data movement: copies between two tensors that are walked with steps of their own.
 */
#ifndef BACKEND_MOVE_H
#define BACKEND_MOVE_H

#include "backend/lower/kernels.h"

enum { MOVE_RANK = 2 * MAX_RANK };

struct move {
    int rank;
    dim_t dims[MOVE_RANK];
    dim_t to[MOVE_RANK], from[MOVE_RANK]; /* steps in elements; from 0 repeats */
    int to_slot, from_slot;               /* of the same element type */
    dim_t to_offset, from_offset;
};

/* A move over the dims of a tensor type, `to` dense, `from` to be filled. */
struct move move_onto(struct lowering *l, struct value *result, struct value *operand);
void move_dim(struct move *m, dim_t count, dim_t to, dim_t from);
/* Whether the shape fits an access pattern once neighbouring dims are merged. Merges them. */
bool move_possible(struct lowering *l, struct move *m);
/* A kernel of its own. move_possible has been asked. */
void emit_move(struct lowering *l, const struct node *n, const char *name, const struct move *m);
/* emit_move on a chip, by rows that come whole (strict_move.c); false where that is no faster. */
bool strict_move_rows(struct lowering *l, const struct node *n, const char *name, const struct move *m);
/* Both ends have a layout; says why() when not. The node is no fused group. */
bool movable(struct lowering *l, const struct node *n, int operand, int result);

#endif
