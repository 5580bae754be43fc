/*
 * Shapes as values, and operators that only give the same elements another shape.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/require.h"

#include <string.h>

static bool copy_all(struct op_call *c)
{
    size_t bytes = tensor_bytes(c->in[0]);
    if (tensor_bytes(c->out[0]) != bytes)
        return fail(c->env->d, "the result has %zu bytes, the operand %zu", tensor_bytes(c->out[0]),
                    bytes);
    if (c->out[0]->data == c->in[0]->data)
        return true;
    if (bytes)
        memcpy(c->out[0]->data, c->in[0]->data, bytes);
    return own_strings(c, 0);
}

/* ---- shape, size ---- */

static int clamp_place(int64_t v, int rank)
{
    v += v < 0 ? rank : 0;
    return (int)(v < 0 ? 0 : v > rank ? rank : v);
}

static void shape_part(const struct attrs *attrs, int rank, int *from, int *to)
{
    *from = clamp_place(attr_int(attrs, "start", 0), rank);
    *to = clamp_place(attr_int(attrs, "end", rank), rank);
    if (*to < *from)
        *to = *from;
}

bool infer_shape(struct infer *f)
{
    const struct type *x = &f->in[0];
    int from, to;
    if (x->rank < 0) {
        dim_t n = infer_unknown(f, "rank");
        return infer_out(f, 0, DT_I64, 1, &n);
    }
    shape_part(f->attrs, x->rank, &from, &to);
    dim_t n = to - from;
    infer_out(f, 0, DT_I64, 1, &n);
    infer_set_content(f, 0, x->dims + from, n);
    return true;
}

bool eval_shape(struct op_call *c)
{
    int from, to;
    shape_part(c->attrs, c->in[0]->rank, &from, &to);
    for (int i = from; i < to; i++)
        ((int64_t *)c->out[0]->data)[i - from] = c->in[0]->dims[i];
    return true;
}

bool infer_size(struct infer *f)
{
    infer_out(f, 0, DT_I64, 0, NULL);
    if (f->in[0].rank >= 0) {
        dim_t n = type_count(f->dims, &f->in[0]);
        infer_set_content(f, 0, &n, 1);
    }
    return true;
}

bool eval_size(struct op_call *c)
{
    *(int64_t *)c->out[0]->data = tensor_count(c->in[0]);
    return true;
}

/* ---- reshape ---- */

/*
 * The dim that -1 stands for. Dims that stay the same on both sides cancel first, so that a shape
 * with a size of 0 copied from the operand still has an answer, the same one as with symbols.
 */
static bool missing_dim(struct infer *f, const struct type *x, struct type *out, int missing)
{
    bool used[MAX_RANK] = {false};
    dim_t have = 1, others = 1;
    for (int i = 0; i < out->rank; i++) {
        bool cancelled = i == missing;
        for (int k = 0; k < x->rank && !cancelled; k++)
            if (!used[k] && x->dims[k] == out->dims[i])
                cancelled = used[k] = true;
        if (!cancelled)
            others = dim_mul(f->dims, others, out->dims[i]);
    }
    for (int k = 0; k < x->rank; k++)
        if (!used[k])
            have = dim_mul(f->dims, have, x->dims[k]);
    if (!require_multiple(f, have, others, named("elements", -1, missing)))
        return false;
    out->dims[missing] = dim_floordiv(f->dims, have, others);
    return true;
}

static bool complete_shape(struct infer *f, const struct type *x, struct type *out)
{
    bool allow_zero = attr_int(f->attrs, "allowzero", 0);
    int missing = -1;
    for (int i = 0; i < out->rank; i++) {
        if (out->dims[i] == 0 && !allow_zero) {
            if (x->rank >= 0 && i >= x->rank)
                return fail(f->d, "shape copies dimension %d of an operand of rank %d", i, x->rank);
            out->dims[i] = x->rank < 0 ? infer_unknown(f, "reshape") : x->dims[i];
        } else if (out->dims[i] == -1) {
            if (missing >= 0)
                return fail(f->d, "shape has -1 twice");
            missing = i;
        } else if (dim_is_const(out->dims[i]) && out->dims[i] < 0) {
            return fail(f->d, "shape has %lld", (long long)out->dims[i]);
        }
    }
    if (missing >= 0 && x->rank < 0)
        out->dims[missing] = infer_unknown(f, "reshape");
    else if (missing >= 0 && !missing_dim(f, x, out, missing))
        return false;
    dim_t before = type_count(f->dims, x), after = type_count(f->dims, out);
    return x->rank < 0 || missing >= 0 ||
           require_equal(f, before, after,
                         named("elements of the operand and of the shape", -1, -1));
}

bool infer_reshape(struct infer *f)
{
    struct type out = f->in[0];
    if (content_shape(f, 1, &out) && !complete_shape(f, &f->in[0], &out))
        return false;
    f->out[0] = out;
    content_pass(f);
    return !diag_failed(f->d);
}

EVAL_AS(reshape, copy_all)

/* ---- flatten, squeeze, unsqueeze ---- */

bool infer_flatten(struct infer *f)
{
    const struct type *x = &f->in[0];
    int64_t axis = attr_int(f->attrs, "axis", 1);
    if (x->rank < 0) {
        dim_t dims[] = {infer_unknown(f, "flatten"), infer_unknown(f, "flatten")};
        return infer_out(f, 0, x->dtype, 2, dims);
    }
    if (axis < -x->rank || axis > x->rank)
        return fail(f->d, "axis %lld is out of range for rank %d", (long long)axis, x->rank);
    axis += axis < 0 ? x->rank : 0;
    dim_t dims[2] = {1, 1};
    for (int i = 0; i < x->rank; i++)
        dims[i >= axis] = dim_mul(f->dims, dims[i >= axis], x->dims[i]);
    infer_out(f, 0, x->dtype, 2, dims);
    content_pass(f);
    return true;
}

EVAL_AS(flatten, copy_all)

bool infer_squeeze(struct infer *f)
{
    const struct type *x = &f->in[0];
    int axes[MAX_RANK], rank = 0;
    dim_t dims[MAX_RANK];
    bool drop[MAX_RANK] = {false};
    if (x->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    int count = infer_axes(f, 1, x->rank, axes);
    if (count == AXES_BAD)
        return false;
    if (count == AXES_UNKNOWN)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    for (int i = 0; i < count; i++) {
        drop[axes[i]] = true;
        if (!require_equal(f, x->dims[axes[i]], 1, between(0, -1, axes[i])))
            return false;
    }
    for (int i = 0; i < x->rank; i++) {
        if (count == AXES_ABSENT && !dim_is_const(x->dims[i]))
            return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL); /* it may turn out to be 1 */
        if (!(count == AXES_ABSENT ? x->dims[i] == 1 : drop[i]))
            dims[rank++] = x->dims[i];
    }
    infer_out(f, 0, x->dtype, rank, dims);
    content_pass(f);
    return true;
}

EVAL_AS(squeeze, copy_all)

/* Number of new axes, or -1. */
static int64_t new_axes(struct infer *f)
{
    int count;
    attr_ints(f->attrs, "axes", &count);
    if (!has_input(f, 1))
        return count;
    struct content axes = infer_content(f, 1);
    const struct type *t = &f->in[1];
    if (axes.n >= 0)
        return axes.n;
    return t->rank == 0 ? 1 : t->rank == 1 && dim_is_const(t->dims[0]) ? t->dims[0] : -1;
}

bool infer_unsqueeze(struct infer *f)
{
    const struct type *x = &f->in[0];
    int axes[MAX_RANK], at = 0;
    dim_t dims[MAX_RANK];
    bool added[MAX_RANK] = {false};
    int64_t n = new_axes(f);
    if (x->rank < 0 || n < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    if (n + x->rank > MAX_RANK)
        return fail(f->d, "a result of rank %lld, expected %d at most", (long long)n + x->rank,
                    MAX_RANK);
    int rank = x->rank + (int)n, count = infer_axes(f, 1, rank, axes);
    if (count == AXES_BAD)
        return false;
    for (int i = 0; i < count; i++)
        added[axes[i]] = true;
    for (int i = 0; i < rank; i++)
        dims[i] = count == AXES_UNKNOWN ? infer_unknown(f, "unsqueeze")
                  : added[i]            ? 1
                                        : x->dims[at++];
    infer_out(f, 0, x->dtype, rank, dims);
    content_pass(f);
    return true;
}

EVAL_AS(unsqueeze, copy_all)
