/*
 * The graph's guards: what shape inference assumed about sizes (neff/core/guard.h), kept apart from
 * the nodes, so that passes which rewrite or remove a node lose none.
 *
 * A guard belongs to the region whose nodes it is about, and holds when that region runs. Inference
 * looks at bodies of loops more than once, with other types of their parameters each time; a guard
 * counts only under the types that the parameters have in the end.
 */
#ifndef PASSES_IR_GUARDS_H
#define PASSES_IR_GUARDS_H

#include "neff/core/guard.h"
#include "passes/ir/ir.h"

struct graph_guard {
    struct guard g; /* g.region is not used */
    struct region *region;
    const struct node *origin; /* the node it comes from; NULL: from text */
    uint32_t under;            /* of the types of parameters; 0: of any */
};

/* Adds one, unless the region has it. Strings are kept as they are. */
void graph_add_guard(struct graph *g, const struct guard *what, struct region *r,
                     const struct node *origin);
/* What belonged to region `from` belongs to `to`: its nodes have moved there. */
void graph_move_guards(struct graph *g, const struct region *from, struct region *to);
/* Only the first n stay. */
void graph_drop_guards(struct graph *g, int n);
/* The region that guards of r count for, since groups of fused nodes are no regions when run; NULL
 * when it has gone from the graph. */
const struct region *guard_region(const struct region *r);
/* Whether it counts. */
bool graph_guard_counts(const struct graph_guard *g);

#endif
