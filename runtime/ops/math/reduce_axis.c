/*
 * Operators along one axis: running sums and products.
 */
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/common/content.h"

/* The operand as (outer, n, inner) around an axis. */
struct axis_around {
    int64_t outer, n, inner;
};

static struct axis_around around_axis(const struct tensor *x, int axis)
{
    return (struct axis_around){dims_product(x->dims, 0, axis), x->dims[axis],
                           dims_product(x->dims, axis + 1, x->rank)};
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

/* The same in the element's own type, a few neighbouring lines at a time. */
static bool run_typed(struct op_call *c, struct axis_around s, bool product, bool exclusive,
                      bool reverse)
{
    const struct tensor *x = c->in[0];
    const struct kernel_table *k = kernels_get();
    int64_t step = reverse ? -s.inner : s.inner, bytes = (int64_t)dtype_bytes(x->dtype);
    if (x->dtype >= PLAIN_TYPES || !k->running[x->dtype])
        return false;
    for (int64_t o = 0; s.n > 0 && o < s.outer; o++)
        for (int64_t i = 0; i < s.inner; i += RUNNING_LINES) {
            int64_t lines = s.inner - i < RUNNING_LINES ? s.inner - i : RUNNING_LINES;
            int64_t at = ((o * s.n + (reverse ? s.n - 1 : 0)) * s.inner + i) * bytes;
            k->running[x->dtype]((char *)c->out[0]->data + at, (const char *)x->data + at,
                                 (size_t)s.n, step, (size_t)lines, product, exclusive);
        }
    return true;
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
    struct axis_around s = around_axis(x, (int)(axis < 0 ? axis + x->rank : axis));
    if (run_typed(c, s, product, exclusive, reverse))
        return true;
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

INFER_AS(cumsum, infer_running)
INFER_AS(cumprod, infer_running)
EVAL_AS(cumsum, eval_running)
EVAL_AS(cumprod, eval_running)
