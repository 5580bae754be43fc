#include "runtime/ops/xla/xla_window.h"

#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/join.h"
#include "runtime/ops/common/numeric.h"

#include <string.h>

/* ---- one tap over all windows that it lies in ---- */

/* Of words: all arrays here are of them, or become so. */
static join_fn *find_row(int dtype, enum op op)
{
    return dtype_bytes(dtype) == 4 ? join_of(op, dtype) : NULL;
}

static bool no_base(const struct window_frame *f)
{
    for (int i = 0; i < f->rank; i++)
        if (f->base[i] != 1)
            return false;
    return true;
}

/* The places of y along a dim, low..high-1, from which the tap falls inside x; where the first one
 * sees it. */
static int64_t seen(const struct window_frame *f, int i, int64_t tap, int64_t x_dim, int64_t y_dim,
                    int64_t *low, int64_t *first)
{
    int64_t stride = f->stride[i], shift = tap * f->dilation[i] - f->pads[i];
    int64_t from = shift < 0 ? (-shift + stride - 1) / stride : 0;
    int64_t last = x_dim - 1 - shift, to = last < 0 ? 0 : last / stride + 1;
    to = to < y_dim ? to : y_dim;
    *low = from;
    *first = from * stride + shift;
    return to > from ? to - from : 0;
}

/* y = y op x, count rows of n elements in vectors. False: no kernel has op. */
static bool combine_tile(enum op op, float *y, int64_t y_pitch, const float *x, int64_t x_pitch, int64_t count,
                         int64_t n)
{
    static const struct {
        enum op op;
        enum kernel_binary kernel;
    } kernels[] = {{OP_add, BINARY_add}, {OP_mul, BINARY_mul}, {OP_max, BINARY_max}, {OP_min, BINARY_min}};
    size_t k = 0;
    while (k < sizeof kernels / sizeof *kernels && kernels[k].op != op)
        k++;
    if (k == sizeof kernels / sizeof *kernels || !kernels_get()->binary_tile[kernels[k].kernel])
        return false;
    kernels_get()->binary_tile[kernels[k].kernel]((struct out_tile){y, y_pitch, false}, (struct in_tile){y, 1, y_pitch},
                                  (struct in_tile){x, 1, x_pitch}, (size_t)count, (size_t)n);
    return true;
}

struct tap { /* what one tap of the windows meets: y at one end, x at the other, both walked over dims */
    int64_t dims[MAX_RANK], xs[MAX_RANK], ys[MAX_RANK];
    int64_t at_x, at_y;
};

static bool meet_tap(const struct window_frame *f, const int64_t *tap, const struct tensor *x,
                     const struct tensor *y, struct tap *t)
{
    t->at_x = t->at_y = 0;
    dense_strides(x->rank, x->dims, t->xs);
    dense_strides(y->rank, y->dims, t->ys);
    for (int i = 0; i < f->rank; i++) {
        int64_t low, first;
        t->dims[i] = seen(f, i, tap[i], x->dims[i], y->dims[i], &low, &first);
        if (t->dims[i] == 0)
            return false;
        t->at_y += low * t->ys[i];
        t->at_x += first * t->xs[i];
        t->xs[i] *= f->stride[i];
    }
    return true;
}

static void start_walk(struct walk *w, int rank, const struct tap *t)
{
    walk_dims(w, rank, t->dims, 2);
    memcpy(w->stride[0], t->ys, sizeof *t->ys * (size_t)rank);
    memcpy(w->stride[1], t->xs, sizeof *t->xs * (size_t)rank);
    walk_start(w);
}

/* Where elements of a row follow each other: the last two dims in one call. */
static bool combine_rows(const struct window_frame *f, enum op op, const struct tensor *x, struct tensor *y,
                         const struct tap *t)
{
    struct walk w;
    int n = f->rank - 1, row = f->rank - 2;
    if (row < 0 || x->dtype != DT_F32 || t->xs[n] != 1)
        return false;
    for (start_walk(&w, row, t); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i++)
            if (!combine_tile(op, (float *)y->data + t->at_y + w.offset[0] + i * w.step[0], t->ys[row],
                              (const float *)x->data + t->at_x + w.offset[1] + i * w.step[1], t->xs[row],
                              t->dims[row], t->dims[n]))
                return false;
    return true;
}

static void combine_tap(const struct window_frame *f, const int64_t *tap, enum op op, join_fn *run,
                        const struct tensor *x, struct tensor *y)
{
    struct walk w;
    struct tap t;
    if (!meet_tap(f, tap, x, y, &t) || combine_rows(f, op, x, y, &t))
        return;
    for (start_walk(&w, f->rank, &t); !w.done; walk_next(&w))
        run((char *)y->data + (t.at_y + w.offset[0]) * 4, w.step[0],
            (const char *)x->data + (t.at_x + w.offset[1]) * 4, w.step[1], w.count);
}

/* ---- running combinations: the window reaches from one end to here ---- */

int running_dim(const struct window_frame *f, const struct tensor *x, bool *down)
{
    int at = -1;
    for (int i = 0; i < f->rank; i++) {
        if (f->size[i] == 1 && f->stride[i] == 1 && !f->pads[i] && !f->pads[f->rank + i])
            continue;
        if (at >= 0)
            return -1;
        at = i;
    }
    if (at < 0 || f->size[at] != x->dims[at] || f->stride[at] != 1 || f->dilation[at] != 1)
        return -1;
    int64_t before = f->pads[at], after = f->pads[f->rank + at], n = x->dims[at];
    *down = before == 0;
    return (before == n - 1 && after == 0) || (before == 0 && after == n - 1) ? at : -1;
}

/* To a type of 16 bits that the elements have come from, where they are sums or products. */
static void round_elements(enum kernel_convert to, float *y, int64_t n)
{
    if (to != CONVERT_COUNT)
        kernels_get()->convert[to](y, 1, y, 1, (size_t)n);
}

static void combine_running(int axis, bool down, join_fn *run, enum kernel_convert rounding, const struct tensor *x,
                            struct tensor *y)
{
    int64_t outer = 1, inner = 1, n = x->dims[axis];
    for (int i = 0; i < x->rank; i++) {
        outer *= i < axis ? x->dims[i] : 1;
        inner *= i > axis ? x->dims[i] : 1;
    }
    for (int64_t o = 0; o < outer; o++) {
        char *to = (char *)y->data + o * n * inner * 4;
        const char *from = (const char *)x->data + o * n * inner * 4;
        for (int64_t k = 0; k < n; k++) {
            int64_t at = down ? n - 1 - k : k, before = down ? at + 1 : at - 1;
            if (k)
                memcpy(to + at * inner * 4, to + before * inner * 4, (size_t)inner * 4);
            run(to + at * inner * 4, 1, from + at * inner * 4, 1, inner);
            round_elements(rounding, (float *)(void *)(to + at * inner * 4), inner);
        }
    }
}

/* Tap after tap over as much of the first dims, those that no window reaches across, as caches hold. */
static void combine_taps(const struct window_frame *f, enum op op, join_fn *run, enum kernel_convert rounding,
                         const struct tensor *x, struct tensor *y)
{
    enum { CACHED = 4096 }; /* elements of y */
    int lead = 0;
    while (lead < f->rank && f->size[lead] == 1 && f->stride[lead] == 1 && !f->pads[lead] && !f->pads[f->rank + lead])
        lead++;
    int64_t count = dims_product(x->dims, 0, lead), x_rows = dims_product(x->dims, lead, f->rank),
            y_rows = dims_product(y->dims, lead, f->rank), some = y_rows ? CACHED / y_rows : 0;
    some = some < 1 ? 1 : some;
    for (int64_t at = 0; at < count; at += some) {
        int64_t tap[MAX_RANK] = {0}, n = count - at < some ? count - at : some;
        struct tensor part_x = *x, part_y = *y;
        for (int i = 0; i < lead; i++)
            part_x.dims[i] = part_y.dims[i] = i + 1 == lead ? n : 1;
        part_x.data = (char *)x->data + at * x_rows * 4, part_y.data = (char *)y->data + at * y_rows * 4;
        do {
            combine_tap(f, tap, op, run, &part_x, &part_y);
            round_elements(rounding, part_y.data, tensor_count(&part_y));
        } while (next_index(tap, f->size, f->rank));
    }
}

static bool combine_all(const struct window_frame *f, enum op op, enum kernel_convert rounding,
                        const struct tensor *x, struct tensor *y)
{
    join_fn *run = find_row(x->dtype, op);
    bool down = false;
    if (!run || !no_base(f))
        return false;
    int axis = running_dim(f, x, &down);
    if (axis >= 0) {
        combine_running(axis, down, run, rounding, x, y);
        return true;
    }
    combine_taps(f, op, run, rounding, x, y);
    return true;
}

/* A tensor of floats of 16 bits in f32; such a tensor from f32; the rounding to its type. */
static bool widened(const struct tensor *t, struct work *w, struct tensor *wide)
{
    *wide = tensor_view(DT_F32, t->rank, t->dims, WORK(w, float, tensor_count(t)));
    if (wide->data)
        kernels_get()->convert[t->dtype == DT_BF16 ? CONVERT_f32_from_bf16 : CONVERT_f32_from_f16](
            wide->data, 1, t->data, 1, (size_t)tensor_count(t));
    return wide->data != NULL;
}

static void narrow(const struct tensor *wide, struct tensor *t)
{
    kernels_get()->convert[t->dtype == DT_BF16 ? CONVERT_bf16_from_f32 : CONVERT_f16_from_f32](
        t->data, 1, wide->data, 1, (size_t)tensor_count(t));
}

static enum kernel_convert rounding_to(int dtype)
{
    return dtype == DT_BF16 ? CONVERT_bf16_round : CONVERT_f16_round;
}

/* By way of f32, in which the sum or product of two is exact or rounds as it would have at once. */
static bool combine_short(const struct window_frame *f, enum op op, const struct tensor *x, struct tensor *y,
                          struct work *w)
{
    const enum kernel_convert rounding = op == OP_add || op == OP_mul ? rounding_to(x->dtype) : CONVERT_COUNT;
    struct tensor wide_x, wide_y;
    if (!widened(x, w, &wide_x) || !widened(y, w, &wide_y) || !combine_all(f, op, rounding, &wide_x, &wide_y))
        return false;
    narrow(&wide_y, y);
    return true;
}

bool window_combine(const struct window_frame *f, enum op op, const struct tensor *x, struct tensor *y,
                    struct work *w)
{
    if (dtype_is_short_float(x->dtype))
        return combine_short(f, op, x, y, w);
    return combine_all(f, op, CONVERT_COUNT, x, y);
}

/* ---- the gradient ---- */

/* Lanes are the elements of a last dim that has no window. */
static bool last_is_plain(const struct window_frame *f, const struct tensor *x)
{
    int last = f->rank - 1;
    return last >= 0 && f->size[last] == 1 && f->stride[last] == 1 && !f->pads[last] &&
           !f->pads[f->rank + last] && x->dims[last] > 0;
}

static int64_t window_scatter_room(const struct tensor *x)
{
    return x->rank ? 2 * x->dims[x->rank - 1] + 2 : 2;
}

#define KEEP(name, compare)                                                                        \
    static void name(const float *restrict x, int64_t at, int64_t n, float *restrict kept,         \
                     int32_t *restrict where)                                                      \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            bool stays = kept[i] compare x[i];                                                     \
            kept[i] = stays ? kept[i] : x[i];                                                      \
            where[i] = stays ? where[i] : (int32_t)at;                                             \
        }                                                                                          \
    }
KEEP(keep_ge, >=)
KEEP(keep_gt, >)
KEEP(keep_le, <=)
KEEP(keep_lt, <)

typedef void (*keep_fn)(const float *restrict x, int64_t at, int64_t n, float *restrict kept,
                        int32_t *restrict where);

static keep_fn find_keep(enum op select)
{
    return select == OP_ge   ? keep_ge
           : select == OP_gt ? keep_gt
           : select == OP_le ? keep_le
           : select == OP_lt ? keep_lt
                             : NULL;
}

/* The place of the window's tap in x, in rows of lanes; -1: outside. */
static int64_t tap_place(const struct window_frame *f, int rank, const int64_t *window, const int64_t *tap,
                         const int64_t *x_dims, const int64_t *strides)
{
    int64_t at = 0;
    for (int i = 0; i < rank; i++) {
        int64_t p = window[i] * f->stride[i] + tap[i] * f->dilation[i] - f->pads[i];
        if (p < 0 || p >= x_dims[i])
            return -1;
        at += p * strides[i];
    }
    return at;
}

/* The elements kept of one window's lanes, and where. */
struct kept_lanes {
    keep_fn keep;
    int64_t lanes;
    float *v;
    int32_t *where;
};

/* False: the window has no element. */
static bool keep_of_window(const struct window_frame *f, int rank, const int64_t *window,
                           const struct tensor *x, const int64_t *strides, const struct kept_lanes *k)
{
    int64_t tap[MAX_RANK] = {0};
    bool any = false;
    do {
        int64_t at = tap_place(f, rank, window, tap, x->dims, strides);
        if (at < 0)
            continue;
        const float *row = (const float *)x->data + at;
        if (any) {
            k->keep(row, at, k->lanes, k->v, k->where);
            continue;
        }
        memcpy(k->v, row, sizeof *row * (size_t)k->lanes);
        for (int64_t i = 0; i < k->lanes; i++)
            k->where[i] = (int32_t)at;
        any = true;
    } while (next_index(tap, f->size, rank));
    return any;
}

/* In f32; each sum is rounded to the type that all three have come from. */
static bool scatter_f32(const struct window_frame *f, enum kernel_convert rounding, enum op select, enum op combine,
                        const struct tensor *x, const struct tensor *source, struct tensor *y, int64_t *room)
{
    struct kept_lanes k = {.keep = find_keep(select), .v = (float *)room};
    int64_t window[MAX_RANK] = {0}, strides[MAX_RANK];
    if (!k.keep || combine != OP_add || x->dtype != DT_F32 || !no_base(f) ||
        tensor_count(x) > INT32_MAX)
        return false;
    bool plain = last_is_plain(f, x);
    int rank = f->rank - plain;
    k.lanes = plain ? x->dims[f->rank - 1] : 1;
    k.where = (int32_t *)(room + k.lanes);
    const float *from = source->data;
    float *sums = y->data;
    dense_strides(x->rank, x->dims, strides);
    if (tensor_count(source) == 0)
        return true;
    do {
        if (keep_of_window(f, rank, window, x, strides, &k)) {
            for (int64_t i = 0; i < k.lanes; i++)
                k.v[i] = sums[k.where[i] + i] + from[i];
            round_elements(rounding, k.v, k.lanes);
            for (int64_t i = 0; i < k.lanes; i++)
                sums[k.where[i] + i] = k.v[i];
        }
        from += k.lanes;
    } while (next_index(window, source->dims, rank));
    return true;
}

bool window_scatter(const struct window_frame *f, enum op select, enum op combine, const struct tensor *x,
                    const struct tensor *source, struct tensor *y, struct work *w)
{
    struct tensor wide_x, wide_source, wide_y;
    int64_t *room = WORK(w, int64_t, window_scatter_room(x));
    if (!room || !dtype_is_short_float(x->dtype))
        return room && scatter_f32(f, CONVERT_COUNT, select, combine, x, source, y, room);
    if (!widened(x, w, &wide_x) || !widened(source, w, &wide_source) || !widened(y, w, &wide_y) ||
        !scatter_f32(f, rounding_to(x->dtype), select, combine, &wide_x, &wide_source, &wide_y, room))
        return false;
    narrow(&wide_y, y);
    return true;
}
