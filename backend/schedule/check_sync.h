/*
 * A proof by example that a kernel is synchronised: independent of how the semaphores were made.
 *
 * For a few points of the grid, the kernel's instructions are walked in its order with loops
 * unrolled and addresses concrete. Vector clocks over engines and semaphores tell which accesses
 * are ordered. Reported are conflicting accesses of two engines without order, waits that nothing
 * before them satisfies, semaphores with two signalling engines, reads of tile elements that
 * nothing has written, and accesses outside a tile.
 */
#ifndef BACKEND_CHECK_SYNC_H
#define BACKEND_CHECK_SYNC_H

#include "neff/isa/program.h"

/* values: of all dim expressions (dim_eval_all). Kernels whose grid or loops depend on unknown
 * values are passed over. */
bool check_kernel_sync(const struct program *p, const struct kernel *k, const int64_t *values,
                       struct diag *d);
/* All kernels, every symbol being `symbol`, those that running defines too. */
bool check_program_sync(const struct program *p, int64_t symbol, struct diag *d);

#endif
