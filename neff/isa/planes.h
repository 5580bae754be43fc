/*
 * What plane_conv may see of an image, for the passes that choose it, for lowering and for the runtime: of every plane
 * the rows that a tile's windows reach, each as `stride` lines of whole vectors, of pixels a stride apart.
 */
#ifndef NEFF_PLANES_H
#define NEFF_PLANES_H

#include <stdint.h>

enum {
    PLANE_PLACES = 4096,   /* planes of a group by places of a window, at most */
    PLANE_STRIDE = 1 << 13, /* and a dilation, and rows and columns of a tile of results */
    PLANE_WORK = 1 << 24,  /* elements that a tile sees */
    PLANE_LANES = 16       /* what no vector has more of */
};

/* Elements between the rows that are laid out, and how many rows of the image those of a tile see. */
static inline int64_t plane_conv_pitch(int64_t kernel_w, int64_t stride_w, int64_t dilation_w, int64_t pixels)
{
    int64_t seen = (pixels > PLANE_LANES ? pixels : PLANE_LANES) + (kernel_w - 1) * dilation_w / stride_w;
    return stride_w * ((seen + PLANE_LANES - 1) / PLANE_LANES * PLANE_LANES);
}
static inline int64_t plane_conv_rows(int64_t kernel_h, int64_t stride_h, int64_t dilation_h, int64_t rows)
{
    return (rows - 1) * stride_h + (kernel_h - 1) * dilation_h + 1;
}
/* Of all planes of a group, and a line before it is laid out. */
static inline int64_t plane_conv_work(int64_t planes, int64_t rows, int64_t pitch)
{
    return (planes * rows + 1) * pitch;
}

#endif
