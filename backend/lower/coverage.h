/*
 * What the tile programs of products, attention and convolutions take. Asked once per node, by plan.c; others read its
 * decisions.
 */
#ifndef BACKEND_COVERAGE_H
#define BACKEND_COVERAGE_H

#include "backend/lower/conv.h"

/* A product of two computed operands. */
bool product_takes(struct lowering *l, const struct node *n);
bool attention_takes(struct lowering *l, const struct node *n);
/* The group's first node; fills in its geometry, or says why() not. */
bool conv_takes(struct lowering *l, struct group *g, struct conv *c);
/* Whether the input of a convolution that is taken is planes of channels made pixels, which padding does as well. */
bool pads_planes(const struct node *whole, const struct node *n, const struct conv *c);

#endif
