/*
 * Products on strict targets: dst[outs, rows] = stationary[k, outs]^T moving[k, rows], outs and k
 * over partitions.
 *
 * Blocks of 128 of k accumulate in one bank of PSUM; the epilogue takes the result from there.
 */
#ifndef BACKEND_STRICT_PRODUCT_H
#define BACKEND_STRICT_PRODUCT_H

#include "backend/lower/epilogue.h"

struct strict_product {
    struct ap stationary, moving; /* HBM, without dims; the grid's batch variables move them */
    dim_t k, outs, rows;
    dim_t stationary_k, stationary_out, moving_k, moving_row; /* steps */
    dim_t out_tile, row_tile;
    int var_out, var_row;
};

/* Tile sizes for the counts given, with room in SBUF for an epilogue of the group. */
void strict_product_tiles(const struct lowering *l, const struct group *g,
                          struct strict_product *p);
/* Loads, multiplies, accumulates; the pattern (outs, rows) of the result in PSUM. */
struct ap strict_product_emit(struct kernel_builder *k, const struct strict_product *p);
/* One product of tiles: dst (outs, rows) in PSUM, stationary (k, outs), moving (k, rows). */
void emit_tile_product(struct kernel_builder *k, struct ap dst, struct ap stationary,
                       struct ap moving, struct affine accumulate);
/* A constant's [outs][k] as [k][outs]; the slot of the copy. */
int transposed_constant(struct lowering *l, const struct value *w);

#endif
