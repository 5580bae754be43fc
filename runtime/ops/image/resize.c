/*
 * resize, as ONNX Resize-19: one axis at a time. Along an axis each result place has a source
 * coordinate, and from it either the nearest index or taps with weights.
 */
#include "neff/core/resize.h"
#include "runtime/ops/common/maps.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IN_X, IN_ROI, IN_SCALES, IN_SIZES };

/* ---- shape ---- */

/* Axes that roi, scales and sizes speak of: all unless attribute `axes` names some. */
static bool resized_axes(struct diag *d, const struct attrs *attrs, int rank, int *axes, int *count)
{
    int given;
    const int64_t *list = attr_ints(attrs, "axes", &given);
    *count = attr_find(attrs, "axes") ? given : rank;
    if (*count > rank)
        return fail(d, "%d axes given for rank %d", *count, rank);
    for (int i = 0; i < *count; i++) {
        int64_t axis = list ? list[i] : i;
        if (axis < -rank || axis >= rank)
            return fail(d, "axis %lld is out of range for rank %d", (long long)axis, rank);
        axes[i] = (int)(axis < 0 ? axis + rank : axis);
    }
    return true;
}

/* floor(n * scale), the product in FP32 as exporters expect it: 5 times 1.4f is 7. Scales that are
 * fractions with a small power of two below keep symbols exact. */
static dim_t scaled(struct infer *f, dim_t n, double scale)
{
    if (dim_is_const(n))
        return (int64_t)fminf(floorf((float)n * (float)scale), 0x1p62f);
    for (int64_t below = 1; below <= 1024; below *= 2) {
        double above = scale * (double)below;
        if (above == floor(above) && above < 1e9)
            return dim_floordiv(f->dims, dim_mul(f->dims, n, (int64_t)above), below);
    }
    return infer_unknown(f, "resize");
}

/* One factor for all axes, so that no size, or every size, reaches what is asked for; 0 without
 * such a policy. */
static double common_scale(const struct attrs *attrs, int count, const double *factors)
{
    bool larger = attr_is(attrs, "keep_aspect_ratio_policy", "not_smaller");
    double scale = 0;
    if (!larger && !attr_is(attrs, "keep_aspect_ratio_policy", "not_larger"))
        return 0;
    for (int i = 0; i < count; i++)
        if (i == 0 || (larger ? factors[i] > scale : factors[i] < scale))
            scale = factors[i];
    return scale;
}

static bool sizes_shape(struct infer *f, int count, const int *axes, struct type *out)
{
    struct content sizes = infer_content(f, IN_SIZES);
    double factors[MAX_RANK] = {0}, scale;
    bool constant = sizes.n >= 0;
    if (sizes.n >= 0 && sizes.n != count)
        return fail(f->d, "%lld sizes for %d axes", (long long)sizes.n, count);
    for (int i = 0; i < count; i++) {
        dim_t n = f->in[0].dims[axes[i]];
        constant = constant && dim_is_const(sizes.v[i]) && dim_is_const(n);
        factors[i] = constant && n > 0 ? (double)sizes.v[i] / (double)n : 1;
    }
    scale = common_scale(f->attrs, count, factors);
    for (int i = 0; i < count; i++) {
        dim_t *dim = &out->dims[axes[i]];
        if (sizes.n < 0 || (scale != 0 && !constant))
            *dim = infer_unknown(f, "resize");
        else
            *dim = scale != 0 ? (int64_t)floor(scale * (double)*dim + 0.5) : sizes.v[i];
    }
    return true;
}

bool infer_resize(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type out = *x;
    int axes[MAX_RANK], count;
    bool has_sizes = has_input(f, IN_SIZES), has_scales = has_input(f, IN_SCALES);
    if (has_sizes == has_scales)
        return fail(f->d, "expected either scales or sizes");
    if (x->dtype == DT_STR && !attr_is(f->attrs, "mode", "nearest") && attr_find(f->attrs, "mode"))
        return fail(f->d, "strings are resized by the nearest element only");
    if (x->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    if (!resized_axes(f->d, f->attrs, x->rank, axes, &count))
        return false;
    if (has_sizes && !sizes_shape(f, count, axes, &out))
        return false;
    const struct tensor *scales = has_scales ? infer_tensor(f, IN_SCALES) : NULL;
    if (scales && tensor_count(scales) != count)
        return fail(f->d, "%lld scales for %d axes", (long long)tensor_count(scales), count);
    for (int i = 0; has_scales && i < count; i++) {
        double scale = scales ? tensor_f64(scales, i) : 1;
        if (!(scale > 0) || scale > 1e9)
            return fail(f->d, "scale %g of axis %d", scale, axes[i]);
        out.dims[axes[i]] =
            scales ? scaled(f, x->dims[axes[i]], scale) : infer_unknown(f, "resize");
    }
    for (int i = 0; i < out.rank; i++)
        if (dim_is_const(out.dims[i]) && (out.dims[i] < 0 || (x->dims[i] == 0 && out.dims[i] > 0)))
            return fail(f->d, "axis %d: from size %lld to %lld", i, (long long)x->dims[i],
                        (long long)out.dims[i]);
    for (int i = 0; i < out.rank; i++) /* nothing has no elements to make some of */
        if (dim_is_const(out.dims[i]) && out.dims[i] > 0 &&
            !require_at_most(f, 1, x->dims[i], named("elements to resize", 0, i)))
            return false;
    f->out[0] = out;
    return true;
}

/* ---- coordinates ---- */

enum filter { NEAREST, LINEAR, CUBIC, FILTERS };
static const char *const filter_names[] = {"nearest", "linear", "cubic"};
enum nearest { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, NEARESTS };
static const char *const nearest_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil"};

struct resize {
    int filter, nearest; /* enums above */
    bool antialias, exclude_outside;
    double cubic_a, outside;
    int axis;
    struct resized_axis line; /* along that */
};

static bool choice(struct op_call *c, const char *attr, const char *const *names, int n, int *out)
{
    struct str s = attr_str(c->attrs, attr, names[0]);
    for (*out = 0; *out < n; ++*out)
        if (strlen(names[*out]) == s.n && !memcmp(names[*out], s.p, s.n))
            return true;
    return fail(c->env->d, "%s is '%.*s', which is unknown", attr, (int)s.n, s.p);
}

static bool is_outside(const struct resize *r, double x)
{
    return r->line.coordinates == CROP_AND_RESIZE && (x < 0 || x > (double)(r->line.in - 1));
}

static int64_t clamp(double x, int64_t n)
{
    return !(x > 0) ? 0 : x > (double)(n - 1) ? n - 1 : (int64_t)x;
}

static int64_t nearest_index(const struct resize *r, double x)
{
    double below = floor(x), part = x - below;
    bool up = r->nearest == PREFER_FLOOR  ? part > 0.5
              : r->nearest == PREFER_CEIL ? part >= 0.5
                                          : r->nearest == CEIL && part > 0;
    return clamp(below + up, r->line.in);
}

/* ---- weights ---- */

/* Factor by which the filter is stretched, as a number to multiply distances with. */
static double shrink(const struct resize *r)
{
    return r->antialias && r->line.scale < 1 ? r->line.scale : 1;
}

/* Taps lie at floor(x) + 1 - half ... floor(x) + half. */
static int64_t half_taps(const struct resize *r)
{
    return (int64_t)ceil((r->filter == CUBIC ? 2 : 1) / shrink(r));
}

static double weight(const struct resize *r, double distance)
{
    double x = fabs(distance) * shrink(r), a = r->cubic_a;
    if (r->filter == LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Of one axis, one row per result place. */
struct taps {
    int64_t n; /* in a row */
    double *weight;
    int64_t *index;
    bool *outside; /* the place has the extrapolation value */
};

static void fill_weights(const struct resize *r, double x, int64_t half, double *w, int64_t *index)
{
    double below = floor(x), sum = 0;
    for (int64_t i = 0; i < 2 * half; i++) {
        double at = below + (double)(1 - half + i);
        bool inside = at >= 0 && at <= (double)(r->line.in - 1);
        w[i] = r->exclude_outside && !inside ? 0 : weight(r, at - x);
        index[i] = clamp(at, r->line.in);
        sum += w[i];
    }
    if ((r->exclude_outside || shrink(r) != 1) && sum != 0)
        for (int64_t i = 0; i < 2 * half; i++)
            w[i] /= sum;
}

static bool taps_make(const struct resize *r, struct taps *t, struct diag *d)
{
    int64_t half = half_taps(r);
    t->n = 2 * half;
    t->weight = malloc((size_t)(r->line.out * t->n + 1) * sizeof *t->weight);
    t->index = malloc((size_t)(r->line.out * t->n + 1) * sizeof *t->index);
    t->outside = malloc((size_t)r->line.out + 1);
    if (!t->weight || !t->index || !t->outside)
        return fail_memory(d, "out of memory");
    for (int64_t k = 0; k < r->line.out; k++) {
        double x = resized_source(&r->line, (double)k);
        t->outside[k] = is_outside(r, x);
        fill_weights(r, x, half, t->weight + k * t->n, t->index + k * t->n);
    }
    return true;
}

static void taps_free(struct taps *t)
{
    free(t->weight), free(t->index), free(t->outside);
}

/* ---- one axis ---- */

/* Taps without weight see nothing, not even what is no number. */
static double interpolated(const struct taps *t, int64_t k, const double *row)
{
    const double *w = t->weight + k * t->n;
    const int64_t *index = t->index + k * t->n;
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (w[i] != 0)
            sum += w[i] * row[index[i]];
    return sum;
}

/* The most frequent case: two taps, both with weight; false of others. */
static inline bool two_taps(const struct taps *t, int64_t k)
{
    return t->n == 2 && !t->outside[k] && t->weight[2 * k] != 0 && t->weight[2 * k + 1] != 0;
}

static void interpolate_row(const struct resize *r, const struct taps *t,
                            const double *restrict from, double *restrict to)
{
    for (int64_t k = 0; k < r->line.out; k++)
        if (two_taps(t, k))
            to[k] = 0 + t->weight[2 * k] * from[t->index[2 * k]] +
                    t->weight[2 * k + 1] * from[t->index[2 * k + 1]];
        else
            to[k] = t->outside[k] ? r->outside : interpolated(t, k, from);
}

/* from (outer, in, inner) to (outer, out, inner) */
static void interpolate(const struct resize *r, const struct taps *t, const double *restrict from,
                        double *restrict to, int64_t outer, int64_t inner)
{
    for (int64_t o = 0; o < outer && inner == 1; o++)
        interpolate_row(r, t, from + o * r->line.in, to + o * r->line.out);
    for (int64_t o = 0; o < outer && inner != 1; o++, from += r->line.in * inner)
        for (int64_t k = 0; k < r->line.out; k++, to += inner) {
            bool outside = t->outside[k];
            if (two_taps(t, k)) {
                const double *a = from + t->index[2 * k] * inner;
                const double *b = from + t->index[2 * k + 1] * inner;
                double wa = t->weight[2 * k], wb = t->weight[2 * k + 1];
                for (int64_t i = 0; i < inner; i++)
                    to[i] = 0 + wa * a[i] + wb * b[i];
                continue;
            }
            for (int64_t i = 0; i < inner; i++)
                to[i] = outside ? r->outside : 0;
            for (int64_t n = k * t->n; n < (k + 1) * t->n && !outside; n++) {
                const double *src = from + t->index[n] * inner;
                double w = t->weight[n];
                for (int64_t i = 0; w != 0 && i < inner; i++)
                    to[i] += w * src[i];
            }
        }
}

/* Scale and region of each axis; axes that stay as they are have `out` -1. */
static bool plan_axes(struct op_call *c, const struct resize *common, struct resize *plan)
{
    const struct tensor *x = c->in[0], *z = c->out[0];
    int axes[MAX_RANK], count;
    double factors[MAX_RANK] = {0};
    bool roi = common->line.coordinates == CROP_AND_RESIZE;
    int given = has_operand(c, IN_SCALES) ? IN_SCALES : IN_SIZES;
    if (!resized_axes(c->env->d, c->attrs, x->rank, axes, &count))
        return false;
    if (tensor_count(c->in[given]) != count)
        return fail(c->env->d, "%lld sizes or scales for %d axes",
                    (long long)tensor_count(c->in[given]), count);
    if (roi && (!has_operand(c, IN_ROI) || tensor_count(c->in[IN_ROI]) != 2 * count))
        return fail(c->env->d, "tf_crop_and_resize needs a region of %d numbers", 2 * count);
    for (int i = 0; i < x->rank; i++)
        plan[i].line.out = -1;
    for (int i = 0; i < count; i++) {
        double v = tensor_f64(c->in[given], i);
        factors[i] = given == IN_SCALES || x->dims[axes[i]] == 0 ? v : v / (double)x->dims[axes[i]];
    }
    double scale = given == IN_SIZES ? common_scale(c->attrs, count, factors) : 0;
    for (int i = 0; i < count; i++) {
        struct resize *r = &plan[axes[i]];
        *r = *common;
        r->axis = axes[i];
        r->line.scale = scale != 0 ? scale : factors[i];
        r->line.in = x->dims[axes[i]];
        r->line.out = z->dims[axes[i]];
        r->line.roi_start = roi ? tensor_f64(c->in[IN_ROI], i) : 0;
        r->line.roi_end = roi ? tensor_f64(c->in[IN_ROI], count + i) : 1;
        if (r->line.scale == 1 && r->line.in == r->line.out && r->line.roi_start == 0 &&
            r->line.roi_end == 1)
            r->line.out = -1;
    }
    return true;
}

/* Moves whole elements, so any type will do. */
static bool pick_nearest(struct op_call *c, const struct resize *plan)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    char outside[16] __attribute__((aligned(16))) = {0};
    int64_t stride[MAX_RANK];
    struct maps m;
    if (!maps_init(&m, z, c->env->d))
        return false;
    dense_strides(x->rank, x->dims, stride);
    for (int i = 0; i < x->rank; i++)
        for (int64_t k = 0; k < z->dims[i]; k++) {
            bool stays = plan[i].line.out < 0;
            double at = stays ? 0 : resized_source(&plan[i].line, (double)k);
            m.axis[i][k] = stays                       ? k * stride[i]
                           : is_outside(&plan[i], at) ? -1
                                                      : nearest_index(&plan[i], at) * stride[i];
            if (m.axis[i][k] < 0 && x->dtype != DT_STR)
                dtype_store_f64(x->dtype, outside, 0, plan[i].outside);
        }
    maps_move(z, x, &m, outside);
    free(m.block);
    return true;
}

struct slab { /* what lies within one index of the dims before the first resized one */
    int first, rank;
    int64_t count, in, out; /* slabs, elements of each */
    int64_t max;           /* between axes */
    bool bytes; /* as image libraries resize images of u8: the last axis first, rounded after each */
};

/* The axis that is resized in turn `n`. */
static int axis_in_turn(const struct slab *s, int n)
{
    return s->bytes ? s->rank - 1 - n : s->first + n;
}

static struct slab slab_of(const struct tensor *x, const struct tensor *z,
                           const struct resize *plan)
{
    struct slab s = {.rank = x->rank};
    int64_t dims[MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    while (s.first < x->rank && plan[s.first].line.out < 0)
        s.first++;
    s.bytes = x->dtype == DT_U8 && s.first < x->rank && plan[s.first].antialias;
    s.count = dims_product(x->dims, 0, s.first);
    s.max = s.in = dims_product(x->dims, s.first, x->rank);
    s.out = dims_product(z->dims, s.first, x->rank);
    for (int n = 0; n < x->rank - s.first; n++) {
        int i = axis_in_turn(&s, n);
        dims[i] = plan[i].line.out < 0 ? dims[i] : plan[i].line.out;
        int64_t now = dims_product(dims, s.first, x->rank);
        s.max = now > s.max ? now : s.max;
    }
    return s;
}

/* The weights of image libraries are whole numbers of 2^-22, */
static void round_weights(struct taps *t, int64_t places)
{
    const double unit = 1 << 22;
    for (int64_t i = 0; i < places * t->n; i++)
        t->weight[i] = trunc(t->weight[i] * unit + copysign(0.5, t->weight[i])) / unit;
}

/* and halves of a sum are rounded upwards. */
static void round_bytes(double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double whole = floor(v[i] + 0.5);
        v[i] = whole < 0 ? 0 : whole > UINT8_MAX ? UINT8_MAX : whole;
    }
}

/* In two buffers by turns, which stay in a cache where slabs are small. */
static void interpolate_slabs(struct op_call *c, const struct resize *plan, const struct taps *taps,
                              const struct slab *s, double *buffer)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    for (int64_t n = 0; n < s->count; n++) {
        double *from = buffer, *to = buffer + s->max;
        int64_t dims[MAX_RANK];
        memcpy(dims, x->dims, sizeof dims);
        dtype_load_f64n(x->dtype, element(x, n * s->in), (size_t)s->in, from);
        for (int turn = 0; turn < s->rank - s->first; turn++) {
            int i = axis_in_turn(s, turn);
            if (plan[i].line.out < 0)
                continue;
            interpolate(&plan[i], &taps[i], from, to, dims_product(dims, s->first, i),
                        dims_product(dims, i + 1, s->rank));
            dims[i] = plan[i].line.out;
            if (s->bytes)
                round_bytes(to, dims_product(dims, s->first, s->rank));
            double *swap = from;
            from = to, to = swap;
        }
        for (int64_t i = 0; !dtype_is_float(z->dtype) && i < s->out; i++)
            from[i] = nearbyint(from[i]);
        dtype_store_f64n(z->dtype, element(z, n * s->out), (size_t)s->out, from);
    }
}

static bool interpolate_axes(struct op_call *c, const struct resize *plan)
{
    const struct tensor *x = c->in[0], *z = c->out[0];
    struct taps taps[MAX_RANK] = {{0}};
    struct slab s = slab_of(x, z, plan);
    double *buffer = malloc((size_t)s.max * 2 * sizeof *buffer + 1);
    bool ok = buffer || fail_memory(c->env->d, "out of memory");
    for (int i = 0; ok && i < x->rank; i++)
        ok = plan[i].line.out < 0 || taps_make(&plan[i], &taps[i], c->env->d);
    for (int i = 0; ok && s.bytes && i < x->rank; i++)
        if (plan[i].line.out >= 0)
            round_weights(&taps[i], plan[i].line.out);
    if (ok)
        interpolate_slabs(c, plan, taps, &s, buffer);
    for (int i = 0; i < x->rank; i++)
        taps_free(&taps[i]);
    free(buffer);
    return ok;
}

bool eval_resize(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    struct resize plan[MAX_RANK], common = {
                                      .antialias = attr_int(c->attrs, "antialias", 0),
                                      .exclude_outside = attr_int(c->attrs, "exclude_outside", 0),
                                      .cubic_a = attr_float(c->attrs, "cubic_coeff_a", -0.75),
                                      .outside = attr_float(c->attrs, "extrapolation_value", 0),
                                  };
    if (!choice(c, "coordinate_transformation_mode", coordinate_names, COORDINATES,
                &common.line.coordinates) ||
        !choice(c, "mode", filter_names, FILTERS, &common.filter) ||
        !choice(c, "nearest_mode", nearest_names, NEARESTS, &common.nearest))
        return false;
    bool moves = common.line.single = common.filter == NEAREST;
    if (!plan_axes(c, &common, plan))
        return false;
    if (!moves && (dtype_is_complex(x->dtype) || x->dtype == DT_STR))
        return fail(c->env->d, "element type %s cannot be interpolated", dtype_name(x->dtype));
    if (tensor_count(z) == 0)
        return true;
    if (tensor_count(x) == 0)
        return fail(c->env->d, "nothing to resize to %lld elements", (long long)tensor_count(z));
    return (moves ? pick_nearest(c, plan) : interpolate_axes(c, plan)) && own_strings(c, 0);
}
