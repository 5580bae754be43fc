/*
 * How far a pad goes along each dim of its result.
 */
#ifndef BACKEND_PADDING_H
#define BACKEND_PADDING_H

#include "backend/lower/lower.h"

struct padding {
    int rank;
    dim_t begin[MAX_RANK], end[MAX_RANK]; /* below 0: so much is cut off */
};

/* Whether a tile program can make the result: borders of one constant, by amounts known before running, round a copy
 * of the operand. What has no layout is for the caller. */
bool padding_is_copied(struct lowering *l, const struct node *n, struct padding *p);
/* It only adds: the whole operand lies in the result, at indices `begin` and behind. */
bool padding_only_adds(const struct padding *p);

#endif
