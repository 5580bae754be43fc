/*
 * Depthwise convolutions of u8 by s8: one instruction of the Vector engine per row of output
 * pixels, whose sums the epilogue scales, rounds and stores.
 */
#include "backend/lower/conv.h"
#include "backend/lower/product.h"
#include "backend/lower/quantized.h"

#include <string.h>

enum { QUAD = 4, MAX_ROWS = 16, MAX_PLACES = 256 };

static int64_t quads(const struct conv *c)
{
    return (c->kh + QUAD - 1) / QUAD;
}

/* Weights C,1,kh,kw as [kw][kh / 4][C][4 rows]. */
static int weights_slot(struct lowering *l, const struct conv *c, const char *name)
{
    int64_t n = c->channels_in, dims[4] = {c->kw, quads(c), n, QUAD};
    size_t size = (size_t)(c->kw * quads(c) * n * QUAD);
    int8_t *data = arena_alloc(&l->g->arena, size);
    memset(data, 0, size);
    for (int64_t i = 0; i < n; i++)
        for (int64_t y = 0; y < c->kh; y++)
            for (int64_t x = 0; x < c->kw; x++)
                data[((x * quads(c) + y / QUAD) * n + i) * QUAD + y % QUAD] =
                    (int8_t)tensor_i64(c->w, (i * c->kh + y) * c->kw + x);
    struct tensor t = tensor_view(DT_I8, 4, dims, data);
    return constant_slot(l, &t, name);
}

bool depthwise_integer_window(const struct conv *c)
{
    return c->kh <= MAX_ROWS && c->kh * c->kw <= MAX_PLACES;
}

void emit_depthwise_integer_conv(struct lowering *l, struct group *g, const struct conv_plan *p)
{
    struct node *n = g->nodes[0];
    const struct conv *c = &p->c;
    const struct quantized *q = p->quantized;
    int terms_slot = q ? quantized_terms(l, q, c->bias) : c->bias;
    int w = weights_slot(l, c, outer_value(l, n->in[1])->name);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    int var_n = kernel_grid(&k, c->n), var_row = kernel_grid(&k, c->oh);
    struct conv_walk walk = {var_n, var_row, -1, -1, 0, c->ow, c->channels_in};
    struct epilogue e = conv_epilogue(&k, g, c, &walk);

    bool direct = epilogue_empty(g) || q;
    struct ap dst = direct ? epilogue_pattern(&e, g->results[0]) : epilogue_tile(&e, DT_I32);
    struct ap image = depthwise_image(l, c, var_n), weights = ap_slot(l->p, w), terms = ap_absent();
    ap_push(&image, 1, c->channels_in);
    ap_push(&weights, quads(c) * c->channels_in * QUAD, c->kw);
    ap_push(&weights, c->channels_in * QUAD, quads(c));
    ap_push(&weights, QUAD, c->channels_in), ap_push(&weights, 1, QUAD);
    if (terms_slot >= 0) {
        terms = ap_slot(l->p, terms_slot);
        ap_push(&terms, c->channels_in, q ? 3 : 1);
        ap_push(&terms, 1, c->channels_in);
    }
    emit_depthwise_integer(&k,
                           (struct depthwise_integer){.dst = dst,
                                                      .image = image,
                                                      .weights = weights,
                                                      .terms = terms,
                                                      CONV_WINDOW(l, c, var_row, 1),
                                                      .kernel_h = c->kh,
                                                      .kernel_w = c->kw,
                                                      .outside = c->padding,
                                                      .zero = q ? (float)q->zero : 0});
    if (!direct)
        epilogue_emit(&e, dst);
    vector_account(&k, c, 1);
}
