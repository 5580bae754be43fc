/*
 * The filters of Winograd's convolution, transformed when compiling (runtime/kernels/winograd.inc
 * has the transforms of images).
 */
#ifndef BACKEND_WINOGRAD_WEIGHTS_H
#define BACKEND_WINOGRAD_WEIGHTS_H

#include "backend/lower/weights.h"
#include "neff/isa/conv_cost.h"

/* f32 weights [output channels][channels][3][3] as packed products, group p being plane p of G g G^T for tiles
 * of size x size pixels: k channels, output channels. Computed in double and rounded once,
 * to f32 or bf16. */
struct packed_weights winograd_weights(struct lowering *l, const struct value *w,
                                       struct conv_way way);

#endif
