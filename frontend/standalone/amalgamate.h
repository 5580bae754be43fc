/* NAME.c as one file with all that it needs. */
#ifndef FRONTEND_STANDALONE_AMALGAMATE_H
#define FRONTEND_STANDALONE_AMALGAMATE_H

#include "frontend/standalone/standalone.h"

/* `sources`: which of the runtime's files it needs (sources.h). */
void write_amalgamation(const struct package *k, const bool *sources, FILE *f);

#endif
