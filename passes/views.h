/*
 * Masks of views: a comparison of what differs from another array by dims of 1 alone. Front ends
 * write index arithmetic so; before the view it is part of one kernel with what computes the array.
 */
#ifndef PASSES_VIEWS_H
#define PASSES_VIEWS_H

#include "passes/ir/ir.h"

/* n computed before the views that its operands are, and viewed itself; the other operands have one
 * element. For results of type bool alone. NULL where n is of another form, or after a failure. */
struct value *of_unviewed(struct graph *g, struct node *n, struct diag *d);

#endif
