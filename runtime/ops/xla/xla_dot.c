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

/* One row of results: the k factors of x's row times the rows of y. */
static void row_complex(int64_t k, int64_t n, const double complex *a, const double complex *b,
                        double complex *r)
{
    for (int64_t j = 0; j < n; j++)
        r[j] = 0;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
            r[j] += a[i] * b[i * n + j];
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
    double complex *a = work_complexes(w, x), *b = work_complexes(w, y), *r = WORK(w, double complex, n);
    if (!a || !b || !r)
        return false;
    for (int64_t row = 0; row < x->dims[0] * m; row++) {
        (rounded ? row_complex_rounded : row_complex)(k, n, a + row * k, b + row / m * k * n, r);
        dtype_convert(z->dtype, element(z, row * n), DT_C128, r, (size_t)n, false);
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
    int64_t *a = work_ints(w, x), *b = work_ints(w, y), *r = WORK(w, int64_t, m * n);
    for (int64_t i = 0; a && b && r && i < x->dims[0]; i++) {
        multiply_i64(m, n, k, a + i * m * k, b + i * k * n, r);
        for (int64_t j = 0; j < m * n; j++)
            dtype_store_i64(z->dtype, z->data, (size_t)(i * m * n + j),
                            z->dtype == DT_BOOL ? r[j] != 0 : r[j]);
    }
    return a && b && r;
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
