/* Reductions by an arbitrary computation, whole slices at a time. */
#include "runtime/ops/xla/xla_window.h"

#include "runtime/ops/common/combine.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/walk.h"

#include <string.h>

enum { LONG = 128, PART = 16 };

static bool axis_mask(const struct attrs *as, int rank, bool *mask, struct diag *d)
{
    int count;
    const int64_t *axes = attr_ints(as, "axes", &count);
    memset(mask, 0, MAX_RANK);
    for (int i = 0; i < count; i++) {
        if (axes[i] < 0 || axes[i] >= rank)
            return fail(d, "axis %lld is out of range for rank %d", (long long)axes[i], rank);
        mask[axes[i]] = true;
    }
    return true;
}

bool infer_reduce_with(struct infer *f)
{
    int n, dtypes[2 * MAX_PAIRS], rank = 0;
    bool mask[MAX_RANK];
    dim_t dims[MAX_RANK];
    if (!infer_pairs(f, &n, dtypes) || !axis_mask(f->attrs, f->in[0].rank, mask, f->d))
        return false;
    for (int i = 0; i < f->in[0].rank; i++)
        if (!mask[i])
            dims[rank++] = f->in[0].dims[i];
    for (int i = 0; i < n; i++)
        infer_out(f, i, dtypes[i], rank, dims);
    return combine_infer(f, "combine", 0, dtypes, 2 * n, dtypes, n);
}

/* ---- reduce_with ---- */

struct reduction {
    struct op_call *c;
    struct work *w;
    struct combine m;
    int n;
    int64_t slice;                /* elements of a slice */
    struct vector acc[MAX_PAIRS]; /* of a slice each */
};

static char *slice_at(const struct vector *v, int64_t k, int64_t slice)
{
    return (char *)v->data + k * slice * (int64_t)dtype_bytes(v->dtype);
}

/* acc = combine(acc, slice k of x) */
static bool step(struct reduction *r, struct vector *acc, const struct vector *x, int64_t k,
                 int64_t slice)
{
    struct vector args[2 * MAX_PAIRS];
    for (int i = 0; i < r->n; i++) {
        args[i] = acc[i];
        args[r->n + i] = (struct vector){x[i].dtype, slice_at(&x[i], k, slice)};
    }
    return combine_run(&r->m, slice, args, 2 * r->n, acc, r->n);
}

/*
 * Many short slices: runs of PART neighbours are reduced side by side, and their results, followed
 * by the slices left over, take the place of x. The order of elements is kept.
 */
static bool shorten(struct reduction *r, struct vector *x, int64_t *count)
{
    int64_t parts = *count / PART, rest = *count % PART, slice = r->slice;
    struct vector acc[MAX_PAIRS], next[MAX_PAIRS];
    for (int i = 0; i < r->n; i++) {
        size_t bytes = dtype_bytes(x[i].dtype);
        acc[i] = (struct vector){x[i].dtype, work_take(r->w, (parts + rest) * slice, bytes)};
        next[i] = (struct vector){x[i].dtype, work_take(r->w, parts * slice, bytes)};
        if (!acc[i].data || !next[i].data)
            return false;
    }
    for (int j = 0; j < PART; j++) {
        for (int i = 0; i < r->n; i++)
            for (int64_t p = 0; p < parts; p++)
                memcpy(slice_at(j ? &next[i] : &acc[i], p, slice),
                       slice_at(&x[i], p * PART + j, slice),
                       (size_t)slice * dtype_bytes(x[i].dtype));
        if (j && !step(r, acc, next, 0, parts * slice))
            return false;
    }
    for (int i = 0; i < r->n; i++)
        if (rest)
            memcpy(slice_at(&acc[i], parts, slice), slice_at(&x[i], parts * PART, slice),
                   (size_t)(rest * slice) * dtype_bytes(x[i].dtype));
    memcpy(x, acc, sizeof *x * (size_t)r->n);
    *count = parts + rest;
    return true;
}

static bool reduce_all(struct reduction *r, struct vector *x, int64_t count)
{
    while (count > LONG && r->slice < 1024)
        if (!shorten(r, x, &count))
            return false;
    for (int64_t k = 0; k < count; k++)
        if (!step(r, r->acc, x, k, r->slice))
            return false;
    return true;
}

/* A copy with the reduced dims outermost. */
static void *slices(struct work *w, const struct tensor *t, const bool *mask)
{
    struct walk walk;
    int64_t strides[MAX_RANK], dims[MAX_RANK];
    int rank = 0;
    void *v = work_take(w, tensor_count(t), dtype_bytes(t->dtype));
    dense_strides(t->rank, t->dims, strides);
    for (int pass = 1; pass >= 0; pass--)
        for (int i = 0; i < t->rank; i++)
            if (mask[i] == pass)
                dims[rank++] = t->dims[i];
    walk_dims(&walk, rank, dims, 2);
    rank = 0;
    for (int pass = 1; pass >= 0; pass--)
        for (int i = 0; i < t->rank; i++)
            if (mask[i] == pass)
                walk.stride[1][rank++] = strides[i];
    if (v && tensor_count(t))
        walk_copy(&walk, v, t->data, dtype_bytes(t->dtype));
    return v;
}

static bool reduce_with(struct op_call *c, struct work *w)
{
    struct reduction r = {.c = c, .w = w, .n = c->nout, .slice = tensor_count(c->out[0])};
    struct vector x[MAX_PAIRS];
    bool mask[MAX_RANK];
    int64_t count = 1;
    if (r.n > MAX_PAIRS || !combine_init(&r.m, c, "combine", 0) ||
        !axis_mask(c->attrs, c->in[0]->rank, mask, w->d))
        return false;
    for (int i = 0; i < c->in[0]->rank; i++)
        count *= mask[i] ? c->in[0]->dims[i] : 1;
    for (int i = 0; i < r.n; i++) {
        if (tensor_count(c->in[i]) != count * r.slice)
            return fail(w->d, "input %d has another shape than the first", i);
        x[i] = (struct vector){c->in[i]->dtype, slices(w, c->in[i], mask)};
        r.acc[i] = (struct vector){c->in[i]->dtype, c->out[i]->data};
        if (!x[i].data)
            return false;
        fill_first(c->out[i], c->in[r.n + i]);
    }
    return r.slice == 0 || reduce_all(&r, x, count);
}

EVAL_WITH_WORK(reduce_with)

/* ---- map_with ---- */

bool infer_map_with(struct infer *f)
{
    int dtypes[2 * MAX_PAIRS], dtype = (int)attr_int(f->attrs, "dtype", f->in[0].dtype);
    if (f->nin > 2 * MAX_PAIRS)
        return fail(f->d, "%d operands, expected at most %d", f->nin, 2 * MAX_PAIRS);
    for (int i = 0; i < f->nin; i++)
        dtypes[i] = f->in[i].dtype;
    struct type out = f->in[0];
    out.dtype = (uint8_t)dtype;
    f->out[0] = out;
    return combine_infer(f, "combine", 0, dtypes, f->nin, &dtype, 1);
}

bool eval_map_with(struct op_call *c)
{
    struct vector args[2 * MAX_PAIRS], result = {c->out[0]->dtype, c->out[0]->data};
    struct combine m;
    if (!combine_init(&m, c, "combine", 0))
        return false;
    for (int i = 0; i < c->nin; i++)
        args[i] = (struct vector){c->in[i]->dtype, c->in[i]->data};
    return combine_run(&m, tensor_count(c->out[0]), args, c->nin, &result, 1);
}
