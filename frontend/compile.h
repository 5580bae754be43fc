/*
 * From a graph to an archive, and back to something that runs.
 */
#ifndef FRONTEND_COMPILE_H
#define FRONTEND_COMPILE_H

#include "frontend/driver.h"
#include "neff/isa/program.h"
#include "runtime/exec/exec.h"

/* Runs the passes and the backend. The program borrows the graph's constants. NULL after a failure.
 */
struct program *compile_graph(struct graph *g, const struct command *c, struct diag *d);

/* Compiles the graph, writes the archive to PATH, loads it as xrun would. NULL after a failure. */
struct model *compile_and_load(struct graph *g, const struct command *c, const char *path,
                               struct diag *d);

#endif
