/*
 * A proof by example that a kernel is synchronised, independent of how the semaphores were made:
 * some thousand instructions of it, looked through for hazards (neff/plan/hazards.h).
 */
#ifndef BACKEND_CHECK_SYNC_H
#define BACKEND_CHECK_SYNC_H

#include "neff/isa/program.h"
#include "neff/plan/hazards.h"

/* All kernels, every symbol being `symbol`, those that running defines too. */
bool check_program_sync(const struct program *p, int64_t symbol, struct diag *d);

/* Whether the programs of each kernel's grid are independent of each other. */
bool check_program_grids(const struct program *p, int64_t symbol, struct diag *d);

/* Whether all that a kernel reads has been written; it needs no order yet. *found: what is not, of its first read. */
bool check_kernel_contents(const struct program *p, const struct kernel *k, struct hazard_unwritten *found,
                           struct diag *d);

#endif
