/*
 * Elementwise code: the nodes of a group over one tile of an iteration space.
 *
 * Used by kernels of elementwise groups and by the epilogues of every other kernel. The caller says
 * how the tile lies over the space, and where operands from outside and results lie; temporaries
 * become tiles. Neighbouring multiply, add and activation nodes become one instruction of the
 * Scalar engine.
 */
#ifndef BACKEND_EXPRESSION_H
#define BACKEND_EXPRESSION_H

#include "backend/lower/group.h"
#include "backend/lower/kernels.h"

enum { MAX_SPACE = 5 };

/* One dim of the tile: a pattern dim without a step. */
struct space_dim {
    dim_t count;
    int var; /* clip to limit - value of var * factor; -1: not clipped */
    dim_t factor, limit;
};
struct space {
    int rank;
    struct space_dim dim[MAX_SPACE];
};

struct expression {
    struct kernel_builder *k;
    const struct group *g;
    struct space space;
    /* The pattern of a value from outside the group, or of a result, over the space's tile. */
    struct ap (*pattern)(void *user, struct value *v);
    void *user;
    /* Values computed before the expression starts, e.g. the accumulator of a matmul: value and its
     * pattern. */
    struct value *given[4];
    struct ap given_pattern[4];
    int ngiven;
    int tail; /* nodes at the group's end that expression_emit leaves to the caller */
    struct value **temporary_of; /* tile number -> value it holds, to reuse tiles */
};

/* Whether every node of the group from `first` on can be emitted; says why() not. */
bool expression_possible(struct lowering *l, const struct group *g, int first);
bool node_possible(struct lowering *l, const struct node *n);
/* Emits nodes [first, n) of the group. Results are stored through `pattern`. */
void expression_emit(struct expression *e, int first);
/* Where a value lies that a node left to the caller reads, after expression_emit. */
struct ap expression_operand(struct expression *e, struct value *v);
/* The two parameters of an activation function's node: attributes, or the limits of clip. */
void activation_parameters(struct lowering *l, const struct node *n, float *a, float *b);
/* A tile for one tile of the space, dim 0 over partitions on strict targets; its number. */
int space_new_tile(struct kernel_builder *k, const struct space *s, int mem, int dtype);
/* A pattern over the space on a tile that holds one tile of it densely. */
struct ap space_tile(const struct space *s, struct kernel_builder *k, int tile);
/* Elements of a tile of the space, before clipping. */
dim_t space_count(struct program *p, const struct space *s);

#endif
