/*
 * An elementwise group's iteration space: its shape with neighbouring dims joined where every
 * operand allows it, and where operands and results lie over it.
 */
#ifndef BACKEND_ELEMENTWISE_H
#define BACKEND_ELEMENTWISE_H

#include "backend/lower/expression.h"

enum { MAX_OPERANDS = 64 };

/* An operand or result of the group and its steps along the joined dims. */
struct operand_steps {
    struct value *v;
    dim_t steps[MAX_RANK];
};

struct layout {
    struct lowering *l;
    int rank;
    dim_t dims[MAX_RANK];
    int n;
    struct operand_steps operands[MAX_OPERANDS];
    int var[MAX_RANK]; /* grid variable of a dim outside the tile */
    int tile_dims;     /* the last dims, which the tile covers */
    dim_t tile[MAX_RANK];   /* its count of each of them */
    int tile_var[MAX_RANK]; /* and the grid variable; -1: it has all of that dim */
};

/* The number of an operand of the layout. */
int layout_operand(const struct layout *y, const struct value *v);
/* The group's tile programs on a strict target; at most four dims. */
enum lowered strict_elementwise(struct layout *y, struct group *g);

#endif
