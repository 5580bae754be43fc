/*
 * Products on strict targets: dst[rows, output channels] = a[rows, k] b[k, output channels], rows over partitions.
 *
 * The Tensor engine contracts over partitions: it takes a[k, rows] as its stationary operand and
 * b[k, output channels] as the moving one. Rows that lie in memory one after the other are loaded whole and
 * transposed by the engine itself, a block of k at a time. An instance of the grid holds several tiles
 * of rows and of output channels, so that what it loads is used more than once; blocks of k accumulate in one
 * bank of PSUM, and the epilogue takes the result from there.
 */
#ifndef BACKEND_STRICT_PRODUCT_H
#define BACKEND_STRICT_PRODUCT_H

#include "backend/lower/epilogue.h"
#include "backend/lower/strict.h"

struct strict_product {
    struct ap a, b; /* HBM, without dims; the grid's batch variables move them */
    bool packed;    /* b is constant, in the order in which instances load it (packed_weights) */
    dim_t k, rows, out_channels;
    dim_t a_k, a_row, b_k, b_out; /* steps */
    struct cover row, out;        /* tiles and grid variables */
    int row_tiles, out_tiles;     /* of an instance */
    dim_t block;                  /* of k */
    bool unrolled;                /* k is known: all its blocks at once, else in a loop */
};

/* Tile sizes for the counts given, with room in SBUF for an epilogue of the group. */
void strict_product_tiles(const struct lowering *l, const struct group *g,
                          struct strict_product *p);
/* A constant matrix, element (k, out) at k * step_k + out * step_out, in the order of p's tiles: its
 * slot, for p->b, with p->packed. Each partition's share of a load then lies in one piece. */
int packed_weights(struct lowering *l, const struct strict_product *p, const struct value *w,
                   int64_t step_k, int64_t step_out);
/* Loads, multiplies, accumulates. Each tile of the result is given to `finish`: its pattern (rows,
 * output channels) in PSUM, and p->row and p->out say which one it is. */
typedef void product_finish(void *user, const struct strict_product *p, struct ap result);
void strict_product_emit(struct kernel_builder *k, struct strict_product *p, product_finish *finish,
                         void *user);
/* One product of tiles: dst (m, n) in PSUM, stationary (k, m), moving (k, n). */
void emit_tile_product(struct kernel_builder *k, struct ap dst, struct ap stationary,
                       struct ap moving, struct affine accumulate);

#endif
