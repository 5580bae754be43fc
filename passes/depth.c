/*
 * pass depth: operators on images of three spatial dims, channels last, as operators on images of
 * two.
 *
 *   conv             the depths that a window sees lie side by side in the channels of one image
 *                    for each depth of the result; grouped ones are sums over those depths
 *   conv_transpose   windows over the operand's depths give `stride` depths of the result at once,
 *                    as channels, which then change places
 *   pools            along the depth, then over images; channels first where pass layout leaves them so
 *
 * Images are numbered by one joint dim, so that this changes no layout but that of the depths.
 * Elementwise operators that follow stay on such images, where a product takes them along.
 * Requires inferred types and pass layout.
 */
#include "passes/pads.h"
#include "passes/rewrite.h"

#include <string.h>

enum { N, DEPTH, HEIGHT, WIDTH, CHANNELS, RANK }; /* dims of a volume */

struct depth_window { /* along the depth */
    int64_t in, out, taps, stride, dilation, begin, end;
};

/* Of volumes whose depths are that dim. */
static struct depth_window window_along(struct rewriter *p, const struct node *n, int depth, int64_t taps)
{
    struct depth_window w = {.in = n->in[0]->type.dims[depth],
                       .out = n->out[0]->type.dims[depth],
                       .taps = taps,
                       .stride = attr_int_at(&n->attrs, "strides", 0, 1),
                       .dilation = attr_int_at(&n->attrs, "dilations", 0, 1)};
    struct dim_table *t = &p->g->dims;
    struct pads pads = pads_of(t, n, 0, window_excess(t, w.in, w.out, taps, w.stride, w.dilation));
    w.begin = pads.begin, w.end = pads.end;
    return w;
}

static struct depth_window window_of(struct rewriter *p, const struct node *n, int64_t taps)
{
    return window_along(p, n, DEPTH, taps);
}

/* A volume of which only the number may be unknown. */
static bool is_volume(const struct type *t)
{
    if (t->kind != VK_TENSOR || t->rank != RANK || t->dims[N] == 0)
        return false;
    return dims_are_positive(t->dims + DEPTH, RANK - DEPTH);
}

static bool known_weights(const struct type *w)
{
    return w->kind == VK_TENSOR && w->rank == RANK && dims_are_positive(w->dims, RANK);
}

/* ---- emitting ---- */

/* `images` of the given dims, and back to volumes of so many depths. */
static struct value *images(struct rewriter *p, struct node *at, struct value *x)
{
    struct builder b = builder_before(at, p->d);
    if (!x)
        return NULL;
    const dim_t *v = x->type.dims;
    dim_t n = dim_is_const(v[N]) ? dim_mul(&p->g->dims, v[N], v[DEPTH]) : -1;
    return b_reshape_to(&b, x, (int64_t[]){n, v[HEIGHT], v[WIDTH], v[CHANNELS]}, 4);
}

static struct value *volumes(struct rewriter *p, struct node *at, struct value *x, dim_t n,
                             int64_t depths)
{
    struct builder b = builder_before(at, p->d);
    if (!x)
        return NULL;
    const dim_t *v = x->type.dims;
    return b_reshape_to(&b, x, (int64_t[]){dim_is_const(n) ? n : -1, depths, v[1], v[2], v[3]}, RANK);
}

/* Every step-th of `count` depths from `first` on. */
static struct value *depths(struct rewriter *p, struct node *at, struct value *x, int64_t first,
                            int64_t count, int64_t step)
{
    struct builder b = builder_before(at, p->d);
    int64_t end = first + (count - 1) * step + 1, axis = DEPTH;
    if (!x || (first == 0 && step == 1 && count == x->type.dims[DEPTH]))
        return x;
    struct value *in[] = {x, constant_i64s(p->g, &first, 1), constant_i64s(p->g, &end, 1),
                          constant_i64s(p->g, &axis, 1), constant_i64s(p->g, &step, 1)};
    return b_op(&b, OP_slice, in, 5, NULL);
}

/* Zeros before and after the depths; negative numbers crop. */
static struct value *padded(struct rewriter *p, struct node *at, struct value *x, int64_t begin,
                            int64_t end)
{
    struct builder b = builder_before(at, p->d);
    int64_t pads[2 * RANK] = {0};
    pads[DEPTH] = begin, pads[RANK + DEPTH] = end;
    return begin | end ? b_2(&b, OP_pad, x, constant_i64s(p->g, pads, 2 * RANK)) : x;
}

/* What tap `tap` of the window sees, for every depth of the result. */
static struct value *seen(struct rewriter *p, struct node *at, struct value *x, const struct depth_window *w,
                          int64_t tap)
{
    return depths(p, at, x, tap * w->dilation, w->out, w->stride);
}

/* The channels of all taps side by side. */
static struct value *side_by_side(struct rewriter *p, struct node *at, struct value *x,
                                  const struct depth_window *w)
{
    struct builder b = builder_before(at, p->d);
    struct value **parts = ARENA_ARRAY(&p->g->arena, struct value *, (size_t)w->taps);
    for (int64_t i = 0; i < w->taps; i++)
        if (!(parts[i] = seen(p, at, x, w, i)))
            return NULL;
    return w->taps == 1 ? parts[0] : b_concat(&b, parts, (int)w->taps, CHANNELS);
}

/* The node's attributes without those of the depth. */
static struct attrs flat_attributes(struct rewriter *p, const struct node *n)
{
    static const char *const lists[] = {"strides", "dilations", "kernel_shape", "output_padding",
                                        "lhs_dilation"};
    struct attrs as = attrs_copy(&p->g->arena, &n->attrs);
    int count;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const int64_t *v = attr_ints(&as, lists[i], &count);
        if (v && count == 3)
            attr_set_ints(&p->g->arena, &as, lists[i], v + 1, 2);
    }
    const int64_t *v = attr_ints(&as, "pads", &count);
    if (v && count == 6)
        attr_set_ints(&p->g->arena, &as, "pads", (int64_t[]){v[1], v[2], v[4], v[5]}, 4);
    return as;
}

static struct value *like(struct rewriter *p, struct node *n, struct value *x, struct value *w,
                          const struct attrs *as)
{
    struct builder b = builder_before(n, p->d);
    struct value *in[] = {x, w};
    if (!x || (n->nin > 1 && !w))
        return NULL;
    return b_op(&b, n->op, in, n->nin > 1 ? 2 : 1, as);
}

/* ---- convolutions ---- */

/*
 * Constant weights (a, b, taps, filter) as (a, places * b, filter) or, of transposed ones,
 * (places * a, phases * b, filter): place q and phase f take tap[q * phases + f].
 */
static struct value *arranged(struct rewriter *p, const struct value *w, const int64_t *tap,
                              int64_t places, int64_t phases, bool transposed)
{
    const struct tensor *t = w->constant;
    int64_t a = t->dims[0], b = t->dims[1], taps = t->dims[2];
    size_t filter = (size_t)(t->dims[3] * t->dims[4]) * dtype_bytes(t->dtype);
    int64_t dims[4] = {transposed ? places * a : a, transposed ? phases * b : places * b,
                       t->dims[3], t->dims[4]};
    struct tensor made = tensor_view(t->dtype, 4, dims, NULL);
    char *to = made.data = arena_alloc(&p->g->arena, tensor_bytes(&made) + 16);
    for (int64_t i = 0; i < a; i++)
        for (int64_t q = 0; q < places; q++)
            for (int64_t f = 0; f < phases; f++)
                for (int64_t j = 0; j < b; j++) {
                    int64_t row = transposed ? q * a + i : i, column = (transposed ? f : q) * b + j;
                    memcpy(to + (size_t)(row * dims[1] + column) * filter,
                           (const char *)t->data +
                               (size_t)((i * b + j) * taps + tap[q * phases + f]) * filter,
                           filter);
                }
    return constant_new(p->g, &made, w->name);
}

static struct value *dense_weights(struct rewriter *p, struct node *n, struct value *w)
{
    struct builder b = builder_before(n, p->d);
    const dim_t *v = w->type.dims;
    int64_t *tap = ARENA_ARRAY(&p->g->arena, int64_t, (size_t)v[2]);
    for (int64_t i = 0; i < v[2]; i++)
        tap[i] = i;
    if (w->constant)
        return arranged(p, w, tap, v[2], 1, false);
    struct value *transposed = b_permute(&b, w, (int64_t[]){0, 2, 1, 3, 4});
    return b_reshape_to(&b, transposed, (int64_t[]){v[0], v[2] * v[1], v[3], v[4]}, 4);
}

static bool convolve(struct rewriter *p, struct node *n)
{
    struct builder b = builder_before(n, p->d);
    struct value *w = n->in[1];
    struct attrs as = flat_attributes(p, n);
    struct depth_window d = window_of(p, n, w->type.dims[2]);
    bool grouped = attr_int(&n->attrs, "group", 1) > 1 && d.taps > 1;
    for (int i = 0; i < 3; i++)
        if (attr_int_at(&n->attrs, "lhs_dilation", i, 1) != 1)
            return true;
    if (grouped && (!w->constant || n->out[0]->type.dtype != DT_F32))
        return true; /* sums are rounded to the result's type */
    struct value *x = padded(p, n, n->in[0], d.begin, d.end), *y = NULL;
    if (!x)
        return false;
    why(p->o, n, "depth.conv", "a convolution of images, %s",
        grouped ? "summed over the depths of a window" : "the depths of a window as channels");
    if (!grouped) {
        struct value *flat = images(p, n, side_by_side(p, n, x, &d));
        y = like(p, n, flat, dense_weights(p, n, w), &as);
    }
    for (int64_t i = 0; grouped && i < d.taps; i++) {
        struct value *part = images(p, n, seen(p, n, x, &d, i));
        part = like(p, n, part, arranged(p, w, &i, 1, 1, false), &as);
        y = i ? b_add(&b, part, y) : part;
        if (!y)
            return false;
    }
    return node_replace(n, volumes(p, n, y, n->out[0]->type.dims[N], d.out));
}

/* Transposed: result depth stride * q + f, counted from the first before padding cuts, is the sum over depths q - j of
 * taps f + stride * j. */
struct depth_phases {
    int64_t stride, out, first, count, taps; /* values of q; phases f that have so many taps */
};

/* (number, q, height, width, f, channels). */
static struct value *transposed_phases(struct rewriter *p, struct node *n, const struct attrs *as,
                                       const struct depth_phases *v)
{
    struct builder b = builder_before(n, p->d);
    struct depth_window d = {.out = v->out, .taps = v->taps, .stride = 1, .dilation = 1};
    int64_t *tap = ARENA_ARRAY(&p->g->arena, int64_t, (size_t)(v->taps * v->count));
    for (int64_t q = 0; q < v->taps; q++)
        for (int64_t f = 0; f < v->count; f++)
            tap[q * v->count + f] = v->first + f + v->stride * (v->taps - 1 - q);
    struct value *x = padded(p, n, n->in[0], v->taps - 1, v->out - n->in[0]->type.dims[DEPTH]);
    struct value *flat = x ? images(p, n, side_by_side(p, n, x, &d)) : NULL;
    struct value *y = like(p, n, flat, arranged(p, n->in[1], tap, v->taps, v->count, true), as);
    if (!y)
        return NULL;
    dim_t number = n->out[0]->type.dims[N], known = dim_is_const(number) ? number : -1;
    const dim_t *dims = y->type.dims, channels = n->out[0]->type.dims[CHANNELS];
    return b_reshape_to(&b, y, (int64_t[]){known, v->out, dims[1], dims[2], v->count, channels}, 6);
}

/* All phases: those with one tap more come first, and where others have none they are zeros. */
static struct value *all_phases(struct rewriter *p, struct node *n, int64_t stride, int64_t out)
{
    struct builder b = builder_before(n, p->d);
    enum { PHASES = 4 };
    int64_t taps = n->in[1]->type.dims[2], more = taps % stride, min = taps / stride;
    struct depth_phases parts[] = {{stride, out, 0, more, min + 1}, {stride, out, more, stride - more, min}};
    struct attrs as = flat_attributes(p, n);
    attr_remove(&as, "kernel_shape");
    struct value *y[2] = {more ? transposed_phases(p, n, &as, &parts[0]) : NULL,
                          min ? transposed_phases(p, n, &as, &parts[1]) : NULL};
    if ((more && !y[0]) || (min && !y[1]))
        return NULL;
    if (!more)
        return y[1];
    if (min)
        return b_concat(&b, y, 2, PHASES);
    int64_t zeros[12] = {[6 + PHASES] = stride - more};
    return b_2(&b, OP_pad, y[0], constant_i64s(p->g, zeros, 12));
}

static bool convolve_transposed(struct rewriter *p, struct node *n)
{
    struct builder b = builder_before(n, p->d);
    int64_t stride = attr_int_at(&n->attrs, "strides", 0, 1), begin = attr_int_at(&n->attrs, "pads", 0, 0);
    int64_t out = n->out[0]->type.dims[DEPTH], places = (out + begin + stride - 1) / stride;
    if (!n->in[1]->constant || attr_int(&n->attrs, "group", 1) != 1 || begin < 0 ||
        attr_int_at(&n->attrs, "dilations", 0, 1) != 1 || attr_find(&n->attrs, "output_shape") ||
        attr_is(&n->attrs, "auto_pad", "SAME_UPPER") ||
        attr_is(&n->attrs, "auto_pad", "SAME_LOWER"))
        return true;
    why(p->o, n, "depth.conv-transpose", "a transposed convolution of images to %lld depths each",
        (long long)stride);
    struct value *y = all_phases(p, n, stride, places);
    if (!y)
        return false;
    dim_t number = n->out[0]->type.dims[N], known = dim_is_const(number) ? number : -1;
    dim_t height = y->type.dims[2], width = y->type.dims[3], channels = y->type.dims[5];
    y = b_permute(&b, y, (int64_t[]){0, 1, 4, 2, 3, 5});
    y = b_reshape_to(&b, y, (int64_t[]){known, places * stride, height, width, channels}, RANK);
    return node_replace(n, depths(p, n, y, begin, out, 1));
}

/* ---- pools ---- */

static bool pools_by_parts(const struct node *n)
{
    bool counted = attr_int(&n->attrs, "count_include_pad", 0) &&
                   attr_int(&n->attrs, "ceil_mode", 0); /* no product of numbers of places */
    return n->op == OP_max_pool || (n->in[0]->type.dtype == DT_F32 && !counted); /* means are rounded to the type */
}

static bool pools_along(const struct depth_window *d)
{
    return d->taps > 1 || d->stride > 1 || d->begin || d->end;
}

/* Of images, channels last, whose rows are the depths. */
static struct attrs attributes_along(struct rewriter *p, const struct node *n, const struct depth_window *d)
{
    struct arena *a = &p->g->arena;
    struct attrs along = attrs_copy(a, &n->attrs);
    attr_remove(&along, "auto_pad");
    attr_set_ints(a, &along, "kernel_shape", (int64_t[]){d->taps, 1}, 2);
    attr_set_ints(a, &along, "strides", (int64_t[]){d->stride, 1}, 2);
    attr_set_ints(a, &along, "dilations", (int64_t[]){d->dilation, 1}, 2);
    attr_set_ints(a, &along, "pads", (int64_t[]){d->begin, 0, d->end, 0}, 4);
    attr_set_int(a, &along, "channels_last", 1);
    return along;
}

/* Channels first, as pass layout leaves a pool that nothing follows: no element moves. Along the depth a plane's
 * places are the channels, and depths of channels are those of the pictures. */
static bool pool_planes(struct rewriter *p, struct node *n)
{
    struct builder b = builder_before(n, p->d);
    enum { FIRST_CHANNELS = 1, FIRST_DEPTH = 2, FIRST_HEIGHT = 3, FIRST_WIDTH = 4 };
    const dim_t *v = n->in[0]->type.dims, *y = n->out[0]->type.dims;
    struct depth_window d = window_along(p, n, FIRST_DEPTH, attr_int_at(&n->attrs, "kernel_shape", 0, 1));
    struct attrs as = flat_attributes(p, n), along = attributes_along(p, n, &d);
    struct dim_table *t = &p->g->dims;
    bool known = dim_is_const(v[N]);
    struct value *x = n->in[0];
    why(p->o, n, "depth.planes", "along the depth, then over planes");
    if (pools_along(&d)) {
        int64_t columns[] = {known ? dim_mul(t, v[N], v[FIRST_CHANNELS]) : -1, d.in, 1,
                             dim_mul(t, v[FIRST_HEIGHT], v[FIRST_WIDTH])};
        x = like(p, n, b_reshape_to(&b, x, columns, 4), NULL, &along);
    }
    int64_t planes[] = {known ? v[N] : -1, dim_mul(t, v[FIRST_CHANNELS], d.out), v[FIRST_HEIGHT], v[FIRST_WIDTH]};
    int64_t whole[] = {known ? v[N] : -1, y[FIRST_CHANNELS], y[FIRST_DEPTH], y[FIRST_HEIGHT], y[FIRST_WIDTH]};
    x = x ? like(p, n, b_reshape_to(&b, x, planes, 4), NULL, &as) : NULL;
    return node_replace(n, x ? b_reshape_to(&b, x, whole, RANK) : NULL);
}

static bool pool(struct rewriter *p, struct node *n)
{
    struct builder b = builder_before(n, p->d);
    struct depth_window d = window_of(p, n, attr_int_at(&n->attrs, "kernel_shape", 0, 1));
    struct attrs as = flat_attributes(p, n), along = attributes_along(p, n, &d);
    const dim_t *v = n->in[0]->type.dims;
    dim_t number = dim_is_const(v[N]) ? v[N] : -1;
    struct value *x = n->in[0];
    why(p->o, n, "depth.pool", "along the depth, then over images");
    if (pools_along(&d)) {
        int64_t columns[] = {number, v[DEPTH], dim_mul(&p->g->dims, v[HEIGHT], v[WIDTH]),
                             v[CHANNELS]};
        x = like(p, n, b_reshape_to(&b, x, columns, 4), NULL, &along);
        int64_t whole[] = {number, d.out, v[HEIGHT], v[WIDTH], v[CHANNELS]};
        x = b_reshape_to(&b, x, whole, RANK);
    }
    struct value *y = like(p, n, images(p, n, x), NULL, &as);
    return node_replace(n, volumes(p, n, y, n->out[0]->type.dims[N], d.out));
}

/* ---- what follows ---- */

static bool is_split(const struct value *v)
{
    const struct node *n = v && v->def && v->def->op == OP_reshape ? v->def : NULL;
    const struct type *x = n ? &n->in[0]->type : NULL;
    return n && is_volume(&v->type) && x->rank == 4 &&
           !memcmp(x->dims + 1, v->type.dims + 2, 3 * sizeof *x->dims);
}

/* An operand of an elementwise operator over volumes of that type, as one over images; NULL when it
 * does not broadcast over them. */
static struct value *flat_operand(struct rewriter *p, struct node *n, struct value *v)
{
    const struct type *y = &n->out[0]->type;
    if (is_split(v))
        return v->def->in[0];
    if (v->type.kind != VK_TENSOR || v->type.rank < 0 || v->type.rank > RANK)
        return NULL;
    if (v->type.rank == RANK && !memcmp(v->type.dims, y->dims, sizeof *y->dims * RANK))
        return images(p, n, v);
    for (int i = 0; i < v->type.rank - 1; i++)
        if (v->type.dims[i] != 1)
            return NULL;
    if (v->type.rank < RANK)
        return v;
    if (!v->constant)
        return NULL;
    struct tensor same = *v->constant;
    same.rank = 1, same.dims[0] = v->constant->dims[RANK - 1];
    same.owned = false;
    return constant_new(p->g, &same, v->name);
}

static bool follow(struct rewriter *p, struct node *n)
{
    struct builder b = builder_before(n, p->d);
    struct value *in[8];
    bool any = false;
    if (n->nin > 8 || n->nout != 1 || !is_volume(&n->out[0]->type))
        return true;
    for (int i = 0; i < n->nin; i++)
        any |= is_split(n->in[i]) &&
               !memcmp(n->in[i]->type.dims, n->out[0]->type.dims, sizeof(dim_t) * RANK);
    for (int i = 0; any && i < n->nin; i++) {
        in[i] = n->in[i] ? flat_operand(p, n, n->in[i]) : NULL;
        if (n->in[i] && !in[i])
            return !diag_failed(p->d);
    }
    if (!any)
        return true;
    struct value *made = b_op(&b, n->op, in, n->nin, &n->attrs);
    const struct type *y = &n->out[0]->type;
    return made && node_replace(n, volumes(p, n, made, y->dims[N], y->dims[DEPTH]));
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    bool weights = n->op == OP_conv || n->op == OP_conv_transpose;
    if (op_infos[n->op].flags & OPF_ELEMENTWISE)
        return follow(p, n);
    bool pools = n->op == OP_max_pool || n->op == OP_average_pool;
    bool channels_last = attr_int(&n->attrs, "channels_last", 0);
    if (!(weights || pools) || !(channels_last || (pools && !p->o->strict_target)) || !is_volume(&n->in[0]->type) ||
        !is_volume(&n->out[0]->type) || (n->nout > 1 && n->out[1]->uses))
        return true;
    if (pools && !pools_by_parts(n))
        return true;
    if (weights && (!known_weights(&n->in[1]->type) || (n->nin > 2 && n->in[2])))
        return true;
    return n->op == OP_conv             ? convolve(p, n)
           : n->op == OP_conv_transpose ? convolve_transposed(p, n)
           : channels_last              ? pool(p, n)
                                        : pool_planes(p, n);
}

bool pass_depth(struct graph *g, const struct options *o, struct diag *d)
{
    if (!for_each_node(g->main, visit, &(struct rewriter){g, o, d}))
        return false;
    remove_dead(g); /* volumes that nobody reads */
    return true;
}
