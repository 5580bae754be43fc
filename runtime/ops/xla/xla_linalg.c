/* Fourier transforms, triangular factors and solutions. All in double. */
#include "runtime/ops/common/fourier.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>

static bool is_square(struct infer *f, int i)
{
    const struct type *x = &f->in[i];
    if (x->rank < 2)
        return fail(f->d, "operand %d does not end in square matrices", i);
    if (!require_equal(f, x->dims[x->rank - 2], x->dims[x->rank - 1],
                       named("rows and columns", i, -1)))
        return false;
    return dtype_is_float(x->dtype) || dtype_is_complex(x->dtype) ||
           fail(f->d, "element type %s is not admitted", dtype_name(x->dtype));
}

static void store(struct tensor *t, int64_t at, int64_t n, const double complex *v)
{
    dtype_convert(t->dtype, element(t, at), DT_C128, v, (size_t)n, false);
}

/* ---- fft ---- */

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
    int64_t *start = WORK(w, int64_t, lines->most);
    for (int64_t o = 0, count; start && o < outer * inner; o += count) {
        count = outer * inner - o < lines->most ? outer * inner - o : lines->most;
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
    const bool real = x->dtype != DT_C64, halves = real && n % 2 == 0;
    const int64_t rows = tensor_count(x) / n, m = halves ? n / 2 : n, parts = real && !halves ? 1 : 2;
    struct fourier *plan = halves ? fourier_plan_real(w, n, rows, sign) : fourier_plan(w, n, rows, sign);
    if (!plan)
        return false;
    struct fourier_lines *lines = fourier_lines(plan);
    for (int64_t r = 0, count; r < rows; r += count) {
        count = rows - r < lines->most ? rows - r : lines->most;
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

static bool fft(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    int count, rank = x->rank;
    const int64_t *lengths = attr_ints(c->attrs, "lengths", &count);
    bool to_real = attr_is(c->attrs, "kind", "IRFFT"),
         from_real = attr_is(c->attrs, "kind", "RFFT");
    int sign = to_real || attr_is(c->attrs, "kind", "IFFT") ? 1 : -1;
    if (tensor_count(x) == 0 || tensor_count(y) == 0) {
        memset(y->data, 0, tensor_bytes(y));
        return true;
    }
    if (count == 1 && !to_real && y->dtype == DT_C64)
        return transform_rows(c, w, lengths[0], y->dims[rank - 1], sign, sign > 0 ? 1 / (double)lengths[0] : 1);
    double complex *v = work_complexes(w, x);
    int64_t dims[MAX_RANK], n = lengths[count - 1], rows = dims_product(x->dims, 0, rank - 1);
    double scale = 1;
    memcpy(dims, x->dims, sizeof dims);
    if (!v)
        return false;
    for (int i = count - 2; i >= 0; i--)
        if (!transform_axis(w, v, dims, rank, rank - count + i, sign))
            return false;
    if (to_real && !(v = unfold(w, v, rows, x->dims[rank - 1], n)))
        return false;
    dims[rank - 1] = n;
    if (!transform_axis(w, v, dims, rank, rank - 1, sign))
        return false;
    for (int i = 0; i < count && sign > 0; i++)
        scale *= (double)lengths[i];
    for (int64_t i = 0; i < rows * n && sign > 0; i++)
        v[i] /= scale;
    int64_t keep = from_real ? n / 2 + 1 : n;
    for (int64_t r = 0; r < rows; r++)
        store(y, r * keep, keep, v + r * n);
    return true;
}

EVAL_WITH_WORK(fft)

/* ---- cholesky ---- */

bool infer_cholesky(struct infer *f)
{
    return is_square(f, 0) && infer_same(f, 0, 0);
}

/* The lower factor of a matrix whose lower half is given, zeros above; NaN when it is not positive
 * definite. */
static void factor(double complex *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double d = creal(a[j * n + j]);
        for (int64_t k = 0; k < j; k++)
            d -= creal(a[j * n + k] * conj(a[j * n + k]));
        d = sqrt(d);
        a[j * n + j] = d;
        for (int64_t i = j + 1; i < n; i++) {
            double complex s = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                s -= a[i * n + k] * conj(a[j * n + k]);
            a[i * n + j] = s / d;
            a[j * n + i] = 0;
        }
    }
}

/* In place: the conjugate transpose. */
static void adjoint(double complex *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double complex swap = conj(a[i * n + j]);
            a[i * n + j] = conj(a[j * n + i]);
            a[j * n + i] = swap;
        }
}

static bool cholesky(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t n = x->dims[x->rank - 1], count = dims_product(x->dims, 0, x->rank - 2);
    bool lower = attr_int(c->attrs, "lower", 0) != 0;
    double complex *v = work_complexes(w, x);
    for (int64_t i = 0; v && i < count; i++) {
        double complex *a = v + i * n * n;
        if (!lower)
            adjoint(a, n);
        factor(a, n);
        if (!lower)
            adjoint(a, n);
    }
    if (v)
        store(c->out[0], 0, count * n * n, v);
    return v != NULL;
}

EVAL_WITH_WORK(cholesky)

/* ---- triangular_solve ---- */

bool infer_triangular_solve(struct infer *f)
{
    const struct type *a = &f->in[0], *b = &f->in[1];
    bool left = attr_int(f->attrs, "left_side", 0) != 0;
    if (!is_square(f, 0))
        return false;
    if (b->rank != a->rank || b->dtype != a->dtype)
        return fail(f->d, "b has another rank or element type than a");
    for (int i = 0; i < a->rank - 2; i++)
        if (!require_equal(f, a->dims[i], b->dims[i], named("batch", -1, i)))
            return false;
    return require_equal(f, a->dims[a->rank - 1], b->dims[b->rank - (left ? 2 : 1)],
                         named("matrix size", -1, -1)) &&
           infer_same(f, 0, 1);
}

struct triangle {
    const double complex *a;
    int64_t n;
    bool lower, unit, transpose, conjugate; /* lower: after transposing */
};

static double complex at(const struct triangle *t, int64_t i, int64_t j)
{
    double complex v = t->transpose ? t->a[j * t->n + i] : t->a[i * t->n + j];
    return t->conjugate ? conj(v) : v;
}

/* op(a) x = b in place, for one vector of elements `step` apart. */
static void solve(const struct triangle *t, double complex *x, int64_t step)
{
    for (int64_t k = 0; k < t->n; k++) {
        int64_t i = t->lower ? k : t->n - 1 - k;
        double complex s = x[i * step];
        for (int64_t j = t->lower ? 0 : i + 1; j < (t->lower ? i : t->n); j++)
            s -= at(t, i, j) * x[j * step];
        x[i * step] = t->unit ? s : s / at(t, i, i);
    }
}

static bool triangular_solve(struct op_call *c, struct work *w)
{
    const struct tensor *ta = c->in[0], *tb = c->in[1];
    int64_t n = ta->dims[ta->rank - 1], count = dims_product(ta->dims, 0, ta->rank - 2);
    int64_t rows = tb->dims[tb->rank - 2], cols = tb->dims[tb->rank - 1];
    bool left = attr_int(c->attrs, "left_side", 0) != 0;
    double complex *a = work_complexes(w, ta), *b = work_complexes(w, tb);
    struct triangle t = {.n = n,
                         .unit = attr_int(c->attrs, "unit_diagonal", 0) != 0,
                         .transpose = attr_int(c->attrs, "transpose", 0) != 0,
                         .conjugate = attr_int(c->attrs, "conjugate", 0) != 0};
    t.lower = (attr_int(c->attrs, "lower", 0) != 0) != t.transpose;
    if (!left) { /* x op(a) = b is op(a)' x' = b' */
        t.transpose = !t.transpose;
        t.lower = !t.lower;
    }
    for (int64_t i = 0; a && b && i < count; i++) {
        double complex *v = b + i * rows * cols;
        t.a = a + i * n * n;
        for (int64_t k = 0; k < (left ? cols : rows); k++)
            solve(&t, left ? v + k : v + k * cols, left ? cols : 1);
    }
    if (a && b)
        store(c->out[0], 0, count * rows * cols, b);
    return a && b;
}

EVAL_WITH_WORK(triangular_solve)
