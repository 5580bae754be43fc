/* dot: batched matrix products of any element types, mixed ones too. */
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/common/require.h"

#include <string.h>

bool infer_dot(struct infer *f)
{
    const struct type *x = &f->in[0], *y = &f->in[1];
    int dtype = (int)attr_int(f->attrs, "dtype", x->dtype);
    if (!dtype_valid(dtype) || dtype == DT_STR || x->dtype == DT_STR || y->dtype == DT_STR)
        return fail(f->d, "strings have no product");
    if (x->rank != 3 || y->rank != 3)
        return fail(f->d, "operands of rank %d and %d, expected 3", x->rank, y->rank);
    dim_t batch;
    if (!require_same(f, x->dims[0], y->dims[0], named("batch", -1, 0), &batch) ||
        !require_equal(f, x->dims[2], y->dims[1], named("summed dimension", -1, -1)))
        return false;
    return infer_out(f, 0, dtype, 3, (dim_t[]){batch, x->dims[1], y->dims[2]});
}

static void take_apart(const double complex *v, int64_t n, double *re, double *im)
{
    for (int64_t i = 0; i < n; i++)
        re[i] = creal(v[i]), im[i] = cimag(v[i]);
}

/* Large matrices of one batch, as four products of real ones. parts: room for those, and for their results. */
static void matrices_complex(int64_t m, int64_t n, int64_t k, const double complex *a, const double complex *b,
                             double *parts, double complex *r)
{
    double *x = parts, *y = x + 2 * m * k, *z = y + 2 * k * n;
    take_apart(a, m * k, x, x + m * k);
    take_apart(b, k * n, y, y + k * n);
    for (int i = 0; i < 4; i++)
        multiply_f64(m, n, k, x + i / 2 * m * k, y + i % 2 * k * n, z + i * m * n);
    for (int64_t i = 0, size = m * n; i < size; i++)
        r[i] = CMPLX(z[i] - z[3 * size + i], z[size + i] + z[2 * size + i]);
}

/* One row of results: the k factors of a by the rows of b. Reals are multiplied, as XLA does it: C's product of complex
 * numbers looks for infinities behind NaN. */
static void row_complex(int64_t k, int64_t n, const double complex *a, const double complex *b, double complex *r)
{
    for (int64_t j = 0; j < n; j++) {
        double re = 0, im = 0;
        for (int64_t i = 0; i < k; i++) {
            double ar = creal(a[i]), ai = cimag(a[i]), br = creal(b[i * n + j]), bi = cimag(b[i * n + j]);
            re += ar * br - ai * bi;
            im += ar * bi + ai * br;
        }
        r[j] = CMPLX(re, im);
    }
}

/* The same with each product and sum rounded to float. */
static void row_complex_rounded(int64_t k, int64_t n, const double complex *a,
                                const double complex *b, double complex *r)
{
    for (int64_t j = 0; j < n; j++) {
        float re = 0, im = 0;
        for (int64_t i = 0; i < k; i++) {
            float ar = (float)creal(a[i]), ai = (float)cimag(a[i]), br = (float)creal(b[i * n + j]),
                  bi = (float)cimag(b[i * n + j]);
            float p = ar * br, q = ai * bi, s = ar * bi, t = ai * br;
            float product = p - q, cross = s + t;
            re += product;
            im += cross;
        }
        r[j] = CMPLX(re, im);
    }
}

/* Short sums to c64 are rounded at every step, as XLA's plain loop over them does, so that what is
 * left where terms cancel is the same. Long ones are more exact. */
static bool dot_complex(struct op_call *c, struct work *w)
{
    enum { SHORT = 16 };
    const struct tensor *x = c->in[0], *y = c->in[1];
    struct tensor *z = c->out[0];
    int64_t m = x->dims[1], k = x->dims[2], n = y->dims[2];
    bool rounded = z->dtype == DT_C64 && x->dtype != DT_C128 && y->dtype != DT_C128 && k <= SHORT;
    bool large = !rounded && f64_is_faster(m, n, k);
    double complex *a = work_complexes(w, x), *b = work_complexes(w, y), *r = WORK(w, double complex, m * n);
    double *parts = large ? WORK(w, double, 2 * m * k + 2 * k * n + 4 * m * n) : NULL;
    if (!a || !b || !r || (large && !parts))
        return false;
    for (int64_t i = 0; i < x->dims[0]; i++) {
        const double complex *from = a + i * m * k, *by = b + i * k * n;
        if (large)
            matrices_complex(m, n, k, from, by, parts, r);
        for (int64_t row = 0; !large && row < m; row++)
            (rounded ? row_complex_rounded : row_complex)(k, n, from + row * k, by, r + row * n);
        dtype_convert(z->dtype, element(z, i * m * n), DT_C128, r, (size_t)(m * n), false);
    }
    return true;
}

static bool dot_real(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *y = c->in[1];
    struct tensor *z = c->out[0];
    int64_t m = x->dims[1], k = x->dims[2], n = y->dims[2];
    double *a = work_doubles(w, x), *b = work_doubles(w, y), *r = WORK(w, double, m *n);
    for (int64_t i = 0; a && b && r && i < x->dims[0]; i++) {
        multiply_f64(m, n, k, a + i * m * k, b + i * k * n, r);
        dtype_convert(z->dtype, element(z, i * m * n), DT_F64, r, (size_t)(m * n), false);
    }
    return a && b && r;
}

static bool dot_integer(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *y = c->in[1];
    struct tensor *z = c->out[0];
    int64_t m = x->dims[1], k = x->dims[2], n = y->dims[2];
    bool exact = f64_is_faster(m, n, k) && f64_is_exact(x->dtype, y->dtype, k);
    void *a = exact ? (void *)work_doubles(w, x) : (void *)work_ints(w, x);
    void *b = exact ? (void *)work_doubles(w, y) : (void *)work_ints(w, y);
    int64_t *r = WORK(w, int64_t, m * n);
    double *sums = exact ? WORK(w, double, m * n) : NULL;
    if (!a || !b || !r || (exact && !sums))
        return false;
    for (int64_t i = 0; i < x->dims[0]; i++) {
        if (exact)
            multiply_f64(m, n, k, (double *)a + i * m * k, (double *)b + i * k * n, sums);
        else
            multiply_i64(m, n, k, (int64_t *)a + i * m * k, (int64_t *)b + i * k * n, r);
        for (int64_t j = 0; exact && j < m * n; j++)
            r[j] = (int64_t)sums[j];
        dtype_store_i64n(z->dtype, element(z, i * m * n), (size_t)(m * n), r);
    }
    return true;
}

static bool dot(struct op_call *c, struct work *w)
{
    int x = c->in[0]->dtype, y = c->in[1]->dtype, z = c->out[0]->dtype;
    if (dtype_is_complex(x) || dtype_is_complex(y) || dtype_is_complex(z))
        return dot_complex(c, w);
    return dtype_is_float(x) || dtype_is_float(y) || dtype_is_float(z) ? dot_real(c, w)
                                                                       : dot_integer(c, w);
}

EVAL_WITH_WORK(dot)
