/* Windows picked by an array of start indices: gather_windows reads them, scatter_windows combines
 * updates into them. */
#include "runtime/ops/common/combine.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/walk.h"

#include <string.h>

struct list {
    int count;
    const int64_t *v;
};

static struct list list_of(const struct attrs *as, const char *name)
{
    struct list l;
    l.v = attr_ints(as, name, &l.count);
    return l;
}

static bool has(struct list l, int64_t x)
{
    for (int i = 0; i < l.count; i++)
        if (l.v[i] == x)
            return true;
    return false;
}

static bool in_range(struct diag *d, struct list l, int rank, const char *what)
{
    for (int i = 0; i < l.count; i++)
        if (l.v[i] < 0 || l.v[i] >= rank)
            return fail(d, "%s has %lld, expected less than %d", what, (long long)l.v[i], rank);
    return true;
}

/* Which dims of the windowed array come from where. */
struct windows {
    struct list
        offset; /* dims of the result (gather) or the updates (scatter) that run through a window */
    struct list collapsed; /* array dims that a window has not */
    struct list map;       /* array dim of each index component */
    struct list batching, index_batching;
    int index_dim; /* of the index array; its rank when indices are scalars */
};

static bool read_windows(struct windows *w, const struct attrs *as, bool gather, int rank,
                         int index_rank, int outer_rank, struct diag *d)
{
    w->offset = list_of(as, gather ? "offset_dims" : "update_window_dims");
    w->collapsed = list_of(as, gather ? "collapsed_slice_dims" : "inserted_window_dims");
    w->map = list_of(as, gather ? "start_index_map" : "scatter_dims_to_operand_dims");
    w->batching = list_of(as, gather ? "operand_batching_dims" : "input_batching_dims");
    w->index_batching =
        list_of(as, gather ? "start_indices_batching_dims" : "scatter_indices_batching_dims");
    w->index_dim = (int)attr_int(as, "index_vector_dim", index_rank);
    if (w->index_dim < 0 || w->index_dim > index_rank)
        return fail(d, "index_vector_dim is %d for indices of rank %d", w->index_dim, index_rank);
    if (w->batching.count != w->index_batching.count)
        return fail(d, "%d batching dims of the array, %d of the indices", w->batching.count,
                    w->index_batching.count);
    if (w->offset.count != rank - w->collapsed.count - w->batching.count)
        return fail(d, "%d window dims, expected %d", w->offset.count,
                    rank - w->collapsed.count - w->batching.count);
    return in_range(d, w->offset, outer_rank, "the list of window dims") &&
           in_range(d, w->collapsed, rank, "the list of collapsed dims") &&
           in_range(d, w->map, rank, "the index map") &&
           in_range(d, w->batching, rank, "the list of batching dims") &&
           in_range(d, w->index_batching, index_rank, "the list of batching dims of the indices");
}

static int batch_rank(const struct windows *w, int index_rank)
{
    return w->index_dim == index_rank ? index_rank : index_rank - 1;
}

/* ---- shapes ---- */

/* A window's size in every dimension of x: an attribute, or an operand of its own. */
static bool window_sizes(struct infer *f, dim_t *size)
{
    const struct type *x = &f->in[0];
    struct list l = list_of(f->attrs, "slice_sizes");
    struct type t = {.rank = (int8_t)(l.count <= MAX_RANK ? l.count : RANK_UNKNOWN)};
    if (has_input(f, 2))
        content_shape(f, 2, &t);
    else if (t.rank > 0)
        memcpy(t.dims, l.v, sizeof *l.v * (size_t)t.rank);
    if (diag_failed(f->d))
        return false;
    if (t.rank != x->rank)
        return fail(f->d, "%d sizes of a window in an array of rank %d", t.rank, x->rank);
    for (int i = 0; i < x->rank; i++) {
        size[i] = t.dims[i];
        if (dim_is_const(size[i]) && size[i] < 0)
            return fail(f->d, "a window of %lld in dimension %d", (long long)size[i], i);
        if (!require_at_most(f, size[i], x->dims[i], named("the window", 0, i)))
            return false;
    }
    return true;
}

bool infer_gather_windows(struct infer *f)
{
    const struct type *x = &f->in[0], *index = &f->in[1];
    dim_t sizes[MAX_RANK];
    struct windows w;
    dim_t dims[MAX_RANK];
    if (x->rank < 0 || index->rank < 0)
        return infer_any(f, 0, x->dtype);
    if (!dtype_is_int(index->dtype))
        return fail(f->d, "indices of %s, expected integers", dtype_name(index->dtype));
    if (!window_sizes(f, sizes))
        return false;
    int vector = attr_int(f->attrs, "index_vector_dim", index->rank) < index->rank;
    int rank = list_of(f->attrs, "offset_dims").count + index->rank - vector;
    if (rank > MAX_RANK)
        return fail(f->d, "the result has rank %d, expected at most %d", rank, MAX_RANK);
    if (!read_windows(&w, f->attrs, true, x->rank, index->rank, rank, f->d))
        return false;
    int batch = 0, window = 0;
    for (int i = 0; i < rank; i++) {
        if (!has(w.offset, i)) {
            batch += batch == w.index_dim;
            dims[i] = index->dims[batch++];
            continue;
        }
        while (window < x->rank && (has(w.collapsed, window) || has(w.batching, window)))
            window++;
        dims[i] = window < x->rank ? sizes[window++] : 1;
    }
    return infer_out(f, 0, x->dtype, rank, dims);
}

bool infer_scatter_windows(struct infer *f)
{
    int n = f->nin / 2, dtypes[256];
    if (f->nin % 2 == 0 || f->nout != n || n > 64)
        return fail(f->d,
                    "%d operands and %d results, expected arrays, indices and as many updates",
                    f->nin, f->nout);
    for (int i = 0; i < n; i++) {
        if (f->in[n + 1 + i].dtype != f->in[i].dtype)
            return fail(f->d, "update %d has another element type than its array", i);
        dtypes[i] = dtypes[n + i] = f->in[i].dtype;
        infer_same(f, i, i);
    }
    return combine_infer(f, "combine", 0, dtypes, 2 * n, dtypes, n);
}

/* ---- walking over index vectors ---- */

struct places {
    struct windows w;
    const struct tensor *x, *index;
    int64_t index_strides[MAX_RANK], x_strides[MAX_RANK], outer_strides[MAX_RANK];
    int64_t window[MAX_RANK];        /* of every array dim */
    int64_t batch_dims[MAX_RANK];    /* index dims but for the vector, in order */
    int64_t batch_stride[MAX_RANK];  /* in the result or updates */
    int64_t index_stride[MAX_RANK];  /* in the indices */
    int64_t window_stride[MAX_RANK]; /* array dim -> stride in the result or updates; 0 for dims not
                                        there */
    int batches;
};

static bool places_init(struct places *p, const struct attrs *as, bool gather,
                        const struct tensor *x, const struct tensor *index,
                        const struct tensor *outer, struct diag *d)
{
    p->x = x;
    p->index = index;
    if (!read_windows(&p->w, as, gather, x->rank, index->rank, outer->rank, d))
        return false;
    dense_strides(x->rank, x->dims, p->x_strides);
    dense_strides(index->rank, index->dims, p->index_strides);
    dense_strides(outer->rank, outer->dims, p->outer_strides);
    p->batches = batch_rank(&p->w, index->rank);
    for (int i = 0, b = 0; i < index->rank; i++)
        if (i != p->w.index_dim) {
            p->batch_dims[b] = index->dims[i];
            p->index_stride[b++] = p->index_strides[i];
        }
    int b = 0;
    for (int i = 0; i < outer->rank; i++)
        if (!has(p->w.offset, i) && b < p->batches) {
            if (outer->dims[i] != p->batch_dims[b])
                return fail(d, "dimension %d has %lld elements, the indices %lld", i,
                            (long long)outer->dims[i], (long long)p->batch_dims[b]);
            p->batch_stride[b++] = p->outer_strides[i];
        }
    if (b != p->batches || outer->rank - p->w.offset.count != b)
        return fail(d, "%d dimensions besides those of windows, expected %d",
                    outer->rank - p->w.offset.count, p->batches);
    int k = 0;
    for (int i = 0; i < x->rank; i++) {
        bool there = !has(p->w.collapsed, i) && !has(p->w.batching, i);
        p->window[i] = there ? outer->dims[p->w.offset.v[k]] : 1;
        p->window_stride[i] = there ? p->outer_strides[p->w.offset.v[k++]] : 0;
        if (p->window[i] > x->dims[i] && gather)
            return fail(d, "a window of %lld in dimension %d of size %lld", (long long)p->window[i],
                        i, (long long)x->dims[i]);
    }
    int components = p->w.index_dim < index->rank ? (int)index->dims[p->w.index_dim] : 1;
    return components == p->w.map.count ||
           fail(d, "indices of %d components, expected %d", components, p->w.map.count);
}

/* Where the window of one index vector begins in the array; false when it does not fit and must not
 * be moved. */
static bool place(const struct places *p, const int64_t *batch, bool clamp, int64_t *at)
{
    int64_t start[MAX_RANK] = {0}, from = 0;
    for (int b = 0; b < p->batches; b++)
        from += batch[b] * p->index_stride[b];
    int64_t step = p->w.index_dim < p->index->rank ? p->index_strides[p->w.index_dim] : 0;
    for (int k = 0; k < p->w.map.count; k++) {
        int64_t v = tensor_i64(p->index, from + k * step);
        if (p->index->dtype == DT_U64 && v < 0)
            v = INT64_MAX;
        start[p->w.map.v[k]] = v;
    }
    for (int i = 0; clamp && i < p->x->rank; i++) {
        int64_t most = p->x->dims[i] - p->window[i];
        start[i] = start[i] < 0 ? 0 : start[i] > most ? most : start[i];
    }
    for (int k = 0; k < p->w.batching.count; k++) {
        int64_t e = p->w.index_batching.v[k];
        start[p->w.batching.v[k]] = batch[e < p->w.index_dim ? e : e - 1];
    }
    *at = 0;
    for (int i = 0; i < p->x->rank; i++) {
        if (start[i] < 0 || start[i] > p->x->dims[i] - p->window[i])
            return false;
        *at += start[i] * p->x_strides[i];
    }
    return true;
}

static int64_t outer_place(const struct places *p, const int64_t *batch)
{
    int64_t at = 0;
    for (int b = 0; b < p->batches; b++)
        at += batch[b] * p->batch_stride[b];
    return at;
}

/* Copies between a window of the array and a dense or strided one. */
static void copy_window(const struct places *p, void *dst, const int64_t *dst_strides,
                        const void *src, const int64_t *src_strides, size_t bytes)
{
    struct walk w;
    walk_dims(&w, p->x->rank, p->window, 2);
    memcpy(w.stride[0], dst_strides, sizeof *dst_strides * (size_t)p->x->rank);
    memcpy(w.stride[1], src_strides, sizeof *src_strides * (size_t)p->x->rank);
    walk_copy(&w, dst, src, bytes);
}

bool eval_gather_windows(struct op_call *c)
{
    struct places p;
    int64_t batch[MAX_RANK] = {0};
    size_t bytes = dtype_bytes(c->in[0]->dtype);
    struct tensor *y = c->out[0];
    if (!places_init(&p, c->attrs, true, c->in[0], c->in[1], y, c->env->d))
        return false;
    if (tensor_count(y) == 0)
        return true;
    do {
        int64_t at;
        if (!place(&p, batch, true, &at))
            return fail(c->env->d, "batching indices are out of range");
        copy_window(&p, (char *)y->data + outer_place(&p, batch) * (int64_t)bytes, p.window_stride,
                    (const char *)c->in[0]->data + at * (int64_t)bytes, p.x_strides, bytes);
    } while (next_index(batch, p.batch_dims, p.batches));
    return true;
}

/* ---- scatter ---- */

/* The window at `at` of every array combined with its update at `from`. */
static bool scatter_one(struct op_call *c, const struct places *p, struct combine *m,
                        struct vector *v, int64_t at, int64_t from)
{
    int n = c->nout;
    int64_t dense[MAX_RANK], count = dims_product(p->window, 0, p->x->rank);
    dense_strides(p->x->rank, p->window, dense);
    for (int i = 0; i < n; i++) {
        size_t bytes = dtype_bytes(v[i].dtype);
        copy_window(p, v[i].data, dense, (char *)c->out[i]->data + at * (int64_t)bytes,
                    p->x_strides, bytes);
        copy_window(p, v[n + i].data, dense, (char *)c->in[n + 1 + i]->data + from * (int64_t)bytes,
                    p->window_stride, bytes);
    }
    if (!combine_run(m, count, v, 2 * n, v, n))
        return false;
    for (int i = 0; i < n; i++) {
        size_t bytes = dtype_bytes(v[i].dtype);
        copy_window(p, (char *)c->out[i]->data + at * (int64_t)bytes, p->x_strides, v[i].data,
                    dense, bytes);
    }
    return true;
}

static bool scatter_windows(struct op_call *c, struct work *w)
{
    int n = c->nout;
    struct places p;
    struct combine m;
    struct vector v[256];
    int64_t batch[MAX_RANK] = {0}, at;
    if (n > 64)
        return fail(w->d, "%d arrays, expected at most 64", n);
    if (!combine_init(&m, c, "combine", 0) ||
        !places_init(&p, c->attrs, false, c->in[0], c->in[n], c->in[n + 1], w->d))
        return false;
    int64_t count = dims_product(p.window, 0, p.x->rank);
    for (int i = 0; i < n; i++) {
        const struct tensor *x = c->in[i], *u = c->in[n + 1 + i];
        if (x->rank != p.x->rank || memcmp(x->dims, p.x->dims, sizeof *x->dims * (size_t)x->rank) ||
            u->rank != c->in[n + 1]->rank ||
            memcmp(u->dims, c->in[n + 1]->dims, sizeof *u->dims * (size_t)u->rank))
            return fail(w->d, "array or update %d has another shape than the first", i);
        if (c->out[i]->data != x->data && tensor_bytes(x))
            memcpy(c->out[i]->data, x->data, tensor_bytes(x));
        v[i].dtype = v[n + i].dtype = x->dtype;
        v[i].data = work_take(w, count, dtype_bytes(x->dtype));
        v[n + i].data = work_take(w, count, dtype_bytes(x->dtype));
        if (!v[i].data || !v[n + i].data)
            return false;
    }
    if (tensor_count(c->in[n + 1]) == 0)
        return true;
    do {
        if (place(&p, batch, false, &at) && !scatter_one(c, &p, &m, v, at, outer_place(&p, batch)))
            return false;
    } while (next_index(batch, p.batch_dims, p.batches));
    return true;
}

bool eval_scatter_windows(struct op_call *c)
{
    return with_work(c, scatter_windows);
}
