/*
 * What the tile programs of products, attention and convolutions take, and how they compute it. Asked once per node, by
 * plan.c; the functions that emit them read the answers, and ask nothing.
 */
#ifndef BACKEND_COVERAGE_H
#define BACKEND_COVERAGE_H

#include "backend/lower/conv.h"

/* A product of two computed operands, with what follows it. */
bool product_takes(struct lowering *l, const struct group *g);
/* Rows by a constant matrix, with what follows; NULL, and why(): not so. */
const struct product *constant_product_takes(struct lowering *l, const struct group *g);
bool attention_takes(struct lowering *l, const struct node *n);
/* A convolution, with what follows; NULL, and why(): it has no tile program. */
const struct conv_plan *conv_takes(struct lowering *l, const struct group *g);
/* Whether the input of a convolution that is taken is planes of channels made pixels, which padding does as well. */
bool pads_planes(const struct node *whole, const struct node *n, const struct conv_plan *p);

#endif
