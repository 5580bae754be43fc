/*
 * Views that stand where others see too little: dims of 1 come or go behind a transpose, or before a mask.
 */
#ifndef PASSES_VIEWS_H
#define PASSES_VIEWS_H

#include "passes/ir/ir.h"

/* A comparison of what differs from another array by dims of 1 alone, as front ends write index arithmetic; before the
 * view it is part of one kernel with what computes the array. n computed before the views that its operands are, and
 * viewed itself; the other operands have one element. For results of type bool alone. NULL where n is of another form,
 * or after a failure. */
struct value *of_unviewed(struct graph *g, struct node *n, struct diag *d);
/* Of a view n of a transpose without some dims of 1: the transpose of a view without them, which attention and products
 * read in place. NULL where n is of another form, or after a failure. */
struct value *transpose_of_view(struct graph *g, struct node *n, struct diag *d);

/* An elementwise operator of what an image without some dims of 1 is, the image made by a convolution: as exporters
 * write convolutions of signals, bias and activation behind the view. n computed on the image, as part of one kernel
 * with the convolution, and viewed; other operands are constants. NULL where n is of another form, or after a
 * failure. */
struct value *view_of_elementwise(struct graph *g, struct node *n, struct diag *d);

#endif
