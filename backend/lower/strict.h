/*
 * Strict targets: engines work on tiles in SBUF and PSUM, and only DMA reaches HBM.
 *
 * Dim 0 of every pattern on a tile runs over partitions. An operand is staged: a tile is made that
 * holds what its HBM pattern covers, and DMA fills it; results go the other way. Dims that
 * broadcast (step 0) take no room in the tile, but for dim 0: partitions have memories of their
 * own.
 */
#ifndef BACKEND_STRICT_H
#define BACKEND_STRICT_H

#include "backend/lower/kernels.h"

enum { STRICT_PARTITIONS = 128 };

/* ---- staging (strict_stage.c) ---- */

/* A tile that holds what an HBM pattern covers; the pattern over it. Counts are constants, dim 0's
 * at most 128. */
struct ap stage_tile(struct kernel_builder *k, const struct ap *hbm, int mem, int dtype);
/* The same, filled. A transposing DMA is used when neighbours in memory go to different partitions.
 */
struct ap stage_in(struct kernel_builder *k, struct ap hbm);
/* Stores a tile's pattern with the dims of `hbm`; converts first, and moves out of PSUM, where DMA
 * cannot. */
void stage_out(struct kernel_builder *k, struct ap hbm, struct ap tile);

/* Operands and results of an expression, each staged once. */
struct stage {
    int n, cap;
    struct staged_value {
        struct value *v;
        struct ap hbm, tile;
        bool result;
    } * values;
};
/* The tile pattern of v, whose place in HBM is `hbm`: loaded at first use, or stored by stage_flush
 * if a result. */
struct ap stage_value(struct stage *s, struct kernel_builder *k, struct value *v, struct ap hbm,
                      bool result);
void stage_flush(struct stage *s, struct kernel_builder *k);

/* Elements of 4 bytes that each of `tiles` tiles may have in a partition, at most `most`. */
dim_t strict_free_size(const struct lowering *l, int tiles, dim_t most);

/* ---- families: what lower_NAME does on strict targets ---- */

enum lowered strict_matmul(struct lowering *l, struct node *n);
enum lowered strict_conv(struct lowering *l, struct node *n);
enum lowered strict_pool(struct lowering *l, struct node *n);

#endif
