/*
 * What shape rules call.
 */
#include "runtime/ops/common/require.h"

#include <string.h>

dim_t content_clamp(int64_t v)
{
    if (!dim_is_const(v))
        return DIM_SYMBOLIC + 1;
    return v == DIM_NOT_BOUND ? INT64_MAX - 1 : v;
}

struct content content_of_tensor(struct arena *a, const struct tensor *t)
{
    struct content unknown = {NULL, -1};
    if (t->kind != VK_TENSOR || (!dtype_is_int(t->dtype) && t->dtype != DT_BOOL))
        return unknown;
    int64_t n = tensor_count(t);
    dim_t *v = ARENA_ARRAY(a, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        v[i] = t->dtype == DT_U64 && ((const uint64_t *)t->data)[i] > INT64_MAX
                   ? INT64_MAX - 1
                   : content_clamp(tensor_i64(t, i));
    return (struct content){v, n};
}

struct content infer_content(struct infer *f, int i)
{
    if (!has_input(f, i) || !f->read || f->in[i].kind != VK_TENSOR ||
        (!dtype_is_int(f->in[i].dtype) && f->in[i].dtype != DT_BOOL))
        return (struct content){NULL, -1};
    return f->read(f, i);
}

struct content infer_known(struct infer *f, int i)
{
    struct content c = infer_content(f, i);
    return c.n < 0 && has_input(f, i) && f->read_known ? f->read_known(f, i) : c;
}

const struct tensor *infer_tensor(struct infer *f, int i)
{
    return has_input(f, i) && f->constant ? f->constant(f, i) : NULL;
}

bool infer_constants(struct infer *f, int i, const int64_t **v, int64_t *n)
{
    struct content c = infer_content(f, i);
    if (c.n < 0)
        return false;
    for (int64_t k = 0; k < c.n; k++)
        if (!dim_is_const(c.v[k]))
            return false;
    *v = c.v;
    *n = c.n;
    return true;
}

bool infer_scalar(struct infer *f, int i, int64_t *v)
{
    const int64_t *values;
    int64_t n;
    if (!infer_constants(f, i, &values, &n) || n != 1)
        return false;
    *v = values[0];
    return true;
}

void infer_set_content(struct infer *f, int i, const dim_t *v, int64_t n)
{
    if (!f->result || n < 0 || n > MAX_CONTENT)
        return;
    f->result[i] = (struct content){arena_copy(f->arena, v, sizeof *v * (size_t)n), n};
}

dim_t infer_unknown(struct infer *f, const char *stem)
{
    if (f->concrete) {
        fail(f->d, "'%s' of %s does not follow from these operands", stem, op_name(f->op));
        return 0;
    }
    return dim_fresh(f->dims, stem);
}

bool infer_out(struct infer *f, int i, int dtype, int rank, const dim_t *dims)
{
    if (i < f->nout) {
        f->out[i] = type_tensor(dtype, rank, dims);
        if (rank < 0)
            f->out[i].rank = RANK_UNKNOWN;
    }
    return true;
}

bool infer_axis(struct infer *f, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return fail(f->d, "axis %lld is out of range for rank %d", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool infer_broadcast(struct infer *f, const struct type *const *in, int n, struct type *out)
{
    int rank = 0;
    for (int i = 0; i < n; i++) {
        if (in[i]->rank < 0) {
            out->rank = RANK_UNKNOWN;
            return true;
        }
        if (in[i]->rank > rank)
            rank = in[i]->rank;
    }
    dim_t dims[MAX_RANK];
    int from[MAX_RANK] = {0}; /* which operand a size comes from */
    for (int i = 0; i < rank; i++)
        dims[i] = 1;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < in[k]->rank; i++) {
            int at = rank - in[k]->rank + i;
            dim_t before = dims[at];
            if (!require_broadcast(f, before, in[k]->dims[i], between(from[at], k, at), &dims[at]))
                return false;
            if (dims[at] != before)
                from[at] = k;
        }
    out->rank = (int8_t)rank;
    memcpy(out->dims, dims, sizeof dims);
    return true;
}
