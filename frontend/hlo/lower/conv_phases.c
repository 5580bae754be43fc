/* The operator, and convolutions of inputs with zeros between their elements. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/convolution.h"

static void window_attrs(struct hlo_lower *l, const struct hlo_convolution *c, struct attrs *a)
{
    int64_t v[4][HLO_MAX_RANK] = {{0}}, pads[2 * HLO_MAX_RANK];
    int n = c->spatial;
    for (int k = 0; k < n; k++) {
        const struct hlo_window_dim *w = &c->window->dims[k];
        v[0][k] = w->size;
        v[1][k] = w->stride;
        v[2][k] = w->rhs_dilate;
        v[3][k] = w->lhs_dilate;
        pads[k] = w->pad_low;
        pads[n + k] = w->pad_high;
    }
    attr_set_ints(&l->b->g->arena, a, "kernel_shape", v[0], n);
    attr_set_ints(&l->b->g->arena, a, "strides", v[1], n);
    attr_set_ints(&l->b->g->arena, a, "dilations", v[2], n);
    for (int k = 0; k < n; k++)
        if (v[3][k] != 1) {
            attr_set_ints(&l->b->g->arena, a, "lhs_dilation", v[3], n);
            break;
        }
    attr_set_ints(&l->b->g->arena, a, "pads", pads, 2 * n);
    h_set_int(l, a, "group", c->groups * c->batch_groups);
    h_set_int(l, a, "may_be_empty", 1);
    if (c->channels_last)
        h_set_int(l, a, "channels_last", 1);
}

struct value *conv_once(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                        struct value *w)
{
    struct attrs a = {0};
    window_attrs(l, c, &a);
    return b_op(l->b, OP_conv, (struct value *[]){x, w}, 2, &a);
}

/*
 * Along an axis whose input is dilated by s, places o = q * s + f of the result see the taps
 * first, first + s, ... of the kernel, at inputs q + shift and on: a convolution of its own for
 * each phase f, without the zeros between the elements.
 */
struct phase {
    int64_t first, taps, before, after; /* padding of that convolution */
};

enum { MAX_PHASES = 64 };

static int64_t dilated_output(const struct hlo_window_dim *w, int64_t n)
{
    int64_t full = (n - 1) * w->lhs_dilate + 1 + w->pad_low + w->pad_high;
    return full - ((w->size - 1) * w->rhs_dilate + 1) + 1;
}

/* Every phase gives `count` places, some of the last ones perhaps past the end. */
static struct phase phase_of(const struct hlo_window_dim *w, int64_t n, int64_t f, int64_t count)
{
    int64_t s = w->lhs_dilate, first = ((w->pad_low - f) % s + s) % s;
    struct phase p = {.first = first, .taps = w->size > first ? (w->size - first + s - 1) / s : 0};
    p.before = (w->pad_low - f - first) / s;
    p.after = count - n + p.taps - 1 - p.before;
    return p;
}

/* The convolution is one for each phase: along two or fewer spatial axes, of strides 1. */
bool conv_has_phases(const struct hlo_convolution *c, const struct value *x)
{
    int64_t phases = 1;
    for (int k = 0; k < c->spatial; k++) {
        const struct hlo_window_dim *w = &c->window->dims[k];
        int64_t n = x->type.dims[k + (c->channels_last ? 1 : 2)];
        if (w->stride != 1 || (w->rhs_dilate != 1 && w->lhs_dilate != 1) || !dim_is_const(n) ||
            n < 1 || dilated_output(w, n) < 1 || w->lhs_dilate > MAX_PHASES)
            return false;
        phases *= w->lhs_dilate;
    }
    return c->spatial <= 2 && phases > 1 && phases <= MAX_PHASES;
}

static struct value *every(struct hlo_lower *l, struct value *x, int axis, int64_t first,
                           int64_t step)
{
    int64_t at = axis, end = INT64_MAX;
    return b_op(l->b, OP_slice,
                (struct value *[]){x, b_i64s(l->b, &first, 1), b_i64s(l->b, &end, 1), b_i64s(l->b, &at, 1),
                                   b_i64s(l->b, &step, 1)},
                5, NULL);
}

/* The result of one phase of each axis: (n, count..., out_channels), or (n, out_channels, count...). */
static struct value *one_phase(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                               struct value *w, const int64_t *f, const int64_t *count)
{
    struct hlo_window_dim dims[2];
    struct hlo_window window = {.rank = c->spatial, .dims = dims};
    struct hlo_convolution part = *c;
    int64_t shape[HLO_MAX_RANK];
    int at = c->channels_last ? 1 : 2, rank = c->spatial + 2;
    bool none = false;
    shape[0] = x->type.dims[0];
    shape[c->channels_last ? rank - 1 : 1] = w->type.dims[0];
    for (int k = 0; k < c->spatial; k++) {
        dims[k] = c->window->dims[k];
        shape[at + k] = count[k];
        if (dims[k].lhs_dilate == 1)
            continue;
        struct phase p = phase_of(&dims[k], x->type.dims[at + k], f[k], count[k]);
        none |= p.taps == 0;
        if (p.taps == 0)
            continue;
        w = every(l, w, 2 + k, p.first, dims[k].lhs_dilate);
        dims[k] = (struct hlo_window_dim){.size = p.taps,
                                          .stride = 1,
                                          .pad_low = p.before,
                                          .pad_high = p.after,
                                          .lhs_dilate = 1,
                                          .rhs_dilate = 1};
    }
    part.window = &window;
    return none ? h_fill(l, b_scalar(l->b, b_dtype(x), 0), shape, rank)
                : conv_once(l, &part, x, w);
}

/* Axis `at` of y gets a dim of 1 behind it. */
static struct value *open_axis(struct hlo_lower *l, struct value *y, int at)
{
    int64_t dims[HLO_MAX_RANK + 1];
    if (!y)
        return NULL;
    for (int k = 0; k <= h_rank(y); k++)
        dims[k] = k <= at ? y->type.dims[k] : k == at + 1 ? 1 : y->type.dims[k - 1];
    return h_reshape(l, y, dims, h_rank(y) + 1);
}

/* The phases of spatial axis k and on, side by side. */
static struct value *phases_from(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                                 struct value *w, int k, int64_t *f, const int64_t *count)
{
    int at = k + (c->channels_last ? 1 : 2);
    struct value *part[MAX_PHASES];
    if (k == c->spatial)
        return one_phase(l, c, x, w, f, count);
    int64_t s = c->window->dims[k].lhs_dilate, n = x->type.dims[at];
    if (s == 1)
        return phases_from(l, c, x, w, k + 1, f, count);
    for (f[k] = 0; f[k] < s; f[k]++)
        part[f[k]] = open_axis(l, phases_from(l, c, x, w, k + 1, f, count), at);
    if (diag_failed(l->b->d))
        return NULL;
    struct value *y = h_concat(l, part, (int)s, at + 1);
    int64_t dims[HLO_MAX_RANK + 1];
    for (int i = 0; y && i < h_rank(y) - 1; i++)
        dims[i] = i < at ? y->type.dims[i] : i == at ? count[k] * s : y->type.dims[i + 1];
    y = y ? h_reshape(l, y, dims, h_rank(y) - 1) : NULL;
    return y ? h_slice(l, y, at, 0, dilated_output(&c->window->dims[k], n)) : NULL;
}

struct value *conv_by_phases(struct hlo_lower *l, const struct hlo_convolution *c,
                                     struct value *x, struct value *w)
{
    int64_t f[2] = {0}, count[2];
    for (int k = 0; k < c->spatial; k++) {
        const struct hlo_window_dim *d = &c->window->dims[k];
        int64_t n = x->type.dims[k + (c->channels_last ? 1 : 2)];
        count[k] = (dilated_output(d, n) + d->lhs_dilate - 1) / d->lhs_dilate;
    }
    return phases_from(l, c, x, w, 0, f, count);
}
