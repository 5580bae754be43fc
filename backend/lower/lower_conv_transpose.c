/*
 * Transposed convolutions, channels last: a dense convolution per phase of the output.
 *
 * With stride s, output positions q * s + f of one phase f see only the taps i with s | f + pad - i
 * * dilation, each at input position q + (f + pad - i * dilation) / s. These taps lie at equal
 * distances, so a phase is a convolution of stride 1 with few taps and no zeros to skip; its
 * results are stored at every s-th position. Groups take the place of blocks of output channels: one
 * matrix of all, zero between groups, would let an infinity of one group make NaNs of the others.
 * Groups of one channel are convolutions of the Vector engine.
 */
#include "backend/lower/conv.h"
#include "backend/lower/plan.h"
#include "backend/lower/product.h"
#include "passes/pads.h"

#include <string.h>

enum { MAX_PHASES = 64 };

/* One axis of the image. */
struct axis {
    dim_t in;
    int64_t kernel, stride, dilation, begin;
    int64_t
        extent; /* positions of the output of one input position, less padding; may be negative */
};

/* The taps of one phase of an axis: input positions first, first + step, ... relative to q, the
 * last filter tap first. */
struct output_phase {
    int64_t start, taps, first, step, last_tap, tap_step;
    dim_t count; /* values of q */
};

struct transposed_conv {
    struct conv c; /* x, n, h, width, channels_in, out_channels, group, w and padding */
    struct axis axis[2];
    int input; /* slot of the padded input */
};

static struct output_phase phase_of(struct lowering *l, const struct axis *a, int64_t start)
{
    struct output_phase p = {.start = start, .last_tap = -1, .step = 1, .tap_step = 1};
    for (int64_t i = a->kernel - 1; i >= 0; i--) {
        int64_t at = start + a->begin - i * a->dilation;
        if (at % a->stride)
            continue;
        if (p.taps == 0)
            p.last_tap = i, p.first = at / a->stride;
        else if (p.taps == 1)
            p.tap_step = p.last_tap - i, p.step = at / a->stride - p.first;
        p.taps++;
    }
    int64_t more =
        a->extent - start + a->stride - 1; /* the count for one input position, times the stride */
    int64_t one = more >= 0 ? more / a->stride : -((-more + a->stride - 1) / a->stride);
    p.count = dim_add(&l->p->dims, a->in, one - 1);
    if (one <= 0)
        p.count = dim_max(&l->p->dims, p.count, 0);
    return p;
}

/* Zeros before and after the input that the phases read. */
static void border(struct lowering *l, const struct axis *a, dim_t *before, dim_t *after)
{
    for (int64_t f = 0; f < a->stride; f++) {
        struct output_phase p = phase_of(l, a, f);
        int64_t more = a->extent - f + a->stride - 1, one = more >= 0 ? more / a->stride : 0;
        int64_t end =
            p.first + (p.taps - 1) * p.step + one - 1; /* relative to the last input position */
        if (p.taps && -p.first > *before)
            *before = -p.first;
        if (p.taps && end > *after)
            *after = end;
    }
}

/* Takes from the axis what its padding cuts off, given or to leave `out` positions; false when that
 * is not known, or nothing has to be cut but added. */
static bool cut(struct dim_table *t, const struct node *n, int at, dim_t out, struct axis *a)
{
    int count;
    dim_t full = dim_add(t, dim_mul(t, dim_sub(t, a->in, 1), a->stride), a->extent);
    dim_t excess = dim_sub(t, full, out);
    bool shape = attr_ints(&n->attrs, "output_shape", &count) != NULL;
    bool upper = attr_is(&n->attrs, "auto_pad", "SAME_UPPER");
    struct pads p = shape ? pads_share(t, excess, upper) : pads_of(t, n, at, excess);
    a->begin = p.begin;
    a->extent -= p.begin + p.end;
    return dim_is_const(excess) && dim_is_const(p.begin) && dim_is_const(p.end) &&
           excess == p.begin + p.end;
}

static bool examine(struct lowering *l, const struct node *n, struct transposed_conv *v)
{
    struct value *w = outer_value(l, n->in[1]);
    struct conv *c = &v->c;
    c->x = outer_value(l, n->in[0]);
    const struct type *x = &c->x->type;
    if (!w->constant || (x->rank != 3 && x->rank != 4) || (n->nin > 2 && n->in[2]) ||
        !has_layout(l, c->x) || !has_layout(l, n->out[0]) ||
        !attr_int(&n->attrs, "channels_last", 0))
        return false;
    int strides, dilations, extras;
    const int64_t *stride = attr_ints(&n->attrs, "strides", &strides),
                  *dilation = attr_ints(&n->attrs, "dilations", &dilations);
    const int64_t *extra = attr_ints(&n->attrs, "output_padding", &extras);
    int spatial = c->spatial = x->rank - 2;
    c->w = w->constant;
    c->n = x->dims[0], c->channels_in = x->dims[x->rank - 1];
    c->group = attr_int(&n->attrs, "group", 1);
    c->out_channels = c->w->dims[1] * c->group;
    for (int i = 0; i < 2; i++) {
        struct axis *a = &v->axis[i];
        *a = (struct axis){.in = 1, .kernel = 1, .stride = 1, .dilation = 1, .extent = 1};
        int at = i - (2 - spatial);
        if (at < 0)
            continue;
        a->in = x->dims[1 + at], a->kernel = c->w->dims[2 + at];
        a->stride = stride ? stride[at] : 1, a->dilation = dilation ? dilation[at] : 1,
        a->extent = a->dilation * (a->kernel - 1) + 1 + (extra ? extra[at] : 0);
        if (!cut(&l->p->dims, n, at, n->out[0]->type.dims[1 + at], a))
            return false;
        if (a->kernel < 1 || a->stride < 1 || a->stride > MAX_PHASES || a->dilation < 1)
            return false;
    }
    c->h = v->axis[0].in, c->width = v->axis[1].in;
    return dim_is_const(c->channels_in) && c->channels_in > 0 && c->out_channels > 0 &&
           c->channels_in == c->w->dims[0] && v->axis[0].stride * v->axis[1].stride <= MAX_PHASES &&
           (c->group == 1 || c->w->dims[1] <= PACK_COLUMNS);
}

struct phase_taps {
    struct output_phase y, x;
    int64_t kernel[2], in_group, out_group;
};

/* Which of the filter's taps the phase's tap (i, j) is. */
static int64_t tap_of(const struct output_phase *y, const struct output_phase *x, int64_t width, int64_t i, int64_t j)
{
    return (y->last_tap - i * y->tap_step) * width + x->last_tap - j * x->tap_step;
}

/* The weights of a phase as [rows of taps][taps][C][output channels], of output channels of one group. */
static void phase_weights(const void *layout, const struct tensor *w, int64_t first, int64_t out_channels,
                          void *to)
{
    const struct phase_taps *p = layout;
    size_t size = dtype_bytes(w->dtype);
    int64_t in = first / p->out_group * p->in_group, out = first % p->out_group;
    char *at = to;
    for (int64_t i = 0; i < p->y.taps; i++)
        for (int64_t j = 0; j < p->x.taps; j++) {
            int64_t tap = tap_of(&p->y, &p->x, p->kernel[1], i, j);
            for (int64_t c = in; c < in + p->in_group; c++)
                for (int64_t o = out; o < out + out_channels; o++, at += size) {
                    int64_t from = (c * p->out_group + o) * p->kernel[0] * p->kernel[1] + tap;
                    memcpy(at, (const char *)w->data + size * (size_t)from, size);
                }
        }
}

static struct packed_weights pack_phase(struct lowering *l, const struct node *n,
                                        const struct transposed_conv *v, const struct output_phase *y,
                                        const struct output_phase *x)
{
    const struct conv *c = &v->c;
    struct phase_taps p = {
        *y, *x, {v->axis[0].kernel, v->axis[1].kernel}, c->channels_in / c->group, c->out_channels / c->group};
    const struct value *value = outer_value(l, n->in[1]);
    struct weight_source w = {.constant = value,
                              .gather = phase_weights,
                              .layout = arena_copy(&l->g->arena, &p, sizeof p)};
    bool rows = x->step == 1 && c->group == 1;
    return pack_constant(l, &w, rows ? y->taps : y->taps * x->taps, rows ? x->taps * p.in_group : p.in_group,
                         p.out_group, c->group, value->name);
}

struct tiles {
    dim_t tile; /* output positions of a row */
    int var_n, var_row, var_column, var_block;
};

static struct epilogue epilogue_of(struct kernel_builder *k, struct group *g,
                                   const struct transposed_conv *v, const struct tiles *p,
                                   const struct output_phase *y, const struct output_phase *x)
{
    const struct type *type = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = type->rank};
    int last = type->rank - 1;
    memcpy(e.dims, type->dims, sizeof e.dims);
    e.covers[e.ncovers++] = cover_of(0, 0, p->var_n, 0);
    if (v->c.spatial == 2) {
        e.picks[e.ncovers] = (struct pick){v->axis[0].stride, y->start};
        e.covers[e.ncovers++] = cover_of(1, 1, p->var_row, 0);
    }
    e.picks[e.ncovers] = (struct pick){v->axis[1].stride, x->start};
    e.covers[e.ncovers++] = cover_of(last - 1, last - 1, p->var_column, p->tile);
    int64_t block = v->c.out_channels / v->c.group;
    block = p->var_block < 0 ? v->c.out_channels : block < PACK_COLUMNS ? block : PACK_COLUMNS;
    e.covers[e.ncovers++] = cover_of(last, last, p->var_block, block);
    return e;
}

static void emit_taps(struct kernel_builder *k, const struct transposed_conv *v, const struct tiles *p,
                      const struct packed_weights *w, const struct output_phase *y, const struct output_phase *x,
                      struct ap dst)
{
    struct dim_table *t = &k->p->dims;
    const struct conv *c = &v->c;
    dim_t pixel = c->channels_in, row = dim_mul(t, c->width, pixel);
    struct ap moving = ap_slot(k->p, v->input), stationary = weights_start(k->p, w, p->var_block);
    moving.offset.base =
        dim_add(t, dim_mul(t, row, y->first + c->top), (x->first + c->left) * pixel);
    ap_move(k->p, &moving, p->var_n, dim_mul(t, row, c->h));
    ap_move(k->p, &moving, p->var_row, row);
    if (c->group > 1)
        ap_move(k->p, &moving, p->var_block, w->shape.k);
    ap_push(&moving, dim_mul(t, row, y->step), y->taps);
    bool whole_rows = w->shape.groups == y->taps && w->shape.k == x->taps * c->channels_in;
    ap_push(&stationary, w->group_step * (whole_rows ? 1 : x->taps), y->taps);
    if (!whole_rows) {
        ap_push(&moving, x->step * pixel, x->taps);
        ap_push(&stationary, w->group_step, x->taps);
    }
    ap_push_tile(k->p, &moving, pixel, p->tile, p->var_column, x->count);
    ap_push(&moving, 1, w->shape.k);
    weights_finish(k->p, w, &stationary, c->group > 1 ? -1 : p->var_block);
    emit_nc_matmul(k, (struct nc_matmul){
                          .dst = dst, .stationary = stationary, .moving = moving, .packing = 1});
}

/* ---- one channel a group ---- */

enum { VECTOR_TAPS = 1024 }; /* of depthwise_conv, at most */

static bool by_vector(const struct transposed_conv *v)
{
    const struct conv *c = &v->c;
    return c->group > 1 && c->group == c->channels_in && c->group == c->out_channels &&
           v->axis[0].kernel * v->axis[1].kernel <= VECTOR_TAPS;
}

static int vector_weights(struct lowering *l, const struct transposed_conv *v, const struct output_phase *y,
                          const struct output_phase *x, const char *name)
{
    const struct tensor *w = v->c.w;
    int64_t dims[3] = {y->taps, x->taps, v->c.group}, taps = v->axis[0].kernel * v->axis[1].kernel;
    float *data = ARENA_ARRAY(&l->g->arena, float, dims[0] * dims[1] * dims[2]), *to = data;
    for (int64_t i = 0; i < y->taps; i++)
        for (int64_t j = 0; j < x->taps; j++)
            for (int64_t c = 0; c < v->c.group; c++)
                *to++ = (float)tensor_f64(w, c * taps + tap_of(y, x, v->axis[1].kernel, i, j));
    struct tensor t = tensor_view(DT_F32, 3, dims, data);
    return constant_slot(l, &t, name);
}

/* Rows of the padded input from the phase's first tap on: what the window reaches lies inside. */
static void emit_vector_taps(struct kernel_builder *k, const struct transposed_conv *v, const struct tiles *p,
                             int weights, const struct output_phase *y, const struct output_phase *x, struct ap dst)
{
    struct dim_table *t = &k->p->dims;
    const struct conv *c = &v->c;
    dim_t row = dim_mul(t, c->width, c->group), top = y->first + c->top, left = x->first + c->left;
    struct ap image = ap_slot(k->p, v->input), w = ap_slot(k->p, weights);
    ap_move(k->p, &image, p->var_n, dim_mul(t, row, c->h));
    image.offset.base = dim_add(t, dim_mul(t, row, top), left * c->group);
    ap_push(&image, row, dim_sub(t, c->h, top));
    ap_push(&image, c->group, dim_sub(t, c->width, left));
    ap_push(&image, 1, c->group);
    ap_push(&w, x->taps * c->group, y->taps), ap_push(&w, c->group, x->taps), ap_push(&w, 1, c->group);
    emit_depthwise_conv(k, (struct depthwise_conv){.dst = dst,
                                                   .image = image,
                                                   .weights = w,
                                                   .bias = ap_absent(),
                                                   .row = affine_variable(k->p, 0, p->var_row, 1),
                                                   .stride_h = 1,
                                                   .stride_w = 1,
                                                   .dilation_h = y->step,
                                                   .dilation_w = x->step,
                                                   .f = OP_identity});
}

static void emit_vector_phase(struct lowering *l, struct group *g, const struct transposed_conv *v,
                              const struct output_phase *y, const struct output_phase *x)
{
    const struct node *n = g->nodes[0];
    bool any = y->taps && x->taps;
    int weights = any ? vector_weights(l, v, y, x, n->in[1]->name) : -1;
    struct kernel_builder k = begin_kernel(l, n, n->name);
    struct tiles p = {.tile = x->count, .var_column = -1, .var_block = -1};
    p.var_n = kernel_grid(&k, v->c.n);
    p.var_row = kernel_grid(&k, y->count);
    struct epilogue e = epilogue_of(&k, g, v, &p, y, x);
    bool direct = epilogue_empty(g);
    struct ap dst = direct ? epilogue_pattern(&e, n->out[0]) : epilogue_tile(&e, DT_F32);
    if (any)
        emit_vector_taps(&k, v, &p, weights, y, x, dst);
    else
        emit_memset(&k, (struct memset){.dst = dst});
    if (!direct)
        epilogue_emit(&e, dst);
    dim_t results = dim_mul(&l->p->dims, dim_mul(&l->p->dims, v->c.n, v->c.group),
                            dim_mul(&l->p->dims, y->count, x->count));
    kernel_of(&k)->flops = dim_mul(&l->p->dims, results, 2 * y->taps * x->taps);
    kernel_of(&k)->bytes = dim_mul(&l->p->dims, results, 8);
}

static void emit_phase(struct lowering *l, struct group *g, const struct transposed_conv *v,
                       const struct output_phase *y, const struct output_phase *x)
{
    const struct node *n = g->nodes[0];
    const struct conv *c = &v->c;
    struct dim_table *t = &l->p->dims;
    struct packed_weights w = {0};
    bool any = y->taps && x->taps;
    if (any)
        w = pack_phase(l, n, v, y, x);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    struct tiles p = {.tile = even_tile(x->count, ROW_TILE)};
    p.var_n = kernel_grid(&k, c->n);
    p.var_row = kernel_grid(&k, y->count);
    p.var_column = kernel_grid(&k, dim_ceildiv(t, x->count, p.tile));
    p.var_block =
        kernel_grid(&k, c->group > 1 ? c->group : (c->out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS);
    struct epilogue e = epilogue_of(&k, g, v, &p, y, x);
    struct space space = epilogue_space(&e);
    bool direct = epilogue_empty(g);
    struct ap dst = direct ? epilogue_pattern(&e, n->out[0])
                           : space_tile(&space, &k, space_new_tile(&k, &space, MEM_PSUM, DT_F32));
    if (any)
        emit_taps(&k, v, &p, &w, y, x, dst);
    else
        emit_memset(&k, (struct memset){.dst = dst});
    if (!direct)
        epilogue_emit(&e, dst);
    dim_t pixels = dim_mul(t, c->n, dim_mul(t, y->count, x->count));
    kernel_of(&k)->flops =
        dim_mul(t, pixels, 2 * y->taps * x->taps * c->w->dims[1] * c->channels_in);
    kernel_of(&k)->bytes = dim_mul(t, pixels, 4 * (c->out_channels + c->channels_in));
}

const void *plan_conv_transpose(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    struct transposed_conv v = {0};
    if (!examine(l, n, &v) || n->out[0]->type.dtype != DT_F32 || !epilogue_possible(l, g, 0)) {
        why(l->o, n, "tile.conv-form",
            "only channels-last 1-D and 2-D transposed convolutions with constant weights, "
            "whose padding is known, have a tile program");
        return NULL;
    }
    if (!product_types(v.c.x, v.c.w->dtype)) {
        why(l->o, n, "tile.conv-types", "the operands' types are not multiplied by tile programs");
        return NULL;
    }
    border(l, &v.axis[0], &v.c.top, &v.c.bottom);
    border(l, &v.axis[1], &v.c.left, &v.c.right);
    return arena_copy(&l->g->arena, &v, sizeof v);
}

enum lowered lower_conv_transpose(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct transposed_conv v = *(const struct transposed_conv *)decision_of(l, whole)->plan;
    v.input = padded_input(l, n, &v.c);
    bool vector = by_vector(&v);
    for (int64_t f = 0; f < v.axis[0].stride; f++)
        for (int64_t s = 0; s < v.axis[1].stride; s++) {
            struct output_phase y = phase_of(l, &v.axis[0], f), x = phase_of(l, &v.axis[1], s);
            if (y.count != 0 && x.count != 0)
                (vector ? emit_vector_phase : emit_phase)(l, &g, &v, &y, &x);
        }
    return LOWERED;
}
