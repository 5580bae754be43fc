/*
 * From a graph to a program.
 */
#ifndef FRONTEND_COMPILE_H
#define FRONTEND_COMPILE_H

#include "frontend/driver.h"
#include "neff/isa/program.h"
#include "runtime/exec/exec.h"

/* Runs the passes and the backend. The program borrows the graph's constants. NULL after a failure.
 */
struct program *compile_graph(struct graph *g, const struct command *c, struct diag *d);

/* A program as something that runs, with the operators that the user brings. Takes the program. */
struct model *model_of(struct program *p, const struct command *c, struct diag *d);

#endif
