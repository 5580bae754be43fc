/*
 * Operators that treat joint dims [first, last] of a tensor as one row: softmax, normalisation,
 * reduction.
 *
 * Seen as (outer, n, inner). With inner 1 a tile is several whole rows; otherwise it is several
 * neighbouring rows whose elements lie `inner` apart.
 */
#ifndef BACKEND_ROWS_H
#define BACKEND_ROWS_H

#include "backend/lower/epilogue.h"

struct rows {
    int rank, first, last;
    dim_t dims[MAX_RANK];
    dim_t outer, n, inner;
    bool strided;  /* inner is not 1 */
    int var_outer; /* strided: selects one outer index; else tiles of outer */
    int var_inner; /* strided: tiles of inner; else -1 */
    dim_t tile;    /* rows in a tile */
    int tiles;     /* of an instance, one after the other; 0: one */
    dim_t at;      /* the first row of this one, from the instance's first */
};

struct rows rows_of(struct lowering *l, const struct type *t, int first, int last);
/* Several tiles of rows in an instance on strict targets, which then share what they read besides;
 * as many as divide those there are, and for which there is room. Before rows_grid. */
void rows_together(struct rows *r, const struct machine *m);
/* Whether a tile can hold rows of n elements: on strict targets their number must be known, and a partition must have
 * room for them. Says why() not. */
bool rows_have_room(struct lowering *l, const struct node *n, dim_t elements);
/* The grid, and the tile sizes. */
void rows_grid(struct rows *r, struct kernel_builder *k);
/* How the result's dims are covered, for an epilogue over whole tiles: (rows, n). Before or after
 * rows_grid. */
void rows_covers(const struct rows *r, struct epilogue *e);
/* Pattern (rows, n) of a tensor that lies over the dims with the given steps, which are joint where
 * rows are. */
struct ap rows_pattern(struct lowering *l, const struct rows *r, int slot, const dim_t *steps);
/* The same of a dense tensor. */
struct ap rows_dense(struct lowering *l, const struct rows *r, int slot);
/* A tile (rows, n) in f32, clipped like the rows: one more, or this one. */
struct ap rows_tile(struct kernel_builder *k, const struct rows *r);
struct ap rows_on_tile(struct kernel_builder *k, const struct rows *r, int tile);
/* Where v of a dims-like shape lies over the rows; false when it does not broadcast so. */
bool rows_steps(struct lowering *l, const struct rows *r, struct value *v, dim_t *steps);

/* Results go out in place when nothing follows, or on chips nothing but a rounding, which the
 * instruction that stores them does; otherwise to a tile, from which rows_finish goes on. */
struct ap rows_result(struct kernel_builder *k, struct group *g, struct rows *r,
                      struct epilogue *e);
void rows_finish(struct epilogue *e, struct ap result);

#endif
