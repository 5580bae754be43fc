/*
 * The runtime's sources, which xcc carries with it, and which of them a program needs.
 */
#ifndef FRONTEND_STANDALONE_SOURCES_H
#define FRONTEND_STANDALONE_SOURCES_H

#include "frontend/standalone/use.h"

struct core_file {
    const char *path;            /* from the top of the repository */
    const char *text, *end;      /* its content */
    const char *defines, *needs; /* of a compiled file: names, each between spaces */
    bool loops;                  /* over elements, which are compiled to vectors */
};
extern const struct core_file core_files[]; /* by path; made by scripts/core-files */
extern const int ncore_files;

/* Per file whether the program needs it: compiled files, and the headers they include. Families of
 * kernels, which are compiled once for each instruction set, are among them when `use` has kernels
 * of theirs. */
bool *sources_needed(const struct used *u, struct arena *a);
/* Whether the file is compiled, by itself and once. */
bool source_is_unit(const struct core_file *f);

#endif
