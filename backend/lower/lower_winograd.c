/*
 * Dense 3x3 convolutions of stride 1 by Winograd's F(size x size, 3x3): a tile of size x size
 * output pixels is (size + 2)^2 products instead of 9 * size^2, a fourth of them for size 4. All in
 * FP32, or with the operands of products rounded to bf16.
 *
 * One instance takes a block of tiles: the patches under them are transformed into planes
 * [plane][tile][channel], every plane is multiplied by its plane of the filters, and the sums are
 * transformed back into pixels, bias and activation included. The image needs no border. When the
 * filters stay in cache, an instance does all blocks of output channels one after the other and the planes
 * never leave its tiles; otherwise a kernel of its own writes the planes once, and the products go
 * by blocks of output channels, so that each block of filters is read once.
 */
#include "backend/lower/conv.h"
#include "backend/lower/product.h"
#include "backend/lower/winograd_weights.h"
#include "passes/ir/winograd.h"

#include <string.h>

enum {
    PAD = 16, /* elements between planes: powers of two would map them to one cache set */
    MAX_TILES = 64,
    MIN_TILES = 14, /* of an instance, where there are few: of less each, filters are read again too often */
    TILES_BYTES = 160 << 10,     /* of the planes of a block of tiles, and of its sums */
    WEIGHTS_IN_TURN = 640 << 10, /* at most, where every instance reads all filters */
    SHARED_PLANES = 4 << 20,     /* at most, of an image whose planes are written once */
};

struct winograd_tiles {
    int size, planes;
    int dtype;           /* of the operands of products */
    bool shared;         /* planes of the whole image, in memory */
    dim_t high, wide;    /* tiles of the image */
    dim_t rows, columns; /* tiles of a block; several rows only of whole rows */
    int64_t out_channels;        /* in a block */
    struct packed_weights weights;
    int var_n, var_row, var_column, var_block;
    dim_t plane_step, sums_step;
};

static dim_t tiles_in(const struct winograd_tiles *w)
{
    return w->rows * w->columns;
}

/* ---- what pays ---- */

static bool known_size(const struct conv *c)
{
    return dim_is_const(c->oh) && dim_is_const(c->ow);
}

bool winograd_pays(struct lowering *l, const struct node *n, struct conv_plan *p)
{
    const struct conv *c = &p->c;
    struct conv_size size;
    if (!winograd_can(n, &size) || c->column || c->x->type.dtype != DT_F32 || c->w->dtype != DT_F32 ||
        c->bias >= 0)
        return false;
    if (l->o->no_winograd) {
        why(l->o, n, "winograd.off", "a direct sum, as --winograd off asks");
        return false;
    }
    bool bf16 = attr_int(&n->attrs, "winograd_dtype", DT_F32) == DT_BF16;
    p->way = bf16 ? (struct conv_way){2, true} : conv_best_way(l->m, &size, false);
    if (!p->way.size) {
        why(l->o, n, "winograd.no-gain",
            "a direct sum: transforms or larger weights cost what "
            "fewer products save");
        return false;
    }
    bool rounds = attr_int(&n->attrs, "direct_dtype", DT_F32) == DT_BF16;
    p->direct_from = rounds ? conv_direct_from(l->m, &size, p->way) : 0;
    if (l->o->max_bf16_rate && p->direct_from > l->o->max_bf16_rate)
        p->direct_from = 0;
    double direct = conv_weight_bytes(&size, (struct conv_way){0, rounds}) / 1024;
    why(l->o, n, "winograd.on", "F(%dx%d,3x3)%s; its weights take %.0f KB, those of a direct sum %.0f KB", p->way.size,
        p->way.size, p->way.bf16 ? " of planes in bf16" : "", conv_weight_bytes(&size, p->way) / 1024, direct);
    if (p->direct_from)
        why(l->o, n, "winograd.direct",
            "a direct sum of bf16 as well, for processors that multiply that %.1f times as fast as FP32, or faster",
            p->direct_from / 100.0);
    return true;
}

/* ---- tiles ---- */

static dim_t even_parts(dim_t count, dim_t max)
{
    dim_t parts = (count + max - 1) / max;
    return (count + parts - 1) / parts;
}

static struct winograd_tiles make_tiles(struct lowering *l, const struct conv *c, struct conv_way way)
{
    struct dim_table *t = &l->p->dims;
    struct winograd_tiles w = {.size = way.size,
                         .planes = (way.size + 2) * (way.size + 2),
                         .dtype = way.bf16 ? DT_BF16 : DT_F32};
    int size = w.size;
    w.high = dim_ceildiv(t, c->oh, size), w.wide = dim_ceildiv(t, c->ow, size);
    w.out_channels = c->out_channels < PACK_COLUMNS ? c->out_channels : PACK_COLUMNS;
    bool known = known_size(c);
    int64_t all = known ? w.high * w.wide : 0;
    int64_t bytes = (int64_t)dtype_bytes(w.dtype) * w.planes;
    w.shared = bytes * c->channels_in * c->out_channels > WEIGHTS_IN_TURN && known &&
               bytes * all * c->channels_in <= SHARED_PLANES;
    int64_t widest = c->channels_in > w.out_channels ? c->channels_in : w.out_channels;
    int64_t max =
        w.shared ? 3 * TILES_BYTES / (bytes * PACK_COLUMNS) : TILES_BYTES / (bytes * widest);
    max = max > MAX_TILES ? MAX_TILES : max < 4 ? 4 : max;
    if (known && w.wide <= max) {
        dim_t blocks = ceil_div(c->out_channels, PACK_COLUMNS), min = ceil_div(MIN_TILES, w.wide);
        w.columns = w.wide;
        w.rows = w.shared ? spread_tile(w.high, max / w.wide, blocks, min) : even_parts(w.high, max / w.wide);
    } else {
        w.rows = 1;
        w.columns = known ? even_parts(w.wide, max) : max;
    }
    w.plane_step = tiles_in(&w) * c->channels_in + PAD;
    w.sums_step = tiles_in(&w) * pack_width(c->out_channels) + PAD;
    return w;
}

static void make_grid(struct kernel_builder *k, const struct conv *c, struct winograd_tiles *w)
{
    struct dim_table *t = &k->p->dims;
    w->var_block = w->shared ? kernel_grid(k, (c->out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS) : -1;
    w->var_n = kernel_grid(k, c->n);
    w->var_row = kernel_grid(k, dim_ceildiv(t, w->high, w->rows));
    w->var_column = kernel_grid(k, dim_ceildiv(t, w->wide, w->columns));
}

/* ---- instructions ---- */

/* Appends the dim of a block's tiles. */
static void push_tiles(struct program *p, const struct winograd_tiles *w, struct ap *a, dim_t step)
{
    ap_push(a, step, tiles_in(w));
    if (w->rows > 1)
        ap_clip(p, a, a->rank - 1, w->var_row, tiles_in(w),
                dim_mul(&p->dims, w->high, w->columns));
    else
        ap_clip(p, a, a->rank - 1, w->var_column, w->columns, w->wide);
}

static void emit_input(struct lowering *l, struct kernel_builder *k, const struct conv *c,
                       const struct winograd_tiles *w, struct ap planes)
{
    struct dim_table *t = &l->p->dims;
    struct ap image = ap_slot(l->p, value_slot(l, c->x));
    dim_t row = dim_mul(t, c->width, c->channels_in);
    ap_move(l->p, &image, w->var_n, dim_mul(t, row, c->h));
    ap_push(&image, row, c->h), ap_push(&image, c->channels_in, c->width);
    ap_push(&image, 1, c->channels_in);
    emit_winograd_input(
        k, (struct winograd_input){.dst = planes,
                                   .image = image,
                                   .size = w->size,
                                   .row = affine_variable(l->p, 0, w->var_row, w->rows),
                                   .column = affine_variable(l->p, 0, w->var_column, w->columns),
                                   .columns = w->columns,
                                   .pad_h = c->top,
                                   .pad_w = c->left});
}

/* Planes of whole images, written once; their slot. Rows of tiles are the instances. */
static int share_planes(struct lowering *l, const struct node *n, const struct conv *c,
                        const struct winograd_tiles *whole)
{
    struct dim_table *t = &l->p->dims;
    dim_t tiles = dim_mul(t, whole->high, whole->wide);
    dim_t step = dim_add(t, dim_mul(t, tiles, c->channels_in), PAD);
    struct type type = type_tensor(whole->dtype, 3, (dim_t[]){c->n, whole->planes, step});
    int slot = temporary_slot(l, &type, NULL);
    struct kernel_builder k = begin_kernel(l, n, "winograd input");
    struct winograd_tiles w = *whole;
    w.rows = 1, w.columns = w.wide;
    w.var_n = kernel_grid(&k, c->n), w.var_row = kernel_grid(&k, w.high);
    w.var_column = kernel_grid(&k, 1);
    struct ap planes = ap_slot(l->p, slot);
    ap_move(l->p, &planes, w.var_n, dim_mul(t, step, w.planes));
    ap_move(l->p, &planes, w.var_row, dim_mul(t, w.wide, c->channels_in));
    ap_push(&planes, step, w.planes);
    push_tiles(l->p, &w, &planes, c->channels_in);
    ap_push(&planes, 1, c->channels_in);
    emit_input(l, &k, c, &w, planes);
    dim_t written = dim_mul(t, step, w.planes);
    dim_t image = dim_mul(t, dim_mul(t, c->h, c->width), c->channels_in);
    kernel_of(&k)->bytes = dim_mul(t, dim_mul(t, c->n, dim_add(t, image, written)), 4);
    return slot;
}

/* The planes of a block of tiles, as moving operands: [tile][channel], without the plane. */
static struct ap own_planes(struct lowering *l, struct kernel_builder *k, const struct conv *c,
                            const struct winograd_tiles *w)
{
    int tile = kernel_tile(k, MEM_SBUF, w->dtype, w->planes, w->plane_step);
    struct ap moving = {.mem = MEM_SBUF, .dtype = (uint8_t)w->dtype, .tensor = tile}, dst = moving;
    ap_push(&dst, w->plane_step, w->planes);
    push_tiles(k->p, w, &dst, c->channels_in);
    ap_push(&dst, 1, c->channels_in);
    emit_input(l, k, c, w, dst);
    return moving;
}

static struct ap shared_planes(struct kernel_builder *k, const struct conv *c, struct winograd_tiles *w,
                               int slot)
{
    struct dim_table *t = &k->p->dims;
    dim_t columns = dim_mul(t, w->columns, c->channels_in);
    struct ap moving = ap_slot(k->p, slot);
    w->plane_step = k->p->slots[slot].type.dims[2];
    ap_move(k->p, &moving, w->var_n, dim_mul(t, w->plane_step, w->planes));
    ap_move(k->p, &moving, w->var_row, dim_mul(t, dim_mul(t, w->wide, c->channels_in), w->rows));
    ap_move(k->p, &moving, w->var_column, columns);
    return moving;
}

/* The sums of one block of output channels: [tile][out], without the plane. */
static void multiply(struct kernel_builder *k, const struct conv *c, const struct winograd_tiles *w,
                     struct ap moving, struct ap sums)
{
    int var_plane = kernel_loop(k, w->planes);
    struct ap stationary = weights_start(k->p, &w->weights, w->var_block);
    ap_move(k->p, &stationary, var_plane, w->weights.group_step);
    weights_finish(k->p, &w->weights, &stationary, w->var_block);
    ap_move(k->p, &moving, var_plane, w->plane_step);
    push_tiles(k->p, w, &moving, c->channels_in);
    ap_push(&moving, 1, c->channels_in);
    ap_move(k->p, &sums, var_plane, w->sums_step);
    push_tiles(k->p, w, &sums, pack_width(c->out_channels));
    ap_push(&sums, 1, w->out_channels);
    ap_clip(k->p, &sums, 1, w->var_block, PACK_COLUMNS, c->out_channels);
    emit_nc_matmul(k, (struct nc_matmul){
                          .dst = sums, .stationary = stationary, .moving = moving, .packing = 1});
    kernel_end_loop(k);
}

static struct epilogue epilogue_of(struct kernel_builder *k, struct group *g,
                                   const struct winograd_tiles *w)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank};
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers++] = cover_of(0, 0, w->var_n, 0);
    e.covers[e.ncovers++] = cover_of(1, 1, w->var_row, w->rows * w->size);
    e.covers[e.ncovers++] = cover_of(2, 2, w->var_column, w->columns * w->size);
    e.covers[e.ncovers++] = cover_of(3, 3, w->var_block, w->out_channels);
    return e;
}

/* Pixels from sums, with as much of the group as the instruction takes; then the rest of it. */
static void finish(struct kernel_builder *k, struct group *g, const struct conv *c, const struct tail *tail,
                   const struct winograd_tiles *w, struct ap planes)
{
    struct lowering *l = g->l;
    struct epilogue e = epilogue_of(k, g, w);
    struct value *last = g->nodes[tail->taken - 1]->out[0];
    struct ap dst, bias = ap_absent();
    if (group_is_result(g, last) && outer_value(l, last)->type.dtype == DT_F32) {
        dst = epilogue_pattern(&e, last);
    } else {
        dst = epilogue_tile(&e, DT_F32);
    }
    if (tail->bias) {
        bias = ap_slot(l->p, value_slot(l, tail->bias));
        ap_push_tile(l->p, &bias, 1, w->out_channels, w->var_block, c->out_channels);
    }
    ap_push(&planes, w->sums_step, w->planes);
    push_tiles(l->p, w, &planes, pack_width(c->out_channels));
    ap_push(&planes, 1, w->out_channels);
    ap_clip(l->p, &planes, 2, w->var_block, PACK_COLUMNS, c->out_channels);
    emit_winograd_output(k, (struct winograd_output){.dst = dst,
                                                     .planes = planes,
                                                     .bias = bias,
                                                     .size = w->size,
                                                     .columns = w->columns,
                                                     .a = tail->a,
                                                     .b = tail->b,
                                                     .f = tail->f});
    epilogue_rest(&e, tail->taken, dst);
}

void emit_winograd(struct lowering *l, struct group *g, const struct conv_plan *p)
{
    struct dim_table *t = &l->p->dims;
    const struct node *n = g->nodes[0];
    const struct conv *c = &p->c;
    struct winograd_tiles w = make_tiles(l, c, p->way);
    w.weights = winograd_weights(l, outer_value(l, n->in[1]), p->way);
    int slot = w.shared ? share_planes(l, n, c, &w) : -1;
    struct kernel_builder k = begin_kernel(l, n, n->name);
    make_grid(&k, c, &w);
    struct ap moving = w.shared ? shared_planes(&k, c, &w, slot) : own_planes(l, &k, c, &w);
    if (!w.shared)
        w.var_block = kernel_loop(&k, (c->out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS);
    int psum = kernel_tile(&k, MEM_PSUM, DT_F32, w.planes, w.sums_step);
    struct ap sums = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = psum};
    multiply(&k, c, &w, moving, sums);
    finish(&k, g, c, &p->tail, &w, sums);
    if (!w.shared)
        kernel_end_loop(&k);
    struct kernel *kernel = kernel_of(&k);
    dim_t pixels = dim_mul(t, c->n, dim_mul(t, c->oh, c->ow));
    kernel->flops = dim_mul(t, pixels, 18 * c->channels_in * c->out_channels);
    kernel->bytes = dim_add(t, dim_mul(t, pixels, 4 * (c->out_channels + c->channels_in)),
                            (dim_t)pack_size(&w.weights.shape));
}
