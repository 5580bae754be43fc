/*
 * Reading elements at indices: gather, gather_elements, gather_nd, one_hot.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/indices.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/typed.h"
#include "runtime/ops/common/walk.h"

#include <stdlib.h>
#include <string.h>

static bool index_type(struct infer *f)
{
    if (dtype_is_int(f->in[1].dtype))
        return true;
    return fail(f->d, "indices are %s, expected integers", dtype_name(f->in[1].dtype));
}

/* ---- gather ---- */

static void gather_content(struct infer *f)
{
    struct content x, at;
    if (!f->result || f->in[0].rank != 1)
        return;
    if ((x = infer_content(f, 0)).n < 0 || (at = infer_content(f, 1)).n < 0)
        return;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, at.n ? at.n : 1);
    for (int64_t i = 0; i < at.n; i++) {
        int64_t k = dim_is_const(at.v[i]) ? at.v[i] + (at.v[i] < 0 ? x.n : 0) : -1;
        if (k < 0 || k >= x.n)
            return;
        z[i] = x.v[k];
    }
    infer_set_content(f, 0, z, at.n);
}

bool infer_gather(struct infer *f)
{
    const struct type *x = &f->in[0], *at = &f->in[1];
    struct type out = *x;
    int axis;
    if (!index_type(f))
        return false;
    if (x->rank < 0 || at->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    if (!infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis))
        return false;
    if (x->rank - 1 + at->rank > MAX_RANK)
        return fail(f->d, "a result of rank %d, expected %d at most", x->rank - 1 + at->rank,
                    MAX_RANK);
    out.rank = (int8_t)axis;
    for (int i = 0; i < at->rank; i++)
        out.dims[out.rank++] = at->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        out.dims[out.rank++] = x->dims[i];
    f->out[0] = out;
    gather_content(f);
    return true;
}

/* Places of one row of indices, for several rows of short elements. */
static void gather_places(struct op_call *c, const int64_t *place, int64_t outer, int64_t n,
                          int64_t count, size_t bytes)
{
    const char *from = c->in[0]->data;
    char *to = c->out[0]->data;
    for (int64_t o = 0; o < outer; o++, from += (size_t)n * bytes, to += (size_t)count * bytes)
        switch (bytes) {
#define MOVE(size, T)                                                                              \
    case size:                                                                                     \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((T *)to)[i] = ((const T *)from)[place[i]];                                            \
        break;
            TYPED_SIZES(MOVE)
#undef MOVE
        }
}

static bool gather_columns(struct op_call *c, int64_t outer, int64_t n, int64_t count, size_t bytes)
{
    int64_t *place = malloc(sizeof *place * (size_t)count);
    bool ok = place || fail_memory(c->env->d, "out of memory");
    ok = ok && index_places(c, c->in[1], 0, count, n, place);
    if (ok)
        gather_places(c, place, outer, n, count, bytes);
    free(place);
    return ok;
}

bool eval_gather(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int axis = call_axis(c, "axis", 0, x->rank);
    int64_t outer = dims_product(x->dims, 0, axis), n = x->dims[axis],
            count = tensor_count(c->in[1]);
    size_t row = (size_t)dims_product(x->dims, axis + 1, x->rank) * dtype_bytes(x->dtype);
    char *to = c->out[0]->data;
    if (outer > 1 && count > 0 && (row == 1 || row == 2 || row == 4 || row == 8))
        return gather_columns(c, outer, n, count, row);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < count; i++, to += row) {
            int64_t at;
            if (!index_place(c, c->in[1], i, n, &at))
                return false;
            if (row)
                memcpy(to, (const char *)x->data + (size_t)(o * n + at) * row, row);
        }
    return own_strings(c, 0);
}

/* ---- gather_elements ---- */

struct pair {
    uint64_t v[2];
};

bool infer_gather_elements(struct infer *f)
{
    const struct type *x = &f->in[0];
    int axis;
    if (!index_type(f))
        return false;
    if (x->rank >= 0 && f->in[1].rank >= 0 && x->rank != f->in[1].rank)
        return fail(f->d, "indices have rank %d, expected %d", f->in[1].rank, x->rank);
    if (x->rank >= 0 && !infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis))
        return false;
    f->out[0] = f->in[1];
    f->out[0].dtype = x->dtype;
    for (int i = 0; x->rank >= 0 && i < f->in[1].rank; i++)
        if (i != axis && !require_at_most(f, f->in[1].dims[i], x->dims[i], between(1, 0, i)))
            return false;
    return true;
}

/* `count` elements to `to` from places that are `step` apart, of lines that are `line` apart. */
static void move_elements(char *to, const char *from, int64_t line, const int64_t *place,
                          int64_t step, int64_t count, size_t bytes)
{
    switch (bytes) {
#define MOVE(size, T)                                                                              \
    case size:                                                                                     \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((T *)to)[i] = ((const T *)from)[i * line + place[i] * step];                          \
        break;
        TYPED_SIZES(MOVE)
        MOVE(16, struct pair)
#undef MOVE
    }
}

/* A line of elements at a line of indices; false when one of them is outside. */
struct gathering {
    void *to;
    const void *from, *index;
    int64_t line, step, count, n; /* as move_elements; n: elements along the axis */
};

#define GATHER_LINE(size, T, I)                                                                    \
    static inline __attribute__((always_inline)) bool gather_##size##_by_##I##_at(                 \
        const struct gathering *g, int64_t line, int64_t step)                                     \
    {                                                                                              \
        T *to = g->to;                                                                             \
        const T *from = g->from;                                                                   \
        const I *index = g->index;                                                                 \
        int64_t n = g->n;                                                                          \
        for (int64_t i = 0; i < g->count; i++) {                                                   \
            int64_t at = index[i];                                                                 \
            at += n & (at >> 63);                                                                  \
            if ((uint64_t)at >= (uint64_t)n)                                                       \
                return false;                                                                      \
            to[i] = from[i * line + at * step];                                                    \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool gather_##size##_by_##I(const struct gathering *g)                                  \
    {                                                                                              \
        return g->line == 0 && g->step == 1 ? gather_##size##_by_##I##_at(g, 0, 1)                 \
                                            : gather_##size##_by_##I##_at(g, g->line, g->step);    \
    }
#define GATHER_LINES(size, T) GATHER_LINE(size, T, int32_t) GATHER_LINE(size, T, int64_t)
TYPED_SIZES(GATHER_LINES)

/* NULL: of other sizes and types of indices. */
static bool (*gather_line(size_t bytes, int index))(const struct gathering *g)
{
    switch (bytes) {
#define LINES(size, T)                                                                             \
    case size:                                                                                     \
        return index == DT_I64   ? gather_##size##_by_int64_t                                      \
               : index == DT_I32 ? gather_##size##_by_int32_t                                      \
                                 : NULL;
        TYPED_SIZES(LINES)
#undef LINES
    }
    return NULL;
}

bool eval_gather_elements(struct op_call *c)
{
    const struct tensor *x = c->in[0], *indices = c->in[1];
    int axis = call_axis(c, "axis", 0, x->rank);
    size_t bytes = dtype_bytes(x->dtype);
    struct walk w;
    walk_dims(&w, x->rank, indices->dims, 2);
    dense_strides(x->rank, x->dims, w.stride[1]);
    int64_t step = x->rank ? w.stride[1][axis] : 1, n = x->rank ? x->dims[axis] : 1;
    if (x->rank)
        w.stride[1][axis] = 0;
    int64_t place[PLACES], m;
    bool (*line)(const struct gathering *g) = gather_line(bytes, indices->dtype);
    for (walk_start(&w); !w.done; walk_next(&w)) {
        struct gathering g = {(char *)c->out[0]->data + (size_t)w.offset[0] * bytes,
                              (const char *)x->data + (size_t)w.offset[1] * bytes,
                              (const char *)indices->data +
                                  (size_t)w.offset[0] * dtype_bytes(indices->dtype),
                              w.step[1],
                              step,
                              w.count,
                              n};
        if (line && line(&g))
            continue;
        for (int64_t i = 0; i < w.count; i += m) { /* which also says what is outside */
            int64_t to = w.offset[0] + i, from = w.offset[1] + i * w.step[1];
            m = w.count - i < PLACES ? w.count - i : PLACES;
            if (!index_places(c, indices, to, m, n, place))
                return false;
            move_elements((char *)c->out[0]->data + (size_t)to * bytes,
                          (const char *)x->data + (size_t)from * bytes, w.step[1], place, step, m,
                          bytes);
        }
    }
    return own_strings(c, 0);
}

/* ---- gather_nd ---- */

bool infer_gather_nd(struct infer *f)
{
    const struct type *x = &f->in[0], *at = &f->in[1];
    int64_t batch = attr_int(f->attrs, "batch_dims", 0);
    struct type out = *x;
    if (!index_type(f))
        return false;
    if (x->rank < 0 || at->rank < 0 || (at->rank > 0 && !dim_is_const(at->dims[at->rank - 1])))
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    if (x->rank < 1 || at->rank < 1)
        return fail(f->d, "ranks %d and %d, expected 1 or more", x->rank, at->rank);
    int64_t depth = at->dims[at->rank - 1];
    if (batch < 0 || batch >= at->rank || depth < 0 || batch + depth > x->rank)
        return fail(f->d, "batch_dims %lld and indices of length %lld for rank %d",
                    (long long)batch, (long long)depth, x->rank);
    if (at->rank - 1 + x->rank - batch - depth > MAX_RANK)
        return fail(f->d, "the result's rank exceeds %d", MAX_RANK);
    out.rank = 0;
    for (int i = 0; i < at->rank - 1; i++) {
        out.dims[i] = at->dims[i];
        if (i < batch &&
            !require_same(f, at->dims[i], x->dims[i], named("batch", -1, i), &out.dims[i]))
            return false;
        out.rank++;
    }
    for (int i = (int)(batch + depth); i < x->rank; i++)
        out.dims[out.rank++] = x->dims[i];
    f->out[0] = out;
    return true;
}

bool eval_gather_nd(struct op_call *c)
{
    const struct tensor *x = c->in[0], *indices = c->in[1];
    int batch = (int)attr_int(c->attrs, "batch_dims", 0);
    int depth = (int)indices->dims[indices->rank - 1];
    int64_t batches = dims_product(indices->dims, 0, batch);
    int64_t each = dims_product(indices->dims, batch, indices->rank - 1);
    size_t row = (size_t)dims_product(x->dims, batch + depth, x->rank) * dtype_bytes(x->dtype);
    char *to = c->out[0]->data;
    for (int64_t i = 0; i < batches * each; i++, to += row) {
        int64_t at = i / each, k;
        for (int d = 0; d < depth; d++) {
            if (!index_place(c, indices, i * depth + d, x->dims[batch + d], &k))
                return false;
            at = at * x->dims[batch + d] + k;
        }
        if (row)
            memcpy(to, (const char *)x->data + (size_t)at * row, row);
    }
    return own_strings(c, 0);
}

/* ---- one_hot ---- */

bool infer_one_hot(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct content depth = infer_content(f, 1);
    struct type out = *x;
    int axis, from = 0;
    const struct tensor *constant = dtype_is_int(f->in[1].dtype) ? NULL : infer_tensor(f, 1);
    dim_t value;
    if (constant && tensor_count(constant) == 1) {
        value = content_clamp(tensor_i64(constant, 0));
        depth = (struct content){&value, 1};
    }
    out.dtype = f->in[2].dtype;
    if (x->rank < 0)
        return infer_out(f, 0, out.dtype, RANK_UNKNOWN, NULL);
    if (x->rank == MAX_RANK)
        return fail(f->d, "the result's rank exceeds %d", MAX_RANK);
    if (!infer_axis(f, attr_int(f->attrs, "axis", -1), x->rank + 1, &axis))
        return false;
    if (depth.n >= 0 && depth.n != 1)
        return fail(f->d, "depth has %lld elements, expected one", (long long)depth.n);
    if (depth.n == 1 && dim_is_const(depth.v[0]) && depth.v[0] < 0)
        return fail(f->d, "depth is %lld", (long long)depth.v[0]);
    out.rank = (int8_t)(x->rank + 1);
    for (int i = 0; i < out.rank; i++)
        if (i != axis)
            out.dims[i] = x->dims[from++];
    if (depth.n == 1)
        out.dims[axis] = depth.v[0];
    else
        out.dims[axis] = infer_unknown(f, "depth");
    f->out[0] = out;
    return true;
}

bool eval_one_hot(struct op_call *c)
{
    const struct tensor *x = c->in[0], *values = c->in[2];
    struct tensor *z = c->out[0];
    int axis = call_axis(c, "axis", -1, z->rank);
    int64_t depth = z->dims[axis], inner = dims_product(z->dims, axis + 1, z->rank);
    size_t bytes = dtype_bytes(z->dtype);
    if (tensor_count(values) != 2)
        return fail(c->env->d, "values has %lld elements, expected two",
                    (long long)tensor_count(values));
    char *to = z->data;
    const char *off = values->data;
    copy_run(to, 1, off, 0, tensor_count(z), bytes);
    for (int64_t i = 0, n = tensor_count(x); i < n && depth; i++) {
        int64_t want = tensor_i64(x, i), at = want < 0 ? want + depth : want;
        if (at >= 0 && at < depth)
            memcpy(to + (size_t)((i / inner * depth + at) * inner + i % inner) * bytes, off + bytes,
                   bytes);
    }
    return own_strings(c, 0);
}
