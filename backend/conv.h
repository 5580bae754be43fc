/*
 * Geometry of a convolution over channels-last images, 1-D ones as images of one row.
 */
#ifndef BACKEND_CONV_H
#define BACKEND_CONV_H

#include "backend/epilogue.h"

struct conv {
    struct value *x;
    const struct tensor *w; /* outs, channels_in / group, kernel dims */
    int spatial;            /* 1 or 2 */
    bool column;            /* an image one pixel wide: its height is walked as the width */
    dim_t n, h, width, oh, ow;
    int64_t channels_in, outs, group, kh, kw, sh, sw, dh, dw, top, left, bottom, right;
};

enum lowered emit_depthwise(struct lowering *l, struct group *g, struct conv *c);

#endif
