/*
 * What the tile programs of products, attention and convolutions take, and how they compute it: plan_matmul and the
 * like (lower.def), called once per node by plan.c; the functions that emit them read the answers, and ask nothing.
 */
#ifndef BACKEND_COVERAGE_H
#define BACKEND_COVERAGE_H

#include "backend/lower/conv.h"

/* Whether the input of a convolution that is taken is planes of channels made pixels, which padding does as well. */
bool pads_planes(const struct node *whole, const struct node *n, const struct conv_plan *p);

#endif
