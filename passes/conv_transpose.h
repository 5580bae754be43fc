/*
 * Transposed convolutions that passes write as something else.
 */
#ifndef PASSES_CONV_TRANSPOSE_H
#define PASSES_CONV_TRANSPOSE_H

#include "passes/match.h"

/* With constant weights, channels first, no bias, of lines or images whose padding and sizes the attributes give. */
static inline bool is_plain_conv_transpose(const struct node *n)
{
    if (n->op != OP_conv_transpose || attr_int(&n->attrs, "channels_last", 0) || (n->nin > 2 && n->in[2]))
        return false;
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type;
    return n->in[1]->constant && x->kind == VK_TENSOR && (x->rank == 3 || x->rank == 4) && w->rank == x->rank &&
           x->dims[1] == w->dims[0] && x->dtype == w->dtype && x->dtype == n->out[0]->type.dtype &&
           dims_are_positive(w->dims, w->rank) && !attr_find(&n->attrs, "output_shape") &&
           (!attr_find(&n->attrs, "auto_pad") || attr_is(&n->attrs, "auto_pad", "NOTSET"));
}

#endif
