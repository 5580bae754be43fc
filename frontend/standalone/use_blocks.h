/*
 * Which register blocks (runtime/kernels/blocks.h) the tiles of a program are cut into: the names by which
 * runtime/kernels/gemm.inc keeps them, "GEMM_16_f32_block_7x4" of 16 lanes.
 */
#ifndef FRONTEND_STANDALONE_USE_BLOCKS_H
#define FRONTEND_STANDALONE_USE_BLOCKS_H

#include "frontend/standalone/use.h"
#include "runtime/kernels/gemm.h"

/* Of tiles whose result is y; exchanged: rows and columns may be. */
void use_add_blocks(struct used *u, const struct ap *y, enum gemm_type type, bool exchanged);
void use_add_tile(struct used *u, int64_t rows, int64_t columns, enum gemm_type type);
/* Of tiles of so many columns and any rows. */
void use_add_columns(struct used *u, int64_t columns);
/* Of f32, whatever the tiles are. */
void use_add_every_block(struct used *u);

/* What follows products of a kernel, in registers: results in bf16, tiles added. f: of its instructions, or NULL. */
void use_add_steps(struct used *u, const struct kernel *k, const struct insn_forms *f);

#endif
