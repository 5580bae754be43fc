/*
 * Elements of small integer tensors one by one: where the whole is not known, as of pads of which one is computed, some
 * are.
 */
#ifndef PASSES_KNOWN_PARTS_H
#define PASSES_KNOWN_PARTS_H

#include "passes/ir/ir.h"

enum { KNOWN_PARTS = 64 }; /* elements at most */

/* The elements of v, each a dim or DIM_NOT_BOUND: how many, -1 where nothing is known. */
int known_parts(const struct value *v, dim_t *out);

#endif
