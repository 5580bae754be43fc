/*
 * Pooling on strict targets: the Vector engine reduces windows, which are a pattern over the
 * image's tile.
 */
#include "backend/lower/plan.h"
#include "backend/lower/pool.h"
#include "backend/lower/product.h"
#include "backend/lower/strict_image.h"

#include <math.h>
#include <string.h>

struct strict_pool {
    struct kernel_builder *k;
    struct group *g;
    const struct pooling *p;
    struct strict_image m;
    int var_n, var_block, var_band, var_column;
};

static void image_of(struct lowering *l, const struct node *n, const struct pooling *p,
                     struct strict_image *m)
{
    *m = (struct strict_image){.x = outer_value(l, n->in[0]),
                               .channels = p->channels,
                               .planes = p->channels,
                               .by_grid = true,
                               .step_n = p->image,
                               .step_c = p->channel,
                               .step_h = p->row,
                               .step_w = p->column,
                               .h = p->h,
                               .w = p->w,
                               .top = p->pad[0],
                               .left = p->pad[1],
                               .oh = p->oh,
                               .ow = p->ow,
                               .kh = p->kernel[0],
                               .kw = p->kernel[1],
                               .sh = p->stride[0],
                               .sw = p->stride[1],
                               .dh = p->dilation[0],
                               .dw = p->dilation[1],
                               .fill = p->max ? -INFINITY : 0};
}

static struct epilogue epilogue_of(const struct strict_pool *s)
{
    const struct type *y = &s->g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = s->k, .g = s->g, .rank = y->rank};
    bool last = s->p->last, two = s->p->spatial == 2;
    int first = last ? 1 : 2, channel = last ? y->rank - 1 : 1;
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers++] = cover_of(channel, channel, s->var_block, s->m.chunk);
    if (two)
        e.covers[e.ncovers++] = cover_of(first, first, s->var_band, s->m.band);
    e.covers[e.ncovers++] = cover_of(first + two, first + two, s->var_column, s->m.width);
    e.covers[e.ncovers++] = cover_of(0, 0, s->var_n, 0);
    return e;
}

/* Elements of window number `at` that lie in an image of `size`. */
static int64_t inside(int64_t at, int64_t stride, int64_t pad, int64_t kernel, int64_t dilation,
                      int64_t size)
{
    int64_t n = 0;
    for (int64_t i = 0; i < kernel; i++) {
        int64_t place = at * stride - pad + i * dilation;
        n += place >= 0 && place < size;
    }
    return n;
}

/* One over the elements in each window, as a constant (rows, columns); -1 when all windows are
 * whole. */
static int count_slot(struct lowering *l, const struct pooling *p)
{
    int64_t dims[2] = {p->oh, p->ow};
    float *counts = arena_alloc(&l->g->arena, sizeof *counts * (size_t)(p->oh * p->ow));
    bool whole = true;
    for (int64_t r = 0; r < p->oh; r++)
        for (int64_t c = 0; c < p->ow; c++) {
            int64_t n = inside(r, p->stride[0], p->pad[0], p->kernel[0], p->dilation[0], p->h) *
                        inside(c, p->stride[1], p->pad[1], p->kernel[1], p->dilation[1], p->w);
            whole &= n == p->kernel[0] * p->kernel[1];
            counts[r * p->ow + c] = 1.0f / (float)n;
        }
    struct tensor t = tensor_view(DT_F32, 2, dims, counts);
    return whole ? -1 : constant_slot(l, &t, NULL);
}

static struct ap counts_in(struct strict_pool *s, int slot)
{
    struct ap a = ap_slot(s->k->p, slot);
    ap_push(&a, 0, s->m.chunk);
    ap_clip(s->k->p, &a, 0, s->var_block, s->m.chunk, s->m.channels);
    if (s->p->spatial == 2)
        ap_push_tile(s->k->p, &a, s->p->ow, s->m.band, s->var_band, s->p->oh);
    ap_push_tile(s->k->p, &a, 1, s->m.width, s->var_column, s->p->ow);
    return stage_in(s->k, a);
}

static void emit(struct strict_pool *s, int counts)
{
    struct kernel_builder *k = s->k;
    const struct pooling *p = s->p;
    image_tile(k, &s->m);
    image_load(k, &s->m, s->var_n, s->var_block, -1, 0, s->m.resident ? -1 : s->var_band,
               s->var_column);
    bool loop = s->m.resident && s->m.bands > 1;
    if (loop)
        s->var_band = kernel_loop(k, s->m.bands);
    struct epilogue e = epilogue_of(s);
    struct space space = epilogue_space(&e);
    int dtype = p->max ? s->m.x->type.dtype : DT_F32; /* 16-bit types are reduced twice as fast */
    struct ap result = space_tile(&space, k, space_new_tile(k, &space, MEM_SBUF, dtype));
    struct ap windows =
        image_window(k, &s->m, &space, s->var_block, s->m.resident ? s->var_band : -1, 0, 0);
    ap_push(&windows, s->m.dh * s->m.cols, s->m.kh);
    ap_push(&windows, s->m.dw, s->m.kw);
    float scale = p->max || counts >= 0 ? 1 : 1.0f / (float)(p->kernel[0] * p->kernel[1]);
    emit_tensor_reduce(k, (struct tensor_reduce){.dst = result,
                                                 .src = windows,
                                                 .axes = 2,
                                                 .scale = scale,
                                                 .op = p->max ? OP_max : OP_add});
    if (counts >= 0)
        emit_tensor_tensor(
            k, (struct tensor_tensor){
                   .dst = result, .a = result, .b = counts_in(s, counts), .op = OP_mul});
    epilogue_emit(&e, result);
    if (loop)
        kernel_end_loop(k);
}

/* Results of a partition that one instruction makes: the first need not wait for the whole image. */
static int64_t windows_at_a_time(const struct machine *m)
{
    enum { ENOUGH = 1024 }; /* for what an instruction takes besides its elements not to count */
    int64_t room = strict_results(m);
    return room < ENOUGH ? room : ENOUGH;
}

/* ---- images that lie whole in SBUF, without the padding: what has made them may have left them there ---- */

/* Results [first, first + n) along a dim, whose windows have taps [from, to) in the image. */
struct run_of_windows {
    int64_t first, n, from, to;
};
enum { MAX_RUNS = 8 };

/* Of all results along a dim; 0: there are too many kinds, or windows beside the image. */
static int find_runs(int64_t results, int64_t stride, int64_t pad, int64_t kernel, int64_t dilation, int64_t size,
                     struct run_of_windows *runs)
{
    int n = 0;
    for (int64_t r = 0; r < results; r++) {
        int64_t at = r * stride - pad, from = at < 0 ? ceil_div(-at, dilation) : 0;
        int64_t to = size > at ? ceil_div(size - at, dilation) : 0;
        to = to < kernel ? to : kernel;
        if (to <= from)
            return 0;
        if (n > 0 && runs[n - 1].from == from && runs[n - 1].to == to) {
            runs[n - 1].n++;
            continue;
        }
        if (n == MAX_RUNS)
            return 0;
        runs[n++] = (struct run_of_windows){r, 1, from, to};
    }
    return n;
}

struct window_runs {
    int rows, columns;
    struct run_of_windows row[MAX_RUNS], column[MAX_RUNS];
};

/* Whether the image is padded, rows lie side by side in HBM, and windows can be told apart. */
static bool lies_whole(const struct strict_pool *s, int counts, struct window_runs *r)
{
    const struct strict_image *m = &s->m;
    bool padded = m->top > 0 || m->left > 0 || m->rows > m->h || m->cols > m->w;
    if (!m->resident || !padded || counts >= 0 || m->step_w != 1 || (m->h > 1 && m->step_h != m->w))
        return false;
    r->rows = find_runs(m->oh, m->sh, m->top, m->kh, m->dh, m->h, r->row);
    r->columns = find_runs(m->ow, m->sw, m->left, m->kw, m->dw, m->w, r->column);
    return r->rows > 0 && r->columns > 0;
}

/* What windows of rows [first, end) of results, of one kind, are reduced to. */
static void reduce_run(struct strict_pool *s, struct ap image, struct ap result, const struct run_of_windows *row,
                       const struct run_of_windows *column, int64_t first, int64_t end, int64_t above)
{
    const struct strict_image *m = &s->m;
    int64_t top = first * m->sh - m->top + row->from * m->dh, left = column->first * m->sw - m->left;
    left += column->from * m->dw;
    image.offset.base += top * m->w + left;
    result.offset.base += (first - above) * m->ow + column->first;
    ap_push(&image, m->sh * m->w, end - first), ap_push(&result, m->ow, end - first);
    ap_push(&image, m->sw, column->n), ap_push(&result, 1, column->n);
    ap_push(&image, m->dh * m->w, row->to - row->from), ap_push(&image, m->dw, column->to - column->from);
    float scale = s->p->max ? 1 : 1.0f / (float)(m->kh * m->kw);
    emit_tensor_reduce(s->k, (struct tensor_reduce){.dst = result,
                                                    .src = image,
                                                    .axes = 2,
                                                    .scale = scale,
                                                    .op = s->p->max ? OP_max : OP_add});
}

/* A tile with so many elements in each partition, without the dims within. */
static struct ap channels_of(struct strict_pool *s, int dtype, int64_t elements)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = (uint8_t)dtype};
    a.tensor = kernel_tile(s->k, MEM_SBUF, dtype, s->m.chunk, elements);
    ap_push(&a, elements, s->m.chunk), ap_clip(s->k->p, &a, 0, s->var_block, s->m.chunk, s->m.channels);
    return a;
}

static void emit_whole(struct strict_pool *s, const struct window_runs *r)
{
    struct kernel_builder *k = s->k;
    const struct strict_image *m = &s->m;
    struct ap image = channels_of(s, m->x->type.dtype, m->h * m->w), to = image, from = ap_slot(k->p, m->slot);
    ap_move(k->p, &from, s->var_n, m->step_n);
    ap_push_tile(k->p, &from, m->step_c, m->chunk, s->var_block, m->channels);
    ap_push(&to, 1, m->h * m->w), ap_push(&from, 1, m->h * m->w);
    emit_dma_copy(k, (struct dma_copy){.dst = to, .src = from});
    for (int64_t at = 0; at < m->oh; at += m->band) {
        int64_t left = m->oh - at, rows = left < m->band ? left : m->band;
        struct ap tile = channels_of(s, s->p->max ? m->x->type.dtype : DT_F32, rows * m->ow), result = tile;
        for (int i = 0; i < r->rows; i++) {
            const struct run_of_windows *row = &r->row[i];
            int64_t first = row->first > at ? row->first : at, end = row->first + row->n;
            end = end < at + rows ? end : at + rows;
            for (int c = 0; c < r->columns && end > first; c++)
                reduce_run(s, image, tile, row, &r->column[c], first, end, at);
        }
        struct epilogue e = epilogue_of(s);
        if (s->p->spatial == 2) {
            e.covers[1].tile = rows, e.covers[1].at = at;
            ap_push(&result, m->ow, rows);
        }
        ap_push(&result, 1, m->ow);
        epilogue_emit(&e, result);
    }
}

struct pool_plan {
    struct pooling p;
    struct strict_image m;
};

const void *strict_pool_takes(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    struct pool_plan plan = {0};
    struct pooling p = {0};
    if (!pool_geometry(l, n, &p) || !dim_is_const(p.channels) || !dim_is_const(p.h) ||
        !dim_is_const(p.w) || !dim_is_const(p.oh) || !dim_is_const(p.ow)) {
        why(l->o, n, "tile.pool-form",
            "only 1-D and 2-D float pools of known size that do not crop and give "
            "no indices have a tile program; it runs on GpSimd");
        return NULL;
    }
    plan.p = p;
    image_of(l, n, &p, &plan.m);
    if (!image_plan(l->m, &plan.m, windows_at_a_time(l->m))) {
        why(l->o, n, "tile.pool-size", "its rows do not fit the machine; it runs on GpSimd");
        return NULL;
    }
    return epilogue_possible(l, g, 0) ? arena_copy(&l->g->arena, &plan, sizeof plan) : NULL;
}

enum lowered strict_pool(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    const struct pool_plan *plan = decision_of(l, whole)->plan;
    struct pooling p = plan->p;
    struct strict_pool s = {.g = &g, .p = &p, .m = plan->m, .var_band = -1, .var_column = -1};
    int counts = p.max || p.count_pad ? -1 : count_slot(l, &p);
    image_prepare(l, n, &s.m, p.n);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    s.k = &k;
    s.var_n = kernel_grid(&k, p.n);
    s.var_block = kernel_grid(&k, s.m.chunks);
    if (!s.m.resident)
        s.var_band = kernel_grid(&k, s.m.bands);
    if (!s.m.resident && s.m.widths > 1)
        s.var_column = kernel_grid(&k, s.m.widths);
    struct window_runs runs;
    if (lies_whole(&s, counts, &runs))
        emit_whole(&s, &runs);
    else
        emit(&s, counts);
    struct dim_table *t = &l->p->dims;
    dim_t out_channels = type_count(t, &n->out[0]->type);
    kernel_of(&k)->flops = dim_mul(t, out_channels, p.kernel[0] * p.kernel[1]);
    kernel_of(&k)->bytes = dim_mul(t, dim_add(t, out_channels, type_count(t, &n->in[0]->type)), 4);
    return LOWERED;
}
