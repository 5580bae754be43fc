/*
 * Inverses by elimination with pivots of largest size. A singular matrix gives infinities or NaN.
 */
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>

bool infer_inverse(struct infer *f)
{
    const struct type *x = &f->in[0];
    if (!dtype_is_float(x->dtype) || (x->rank >= 0 && x->rank < 2))
        return fail(f->d, "the operand is %s of rank %d, expected floats of rank 2 or more",
                    dtype_name(x->dtype), x->rank);
    if (x->rank >= 2 && !require_equal(f, x->dims[x->rank - 2], x->dims[x->rank - 1],
                                       named("rows and columns", -1, -1)))
        return false;
    return infer_same(f, 0, 0);
}

static void exchange(double *m, int64_t n, int64_t a, int64_t b)
{
    for (int64_t j = 0; a != b && j < n; j++) {
        double v = m[a * n + j];
        m[a * n + j] = m[b * n + j];
        m[b * n + j] = v;
    }
}

/* a becomes the identity, y what turned it into that. */
static void invert(double *a, double *y, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        y[i] = i % (n + 1) == 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        exchange(a, n, k, pivot);
        exchange(y, n, k, pivot);
        double by = 1 / a[k * n + k];
        for (int64_t j = 0; j < n; j++) {
            a[k * n + j] *= by;
            y[k * n + j] *= by;
        }
        for (int64_t i = 0; i < n; i++) {
            double f = a[i * n + k];
            for (int64_t j = 0; i != k && j < n; j++) {
                a[i * n + j] -= f * a[k * n + j];
                y[i * n + j] -= f * y[k * n + j];
            }
        }
    }
}

static bool inverse(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t n = x->dims[x->rank - 1], count = dims_product(x->dims, 0, x->rank - 2);
    double *a = work_doubles(w, x), *y = WORK(w, double, tensor_count(x));
    if (!a || !y)
        return false;
    for (int64_t i = 0; i < count; i++)
        invert(a + i * n * n, y + i * n * n, n);
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(inverse)
