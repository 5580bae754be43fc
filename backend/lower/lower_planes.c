/*
 * Convolutions with few channels in a group, channels first: an instruction of the Vector engine makes a tile of rows
 * and columns of all results of some groups. A vector of it is neighbouring pixels of a row; channels last, few
 * channels would fill a part of one.
 */
#include "backend/lower/conv.h"
#include "backend/lower/tile_size.h"
#include "neff/isa/planes.h"

enum { MIN_ROWS = 4 };

struct plane_tiles {
    dim_t rows, columns; /* of results */
    int64_t groups;
};

/* How many elements of a group's planes such a tile sees. */
static int64_t seen_by(const struct conv *c, dim_t rows, dim_t columns)
{
    return plane_conv_work(c->in_group, plane_conv_rows(c->kh, c->sh, c->dh, rows),
                           plane_conv_pitch(c->kw, c->sw, c->dw, columns));
}

static dim_t tile_columns(const struct conv *c)
{
    enum { COLUMNS = 1024 };
    return even_tile(c->ow, COLUMNS);
}

bool planes_possible(const struct conv *c)
{
    return c->x->type.dtype == DT_F32 && c->weights->type.dtype == DT_F32 && c->in_group > 0 &&
           c->in_group * c->group == c->channels_in && c->out_channels % c->group == 0 && c->sh <= PLANE_STRIDE &&
           c->sw <= PLANE_STRIDE && c->dh <= PLANE_STRIDE && c->dw <= PLANE_STRIDE &&
           c->in_group * c->kh * c->kw <= PLANE_PLACES && seen_by(c, MIN_ROWS, tile_columns(c)) <= PLANE_WORK;
}

/* What a tile sees stays in the caches; several groups of small images. */
static struct plane_tiles tiles_of(const struct conv *c)
{
    enum { SEEN = 16384, RESULTS = 4096 };
    struct plane_tiles t = {.columns = tile_columns(c)};
    int64_t pitch = plane_conv_pitch(c->kw, c->sw, c->dw, t.columns);
    int64_t rows = (SEEN / (c->in_group * pitch) - plane_conv_rows(c->kh, c->sh, c->dh, 1)) / c->sh + 1;
    t.rows = even_tile(c->oh, rows > MIN_ROWS ? rows : MIN_ROWS);
    int64_t results = t.rows * t.columns * (c->out_channels / c->group);
    bool whole = dim_is_const(c->oh) && dim_is_const(c->ow) && t.rows == c->oh && t.columns == c->ow;
    t.groups = whole && results < RESULTS ? spread_tile(c->group, RESULTS / results, c->n, 1) : 1;
    return t;
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
    int var_n = kernel_grid(&k, c->n), var_group = kernel_grid(&k, (c->group + tile.groups - 1) / tile.groups);
    int var_row = kernel_grid(&k, dim_ceildiv(t, c->oh, tile.rows));
    int var_column = kernel_grid(&k, dim_ceildiv(t, c->ow, tile.columns));
    struct conv_walk walk = {var_n, var_row, var_column, var_group, tile.rows, tile.columns, some};
    struct epilogue e = conv_epilogue(&k, g, c, &walk);
    struct value *last = g->nodes[tail->taken - 1]->out[0];
    struct ap dst = group_is_result(g, last) ? epilogue_pattern(&e, last) : epilogue_tile(&e, DT_F32);
    struct ap image = ap_slot(l->p, value_slot(l, c->x)), weights = ap_slot(l->p, value_slot(l, c->weights)),
              bias = ap_absent();
    ap_move(l->p, &image, var_n, dim_mul(t, plane, c->channels_in));
    ap_push_tile(l->p, &image, plane, tile.groups * c->in_group, var_group, c->channels_in);
    ap_push(&image, c->width, c->h), ap_push(&image, 1, c->width);
    int64_t places = c->kh * c->kw;
    ap_push_tile(l->p, &weights, c->in_group * places, some, var_group, c->out_channels);
    ap_push(&weights, places, c->in_group), ap_push(&weights, c->kw, c->kh), ap_push(&weights, 1, c->kw);
    if (tail->bias) {
        bias = ap_slot(l->p, value_slot(l, tail->bias));
        ap_push_tile(l->p, &bias, 1, some, var_group, c->out_channels);
    }
    emit_plane_conv(&k, (struct plane_conv){.dst = with_rows(dst, c),
                                            .image = image,
                                            .weights = weights,
                                            .bias = bias,
                                            CONV_WINDOW(l, c, var_row, tile.rows),
                                            .column = affine_variable(l->p, 0, var_column, tile.columns),
                                            .results = results,
                                            .a = tail->a,
                                            .b = tail->b,
                                            .f = tail->f});
    epilogue_rest(&e, tail->taken, dst);
    vector_account(&k, c, 4);
}
