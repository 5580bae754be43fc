/* Fourier transforms of the last dims: lengths of small factors in FP32, where numbers are; others in double. */
#include "runtime/ops/common/fourier.h"
#include "runtime/ops/common/fourier_f32.h"

#include <string.h>

enum { MAX_FFT = 8 };

bool infer_fft(struct infer *f)
{
    struct type out = f->in[0];
    int count;
    const int64_t *lengths = attr_ints(f->attrs, "lengths", &count);
    bool to_real = attr_is(f->attrs, "kind", "IRFFT"),
         from_real = attr_is(f->attrs, "kind", "RFFT");
    bool wide = out.dtype == DT_F64 || out.dtype == DT_C128;
    if (count < 1 || count > MAX_FFT || count > out.rank)
        return fail(f->d, "%d lengths for an operand of rank %d", count, out.rank);
    if (from_real ? out.dtype != DT_F32 && out.dtype != DT_F64 : !dtype_is_complex(out.dtype))
        return fail(f->d, "element type %s is not admitted", dtype_name(out.dtype));
    for (int i = 0; i < count; i++) {
        dim_t have = out.dims[out.rank - count + i], want = lengths[i];
        if (to_real && i == count - 1)
            want = want / 2 + 1;
        if (lengths[i] < 0 || (dim_is_const(have) && have != want && have != 0))
            return fail(f->d, "dimension %d has %lld elements, expected %lld", out.rank - count + i,
                        (long long)have, (long long)want);
    }
    if (from_real)
        out.dims[out.rank - 1] = lengths[count - 1] ? lengths[count - 1] / 2 + 1 : 0;
    if (to_real)
        out.dims[out.rank - 1] = lengths[count - 1];
    out.dtype = to_real ? (wide ? DT_F64 : DT_F32) : (wide ? DT_C128 : DT_C64);
    f->out[0] = out;
    return true;
}

/* Along one axis of dense dims. */
static bool transform_axis(struct work *w, double complex *v, const int64_t *dims, int rank,
                           int axis, int sign)
{
    int64_t n = dims[axis], inner = dims_product(dims, axis + 1, rank),
            outer = dims_product(dims, 0, axis);
    struct fourier *plan = fourier_plan(w, n, outer * inner, sign);
    if (!plan)
        return false;
    struct fourier_lines *lines = fourier_lines(plan);
    int64_t *start = WORK(w, int64_t, lines->max);
    for (int64_t o = 0, count; start && o < outer * inner; o += count) {
        count = outer * inner - o < lines->max ? outer * inner - o : lines->max;
        for (int64_t l = 0; l < count; l++)
            start[l] = (o + l) / inner * n * inner + (o + l) % inner;
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < count; l++) {
                double complex x = v[start[l] + i * inner];
                lines->re[i * count + l] = creal(x), lines->im[i * count + l] = cimag(x);
            }
        fourier_transform(plan, count);
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < count; l++)
                v[start[l] + i * inner] = CMPLX(lines->re[i * count + l], lines->im[i * count + l]);
    }
    return start != NULL;
}

/* The last dim from its first half: element n - k is the conjugate of element k. Only one row at a
 * time: the other transformed dims have been transformed already. */
static double complex *unfold(struct work *w, const double complex *v, int64_t rows, int64_t half,
                              int64_t n)
{
    double complex *full = WORK(w, double complex, rows *n);
    for (int64_t r = 0; full && r < rows; r++)
        for (int64_t k = 0; k < n; k++)
            full[r * n + k] = k < half ? v[r * half + k] : conj(v[r * half + n - k]);
    return full;
}

/* Rows of x, c64 or f32, become those of y, c64: the first `keep` numbers, times `factor`. An even number of reals lies
 * in memory as half as many complex numbers do. */
static bool transform_rows(struct op_call *c, struct work *w, int64_t n, int64_t keep, int sign, double factor)
{
    const struct tensor *x = c->in[0];
    const bool real = x->dtype != DT_C64, halves = real && n % 2 == 0 && n > 2;
    const int64_t rows = tensor_count(x) / n, m = halves ? n / 2 : n, parts = real && !halves ? 1 : 2;
    struct fourier *plan = halves ? fourier_plan_real(w, n, rows, sign) : fourier_plan(w, n, rows, sign);
    if (!plan)
        return false;
    struct fourier_lines *lines = fourier_lines(plan);
    for (int64_t r = 0, count; r < rows; r += count) {
        count = rows - r < lines->max ? rows - r : lines->max;
        const float *from = (const float *)x->data + r * m * parts;
        float *to = (float *)c->out[0]->data + r * keep * 2;
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < count; l++) {
                lines->re[i * count + l] = from[(l * m + i) * parts];
                lines->im[i * count + l] = parts == 2 ? from[(l * m + i) * parts + 1] : 0;
            }
        fourier_transform(plan, count);
        const double *re = lines->re, *im = lines->im;
        for (int64_t i = 0; i < keep; i++)
            for (int64_t l = 0, at = i * count; l < count; l++, at++) {
                double complex v = halves ? fourier_real(plan, count, l, i) : CMPLX(re[at], im[at]);
                to[(l * keep + i) * 2] = (float)(creal(v) * factor);
                to[(l * keep + i) * 2 + 1] = (float)(cimag(v) * factor);
            }
    }
    return true;
}

/* ---- in FP32 ---- */

struct fft {
    const int64_t *lengths;
    int count;
    enum fourier_kind kind;
    int sign;
    double factor;
};

static bool is_narrow(const struct tensor *t)
{
    return t->dtype == DT_F32 || t->dtype == DT_C64;
}

static bool admitted(const struct op_call *c, const struct fft *s)
{
    bool all = is_narrow(c->in[0]) && is_narrow(c->out[0]);
    for (int i = 0; i < s->count; i++)
        all = all && fourier_f32_admits(s->lengths[i], i == s->count - 1 ? s->kind : FOURIER_COMPLEX);
    return all;
}

/* All transformed dims but the last, of numbers in v that have the dims of t. */
static bool transform_others(struct work *w, const struct fft *s, const struct tensor *t, float *v)
{
    for (int i = s->count - 2; i >= 0; i--) {
        const int axis = t->rank - s->count + i;
        const int64_t n = s->lengths[i], inner = dims_product(t->dims, axis + 1, t->rank),
                      outer = dims_product(t->dims, 0, axis);
        struct fourier_f32 *f = fourier_f32_plan_across(w, n, s->sign, inner);
        for (int64_t o = 0; f && o < outer; o++)
            fourier_f32_across(f, v + o * n * inner * 2, inner, 1);
        if (!f)
            return false;
    }
    return true;
}

static bool transform_f32(struct op_call *c, struct work *w, const struct fft *s)
{
    const struct tensor *x = c->in[0], *y = c->out[0];
    const int64_t n = s->lengths[s->count - 1], rows = dims_product(x->dims, 0, x->rank - 1);
    const float *from = x->data;
    struct fourier_f32 *f = fourier_f32_plan(w, n, s->sign, s->kind);
    if (!f)
        return false;
    if (s->kind == FOURIER_TO_REAL && s->count > 1) { /* the last dim comes last */
        float *copy = WORK(w, float, 2 * tensor_count(x));
        if (!copy)
            return false;
        memcpy(copy, x->data, tensor_bytes(x));
        if (!transform_others(w, s, x, copy))
            return false;
        from = copy;
    }
    fourier_f32_rows(f, from, y->data, rows, s->factor);
    return s->kind == FOURIER_TO_REAL || transform_others(w, s, y, y->data);
}

static struct fft described(const struct op_call *c)
{
    struct fft s = {.sign = -1, .factor = 1};
    s.lengths = attr_ints(c->attrs, "lengths", &s.count);
    s.kind = attr_is(c->attrs, "kind", "IRFFT")  ? FOURIER_TO_REAL
             : attr_is(c->attrs, "kind", "RFFT") ? FOURIER_FROM_REAL
                                                 : FOURIER_COMPLEX;
    if (s.kind == FOURIER_TO_REAL || attr_is(c->attrs, "kind", "IFFT"))
        s.sign = 1;
    for (int i = 0; i < s.count && s.sign > 0; i++)
        s.factor /= (double)s.lengths[i];
    return s;
}

static bool fft(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    const struct fft s = described(c);
    const int rank = x->rank, count = s.count;
    const bool to_real = s.kind == FOURIER_TO_REAL;
    if (tensor_count(x) == 0 || tensor_count(y) == 0) {
        memset(y->data, 0, tensor_bytes(y));
        return true;
    }
    if (admitted(c, &s))
        return transform_f32(c, w, &s);
    if (count == 1 && !to_real && y->dtype == DT_C64)
        return transform_rows(c, w, s.lengths[0], y->dims[rank - 1], s.sign, s.factor);
    double complex *v = work_complexes(w, x);
    int64_t dims[MAX_RANK], n = s.lengths[count - 1], rows = dims_product(x->dims, 0, rank - 1);
    memcpy(dims, x->dims, sizeof dims);
    if (!v)
        return false;
    for (int i = count - 2; i >= 0; i--)
        if (!transform_axis(w, v, dims, rank, rank - count + i, s.sign))
            return false;
    if (to_real && !(v = unfold(w, v, rows, x->dims[rank - 1], n)))
        return false;
    dims[rank - 1] = n;
    if (!transform_axis(w, v, dims, rank, rank - 1, s.sign))
        return false;
    for (int64_t i = 0; i < rows * n && s.sign > 0; i++)
        v[i] *= s.factor;
    int64_t keep = s.kind == FOURIER_FROM_REAL ? n / 2 + 1 : n;
    for (int64_t r = 0; r < rows; r++)
        dtype_convert(y->dtype, element(y, r * keep), DT_C128, v + r * n, (size_t)keep, false);
    return true;
}

EVAL_WITH_WORK(fft)
