#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/short_rows.h"
#include "runtime/ops/common/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- col2im ---- */

bool infer_col2im(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct content image = infer_content(f, 1), block = infer_content(f, 2);
    dim_t dims[MAX_RANK], taps = 1;
    if (x->rank == RANK_UNKNOWN || image.n < 0 || image.n + 2 > MAX_RANK)
        return infer_any(f, 0, x->dtype);
    if (x->rank != 3 || (block.n >= 0 && block.n != image.n))
        return fail(f->d,
                    "col2im has columns of rank %d, expected 3, and as many block as image dims",
                    x->rank);
    for (int64_t i = 0; i < block.n; i++)
        taps = dim_mul(f->dims, taps, block.v[i]);
    if (block.n >= 0 &&
        !require_multiple(f, x->dims[1], taps, named("channels by elements of a block", 0, 1)))
        return false;
    dims[0] = x->dims[0];
    dims[1] = block.n < 0 ? infer_unknown(f, "channels") : dim_floordiv(f->dims, x->dims[1], taps);
    for (int64_t i = 0; i < image.n; i++)
        dims[2 + i] = image.v[i];
    return infer_out(f, 0, x->dtype, (int)image.n + 2, dims);
}

static bool col2im(struct op_call *c, struct work *w)
{
    const struct tensor *t = c->in[0], *out = c->out[0];
    struct window win = {.n = out->rank - 2};
    for (int i = 0; i < win.n; i++) {
        win.in[i] = out->dims[2 + i];
        win.kernel[i] = tensor_i64(c->in[2], i);
        if (win.kernel[i] < 1)
            return fail(w->d, "block size is %lld, expected 1 or more", (long long)win.kernel[i]);
    }
    if (!window_make(&win, NULL, c->attrs, w->d, false))
        return false;
    int64_t taps = window_taps(&win), places = window_outputs(&win), plane = window_inputs(&win);
    if (t->dims[1] != out->dims[1] * taps || t->dims[2] != places)
        return fail(w->d, "columns are %lld by %lld, expected a multiple of %lld by %lld",
                    (long long)t->dims[1], (long long)t->dims[2], (long long)taps,
                    (long long)places);
    double *x = work_doubles(w, t), *y = WORK(w, double, tensor_count(out));
    int64_t *at = WORK(w, int64_t, taps * PANEL);
    if (!x || !y || !at)
        return false;
    for (int64_t first = 0; first < places; first += PANEL) {
        int64_t count = places - first < PANEL ? places - first : PANEL;
        window_positions(&win, first, count, at);
        for (int64_t row = 0; row < t->dims[0] * t->dims[1]; row++)
            for (int64_t p = 0; p < count; p++) {
                int64_t to = at[row % taps * count + p];
                if (to >= 0)
                    y[row / taps * plane + to] += x[row * places + first + p];
            }
    }
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(col2im)

/* ---- deform_conv: 2-D convolution whose taps are moved by an offset and weighed by a mask ---- */

static bool deform_window(struct window *w, struct dim_table *t, const struct attrs *as,
                          struct diag *d, const struct type *x, const struct type *weight)
{
    if (x->rank != 4 || weight->rank != 4)
        return fail(d, "x and weight of deform_conv have rank %d and %d, expected 4", x->rank,
                    weight->rank);
    w->n = 2;
    for (int i = 0; i < 2; i++) {
        w->in[i] = x->dims[2 + i];
        w->kernel[i] = weight->dims[2 + i];
    }
    return window_make(w, t, as, d, false);
}

bool infer_deform_conv(struct infer *f)
{
    struct window w;
    if (!rank_known(f, 0) || !rank_known(f, 1))
        return infer_any(f, 0, f->in[0].dtype);
    if (!deform_window(&w, f->dims, f->attrs, f->d, &f->in[0], &f->in[1]) ||
        !window_has_room(&w, f->dims, f->d) || !require_windows(f, &w, 1, false))
        return false;
    return infer_out(f, 0, f->in[0].dtype, 4,
                     (dim_t[]){f->in[0].dims[0], f->in[1].dims[0], w.out[0], w.out[1]});
}

struct deform {
    struct window window;
    int64_t channels, group_channels, offset_channels, taps,
        places; /* channels of a group, of an offset group */
    double *x, *offset, *mask; /* x: channels_and_zeros */
};

/* The four neighbours of a point and what each weighs; those outside the image are the zero behind it. */
struct neighbours {
    int64_t at[4];
    double weight[4];
};

static int64_t floor_of(double x)
{
    int64_t i = (int64_t)x;
    return i - (x < (double)i);
}

static struct neighbours neighbours_of(int64_t h, int64_t wide, double y, double x, double factor)
{
    struct neighbours p = {{h * wide, h * wide, h * wide, h * wide}, {0}};
    if (!(y > -1 && y < (double)h && x > -1 && x < (double)wide))
        return p;
    int64_t y0 = floor_of(y), x0 = floor_of(x);
    double down[2] = {(1 - (y - (double)y0)) * factor, (1 - ((double)(y0 + 1) - y)) * factor};
    double across[2] = {1 - (x - (double)x0), 1 - ((double)(x0 + 1) - x)};
    const int64_t at = y0 * wide + x0;
    const struct neighbours all = {{at, at + 1, at + wide, at + wide + 1},
                                   {down[0] * across[0], down[0] * across[1], down[1] * across[0],
                                    down[1] * across[1]}};
    if (y0 >= 0 && y0 + 1 < h && x0 >= 0 && x0 + 1 < wide)
        return all;
    for (int k = 0; k < 4; k++) {
        int64_t i = y0 + k / 2, j = x0 + k % 2;
        if (i >= 0 && i < h && j >= 0 && j < wide)
            p.at[k] = all.at[k], p.weight[k] = all.weight[k];
    }
    return p;
}

/* Of `count` channels, `step` apart in y, what four points weigh together; two at a time. */
static void blend(double *y, int64_t step, const double *const x[4], const double *weight, int64_t count)
{
    typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
    int64_t i = 0;
    for (; i + 2 <= count; i += 2, y += 2 * step) {
        pair sum = weight[0] * *(const pair *)(x[0] + i) + weight[1] * *(const pair *)(x[1] + i) +
                   weight[2] * *(const pair *)(x[2] + i) + weight[3] * *(const pair *)(x[3] + i);
        y[0] = sum[0], y[step] = sum[1];
    }
    if (i < count)
        *y = weight[0] * x[0][i] + weight[1] * x[1][i] + weight[2] * x[2][i] + weight[3] * x[3][i];
}

/* A tap of an offset group of an image: where it lies at output place 0; by place its offsets and what weighs it. */
struct moved_tap {
    double y, x;
    const double *down, *across, *mask;
};

static struct moved_tap moved_tap_of(const struct deform *v, int64_t n, int64_t group, int64_t t)
{
    const struct window *w = &v->window;
    int64_t at = (n * (v->channels / v->offset_channels) + group) * v->taps + t;
    return (struct moved_tap){.y = (double)(t / w->kernel[1] * w->dilation[0] - w->begin[0]),
                              .x = (double)(t % w->kernel[1] * w->dilation[1] - w->begin[1]),
                              .down = v->offset + 2 * at * v->places,
                              .across = v->offset + (2 * at + 1) * v->places,
                              .mask = v->mask ? v->mask + at * v->places : NULL};
}

/* panel (channels * taps, PANEL): columns at output places first... of image n. */
static void deform_panel(const struct deform *v, int64_t n, int64_t first, int64_t count,
                         double *panel)
{
    const struct window *w = &v->window;
    int64_t image = (window_inputs(w) + 1) * v->channels, wide = w->out[1];
    for (int64_t ch = 0; ch < v->channels; ch += v->offset_channels)
        for (int64_t t = 0; t < v->taps; t++) {
            const struct moved_tap tap = moved_tap_of(v, n, ch / v->offset_channels, t);
            int64_t oy = first / wide, ox = first % wide;
            for (int64_t p = 0; p < count; p++) {
                double y = (double)(oy * w->stride[0]) + tap.y, x = (double)(ox * w->stride[1]) + tap.x;
                const struct neighbours near = neighbours_of(w->in[0], w->in[1], y + tap.down[first + p],
                                                             x + tap.across[first + p],
                                                             tap.mask ? tap.mask[first + p] : 1);
                const double *from = v->x + n * image + ch, *points[4];
                for (int k = 0; k < 4; k++)
                    points[k] = from + near.at[k] * v->channels;
                blend(panel + (ch * v->taps + t) * PANEL + p, v->taps * PANEL, points, near.weight,
                      v->offset_channels);
                if (++ox == wide)
                    ox = 0, oy++;
            }
        }
}

/* x with its channels last, and behind each image zeros for a point outside. */
static double *channels_and_zeros(struct work *w, const struct tensor *x)
{
    int64_t images = x->dims[0], channels = x->dims[1], size = x->dims[2] * x->dims[3];
    double *plane = WORK(w, double, size), *to = WORK(w, double, images *(size + 1) * channels);
    if (!plane || !to)
        return NULL;
    for (int64_t i = 0; i < images; i++, to += (size + 1) * channels)
        for (int64_t c = 0; c < channels; c++) {
            size_t from = (size_t)((i * channels + c) * size) * dtype_bytes(x->dtype);
            dtype_load_f64n(x->dtype, (const char *)x->data + from, (size_t)size, plane);
            for (int64_t p = 0; p < size; p++)
                to[p * channels + c] = plane[p];
            to[size * channels + c] = 0;
        }
    return to - images * (size + 1) * channels;
}

static bool load_deform(struct op_call *c, struct work *w, struct deform *v)
{
    const struct tensor *x = c->in[0], *weight = c->in[1];
    struct type type_x = type_tensor(x->dtype, x->rank, x->dims);
    struct type type_w = type_tensor(weight->dtype, weight->rank, weight->dims);
    int64_t groups = attr_int(c->attrs, "group", 1),
            offsets = attr_int(c->attrs, "offset_group", 1);
    if (!deform_window(&v->window, NULL, c->attrs, w->d, &type_x, &type_w))
        return false;
    v->channels = x->dims[1];
    v->group_channels = weight->dims[1];
    v->taps = window_taps(&v->window);
    v->places = window_outputs(&v->window);
    if (groups < 1 || offsets < 1 || v->group_channels * groups != v->channels || v->channels < 1 ||
        v->channels % offsets || weight->dims[0] % groups ||
        tensor_count(c->in[2]) != x->dims[0] * offsets * v->taps * 2 * v->places ||
        (has_operand(c, 3) && tensor_count(c->in[3]) != weight->dims[0]) ||
        (has_operand(c, 4) && tensor_count(c->in[4]) != x->dims[0] * offsets * v->taps * v->places))
        return fail(w->d, "operands of deform_conv do not fit %lld channels",
                    (long long)v->channels);
    v->offset_channels = v->channels / offsets;
    v->x = channels_and_zeros(w, x);
    v->offset = work_doubles(w, c->in[2]);
    return v->x && v->offset && work_optional(c, w, 4, &v->mask);
}

static bool deform_conv(struct op_call *c, struct work *w)
{
    struct deform v = {0};
    struct tensor *out = c->out[0];
    double *bias, *weight = work_doubles(w, c->in[1]), acc[PANEL_ROWS][PANEL];
    if (!weight || !load_deform(c, w, &v) || !work_optional(c, w, 3, &bias))
        return false;
    int64_t m = out->dims[1], k = v.group_channels * v.taps,
            per_group = m / (v.channels / v.group_channels);
    double *panel = WORK(w, double, v.channels *v.taps *PANEL);
    if (!panel)
        return false;
    for (int64_t at = 0; at < out->dims[0] * v.places;) {
        int64_t n = at / v.places, first = at % v.places, left = v.places - first;
        int64_t count = left < PANEL ? left : PANEL;
        deform_panel(&v, n, first, count, panel);
        for (int64_t i = 0, rows; i < m; i += rows) {
            rows = per_group - i % per_group;
            rows = rows < PANEL_ROWS ? rows : PANEL_ROWS;
            panel_f64(weight + i * k, k, (int)rows, k, panel + i / per_group * k * PANEL, acc);
            for (int64_t r = 0; r < rows; r++) {
                for (int64_t p = 0; p < count; p++)
                    acc[r][p] += bias ? bias[i + r] : 0;
                size_t to = (size_t)((n * m + i + r) * v.places + first) * dtype_bytes(out->dtype);
                dtype_store_f64n(out->dtype, (char *)out->data + to, (size_t)count, acc[r]);
            }
        }
        at += count;
    }
    return true;
}

EVAL_WITH_WORK(deform_conv)

/* ---- center_crop_pad ---- */

bool infer_center_crop_pad(struct infer *f)
{
    struct type y = f->in[0];
    struct content shape = infer_content(f, 1);
    int n;
    const int64_t *axes = attr_ints(f->attrs, "axes", &n);
    if (y.rank == RANK_UNKNOWN)
        return infer_any(f, 0, y.dtype);
    n = axes ? n : y.rank;
    if (shape.n >= 0 && shape.n != n)
        return fail(f->d, "shape has %lld sizes for %d axes", (long long)shape.n, n);
    for (int i = 0; i < n; i++) {
        int axis;
        if (!infer_axis(f, axes ? axes[i] : i, y.rank, &axis))
            return false;
        y.dims[axis] = shape.n >= 0 ? shape.v[i] : infer_unknown(f, "crop");
    }
    return infer_out(f, 0, y.dtype, y.rank, y.dims);
}

bool eval_center_crop_pad(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    int64_t n[MAX_RANK];
    struct walk w;
    memset(y->data, 0, tensor_bytes(y));
    for (int i = 0; i < x->rank; i++)
        n[i] = x->dims[i] < y->dims[i] ? x->dims[i] : y->dims[i];
    walk_dims(&w, x->rank, n, 2);
    dense_strides(x->rank, y->dims, w.stride[0]);
    dense_strides(x->rank, x->dims, w.stride[1]);
    for (int i = 0; i < x->rank; i++) {
        w.offset[0] += (y->dims[i] - n[i]) / 2 * w.stride[0][i];
        w.offset[1] += (x->dims[i] - n[i]) / 2 * w.stride[1][i];
    }
    walk_copy(&w, y->data, x->data, dtype_bytes(x->dtype));
    return own_strings(c, 0);
}

/* ---- global_lp_pool ---- */

bool infer_global_lp_pool(struct infer *f)
{
    struct type y = f->in[0];
    for (int i = 2; i < y.rank; i++)
        y.dims[i] = 1;
    return infer_out(f, 0, y.dtype, y.rank, y.dims);
}

static bool global_lp_pool(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    double p = (double)attr_int(c->attrs, "p", 2), *v = work_doubles(w, x);
    if (!v || x->rank < 2)
        return v && fail(w->d, "x has rank %d, expected 2 or more", x->rank);
    int64_t plane = dims_product(x->dims, 2, x->rank);
    for (int64_t i = 0; i < tensor_count(y); i++) {
        double sum = 0;
        for (int64_t k = 0; k < plane; k++)
            sum += pow(fabs(v[i * plane + k]), p);
        dtype_store_f64(y->dtype, y->data, (size_t)i, pow(sum, 1 / p));
    }
    return true;
}

EVAL_WITH_WORK(global_lp_pool)

/* ---- reverse_sequence ---- */

bool infer_reverse_sequence(struct infer *f)
{
    return infer_same(f, 0, 0);
}

bool eval_reverse_sequence(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    int64_t batch = attr_int(c->attrs, "batch_axis", 1), time = attr_int(c->attrs, "time_axis", 0);
    if (x->rank < 2 || batch == time || batch < 0 || batch > 1 || time < 0 || time > 1)
        return fail(c->env->d,
                    "batch_axis and time_axis are %lld and %lld, expected 0 and 1 or 1 and 0",
                    (long long)batch, (long long)time);
    if (tensor_count(c->in[1]) != x->dims[batch])
        return fail(c->env->d, "there are %lld lengths for %lld sequences",
                    (long long)tensor_count(c->in[1]), (long long)x->dims[batch]);
    int64_t inner = dims_product(x->dims, 2, x->rank);
    size_t bytes = (size_t)inner * dtype_bytes(x->dtype);
    for (int64_t i = 0; i < x->dims[0]; i++)
        for (int64_t j = 0; j < x->dims[1]; j++) {
            int64_t b = batch == 0 ? i : j, t = batch == 0 ? j : i,
                    length = tensor_i64(c->in[1], b);
            if (length < 0 || length > x->dims[time])
                return fail(c->env->d, "length %lld is not in 0 to %lld", (long long)length,
                            (long long)x->dims[time]);
            int64_t from = t < length ? length - 1 - t : t;
            int64_t row = batch == 0 ? b * x->dims[1] + from : from * x->dims[1] + b;
            char *to = (char *)y->data + (size_t)(i * x->dims[1] + j) * bytes;
            const char *at = (const char *)x->data + (size_t)row * bytes;
            if (bytes - 1 < SHORT_ROW_BYTES)
                copy_short_rows(to, 0, at, 0, 1, bytes);
            else
                memcpy(to, at, bytes);
        }
    return own_strings(c, 0);
}

/* ---- non_max_suppression ---- */

bool infer_non_max_suppression(struct infer *f)
{
    if (f->concrete)
        return infer_any(f, 0, DT_I64);
    return infer_out(f, 0, DT_I64, 2, (dim_t[]){infer_unknown(f, "selected"), 3});
}

struct crop_box {
    double y0, x0, y1, x1;
};

static struct crop_box read_box(const double *v, bool centre)
{
    if (centre) /* x, y, width, height */
        return (struct crop_box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
    return (struct crop_box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3])};
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static double overlap(const struct crop_box *a, const struct crop_box *b)
{
    double h = smaller(a->y1, b->y1) - larger(a->y0, b->y0);
    double w = smaller(a->x1, b->x1) - larger(a->x0, b->x0);
    if (!(h > 0 && w > 0))
        return 0;
    double common = h * w;
    double all = (a->y1 - a->y0) * (a->x1 - a->x0) + (b->y1 - b->y0) * (b->x1 - b->x0) - common;
    return all > 0 ? common / all : 0;
}

/* The boxes that are left: a heap whose first one is the best; few of many are taken as a rule. */
struct box_candidate {
    double score;
    int64_t index;
};

static bool better(const struct box_candidate *a, const struct box_candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->index < b->index);
}

static void sift_down(struct box_candidate *heap, int64_t n, int64_t i)
{
    struct box_candidate moved = heap[i];
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && better(&heap[child + 1], &heap[child]);
        if (!better(&heap[child], &moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

struct suppression {
    const double *boxes; /* of an image */
    bool centre;
    double threshold;
    int64_t max;
    struct crop_box *kept;
};

/* Writes the indices of boxes that are kept, from the best on, three places apart; how many. */
static int64_t suppress(const struct suppression *s, struct box_candidate *heap, int64_t n,
                        int64_t *index)
{
    int64_t kept = 0;
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift_down(heap, n, i);
    for (; n > 0 && kept < s->max; sift_down(heap, n, 0)) {
        struct crop_box b = read_box(s->boxes + heap[0].index * 4, s->centre);
        bool covered = false;
        for (int64_t k = 0; k < kept && !covered; k++)
            covered = overlap(&s->kept[k], &b) > s->threshold;
        if (!covered) {
            s->kept[kept] = b;
            index[3 * kept++] = heap[0].index;
        }
        heap[0] = heap[--n];
    }
    return kept;
}

static bool non_max_suppression(struct op_call *c, struct work *w)
{
    const struct tensor *tb = c->in[0], *ts = c->in[1];
    if (tb->rank != 3 || ts->rank != 3 || tb->dims[2] != 4 || tb->dims[0] != ts->dims[0] ||
        tb->dims[1] != ts->dims[2])
        return fail(w->d, "boxes and scores do not fit: expected (N,B,4) and (N,C,B)");
    int64_t n = tb->dims[1], classes = ts->dims[1], rows = ts->dims[0] * classes, total = 0;
    int64_t max = has_operand(c, 2) ? tensor_i64(c->in[2], 0) : 0;
    double iou = has_operand(c, 3) ? tensor_f64(c->in[3], 0) : 0;
    double min = has_operand(c, 4) ? tensor_f64(c->in[4], 0) : -INFINITY;
    bool centre = attr_int(c->attrs, "center_point_box", 0) != 0;
    double *boxes = work_doubles(w, tb), *scores = work_doubles(w, ts);
    max = max < n ? max > 0 ? max : 0 : n;
    struct box_candidate *heap = WORK(w, struct box_candidate, n);
    int64_t *chosen = WORK(w, int64_t, 3 * rows * max);
    struct suppression s = {.centre = centre, .threshold = iou, .max = max};
    s.kept = WORK(w, struct crop_box, max);
    if (!boxes || !scores || !heap || !chosen || !s.kept)
        return false;
    for (int64_t row = 0; row < rows; row++) {
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (!has_operand(c, 4) || scores[row * n + i] > min)
                heap[count++] = (struct box_candidate){scores[row * n + i], i};
        s.boxes = boxes + row / classes * n * 4;
        int64_t kept = suppress(&s, heap, count, chosen + 3 * total + 2);
        for (int64_t k = 0; k < kept; k++, total++) {
            chosen[3 * total] = row / classes;
            chosen[3 * total + 1] = row % classes;
        }
    }
    struct tensor *y = call_out(c, 0, DT_I64, 2, (int64_t[]){total, 3});
    if (y && total)
        memcpy(y->data, chosen, (size_t)total * 3 * sizeof *chosen);
    return y != NULL;
}

EVAL_WITH_WORK(non_max_suppression)
