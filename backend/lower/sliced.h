/*
 * Where slices lie in their operands, and which of them elementwise groups read there: those are never copied.
 */
#ifndef BACKEND_SLICED_H
#define BACKEND_SLICED_H

#include "backend/lower/lower.h"

struct sliced {
    struct value *x; /* the operand */
    dim_t offset, steps[MAX_RANK]; /* of the slice's elements in it */
};

/* False, and why(): places are known only while running. */
bool slice_place(struct lowering *l, const struct node *n, struct sliced *s);
/* The slice's elements lie as it has them itself: where it has several along a dim, as far apart. */
bool lies_dense(struct lowering *l, const dim_t *steps, const struct value *part);

/* For plan.h: whether all of its users are elementwise groups, and long enough runs of it are neighbours. */
bool slice_read_through(struct lowering *l, const struct node *n);
/* v is such a slice: where it lies. */
bool is_read_through(struct lowering *l, const struct value *v, struct sliced *s);

#endif
