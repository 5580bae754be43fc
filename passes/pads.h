/*
 * Padding of windows: given by attributes, or what auto_pad makes of the sizes.
 */
#ifndef PASSES_PADS_H
#define PASSES_PADS_H

#include "passes/ir/ir.h"

/* Elements before and after an image along one dim; negative ones crop. */
struct pads {
    dim_t begin, end;
};

/* `excess` elements around an image (less than 0: none), the odd one at the end, or at the
 * beginning. */
struct pads pads_share(struct dim_table *t, dim_t excess, bool odd_at_end);
/*
 * Of a convolution or pooling n along its spatial dim number `at`, whose windows take `excess`
 * elements more than the image has.
 */
struct pads pads_of(struct dim_table *t, const struct node *n, int at, dim_t excess);
/* What `windows` windows of so many taps take more than the `size` elements of an image. */
dim_t window_excess(struct dim_table *t, dim_t size, dim_t windows, int64_t taps, int64_t stride,
                    int64_t dilation);
static inline bool pads_crop(struct pads p)
{
    return (dim_is_const(p.begin) && p.begin < 0) || (dim_is_const(p.end) && p.end < 0);
}

#endif
