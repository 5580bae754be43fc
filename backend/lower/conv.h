/*
 * Geometry of a convolution, 1-D ones as images of one row.
 */
#ifndef BACKEND_CONV_H
#define BACKEND_CONV_H

#include "backend/lower/epilogue.h"
#include "backend/lower/tail.h"
#include "neff/isa/conv_cost.h"

struct quantized;

struct conv {
    struct value *x;
    struct value *weights;  /* output channels, channels_in / group, kernel dims */
    const struct tensor *w; /* theirs when compiling; NULL: known only while running */
    bool last;              /* channels last */
    int spatial; /* 1 or 2 */
    bool column; /* an image one pixel wide: its height is walked as the width */
    dim_t n, h, width, oh, ow;
    int64_t channels_in, out_channels, group, in_group, kh, kw, sh, sw, dh, dw;
    dim_t top, left, bottom, right; /* padding */
    int64_t padding;                /* what stands outside the image */
    int bias;                       /* slot of s32 sums to start from; -1: none */
    bool rounds; /* f32 operands to bf16: the input when it is padded, weights when they are packed */
};

/* A convolution's tile program, decided by plan.c. */
enum conv_rule {
    CONV_DIRECT,    /* a product per row of output pixels, over all taps */
    CONV_POINTWISE, /* one product of pixels by weights */
    CONV_WINOGRAD,
    CONV_DEPTHWISE, /* rows of output pixels by the Vector engine */
    CONV_DEPTHWISE_INTEGER,
    CONV_PLANES /* channels first, of few channels */
};
struct conv_plan {
    enum conv_rule rule;
    struct conv c;
    struct conv_way way;               /* CONV_WINOGRAD */
    int direct_from;                   /* there: the rate of bf16 from which a direct sum is launched; 0: none */
    struct tail tail;                  /* what instructions but a product take along */
    const struct quantized *quantized; /* integer ones: sums become 8-bit numbers at once; NULL: they do not */
};
enum { QUANTIZED_TAPS = 64 }; /* at most, of quantized_matmul */

/* Of a 1-D or 2-D convolution whose padding does not crop and whose numbers of channels and taps
 * are known; false of others. */
bool conv_geometry(struct lowering *l, const struct node *n, struct conv *c);
/* How the output pixels are walked: grid variables (-1: none), and what a tile holds. */
struct conv_walk {
    int var_n, var_row, var_column, var_block;
    dim_t rows, columns; /* rows 0: a single one, not a dim of the tile */
    int64_t out_channels;
};
/* The row that an instance begins with, and how the window moves, as operands of the Vector engine's instructions;
 * so many rows an instance. */
#define CONV_WINDOW(l, c, var_row, rows)                                                                               \
    .row = affine_variable((l)->p, 0, var_row, rows), .stride_h = (c)->sh, .stride_w = (c)->sw,                        \
    .dilation_h = (c)->dh, .dilation_w = (c)->dw, .pad_h = (c)->top, .pad_w = (c)->left
struct epilogue conv_epilogue(struct kernel_builder *k, struct group *g, const struct conv *c,
                              const struct conv_walk *w);
/* The input with a border of padding, or rounded, in a temporary; its slot. Sets c->h and c->width to the
 * padded sizes. */
int padded_input(struct lowering *l, const struct node *n, struct conv *c);
static inline bool depthwise_types(const struct conv *c)
{
    int t = c->x->type.dtype;
    return dtype_is_float(t) && dtype_bytes(t) <= 4 && (c->w || c->weights->type.dtype == DT_F32);
}
/* Whether Winograd's tiles pay, and then which, and from which rate on they do not; says why(). */
bool winograd_pays(struct lowering *l, const struct node *n, struct conv_plan *p);
/* Whether the Vector engine has room for an integer convolution's window. */
bool depthwise_integer_window(const struct conv *c);
void emit_winograd(struct lowering *l, struct group *g, const struct conv_plan *p);
void emit_depthwise(struct lowering *l, struct group *g, const struct conv_plan *p);
/* The rows and columns of image var_n; the caller pushes its channels. */
struct ap depthwise_image(struct lowering *l, const struct conv *c, int var_n);
/* What the kernel of the Vector engine computes and moves, for reports; elements of so many bytes. */
void vector_account(struct kernel_builder *k, const struct conv *c, int bytes);
/* Whether the Vector engine has a form for it, channels first. */
bool planes_possible(const struct conv *c);
void emit_planes(struct lowering *l, struct group *g, const struct conv_plan *p);
/* Of a conv_integer; padding and bias are set. */
void emit_depthwise_integer_conv(struct lowering *l, struct group *g, const struct conv_plan *p);

#endif
