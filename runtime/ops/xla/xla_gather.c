/* Windows picked by an array of start indices: gather_windows reads them, scatter_windows combines
 * updates into them. */
#include "runtime/ops/common/combine.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/join.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/typed.h"
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

/* Entries in [0, rank) and different. */
static bool in_range(struct diag *d, struct list l, int rank, const char *what)
{
    for (int i = 0; i < l.count; i++) {
        if (l.v[i] < 0 || l.v[i] >= rank)
            return fail(d, "%s has %lld, expected less than %d", what, (long long)l.v[i], rank);
        if (has((struct list){.v = l.v, .count = i}, l.v[i]))
            return fail(d, "%s has %lld twice", what, (long long)l.v[i]);
    }
    return true;
}

static bool disjoint(struct diag *d, struct list collapsed, struct list batching)
{
    for (int i = 0; i < batching.count; i++)
        if (has(collapsed, batching.v[i]))
            return fail(d, "dimension %lld is both collapsed and a batching one",
                        (long long)batching.v[i]);
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
           in_range(d, w->index_batching, index_rank, "the list of batching dims of the indices") &&
           disjoint(d, w->collapsed, w->batching);
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

struct component { /* of an index vector */
    int64_t at;    /* in the index array, from the vector's start */
    int64_t stride, max; /* of its array dim; the last place where a window begins */
};

struct places {
    struct windows w;
    const struct tensor *x, *index;
    int64_t x_strides[MAX_RANK];
    int64_t window[MAX_RANK];        /* of every array dim */
    int64_t window_stride[MAX_RANK]; /* array dim -> stride in the result or updates; 0 for dims not
                                        there */
    int batches;                     /* index dims but for the vector, in order */
    int64_t batch_dims[MAX_RANK];
    int64_t batch_stride[MAX_RANK]; /* in the result or updates */
    int64_t index_stride[MAX_RANK]; /* in the indices */
    int64_t array_stride[MAX_RANK]; /* in the array, of batching dims; else 0 */
    int ncomponents;
    struct component component[MAX_RANK];
    int64_t batch[MAX_RANK]; /* where the walk is, in all but the last batch dim */
    int64_t from, outer, base;
};

enum { BLOCK = 128, OUTSIDE = -1 };

struct gather_block { /* of index vectors along the last batch dim */
    int64_t n, at[BLOCK]; /* where their windows begin; OUTSIDE: they do not fit */
    int64_t outer, step;  /* where in the result or updates */
};

/* Dims of the index array but for that of the vectors, and where they lead in the outer array. */
static bool find_batches(struct places *p, const struct tensor *outer, struct diag *d)
{
    int64_t index_strides[MAX_RANK], outer_strides[MAX_RANK];
    dense_strides(p->index->rank, p->index->dims, index_strides);
    dense_strides(outer->rank, outer->dims, outer_strides);
    p->batches = batch_rank(&p->w, p->index->rank);
    for (int i = 0, b = 0; i < p->index->rank; i++)
        if (i != p->w.index_dim) {
            p->batch_dims[b] = p->index->dims[i];
            p->index_stride[b++] = index_strides[i];
        }
    int b = 0;
    for (int i = 0; i < outer->rank; i++)
        if (!has(p->w.offset, i) && b < p->batches) {
            if (outer->dims[i] != p->batch_dims[b])
                return fail(d, "dimension %d has %lld elements, the indices %lld", i,
                            (long long)outer->dims[i], (long long)p->batch_dims[b]);
            p->batch_stride[b++] = outer_strides[i];
        }
    return (b == p->batches && outer->rank - p->w.offset.count == b) ||
           fail(d, "%d dimensions besides those of windows, expected %d",
                outer->rank - p->w.offset.count, p->batches);
}

static bool find_window(struct places *p, bool gather, const struct tensor *outer, struct diag *d)
{
    int64_t outer_strides[MAX_RANK];
    const struct tensor *x = p->x;
    int k = 0;
    dense_strides(outer->rank, outer->dims, outer_strides);
    for (int i = 0; i < x->rank; i++) {
        bool there = !has(p->w.collapsed, i) && !has(p->w.batching, i);
        p->window[i] = there ? outer->dims[p->w.offset.v[k]] : 1;
        p->window_stride[i] = there ? outer_strides[p->w.offset.v[k++]] : 0;
        if (p->window[i] > x->dims[i] && gather)
            return fail(d, "a window of %lld in dimension %d of size %lld", (long long)p->window[i],
                        i, (long long)x->dims[i]);
    }
    return true;
}

/* Components of index vectors, and how batching dims move through the array. */
static bool find_components(struct places *p, struct diag *d)
{
    int64_t index_strides[MAX_RANK];
    dense_strides(p->index->rank, p->index->dims, index_strides);
    bool vectors = p->w.index_dim < p->index->rank;
    int components = vectors ? (int)p->index->dims[p->w.index_dim] : 1;
    if (components != p->w.map.count)
        return fail(d, "indices of %d components, expected %d", components, p->w.map.count);
    bool taken[MAX_RANK] = {0};
    for (int k = 0; k < components + p->w.batching.count; k++) {
        int64_t i = k < components ? p->w.map.v[k] : p->w.batching.v[k - components];
        if (taken[i])
            return fail(d, "dimension %lld has two indices", (long long)i);
        taken[i] = true;
    }
    p->ncomponents = components;
    for (int k = 0; k < components; k++) {
        int64_t i = p->w.map.v[k];
        p->component[k] = (struct component){vectors ? k * index_strides[p->w.index_dim] : 0,
                                             p->x_strides[i], p->x->dims[i] - p->window[i]};
    }
    for (int k = 0; k < p->w.batching.count; k++) {
        int64_t e = p->w.index_batching.v[k], b = e < p->w.index_dim ? e : e - 1,
                i = p->w.batching.v[k];
        if (e == p->w.index_dim || p->batch_dims[b] > p->x->dims[i])
            return fail(d, "batching indices are out of range");
        p->array_stride[b] += p->x_strides[i];
    }
    return true;
}

static bool places_init(struct places *p, const struct attrs *as, bool gather,
                        const struct tensor *x, const struct tensor *index,
                        const struct tensor *outer, struct diag *d)
{
    memset(p, 0, sizeof *p);
    p->x = x;
    p->index = index;
    dense_strides(x->rank, x->dims, p->x_strides);
    return read_windows(&p->w, as, gather, x->rank, index->rank, outer->rank, d) &&
           find_batches(p, outer, d) && find_window(p, gather, outer, d) && find_components(p, d);
}

/* Moves on in the batch dims but for the last; false after the last place. */
static bool next_row(struct places *p)
{
    for (int b = p->batches - 2; b >= 0; b--) {
        p->from += p->index_stride[b];
        p->outer += p->batch_stride[b];
        p->base += p->array_stride[b];
        if (++p->batch[b] < p->batch_dims[b])
            return true;
        p->from -= p->index_stride[b] * p->batch_dims[b];
        p->outer -= p->batch_stride[b] * p->batch_dims[b];
        p->base -= p->array_stride[b] * p->batch_dims[b];
        p->batch[b] = 0;
    }
    return false;
}

/* n elements of the index array. */
static void read_indices(const struct places *p, int64_t at, int64_t step, int64_t n, int64_t *to)
{
    if (p->index->dtype == DT_I32) {
        const int32_t *from = (const int32_t *)p->index->data + at;
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i * step];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t v = tensor_i64(p->index, at + i * step);
        to[i] = p->index->dtype == DT_U64 && v < 0 ? INT64_MAX : v;
    }
}

/* What one component, 32 bits wide, adds to the places of a block; whether some are outside, which
 * is rare. */
static inline bool add_places_by(const struct places *p, const struct component *m, int64_t at,
                                 int64_t step, struct gather_block *k, bool *outside)
{
    const int32_t *from = (const int32_t *)p->index->data + at;
    int32_t max = (int32_t)m->max;
    bool any = false;
    for (int64_t i = 0; i < k->n; i++) {
        int32_t v = from[i * step];
        if ((uint32_t)v > (uint32_t)max) {
            v = v < 0 ? 0 : max;
            any = outside[i] = true;
        }
        k->at[i] += v * m->stride;
    }
    return any;
}

static bool add_places_i32(const struct places *p, const struct component *m, int64_t at,
                           int64_t step, struct gather_block *k, bool *outside)
{
    return step == 1 ? add_places_by(p, m, at, 1, k, outside) : add_places_by(p, m, at, step, k, outside);
}

/* Index vectors first.. of the row that the walk is at. Those of windows that do not fit are moved,
 * or with `clamp` false left out. */
static void fill_block(const struct places *p, int64_t first, bool clamp, struct gather_block *k)
{
    int last = p->batches - 1;
    int64_t count = last < 0 ? 1 : p->batch_dims[last], index[BLOCK];
    int64_t step = last < 0 ? 0 : p->index_stride[last], move = last < 0 ? 0 : p->array_stride[last];
    bool outside[BLOCK] = {0}, any = false;
    k->n = count - first < BLOCK ? count - first : BLOCK;
    k->step = last < 0 ? 0 : p->batch_stride[last];
    k->outer = p->outer + first * k->step;
    for (int64_t i = 0; i < k->n; i++)
        k->at[i] = p->base + (first + i) * move;
    for (int c = 0; c < p->ncomponents; c++) {
        const struct component *m = &p->component[c];
        if (p->index->dtype == DT_I32 && m->max >= 0 && m->max <= INT32_MAX) {
            any |= add_places_i32(p, m, p->from + m->at + first * step, step, k, outside);
            continue;
        }
        read_indices(p, p->from + m->at + first * step, step, k->n, index);
        for (int64_t i = 0; i < k->n; i++) {
            int64_t v = index[i], kept = v < 0 ? 0 : v > m->max ? m->max : v;
            outside[i] |= v != kept;
            k->at[i] += kept * m->stride;
        }
        any = true; /* perhaps */
    }
    for (int64_t i = 0; any && !clamp && i < k->n; i++)
        k->at[i] = outside[i] ? OUTSIDE : k->at[i];
}

static int64_t row_vectors(const struct places *p)
{
    return p->batches ? p->batch_dims[p->batches - 1] : 1;
}

/* Windows that must not be moved, of dims without an index, fit or none does. */
static bool window_fits(const struct places *p)
{
    for (int i = 0; i < p->x->rank; i++)
        if (p->window[i] > p->x->dims[i])
            return false;
    return true;
}

/* ---- windows as runs of elements ---- */

/* Between a window of the array (operand 0) and its counterpart (operand 1). */
struct runs {
    struct walk w;
    bool one; /* a single run */
};

static void runs_init(struct runs *r, const struct places *p, const int64_t *strides)
{
    walk_dims(&r->w, p->x->rank, p->window, 2);
    memcpy(r->w.stride[0], p->x_strides, sizeof *strides * (size_t)p->x->rank);
    memcpy(r->w.stride[1], strides, sizeof *strides * (size_t)p->x->rank);
    walk_start(&r->w);
    r->one = r->w.rank == 0 && !r->w.done;
}

/* Copies out of the array, or with into_array into it. */
static inline void copy_window(const struct runs *r, char *array, char *other, bool into_array,
                               size_t bytes)
{
    if (r->one) {
        copy_run(into_array ? array : other, r->w.step[!into_array], into_array ? other : array,
                 r->w.step[into_array], r->w.count, bytes);
        return;
    }
    for (struct walk w = r->w; !w.done; walk_next(&w)) {
        char *a = array + w.offset[0] * (int64_t)bytes, *o = other + w.offset[1] * (int64_t)bytes;
        copy_run(into_array ? a : o, w.step[!into_array], into_array ? o : a, w.step[into_array],
                 w.count, bytes);
    }
}

#define GATHER_ONES(bytes, T)                                                                      \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < k->n; i++)                                                         \
            ((T *)to)[i * k->step] = ((const T *)x->data)[k->at[i]];                               \
        break;

static void gather_block(const struct runs *r, const struct gather_block *k, const struct tensor *x,
                         const struct tensor *y)
{
    int64_t bytes = (int64_t)dtype_bytes(x->dtype);
    char *to = (char *)y->data + k->outer * bytes;
    if (!r->one || r->w.count != 1 || bytes > 8) {
        for (int64_t i = 0; i < k->n; i++)
            copy_window(r, (char *)x->data + k->at[i] * bytes, to + i * k->step * bytes, false,
                        (size_t)bytes);
        return;
    }
    switch (bytes) {
        TYPED_SIZES(GATHER_ONES)
    }
}

bool eval_gather_windows(struct op_call *c)
{
    struct places p;
    struct runs runs;
    struct gather_block block;
    struct tensor *y = c->out[0];
    if (!places_init(&p, c->attrs, true, c->in[0], c->in[1], y, c->env->d))
        return false;
    if (tensor_count(y) == 0)
        return true;
    runs_init(&runs, &p, p.window_stride);
    do {
        for (int64_t i = 0; i < row_vectors(&p); i += block.n) {
            fill_block(&p, i, true, &block);
            gather_block(&runs, &block, c->in[0], y);
        }
    } while (next_row(&p));
    return true;
}

/* ---- scatter ---- */

/* The operator that updates are joined by. OP_COUNT: they replace what is there. */
struct joining {
    enum op op;
    join_fn *join;
};

/* For windows that are one dense run, or NULL. */
static join_columns_fn *join_of_runs(const struct joining *j, int dtype, const struct runs *r)
{
    bool rows = j->join && r->one && r->w.step[0] == 1 && r->w.step[1] == 1;
    return rows ? join_columns_of(j->op, dtype, r->w.count) : NULL;
}

static void join_window(const struct runs *r, char *array, const char *other, join_fn *join, int64_t bytes)
{
    for (struct walk w = r->w; !w.done; walk_next(&w))
        join(array + w.offset[0] * bytes, w.step[0], other + w.offset[1] * bytes, w.step[1], w.count);
}

#define ADD_ONES(T)                                                                                \
    for (int64_t i = 0; i < k->n; i++) {                                                           \
        if (k->at[i] >= 0)                                                                         \
            ((T *)y->data)[k->at[i]] += ((const T *)from)[i * k->step];                            \
    }

/* Windows of one element that are joined. */
static void join_ones(const struct gather_block *k, const struct joining *j, const struct tensor *u, struct tensor *y)
{
    const int64_t bytes = (int64_t)dtype_bytes(y->dtype);
    const char *from = (const char *)u->data + k->outer * bytes;
    if (j->op == OP_add && y->dtype == DT_F32) {
        ADD_ONES(float)
    } else if (j->op == OP_add && y->dtype == DT_I32) {
        ADD_ONES(uint32_t)
    } else {
        for (int64_t i = 0; i < k->n; i++)
            if (k->at[i] >= 0)
                j->join((char *)y->data + k->at[i] * bytes, 1, from + i * k->step * bytes, 1, 1);
    }
}

#define PUT_ONES(bytes, T)                                                                         \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < k->n; i++)                                                         \
            if (k->at[i] >= 0)                                                                     \
                ((T *)y->data)[k->at[i]] = ((const T *)from)[i * k->step];                         \
        break;

static void put_ones(const struct gather_block *k, const struct tensor *u, struct tensor *y)
{
    size_t bytes = dtype_bytes(y->dtype);
    const char *from = (const char *)u->data + (size_t)k->outer * bytes;
    switch (bytes) {
        TYPED_SIZES(PUT_ONES)
    }
}

/* Windows of a block replaced by their updates, or with the updates joined. */
static void scatter_block(const struct runs *r, const struct gather_block *k, join_fn *join,
                          join_columns_fn *columns, const struct tensor *u, struct tensor *y)
{
    enum { AHEAD = 8, LINE = 64, FETCHED = 512 };
    int64_t bytes = (int64_t)dtype_bytes(y->dtype), size = r->w.count * bytes;
    bool fetches = r->one && r->w.step[0] == 1 && size > LINE && size <= FETCHED;
    for (int64_t i = 0; i < k->n; i++) {
        if (fetches && i + AHEAD < k->n && k->at[i + AHEAD] >= 0)
            for (int64_t at = 0; at < size; at += LINE)
                __builtin_prefetch((char *)y->data + k->at[i + AHEAD] * bytes + at, 1);
        if (k->at[i] < 0)
            continue;
        char *to = (char *)y->data + k->at[i] * bytes,
             *from = (char *)u->data + (k->outer + i * k->step) * bytes;
        if (!join)
            copy_window(r, to, from, true, (size_t)bytes);
        else if (columns)
            columns((float *)to, (const float *)from, 0, 1, (size_t)r->w.count);
        else if (!r->one)
            join_window(r, to, from, join, bytes);
        else
            join(to, r->w.step[0], from, r->w.step[1], r->w.count);
    }
}

/* Whether windows are words, and each place is one 32-bit number: the commonest case. */
static bool has_numbers(const struct places *p, const struct runs *r, const struct tensor *y)
{
    const struct component *m = &p->component[0];
    for (int b = 0; b < p->batches; b++)
        if (p->array_stride[b])
            return false;
    return r->one && r->w.count == 1 && dtype_bytes(y->dtype) == 4 && p->ncomponents == 1 &&
           p->batches > 0 && p->index->dtype == DT_I32 && m->max >= 0 && m->max <= INT32_MAX;
}

#define AT_NUMBERS_BY(T, value, step, stride, move)                                                \
    for (int64_t i = 0; i < n; i++)                                                                \
        if ((uint32_t)at[i * (step)] <= max) {                                                     \
            const T a = to[at[i * (step)] * (stride)], b = x[i * (move)];                          \
            (void)a;                                                                               \
            to[at[i * (step)] * (stride)] = value;                                                 \
        }
#define AT_NUMBERS(T, value)                                                                       \
    {                                                                                              \
        T *const to = y->data;                                                                     \
        const T *const x = (const T *)from;                                                        \
        if (step == 1 && stride == 1 && move == 1) {                                               \
            AT_NUMBERS_BY(T, value, 1, 1, 1)                                                       \
        } else {                                                                                   \
            AT_NUMBERS_BY(T, value, step, stride, move)                                            \
        }                                                                                          \
    }

/* The row of indices that the walk is at. */
static void scatter_numbers(const struct places *p, enum op op, const struct tensor *u, struct tensor *y)
{
    const struct component *m = &p->component[0];
    int last = p->batches - 1;
    const int64_t n = p->batch_dims[last], step = p->index_stride[last], move = p->batch_stride[last],
                  stride = m->stride;
    const int32_t *at = (const int32_t *)p->index->data + p->from + m->at;
    const char *from = (const char *)u->data + p->outer * 4;
    uint32_t max = (uint32_t)m->max;
    if (op == OP_COUNT) {
        AT_NUMBERS(uint32_t, b)
    } else if (y->dtype != DT_F32) {
        AT_NUMBERS(uint32_t, a + b)
    } else if (op == OP_add) {
        AT_NUMBERS(float, a + b)
    } else if (op == OP_mul) {
        AT_NUMBERS(float, a *b)
    } else if (op == OP_max) {
        AT_NUMBERS(float, JOINED_MAX(a, b))
    } else {
        AT_NUMBERS(float, JOINED_MIN(a, b))
    }
}

/* One array whose windows are replaced by their updates, or have them joined. */
static void scatter_plainly(struct places *p, const struct joining *j, const struct tensor *u, struct tensor *y)
{
    struct runs runs;
    struct gather_block block;
    runs_init(&runs, p, p->window_stride);
    join_fn *join = j->join;
    join_columns_fn *columns = join_of_runs(j, y->dtype, &runs);
    bool ones = runs.one && runs.w.count == 1 && dtype_bytes(y->dtype) <= 8,
         numbers = (!join || j->op == OP_add || y->dtype == DT_F32) && has_numbers(p, &runs, y);
    do {
        if (numbers) {
            scatter_numbers(p, j->op, u, y);
            continue;
        }
        for (int64_t i = 0; i < row_vectors(p); i += block.n) {
            fill_block(p, i, false, &block);
            if (ones && join)
                join_ones(&block, j, u, y);
            else if (ones)
                put_ones(&block, u, y);
            else
                scatter_block(&runs, &block, join, columns, u, y);
        }
    } while (next_row(p));
}

struct scattering {
    struct op_call *c;
    struct combine *m;
    struct runs kept, update; /* between arrays, updates and dense vectors */
    struct vector v[256];
};

/* The window at `at` of every array combined with its update at `from`. */
static bool scatter_one(struct scattering *s, int64_t count, int64_t at, int64_t from)
{
    struct op_call *c = s->c;
    int n = c->nout;
    for (int i = 0; i < n; i++) {
        size_t bytes = dtype_bytes(s->v[i].dtype);
        copy_window(&s->kept, (char *)c->out[i]->data + at * (int64_t)bytes, s->v[i].data, false,
                    bytes);
        copy_window(&s->update, (char *)c->in[n + 1 + i]->data + from * (int64_t)bytes,
                    s->v[n + i].data, false, bytes);
    }
    if (!combine_run(s->m, count, s->v, 2 * n, s->v, n))
        return false;
    for (int i = 0; i < n; i++) {
        size_t bytes = dtype_bytes(s->v[i].dtype);
        copy_window(&s->kept, (char *)c->out[i]->data + at * (int64_t)bytes, s->v[i].data, true,
                    bytes);
    }
    return true;
}

static bool scatter_by(struct places *p, struct op_call *c, struct combine *m, struct work *w)
{
    struct scattering *s = WORK(w, struct scattering, 1);
    int n = c->nout;
    int64_t dense[MAX_RANK], count = dims_product(p->window, 0, p->x->rank);
    struct places update = *p;
    struct gather_block block;
    if (!s)
        return false;
    s->c = c;
    s->m = m;
    for (int i = 0; i < n; i++) { /* of arrays and of updates */
        s->v[i].dtype = s->v[n + i].dtype = c->in[i]->dtype;
        s->v[i].data = work_take(w, count, dtype_bytes(c->in[i]->dtype));
        s->v[n + i].data = work_take(w, count, dtype_bytes(c->in[i]->dtype));
        if (!s->v[i].data || !s->v[n + i].data)
            return false;
    }
    dense_strides(p->x->rank, p->window, dense);
    runs_init(&s->kept, p, dense);
    memcpy(update.x_strides, p->window_stride, sizeof update.x_strides);
    runs_init(&s->update, &update, dense);
    do {
        for (int64_t first = 0; first < row_vectors(p); first += block.n) {
            fill_block(p, first, false, &block);
            for (int64_t j = 0; j < block.n; j++)
                if (block.at[j] >= 0 &&
                    !scatter_one(s, count, block.at[j], block.outer + j * block.step))
                    return false;
        }
    } while (next_row(p));
    return true;
}

static bool scatter_windows(struct op_call *c, struct work *w)
{
    int n = c->nout;
    struct places p;
    struct combine m;
    if (n > 64)
        return fail(w->d, "%d arrays, expected at most 64", n);
    if (!combine_init(&m, c, "combine", 0) ||
        !places_init(&p, c->attrs, false, c->in[0], c->in[n], c->in[n + 1], w->d))
        return false;
    for (int i = 0; i < n; i++) {
        const struct tensor *x = c->in[i], *u = c->in[n + 1 + i];
        if (x->rank != p.x->rank || memcmp(x->dims, p.x->dims, sizeof *x->dims * (size_t)x->rank) ||
            u->rank != c->in[n + 1]->rank ||
            memcmp(u->dims, c->in[n + 1]->dims, sizeof *u->dims * (size_t)u->rank))
            return fail(w->d, "array or update %d has another shape than the first", i);
        if (c->out[i]->data != x->data && tensor_bytes(x))
            memcpy(c->out[i]->data, x->data, tensor_bytes(x));
    }
    if (tensor_count(c->in[n + 1]) == 0 || !window_fits(&p))
        return true;
    bool replaces = m.form == COMBINE_ARGUMENT && m.argument == 1;
    struct joining j = {.op = OP_COUNT};
    if (m.form == COMBINE_OP)
        j = (struct joining){m.op, join_of(m.op, c->in[0]->dtype)};
    if (n != 1 || !(replaces || j.join))
        return scatter_by(&p, c, &m, w);
    scatter_plainly(&p, &j, c->in[2], c->out[0]);
    return true;
}

EVAL_WITH_WORK(scatter_windows)
