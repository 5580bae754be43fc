/*
 * Normalisations of rows, in kernels of their own (lower_rows.c) and behind the product that makes the rows.
 */
#ifndef BACKEND_NORM_H
#define BACKEND_NORM_H

#include "backend/lower/rows.h"

/* The group's first node is a layer_norm or rms_norm. Its rows; false, and why(): it has no tile program. */
bool norm_takes(struct lowering *l, const struct group *g, struct rows *r);
/* The group's nodes for the rows that r says, from src: in HBM or a tile. */
void norm_tile(struct kernel_builder *k, struct group *g, struct rows *r, struct ap src);

#endif
