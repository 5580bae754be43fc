/*
 * Where operands and results of products and of attention lie: transposes that they read or write through (plan.h) are
 * never carried out.
 */
#ifndef BACKEND_STRIDED_H
#define BACKEND_STRIDED_H

#include "backend/lower/group.h"
#include "backend/lower/kernels.h"

struct strided {
    int slot, rank;
    dim_t dims[MAX_RANK], steps[MAX_RANK];
};

/* Where an operand of a product or of attention lies: looks through transposes. */
struct strided strided_operand(struct lowering *l, struct value *v);
/* Where their result goes: into the result of a transpose that is written through. */
struct strided strided_result(struct lowering *l, struct value *v);
/* Dims of v's type; no place, no steps. */
struct strided strided_shape(const struct value *v);
/* Steps of the first `rank` of s over the dims of a space, as broadcast_steps. */
bool strided_broadcast(struct lowering *l, const struct strided *s, int skip_last, int rank,
                       const dim_t *dims, dim_t *steps);

/* A product of two computed operands. */
enum lowered lower_product(struct lowering *l, struct node *n);

#endif
