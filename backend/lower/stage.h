/*
 * Strict targets: engines reach tiles only, and only the instructions that the hardware has.
 *
 * Convolutions, pooling and matrix products are written for strict targets by functions of their
 * own (strict.h). What other lowering functions write as for `cpu`, stage_kernel makes strict:
 * composite instructions become sequences, and operands in HBM become tiles that DMA fills before
 * an instruction and stores after it. The first dim of a pattern lies over partitions when it has
 * no more than the machine.
 */
#ifndef BACKEND_STAGE_H
#define BACKEND_STAGE_H

#include "backend/tile/builder.h"

/* Fails, leaving the kernel half done, when it cannot be: the caller drops the kernel and calls the
 * operator's routine. */
bool stage_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d);

/* Emits the primitive instructions that compute a composite one on tiles. False when insn is not
 * composite. */
bool expand_insn(struct kernel_builder *k, const struct insn *insn);

#endif
