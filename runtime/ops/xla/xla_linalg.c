/* Triangular factors and solutions. All in double. */
#include "runtime/ops/common/dense.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

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

static int parts_of(const struct tensor *t)
{
    return dtype_is_complex(t->dtype) ? 2 : 1;
}

/* All elements, double or double complex; and back. */
static double *load(struct work *w, const struct tensor *t)
{
    return dtype_is_complex(t->dtype) ? (double *)work_complexes(w, t) : work_doubles(w, t);
}

static void store(const struct tensor *t, const void *v)
{
    int64_t n = tensor_count(t);
    if (n > 0)
        dtype_convert(t->dtype, t->data, dtype_is_complex(t->dtype) ? DT_C128 : DT_F64, v, (size_t)n, false);
}

/* ---- cholesky ---- */

bool infer_cholesky(struct infer *f)
{
    return is_square(f, 0) && infer_same(f, 0, 0);
}

/* The half that is given becomes the factor, the other one zeros; NaN where a matrix is not positive definite. */
static bool cholesky(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t n = x->dims[x->rank - 1], count = dims_product(x->dims, 0, x->rank - 2);
    int parts = parts_of(x);
    bool lower = attr_int(c->attrs, "lower", 0) != 0;
    double *v = load(w, x), *low = WORK(w, double, n * n * parts);
    for (int64_t k = 0; v && low && k < count; k++) {
        double *a = v + k * n * n * parts, *factor = lower ? a : low;
        if (!lower)
            dense_transpose(parts, low, n, a, n, n, n, true);
        dense_cholesky(parts, factor, n, n, false);
        for (int64_t i = 0; i < n; i++)
            memset(factor + (i * (n + 1) + 1) * parts, 0, (size_t)((n - 1 - i) * parts) * sizeof *a);
        if (!lower)
            dense_transpose(parts, a, n, low, n, n, n, true);
    }
    if (v && low)
        store(c->out[0], v);
    return v && low;
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

/* x op(a) = b is op(a)' x' = b'. */
static bool triangular_solve(struct op_call *c, struct work *w)
{
    const struct tensor *ta = c->in[0], *tb = c->in[1];
    int64_t n = ta->dims[ta->rank - 1], count = dims_product(ta->dims, 0, ta->rank - 2);
    int parts = parts_of(ta);
    bool left = attr_int(c->attrs, "left_side", 0) != 0, conjugate = attr_int(c->attrs, "conjugate", 0) != 0;
    bool turned = (attr_int(c->attrs, "transpose", 0) != 0) == left;
    bool lower = (attr_int(c->attrs, "lower", 0) != 0) != turned;
    bool unit = attr_int(c->attrs, "unit_diagonal", 0) != 0;
    int64_t sides = tb->dims[tb->rank - (left ? 1 : 2)];
    double *a = load(w, ta), *b = load(w, tb), *op = WORK(w, double, turned ? n * n * parts : 0),
           *x = WORK(w, double, left ? 0 : n * sides * parts);
    if (!a || !b || !op || !x)
        return false;
    for (int64_t i = 1; conjugate && parts > 1 && i < 2 * count * n * n; i += 2)
        a[i] = -a[i];
    for (int64_t k = 0; k < count; k++, a += n * n * parts) {
        double *y = b + k * n * sides * parts;
        if (turned)
            dense_transpose(parts, op, n, a, n, n, n, false);
        if (!left)
            dense_transpose(parts, x, sides, y, n, sides, n, false);
        dense_solve(parts, turned ? op : a, n, n, lower, unit, left ? y : x, sides, sides);
        if (!left)
            dense_transpose(parts, y, n, x, sides, n, sides, false);
    }
    store(c->out[0], b);
    return true;
}

EVAL_WITH_WORK(triangular_solve)
