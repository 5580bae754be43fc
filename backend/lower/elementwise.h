/*
 * An elementwise group's iteration space: its shape with neighbouring dims joined where every
 * operand allows it, and where operands and results lie over it.
 */
#ifndef BACKEND_ELEMENTWISE_H
#define BACKEND_ELEMENTWISE_H

#include "backend/lower/expression.h"

enum { MAX_OPERANDS = 512 };

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
    int var[MAX_RANK];      /* grid variable of a dim outside the tile */
    int tile_dims;          /* the last dims, which the tile covers */
    dim_t tile[MAX_RANK];   /* its count of each of them */
    int tile_var[MAX_RANK]; /* and the grid variable; -1: it has all of that dim */
};

/* The shape of the group's results, with all operands and results over it; false when they do not
 * broadcast to it in a way known before running. y->l is set. */
bool layout_collect(struct layout *y, const struct group *g);
/* Joins dims that are one for every operand, and drops those of 1. */
void layout_collapse(struct layout *y);
/* The number of an operand of the layout. */
int layout_operand(const struct layout *y, const struct value *v);
/* The group's tile programs on a strict target; at most four dims. */
enum lowered strict_elementwise(struct layout *y, struct group *g);

#endif
