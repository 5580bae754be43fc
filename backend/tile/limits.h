/*
 * Limits of single instructions that are numbers: at which partition an operand may start, how long its rows may be,
 * which element types it may have. Part of rules.h, which says the rest and puts everything in front.
 */
#ifndef BACKEND_TILE_LIMITS_H
#define BACKEND_TILE_LIMITS_H

#include "backend/tile/rules.h"

/* Engines reach partitions by groups: up to 32 partitions start at a multiple of 32, up to 64 at 0 or 64, more at 0.
 * DMA starts anywhere. So many partitions start at multiples of: */
int64_t tile_start_unit(const struct machine *m, int64_t partitions);
/* An operand that does not start so is refused on strict targets. */
bool tile_check_start(const struct tile_context *c, const struct insn *n, int operand, struct diag *d);

/* Rows of LIMIT's instructions, and the types of what they write. */
bool tile_check_rows(const struct tile_context *c, const struct insn *n, struct diag *d);

#endif
