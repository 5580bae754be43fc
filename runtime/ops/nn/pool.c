#include "runtime/ops/common/numeric.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */

static bool pool_window(struct window *w, struct dim_table *t, const struct attrs *as,
                        struct diag *d, const struct type *x)
{
    bool last = attr_int(as, "channels_last", 0) != 0;
    int n;
    const int64_t *kernel = attr_ints(as, "kernel_shape", &n);
    w->n = x->rank - 2;
    if (w->n < 0)
        return fail(d, "x has rank %d, expected 2 or more", x->rank);
    if (!kernel || n != w->n)
        return fail(d, "kernel_shape has %d values, expected %d", n, w->n);
    for (int i = 0; i < w->n; i++) {
        if (kernel[i] < 1 || kernel[i] > INT32_MAX)
            return fail(d, "kernel_shape has %lld, expected 1 or more", (long long)kernel[i]);
        w->in[i] = x->dims[spatial_axis(i, last)];
        w->kernel[i] = kernel[i];
    }
    return window_make(w, t, as, d, attr_int(as, "ceil_mode", 0) != 0);
}

static bool infer_pool(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct window w;
    struct type y = *x;
    bool last = attr_int(f->attrs, "channels_last", 0) != 0;
    if (x->rank == RANK_UNKNOWN) {
        if (f->nout > 1)
            infer_any(f, 1, DT_I64);
        return infer_any(f, 0, x->dtype);
    }
    /* Rounding down and rounding towards zero, as ONNX's own inference and ONNX Runtime do, count other windows of an
     * image that is shorter than one: none, or one of what there is. */
    int64_t least_stride = attr_int(f->attrs, "ceil_mode", 0) ? INT64_MAX : 2;
    if (!pool_window(&w, f->dims, f->attrs, f->d, x) || !window_has_room(&w, f->dims, f->d) ||
        !require_windows(f, &w, least_stride, last))
        return false;
    for (int i = 0; i < w.n; i++)
        y.dims[spatial_axis(i, last)] = w.out[i];
    if (f->nout > 1)
        infer_out(f, 1, DT_I64, y.rank, y.dims);
    return infer_out(f, 0, x->dtype, y.rank, y.dims);
}

INFER_AS(max_pool, infer_pool)
INFER_AS(average_pool, infer_pool)
INFER_AS(lp_pool, infer_pool)

/* ---- one loop for all pools: what a window holds becomes one number ---- */

struct pool_call {
    struct window window;
    struct image x, y;
    int64_t taps;
    bool count_padding;
    double p;
    int64_t *index_of; /* max: input position in the order that indices count in */
};

/* at[t * step]: what tap t sees in image `from`. *where: position of the maximum. */
typedef double pool_fn(const struct pool_call *v, const double *from, const int64_t *at, int64_t step,
                       int64_t *where);

static double pool_max(const struct pool_call *v, const double *from, const int64_t *at, int64_t step,
                       int64_t *where)
{
    double best = -INFINITY;
    *where = -1;
    for (int64_t t = 0; t < v->taps; t++, at += step) {
        if (*at < 0)
            continue;
        double x = from[*at * v->x.pixel];
        if (*where < 0 || x > best || (isnan(x) && !isnan(best))) {
            best = x;
            *where = *at;
        }
    }
    return best;
}

static double pool_average(const struct pool_call *v, const double *from, const int64_t *at,
                           int64_t step, int64_t *where)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t t = 0; t < v->taps; t++, at += step) {
        if (*at >= 0)
            sum += from[*at * v->x.pixel];
        n += *at >= 0 || (v->count_padding && *at == WINDOW_PAD);
    }
    return n ? sum / (double)n : 0;
}

static double pool_lp(const struct pool_call *v, const double *from, const int64_t *at, int64_t step,
                      int64_t *where)
{
    double sum = 0;
    for (int64_t t = 0; t < v->taps; t++, at += step) {
        double x = *at < 0 ? 0 : fabs(from[*at * v->x.pixel]);
        sum += v->p == 2 ? x * x : v->p == 1 ? x : pow(x, v->p);
    }
    return v->p == 2 ? sqrt(sum) : v->p == 1 ? sum : pow(sum, 1 / v->p);
}

/* Places of an image of the result, and what each tap of their windows sees. */
struct pooled_places {
    int64_t first, count, *seen;
};

/* Where output place p of a channel is stored; the index of the input position `where`. */
static int64_t pool_place(const struct pool_call *v, int64_t n, int64_t ch, int64_t p)
{
    return n * v->y.image + ch * v->y.channel + p * v->y.pixel;
}
static int64_t pool_index(const struct pool_call *v, int64_t n, int64_t ch, int64_t where)
{
    return where < 0 ? -1 : (n * v->x.channels + ch) * v->x.positions + v->index_of[where];
}

static void pool_plane(struct op_call *c, const struct pool_call *v, pool_fn *fn, const double *data, int64_t n,
                       int64_t ch, const struct pooled_places *at)
{
    struct tensor *y = c->out[0];
    const double *from = data + n * v->x.image + ch * v->x.channel;
    int64_t to = pool_place(v, n, ch, at->first), where = -1;
    for (int64_t p = 0; p < at->count; p++, to += v->y.pixel) {
        double value = fn(v, from, at->seen + p, at->count, &where);
        if (dtype_is_float(y->dtype))
            dtype_store_f64(y->dtype, y->data, (size_t)to, value);
        else
            dtype_store_i64(y->dtype, y->data, (size_t)to, isinf(value) ? 0 : (int64_t)value);
        if (wants_result(c, 1))
            ((int64_t *)c->out[1]->data)[to] = pool_index(v, n, ch, where);
    }
}

/*
 * The greatest of floats in their own type, of PANEL places side by side: which is greater than those before is a
 * matter of chance, so nothing branches on it. I: integers as wide, for the places.
 */
#define MAX_PANEL(id, T, I)                                                                                            \
    static void max_panel_##id(const struct pool_call *v, const T *from, const int64_t *at, int64_t count, T *best,    \
                               I *where)                                                                               \
    {                                                                                                                  \
        for (int64_t p = 0; p < PANEL; p++)                                                                            \
            best[p] = -INFINITY, where[p] = -1;                                                                        \
        for (int64_t t = 0; t < v->taps; t++, at += count) {                                                           \
            T x[PANEL];                                                                                                \
            I place[PANEL];                                                                                            \
            for (int64_t p = 0; p < PANEL; p++) {                                                                      \
                int64_t i = at[p < count ? p : 0];                                                                     \
                place[p] = i < 0 ? -1 : (I)i;                                                                          \
                x[p] = i < 0 ? -(T)INFINITY : from[i * v->x.pixel];                                                    \
            }                                                                                                          \
            for (int64_t p = 0; p < PANEL; p++) {                                                                      \
                I first = (where[p] < 0) & (place[p] >= 0), nan = (x[p] != x[p]) & (best[p] == best[p]);               \
                bool more = first | nan | (x[p] > best[p]);                                                            \
                best[p] = more ? x[p] : best[p];                                                                       \
                where[p] = more ? place[p] : where[p];                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void max_plane_##id(struct op_call *c, const struct pool_call *v, int64_t n, int64_t ch,                    \
                               const struct pooled_places *at)                                                         \
    {                                                                                                                  \
        T best[PANEL], *y = c->out[0]->data;                                                                           \
        I where[PANEL];                                                                                                \
        const T *from = (const T *)c->in[0]->data + n * v->x.image + ch * v->x.channel;                                \
        int64_t *index = wants_result(c, 1) ? c->out[1]->data : NULL, to = pool_place(v, n, ch, at->first);            \
        max_panel_##id(v, from, at->seen, at->count, best, where);                                                     \
        for (int64_t p = 0; p < at->count; p++, to += v->y.pixel) {                                                    \
            y[to] = best[p];                                                                                           \
            if (index)                                                                                                 \
                index[to] = pool_index(v, n, ch, where[p]);                                                            \
        }                                                                                                              \
    }
MAX_PANEL(DT_F32, float, int32_t)
MAX_PANEL(DT_F64, double, int64_t)

/* Indices count N,C,spatial in either layout; with `columns` the first spatial dim runs fastest. */
static int64_t *index_order(struct work *w, const struct window *win, bool columns)
{
    int64_t n = window_inputs(win), place[MAX_RANK] = {0}, *index = WORK(w, int64_t, n);
    for (int64_t i = 0; index && i < n; i++, next_index(place, win->in, win->n)) {
        index[i] = i;
        for (int d = win->n - 1; columns && d >= 0; d--)
            index[i] = (d == win->n - 1 ? 0 : index[i]) * win->in[d] + place[d];
    }
    return index;
}

static bool pool(struct op_call *c, struct work *w, pool_fn *fn)
{
    const struct tensor *x = c->in[0];
    bool last = attr_int(c->attrs, "channels_last", 0) != 0;
    struct type type = type_tensor(x->dtype, x->rank, x->dims);
    struct pool_call v = {.count_padding = attr_int(c->attrs, "count_include_pad", 0) != 0,
                     .p = (double)attr_int(c->attrs, "p", 2)};
    if (!pool_window(&v.window, NULL, c->attrs, w->d, &type))
        return false;
    v.x = image_of(x, last);
    v.y = image_of(c->out[0], last);
    v.taps = window_taps(&v.window);
    v.index_of = index_order(w, &v.window, attr_int(c->attrs, "storage_order", 0) != 0);
    int64_t block = v.y.positions < PANEL ? v.y.positions : PANEL;
    struct pooled_places at = {.seen = WORK(w, int64_t, v.taps * block)};
    const bool typed = fn == pool_max && v.x.positions <= INT32_MAX && (x->dtype == DT_F32 || x->dtype == DT_F64);
    double *data = typed ? NULL : work_doubles(w, x);
    if (!at.seen || (!typed && !data) || !v.index_of)
        return false;
    for (; at.first < v.y.positions; at.first += block) {
        at.count = v.y.positions - at.first < block ? v.y.positions - at.first : block;
        window_positions(&v.window, at.first, at.count, at.seen);
        for (int64_t n = 0; n < v.y.n; n++)
            for (int64_t ch = 0; ch < v.y.channels; ch++)
                if (!typed)
                    pool_plane(c, &v, fn, data, n, ch, &at);
                else if (x->dtype == DT_F32)
                    max_plane_DT_F32(c, &v, n, ch, &at);
                else
                    max_plane_DT_F64(c, &v, n, ch, &at);
    }
    return true;
}

static bool max_pool(struct op_call *c, struct work *w)
{
    return pool(c, w, pool_max);
}
static bool average_pool(struct op_call *c, struct work *w)
{
    return pool(c, w, pool_average);
}
static bool lp_pool(struct op_call *c, struct work *w)
{
    return pool(c, w, pool_lp);
}

EVAL_WITH_WORK(max_pool)
EVAL_WITH_WORK(average_pool)
EVAL_WITH_WORK(lp_pool)
