/*
 * Launches whose instances are one small product each: many in a call of a kernel.
 */
#ifndef RUNTIME_EXEC_SMALL_PRODUCTS_H
#define RUNTIME_EXEC_SMALL_PRODUCTS_H

#include "runtime/exec/engine.h"

/* Whether a bound nc_matmul is one: its sizes and pitches (exec_pe.c). */
bool product_is_small(const struct bound_insn *i, int lanes, struct small_products *p);
/* For a kernel that is bound: how its instances run, if they are such. */
void bind_small_products(struct bound_kernel *k, const struct kernel_table *kernels, struct arena *a);

#endif
