/*
 * Bugs planted in instructions (plant.def), so that a test can see whether they are found. Nothing is
 * left of this in a build without XCC_PLANT.
 */
#ifndef RUNTIME_EXEC_PLANT_H
#define RUNTIME_EXEC_PLANT_H

#include "runtime/exec/state.h"

#ifdef XCC_PLANT
/* After instructions [pc, pc + n) of the kernel have run. */
void plant(struct worker *me, const struct bound_kernel *k, int pc, int n);
/* Before a kernel runs: names its nodes and the tensors that it writes, if it has the instruction; to the
 * file that the environment's XCC_PLANT_LOG names. */
void plant_log(const struct program *p, const struct bound_kernel *k);
#else
static inline void plant(struct worker *me, const struct bound_kernel *k, int pc, int n) {}
static inline void plant_log(const struct program *p, const struct bound_kernel *k) {}
#endif

#endif
