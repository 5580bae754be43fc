/*
 * Parts of tensors: where slices and splits lie in their operands, and operands of concatenations and pads in the
 * result; which of them elementwise groups read and write there, so that they are never copied.
 */
#ifndef BACKEND_PARTS_H
#define BACKEND_PARTS_H

#include "backend/lower/lower.h"

struct part_place {
    struct value *x;               /* the whole */
    dim_t offset, steps[MAX_RANK]; /* of the part's elements in it */
    bool scattered;                /* is_read_through: few elements are neighbours there */
};

/* The axis of a split or concatenation; false: a dim that is not there. */
bool part_axis(const struct node *n, int rank, int *axis);
/* Result i of a split or slice, operand i of a concatenation, what a pad pads. False, and why(): places are known only
 * while running. */
bool part_of_whole(struct lowering *l, const struct node *n, int i, struct part_place *s);
/* The part's elements lie as it has them itself: where it has several along a dim, as far apart. */
bool lies_dense(struct lowering *l, const dim_t *steps, const struct value *part);

/* For plan.h, of a slice or split: whether all users are elementwise groups; one alone, which copies it tile by tile,
 * where few elements are neighbours. */
bool parts_read_through(struct lowering *l, const struct node *n);
/* v is such a part: where it lies. */
bool is_read_through(struct lowering *l, const struct value *v, struct part_place *s);

/* v is an operand of a concatenation, or what a pad pads, its only user, as it is or shown in another shape: where an
 * elementwise group that makes v writes it. */
bool is_written_through(struct lowering *l, const struct value *v, struct part_place *s);
/* The operand of a concatenation or pad, whose result is the slot, has been written there. */
bool was_written_through(struct lowering *l, struct value *part, int whole);

#endif
