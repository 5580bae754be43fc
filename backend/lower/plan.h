/*
 * What is decided before anything is emitted, for the whole graph at once: which nodes of the PLANNED rows of lower.def
 * have tile programs, and how, and which transposes and concatenations those read or write through, so that they need
 * none. A kernel of a strict target that turns out not to fit the machine is not taken back: its node is refused, and
 * the graph is planned and lowered again.
 */
#ifndef BACKEND_PLAN_H
#define BACKEND_PLAN_H

#include "backend/lower/lower.h"

struct group;

struct decision {
    enum passage {
        MADE,            /* the result is written as any other */
        READ_THROUGH,    /* of a transpose, slice or split: users read its operand, by steps of their own */
        WRITTEN_THROUGH, /* of a transpose: what makes its operand writes its result */
        READ_IN_PARTS,   /* of a concatenation: attention reads its operands, and writes it where others need it */
    } passage;
    const void *plan;  /* what plan_<function> of lower.def says to lower_<function>; NULL: no tile program, no plan */
    int place;         /* in the order of lowering */
    struct node *next; /* which its kernel computes besides, and so on; NULL: none (joined.h) */
    bool turned;       /* the result lies in memory with its last dim outermost (joined.h) */
    bool joined;       /* an earlier node's kernel computes it */
};

/* How the group is computed, in the graph's arena; NULL, and why(): it has no tile program. */
typedef const void *(*plan_fn)(struct lowering *l, const struct group *g);
#define LOWER(op, function, machines)
#define PLANNED(op, function, machines) const void *plan_##function(struct lowering *l, const struct group *g);
#include "backend/lower/lower.def"

void plan_graph(struct lowering *l);
/* Whether the node's program, or that of the group that it is the first of, takes operands and a result with any steps:
 * attention, and products of computed operands. */
bool takes_steps(const struct lowering *l, const struct node *n);
/* Of a node, fused ones and those inside them too. Nothing is decided at -O0. */
const struct decision *decision_of(const struct lowering *l, const struct node *n);

#endif
