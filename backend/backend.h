/*
 * The backend: a graph in, a program for one machine out.
 *
 *   lower.c      walks the graph: values become slots, nodes become kernels or calls
 *   lower.def    which operators have a tile program, and the function that writes it
 *   lower_*.c    those functions, by family; what they decline becomes a GpSimd call
 *   kernels.h    the builder they use, backend/tile, under nodes' names
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"
#include "passes/ir/options.h"

/*
 * Compiles the graph, whose types are inferred. The program borrows constants from the graph: it
 * must not outlive it. NULL after a failure.
 */
struct program *backend_compile(struct graph *g, const struct options *o, const struct machine *m,
                                struct diag *d);

#endif
