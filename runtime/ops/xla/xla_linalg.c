/* Triangular factors and solutions. All in double. */
#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/common/numeric.h"
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
