/*
 * Operators along one axis: position of the extreme, running sums and products.
 */
#include "runtime/ops/axes.h"
#include "runtime/ops/complex_number.h"
#include "runtime/ops/content.h"

/* The operand as (outer, n, inner) around an axis. */
struct around {
    int64_t outer, n, inner;
};

static struct around around_axis(const struct tensor *x, int axis)
{
    return (struct around){dims_product(x->dims, 0, axis), x->dims[axis],
                           dims_product(x->dims, axis + 1, x->rank)};
}

/* ---- argmax, argmin ---- */

static bool infer_arg(struct infer *f)
{
    const struct type *x = &f->in[0];
    int axis, rank = 0;
    dim_t dims[MAX_RANK];
    if (!dtype_is_float(x->dtype) && !dtype_is_int(x->dtype) && x->dtype != DT_BOOL)
        return fail(f->d, "element type %s is not admitted", dtype_name(x->dtype));
    if (x->rank < 0)
        return infer_out(f, 0, DT_I64, RANK_UNKNOWN, NULL);
    if (!infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis))
        return false;
    if (x->dims[axis] == 0)
        return fail(f->d, "axis %d has size 0, so no element is the extreme one", axis);
    for (int i = 0; i < x->rank; i++)
        if (i != axis || attr_int(f->attrs, "keepdims", 1))
            dims[rank++] = i == axis ? 1 : x->dims[i];
    return infer_out(f, 0, DT_I64, rank, dims);
}

/* Whether element a beats element b; NaN beats everything. */
static bool beats(const struct tensor *x, int64_t a, int64_t b, bool max, bool last)
{
    int class = dtype_class(x->dtype);
    if (class == DTC_FLOAT) {
        double p = tensor_f64(x, a), q = tensor_f64(x, b);
        if (p != p || q != q)
            return p != p && (last || q == q);
        return p == q ? last : (p > q) == max;
    }
    int64_t p = tensor_i64(x, a), q = tensor_i64(x, b);
    if (p == q)
        return last;
    return (class == DTC_SINT ? p > q : (uint64_t)p > (uint64_t)q) == max;
}

static bool eval_arg(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct around s = around_axis(x, call_axis(c, "axis", 0, x->rank));
    bool last = attr_int(c->attrs, "select_last_index", 0);
    int64_t *z = c->out[0]->data;
    if (s.n == 0 && tensor_count(c->out[0]) > 0)
        return fail(c->env->d, "an axis of size 0 has no extreme element");
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < s.inner; i++) {
            int64_t first = o * s.n * s.inner + i, best = 0;
            for (int64_t k = 1; k < s.n; k++)
                if (beats(x, first + k * s.inner, first + best * s.inner, c->op == OP_argmax, last))
                    best = k;
            z[o * s.inner + i] = best;
        }
    return true;
}

bool infer_argmax(struct infer *f)
{
    return infer_arg(f);
}

bool infer_argmin(struct infer *f)
{
    return infer_arg(f);
}

bool eval_argmax(struct op_call *c)
{
    return eval_arg(c);
}

bool eval_argmin(struct op_call *c)
{
    return eval_arg(c);
}

/* ---- cumsum, cumprod ---- */

static bool infer_running(struct infer *f)
{
    const struct type *x = &f->in[0];
    int64_t axis;
    int normal;
    if (x->dtype == DT_STR || x->dtype == DT_BOOL)
        return fail(f->d, "element type %s is not admitted", dtype_name(x->dtype));
    if (x->rank >= 0 && infer_scalar(f, 1, &axis) && !infer_axis(f, axis, x->rank, &normal))
        return false;
    f->out[0] = *x;
    return true;
}

union sum {
    uint64_t i;
    double f;
    double complex c;
};

static union sum load(const struct tensor *x, int64_t i)
{
    if (dtype_is_float(x->dtype))
        return (union sum){.f = tensor_f64(x, i)};
    if (dtype_is_int(x->dtype))
        return (union sum){.i = (uint64_t)tensor_i64(x, i)};
    int part = x->dtype == DT_C64 ? DT_F32 : DT_F64;
    return (union sum){.c = CMPLX(dtype_load_f64(part, x->data, (size_t)(2 * i)),
                                  dtype_load_f64(part, x->data, (size_t)(2 * i + 1)))};
}

static void store(struct tensor *z, int64_t i, union sum s)
{
    int part = z->dtype == DT_C64 ? DT_F32 : DT_F64;
    if (dtype_is_float(z->dtype)) {
        dtype_store_f64(z->dtype, z->data, (size_t)i, s.f);
    } else if (dtype_is_int(z->dtype)) {
        dtype_store_i64(z->dtype, z->data, (size_t)i, (int64_t)s.i);
    } else {
        dtype_store_f64(part, z->data, (size_t)(2 * i), creal(s.c));
        dtype_store_f64(part, z->data, (size_t)(2 * i + 1), cimag(s.c));
    }
}

static union sum combine(int dtype, bool product, union sum a, union sum x)
{
    if (dtype_is_float(dtype))
        return (union sum){.f = product ? a.f * x.f : a.f + x.f};
    if (dtype_is_int(dtype))
        return (union sum){.i = product ? a.i * x.i : a.i + x.i};
    return (union sum){.c = product ? a.c * x.c : a.c + x.c};
}

static union sum neutral(int dtype, bool product)
{
    if (dtype_is_float(dtype))
        return (union sum){.f = product};
    if (dtype_is_int(dtype))
        return (union sum){.i = product};
    return (union sum){.c = product};
}

static bool eval_running(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    bool product = c->op == OP_cumprod, exclusive = attr_int(c->attrs, "exclusive", 0);
    bool reverse = attr_int(c->attrs, "reverse", 0);
    if (tensor_count(c->in[1]) != 1)
        return fail(c->env->d, "axis has %lld elements, expected one",
                    (long long)tensor_count(c->in[1]));
    int64_t axis = tensor_i64(c->in[1], 0);
    if (axis < -x->rank || axis >= x->rank)
        return fail(c->env->d, "axis %lld is out of range for rank %d", (long long)axis, x->rank);
    struct around s = around_axis(x, (int)(axis < 0 ? axis + x->rank : axis));
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < s.inner; i++) {
            union sum a = neutral(x->dtype, product);
            for (int64_t k = 0; k < s.n; k++) {
                int64_t at = (o * s.n + (reverse ? s.n - 1 - k : k)) * s.inner + i;
                union sum before = a;
                a = combine(x->dtype, product, a, load(x, at));
                store(c->out[0], at, exclusive ? before : a);
            }
        }
    return true;
}

bool infer_cumsum(struct infer *f)
{
    return infer_running(f);
}

bool infer_cumprod(struct infer *f)
{
    return infer_running(f);
}

bool eval_cumsum(struct op_call *c)
{
    return eval_running(c);
}

bool eval_cumprod(struct op_call *c)
{
    return eval_running(c);
}
