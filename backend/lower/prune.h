/*
 * Steps whose results nothing reads: shape arithmetic whose values tile programs have taken as
 * expressions.
 */
#ifndef BACKEND_PRUNE_H
#define BACKEND_PRUNE_H

#include "neff/isa/program.h"

/* Drops such steps of the main region. Kernels and calls keep their numbers. */
void prune_steps(struct program *p);

#endif
