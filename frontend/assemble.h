/*
 * Programs that come as assembly text (FORMAT.md, "Assembly"), not as a model.
 */
#ifndef FRONTEND_ASSEMBLE_H
#define FRONTEND_ASSEMBLE_H

#include "frontend/driver.h"
#include "neff/isa/program.h"

/* Whether the file is named as assembly: .xasm. */
bool is_assembly(const char *path);

/* Constants whose data the text leaves out, from NAME.npz beside NAME.xasm. */
bool assemble_constants(struct program *p, const char *path, struct diag *d);

/*
 * Reads the text and makes it a program like one of the backend's: constants whose data the text
 * leaves out come from NAME.npz beside NAME.xasm; kernels without semaphores are ordered, placed
 * and synchronised, those with semaphores are kept as they are; either way the order of all
 * accesses is proven. NULL after a failure.
 */
struct program *assemble(const char *path, const struct command *c, struct diag *d);

#endif
