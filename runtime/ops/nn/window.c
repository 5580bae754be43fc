#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <string.h>

/* The attribute's value for each spatial dim, or 1 for all. */
static bool each_dim(const struct window *w, const struct attrs *as, const char *name, dim_t *out, struct diag *d)
{
    int n;
    const int64_t *v = attr_ints(as, name, &n);
    if (v && n != w->n)
        return fail(d, "%s has %d values, expected %d, one for each spatial dim", name, n, w->n);
    for (int i = 0; i < w->n; i++) {
        out[i] = v ? v[i] : 1;
        if (out[i] < 1 || out[i] > INT32_MAX)
            return fail(d, "%s has %lld, expected at least 1", name, (long long)out[i]);
    }
    return true;
}

static bool explicit_pads(struct window *w, const struct attrs *as, struct diag *d)
{
    int n;
    const int64_t *v = attr_ints(as, "pads", &n);
    if (v && n != 2 * w->n)
        return fail(d, "pads has %d values, expected %d", n, 2 * w->n);
    for (int i = 0; i < w->n; i++) {
        w->begin[i] = v ? v[i] : 0;
        w->end[i] = v ? v[i + w->n] : 0;
        if (w->begin[i] < INT32_MIN || w->begin[i] > INT32_MAX || w->end[i] < INT32_MIN ||
            w->end[i] > INT32_MAX)
            return fail(d, "pads has a value past 32 bits");
    }
    return true;
}

/* Padding that makes the result ceil(in / stride) long; the odd one at the end unless `lower`. */
static void same_pads(struct window *w, struct dim_table *t, int i, dim_t in, dim_t extent,
                      bool lower)
{
    w->out[i] = dim_ceildiv(t, in, w->stride[i]);
    dim_t needed = dim_add(t, dim_mul(t, dim_sub(t, w->out[i], 1), w->stride[i]), extent);
    dim_t total = dim_max(t, 0, dim_sub(t, needed, in));
    dim_t small = dim_floordiv(t, total, 2), large = dim_sub(t, total, small);
    w->begin[i] = lower ? large : small;
    w->end[i] = lower ? small : large;
}

dim_t window_extent(const struct window *w, struct dim_table *t, int i)
{
    return dim_add(t, dim_mul(t, dim_sub(t, w->kernel[i], 1), w->dilation[i]), 1);
}

dim_t window_padded(const struct window *w, struct dim_table *t, int i)
{
    return dim_add(t, w->in[i], dim_add(t, w->begin[i], w->end[i]));
}

bool window_make(struct window *w, struct dim_table *t, const struct attrs *as, struct diag *d,
                 bool ceil_mode)
{
    bool upper = attr_is(as, "auto_pad", "SAME_UPPER"),
         lower = attr_is(as, "auto_pad", "SAME_LOWER");
    bool valid = attr_is(as, "auto_pad", "VALID");
    bool may_be_empty = attr_int(as, "may_be_empty", 0) != 0;
    w->short_of = -1;
    memset(w->begin, 0, sizeof w->begin);
    memset(w->end, 0, sizeof w->end);
    if (!each_dim(w, as, "strides", w->stride, d) ||
        !each_dim(w, as, "dilations", w->dilation, d) ||
        !each_dim(w, as, "lhs_dilation", w->lhs_dilation, d))
        return false;
    if (!upper && !lower && !valid && !explicit_pads(w, as, d))
        return false;
    for (int i = 0; i < w->n; i++) {
        dim_t in = w->in[i];
        if (w->lhs_dilation[i] != 1)
            in = dim_max(t, 0, dim_add(t, dim_mul(t, dim_sub(t, in, 1), w->lhs_dilation[i]), 1));
        dim_t extent = window_extent(w, t, i);
        if (upper || lower) {
            same_pads(w, t, i, in, extent, lower);
        } else {
            dim_t padded = dim_add(t, in, dim_add(t, w->begin[i], w->end[i]));
            dim_t room = dim_sub(t, padded, extent);
            w->out[i] = dim_add(t, dim_floordiv(t, room, w->stride[i]), 1);
            if (ceil_mode) /* the last window starts before the padding at the end */
                w->out[i] = dim_min(t, dim_add(t, dim_ceildiv(t, room, w->stride[i]), 1),
                                    dim_ceildiv(t, dim_add(t, in, w->begin[i]), w->stride[i]));
        }
        if (!dim_is_const(w->out[i]))
            w->out[i] = may_be_empty ? dim_max(t, w->out[i], 0) : w->out[i];
        else if (w->out[i] < 0)
            w->out[i] = 0, w->short_of = may_be_empty ? -1 : i;
    }
    return true;
}

bool window_has_room(const struct window *w, struct dim_table *t, struct diag *d)
{
    int i = w->short_of;
    if (i < 0)
        return true;
    return fail(d,
                "a window of %lld elements is larger than the image in spatial dim %d, which has %lld with its padding",
                (long long)window_extent(w, t, i), i, (long long)window_padded(w, t, i));
}

bool require_windows(struct infer *f, const struct window *w, int64_t least_stride, bool last)
{
    bool same = attr_is(f->attrs, "auto_pad", "SAME_UPPER") || attr_is(f->attrs, "auto_pad", "SAME_LOWER");
    bool may_be_empty = attr_int(f->attrs, "may_be_empty", 0) != 0;
    for (int i = 0; i < w->n && !may_be_empty; i++) {
        dim_t least = same ? 1 : window_extent(w, f->dims, i);
        dim_t padded = same ? w->in[i] : window_padded(w, f->dims, i);
        bool one = window_extent(w, f->dims, i) == 1 && (same || (w->begin[i] >= 0 && w->end[i] >= 0));
        struct site at = named("a window and the padded image", 0, spatial_axis(i, last));
        if (w->stride[i] >= least_stride && !one && !require_at_most(f, least, padded, at))
            return false;
    }
    return true;
}

int64_t window_taps(const struct window *w)
{
    return dims_product(w->kernel, 0, w->n);
}
int64_t window_inputs(const struct window *w)
{
    return dims_product(w->in, 0, w->n);
}
int64_t window_outputs(const struct window *w)
{
    return dims_product(w->out, 0, w->n);
}

static int64_t position(const struct window *w, const int64_t *at, const int64_t *tap)
{
    int64_t flat = 0, result = 0;
    for (int d = 0; d < w->n; d++) {
        int64_t gap = w->lhs_dilation[d], extent = (w->in[d] - 1) * gap + 1;
        int64_t x = at[d] * w->stride[d] + tap[d] * w->dilation[d] - w->begin[d];
        if (x >= extent + (w->end[d] > 0 ? w->end[d] : 0))
            return WINDOW_OUTSIDE;
        if (x < 0 || x >= extent || x % gap)
            result = WINDOW_PAD;
        flat = flat * w->in[d] + x / gap;
    }
    return result ? result : flat;
}

void window_positions(const struct window *w, int64_t first, int64_t count, int64_t *at)
{
    int64_t out[MAX_RANK] = {0}, taps = window_taps(w);
    for (int d = w->n - 1; d >= 0; d--) {
        out[d] = first % w->out[d];
        first /= w->out[d];
    }
    for (int64_t p = 0; p < count; p++, next_index(out, w->out, w->n)) {
        int64_t tap[MAX_RANK] = {0};
        for (int64_t i = 0; i < taps; i++, next_index(tap, w->kernel, w->n))
            at[i * count + p] = position(w, out, tap);
    }
}
