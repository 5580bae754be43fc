/* Parts of lifetime.c: which instructions use a tile, and what an iteration of a loop writes of it. */
#ifndef BACKEND_WRITTEN_H
#define BACKEND_WRITTEN_H

#include "backend/schedule/schedule.h"

struct tile_insns {
    const struct kernel *k;
    const int *around, *ends; /* loops_around, loop_ends */
    int *begin, *insns;       /* per tile, where its instructions are among these; one more at the end */
};

/* Whether the operand is read the first time in an iteration of the loop with that variable, when
 * variables of loops inside it are 0: sums over those start anew. */
bool reads_first(const struct insn *n, int operand, int64_t var);

/* Whether an iteration of the loop, which has all of the tile's instructions, reads nothing of it but what it has
 * written before. Errs on the side of false. */
bool written_part_by_part(const struct tile_insns *u, int tile, int loop);

#endif
