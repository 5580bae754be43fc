/*
 * A group: the nodes that one tile program computes. A fused node's region, or a single node.
 */
#ifndef BACKEND_GROUP_H
#define BACKEND_GROUP_H

#include "backend/lower.h"

struct group {
    struct node *whole;   /* the fused node, or the single node */
    int n;
    struct node **nodes;  /* in order */
    int nresults;
    struct value **results; /* values inside the group that the outside sees; aliased to whole->out */
};

/* Also makes values inside aliases of what they stand for outside. */
struct group group_of(struct lowering *l, struct node *n);
/* The node of the group that computes v, or NULL when v comes from outside. */
struct node *group_def(const struct group *g, const struct value *v);
bool group_is_result(const struct group *g, const struct value *v);
/* v is used by exactly one node of the group, once, and by nobody else. */
bool group_single_use(const struct group *g, const struct value *v);

/* ---- shapes of operands against an iteration space ------------------------------------------------------- */

/*
 * Steps of v (dense, in elements) along the dims of a space, numpy broadcasting: 0 where v has size 1. False
 * when v cannot be proven to broadcast to the space.
 */
bool broadcast_steps(struct lowering *l, const struct value *v, int rank, const dim_t *dims, dim_t *steps);

#endif
