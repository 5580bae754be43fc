/*
 * Slice assignments: what exporters write as scatter_nd with constant indices. When the indices are
 * a box that spans all axes but one, the result is the pieces before it, the updates and the pieces
 * after it, side by side.
 */
#ifndef PASSES_ASSIGN_H
#define PASSES_ASSIGN_H

#include "passes/pass.h"

/* The value that stands for the node's result, NULL when it is no such assignment or after a
 * failure. */
struct value *slice_assignment(struct graph *g, struct node *n, struct diag *d);

/* A dynamic_slice with constant starts is a slice. (A dynamic_update_slice is left: it may write in place.) */
struct value *known_slice(struct graph *g, struct node *n, struct diag *d);

#endif
