/*
 * What instructions ask of their operands: the machine that has them, memories, bounds, partitions, shapes. Said when
 * an instruction is added, in the words of the kernel's author; driven by the columns of isa.def and machine.def. What
 * is not known yet (a symbolic size, a pattern that is cut at edges) passes here and is proven when shapes are bound.
 */
#ifndef BACKEND_TILE_RULES_H
#define BACKEND_TILE_RULES_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

struct tile_context {
    const struct program *p;
    const struct kernel *k;
    const struct machine *m;
    const int64_t *trips; /* of each variable that is open: how many values it takes, -1 unknown; NULL: none is known */
};

/* The text names operand and rule; the caller puts instruction and source position in front. */
bool tile_check(const struct tile_context *c, const struct insn *n, struct diag *d);

/* Whether the machine can have a tile of that size. The text does not say which tile. */
bool tile_check_size(const struct machine *m, const struct tile *t, struct diag *d);

/* Bytes of a tile in each partition. */
static inline int64_t tile_partition_bytes(const struct tile *t)
{
    return t->elements * (int64_t)dtype_bytes(t->dtype);
}

#endif
