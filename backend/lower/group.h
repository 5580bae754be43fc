/*
 * A group: the nodes that one tile program computes. A fused node's region, or a single node.
 */
#ifndef BACKEND_GROUP_H
#define BACKEND_GROUP_H

#include "backend/lower/lower.h"

struct group {
    struct lowering *l;
    struct node *whole; /* the fused node, or the single node */
    int n;
    struct node **nodes; /* in order */
    int nresults;
    struct value *
        *results; /* values inside the group that the outside sees; aliased to whole->out */
};

/* Also makes values inside aliases of what they stand for outside. */
struct group group_of(struct lowering *l, struct node *n);
/* The node of the group that computes v, or NULL when v comes from outside. */
struct node *group_def(const struct group *g, const struct value *v);
bool group_is_result(const struct group *g, const struct value *v);
/* v is used by exactly one node of the group, once, and by nobody else. */
bool group_single_use(const struct group *g, const struct value *v);

/* ---- shapes of operands against an iteration space ---- */

/*
 * The step of a dim of `have` elements along one of `want`; `dense` where it has them all, 0 where
 * it has one. Two expressions that are not known to be equal: the step itself tells when shapes are
 * bound, and a pattern that leaves its tensor is refused then. False when they never fit.
 */
bool broadcast_step(struct dim_table *t, dim_t have, dim_t want, dim_t dense, dim_t *step);
/* The steps, along the dims of a space, of what has `have` dims with steps of their own; numpy broadcasting. */
bool broadcast_laid(struct dim_table *t, int have, const dim_t *have_dims, const dim_t *have_steps, int rank,
                    const dim_t *dims, dim_t *steps);
/*
 * Steps of v (dense, in elements) along the dims of a space, numpy broadcasting. False when v does
 * not broadcast to the space.
 */
bool broadcast_steps(struct lowering *l, const struct value *v, int rank, const dim_t *dims,
                     dim_t *steps);

#endif
