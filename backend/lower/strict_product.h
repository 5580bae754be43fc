/*
 * Products on strict targets: dst[rows, output channels] = a[rows, k] b[k, output channels], rows over partitions.
 *
 * The Tensor engine contracts over partitions: it takes a[k, rows] as its stationary operand and
 * b[k, output channels] as the moving one. Rows that lie in memory one after the other are loaded whole and
 * transposed by the engine itself, a block of k at a time. An instance of the grid holds several tiles
 * of rows and of output channels, so that what it loads is used more than once; blocks of k accumulate in one
 * bank of PSUM, and the epilogue takes the result from there. Several matrices may share the rows.
 */
#ifndef BACKEND_STRICT_PRODUCT_H
#define BACKEND_STRICT_PRODUCT_H

#include "backend/lower/epilogue.h"
#include "backend/lower/strict.h"

enum { MAX_MATRICES = 4, MAX_OUT_TILES = 8 };

/* One of the right operands that share the rows: b, and its output channels. */
struct product_part {
    struct ap b;    /* HBM, without dims; the grid's batch variables move it */
    bool packed;    /* b is constant, in the order in which instances load it (packed_weights) */
    dim_t out_channels, b_k, b_out; /* steps */
    struct cover out;               /* tile and grid variable */
    int out_tiles;                  /* of an instance */
    int follow;                     /* nodes of its group: each may have a tile of the result's size */
};

struct strict_product {
    struct ap a; /* as b */
    dim_t k, rows, a_k, a_row;
    struct cover row;
    int row_tiles; /* of an instance */
    dim_t block;   /* of k */
    bool unrolled; /* k is known: all its blocks at once, else in a loop */
    bool turned;   /* the result is (output channels, rows) */
    bool columns;  /* rows come as (k, rows) though k is what lies side by side: so they are left on chip */
    bool whole;    /* an instance has all output channels of its rows, and goes on with whole rows */
    int nparts;    /* several, as `whole`, are those of an instance one after the other */
    struct product_part part[MAX_MATRICES];
};

/* Tile sizes for the counts given, with room in SBUF for what follows; false when there is none for what an instance
 * must have. */
bool strict_product_tiles(const struct lowering *l, struct strict_product *p);
/* A constant matrix, element (k, out) at the part's steps, in the order of p's tiles: its slot, for
 * the part's b, with `packed`. Each partition's share of a load then lies in one piece. */
int packed_weights(struct lowering *l, const struct strict_product *p, const struct product_part *part,
                   const struct value *w);
/* Loads, multiplies, accumulates. Each tile of the result is given to `finish`: its pattern (rows,
 * output channels; turned: the other way round) in PSUM, and p->row and the part's `out` say which one it is. */
typedef void product_finish(void *user, const struct strict_product *p, int part, struct ap result);
void strict_product_emit(struct kernel_builder *k, struct strict_product *p, product_finish *finish,
                         void *user);
/* Whether the Tensor engine has to turn the rows. */
static inline bool product_turns_rows(const struct strict_product *p)
{
    return p->a_k == 1 && !p->columns;
}
/* What tiles of rows of that type are when the Tensor engine turns them: moved, not summed, so that 16 bits stay as
 * they are. */
static inline int turned_type(int dtype)
{
    return dtype_is_short_float(dtype) ? dtype : DT_F32;
}
/* One product of tiles: dst (m, n) in PSUM, stationary (k, m), moving (k, n). */
void emit_tile_product(struct kernel_builder *k, struct ap dst, struct ap stationary,
                       struct ap moving, struct affine accumulate);

#endif
