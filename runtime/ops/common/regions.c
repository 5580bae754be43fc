/*
 * Regions of interest of images: largest elements and averages of sampled points, in bins.
 */
#include "runtime/ops/common/numeric.h"

#include <math.h>
#include <string.h>

static bool infer_rois(struct infer *f, dim_t height, dim_t width)
{
    const struct type *x = &f->in[0], *rois = &f->in[1];
    if (x->rank == RANK_UNKNOWN || rois->rank == RANK_UNKNOWN)
        return infer_any(f, 0, x->dtype);
    if (x->rank != 4 || rois->rank != 2)
        return fail(f->d, "x and rois have rank %d and %d, expected 4 and 2", x->rank, rois->rank);
    return infer_out(f, 0, x->dtype, 4, (dim_t[]){rois->dims[0], x->dims[1], height, width});
}

bool infer_max_roi_pool(struct infer *f)
{
    int n;
    const int64_t *shape = attr_ints(f->attrs, "pooled_shape", &n);
    if (n != 2 || shape[0] < 1 || shape[1] < 1)
        return fail(f->d, "pooled_shape is not two positive sizes");
    return infer_rois(f, shape[0], shape[1]);
}

bool infer_roi_align(struct infer *f)
{
    return infer_rois(f, attr_int(f->attrs, "output_height", 1),
                      attr_int(f->attrs, "output_width", 1));
}

/* Bin i of n over a region that starts at `start` and has `size` places, cut to [0, limit). */
static void bin_range(int64_t i, int64_t n, int64_t start, int64_t size, int64_t limit,
                      int64_t *low, int64_t *high)
{
    double bin = (double)size / (double)n;
    *low = start + (int64_t)floor((double)i * bin);
    *high = start + (int64_t)ceil((double)(i + 1) * bin);
    *low = *low < 0 ? 0 : *low > limit ? limit : *low;
    *high = *high < 0 ? 0 : *high > limit ? limit : *high;
}

static double largest_in(const double *v, int64_t width, int64_t y0, int64_t y1, int64_t x0,
                         int64_t x1)
{
    double best = y0 < y1 && x0 < x1 ? -INFINITY : 0;
    for (int64_t y = y0; y < y1; y++)
        for (int64_t x = x0; x < x1; x++)
            best = v[y * width + x] > best ? v[y * width + x] : best;
    return best;
}

static bool max_roi_pool(struct op_call *c, struct work *w)
{
    const struct tensor *t = c->in[0];
    struct tensor *out = c->out[0];
    int64_t channels = t->dims[1], h = t->dims[2], wide = t->dims[3], ph = out->dims[2],
            pw = out->dims[3];
    double scale = attr_float(c->attrs, "spatial_scale", 1);
    double *x = work_doubles(w, t), *rois = work_doubles(w, c->in[1]);
    if (!x || !rois)
        return false;
    if (c->in[1]->dims[1] != 5)
        return fail(w->d, "rois have %lld numbers each, expected 5", (long long)c->in[1]->dims[1]);
    for (int64_t i = 0, at = 0; i < out->dims[0]; i++) {
        const double *roi = rois + 5 * i;
        if (!(roi[0] >= 0 && roi[0] < (double)t->dims[0]))
            return fail(w->d, "roi %lld is of image %g, expected less than %lld", (long long)i,
                        roi[0], (long long)t->dims[0]);
        int64_t corner[4];
        for (int k = 0; k < 4; k++)
            corner[k] = (int64_t)fmin(fmax(round(roi[1 + k] * scale), -1e9), 1e9);
        int64_t rw = corner[2] - corner[0] + 1, rh = corner[3] - corner[1] + 1;
        for (int64_t ch = 0; ch < channels; ch++)
            for (int64_t y = 0; y < ph; y++)
                for (int64_t px = 0; px < pw; px++, at++) {
                    int64_t y0, y1, x0, x1;
                    bin_range(y, ph, corner[1], rh > 1 ? rh : 1, h, &y0, &y1);
                    bin_range(px, pw, corner[0], rw > 1 ? rw : 1, wide, &x0, &x1);
                    const double *plane = x + ((int64_t)roi[0] * channels + ch) * h * wide;
                    dtype_store_f64(out->dtype, out->data, (size_t)at,
                                    largest_in(plane, wide, y0, y1, x0, x1));
                }
    }
    return true;
}

EVAL_WITH_WORK(max_roi_pool)

/* Four neighbours of a point and what each weighs; weights are 0 for points off the image. */
struct corners {
    int64_t at[4];
    double weight[4];
};

static void roi_corners(struct corners *p, double y, double x, int64_t h, int64_t wide)
{
    memset(p, 0, sizeof *p);
    if (!(y >= -1 && y <= (double)h && x >= -1 && x <= (double)wide))
        return;
    y = y > 0 ? y : 0;
    x = x > 0 ? x : 0;
    int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= h - 1)
        y = (double)(y0 = y1 = h - 1);
    if (x0 >= wide - 1)
        x = (double)(x0 = x1 = wide - 1);
    double ly = y - (double)y0, lx = x - (double)x0;
    *p = (struct corners){{y0 * wide + x0, y0 * wide + x1, y1 * wide + x0, y1 * wide + x1},
                          {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
}

struct roi {
    double y, x, bin_h, bin_w; /* start and size of a bin */
    int64_t grid_h, grid_w;    /* samples in a bin */
    bool max;
};

/* The points that are sampled in a bin. */
static void bin_points(const struct roi *r, int64_t h, int64_t wide, int64_t by, int64_t bx,
                       struct corners *p)
{
    for (int64_t i = 0; i < r->grid_h; i++)
        for (int64_t j = 0; j < r->grid_w; j++) {
            double y =
                r->y + (double)by * r->bin_h + ((double)i + 0.5) * r->bin_h / (double)r->grid_h;
            double x =
                r->x + (double)bx * r->bin_w + ((double)j + 0.5) * r->bin_w / (double)r->grid_w;
            roi_corners(p++, y, x, h, wide);
        }
}

enum { SIDE_BY_SIDE = 8 }; /* channels at once */

/* The weighed points of channels first..., channels last; beyond the last one anything. */
static void bin_largest(const struct corners *p, int64_t n, const double *image, int64_t channels,
                        double *best)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < SIDE_BY_SIDE; c++) {
                double v = p[i].weight[k] * image[p[i].at[k] * channels + c];
                best[c] = (i == 0 && k == 0) || v > best[c] ? v : best[c];
            }
}

static void bin_sums(const struct corners *p, int64_t n, const double *image, int64_t channels,
                     double *sums)
{
    double sum[SIDE_BY_SIDE] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < SIDE_BY_SIDE; c++)
                sum[c] += p[i].weight[k] * image[p[i].at[k] * channels + c];
    for (int c = 0; c < SIDE_BY_SIDE; c++)
        sums[c] = sum[c] / (double)(n > 1 ? n : 1);
}

/* `image` and `out` have room for SIDE_BY_SIDE more channels. */
static void sample_bin(const struct roi *r, const struct corners *p, int64_t n, const double *image,
                       int64_t channels, double *out)
{
    for (int64_t ch = 0; ch < channels; ch += SIDE_BY_SIDE) {
        if (r->max)
            memset(out + ch, 0, sizeof *out * SIDE_BY_SIDE);
        (r->max ? bin_largest : bin_sums)(p, n, image + ch, channels, out + ch);
    }
}

/* Images of t with channels last. */
static double *work_channels_last(struct work *w, const struct tensor *t)
{
    enum { PIXELS = 64 };
    int64_t channels = t->dims[1], plane = t->dims[2] * t->dims[3];
    double *x = WORK(w, double, tensor_count(t) + SIDE_BY_SIDE), line[PIXELS];
    for (int64_t n = 0; x && n < t->dims[0]; n++)
        for (int64_t p = 0; p < plane; p += PIXELS)
            for (int64_t ch = 0; ch < channels; ch++) {
                int64_t count = plane - p < PIXELS ? plane - p : PIXELS, from = n * channels + ch;
                double *to = x + (n * plane + p) * channels + ch;
                dtype_load_f64n(t->dtype, element(t, from * plane + p), (size_t)count, line);
                for (int64_t i = 0; i < count; i++)
                    to[i * channels] = line[i];
            }
    return x;
}

struct points {
    struct corners *p;
    int64_t room;
    double *channels; /* of a bin */
};

static bool have_room(struct work *w, struct points *points, int64_t n)
{
    if (n <= points->room)
        return true;
    points->room = 2 * n;
    return (points->p = WORK(w, struct corners, points->room)) != NULL;
}

/* n numbers `step` apart, from element `at` on. */
static void store_apart(struct tensor *out, int64_t at, int64_t step, const double *v, int64_t n)
{
    float *y = out->data;
    if (out->dtype == DT_F32)
        for (int64_t i = 0; i < n; i++)
            y[at + i * step] = (float)v[i];
    else
        for (int64_t i = 0; i < n; i++)
            dtype_store_f64(out->dtype, out->data, (size_t)(at + i * step), v[i]);
}

/* One region: (channels, ph, pw) from `at` on. */
static bool align_roi(struct work *w, const struct roi *r, struct points *sampled,
                      const double *image, const struct tensor *t, struct tensor *out, int64_t at)
{
    int64_t channels = t->dims[1], h = t->dims[2], wide = t->dims[3], ph = out->dims[2],
            pw = out->dims[3], points = r->grid_h > 0 && r->grid_w > 0 ? r->grid_h * r->grid_w : 0;
    if (!have_room(w, sampled, points))
        return false;
    for (int64_t bin = 0; bin < ph * pw; bin++) {
        bin_points(r, h, wide, bin / pw, bin % pw, sampled->p);
        sample_bin(r, sampled->p, points, image, channels, sampled->channels);
        store_apart(out, at + bin, ph * pw, sampled->channels, channels);
    }
    return true;
}

static bool roi_align(struct op_call *c, struct work *w)
{
    const struct tensor *t = c->in[0];
    struct tensor *out = c->out[0];
    int64_t channels = t->dims[1], h = t->dims[2], wide = t->dims[3], ph = out->dims[2],
            pw = out->dims[3];
    int64_t ratio = attr_int(c->attrs, "sampling_ratio", 0);
    double scale = attr_float(c->attrs, "spatial_scale", 1);
    bool half = !attr_is(c->attrs, "coordinate_transformation_mode", "output_half_pixel");
    struct roi r = {.max = attr_is(c->attrs, "mode", "max")};
    struct points sampled = {.channels = WORK(w, double, channels + SIDE_BY_SIDE)};
    double *x = work_channels_last(w, t), *rois = work_doubles(w, c->in[1]);
    if (!x || !rois || !sampled.channels)
        return false;
    if (c->in[1]->dims[1] != 4 || tensor_count(c->in[2]) != out->dims[0] ||
        (h * wide == 0 && channels))
        return fail(w->d, "rois or their images do not fit x");
    for (int64_t i = 0; i < out->dims[0]; i++) {
        const double *roi = rois + 4 * i;
        int64_t image = tensor_i64(c->in[2], i);
        if (image < 0 || image >= t->dims[0])
            return fail(w->d, "roi %lld is of image %lld, expected less than %lld", (long long)i,
                        (long long)image, (long long)t->dims[0]);
        double shift = half ? 0.5 : 0, rh = (roi[3] - roi[1]) * scale,
               rw = (roi[2] - roi[0]) * scale;
        r.y = roi[1] * scale - shift;
        r.x = roi[0] * scale - shift;
        r.bin_h = (half || rh > 1 ? rh : 1) / (double)ph;
        r.bin_w = (half || rw > 1 ? rw : 1) / (double)pw;
        if (!(fabs(r.bin_h) < 1e6 && fabs(r.bin_w) < 1e6))
            return fail(w->d, "roi %lld is too large", (long long)i);
        r.grid_h = ratio > 0 ? ratio : (int64_t)ceil(r.bin_h);
        r.grid_w = ratio > 0 ? ratio : (int64_t)ceil(r.bin_w);
        if (!align_roi(w, &r, &sampled, x + image * channels * h * wide, t, out,
                       i * channels * ph * pw))
            return false;
    }
    return true;
}

EVAL_WITH_WORK(roi_align)
