/*
 * Strict targets: engines reach tiles only, and only the instructions that the hardware has.
 *
 * Lowering functions write one form for every machine; what only a machine's Tensor engine asks for
 * (which dim lies over partitions) some of them write apart (strict.h). stage_kernel fits a kernel
 * to the machine: composite instructions become sequences, and operands in HBM become tiles that
 * DMA fills before an instruction and stores after it, each loaded once. The first dim of a pattern
 * lies over partitions when it has no more than the machine.
 */
#ifndef BACKEND_STAGE_H
#define BACKEND_STAGE_H

#include "backend/tile/builder.h"

/* A tile that holds what an HBM pattern covers, and the pattern over it: dim 0 over partitions where
 * the machine has as many, dims that broadcast once. Counts are constants. */
struct ap stage_tile(struct kernel_builder *k, const struct ap *hbm, int mem, int dtype);
/* The same, filled: for operands whose dims an instruction wants in another order than their
 * pattern's. */
struct ap stage_in(struct kernel_builder *k, struct ap hbm);

/* Stores what a tile of stage_tile holds. */
void stage_out(struct kernel_builder *k, struct ap hbm, struct ap tile);

/* Fails, leaving the kernel half done, when it cannot be: the caller drops the kernel and calls the
 * operator's routine. */
bool stage_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d);

/* Of a kernel that somebody wrote: transfers that would move single elements, because neighbours in
 * HBM go to different partitions, are turned by the Tensor engine on machines whose DMA cannot.
 * True when there were any. */
bool stage_turned_transfers(struct program *p, struct kernel *k, const struct machine *m);

/* Emits the primitive instructions that compute a composite one on tiles. False when insn is not
 * composite. */
bool expand_insn(struct kernel_builder *k, const struct insn *insn);

#endif
