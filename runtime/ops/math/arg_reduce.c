/*
 * Position of the extreme along an axis: argmax, argmin.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/extremes.h"

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
    int axis = call_axis(c, "axis", 0, x->rank);
    int64_t outer = dims_product(x->dims, 0, axis), n = x->dims[axis],
            inner = dims_product(x->dims, axis + 1, x->rank);
    bool last = attr_int(c->attrs, "select_last_index", 0);
    int64_t *z = c->out[0]->data;
    if (n == 0 && tensor_count(c->out[0]) > 0)
        return fail(c->env->d, "an axis of size 0 has no extreme element");
    if (extreme_places(x, 0, (struct lines){outer, n, inner}, c->op == OP_argmax, last, z))
        return true;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t first = o * n * inner + i, best = 0;
            for (int64_t k = 1; k < n; k++)
                if (beats(x, first + k * inner, first + best * inner, c->op == OP_argmax, last))
                    best = k;
            z[o * inner + i] = best;
        }
    return true;
}

INFER_AS(argmax, infer_arg)
INFER_AS(argmin, infer_arg)
EVAL_AS(argmax, eval_arg)
EVAL_AS(argmin, eval_arg)
