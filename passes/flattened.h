/*
 * Products of flattened rows: reshape, product by a constant matrix, elementwise operators, reshape back, as GPT-2's
 * exporters write linear layers. The product takes the rows as they are, so that what follows the second reshape can
 * follow the product in one tile program. So does the product of merged heads of an attention.
 */
#ifndef PASSES_FLATTENED_H
#define PASSES_FLATTENED_H

#include "passes/pass.h"

bool restore_flattened(struct graph *g, struct diag *d);

#endif
