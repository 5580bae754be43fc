/*
 * Programs whose kernels people wrote: made for a machine and proven before they run.
 *
 * Of each kernel the instructions' operands are checked, what must wait for what is derived (a text that has semaphores
 * keeps them), tiles are placed; then the whole is proven for a few sizes of its symbols: every access to shared memory
 * is ordered, tiles are written before they are read, nothing leaves its tensor.
 */
#ifndef BACKEND_PREPARE_H
#define BACKEND_PREPARE_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

/* The program becomes one for the machine. One for `cpu` may be made for a chip, and the other way round: the cpu
 * target runs everything; one for a chip is not made for another. traced:
 * tiles may share memory (schedule_traced). */
bool prepare_program(struct program *p, const struct machine *m, bool traced, struct diag *d);

#endif
