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
    struct value *v, *from; /* from: in whose memory it lies, at `offset`: itself, or another for parts (parts.h) */
    bool written;           /* there, as an operand of a concatenation or pad */
    bool loaded;            /* its elements are no neighbours there: they are copied into a tile first */
    struct ap tile;         /* that tile, once there is a kernel; mem MEM_NONE before */
    dim_t offset, steps[MAX_RANK];
};

struct group_layout {
    struct lowering *l;
    int rank;
    dim_t dims[MAX_RANK];
    dim_t start; /* elements of the last dim before the first */
    struct operand_steps *operands;
    int n, operands_cap;
    int var[MAX_RANK];      /* grid variable of a dim outside the tile */
    int tile_dims;          /* the last dims, which the tile covers */
    dim_t tile[MAX_RANK];   /* its count of each of them */
    int tile_var[MAX_RANK]; /* and the grid variable; -1: it has all of that dim */
};

/* The shape of the group's nodes but for reductions at its end, with all operands and results over
 * it, those of reductions without steps along what is reduced; false when they do not broadcast to
 * it in a way known before running. y->l is set. */
bool layout_collect(struct group_layout *y, const struct group *g);
/* Joins dims that are one for every operand, and drops those of 1. */
void layout_collapse(struct group_layout *y);
/* The number of an operand of the layout. */
int layout_operand(const struct group_layout *y, const struct value *v);
/* Elements of a tile: fewer where more is computed than moved. */
int64_t layout_room(const struct group_layout *y, int nodes);
/* Chooses a tile of at most `room` elements: whole dims from the last on while they fit, and as much
 * of the next one as does. */
void layout_tile(struct group_layout *y, int64_t room);
/* The grid of such tiles, how many dims it has, and the tile as a space. */
void layout_grid(struct group_layout *y, struct kernel_builder *k);
int layout_grid_rank(const struct group_layout *y);
struct space layout_space(const struct group_layout *y);
/* Copies what is loaded into tiles of the kernel; before expression_emit. */
void layout_load(struct group_layout *y, struct kernel_builder *k);
/* The tile of an operand or result; user: the layout. For struct expression. */
struct ap layout_pattern(void *user, struct value *v);
/* layout_tile on a strict target, for a group of so many nodes, at most four dims. One long dim may leave a rest that
 * fills no row: true, and a layout of its own. */
bool strict_layout_tile(struct group_layout *y, int nodes, struct group_layout *rest);

#endif
