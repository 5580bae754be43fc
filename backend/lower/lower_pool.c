/*
 * Pooling: one instruction per row of output pixels; 1-D images are images of one row. Images may
 * be channels last or channels first: the instruction takes them by steps; channels first, each is
 * an image of its own.
 */
#include "backend/lower/pool.h"
#include "backend/lower/product.h"
#include "passes/pads.h"

#include <string.h>

/* Spatial attribute with a value per dim; `at` counts from the last two dims. */
static void each(const struct node *n, const char *name, int spatial, int64_t otherwise,
                 int64_t *out)
{
    int count;
    const int64_t *v = attr_ints(&n->attrs, name, &count);
    for (int i = 0; i < 2; i++) {
        int at = i - (2 - spatial);
        out[i] = at < 0 ? otherwise : v && at < count ? v[at] : otherwise;
    }
}

/* false when it crops. */
static bool pool_pads(struct dim_table *t, const struct node *n, struct pool *p)
{
    dim_t size[2] = {p->h, p->w}, windows[2] = {p->oh, p->ow};
    bool crops = false;
    for (int i = 2 - p->spatial; i < 2; i++) {
        dim_t excess =
            window_excess(t, size[i], windows[i], p->kernel[i], p->stride[i], p->dilation[i]);
        struct pads along = pads_of(t, n, i - (2 - p->spatial), excess);
        p->pad[i] = along.begin;
        crops |= pads_crop(along);
    }
    return !crops;
}

/* What engines pool: floats, and the greatest of 8-bit numbers. */
static bool pooled_types(const struct lowering *l, const struct node *n, int x, int y)
{
    bool bytes = n->op == OP_max_pool && x == y && (x == DT_U8 || x == DT_I8) && !l->m->strict;
    return bytes || (engine_float(x) && engine_float(y));
}

bool pool_geometry(struct lowering *l, const struct node *n, struct pool *p)
{
    struct value *x = outer_value(l, n->in[0]);
    const struct type *t = &x->type, *y = &n->out[0]->type;
    p->max = n->op == OP_max_pool;
    p->last = attr_int(&n->attrs, "channels_last", 0) != 0;
    p->count_pad = attr_int(&n->attrs, "count_include_pad", 0) != 0;
    p->spatial = t->rank - 2;
    if (!has_layout(l, x) || !has_layout(l, n->out[0]) || !pooled_types(l, n, t->dtype, y->dtype) ||
        p->spatial < 1 || p->spatial > 2 || (n->nout > 1 && n->out[1]->uses) ||
        (p->count_pad && attr_int(&n->attrs, "ceil_mode", 0)))
        return false;
    int first = p->last ? 1 : 2;
    bool two = p->spatial == 2;
    p->n = t->dims[0];
    p->channels = t->dims[p->last ? t->rank - 1 : 1];
    p->h = two ? t->dims[first] : 1, p->w = t->dims[first + two];
    p->oh = two ? y->dims[first] : 1, p->ow = y->dims[first + two];
    each(n, "kernel_shape", p->spatial, 1, p->kernel);
    each(n, "strides", p->spatial, 1, p->stride);
    each(n, "dilations", p->spatial, 1, p->dilation);
    dim_t steps[MAX_RANK];
    dense_steps(&l->p->dims, t->rank, t->dims, steps);
    p->image = steps[0];
    p->channel = steps[p->last ? t->rank - 1 : 1];
    p->column = steps[first + two];
    p->row = two ? steps[first] : 0;
    return pool_pads(&l->p->dims, n, p) && p->kernel[0] * p->kernel[1] <= 1024;
}

static struct epilogue epilogue_of(struct kernel_builder *k, struct group *g, const struct pool *p,
                                   int var_n, int var_row)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank};
    int first = p->last ? 1 : 2, column = first + (p->spatial == 2),
        channel = p->last ? y->rank - 1 : 1;
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers++] = (struct cover){0, 0, var_n, 0};
    if (p->spatial == 2)
        e.covers[e.ncovers++] = (struct cover){first, first, var_row, 0};
    e.covers[e.ncovers++] = (struct cover){column, column, -1, p->ow};
    e.covers[e.ncovers++] = (struct cover){channel, channel, -1, p->channels};
    return e;
}

/* Of the image in a slot, `rows` rows for each value of var_row. */
static void emit_window(struct kernel_builder *k, const struct pool *p, struct ap dst, int slot,
                        int var_n, int var_row, dim_t rows)
{
    struct ap image = ap_slot(k->l, slot);
    ap_move(k->l, &image, var_n, p->image);
    ap_push(&image, p->row, p->h), ap_push(&image, p->column, p->w),
        ap_push(&image, p->channel, p->channels);
    struct insn *i = kernel_insn(k, INSN_window_pool);
    i->ap[0] = dst, i->ap[1] = image;
    affine_set(&i->imm[0], &k->l->p->arena, var_row, rows);
    for (int d = 0; d < 2; d++) {
        i->imm[1 + d].base = p->kernel[d];
        i->imm[3 + d].base = p->stride[d];
        i->imm[5 + d].base = p->dilation[d];
        i->imm[7 + d].base = p->pad[d];
    }
    i->imm[9].base = p->count_pad;
    i->func[0] = p->max ? OP_max : OP_add;
}

static void report(struct kernel_builder *k, const struct pool *p, dim_t outs, dim_t ins)
{
    struct dim_table *t = &k->l->p->dims;
    kernel_of(k)->flops = dim_mul(t, outs, p->kernel[0] * p->kernel[1]);
    kernel_of(k)->bytes = dim_mul(t, dim_add(t, outs, ins), 4);
}

/* Channels first: every channel is a picture of its own, some rows of it at a time. */
static void emit_pictures(struct lowering *l, const struct node *n, struct pool p)
{
    struct dim_table *t = &l->p->dims;
    struct kernel_builder k = kernel_begin(l, n, n->name);
    dim_t outs = dim_mul(t, p.oh, p.ow);
    dim_t tile = image_rows_tile(p.oh, p.ow);
    p.n = dim_mul(t, p.n, p.channels);
    p.image = p.channel;
    p.channels = p.channel = 1;
    int var_n = kernel_grid(&k, p.n), var_row = kernel_grid(&k, dim_ceildiv(t, p.oh, tile));
    struct ap dst = ap_slot(l, value_slot(l, n->out[0]));
    ap_move(l, &dst, var_n, outs);
    ap_push_tile(l, &dst, p.ow, tile, var_row, p.oh);
    ap_push(&dst, 1, p.ow), ap_push(&dst, 1, 1);
    emit_window(&k, &p, dst, value_slot(l, n->in[0]), var_n, var_row, tile);
    report(&k, &p, type_count(t, &n->out[0]->type), type_count(t, &n->in[0]->type));
}

/* A maximum over a window is that of its columns' maxima over its rows; worth it where it halves
 * the work. */
static bool separates(const struct pool *p)
{
    return p->max && dim_is_const(p->h) && dim_is_const(p->oh) &&
           2 * (p->h * p->kernel[1] + p->oh * p->kernel[0]) <= p->oh * p->kernel[0] * p->kernel[1];
}

/* The maxima along the image's rows, in a temporary, channels last; its slot. What is left to do
 * becomes p. */
static int emit_along_rows(struct lowering *l, const struct node *n, struct pool *p)
{
    struct dim_table *t = &l->p->dims;
    dim_t dims[4] = {p->n, p->h, p->ow, p->channels};
    int own = n->out[0]->type.dtype;
    struct type type = type_tensor(engine_float(own) ? DT_F32 : own, 4, dims);
    int slot = temporary_slot(l, &type, NULL);
    struct pool rows = *p;
    rows.kernel[0] = rows.stride[0] = rows.dilation[0] = 1;
    rows.pad[0] = 0;
    p->kernel[1] = p->stride[1] = p->dilation[1] = 1;
    p->pad[1] = 0;
    p->w = p->ow;
    p->channel = 1, p->column = p->channels;
    p->row = dim_mul(t, p->ow, p->channels), p->image = dim_mul(t, p->row, p->h);

    struct kernel_builder k = kernel_begin(l, n, n->name);
    int var_n = kernel_grid(&k, p->n), var_row = kernel_grid(&k, p->h);
    struct ap dst = ap_slot(l, slot);
    ap_move(l, &dst, var_n, p->image), ap_move(l, &dst, var_row, p->row);
    ap_push(&dst, p->channels, p->ow), ap_push(&dst, 1, p->channels);
    emit_window(&k, &rows, dst, value_slot(l, n->in[0]), var_n, var_row, 1);
    report(&k, &rows, type_count(t, &type), type_count(t, &n->in[0]->type));
    return slot;
}

enum lowered lower_pool(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct pool p = {0};
    if (l->m->strict)
        return strict_pool(l, whole);
    if (!pool_geometry(l, n, &p)) {
        why(l->o, n, "tile.pool-form",
            "only 1-D and 2-D float pools that do not crop and give no indices have a tile "
            "program; it runs on GpSimd");
        return DECLINED;
    }
    if (g.n > 1 && !epilogue_possible(l, &g, 0))
        return DECLINED;
    if (g.n == 1 && !p.last && n->in[0]->type.dtype == DT_F32) {
        emit_pictures(l, n, p);
        return LOWERED;
    }
    int slot = separates(&p) ? emit_along_rows(l, n, &p) : value_slot(l, n->in[0]);
    struct kernel_builder k = kernel_begin(l, n, n->name);
    int var_n = kernel_grid(&k, p.n), var_row = kernel_grid(&k, p.oh);
    struct epilogue e = epilogue_of(&k, &g, &p, var_n, var_row);
    struct ap dst = epilogue_pattern(&e, n->out[0]);
    if (g.n > 1) {
        struct space s = epilogue_space(&e);
        int own = n->out[0]->type.dtype, type = engine_float(own) ? DT_F32 : own;
        dst = space_tile(&s, &k, kernel_tile(&k, MEM_SBUF, type, 1, space_count(l, &s)));
    }
    emit_window(&k, &p, dst, slot, var_n, var_row, 1);
    if (g.n > 1)
        epilogue_emit(&e, dst);
    report(&k, &p, type_count(&l->p->dims, &n->out[0]->type),
           type_count(&l->p->dims, &n->in[0]->type));
    return LOWERED;
}
