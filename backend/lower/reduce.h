/*
 * Reductions: what they are on the Vector engine, and which dims they take.
 */
#ifndef BACKEND_REDUCE_H
#define BACKEND_REDUCE_H

#include "backend/lower/elementwise.h"

struct reduction_kind {
    enum op op;
    enum op reduce; /* function of tensor_reduce */
    enum op finish; /* applied to the result; identity: nothing */
    bool mean;
    float start; /* result over no elements */
};

/* NULL: no reduction that the engine computes. */
const struct reduction_kind *reduction_kind(enum op op);
/* Which dims of its operand n reduces; false: not known before running, or none. */
bool reduction_dims(struct lowering *l, const struct node *n, bool *reduced);

/*
 * An elementwise group whose last nodes reduce what the others compute, over the same dims: tile by
 * tile, so that what is reduced need not be written. Tiles that hold a part of the reduced dims
 * write partial results, which a second kernel reduces.
 */
enum lowered lower_reduced_elementwise(struct lowering *l, struct group *g);
/* How many of the group's last nodes are reductions. */
int group_reductions(const struct group *g);

#endif
