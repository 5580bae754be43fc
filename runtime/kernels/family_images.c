/*
 * Kernels over images: pooling, depthwise convolutions, Winograd transforms, channels last; planes, channels first.
 * A family of kernels, compiled once for each variant that has its own; see variants.h.
 */
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"
#include "runtime/kernels/overlay.h"

#include <float.h>

#include "runtime/kernels/fold.inc"
#include "runtime/kernels/conv.inc"
#include "runtime/kernels/pool_plane.inc"
#include "runtime/kernels/plane_conv.inc"
#include "runtime/kernels/winograd.inc"
#include "runtime/kernels/resize.inc"

static void activate_tile(const struct channel_epilogue *e, float *y, ptrdiff_t pitch, size_t rows,
                          size_t n)
{
    KERNEL_TABLE(VARIANT).activation_tile[e->activation](
        (struct out_tile){y, pitch, false}, (struct in_tile){y, 1, pitch}, (struct in_tile){0},
        (struct in_tile){0}, rows, n, e->p);
}

static void activate(const struct channel_epilogue *e, float *x, size_t n)
{
    KERNEL_TABLE(VARIANT).activate[e->activation](x, n, e->p);
}

void KERNEL_FAMILY(images, VARIANT)(struct kernel_table *t)
{
#if !OVERLAY
    SET_USED(pool_max, pool_max)
    SET_USED(pool_sum, pool_sum)
    SET_USED(pool_plane, pool_plane)
    SET_USED(plane_conv, plane_conv)
    SET_USED(pool_max_bytes, pool_max_bytes)
    SET_USED(resize_linear, resize_linear)
    SET_USED(winograd_output, winograd_output)
#endif
#if !OVERLAID && !OVERLAY_PRODUCTS
    SET_USED(depthwise, depthwise)
    SET_USED(winograd_input, winograd_input)
#endif
}
