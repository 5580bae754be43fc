/*
 * Convolutions on strict targets, channels over partitions: no transposes where images are channels
 * first.
 *
 * Each filter tap multiplies the same tile of the image from another start and accumulates in PSUM,
 * chunk by chunk of as many channels as there are partitions. A run of results goes over the ends of rows: what lies
 * between rows is computed and dropped. Depthwise convolutions have nothing to contract. Of 16-bit types the Tensor
 * engine multiplies all the same, by matrices that have a tap's weights on their diagonal and zeros elsewhere: what is
 * not finite in a channel makes the same pixels of others no numbers then. FP32, which it multiplies at a quarter of
 * its rate, and models that bring infinities along stay apart: the Vector engine adds up taps that the Scalar engine
 * has multiplied.
 */
#include "backend/lower/conv.h"
#include "backend/lower/infinities.h"
#include "backend/lower/lazy_constants.h"
#include "backend/lower/move.h"
#include "backend/lower/plan.h"
#include "backend/lower/product.h"
#include "backend/lower/strict_image.h"
#include "backend/lower/strict_product.h"

#include <string.h>

enum { MAX_TAPS = 256, MAX_TOGETHER = 4, MIN_PIECE = 2048 };

struct strict_conv {
    struct kernel_builder *k;
    struct group *g;
    const struct conv *c;
    struct strict_image m;
    int64_t taps, tap_columns;               /* products of a window, and of a row of it */
    int64_t out_channels, out_tile, blocks; /* output channels: of one group */
    int64_t together;                     /* blocks of output channels in an instance */
    bool diagonal;                        /* depthwise, by products: a block is a chunk */
    int64_t first_row;                    /* of results, of the part of a folded image that is in the tile */
    int weights; /* slot: [block][channel of a chunk][chunk][tap][out]; depthwise [channel][tap] */
    int identity; /* slot, where they are diagonal */
    int weight_tile[MAX_TOGETHER];
    int var_n, var_block, var_band, var_column;
};

struct reordered {
    struct lazy_constant lazy;
    int64_t in_group, part, taps; /* part: output channels of a group */
};

/* OIHW weights in the order in which a partition holds them; a group is a piece. */
static bool reorder(const struct constant_maker *maker, int64_t group, void *to)
{
    const struct reordered *r = (const struct reordered *)maker;
    const struct tensor *w = r->lazy.from->constant;
    size_t size = dtype_bytes(w->dtype);
    const char *from =
        (const char *)w->data + size * (size_t)(group * r->part * r->in_group * r->taps);
    for (int64_t o = 0; o < r->part; o++)
        for (int64_t i = 0; i < r->in_group; i++)
            for (int64_t t = 0; t < r->taps; t++)
                memcpy((char *)to + size * (size_t)((i * r->taps + t) * r->part + o),
                       from + size * (size_t)((o * r->in_group + i) * r->taps + t), size);
    return true;
}

struct blocked {
    struct lazy_constant lazy;
    int64_t in_group, taps, out_channels /* of a group */, group, tile, chunk /* partitions */, chunks;
    int64_t kh, kw, tap_columns; /* of the window; products of a row of it */
    int64_t rows, columns;       /* of the window over partitions, in parts of `step` partitions each */
    int64_t step, row_step, column_step; /* parts from row to row, and from column to column */
    int64_t spread;                      /* whether they are of a depthwise filter, zero between channels */
};

/* Which weight of an output channel's partition p of a chunk has in a product; -1: none. */
static int64_t weight_of(const struct blocked *b, int64_t p, int64_t chunk, int64_t product)
{
    int64_t channel = chunk * b->chunk + p % b->step, of = p / b->step;
    int64_t row = product / b->tap_columns * b->rows + of / b->row_step % b->rows;
    int64_t column = product % b->tap_columns * b->columns + of / b->column_step % b->columns;
    return channel < b->in_group && row < b->kh && column < b->kw ? (channel * b->kh + row) * b->kw + column : -1;
}

/* The weights of a block of output channels, or of a group, as partitions hold them; zero behind
 * the last channels. */
static bool block_weights(const struct constant_maker *maker, int64_t block, void *to)
{
    const struct blocked *b = (const struct blocked *)maker;
    const struct tensor *w = b->lazy.from->constant;
    size_t size = dtype_bytes(w->dtype);
    int64_t first = b->group > 1 ? 0 : block * b->tile, weights = b->in_group * b->kh * b->kw;
    int64_t above = b->group > 1 ? block * b->out_channels : 0;
    char *at = to;
    for (int64_t p = 0; p < b->chunk; p++)
        for (int64_t c = 0; c < b->chunks; c++)
            for (int64_t t = 0; t < b->taps; t++)
                for (int64_t o = 0; o < b->tile; o++, at += size) {
                    int64_t from = weight_of(b, p, c, t), out = first + o, start = (above + out) * weights;
                    if (b->spread) /* a channel has weights of its own */
                        start = 0, from = from / (b->kh * b->kw) == out ? from : -1;
                    if (from < 0 || out >= b->out_channels)
                        memset(at, 0, size);
                    else
                        memcpy(at, (const char *)w->data + size * (size_t)(start + from), size);
                }
    return true;
}

static bool same_blocks(const struct lazy_constant *a, const struct lazy_constant *b)
{
    return !memcmp(a + 1, b + 1, sizeof(struct blocked) - sizeof *a); /* numbers of 64 bits */
}

static int block_slot(struct lowering *l, const struct strict_conv *s, const char *name)
{
    const struct conv *c = s->c;
    struct blocked *b = ARENA_NEW(&l->g->arena, struct blocked);
    *b = (struct blocked){.lazy.maker.make = block_weights,
                          .lazy.same = same_blocks,
                          .in_group = c->in_group,
                          .taps = s->taps,
                          .out_channels = s->out_channels,
                          .group = c->group,
                          .tile = s->out_tile,
                          .chunk = image_partitions(&s->m),
                          .chunks = s->m.chunks,
                          .kh = c->kh,
                          .kw = c->kw,
                          .tap_columns = s->tap_columns,
                          .rows = image_tap_rows(&s->m),
                          .columns = image_tap_columns(&s->m),
                          .step = s->m.folds ? c->in_group : s->m.stack_step ? s->m.stack_step : s->m.chunk,
                          .row_step = s->m.stack_step ? s->m.stack_cols : 1,
                          .column_step = s->m.folds ? s->m.folds : 1,
                          .spread = c->w->dims[1] != c->in_group};
    int64_t dims[4] = {s->blocks, b->chunk, b->chunks, b->taps * b->tile};
    struct tensor shape = tensor_view(c->w->dtype, 4, dims, NULL);
    return lazy_constant(l, &b->lazy, c->weights, s->blocks, &shape, name);
}

static bool same_order(const struct lazy_constant *a, const struct lazy_constant *b)
{
    return !memcmp(a + 1, b + 1, sizeof(struct reordered) - sizeof *a); /* numbers of 64 bits */
}

static int weight_slot(struct lowering *l, const struct conv *c, const char *name)
{
    struct reordered *r = ARENA_NEW(&l->g->arena, struct reordered);
    *r = (struct reordered){.lazy.maker.make = reorder,
                            .lazy.same = same_order,
                            .in_group = c->in_group,
                            .part = c->out_channels / c->group,
                            .taps = c->kh * c->kw};
    int64_t dims[4] = {c->group, c->in_group, r->taps, r->part};
    struct tensor shape = tensor_view(c->w->dtype, 4, dims, NULL);
    return lazy_constant(l, &r->lazy, c->weights, c->group, &shape, name);
}

static void image_of(struct lowering *l, const struct conv *c, bool depthwise,
                     struct strict_image *m)
{
    const struct type *x = &c->x->type;
    dim_t steps[MAX_RANK];
    int first = c->last ? 1 : 2;
    dense_steps(&l->p->dims, x->rank, x->dims, steps);
    *m = (struct strict_image){.x = c->x,
                               .channels = depthwise ? c->channels_in : c->in_group,
                               .planes = c->channels_in,
                               .by_grid = depthwise,
                               .step_n = steps[0],
                               .step_c = steps[c->last ? x->rank - 1 : 1],
                               .step_w = steps[first + (c->spatial == 2)],
                               .h = c->h,
                               .w = c->width,
                               .top = c->top,
                               .left = c->left,
                               .oh = c->oh,
                               .ow = c->ow,
                               .kh = c->kh,
                               .kw = c->kw,
                               .sh = c->sh,
                               .sw = c->sw,
                               .dh = c->dh,
                               .dw = c->dw,
                               .phased = !depthwise};
    if (c->spatial == 2)
        m->step_h = steps[first];
}

static struct epilogue epilogue_of(const struct strict_conv *s, int64_t channels, int64_t block)
{
    const struct type *y = &s->g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = s->k, .g = s->g, .rank = y->rank};
    int first = s->c->last ? 1 : 2, channel = s->c->last ? y->rank - 1 : 1,
        column = first + (s->c->spatial == 2);
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers] = cover_of(channel, channel, s->var_block, channels);
    e.covers[e.ncovers].at = block * channels;
    e.covers[e.ncovers++].every = s->together * channels;
    if (s->c->spatial == 2) {
        int64_t left = s->m.oh - s->first_row, rows = s->var_band < 0 && left < s->m.band ? left : s->m.band;
        e.covers[e.ncovers] = cover_of(first, first, s->var_band, rows);
        e.covers[e.ncovers++].at = s->first_row;
    }
    e.covers[e.ncovers++] = cover_of(column, column, s->var_column, s->m.width);
    e.covers[e.ncovers++] = cover_of(0, 0, s->var_n, 0);
    return e;
}

/* Loops over chunks and bands: -1 where there is one. */
static int loop_over(struct kernel_builder *k, int64_t count)
{
    return count > 1 ? kernel_loop(k, count) : -1;
}

static void end_loop(struct kernel_builder *k, int var)
{
    if (var >= 0)
        kernel_end_loop(k);
}

/* ---- products ---- */

static int64_t weight_row(const struct strict_conv *s)
{
    return s->taps * s->out_tile;
}

/* Chunks of which the tile holds weights. */
static int64_t weight_chunks(const struct strict_conv *s)
{
    return s->m.resident && !s->diagonal ? s->m.chunks : 1;
}

/* The tile of weights: (channel, tap, out), of all chunks where the image is resident. */
static struct ap weights_at(struct strict_conv *s, int64_t block, int var_chunk)
{
    struct ap a = {
        .mem = MEM_SBUF, .dtype = s->c->w->dtype, .tensor = s->weight_tile[block]};
    ap_push(&a, weight_chunks(s) * weight_row(s), image_partitions(&s->m));
    if (var_chunk >= 0)
        ap_clip(s->k->p, &a, 0, var_chunk, s->m.chunk, s->m.channels);
    if (var_chunk >= 0 && s->m.resident && !s->diagonal)
        ap_move(s->k->p, &a, var_chunk, weight_row(s));
    return a;
}

/* Clips the last dim to the output channels there are. Blocks that are together are whole. */
static void clip_out_channels(struct strict_conv *s, struct ap *a)
{
    if ((s->c->group == 1 && s->together == 1) || s->diagonal)
        ap_clip(s->k->p, a, a->rank - 1, s->var_block, s->out_tile, s->out_channels);
}

/* All chunks in one transfer where a chunk's share of a partition is short. */
static bool weights_at_once(const struct strict_conv *s)
{
    return s->m.resident && weight_row(s) * (int64_t)dtype_bytes(s->c->w->dtype) < MIN_PIECE;
}

static void load_weights(struct strict_conv *s, int64_t block, int var_chunk)
{
    int64_t row = weight_row(s), all = s->m.chunks * row;
    struct ap to = weights_at(s, block, var_chunk), from = ap_slot(s->k->p, s->weights);
    int64_t whole = image_partitions(&s->m) * all;
    from.offset.base = block * whole;
    ap_move(s->k->p, &from, s->var_block, s->together * whole);
    if (var_chunk >= 0)
        ap_move(s->k->p, &from, var_chunk, row);
    from.dim[from.rank++] = to.dim[0];
    from.dim[0].step = all;
    int64_t part = weights_at_once(s) ? all : row;
    ap_push(&from, 1, part), ap_push(&to, 1, part);
    emit_dma_copy(s->k, (struct dma_copy){.dst = to, .src = from});
}

static void load_chunk(struct strict_conv *s, int var_chunk)
{
    image_load(s->k, &s->m, s->var_n, var_chunk, s->c->group > 1 ? s->var_block : -1, s->m.channels,
               s->m.resident ? -1 : s->var_band, s->var_column);
    for (int64_t b = 0; b < s->together && !weights_at_once(s); b++)
        load_weights(s, b, var_chunk);
}

static void multiply_chunk(struct strict_conv *s, struct ap psum, int64_t run, int64_t block,
                           int var_chunk)
{
    int64_t rows = image_tap_rows(&s->m), columns = image_tap_columns(&s->m);
    for (int64_t t = 0; t < s->taps; t++) {
        int band = s->m.resident ? s->var_band : -1;
        struct ap w = weights_at(s, block, var_chunk),
                  x = image_tap(s->k, &s->m, var_chunk, band, (int)(t / s->tap_columns * rows),
                                (int)(t % s->tap_columns * columns));
        if (s->m.folds) /* what follows the window meets no weight: an infinity there must not count */
            w.dim[0].count = x.dim[0].count = image_fold_partitions(&s->m, t);
        if (s->m.folds && s->var_column >= 0)
            ap_move(s->k->p, &x, s->var_column, s->m.width * s->m.along);
        w.offset.base += t * s->out_tile;
        ap_push(&w, 1, s->out_tile);
        clip_out_channels(s, &w);
        struct ap moving = {.mem = x.mem, .dtype = x.dtype, .tensor = x.tensor, .offset = x.offset};
        ap_push(&moving, s->m.along, run);
        moving.dim[moving.rank++] = x.dim[0];
        struct affine accumulate = affine_number(t > 0);
        if (var_chunk >= 0 && !s->diagonal)
            accumulate = affine_variable(s->k->p, t > 0, var_chunk, 1);
        emit_nc_matmul(
            s->k, (struct nc_matmul){
                      .dst = psum, .stationary = w, .moving = moving, .accumulate = accumulate});
    }
}

/* One block of output channels: of a band, or of what the grid selects. */
static void emit_block(struct strict_conv *s, int64_t block)
{
    struct kernel_builder *k = s->k;
    const struct strict_image *m = &s->m;
    int64_t run = (m->band - 1) * m->pitch + m->width;
    struct ap psum = {.mem = MEM_PSUM, .dtype = DT_F32};
    psum.tensor = kernel_tile(k, MEM_PSUM, DT_F32, s->out_tile, run);
    struct ap result = psum;
    ap_push(&psum, 1, run);
    ap_push(&psum, run, s->out_tile);
    clip_out_channels(s, &psum);
    struct epilogue e = epilogue_of(s, s->out_tile, block);
    struct space space = epilogue_space(&e);
    for (int i = 0; i < space.rank; i++) {
        ap_push(&result, i == 0 ? run : i == space.rank - 1 ? 1 : m->pitch, space.dim[i].count);
        if (space.dim[i].var >= 0)
            ap_clip(k->p, &result, i, space.dim[i].var, space.dim[i].factor, space.dim[i].limit);
    }
    int chunk = s->diagonal ? -1 : loop_over(k, m->chunks);
    if (!m->resident && !s->diagonal)
        load_chunk(s, chunk);
    multiply_chunk(s, psum, run, block, s->diagonal ? s->var_block : chunk);
    end_loop(k, chunk);
    epilogue_emit(&e, result);
}

static void make_weight_tiles(struct strict_conv *s)
{
    for (int64_t b = 0; b < s->together; b++)
        s->weight_tile[b] = kernel_tile(s->k, MEM_SBUF, s->c->w->dtype, image_partitions(&s->m),
                                        weight_chunks(s) * weight_row(s));
}

static void emit_products(struct strict_conv *s)
{
    struct kernel_builder *k = s->k;
    const struct strict_image *m = &s->m;
    image_tile(k, &s->m);
    make_weight_tiles(s);
    if (m->resident) {
        for (int64_t b = 0; b < s->together && weights_at_once(s); b++)
            load_weights(s, b, -1);
        int chunk = loop_over(k, m->chunks);
        load_chunk(s, chunk);
        end_loop(k, chunk);
        s->var_band = loop_over(k, m->bands);
    }
    for (int64_t b = 0; b < s->together; b++)
        emit_block(s, b);
    if (m->resident)
        end_loop(k, s->var_band);
}

/* Part by part of the image, each in a tile of its own, so that the next is loaded meanwhile. */
static void emit_folded(struct strict_conv *s)
{
    struct kernel_builder *k = s->k;
    make_weight_tiles(s);
    for (int64_t b = 0; b < s->together; b++)
        load_weights(s, b, -1);
    for (int64_t part = 0; part < s->m.parts; part++) {
        int64_t first = part * s->m.part, left = s->m.bands - first;
        image_tile(k, &s->m);
        image_load_folded(k, &s->m, s->var_n, part);
        s->first_row = first * s->m.band;
        s->var_band = loop_over(k, left < s->m.part ? left : s->m.part);
        s->var_column = loop_over(k, s->m.widths);
        for (int64_t b = 0; b < s->together; b++)
            emit_block(s, b);
        end_loop(k, s->var_column);
        end_loop(k, s->var_band);
    }
}

/* ---- depthwise ---- */

static const char identity_name[] = "identity";

/* Ones on the diagonal, for all kernels that multiply in that type. */
static int identity_slot(struct lowering *l, int dtype)
{
    int64_t n = l->m->partitions, dims[] = {n, n};
    for (int i = 0; i < l->p->nslots; i++)
        if (l->p->slots[i].name == identity_name && l->p->slots[i].type.dtype == dtype)
            return i;
    size_t size = dtype_bytes(dtype);
    char *data = arena_alloc(&l->p->arena, size * (size_t)(n * n));
    memset(data, 0, size * (size_t)(n * n));
    for (int64_t i = 0; i < n; i++)
        dtype_store_f64(dtype, data, (size_t)(i * (n + 1)), 1);
    struct tensor t = tensor_view(dtype, 2, dims, data);
    return constant_slot(l, &t, identity_name);
}

/* The tile of weights: of each tap a matrix, (channel, tap, out), whose diagonal has the channels' weights. */
static void make_diagonals(struct strict_conv *s)
{
    struct kernel_builder *k = s->k;
    int64_t chunk = s->m.chunk, channels = s->m.channels;
    struct ap w = ap_slot(k->p, s->weights), ones = ap_slot(k->p, s->identity);
    ap_push_tile(k->p, &w, s->taps, chunk, s->var_block, channels), ap_push(&w, 1, s->taps);
    ap_push(&ones, k->m->partitions, chunk), ap_clip(k->p, &ones, 0, s->var_block, chunk, channels);
    ap_push(&ones, 1, chunk);
    w = stage_in(k, w), ones = stage_in(k, ones);
    struct ap_dim out = ones.dim[1];
    ones.rank = 1, ap_push(&ones, 0, s->taps), ones.dim[ones.rank++] = out;
    ap_push(&w, 0, chunk);
    struct ap to = weights_at(s, 0, s->var_block);
    ap_push(&to, chunk, s->taps), ap_push(&to, 1, chunk);
    emit_tensor_alu(k, (struct tensor_alu){.dst = to, .src = ones, .a = w, .op0 = OP_mul, .op1 = OP_identity});
}

static void emit_diagonal(struct strict_conv *s)
{
    struct kernel_builder *k = s->k;
    image_tile(k, &s->m);
    make_weight_tiles(s);
    make_diagonals(s);
    image_load(k, &s->m, s->var_n, s->var_block, -1, 0, s->m.resident ? -1 : s->var_band, s->var_column);
    if (s->m.resident)
        s->var_band = loop_over(k, s->m.bands);
    emit_block(s, 0);
    if (s->m.resident)
        end_loop(k, s->var_band);
}

static void emit_sums(struct strict_conv *s)
{
    struct kernel_builder *k = s->k;
    image_tile(k, &s->m);
    image_load(k, &s->m, s->var_n, s->var_block, -1, 0, s->m.resident ? -1 : s->var_band,
               s->var_column);
    struct ap w = ap_slot(k->p, s->weights);
    ap_push_tile(k->p, &w, s->taps, s->m.chunk, s->var_block, s->m.channels);
    ap_push(&w, 1, s->taps);
    w = stage_in(k, w);
    if (s->m.resident)
        s->var_band = loop_over(k, s->m.bands);
    struct epilogue e = epilogue_of(s, s->m.chunk, 0);
    struct space space = epilogue_space(&e);
    struct ap sum = space_tile(&space, k, space_new_tile(k, &space, MEM_SBUF, DT_F32));
    struct ap part = space_tile(&space, k, space_new_tile(k, &space, MEM_SBUF, DT_F32));
    for (int t = 0; t < s->taps; t++) {
        struct ap scale = w;
        scale.rank = 1;
        scale.offset.base += t;
        for (int i = 1; i < space.rank; i++)
            ap_push(&scale, 0, 1);
        struct ap window =
            image_window(k, &s->m, &space, s->var_block, s->m.resident ? s->var_band : -1,
                         (int)(t / s->c->kw), (int)(t % s->c->kw));
        emit_activation(k, (struct activation){
                               .dst = t ? part : sum, .src = window, .scale = scale, .factor = 1});
        if (t)
            emit_tensor_tensor(
                k, (struct tensor_tensor){.dst = sum, .a = sum, .b = part, .op = OP_add});
    }
    epilogue_emit(&e, sum);
    if (s->m.resident)
        end_loop(k, s->var_band);
}

/* ---- patches: filters that step over their own size ---- */

/* Every element of the image is in at most one patch, and few channels would leave most partitions
 * empty. */
static bool is_patches(const struct conv *c)
{
    return c->w->dims[1] == c->channels_in && c->spatial == 2 && !c->last && c->kh == c->sh && c->kw == c->sw &&
           c->kh * c->kw > 1 && c->dh == 1 && c->dw == 1 && c->top == 0 && c->left == 0 &&
           c->bottom == 0 && c->right == 0 && dim_is_const(c->n);
}

/* The patches in HBM, one after the other: [image, row, column][channel, row, column]. Without the slots. */
static bool patches_move(struct lowering *l, const struct conv *c, struct move *m)
{
    const struct type *x = &c->x->type;
    dim_t from[MAX_RANK], to[6],
        dims[6] = {c->n, c->oh, c->ow, c->channels_in, c->kh, c->kw};
    dense_steps(&l->p->dims, 4, x->dims, from);
    dense_steps(&l->p->dims, 6, dims, to);
    dim_t steps[6] = {from[0], c->sh * from[2], c->sw * from[3], from[1], from[2], from[3]};
    *m = (struct move){0};
    for (int i = 0; i < 6; i++)
        move_dim(m, dims[i], to[i], steps[i]);
    return move_possible(l, m);
}

/* The slot of the patches. */
static int move_patches(struct lowering *l, const struct node *n, const struct conv *c)
{
    struct type type =
        type_tensor(c->x->type.dtype, 2, (dim_t[]){c->n * c->oh * c->ow, c->in_group * c->kh * c->kw});
    struct move m;
    patches_move(l, c, &m);
    m.from_slot = value_slot(l, c->x);
    m.to_slot = temporary_slot(l, &type, NULL);
    emit_move(l, n, "patches", &m);
    return m.to_slot;
}

struct patches {
    struct kernel_builder *k;
    struct group *g;
    int var_n;
};

static void finish_patches(void *user, const struct strict_product *p, int part, struct ap result)
{
    const struct patches *x = user;
    const struct type *y = &x->g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = x->k, .g = x->g, .rank = y->rank, .ncovers = 3};
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[0] = p->row, e.covers[1] = p->part[part].out, e.covers[2] = cover_of(0, 0, x->var_n, 0);
    epilogue_emit(&e, result);
}

static bool patches_take(struct lowering *l, const struct group *g, const struct conv *c,
                         struct strict_product *product)
{
    int64_t terms = c->in_group * c->kh * c->kw;
    struct strict_product p = {.k = terms,
                               .rows = c->oh * c->ow,
                               .a_k = 1,
                               .a_row = terms,
                               .row = cover_of(2, 3, -1, l->m->partitions),
                               .nparts = 1,
                               .part[0] = {.out_channels = c->out_channels,
                                           .b_k = 1,
                                           .b_out = terms,
                                           .out = cover_of(1, 1, -1, 1),
                                           .follow = g->n,
                                           .b.dtype = (uint8_t)c->w->dtype}};
    struct cover covers[] = {p.row, p.part[0].out, cover_of(0, 0, -1, 0)};
    struct move m;
    if (!strict_product_tiles(l, &p) || !p.unrolled || !epilogue_fits(l, g, covers, 3) ||
        !patches_move(l, c, &m))
        return false;
    *product = p;
    return true;
}

static enum lowered emit_patches(struct lowering *l, struct group *g, const struct conv *c, struct strict_product p)
{
    const struct node *n = g->nodes[0];
    struct product_part *w = &p.part[0];
    p.a = ap_slot(l->p, move_patches(l, n, c));
    w->b = ap_slot(l->p, packed_weights(l, &p, w, outer_value(l, n->in[1])));
    w->packed = true;
    struct kernel_builder k = begin_kernel(l, n, n->name);
    struct patches x = {&k, g, kernel_grid(&k, c->n)};
    ap_move(l->p, &p.a, x.var_n, p.rows * p.k);
    w->out.var = kernel_grid(&k, dim_ceildiv(&l->p->dims, w->out_channels, w->out.every));
    p.row.var = kernel_grid(&k, dim_ceildiv(&l->p->dims, p.rows, p.row.every));
    strict_product_emit(&k, &p, finish_patches, &x);
    kernel_of(&k)->flops = 2 * c->n * p.rows * p.k * c->out_channels;
    kernel_of(&k)->bytes = 4 * (c->n * p.rows * (p.k + c->out_channels) + p.k * c->out_channels);
    return LOWERED;
}

/* ---- choosing ---- */

static int64_t weight_bytes(const struct strict_conv *s)
{
    return weight_row(s) * (int64_t)dtype_bytes(s->c->w->dtype);
}

/* `fits`: without folding, as s says. */
static bool plan_folded(struct lowering *l, struct strict_conv *s, int64_t results, bool fits)
{
    struct strict_conv f = *s;
    if (s->c->group > 1 || !image_sizes_in_range(&s->m) ||
        !image_fold(l->m, &f.m, results, s->blocks, fits && s->m.resident))
        return false;
    f.taps = image_products(&f.m, &f.tap_columns);
    if (f.taps > MAX_TAPS || weight_bytes(&f) > strict_weights_room(l->m))
        return false;
    *s = f;
    return true;
}

static bool plan_products(struct lowering *l, struct strict_conv *s)
{
    int64_t results = l->m->psum_bank / 4, weights_room = strict_weights_room(l->m);
    bool fits = image_plan(l->m, &s->m, results), folded = plan_folded(l, s, results, fits);
    if (!folded && !fits)
        return false;
    if (!folded && s->c->group == 1)
        image_stack(l->m, &s->m, s->out_channels, s->blocks);
    s->taps = image_products(&s->m, &s->tap_columns);
    int64_t weights = weight_bytes(s);
    if (s->m.resident && !folded && weights * s->m.chunks > weights_room) {
        s->m.streamed = true;
        if (!image_plan(l->m, &s->m, results))
            return false;
    }
    bool whole = s->m.resident && s->c->group == 1 && s->out_channels % s->out_tile == 0;
    for (int64_t n = MAX_TOGETHER; whole && n > 1 && s->together == 1; n--)
        if (s->blocks % n == 0 && n * weights * s->m.chunks <= weights_room)
            s->together = n;
    return weights <= weights_room;
}

/* Of 16-bit types: those the Tensor engine multiplies at its full rate. Times zero an infinity would be no number in
 * other channels too. */
static bool multiplies_diagonals(const struct lowering *l, const struct conv *c)
{
    return dtype_is_short_float(c->x->type.dtype) && c->w->dtype == c->x->type.dtype &&
           !brings_infinities(l->g, c->x) && !brings_infinities(l->g, c->weights);
}

static bool plan_diagonal(const struct lowering *l, struct strict_conv *s)
{
    struct strict_conv v = *s;
    v.m.phased = v.diagonal = true;
    if (!multiplies_diagonals(l, s->c) || !image_plan(l->m, &v.m, l->m->psum_bank / 4))
        return false;
    v.out_channels = v.m.channels, v.out_tile = v.m.chunk, v.blocks = v.m.chunks;
    if (weight_bytes(&v) > strict_weights_room(l->m))
        return false;
    *s = v;
    return true;
}

static bool plan(struct lowering *l, struct strict_conv *s, bool depthwise)
{
    const struct conv *c = s->c;
    image_of(l, c, depthwise, &s->m);
    s->taps = c->kh * c->kw, s->tap_columns = c->kw;
    s->out_channels = c->out_channels / c->group;
    s->out_tile = even_tile(s->out_channels, l->m->matmul_m);
    s->blocks = c->group > 1 ? c->group : ceil_div(s->out_channels, s->out_tile);
    if (s->taps > MAX_TAPS || (!depthwise && c->group > 1 && s->out_tile != s->out_channels))
        return false;
    if (!depthwise)
        return plan_products(l, s);
    if (plan_diagonal(l, s))
        return true;
    if (!image_plan(l->m, &s->m, strict_results(l->m)))
        return false;
    s->blocks = s->m.chunks;
    return true;
}

struct strict_conv_plan {
    struct conv c;
    struct strict_conv s;    /* without the kernel, the group and c */
    bool patches, depthwise;
    struct strict_product p; /* of patches, in place of s */
};

static bool is_depthwise(const struct conv *c)
{
    return c->group > 1 && c->group == c->channels_in && c->out_channels == c->group;
}

/* A depthwise convolution of few channels is one of all channels, whose filter is zero between them: several taps lie
 * over the partitions then. */
static void spread_channels(const struct lowering *l, struct conv *c)
{
    if (!is_depthwise(c) || !multiplies_diagonals(l, c) || 2 * c->channels_in > l->m->partitions)
        return;
    c->group = 1;
    c->in_group = c->channels_in;
}

const void *strict_conv_takes(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    struct strict_conv_plan v = {.s = {.together = 1, .var_band = -1, .var_column = -1}};
    struct conv c = {0};
    if (!conv_geometry(l, n, &c) || !c.w || !dtype_is_engine_float(c.x->type.dtype) ||
        !dtype_is_engine_float(c.w->dtype) || !dtype_is_engine_float(n->out[0]->type.dtype) || !dim_is_const(c.h) ||
        !dim_is_const(c.width) || !dim_is_const(c.oh) || !dim_is_const(c.ow)) {
        why(l->o, n, "tile.conv-form",
            "only 1-D and 2-D convolutions of floats of known size with constant weights "
            "that do not crop have a tile program; it runs on GpSimd");
        return NULL;
    }
    spread_channels(l, &c);
    v.patches = is_patches(&c) && c.channels_in < l->m->partitions / 2 && patches_take(l, g, &c, &v.p);
    v.depthwise = is_depthwise(&c);
    v.s.c = &c;
    if (!v.patches && !plan(l, &v.s, v.depthwise)) {
        why(l->o, n, "tile.conv-size",
            "its filter or image does not fit the machine; it runs on GpSimd");
        return NULL;
    }
    v.c = c;
    return v.patches || epilogue_possible(l, g, 0) ? arena_copy(&l->g->arena, &v, sizeof v) : NULL;
}

enum lowered strict_conv(struct lowering *l, struct node *whole)
{
    const struct strict_conv_plan *v = decision_of(l, whole)->plan;
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct conv c = v->c;
    if (v->patches)
        return emit_patches(l, &g, &c, v->p);
    struct dim_table *t = &l->p->dims;
    bool depthwise = v->depthwise;
    struct strict_conv s = v->s;
    s.g = &g, s.c = &c;
    const char *name = outer_value(l, n->in[1])->name;
    s.weights = depthwise ? weight_slot(l, &c, name) : block_slot(l, &s, name);
    s.identity = s.diagonal ? identity_slot(l, c.w->dtype) : -1;
    image_prepare(l, n, &s.m, c.n);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    s.k = &k;
    s.var_n = kernel_grid(&k, c.n);
    s.var_block = kernel_grid(&k, s.blocks / s.together);
    if (!s.m.resident)
        s.var_band = kernel_grid(&k, s.m.bands);
    if (!s.m.resident && s.m.widths > 1)
        s.var_column = kernel_grid(&k, s.m.widths);
    if (s.diagonal)
        emit_diagonal(&s);
    else if (depthwise)
        emit_sums(&s);
    else if (s.m.folds)
        emit_folded(&s);
    else
        emit_products(&s);
    dim_t pixels = dim_mul(t, c.n, c.oh * c.ow);
    kernel_of(&k)->flops = dim_mul(t, pixels, 2 * tensor_count(c.w));
    int64_t pictures = 4 * (c.oh * c.ow * c.out_channels + c.h * c.width * c.channels_in);
    kernel_of(&k)->bytes =
        dim_add(t, dim_mul(t, c.n, pictures), 4 * tensor_count(&l->p->slots[s.weights].data));
    return LOWERED;
}
