#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */

static bool is_channels_last(const struct attrs *as)
{
    return attr_int(as, "channels_last", 0) != 0;
}

static bool check_ranks(struct infer *f)
{
    int rank = f->in[0].rank;
    if (rank < 2)
        return fail(f->d, "%s has x of rank %d, expected 2 or more", op_name(f->op), rank);
    if (f->in[1].rank != rank)
        return fail(f->d, "%s has a weight of rank %d, expected %d as x has", op_name(f->op),
                    f->in[1].rank, rank);
    return true;
}

static void spatial_dims(struct window *w, const struct type *x, const struct type *weight,
                         bool last)
{
    w->n = x->rank - 2;
    for (int i = 0; i < w->n; i++) {
        w->in[i] = x->dims[spatial_axis(i, last)];
        w->kernel[i] = weight->dims[2 + i];
    }
}

static bool infer_image(struct infer *f, int dtype, dim_t channels, const struct window *w,
                        bool last)
{
    dim_t dims[MAX_RANK];
    dims[0] = f->in[0].dims[0];
    dims[channel_axis(w->n + 2, last)] = channels;
    for (int i = 0; i < w->n; i++)
        dims[spatial_axis(i, last)] = w->out[i];
    return infer_out(f, 0, dtype, w->n + 2, dims);
}

static bool infer_conv_as(struct infer *f, int dtype)
{
    struct window w;
    if (!rank_known(f, 0) || !rank_known(f, 1))
        return infer_any(f, 0, dtype);
    if (!check_ranks(f))
        return false;
    const struct type *x = &f->in[0], *weight = &f->in[1];
    bool last = is_channels_last(f->attrs);
    int64_t group = attr_int(f->attrs, "group", 1);
    dim_t channels = x->dims[channel_axis(x->rank, last)], m = weight->dims[0];
    if (group < 1)
        return fail(f->d, "group is %lld, expected 1 or more", (long long)group);
    if (!require_equal(f, channels, dim_mul(f->dims, weight->dims[1], group),
                       named("channels of x and weight", -1, channel_axis(x->rank, last))) ||
        !require_multiple(f, m, group, named("output channels by groups", -1, 0)))
        return false;
    spatial_dims(&w, x, weight, last);
    int bias = f->op == OP_conv ? 2 : f->op == OP_conv_integer ? 4 : f->nin;
    if (!infer_vector(f, bias, m) || !window_make(&w, f->dims, f->attrs, f->d, false) ||
        !window_has_room(&w, f->dims, f->d) || !require_windows(f, &w, 1, last))
        return false;
    return infer_image(f, dtype, m, &w, last);
}

bool infer_conv(struct infer *f)
{
    return infer_conv_as(f, (int)attr_int(f->attrs, "out_dtype", f->in[0].dtype));
}

bool infer_conv_integer(struct infer *f)
{
    return infer_conv_as(f, DT_I32);
}

/* ---- convolution: for a panel of output positions, weights (M,C*taps) by unfolded input ---- */

struct conv_call {
    struct window window;
    struct image x, y;
    int64_t groups, taps, k; /* k: channels of a group * taps */
    const double *data, *weight, *bias;
    const float *floats;           /* instead of data: x as it is */
    const struct tensor *weights;  /* instead of weight: some rows at a time */
    double *rows;                  /* these */
    int64_t *at;   /* (taps, PANEL) input positions */
    double *panel; /* (k, PANEL) */
};

static void unfold(const struct conv_call *v, int64_t n, int64_t group, int64_t count)
{
    int64_t channels = v->taps ? v->k / v->taps : 0;
    double *to = v->panel;
    for (int64_t ch = 0; ch < channels; ch++) {
        int64_t start = n * v->x.image + (group * channels + ch) * v->x.channel;
        const double *from = v->data ? v->data + start : NULL;
        const float *floats = v->data ? NULL : v->floats + start;
        const int64_t *at = v->at;
        for (int64_t t = 0; t < v->taps; t++, at += count, to += PANEL)
            for (int64_t p = 0; p < count; p++)
                to[p] = at[p] < 0 ? 0 : from ? from[at[p] * v->x.pixel] : (double)floats[at[p] * v->x.pixel];
    }
}

static void put_row(struct tensor *out, const struct conv_call *v, int64_t n, int64_t m, int64_t first,
                    int64_t count, const double *row)
{
    int64_t at = n * v->y.image + m * v->y.channel + first * v->y.pixel;
    if (!dtype_is_float(out->dtype))
        for (int64_t p = 0; p < count; p++)
            dtype_store_i64(out->dtype, out->data, (size_t)(at + p * v->y.pixel), (int64_t)row[p]);
    else if (v->y.pixel == 1)
        dtype_store_f64n(out->dtype, element(out, at), (size_t)count, row);
    else
        for (int64_t p = 0; p < count; p++)
            dtype_store_f64(out->dtype, out->data, (size_t)(at + p * v->y.pixel), row[p]);
}

static void convolve_panel(struct tensor *out, const struct conv_call *v, int64_t n, int64_t group,
                           int64_t first, int64_t count)
{
    int64_t per_group = v->y.channels / v->groups;
    double acc[PANEL_ROWS][PANEL];
    for (int64_t i = 0; i < per_group; i += PANEL_ROWS) {
        int64_t m = group * per_group + i;
        int rows = per_group - i < PANEL_ROWS ? (int)(per_group - i) : PANEL_ROWS;
        const double *weight = v->weight ? v->weight + m * v->k : v->rows;
        if (!v->weight)
            dtype_load_f64n(v->weights->dtype, element(v->weights, m * v->k), (size_t)(rows * v->k), v->rows);
        panel_f64(weight, v->k, rows, v->k, v->panel, acc);
        for (int r = 0; r < rows; r++) {
            for (int64_t p = 0; v->bias && p < count; p++)
                acc[r][p] += v->bias[m + r];
            put_row(out, v, n, m + r, first, count, acc[r]);
        }
    }
}

static bool convolve(struct op_call *c, struct work *w, struct conv_call *v)
{
    struct tensor *out = c->out[0];
    const struct tensor *x = c->in[0], *weight = c->in[1];
    bool last = is_channels_last(c->attrs);
    struct type type_x = type_tensor(x->dtype, x->rank, x->dims);
    struct type type_w = type_tensor(weight->dtype, weight->rank, weight->dims);
    spatial_dims(&v->window, &type_x, &type_w, last);
    if (!window_make(&v->window, NULL, c->attrs, w->d, false))
        return false;
    v->x = image_of(x, last);
    v->y = image_of(out, last);
    v->groups = attr_int(c->attrs, "group", 1);
    v->taps = window_taps(&v->window);
    v->k = weight->dims[1] * v->taps;
    if (v->x.channels != weight->dims[1] * v->groups)
        return fail(w->d, "x has %lld channels, the weight expects %lld", (long long)v->x.channels,
                    (long long)(weight->dims[1] * v->groups));
    v->at = WORK(w, int64_t, v->taps * PANEL);
    v->panel = WORK(w, double, v->k *PANEL);
    v->rows = WORK(w, double, v->k *PANEL_ROWS);
    if (!v->at || !v->panel || !v->rows)
        return false;
    for (int64_t first = 0; first < v->y.positions; first += PANEL) {
        int64_t count = v->y.positions - first < PANEL ? v->y.positions - first : PANEL;
        window_positions(&v->window, first, count, v->at);
        for (int64_t n = 0; n < v->y.n; n++)
            for (int64_t g = 0; g < v->groups; g++) {
                unfold(v, n, g, count);
                convolve_panel(out, v, n, g, first, count);
            }
    }
    return true;
}

static bool conv(struct op_call *c, struct work *w)
{
    double *bias;
    if (!work_optional(c, w, 2, &bias))
        return false;
    const struct tensor *x = c->in[0];
    struct conv_call v = {.weights = c->in[1], .bias = bias};
    if (x->dtype == DT_F32 && tensor_count(x))
        v.floats = x->data;
    else
        v.data = work_doubles(w, x);
    return (v.floats || v.data) && convolve(c, w, &v);
}

EVAL_WITH_WORK(conv)

/* x and w as double with zero points (of the layer, of each output channel) taken off. */
static bool load_integers(struct op_call *c, struct work *w, const struct tensor *zero_x,
                          const struct tensor *zero_w, struct conv_call *v)
{
    double *data = work_doubles(w, c->in[0]), *weight = work_doubles(w, c->in[1]);
    int64_t nx = tensor_count(c->in[0]), nw = tensor_count(c->in[1]), m = c->in[1]->dims[0];
    int64_t count_x = zero_x ? tensor_count(zero_x) : 1,
            count_w = zero_w ? tensor_count(zero_w) : 1;
    if (!data || !weight)
        return false;
    if (count_x != 1 || (count_w != 1 && count_w != m))
        return fail(w->d, "zero points have %lld and %lld elements, expected 1 and 1 or %lld",
                    (long long)count_x, (long long)count_w, (long long)m);
    for (int64_t i = 0; zero_x && i < nx; i++)
        data[i] -= tensor_f64(zero_x, 0);
    for (int64_t i = 0; zero_w && i < nw; i++)
        weight[i] -= tensor_f64(zero_w, count_w == 1 ? 0 : i / (nw / m));
    *v = (struct conv_call){.data = data, .weight = weight};
    return true;
}

static bool conv_integer(struct op_call *c, struct work *w)
{
    struct conv_call v;
    double *bias;
    if (!work_optional(c, w, 4, &bias) || !load_integers(c, w, has_operand(c, 2) ? c->in[2] : NULL,
                                                         has_operand(c, 3) ? c->in[3] : NULL, &v))
        return false;
    if (bias && tensor_count(c->in[4]) != c->in[1]->dims[0])
        return fail(w->d, "bias has %lld elements, expected %lld",
                    (long long)tensor_count(c->in[4]), (long long)c->in[1]->dims[0]);
    v.bias = bias;
    return convolve(c, w, &v);
}

EVAL_WITH_WORK(conv_integer)

/* ---- qlinear_conv: x and w, each with scale and zero point, then those of y, bias? ---- */

bool infer_qlinear_conv(struct infer *f)
{
    struct infer g = *f;
    struct type in[] = {f->in[0], f->in[3]};
    g.in = in;
    g.nin = 2;
    return infer_conv_as(&g, f->in[7].dtype);
}

static bool qlinear_conv(struct op_call *c, struct work *w)
{
    struct tensor *in[] = {c->in[0], c->in[3]}, *out = c->out[0], sums, *sums_list[] = {&sums};
    struct op_call sub = *c;
    struct conv_call v;
    double *bias;
    int64_t nscales = tensor_count(c->in[4]);
    sub.in = in;
    sub.nin = 2;
    sub.out = sums_list;
    sums = tensor_view(DT_F64, out->rank, out->dims, WORK(w, double, tensor_count(out)));
    if (!sums.data || !work_optional(c, w, 8, &bias) ||
        !load_integers(&sub, w, c->in[2], c->in[5], &v))
        return false;
    if ((nscales != 1 && nscales != in[1]->dims[0]) || tensor_count(c->in[1]) != 1 ||
        tensor_count(c->in[6]) != 1 || (bias && tensor_count(c->in[8]) != in[1]->dims[0]))
        return fail(w->d, "scales or bias of qlinear_conv do not fit %lld output channels",
                    (long long)in[1]->dims[0]);
    v.bias = bias;
    if (!convolve(&sub, w, &v))
        return false;
    float x_scale = (float)tensor_f64(c->in[1], 0), y_scale = (float)tensor_f64(c->in[6], 0);
    double zero = tensor_f64(c->in[7], 0);
    const double *y = sums.data;
    for (int64_t i = 0; i < tensor_count(out); i++) {
        int64_t m = i / v.y.channel % v.y.channels;
        float w_scale = (float)tensor_f64(c->in[4], nscales == 1 ? 0 : m);
        double x = requantized(y[i], x_scale, w_scale, y_scale) + zero;
        dtype_store_f64(out->dtype, out->data, (size_t)i, clamp_to_type(out->dtype, x));
    }
    return true;
}

EVAL_WITH_WORK(qlinear_conv)

/* ---- transposed convolution: each input position adds the kernel, scaled, to the output ---- */

/*
 * The window that runs over the OUTPUT: w->in is the output's spatial dims, w->out the input's.
 * Padding comes from pads, or from auto_pad and output_shape.
 */
static bool transposed_window(struct window *w, struct dim_table *t, const struct attrs *as,
                              struct diag *d, const struct type *x, const struct type *weight,
                              bool last)
{
    struct attrs plain = {0};
    struct attr kept[2];
    const struct attr *strides = attr_find(as, "strides"), *dilations = attr_find(as, "dilations");
    int n_adjust, n_shape, n_pads;
    const int64_t *adjust = attr_ints(as, "output_padding", &n_adjust);
    const int64_t *shape = attr_ints(as, "output_shape", &n_shape);
    const int64_t *pads = attr_ints(as, "pads", &n_pads);
    bool upper = attr_is(as, "auto_pad", "SAME_UPPER"),
         lower = attr_is(as, "auto_pad", "SAME_LOWER");
    plain.list = kept;
    if (strides)
        kept[plain.count++] = *strides;
    if (dilations)
        kept[plain.count++] = *dilations;
    spatial_dims(w, x, weight, last);
    if (!window_make(w, t, &plain, d, false))
        return false;
    if (shape && n_shape == w->n + 2) { /* some exporters give N and C too */
        shape += 2;
        n_shape -= 2;
    }
    if ((adjust && n_adjust != w->n) || (shape && n_shape != w->n) || (pads && n_pads != 2 * w->n))
        return fail(d, "output_padding, output_shape or pads does not fit %d spatial dims", w->n);
    for (int i = 0; i < w->n; i++) {
        dim_t in = w->in[i], extra = adjust ? adjust[i] : 0;
        dim_t extent = dim_add(t, dim_mul(t, dim_sub(t, w->kernel[i], 1), w->dilation[i]), 1);
        dim_t full =
            dim_add(t, dim_mul(t, dim_sub(t, in, 1), w->stride[i]), dim_add(t, extent, extra));
        dim_t out;
        if (shape || upper || lower) {
            out = shape ? shape[i] : dim_mul(t, in, w->stride[i]);
            dim_t total = dim_max(t, 0, dim_sub(t, full, out));
            dim_t small = dim_floordiv(t, total, 2), large = dim_sub(t, total, small);
            w->begin[i] = upper ? small : large;
            w->end[i] = upper ? large : small;
        } else {
            w->begin[i] = pads ? pads[i] : 0;
            w->end[i] = pads ? pads[i + w->n] : 0;
            out = dim_sub(t, full, dim_add(t, w->begin[i], w->end[i]));
        }
        w->out[i] = in;
        w->in[i] = out;
    }
    return true;
}

bool infer_conv_transpose(struct infer *f)
{
    struct window w;
    if (!rank_known(f, 0) || !rank_known(f, 1))
        return infer_any(f, 0, f->in[0].dtype);
    if (!check_ranks(f))
        return false;
    const struct type *x = &f->in[0], *weight = &f->in[1];
    bool last = is_channels_last(f->attrs);
    int64_t group = attr_int(f->attrs, "group", 1);
    dim_t channels = x->dims[channel_axis(x->rank, last)];
    if (group < 1)
        return fail(f->d, "group is %lld, expected 1 or more", (long long)group);
    dim_t out_channels = dim_mul(f->dims, weight->dims[1], group);
    if (!require_equal(f, channels, weight->dims[0],
                       named("channels of x and weight", -1, channel_axis(x->rank, last))) ||
        !require_multiple(f, channels, group, named("channels by groups", -1, 0)) ||
        !infer_vector(f, 2, out_channels))
        return false;
    if (!transposed_window(&w, f->dims, f->attrs, f->d, x, weight, last))
        return false;
    for (int i = 0; i < w.n; i++)
        w.out[i] = w.in[i];
    int dtype = (int)attr_int(f->attrs, "out_dtype", x->dtype);
    return infer_image(f, dtype, out_channels, &w, last);
}

struct transposed {
    struct image x, y;
    int64_t taps, in_group, out_group; /* channels of a group */
    const double *data, *weight;
    const int64_t *at; /* (taps, PANEL) output positions of input positions first... */
    double *sums;      /* all of y, as y lies in memory */
};

static void spread(const struct transposed *v, int64_t n, int64_t channel, int64_t first,
                   int64_t count)
{
    int64_t group = channel / v->in_group;
    const double *from = v->data + n * v->x.image + channel * v->x.channel + first * v->x.pixel;
    for (int64_t m = 0; m < v->out_group; m++) {
        const double *kernel = v->weight + (channel * v->out_group + m) * v->taps;
        double *to = v->sums + n * v->y.image + (group * v->out_group + m) * v->y.channel;
        for (int64_t t = 0; t < v->taps; t++)
            for (int64_t p = 0; p < count; p++) {
                int64_t at = v->at[t * count + p];
                if (at >= 0)
                    to[at * v->y.pixel] += kernel[t] * from[p * v->x.pixel];
            }
    }
}

static bool conv_transpose(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *weight = c->in[1];
    struct tensor *out = c->out[0];
    struct window window;
    bool last = is_channels_last(c->attrs);
    struct type type_x = type_tensor(x->dtype, x->rank, x->dims);
    struct type type_w = type_tensor(weight->dtype, weight->rank, weight->dims);
    double *bias;
    if (!transposed_window(&window, NULL, c->attrs, w->d, &type_x, &type_w, last) ||
        !work_optional(c, w, 2, &bias))
        return false;
    int64_t taps = window_taps(&window), group = attr_int(c->attrs, "group", 1);
    int64_t *at = WORK(w, int64_t, taps * PANEL);
    struct transposed v = {image_of(x, last),
                           image_of(out, last),
                           taps,
                           x->dims[0],
                           weight->dims[1],
                           work_doubles(w, x),
                           work_doubles(w, weight),
                           at,
                           WORK(w, double, tensor_count(out))};
    v.in_group = v.x.channels / group;
    if (!at || !v.data || !v.weight || !v.sums)
        return false;
    if (v.x.channels != weight->dims[0])
        return fail(w->d, "x has %lld channels, the weight expects %lld", (long long)v.x.channels,
                    (long long)weight->dims[0]);
    for (int64_t first = 0; first < v.x.positions; first += PANEL) {
        int64_t count = v.x.positions - first < PANEL ? v.x.positions - first : PANEL;
        window_positions(&window, first, count, at);
        for (int64_t n = 0; n < v.x.n; n++)
            for (int64_t ch = 0; ch < v.x.channels; ch++)
                spread(&v, n, ch, first, count);
    }
    for (int64_t n = 0; bias && n < v.y.n; n++)
        for (int64_t m = 0; m < v.y.channels; m++)
            for (int64_t p = 0; p < v.y.positions; p++)
                v.sums[n * v.y.image + m * v.y.channel + p * v.y.pixel] += bias[m];
    call_store(c, 0, v.sums);
    return true;
}

EVAL_WITH_WORK(conv_transpose)
