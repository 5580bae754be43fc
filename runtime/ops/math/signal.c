#include "runtime/ops/common/fourier.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>

static const double two_pi = 6.283185307179586477;

/* ---- det ---- */

bool infer_det(struct infer *f)
{
    const struct type *x = &f->in[0];
    if (x->rank == RANK_UNKNOWN)
        return infer_any(f, 0, x->dtype);
    if (x->rank < 2)
        return fail(f->d, "det has x of rank %d, expected 2 or more", x->rank);
    if (!require_equal(f, x->dims[x->rank - 2], x->dims[x->rank - 1],
                       named("rows and columns", -1, -1)))
        return false;
    return infer_out(f, 0, x->dtype, x->rank - 2, x->dims);
}

/* By elimination with the largest pivot of each column. */
static double determinant(double *a, int64_t n)
{
    double det = 1;
    for (int64_t col = 0; col < n; col++) {
        int64_t pivot = col;
        for (int64_t r = col + 1; r < n; r++)
            if (fabs(a[r * n + col]) > fabs(a[pivot * n + col]))
                pivot = r;
        if (a[pivot * n + col] == 0)
            return 0;
        for (int64_t j = 0; pivot != col && j < n; j++) {
            double swap = a[col * n + j];
            a[col * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swap;
        }
        det *= pivot == col ? a[col * n + col] : -a[col * n + col];
        for (int64_t r = col + 1; r < n; r++) {
            double factor = a[r * n + col] / a[col * n + col];
            for (int64_t j = col; j < n; j++)
                a[r * n + j] -= factor * a[col * n + j];
        }
    }
    return det;
}

static bool det(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    int64_t n = x->dims[x->rank - 1];
    double *v = work_doubles(w, x);
    if (x->dims[x->rank - 2] != n)
        return fail(w->d, "det has matrices of %lld by %lld, expected square ones",
                    (long long)x->dims[x->rank - 2], (long long)n);
    for (int64_t i = 0; v && i < tensor_count(y); i++)
        dtype_store_f64(y->dtype, y->data, (size_t)i, determinant(v + i * n * n, n));
    return v != NULL;
}

EVAL_WITH_WORK(det)

/* ---- dft ---- */

/* The axis is only known while running: so are all dims but the last. */
static bool infer_any_axis(struct infer *f, struct type y, dim_t parts)
{
    for (int i = 0; i < y.rank - 1; i++)
        y.dims[i] = infer_unknown(f, "dft");
    y.dims[y.rank - 1] = parts;
    return infer_out(f, 0, y.dtype, y.rank, y.dims);
}

bool infer_dft(struct infer *f)
{
    struct type y = f->in[0];
    bool inverse = attr_int(f->attrs, "inverse", 0) != 0,
         onesided = attr_int(f->attrs, "onesided", 0) != 0;
    int axis;
    if (y.rank == RANK_UNKNOWN)
        return infer_any(f, 0, y.dtype);
    if (y.rank < 2)
        return fail(f->d, "x of dft has rank %d, expected 2 or more", y.rank);
    int64_t given_axis = attr_int(f->attrs, "axis", -2);
    if (has_input(f, 2) && !infer_scalar(f, 2, &given_axis))
        return infer_any_axis(f, y, inverse && onesided ? 1 : 2);
    if (!infer_axis(f, given_axis, y.rank, &axis))
        return false;
    if (axis == y.rank - 1)
        return fail(f->d, "the axis of dft is the last dim, which holds real and imaginary part");
    dim_t length = y.dims[axis];
    if (has_input(f, 1)) {
        struct content given = infer_content(f, 1);
        length = given.n == 1 ? given.v[0] : infer_unknown(f, "dft");
    } else if (inverse && onesided) {
        length = dim_mul(f->dims, 2, dim_sub(f->dims, length, 1));
    }
    if (onesided && !inverse)
        length = dim_add(f->dims, dim_floordiv(f->dims, length, 2), 1);
    y.dims[axis] = length;
    y.dims[y.rank - 1] = inverse && onesided ? 1 : 2;
    return infer_out(f, 0, y.dtype, y.rank, y.dims);
}

struct spectrum {
    int64_t length, in, out; /* of the transform, of lines of x and y */
    int64_t parts_in, parts_out;
    int sign;
    double factor;
    bool mirror; /* the second half of the input is the conjugate of the first */
    struct fourier *plan;
    double complex *line, *bins;
};

static bool spectrum_alloc(struct work *w, struct spectrum *s)
{
    s->line = WORK(w, double complex, s->length);
    s->bins = WORK(w, double complex, s->length);
    s->plan = fourier_plan(w, s->length, 1, s->sign);
    return s->line && s->bins && s->plan;
}

/* Elements of a line lie `stride` numbers apart, the imaginary part next to the real. */
static void spectrum_line(const struct spectrum *s, const double *x, int64_t stride, double *y,
                          int64_t y_stride)
{
    int64_t n = s->length;
    for (int64_t i = 0; i < n; i++) {
        bool conjugate = s->mirror && i > n / 2, real = s->mirror && (i == 0 || 2 * i == n);
        int64_t from = conjugate ? n - i : i;
        bool has = from < s->in;
        double re = has ? x[from * stride] : 0;
        double im = has && s->parts_in > 1 && !real ? x[from * stride + 1] : 0;
        s->line[i] = CMPLX(re, conjugate ? -im : im);
    }
    fourier_line(s->plan, s->line, s->bins);
    for (int64_t i = 0; i < s->out; i++) {
        y[i * y_stride] = creal(s->bins[i]) * s->factor;
        if (s->parts_out > 1)
            y[i * y_stride + 1] = cimag(s->bins[i]) * s->factor;
    }
}

static bool dft(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *out = c->out[0];
    bool inverse = attr_int(c->attrs, "inverse", 0) != 0,
         onesided = attr_int(c->attrs, "onesided", 0) != 0;
    int64_t axis = has_operand(c, 2) ? tensor_i64(c->in[2], 0) : attr_int(c->attrs, "axis", -2);
    axis += axis < 0 ? x->rank : 0;
    struct spectrum s = {.in = x->dims[axis],
                         .out = out->dims[axis],
                         .parts_in = x->dims[x->rank - 1],
                         .parts_out = out->dims[out->rank - 1],
                         .sign = inverse ? 1 : -1,
                         .mirror = inverse && onesided};
    s.length = inverse && onesided ? s.out : has_operand(c, 1) ? tensor_i64(c->in[1], 0) : s.in;
    s.factor = inverse ? 1 / (double)s.length : 1;
    if (s.parts_in < 1 || s.parts_in > 2 || s.length < 1)
        return tensor_count(out) == 0 || fail(w->d,
                                              "dft has %lld numbers in the last dim and length "
                                              "%lld, expected 1 or 2, and 1 or more",
                                              (long long)s.parts_in, (long long)s.length);
    int64_t outer = dims_product(x->dims, 0, (int)axis);
    int64_t inner = dims_product(x->dims, (int)axis + 1, x->rank - 1);
    double *v = work_doubles(w, x), *y = WORK(w, double, tensor_count(out));
    if (!v || !y || !spectrum_alloc(w, &s))
        return false;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            spectrum_line(&s, v + (o * s.in * inner + i) * s.parts_in, inner * s.parts_in,
                          y + (o * s.out * inner + i) * s.parts_out, inner * s.parts_out);
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(dft)

/* ---- stft ---- */

bool infer_stft(struct infer *f)
{
    const struct type *x = &f->in[0];
    bool onesided = attr_int(f->attrs, "onesided", 1) != 0;
    int64_t step;
    if (x->rank == RANK_UNKNOWN)
        return infer_any(f, 0, x->dtype);
    if (x->rank != 2 && x->rank != 3)
        return fail(f->d, "the signal of stft has rank %d, expected 3, or 2 of real numbers",
                    x->rank);
    if (infer_scalar(f, 1, &step) && step < 1)
        return fail(f->d, "the step of stft is %lld, expected 1 or more", (long long)step);
    struct content steps = infer_content(f, 1), given = infer_content(f, 3);
    dim_t length = x->dims[1], frames;
    if (has_input(f, 2) && f->in[2].rank != 1 && f->in[2].rank != RANK_UNKNOWN)
        return fail(f->d, "the window of stft has rank %d, expected 1", f->in[2].rank);
    if (has_input(f, 3))
        length = given.n == 1 ? given.v[0] : infer_unknown(f, "frame");
    else if (has_input(f, 2) && f->in[2].rank == 1)
        length = f->in[2].dims[0];
    frames = steps.n == 1
                 ? dim_add(f->dims, 1,
                           dim_floordiv(f->dims, dim_sub(f->dims, x->dims[1], length), steps.v[0]))
                 : infer_unknown(f, "frames");
    if (dim_is_const(frames) && frames < 0)
        frames = 0;
    if (onesided)
        length = dim_add(f->dims, dim_floordiv(f->dims, length, 2), 1);
    return infer_out(f, 0, x->dtype, 4, (dim_t[]){x->dims[0], frames, length, 2});
}

static bool stft(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *out = c->out[0];
    if (tensor_count(c->in[1]) != 1 || (has_operand(c, 3) && tensor_count(c->in[3]) != 1))
        return fail(w->d, "the step and the frame length of stft are single numbers");
    int64_t step = tensor_i64(c->in[1], 0), frames = out->dims[1], total = x->dims[1];
    double *v = work_doubles(w, x), *y = WORK(w, double, tensor_count(out)), *window;
    struct spectrum s = {.out = out->dims[2],
                         .parts_in = x->rank == 3 ? x->dims[2] : 1,
                         .parts_out = 2,
                         .sign = -1,
                         .factor = 1};
    s.length = s.in = has_operand(c, 3)   ? tensor_i64(c->in[3], 0)
                      : has_operand(c, 2) ? tensor_count(c->in[2])
                                          : total;
    if (!v || !y || !work_optional(c, w, 2, &window))
        return false;
    if (s.parts_in < 1 || s.parts_in > 2 || s.length < 1 || step < 1 || s.out > s.length ||
        step > INT64_MAX / (frames + 1) || (window && tensor_count(c->in[2]) != s.length) ||
        (frames > 0 && (frames - 1) * step > total - s.length))
        return fail(w->d, "signal, step, window and frame length of stft do not fit together");
    double *frame = WORK(w, double, s.length *s.parts_in);
    if (!frame || !spectrum_alloc(w, &s))
        return false;
    for (int64_t b = 0; b < x->dims[0]; b++)
        for (int64_t i = 0; i < frames; i++) {
            for (int64_t j = 0; j < s.length * s.parts_in; j++)
                frame[j] = v[(b * total + i * step) * s.parts_in + j] *
                           (window ? window[j / s.parts_in] : 1);
            spectrum_line(&s, frame, s.parts_in, y + (b * frames + i) * s.out * 2, 2);
        }
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(stft)

/* ---- windows ---- */

static bool infer_window(struct infer *f)
{
    struct content size = infer_content(f, 0);
    dim_t n = size.n == 1 ? size.v[0] : infer_unknown(f, "window");
    return infer_out(f, 0, (int)attr_int(f->attrs, "output_datatype", DT_F32), 1, &n);
}

INFER_AS(hann_window, infer_window)
INFER_AS(hamming_window, infer_window)
INFER_AS(blackman_window, infer_window)

/* a0 - a1 cos(t) + a2 cos(2t), t from 0 to 2 pi over the window. */
static bool fill_window(struct op_call *c, double a0, double a1, double a2)
{
    struct tensor *y = c->out[0];
    int64_t n = tensor_count(y), turns = attr_int(c->attrs, "periodic", 1) ? n : n - 1;
    for (int64_t i = 0; i < n; i++) {
        double t = turns > 0 ? two_pi * (double)i / (double)turns : two_pi / 2;
        dtype_store_f64(y->dtype, y->data, (size_t)i, a0 - a1 * cos(t) + a2 * cos(2 * t));
    }
    return true;
}

bool eval_hann_window(struct op_call *c)
{
    return fill_window(c, 0.5, 0.5, 0);
}
bool eval_hamming_window(struct op_call *c)
{
    return fill_window(c, 25.0 / 46, 1 - 25.0 / 46, 0);
}
bool eval_blackman_window(struct op_call *c)
{
    return fill_window(c, 0.42, 0.5, 0.08);
}

/* ---- mel_weight_matrix: triangles over the bins of a spectrum, evenly spaced in mel ---- */

bool infer_mel_weight_matrix(struct infer *f)
{
    struct content bins = infer_content(f, 0), length = infer_content(f, 1);
    dim_t dims[2];
    dims[0] = length.n == 1 ? dim_add(f->dims, dim_floordiv(f->dims, length.v[0], 2), 1)
                            : infer_unknown(f, "bins");
    dims[1] = bins.n == 1 ? bins.v[0] : infer_unknown(f, "mel");
    return infer_out(f, 0, (int)attr_int(f->attrs, "output_datatype", DT_F32), 2, dims);
}

static bool mel_weight_matrix(struct op_call *c, struct work *w)
{
    int64_t mels = tensor_i64(c->in[0], 0), length = tensor_i64(c->in[1], 0);
    int64_t rate = tensor_i64(c->in[2], 0), rows = length / 2 + 1,
            *edge = WORK(w, int64_t, mels + 2);
    double low = 2595 * log10(1 + tensor_f64(c->in[3], 0) / 700);
    double high = 2595 * log10(1 + tensor_f64(c->in[4], 0) / 700);
    double *y = WORK(w, double, tensor_count(c->out[0]));
    if (!edge || !y)
        return false;
    if (rate < 1)
        return fail(w->d, "the sample rate is %lld, expected 1 or more", (long long)rate);
    for (int64_t i = 0; i < mels + 2; i++) {
        double mel = low + (double)i * (high - low) / (double)(mels + 2);
        double hertz = 700 * (pow(10, mel / 2595) - 1);
        edge[i] = (int64_t)floor((double)(length + 1) * hertz / (double)rate);
        if (edge[i] < 0 || edge[i] >= rows)
            return fail(w->d, "the mel bands reach past the spectrum of %lld bins",
                        (long long)rows);
    }
    for (int64_t i = 0; i < mels; i++) {
        int64_t left = edge[i], centre = edge[i + 1], right = edge[i + 2];
        if (centre == left)
            y[centre * mels + i] = 1;
        for (int64_t j = left; centre > left && j <= centre; j++)
            y[j * mels + i] = (double)(j - left) / (double)(centre - left);
        for (int64_t j = centre; right > centre && j < right; j++)
            y[j * mels + i] = (double)(right - j) / (double)(right - centre);
    }
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(mel_weight_matrix)
