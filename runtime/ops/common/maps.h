/*
 * Results whose index along each axis stands for one index of the operand, or for none: pad, tile, resize.
 */
#ifndef RUNTIME_OPS_MAPS_H
#define RUNTIME_OPS_MAPS_H

#include "neff/core/tensor.h"

/* For each axis, operand offset (in elements) of each result index; -1: none. */
struct maps {
    int64_t *block, *axis[MAX_RANK]; /* the block holds them all: to be freed */
};

/* Room for the maps of result z. */
bool maps_init(struct maps *m, const struct tensor *z, struct diag *d);
/* Fills z from x through the maps; `value`, an element, where the operand has none. */
void maps_move(struct tensor *z, const struct tensor *x, const struct maps *m, const void *value);

#endif
