/*
 * Which numbers an integer input may hold, as far as the graph tells: indices lie in their table,
 * lengths within what they measure, flags are 0 or 1. For whoever makes inputs up (xrun --random).
 */
#ifndef BACKEND_LOWER_INPUT_RANGES_H
#define BACKEND_LOWER_INPUT_RANGES_H

#include "backend/lower/lower.h"

void note_input_ranges(struct lowering *l);

#endif
