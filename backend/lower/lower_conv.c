/*
 * Convolutions, channels last: one matrix product per row of output pixels, with a batch over
 * filter taps.
 *
 * The input is padded once. A filter row of a dense filter reads kw * C neighbouring elements, so a
 * tap is a whole filter row. When a block of weights does not stay in the second-level cache,
 * channels are cut into chunks and several output rows accumulate at once, so that each chunk is
 * read once per band of rows.
 */
#include "backend/lower/conv.h"
#include "backend/lower/plan.h"
#include "backend/lower/product.h"
#include "backend/lower/strict.h"
#include "backend/lower/quantized.h"
#include "backend/lower/strided.h"
#include "passes/pads.h"

#include <string.h>

enum { BLOCK_IN_CACHE = 640 << 10, CHUNK = 64, BAND_PIXELS = 112 };
enum { ALL_ROWS = -2 };

struct conv_taps {
    int64_t count, in_group, chunk;
};

/* OIHW weights of some output channels as [chunk of C][kh][kw][C in it][output channels], the order in which they are
 * read. */
static void reorder(const void *layout, const struct tensor *w, int64_t first, int64_t out_channels,
                    void *reordered)
{
    const struct conv_taps *t = layout;
    size_t size = dtype_bytes(w->dtype);
    const char *from = w->data;
    char *to = reordered;
    for (int64_t o = 0; o < out_channels; o++)
        for (int64_t i = 0; i < t->in_group; i++)
            for (int64_t k = 0; k < t->count; k++)
                memcpy(
                    to + size * (size_t)(((i / t->chunk * t->count + k) * t->chunk + i % t->chunk) *
                                             out_channels +
                                         o),
                    from + size * (size_t)(((first + o) * t->in_group + i) * t->count + k), size);
}

/* ---- padding ---- */

static void fill(struct kernel_builder *k, struct ap at, dim_t count, int64_t value)
{
    if (count == 0)
        return;
    ap_push(&at, 1, count);
    emit_memset(k, (struct memset){.dst = at, .value = (float)value});
}

/* One row of the image; planes of channels are made pixels on the way. */
static void copy_row(struct kernel_builder *k, const struct conv *c, const struct strided *x,
                     struct ap to, struct ap from)
{
    if (x->steps[x->rank - 1] == 1) {
        dim_t row = dim_mul(&k->p->dims, c->width, c->channels_in);
        ap_push(&to, 1, row), ap_push(&from, 1, row);
        if (c->rounds)
            emit_tensor_copy(k, (struct tensor_copy){.dst = to, .src = from});
        else
            emit_copy(k, to, from);
        return;
    }
    ap_push(&to, c->channels_in, c->width), ap_push(&to, 1, c->channels_in);
    ap_push(&from, x->steps[3], c->channels_in), ap_push(&from, x->steps[2], c->width);
    emit_dma_transpose(k, (struct dma_transpose){.dst = to, .src = from});
}

int padded_input(struct lowering *l, const struct node *n, struct conv *c)
{
    struct dim_table *t = &l->p->dims;
    if (!(c->top | c->left | c->bottom | c->right) && !c->rounds)
        return value_slot(l, c->x);
    struct strided x = strided_operand(l, c->x);
    dim_t ph = dim_add(t, c->h, dim_add(t, c->top, c->bottom));
    dim_t pw = dim_add(t, c->width, dim_add(t, c->left, c->right));
    dim_t dims[4] = {c->n, ph, pw, c->channels_in};
    struct type type = type_tensor(c->rounds ? DT_BF16 : c->x->type.dtype, 4, dims);
    int padded = temporary_slot(l, &type, NULL);
    dim_t row = dim_mul(t, pw, c->channels_in), image = dim_mul(t, row, ph);
    dim_t source_row = dim_mul(t, c->width, c->channels_in);
    bool planes = x.steps[x.rank - 1] != 1;

    struct kernel_builder k = begin_kernel(l, n, "pad rows");
    int var_n = kernel_grid(&k, c->n), var_h = kernel_grid(&k, c->h);
    struct ap to = ap_slot(l->p, padded), from = ap_slot(l->p, x.slot);
    ap_move(l->p, &to, var_n, image), ap_move(l->p, &to, var_h, row);
    to.offset.base = dim_mul(t, row, c->top);
    ap_move(l->p, &from, var_n, planes ? x.steps[0] : dim_mul(t, source_row, c->h));
    ap_move(l->p, &from, var_h, planes ? x.steps[1] : source_row);
    struct ap inside = to, right = to;
    inside.offset.base = dim_add(t, to.offset.base, dim_mul(t, c->left, c->channels_in));
    right.offset.base = dim_add(t, inside.offset.base, source_row);
    fill(&k, to, dim_mul(t, c->left, c->channels_in), c->padding);
    fill(&k, right, dim_mul(t, c->right, c->channels_in), c->padding);
    copy_row(&k, c, &x, inside, from);
    kernel_of(&k)->bytes = dim_mul(t, type_count(t, &c->x->type), 8);
    if (c->top | c->bottom) {
        k = begin_kernel(l, n, "pad border");
        var_n = kernel_grid(&k, c->n);
        struct ap above = ap_slot(l->p, padded);
        ap_move(l->p, &above, var_n, image);
        struct ap below = above;
        below.offset.base = dim_mul(t, row, dim_add(t, c->h, c->top));
        fill(&k, above, dim_mul(t, row, c->top), c->padding);
        fill(&k, below, dim_mul(t, row, c->bottom), c->padding);
    }
    c->h = ph, c->width = pw;
    return padded;
}

/* ---- the product ---- */

struct conv_tiles {
    bool chunked;     /* channels in chunks, bands of output rows */
    bool whole_rows;  /* a tap is a whole filter row */
    dim_t tile, band; /* output pixels in a row of the tile; output rows in it */
    int64_t chunk, chunks;
    int64_t tap_step, chunk_step;              /* of weights, in groups of the pack */
    int var_n, var_row, var_column, var_block; /* -1: no such grid dim */
};

static dim_t band_of(const struct conv *c, dim_t tile)
{
    dim_t best = 1;
    for (dim_t b = 1; b <= c->oh && b * tile <= BAND_PIXELS; b++)
        if (c->oh % b == 0)
            best = b;
    return best;
}

/* Sums that leave the cache as 8-bit numbers: bands of rows by all taps at once. */
static struct conv_tiles quantized_tiles(const struct conv *c)
{
    struct conv_tiles p = {.tile = even_tile(c->ow, ROW_TILE),
                     .band = 1,
                     .chunk = c->channels_in / c->group,
                     .chunks = 1,
                     .whole_rows = c->dw == 1 && c->group == 1};
    if (c->spatial == 2 && !c->column && dim_is_const(c->oh) && dim_is_const(c->ow))
        p.band = band_of(c, p.tile);
    return p;
}

static struct conv_tiles direct_tiles(const struct conv *c)
{
    struct conv_tiles p = {.tile = even_tile(c->ow, ROW_TILE),
                     .band = 1,
                     .chunk = c->channels_in / c->group,
                     .chunks = 1};
    int64_t block =
        c->kh * c->kw * c->channels_in * PACK_COLUMNS * (c->rounds ? 2 : (int64_t)dtype_bytes(c->weights->type.dtype));
    p.chunked = c->group == 1 && block > BLOCK_IN_CACHE && c->channels_in % CHUNK == 0 &&
                dim_is_const(c->oh) && dim_is_const(c->ow) && c->ow <= ROW_TILE &&
                c->spatial == 2 && !c->column;
    if (p.chunked) {
        p.band = band_of(c, p.tile);
        p.chunk = CHUNK;
        p.chunks = c->channels_in / CHUNK;
    }
    p.whole_rows = !p.chunked && c->dw == 1 && c->group == 1;
    return p;
}

static void make_grid(struct lowering *l, struct kernel_builder *k, const struct conv *c,
                      struct conv_tiles *p, int64_t weight_bytes)
{
    struct dim_table *t = &l->p->dims;
    dim_t rows = dim_ceildiv(t, c->oh, p->band), columns = dim_ceildiv(t, c->ow, p->tile);
    dim_t blocks = c->group > 1 ? c->group : (c->out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS;
    p->var_n = kernel_grid(k, c->n);
    if (weight_bytes <= WEIGHTS_IN_CACHE) {
        p->var_row = kernel_grid(k, rows);
        p->var_column = kernel_grid(k, columns);
        p->var_block = kernel_grid(k, blocks);
    } else {
        p->var_block = kernel_grid(k, blocks);
        p->var_row = kernel_grid(k, rows);
        p->var_column = kernel_grid(k, columns);
    }
}

/* Element (kh, kw, in, out) of computed weights, cut into the groups that the tiles want. */
static struct packed_weights pack_parameter(struct lowering *l, const struct node *n,
                                            const struct conv *c, struct conv_tiles *p)
{
    p->tap_step = p->chunks, p->chunk_step = 1;
    struct strided s = strided_operand(l, n->in[1]);
    struct packed_weights w = pack_computed(l, n, &s, c->weights->type.dtype, c->group);
    if (c->group == 1) {
        w.shape.groups = p->whole_rows ? c->kh : c->kh * c->kw * p->chunks;
        w.shape.k = p->whole_rows ? c->kw * c->in_group : p->chunk;
        w.group_step = w.pitch * w.shape.k;
    }
    return w;
}

/* Groups of a grouped convolution take the place of blocks of output channels: each is packed as if it were a
 * weight of its own. */
static struct packed_weights pack(struct lowering *l, const struct conv *c, struct conv_tiles *p,
                                  const char *name)
{
    int64_t taps = c->kh * c->kw, cg = c->in_group, out_channels = c->out_channels / c->group;
    struct conv_taps layout = {taps, cg, p->chunk};
    p->tap_step = 1, p->chunk_step = taps;
    struct weight_source w = {.constant = c->weights,
                              .gather = reorder,
                              .rounds = c->rounds,
                              .layout = arena_copy(&l->g->arena, &layout, sizeof layout),
                              .layout_bytes = sizeof layout};
    if (c->group > 1)
        return pack_constant(l, &w, taps, cg, out_channels, c->group, name);
    int64_t groups = p->whole_rows ? c->kh : taps * p->chunks; /* (kh), or (chunk, kh, kw) */
    return pack_constant(l, &w, groups, p->whole_rows ? c->kw * cg : p->chunk, out_channels, 1, name);
}

struct direct_conv { /* what they are read of */
    const struct conv *c;
    const struct conv_tiles *p;
    const struct packed_weights *w;
    int input;
};

/* The taps of chunk `var_chunk` (-1: the first) for the row of the tile that var_in_band selects,
 * or ALL_ROWS of it, a dim of moving. */
static void read_taps(struct kernel_builder *k, const struct direct_conv *of, int var_chunk, int var_in_band,
                      struct ap *moving, struct ap *stationary)
{
    struct dim_table *t = &k->p->dims;
    const struct conv *c = of->c;
    const struct conv_tiles *p = of->p;
    const struct packed_weights *w = of->w;
    dim_t pixel = c->channels_in, row = dim_mul(t, c->width, pixel), image = dim_mul(t, row, c->h);
    *moving = ap_slot(k->p, of->input), *stationary = weights_start(k->p, w, p->var_block);
    ap_move(k->p, moving, p->var_n, image);
    ap_move(k->p, moving, p->var_row, dim_mul(t, row, c->sh * p->band));
    if (var_in_band >= 0)
        ap_move(k->p, moving, var_in_band, dim_mul(t, row, c->sh));
    if (c->group > 1)
        ap_move(k->p, moving, p->var_block, p->chunk);
    if (var_chunk >= 0) {
        moving->offset.base = stationary->offset.base = 0;
        ap_move(k->p, moving, var_chunk, p->chunk);
        ap_move(k->p, stationary, var_chunk, w->group_step * p->chunk_step);
    }
    ap_push(moving, dim_mul(t, row, c->dh), c->kh);
    ap_push(stationary, w->group_step * (p->whole_rows ? 1 : c->kw * p->tap_step), c->kh);
    if (!p->whole_rows) {
        ap_push(moving, c->dw * pixel, c->kw);
        ap_push(stationary, w->group_step * p->tap_step, c->kw);
    }
    if (var_in_band == ALL_ROWS)
        ap_push(moving, dim_mul(t, row, c->sh), p->band);
    ap_push_tile(k->p, moving, c->sw * pixel, p->tile, p->var_column, c->ow);
    ap_push(moving, 1, w->shape.k);
    weights_finish(k->p, w, stationary, c->group > 1 ? -1 : p->var_block);
}

/* Those of later chunks are added to what is there. */
static void emit_taps(struct kernel_builder *k, const struct direct_conv *of, struct ap dst, int var_chunk,
                      int var_in_band)
{
    const struct packed_weights *w = of->w;
    bool later = var_chunk >= 0;
    struct ap moving, stationary;
    read_taps(k, of, var_chunk, var_in_band, &moving, &stationary);
    if (later) { /* the loop starts at the second chunk */
        stationary.offset.base = w->group_step * of->p->chunk_step;
        moving.offset.base = of->p->chunk;
    }
    emit_nc_matmul(k, (struct nc_matmul){.dst = dst,
                                         .stationary = stationary,
                                         .moving = moving,
                                         .accumulate = affine_number(later || of->c->bias >= 0),
                                         .packing = !w->in_place});
}

static void emit_bands(struct kernel_builder *k, const struct direct_conv *of, struct ap accumulator)
{
    const struct conv_tiles *p = of->p;
    for (int rest = 0; rest < (p->chunks > 1 ? 2 : 1); rest++) {
        int var_chunk = rest ? kernel_loop(k, p->chunks - 1) : -1;
        int var_row = kernel_loop(k, p->band);
        struct ap dst = accumulator;
        ap_move(k->p, &dst, var_row, dim_mul(&k->p->dims, p->tile, PACK_COLUMNS));
        dst.dim[0] = dst.dim[1], dst.dim[1] = dst.dim[2], dst.rank = 2;
        emit_taps(k, of, dst, var_chunk, var_row);
        kernel_end_loop(k);
        if (rest)
            kernel_end_loop(k);
    }
}

/* Sums as such, and the epilogue's instructions. */
static void emit_sums(struct kernel_builder *k, struct group *g, const struct direct_conv *of, struct epilogue *e)
{
    const struct conv *c = of->c;
    const struct conv_tiles *p = of->p;
    struct space space = epilogue_space(e);
    dim_t block = space.dim[space.rank - 1].count;
    bool direct = epilogue_empty(g) && !p->chunked;
    struct ap dst;
    if (direct) {
        dst = epilogue_pattern(e, g->nodes[0]->out[0]);
    } else {
        int sums = sum_type(c->x->type.dtype);
        dim_t rows = dim_mul(&k->p->dims, p->tile, p->band);
        int psum = kernel_tile(k, MEM_PSUM, sums, rows, PACK_COLUMNS);
        dst = (struct ap){.mem = MEM_PSUM, .dtype = (uint8_t)sums, .tensor = psum};
        if (p->chunked)
            ap_push(&dst, p->tile * PACK_COLUMNS, p->band);
        ap_push(&dst, PACK_COLUMNS, p->tile);
        ap_clip(k->p, &dst, dst.rank - 1, p->var_column, p->tile, c->ow);
        ap_push(&dst, 1, block);
        ap_clip(k->p, &dst, dst.rank - 1, p->var_block, block, c->out_channels);
    }
    if (c->bias >= 0)
        emit_bias(k, c->bias, dst, p->var_block, block, c->out_channels);
    if (p->chunked)
        emit_bands(k, of, dst);
    else
        emit_taps(k, of, dst, -1, -1);
    if (!direct)
        epilogue_emit(e, dst);
}

static void emit_direct(struct lowering *l, struct group *g, const struct conv_plan *plan)
{
    const struct node *n = g->nodes[0];
    const struct quantized *q = plan->quantized;
    struct conv padded = plan->c, *c = &padded;
    int terms = q ? quantized_terms(l, q, c->bias) : -1;
    struct conv_tiles p = q ? quantized_tiles(c) : direct_tiles(c);
    struct packed_weights w = c->w ? pack(l, c, &p, c->weights->name) : pack_parameter(l, n, c, &p);
    const struct direct_conv taps = {c, &p, &w, padded_input(l, n, c)};
    struct kernel_builder k = begin_kernel(l, n, n->name);
    make_grid(l, &k, c, &p, (int64_t)pack_size(&w.shape));
    int64_t out_channels = c->out_channels / c->group;
    struct conv_walk walk = {p.var_n,
                             p.var_row,
                             p.var_column,
                             p.var_block,
                             p.chunked || p.band > 1 ? p.band : 0,
                             p.tile,
                             out_channels < PACK_COLUMNS ? out_channels : PACK_COLUMNS};
    struct epilogue e = conv_epilogue(&k, g, c, &walk);
    struct space space = epilogue_space(&e);
    int64_t block = space.dim[space.rank - 1].count;
    if (q) {
        struct ap moving, stationary;
        read_taps(&k, &taps, -1, ALL_ROWS, &moving, &stationary);
        emit_quantized(&e, q, terms, stationary, moving, p.var_block, block);
    } else {
        emit_sums(&k, g, &taps, &e);
    }
    struct kernel *kernel = kernel_of(&k);
    dim_t pixels = dim_mul(&l->p->dims, c->n, dim_mul(&l->p->dims, c->oh, c->ow));
    kernel->flops = dim_mul(&l->p->dims, pixels, 2 * c->kh * c->kw * c->in_group * c->out_channels);
    kernel->bytes =
        dim_add(&l->p->dims, dim_mul(&l->p->dims, pixels, 4 * (c->out_channels + c->channels_in)),
                (dim_t)pack_size(&w.shape));
}

/* A linear layer of pixels. */
static void emit_pointwise(struct lowering *l, struct group *g, const struct conv_plan *plan)
{
    const struct conv *c = &plan->c;
    struct packed_weights packed;
    struct product p = {.x = c->x,
                        .w = c->weights,
                        .steps = {NULL, 0, 1, c->channels_in},
                        .k = c->channels_in,
                        .out_channels = c->out_channels,
                        .quantized = plan->quantized,
                        .bias = c->bias};
    if (!c->w) {
        struct conv_tiles tiles = {.whole_rows = true};
        packed = pack_parameter(l, g->nodes[0], c, &tiles);
        p.packed = &packed;
    }
    p.rows = dim_mul(&l->p->dims, c->n, dim_mul(&l->p->dims, c->h, c->width));
    emit_product(l, g, &p);
}

/* What step `from` and later ones launch runs at these rates only. */
static void launch_at_rates(struct lowering *l, int from, int bf16_from, int bf16_below)
{
    struct program_region *r = &l->p->regions[l->region];
    for (int i = from; i < r->nsteps; i++)
        r->steps[i].bf16_from = (int16_t)bf16_from, r->steps[i].bf16_below = (int16_t)bf16_below;
}

/* By Winograd's method, and directly for processors on which that is faster. */
static void emit_winograd_or_direct(struct lowering *l, struct group *g, const struct conv_plan *p)
{
    const struct program_region *r = &l->p->regions[l->region];
    int from = r->nsteps;
    emit_winograd(l, g, p);
    if (!p->direct_from)
        return;
    launch_at_rates(l, from, 0, p->direct_from);
    struct conv_plan direct = *p;
    direct.c.rounds = true;
    from = r->nsteps;
    emit_direct(l, g, &direct);
    launch_at_rates(l, from, p->direct_from, 0);
}

typedef void emit_fn(struct lowering *l, struct group *g, const struct conv_plan *p);
static emit_fn *const emit_by_rule[] = {[CONV_DIRECT] = emit_direct,
                                        [CONV_POINTWISE] = emit_pointwise,
                                        [CONV_WINOGRAD] = emit_winograd_or_direct,
                                        [CONV_DEPTHWISE] = emit_depthwise,
                                        [CONV_DEPTHWISE_INTEGER] = emit_depthwise_integer_conv,
                                        [CONV_PLANES] = emit_planes};

enum lowered lower_conv(struct lowering *l, struct node *n)
{
    if (l->m->strict)
        return strict_conv(l, n);
    const struct conv_plan *p = decision_of(l, n)->plan;
    struct group g = group_of(l, n);
    emit_by_rule[p->rule](l, &g, p);
    return LOWERED;
}

enum lowered lower_integer_conv(struct lowering *l, struct node *n)
{
    struct group g = group_of(l, n);
    struct conv_plan p = *(const struct conv_plan *)decision_of(l, n)->plan;
    int64_t k = p.c.in_group * p.c.kh * p.c.kw;
    p.c.padding = rows_zero_point(l, g.nodes[0]);
    p.c.bias = integer_bias(l, g.nodes[0], p.c.out_channels, k, k, 1);
    emit_by_rule[p.rule](l, &g, &p);
    return LOWERED;
}
