/*
 * What instructions ask of their operands: bounds, shapes, memories, the machine's limits. Said
 * when an instruction is added, in the words of the kernel's author.
 */
#ifndef BACKEND_TILE_RULES_H
#define BACKEND_TILE_RULES_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

struct tile_context {
    const struct program *p;
    const struct kernel *k;
    const struct machine *m;
    const int64_t *trips; /* of each variable that is open: how many values it takes */
};

/* The text names operand and rule; the caller puts instruction and source position in front. */
bool tile_check(const struct tile_context *c, const struct insn *n, struct diag *d);

#endif
