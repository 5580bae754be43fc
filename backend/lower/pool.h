/*
 * Geometry of a pooling, 1-D ones as images of one row.
 */
#ifndef BACKEND_POOL_H
#define BACKEND_POOL_H

#include "backend/lower/epilogue.h"

struct pooling {
    bool last, max, count_pad;
    int spatial;
    dim_t n, channels, h, w, oh, ow;
    dim_t row, column, channel, image; /* steps of x */
    int64_t kernel[2], stride[2], dilation[2];
    dim_t pad[2]; /* before the image */
};

/* Of a 1-D or 2-D float pooling that does not crop and gives no indices; false of others. */
bool pool_geometry(struct lowering *l, const struct node *n, struct pooling *p);

#endif
