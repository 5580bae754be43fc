/*
 * Depthwise convolutions: one instruction of the Vector engine per row of output pixels; it takes a
 * bias and an activation along.
 */
#include "backend/lower/conv.h"
#include "backend/lower/move.h"
#include "backend/lower/strided.h"

#include <string.h>

/* Computed weights as f32 [kh][kw][C]. */
static int reordered(struct lowering *l, const struct node *n, const struct conv *c)
{
    struct strided w = strided_operand(l, n->in[1]);
    dim_t dims[3] = {c->kh, c->kw, c->channels_in};
    struct type type = type_tensor(DT_F32, 3, dims);
    struct move m = {.to_slot = temporary_slot(l, &type, NULL), .from_slot = w.slot};
    int64_t taps = c->kh * c->kw;
    for (int i = 2; i < w.rank; i++) {
        taps /= w.dims[i];
        move_dim(&m, w.dims[i], taps * c->channels_in, w.steps[i]);
    }
    move_dim(&m, c->channels_in, 1, w.steps[0]);
    move_possible(l, &m); /* three dims always are */
    emit_move(l, n, "pack weights", &m);
    return m.to_slot;
}

/* Rows of output pixels are made for a block of channels at a time, all rows of an image before the
 * next block: what the kernel's rows have in common then stays in the cache. */
static int64_t channel_block(const struct conv *c)
{
    enum { CACHE = 24 << 10, VECTOR = 16, MIN_BLOCK = 8 * VECTOR };
    if (!c->w)
        return c->channels_in; /* computed weights are put in order by one kernel */
    int64_t width = dim_is_const(c->width) ? c->width : 1, n = c->channels_in;
    int64_t block = CACHE / (4 * c->kh * width) / VECTOR * VECTOR;
    block = block < MIN_BLOCK ? MIN_BLOCK : block;
    if (c->kh == 1 || block >= n)
        return n;
    int64_t blocks = (n + block - 1) / block;
    return ((n + blocks - 1) / blocks + VECTOR - 1) / VECTOR * VECTOR;
}

/* Weights C,1,kh,kw as f32 [blocks of channels][kh][kw][channels]. */
static int weights_slot(struct lowering *l, const struct node *n, const struct conv *c,
                        int64_t block)
{
    if (!c->w)
        return reordered(l, n, c);
    int64_t taps = c->kh * c->kw, channels = c->channels_in;
    int64_t blocks = (channels + block - 1) / block;
    int64_t dims[4] = {blocks, c->kh, c->kw, block};
    size_t bytes = sizeof(float) * (size_t)(blocks * taps * block);
    float *data = arena_alloc(&l->g->arena, bytes);
    memset(data, 0, bytes);
    for (int64_t i = 0; i < channels; i++)
        for (int64_t k = 0; k < taps; k++)
            data[(i / block * taps + k) * block + i % block] =
                (float)tensor_f64(c->w, i * taps + k);
    struct tensor t = tensor_view(DT_F32, 4, dims, data);
    return constant_slot(l, &t, c->weights->name);
}

/* The innermost dim: the channels of block `var`. */
static void push_channels(struct lowering *l, struct ap *a, const struct conv *c, int64_t block,
                          int var)
{
    if (var >= 0)
        ap_push_tile(l->p, a, 1, block, var, c->channels_in);
    else
        ap_push(a, 1, block);
}

void emit_depthwise(struct lowering *l, struct group *g, const struct conv_plan *p)
{
    struct node *n = g->nodes[0];
    const struct conv *c = &p->c;
    const struct tail *tail = &p->tail;
    int64_t block = channel_block(c), blocks = (c->channels_in + block - 1) / block;
    int w = weights_slot(l, n, c, block);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    int var_n = kernel_grid(&k, c->n), var_block = blocks > 1 ? kernel_grid(&k, blocks) : -1;
    int var_row = kernel_grid(&k, c->oh);
    struct conv_walk walk = {var_n, var_row, -1, var_block, 0, c->ow, block};
    struct epilogue e = conv_epilogue(&k, g, c, &walk);

    struct value *last = g->nodes[tail->taken - 1]->out[0];
    struct ap dst = group_is_result(g, last) ? epilogue_pattern(&e, last) : epilogue_tile(&e, DT_F32);
    struct ap image = depthwise_image(l, c, var_n), weights = ap_slot(l->p, w), bias = ap_absent();
    push_channels(l, &image, c, block, var_block);
    ap_push(&weights, c->kw * block, c->kh), ap_push(&weights, block, c->kw);
    push_channels(l, &weights, c, block, var_block);
    if (blocks > 1)
        affine_set(&weights.offset, &l->p->arena, var_block, c->kh * c->kw * block);
    if (tail->bias) {
        bias = ap_slot(l->p, value_slot(l, tail->bias));
        push_channels(l, &bias, c, block, var_block);
    }
    emit_depthwise_conv(&k, (struct depthwise_conv){.dst = dst,
                                                    .image = image,
                                                    .weights = weights,
                                                    .bias = bias,
                                                    CONV_WINDOW(l, c, var_row, 1),
                                                    .a = tail->a,
                                                    .b = tail->b,
                                                    .f = tail->f});
    epilogue_rest(&e, tail->taken, dst);
    vector_account(&k, c, 4);
}
