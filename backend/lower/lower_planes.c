/*
 * Convolutions with few channels in a group, channels first: an instruction of the Vector engine makes a tile of rows
 * and columns of all results of some groups. A vector of it is neighbouring pixels of a row; channels last, few
 * channels would fill a part of one.
 */
#include "backend/lower/conv.h"
#include "backend/lower/tile_size.h"

#include <string.h>

/* Of plane_conv: a window, a stride or dilation, half of what a tile may see; elements of the widest vector. */
enum { MAX_PLACES = 4096, MAX_STRIDE = 1 << 13, MAX_SEEN = 1 << 23, LANES = 16, LEAST_ROWS = 4 };

struct plane_tiles {
    dim_t rows, columns; /* of results */
    int64_t groups;
};

/* Columns of a tile, and elements of a row of the image that it sees. */
static dim_t tile_columns(const struct conv *c, int64_t *seen)
{
    enum { ROW = 1024 };
    dim_t columns = even_tile(c->ow, ROW);
    *seen = (columns + LANES) * c->sw + (c->kw - 1) * c->dw;
    return columns;
}

bool planes_possible(const struct conv *c)
{
    int64_t wide;
    if (c->x->type.dtype != DT_F32 || c->weights->type.dtype != DT_F32 || c->in_group < 1 ||
        c->in_group * c->group != c->channels_in || c->out_channels % c->group || c->sh > MAX_STRIDE ||
        c->sw > MAX_STRIDE || c->dh > MAX_STRIDE || c->dw > MAX_STRIDE || c->in_group * c->kh * c->kw > MAX_PLACES)
        return false;
    tile_columns(c, &wide);
    return c->in_group * (LEAST_ROWS * c->sh + (c->kh - 1) * c->dh) * wide <= MAX_SEEN;
}

/* What a tile sees stays in the caches; several groups of small images. */
static struct plane_tiles tiles_of(const struct conv *c)
{
    enum { SEEN = 16384, RESULTS = 4096 };
    int64_t wide;
    struct plane_tiles t = {.columns = tile_columns(c, &wide)};
    int64_t rows = (SEEN / (c->in_group * wide) - (c->kh - 1) * c->dh - 1) / c->sh + 1;
    t.rows = even_tile(c->oh, rows > LEAST_ROWS ? rows : LEAST_ROWS);
    int64_t results = t.rows * t.columns * (c->out_channels / c->group);
    bool whole = dim_is_const(c->oh) && dim_is_const(c->ow) && t.rows == c->oh && t.columns == c->ow;
    t.groups = whole && results < RESULTS ? spread_tile(c->group, RESULTS / results, c->n, 1) : 1;
    return t;
}

struct plane_grid {
    int n, group, row, column;
};

static struct epilogue epilogue_of(struct kernel_builder *k, struct group *g, const struct conv *c,
                                   const struct plane_grid *v, const struct plane_tiles *tile)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank};
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers++] = cover_of(0, 0, v->n, 0);
    e.covers[e.ncovers++] = cover_of(1, 1, v->group, tile->groups * (c->out_channels / c->group));
    if (c->spatial == 2)
        e.covers[e.ncovers++] = cover_of(2, 2, v->row, tile->rows);
    e.covers[e.ncovers++] = cover_of(y->rank - 1, y->rank - 1, v->column, tile->columns);
    return e;
}

/* Results of images of one row as those of images of several. */
static struct ap with_rows(struct ap dst, const struct conv *c)
{
    if (c->spatial == 1) {
        struct ap_dim columns = dst.dim[1];
        dst.dim[1] = (struct ap_dim){.step = 1, .count = 1}, dst.dim[2] = columns, dst.rank = 3;
    }
    return dst;
}

static void account(struct kernel_builder *k, const struct conv *c)
{
    struct kernel *kernel = kernel_of(k);
    struct dim_table *t = &k->p->dims;
    dim_t pixels = dim_mul(t, c->n, dim_mul(t, c->oh, c->ow)), seen = dim_mul(t, c->n, dim_mul(t, c->h, c->width));
    kernel->flops = dim_mul(t, pixels, 2 * c->kh * c->kw * c->in_group * c->out_channels);
    kernel->bytes = dim_mul(t, dim_add(t, dim_mul(t, pixels, c->out_channels), dim_mul(t, seen, c->channels_in)), 4);
}

void emit_planes(struct lowering *l, struct group *g, const struct conv_plan *p)
{
    const struct conv *c = &p->c;
    const struct tail *tail = &p->tail;
    struct node *n = g->nodes[0];
    struct dim_table *t = &l->p->dims;
    struct plane_tiles tile = tiles_of(c);
    int64_t results = c->out_channels / c->group, some = tile.groups * results;
    dim_t plane = dim_mul(t, c->h, c->width);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    struct plane_grid v;
    v.n = kernel_grid(&k, c->n), v.group = kernel_grid(&k, (c->group + tile.groups - 1) / tile.groups);
    v.row = kernel_grid(&k, dim_ceildiv(t, c->oh, tile.rows));
    v.column = kernel_grid(&k, dim_ceildiv(t, c->ow, tile.columns));
    struct epilogue e = epilogue_of(&k, g, c, &v, &tile);
    struct value *last = g->nodes[tail->taken - 1]->out[0];
    struct ap dst = group_is_result(g, last) ? epilogue_pattern(&e, last) : epilogue_tile(&e, DT_F32);
    struct ap image = ap_slot(l->p, value_slot(l, c->x)), weights = ap_slot(l->p, value_slot(l, c->weights)),
              bias = ap_absent();
    ap_move(l->p, &image, v.n, dim_mul(t, plane, c->channels_in));
    ap_push_tile(l->p, &image, plane, tile.groups * c->in_group, v.group, c->channels_in);
    ap_push(&image, c->width, c->h), ap_push(&image, 1, c->width);
    int64_t places = c->kh * c->kw;
    ap_push_tile(l->p, &weights, c->in_group * places, some, v.group, c->out_channels);
    ap_push(&weights, places, c->in_group), ap_push(&weights, c->kw, c->kh), ap_push(&weights, 1, c->kw);
    if (tail->bias) {
        bias = ap_slot(l->p, value_slot(l, tail->bias));
        ap_push_tile(l->p, &bias, 1, some, v.group, c->out_channels);
    }
    emit_plane_conv(&k, (struct plane_conv){.dst = with_rows(dst, c),
                                            .image = image,
                                            .weights = weights,
                                            .bias = bias,
                                            .row = affine_variable(l->p, 0, v.row, tile.rows),
                                            .column = affine_variable(l->p, 0, v.column, tile.columns),
                                            .results = results,
                                            .stride_h = c->sh,
                                            .stride_w = c->sw,
                                            .dilation_h = c->dh,
                                            .dilation_w = c->dw,
                                            .pad_h = c->top,
                                            .pad_w = c->left,
                                            .a = tail->a,
                                            .b = tail->b,
                                            .f = tail->f});
    epilogue_rest(&e, tail->taken, dst);
    account(&k, c);
}
