/*
 * The register blocks that matrix tiles are cut into, of so many rows by so many vectors of columns: for the kernels
 * (gemm.inc), and for what keeps, in a program for one model, the blocks that its tiles have.
 */
#ifndef RUNTIME_KERNELS_BLOCKS_H
#define RUNTIME_KERNELS_BLOCKS_H

#include <stdbool.h>

enum { MAX_BLOCK_VECTORS = 4, MAX_BLOCK_ROWS = 7, U8S8_ROWS = 6 };
/* Blocks of a vector and a half and of two and a half, of 16 lanes: vectors of the least, and how many there are. */
enum { HALF_VECTORS = 2, HALF_WIDTHS = 2 };

/* Rows of a block at most, of `vectors`. */
#define BLOCK_ROWS_OF(lanes, neon, vectors)                                                                            \
    ((lanes) == 16 ? 7 : (vectors) <= 2 ? 6 : (neon) ? ((vectors) == 3 ? 6 : 4) : (vectors) == 3 ? 4 : 3)
/* The same of bf16 widened on the way: a register holds a mask. */
#define WIDENED_ROWS_OF(lanes, neon) ((lanes) == 16 ? 7 : (neon) ? 6 : 5)
/* From so many rows on, of fewer lanes, weights of bf16 become panels of f32 first (gemm_panels.inc), which meet from
 * the least to the most rows at a time, by this step. */
enum { PANEL_ROWS_FROM = 12, PANEL_ROWS_MIN = 60, PANEL_ROWS_MAX = 96, PANEL_ROWS_STEP = 6 };
/* Vectors of the blocks of other types than f32, at most. */
#define NARROW_VECTORS_OF(lanes) ((lanes) == 16 ? 4 : 2)

#endif
