/*
 * Pooling: one instruction per row of output pixels; 1-D images are images of one row. Images may
 * be channels last or channels first: the instruction takes them by steps; channels first, each is
 * an image of its own.
 */
#include "backend/lower/plan.h"
#include "backend/lower/pool.h"
#include "backend/lower/product.h"
#include "backend/lower/strict.h"
#include "passes/pads.h"

#include <string.h>

static struct epilogue epilogue_of(struct kernel_builder *k, struct group *g, const struct pooling *p,
                                   int var_n, int var_row)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank};
    int first = p->last ? 1 : 2, column = first + (p->spatial == 2),
        channel = p->last ? y->rank - 1 : 1;
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers++] = cover_of(0, 0, var_n, 0);
    if (p->spatial == 2)
        e.covers[e.ncovers++] = cover_of(first, first, var_row, 0);
    e.covers[e.ncovers++] = cover_of(column, column, -1, p->ow);
    e.covers[e.ncovers++] = cover_of(channel, channel, -1, p->channels);
    return e;
}

/* Of an image, `rows` rows for each value of var_row. */
static void emit_window_of(struct kernel_builder *k, const struct pooling *p, struct ap dst, struct ap image,
                           int var_row, dim_t rows)
{
    emit_window_pool(k, (struct window_pool){.dst = dst,
                                             .image = image,
                                             .row = affine_variable(k->p, 0, var_row, rows),
                                             .kernel_h = p->kernel[0],
                                             .kernel_w = p->kernel[1],
                                             .stride_h = p->stride[0],
                                             .stride_w = p->stride[1],
                                             .dilation_h = p->dilation[0],
                                             .dilation_w = p->dilation[1],
                                             .pad_h = p->pad[0],
                                             .pad_w = p->pad[1],
                                             .count_pad = p->count_pad,
                                             .op = p->max ? OP_max : OP_add});
}

static void emit_window(struct kernel_builder *k, const struct pooling *p, struct ap dst, int slot, int var_n,
                        int var_row, dim_t rows)
{
    struct ap image = ap_slot(k->p, slot);
    ap_move(k->p, &image, var_n, p->image);
    ap_push(&image, p->row, p->h), ap_push(&image, p->column, p->w);
    ap_push(&image, p->channel, p->channels);
    emit_window_of(k, p, dst, image, var_row, rows);
}

static void report(struct kernel_builder *k, const struct pooling *p, const struct type *out,
                   const struct type *in)
{
    struct dim_table *t = &k->p->dims;
    dim_t written = type_count(t, out), read = type_count(t, in);
    kernel_of(k)->flops = dim_mul(t, written, p->kernel[0] * p->kernel[1]);
    kernel_of(k)->bytes = dim_mul(t, dim_add(t, written, read), 4);
}

/* Pictures of an instance: what the first cache holds. */
static dim_t pictures_tile(const struct pooling *p, dim_t pictures)
{
    enum { ELEMENTS = 8192, MIN = 16 };
    dim_t each = dim_is_const(p->h) && dim_is_const(p->w) ? p->h * p->w : ELEMENTS;
    dim_t some = spread_tile(pictures, each > 0 && each < ELEMENTS ? ELEMENTS / each : 1, 1, MIN);
    return some < MIN ? some : some / MIN * MIN; /* whole vectors, where they are lanes */
}

/* Channels first: every channel is a picture of its own; some of them at a time, or some rows of one. */
static void emit_pictures(struct lowering *l, const struct node *n, struct pooling p)
{
    struct dim_table *t = &l->p->dims;
    struct kernel_builder k = begin_kernel(l, n, n->name);
    dim_t out_channels = dim_mul(t, p.oh, p.ow);
    dim_t tile = image_rows_tile(p.oh, p.ow);
    dim_t pictures = dim_mul(t, p.n, p.channels), some = pictures_tile(&p, pictures);
    int var_n = kernel_grid(&k, dim_ceildiv(t, pictures, some)), var_row = kernel_grid(&k, dim_ceildiv(t, p.oh, tile));
    struct ap dst = ap_slot(l->p, value_slot(l, n->out[0])), image = ap_slot(l->p, value_slot(l, n->in[0]));
    ap_push_tile(l->p, &dst, p.ow, tile, var_row, p.oh);
    ap_push(&dst, 1, p.ow), ap_push_tile(l->p, &dst, out_channels, some, var_n, pictures);
    ap_push(&image, p.row, p.h), ap_push(&image, p.column, p.w);
    ap_push_tile(l->p, &image, p.channel, some, var_n, pictures);
    emit_window_of(&k, &p, dst, image, var_row, tile);
    report(&k, &p, &n->out[0]->type, &n->in[0]->type);
}

/* A maximum over a window is that of its columns' maxima over its rows; worth it where it halves
 * the work. */
static bool separates(const struct pooling *p)
{
    return p->max && dim_is_const(p->h) && dim_is_const(p->oh) &&
           2 * (p->h * p->kernel[1] + p->oh * p->kernel[0]) <= p->oh * p->kernel[0] * p->kernel[1];
}

/* The maxima along the image's rows, in a temporary, channels last; its slot. What is left to do
 * becomes p. */
static int emit_along_rows(struct lowering *l, const struct node *n, struct pooling *p)
{
    struct dim_table *t = &l->p->dims;
    dim_t dims[4] = {p->n, p->h, p->ow, p->channels};
    int own = n->out[0]->type.dtype;
    struct type type = type_tensor(dtype_is_engine_float(own) ? DT_F32 : own, 4, dims);
    int slot = temporary_slot(l, &type, NULL);
    struct pooling rows = *p;
    rows.kernel[0] = rows.stride[0] = rows.dilation[0] = 1;
    rows.pad[0] = 0;
    p->kernel[1] = p->stride[1] = p->dilation[1] = 1;
    p->pad[1] = 0;
    p->w = p->ow;
    p->channel = 1, p->column = p->channels;
    p->row = dim_mul(t, p->ow, p->channels), p->image = dim_mul(t, p->row, p->h);

    struct kernel_builder k = begin_kernel(l, n, n->name);
    int var_n = kernel_grid(&k, p->n), var_row = kernel_grid(&k, p->h);
    struct ap dst = ap_slot(l->p, slot);
    ap_move(l->p, &dst, var_n, p->image), ap_move(l->p, &dst, var_row, p->row);
    ap_push(&dst, p->channels, p->ow), ap_push(&dst, 1, p->channels);
    emit_window(&k, &rows, dst, value_slot(l, n->in[0]), var_n, var_row, 1);
    report(&k, &rows, &type, &n->in[0]->type);
    return slot;
}

const void *plan_pool(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    struct pooling p = {0};
    if (l->m->strict)
        return strict_pool_takes(l, g);
    if (!pool_geometry(l, n, &p)) {
        why(l->o, n, "tile.pool-form",
            "only 1-D and 2-D float pools that do not crop and give no indices have a tile "
            "program; it runs on GpSimd");
        return NULL;
    }
    return g->n > 1 && !epilogue_possible(l, g, 0) ? NULL : arena_copy(&l->g->arena, &p, sizeof p);
}

enum lowered lower_pool(struct lowering *l, struct node *whole)
{
    if (l->m->strict)
        return strict_pool(l, whole);
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct pooling p = *(const struct pooling *)decision_of(l, whole)->plan;
    if (g.n == 1 && !p.last && n->in[0]->type.dtype == DT_F32) {
        emit_pictures(l, n, p);
        return LOWERED;
    }
    int slot = separates(&p) ? emit_along_rows(l, n, &p) : value_slot(l, n->in[0]);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    int var_n = kernel_grid(&k, p.n), var_row = kernel_grid(&k, p.oh);
    struct epilogue e = epilogue_of(&k, &g, &p, var_n, var_row);
    struct ap dst = epilogue_pattern(&e, n->out[0]);
    if (g.n > 1) {
        int own = n->out[0]->type.dtype;
        dst = epilogue_tile(&e, dtype_is_engine_float(own) ? DT_F32 : own);
    }
    emit_window(&k, &p, dst, slot, var_n, var_row, 1);
    if (g.n > 1)
        epilogue_emit(&e, dst);
    report(&k, &p, &n->out[0]->type, &n->in[0]->type);
    return LOWERED;
}
