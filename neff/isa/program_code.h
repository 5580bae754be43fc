/*
 * A whole program but for its constants in one stream of bytes, for programs that are compiled into
 * others (runtime/standalone): read by the version that wrote it, from memory it trusts. Archives,
 * which strangers read, have a format of their own (neff/archive).
 *
 * Names of inputs and outputs are kept, source nodes are not. Constants lie in a block of their
 * own: `at` has the place of each slot's there, strings apart, which the stream has.
 */
#ifndef NEFF_PROGRAM_CODE_H
#define NEFF_PROGRAM_CODE_H

#include "neff/isa/program.h"

struct codec;

/* Bytes between constants. */
enum { CONSTANT_ALIGN = 64 };

/* Per slot, where its constant lies; *size: bytes of all. In arena a. */
uint64_t *program_constants(const struct program *p, struct arena *a, uint64_t *size);
/* Writes *p, or fills it. at: as program_constants gives it; reading: NULL, and constants lie at
 * `constants`. */
void code_whole_program(struct codec *c, struct program *p, uint64_t *at, const void *constants);

#endif
