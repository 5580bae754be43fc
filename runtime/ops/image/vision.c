#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#if defined __SSE2__
#include <emmintrin.h>
#endif
#include <math.h>
#include <string.h>

/* ---- max_unpool ---- */

/* The shape that the pool had before, without an explicit one. */
static bool unpooled(struct dim_table *t, const struct attrs *as, struct diag *d,
                     const struct type *x, struct type *y)
{
    int n, nstrides, npads;
    const int64_t *kernel = attr_ints(as, "kernel_shape", &n),
                  *strides = attr_ints(as, "strides", &nstrides);
    const int64_t *pads = attr_ints(as, "pads", &npads);
    *y = *x;
    if (x->rank < 2 || n != x->rank - 2 || (strides && nstrides != n) || (pads && npads != 2 * n))
        return fail(d, "kernel_shape, strides or pads does not fit x of rank %d", x->rank);
    for (int i = 0; i < n; i++) {
        dim_t full = dim_add(t, dim_mul(t, dim_sub(t, x->dims[2 + i], 1), strides ? strides[i] : 1),
                             kernel[i]);
        y->dims[2 + i] = dim_sub(t, full, pads ? pads[i] + pads[n + i] : 0);
    }
    return true;
}

bool infer_max_unpool(struct infer *f)
{
    struct type y;
    if (f->in[0].rank == RANK_UNKNOWN)
        return infer_any(f, 0, f->in[0].dtype);
    if (!unpooled(f->dims, f->attrs, f->d, &f->in[0], &y))
        return false;
    if (has_input(f, 2)) {
        struct content shape = infer_content(f, 2);
        if (shape.n >= 0 && shape.n != y.rank)
            return fail(f->d, "a shape of %lld sizes for rank %d", (long long)shape.n, y.rank);
        for (int i = 0; i < y.rank; i++)
            y.dims[i] = shape.n == y.rank ? shape.v[i] : infer_unknown(f, "unpool");
    }
    return infer_out(f, 0, y.dtype, y.rank, y.dims);
}

/* Indices count places of the shape that the pool had; a larger result has that in its first
 * corner. */
bool eval_max_unpool(struct op_call *c)
{
    const struct tensor *x = c->in[0], *index = c->in[1];
    struct tensor *y = c->out[0];
    struct type type = type_tensor(x->dtype, x->rank, x->dims), small;
    if (!unpooled(NULL, c->attrs, c->env->d, &type, &small))
        return false;
    if (tensor_count(index) != tensor_count(x))
        return fail(c->env->d, "there are %lld indices for %lld values",
                    (long long)tensor_count(index), (long long)tensor_count(x));
    memset(y->data, 0, tensor_bytes(y));
    int64_t places = tensor_count(y), values = tensor_count(x);
    size_t size = dtype_bytes(y->dtype);
    bool same = true;
    for (int k = 0; k < y->rank; k++)
        same &= y->dims[k] == small.dims[k];
    for (int64_t i = 0; i < values; i++) {
        int64_t from = tensor_i64(index, i), to = 0, step = 1;
        if (same && from >= 0 && from < places) {
            if (size == sizeof(float))
                ((uint32_t *)y->data)[from] = ((const uint32_t *)x->data)[i];
            else
                memcpy(element(y, from), element(x, i), size);
            continue;
        }
        bool inside = from >= 0;
        for (int k = y->rank - 1; inside && k >= 0; k--) {
            int64_t place = small.dims[k] > 0 ? from % small.dims[k] : 0;
            inside = small.dims[k] > 0 && place < y->dims[k];
            from /= small.dims[k] > 0 ? small.dims[k] : 1;
            to += place * step;
            step *= y->dims[k];
        }
        if (!inside || from)
            return fail(c->env->d, "index %lld is outside the result",
                        (long long)tensor_i64(index, i));
        memcpy(element(y, to), element(x, i), size);
    }
    return true;
}

/* ---- affine_grid ---- */

bool infer_affine_grid(struct infer *f)
{
    const struct type *theta = &f->in[0];
    struct content size = infer_content(f, 1);
    dim_t dims[MAX_RANK];
    if (theta->rank != RANK_UNKNOWN && theta->rank != 3)
        return fail(f->d, "theta has rank %d, expected 3", theta->rank);
    if (size.n < 0)
        return infer_any(f, 0, theta->dtype);
    if (size.n != 4 && size.n != 5)
        return fail(f->d, "size has %lld elements, expected 4 or 5", (long long)size.n);
    int n = (int)size.n - 2;
    dims[0] = size.v[0];
    for (int i = 0; i < n; i++)
        dims[1 + i] = size.v[2 + i];
    dims[n + 1] = n;
    return infer_out(f, 0, theta->dtype, n + 2, dims);
}

/* Coordinates of the points along a dim. */
static double *grid_line(struct work *w, int64_t length, bool align)
{
    double *x = WORK(w, double, length), n = (double)length;
    for (int64_t i = 0; x && i < length; i++)
        x[i] = !align ? (2 * (double)i + 1) / n - 1 : n > 1 ? 2 * (double)i / (n - 1) - 1 : -1;
    return x;
}

static bool affine_grid(struct op_call *c, struct work *w)
{
    const struct tensor *theta = c->in[0];
    struct tensor *y = c->out[0];
    int n = y->rank - 2;
    bool align = attr_int(c->attrs, "align_corners", 0) != 0;
    int64_t place[MAX_RANK] = {0}, run = y->dims[n], at = 0;
    int64_t lines = run ? dims_product(y->dims, 1, n + 1) / run : 0;
    double *v = work_doubles(w, theta), *x[MAX_RANK], *line = WORK(w, double, run *n);
    if (!v || !line)
        return false;
    for (int k = 0; k < n; k++) /* x is the last spatial dim */
        if (!(x[k] = grid_line(w, y->dims[n - k], align)))
            return false;
    if (theta->dims[0] != y->dims[0] || theta->dims[1] != n || theta->dims[2] != n + 1)
        return fail(w->d, "theta is %lld by %lld by %lld, expected %lld by %d by %d",
                    (long long)theta->dims[0], (long long)theta->dims[1], (long long)theta->dims[2],
                    (long long)y->dims[0], n, n + 1);
    for (int64_t b = 0; b < y->dims[0]; b++)
        for (int64_t p = 0; p < lines; p++, at += run * n, next_index(place, y->dims + 1, n - 1)) {
            for (int row = 0; row < n; row++) {
                const double *m = v + (b * n + row) * (n + 1);
                for (int64_t i = 0; i < run; i++)
                    line[i * n + row] = m[n] + m[0] * x[0][i];
                for (int k = 1; k < n; k++) {
                    double more = m[k] * x[k][place[n - 1 - k]];
                    for (int64_t i = 0; i < run; i++)
                        line[i * n + row] += more;
                }
            }
            dtype_store_f64n(y->dtype, element(y, at), (size_t)(run * n), line);
        }
    return true;
}

EVAL_WITH_WORK(affine_grid)

/* ---- grid_sample ---- */

bool infer_grid_sample(struct infer *f)
{
    const struct type *x = &f->in[0], *grid = &f->in[1];
    dim_t dims[MAX_RANK];
    if (x->rank == RANK_UNKNOWN || grid->rank == RANK_UNKNOWN)
        return infer_any(f, 0, x->dtype);
    if (x->rank < 3 || x->rank != grid->rank)
        return fail(f->d, "x and grid have rank %d and %d, expected the same, 3 or more", x->rank,
                    grid->rank);
    if (!require_same(f, x->dims[0], grid->dims[0], named("batch of x and grid", -1, 0),
                      &dims[0]) ||
        !require_equal(f, grid->dims[x->rank - 1], x->rank - 2,
                       named("coordinates", 1, x->rank - 1)))
        return false;
    dims[1] = x->dims[1];
    for (int i = 2; i < x->rank; i++)
        dims[i] = grid->dims[i - 1];
    return infer_out(f, 0, x->dtype, x->rank, dims);
}

enum padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION };
enum { MAX_TAPS = 4 };

struct sampler {
    int n, taps; /* spatial dims; points used along each: 1 nearest, 2 linear, 4 cubic */
    enum padding padding;
    bool align;
    const int64_t *dims;
};

static double reflect(double x, double low, double high)
{
    double range = high - low;
    if (range <= 0)
        return low;
    if (x >= low && x <= high)
        return x;
    double over = x < low ? low - x : x - high, turns = floor(over / range),
           rest = over - turns * range;
    bool from_low = (x < low) == (fmod(turns, 2) == 0);
    return from_low ? low + rest : high - rest;
}

/* Index i along dim d as it is read: -1 for nothing. */
static inline int64_t padded_index(const struct sampler *s, int d, double i)
{
    double length = (double)s->dims[d];
    if (s->padding == PADDING_BORDER)
        i = fmin(fmax(i, 0), length - 1);
    else if (s->padding == PADDING_REFLECTION)
        i = trunc(reflect(i, s->align ? 0 : -0.5, s->align ? length - 1 : length - 0.5));
    return i >= 0 && i < length ? (int64_t)i : -1;
}

static void cubic_weights(double t, double *weight)
{
    const double a = -0.75;
    for (int k = 0; k < 4; k++) {
        double x = fabs(t - (k - 1));
        weight[k] =
            x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((x - 5) * x + 8) * x * a - 4 * a;
    }
}

/* Indices and weights along dim d for the normalised coordinate. Of cubic sampling beyond a border,
 * the taps are clamped and not the coordinate, as ONNX Runtime and PyTorch do. */
static inline __attribute__((always_inline)) void
sample_dim(const struct sampler *s, int d, double coordinate, int64_t *index, double *weight)
{
    double length = (double)s->dims[d], low = s->align ? 0 : -0.5, high = length - 1 - low;
    double x = s->align ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
    x = (double)(float)x;
    if (!(fabs(x) < 1e15))
        x = -1e15;
    if (s->taps == 1)
        x = nearbyint(x);
    if (s->padding == PADDING_BORDER && s->taps != 4 && (x < low || x > high))
        x = fmin(fmax(x, 0), length - 1);
    else if (s->padding == PADDING_REFLECTION)
        x = reflect(x, low, high);
    double base = (double)(int64_t)x;
    base -= s->taps != 1 && base > x; /* the floor: x is below 1e15 */
    double t = x - base;
    if (s->taps == 4)
        cubic_weights(t, weight);
    else {
        weight[0] = s->taps == 1 ? 1 : 1 - t;
        weight[1] = t;
    }
    for (int k = 0; k < s->taps; k++)
        index[k] = padded_index(s, d, base + k - (s->taps == 4));
}

/* The points of one output place: input positions (-1: nothing) and weights. */
static inline __attribute__((always_inline)) int
sample_points(const struct sampler *s, const double *coordinates, int64_t *at, double *weight)
{
    int count = 1;
    at[0] = 0;
    weight[0] = 1;
    for (int d = 0; d < s->n; d++) {
        int64_t index[MAX_TAPS];
        double factor[MAX_TAPS];
        sample_dim(s, d, coordinates[s->n - 1 - d], index, factor);
        for (int i = count - 1; i >= 0; i--)
            for (int k = s->taps - 1; k >= 0; k--) {
                bool inside = at[i] >= 0 && index[k] >= 0;
                double product = weight[i] * factor[k];
                at[i * s->taps + k] = inside ? at[i] * s->dims[d] + index[k] : -1;
                weight[i * s->taps + k] = product;
            }
        count *= s->taps;
    }
    return count;
}

/* The same of the most frequent kind, in code of its own. */
static int sample_plain_points(const struct sampler *given, const double *coordinates, int64_t *at,
                               double *weight)
{
    struct sampler s = {2, 2, PADDING_ZEROS, given->align, given->dims};
    return sample_points(&s, coordinates, at, weight);
}

static int sample_any_points(const struct sampler *s, const double *coordinates, int64_t *at,
                             double *weight)
{
    return sample_points(s, coordinates, at, weight);
}

/* Keeps the points that are inside. */
static int inside_points(int64_t *at, double *weight, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (at[i] >= 0) {
            at[kept] = at[i];
            weight[kept++] = weight[i];
        }
    return kept;
}

/* What some output places see: of each, as many points as lie inside. */
enum { BLOCK = 128 };
struct sampled {
    int64_t places, max; /* most: points of a place */
    int count[BLOCK];
    bool squares[BLOCK]; /* two neighbours in each of two rows */
    int64_t *at;
    double *weight;
};

static bool is_square(const int64_t *at, int count)
{
    return count == 4 && at[1] == at[0] + 1 && at[3] == at[2] + 1;
}

typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef double loose_pair
    __attribute__((vector_size(2 * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Compilers convert vectors of two floats element by element. */
static inline pair pair_at(const float *x)
{
#if defined __SSE2__
    return (pair)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const void *)x)));
#else
    return (pair){x[0], x[1]};
#endif
}

static inline double sample_square(const float *x, const int64_t *at, const double *weight)
{
    const loose_pair *w = (const loose_pair *)weight;
    pair sum = w[0] * pair_at(x + at[0]) + w[1] * pair_at(x + at[2]);
    return sum[0] + sum[1];
}

static void sample_channel(const struct sampled *s, const float *x, float *y)
{
    const int64_t *at = s->at;
    const double *weight = s->weight;
    for (int64_t p = 0; p < s->places; p++, at += s->max, weight += s->max) {
        double sum = 0;
        if (s->squares[p])
            sum = sample_square(x, at, weight);
        else
            for (int i = 0; i < s->count[p]; i++)
                sum += weight[i] * (double)x[at[i]];
        y[p] = (float)sum;
    }
}

/* Channel `from` of t to places `to`... of y, both counted in elements. */
static void sample_any_channel(const struct sampled *s, const struct tensor *t, int64_t from,
                               struct tensor *y, int64_t to)
{
    for (int64_t p = 0; p < s->places; p++) {
        double sum = 0;
        for (int i = 0; i < s->count[p]; i++)
            sum += s->weight[p * s->max + i] * tensor_f64(t, from + s->at[p * s->max + i]);
        dtype_store_f64(y->dtype, y->data, (size_t)(to + p), sum);
    }
}

static bool grid_sample(struct op_call *c, struct work *w)
{
    const struct tensor *t = c->in[0], *grid = c->in[1];
    struct tensor *y = c->out[0];
    struct sampler s = {.n = t->rank - 2,
                        .taps = 2,
                        .dims = t->dims + 2,
                        .align = attr_int(c->attrs, "align_corners", 0) != 0};
    s.padding = attr_is(c->attrs, "padding_mode", "border")       ? PADDING_BORDER
                : attr_is(c->attrs, "padding_mode", "reflection") ? PADDING_REFLECTION
                                                                  : PADDING_ZEROS;
    if (attr_is(c->attrs, "mode", "nearest"))
        s.taps = 1;
    else if (attr_is(c->attrs, "mode", "cubic") || attr_is(c->attrs, "mode", "bicubic"))
        s.taps = 4;
    if (s.n > 5 || grid->dims[grid->rank - 1] != s.n || grid->dims[0] != t->dims[0])
        return fail(w->d, "grid does not fit x: it has %lld coordinates for %d spatial dims",
                    (long long)grid->dims[grid->rank - 1], s.n);
    int64_t points = dims_product(y->dims, 2, y->rank), plane = dims_product(t->dims, 2, t->rank),
            max = 1;
    for (int i = 0; i < s.n; i++)
        max *= s.taps;
    bool plain = s.n == 2 && s.taps == 2 && s.padding == PADDING_ZEROS;
    int (*points_of)(const struct sampler *, const double *, int64_t *, double *) =
        plain ? sample_plain_points : sample_any_points;
    struct sampled block = {
        .max = max, .at = WORK(w, int64_t, BLOCK * max), .weight = WORK(w, double, BLOCK *max)};
    double *g = work_doubles(w, grid);
    bool singles = t->dtype == DT_F32 && y->dtype == DT_F32;
    if (!g || !block.at || !block.weight)
        return false;
    for (int64_t b = 0; b < t->dims[0]; b++)
        for (int64_t p = 0; p < points; p += block.places) {
            block.places = points - p < BLOCK ? points - p : BLOCK;
            for (int64_t i = 0; i < block.places; i++) {
                int64_t *at = block.at + i * max;
                double *weight = block.weight + i * max;
                int count = points_of(&s, g + (b * points + p + i) * s.n, at, weight);
                block.count[i] = inside_points(at, weight, count);
                block.squares[i] = is_square(at, block.count[i]);
            }
            for (int64_t ch = b * t->dims[1]; ch < (b + 1) * t->dims[1]; ch++)
                if (singles)
                    sample_channel(&block, (const float *)t->data + ch * plane,
                                   (float *)y->data + ch * points + p);
                else
                    sample_any_channel(&block, t, ch * plane, y, ch * points + p);
        }
    return true;
}

EVAL_WITH_WORK(grid_sample)
