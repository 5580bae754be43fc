/*
 * Tensors that are outputs under another shape (a Reshape, a Squeeze at the end of a graph): they are made in the
 * output's memory instead of being copied there.
 */
#ifndef BACKEND_LOWER_OUTPUTS_H
#define BACKEND_LOWER_OUTPUTS_H

#include "backend/lower/lower.h"

/* Fills l->shown, after plan_graph. */
void find_shown(struct lowering *l);

#endif
