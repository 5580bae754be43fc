/*
 * Result shapes from operands and attributes. Everything that comes from the file is checked before
 * it is used as an index, so that this also verifies: a contradiction is a failure.
 */
#include "frontend/hlo/syntax/check.h"

#include <string.h>

struct inference {
    struct arena *arena;
    struct diag *d;
    const struct hlo_instruction *i;
};

static const struct hlo_shape *shape_of(const struct inference *c, int k)
{
    return c->i->operands[k]->shape;
}

static const struct hlo_shape *no(const struct inference *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static const struct hlo_shape *no(const struct inference *c, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fail(c->d, "%s", text);
    return NULL;
}

static bool array(const struct inference *c, int k)
{
    return hlo_is_array(shape_of(c, k)) || fail(c->d, "operand %d is %s, expected an array", k,
                                                hlo_shape_text(c->arena, shape_of(c, k)));
}

static struct hlo_shape *like(const struct inference *c, const struct hlo_shape *s,
                              enum hlo_type type)
{
    struct hlo_shape *r = hlo_shape_new(c->arena, type, s->rank, s->dims);
    if (s->dynamic)
        r->dynamic = arena_copy(c->arena, s->dynamic, sizeof *s->dynamic * (size_t)s->rank);
    return r;
}

/* The same shape without its layout; tuples as they are. */
static const struct hlo_shape *same(const struct inference *c, int k)
{
    const struct hlo_shape *s = shape_of(c, k);
    return s->count || !s->rank ? s : like(c, s, s->type);
}

bool hlo_same_dims(const struct hlo_shape *a, const struct hlo_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int k = 0; k < a->rank; k++) {
        bool dynamic = (a->dynamic && a->dynamic[k]) || (b->dynamic && b->dynamic[k]) ||
                       a->dims[k] < 0 || b->dims[k] < 0;
        if (a->dims[k] != b->dims[k] && !dynamic)
            return false;
    }
    return true;
}

bool hlo_whole(const struct hlo_shape *s, const char *what, struct diag *d)
{
    enum dtype_class kind = dtype_class(hlo_type_dtype(s->type));
    return kind == DTC_SINT || kind == DTC_UINT ||
           fail(d, "the %s are of type %s, expected integers", what, hlo_type_name(s->type));
}

static bool differ(int64_t a, int64_t b)
{
    return a != b && a >= 0 && b >= 0;
}

/* The most elements along a dim of which only running tells the number; -1: there is no such limit. */
static int64_t bound_of(const struct hlo_shape *s, int k)
{
    return s->dynamic && s->dynamic[k] ? s->dims[k] : s->bounds ? s->bounds[k] : -1;
}

/* Whether a dim of b is larger than the bound of a's. */
static bool beyond(const struct hlo_shape *a, const struct hlo_shape *b)
{
    for (int k = 0; k < a->rank; k++)
        if (bound_of(a, k) >= 0 && bound_of(b, k) < 0 && b->dims[k] > bound_of(a, k))
            return true;
    return false;
}

static bool agree(const struct inference *c, int first, int second)
{
    const struct hlo_shape *a = shape_of(c, first), *b = shape_of(c, second);
    return (hlo_same_dims(a, b) && !beyond(a, b) && !beyond(b, a)) ||
           fail(c->d, "operands %d and %d have shapes %s and %s, expected the same dimensions",
                first, second, hlo_shape_text(c->arena, a), hlo_shape_text(c->arena, b));
}

/* Entries in [0, rank) and different. */
static bool dims_ok(const struct inference *c, enum hlo_attr_id id, int rank)
{
    struct hlo_ints v = hlo_attr_ints(c->i, id);
    uint64_t seen = 0;
    for (int k = 0; k < v.count; k++) {
        if (v.v[k] < 0 || v.v[k] >= rank)
            return fail(c->d, "%s has %lld, but there are %d dimensions", hlo_attr_info(id)->name,
                        (long long)v.v[k], rank);
        if (seen >> v.v[k] & 1)
            return fail(c->d, "%s has %lld twice", hlo_attr_info(id)->name, (long long)v.v[k]);
        seen |= (uint64_t)1 << v.v[k];
    }
    return true;
}

static bool in(struct hlo_ints v, int64_t x)
{
    for (int k = 0; k < v.count; k++)
        if (v.v[k] == x)
            return true;
    return false;
}

static int64_t one_dim(const struct inference *c, enum hlo_attr_id id)
{
    return hlo_attr_ints(c->i, id).v[0];
}

struct dims {
    int rank;
    int64_t v[2 * HLO_MAX_RANK];
};

static void put(struct dims *d, int64_t v)
{
    if (d->rank < 2 * HLO_MAX_RANK)
        d->v[d->rank++] = v;
}

static const struct hlo_shape *made(const struct inference *c, enum hlo_type type,
                                    const struct dims *d)
{
    if (d->rank > HLO_MAX_RANK)
        return no(c, "the result would have %d dimensions, more than %d", d->rank, HLO_MAX_RANK);
    return hlo_shape_new(c->arena, type, d->rank, d->v);
}

/* n copies of what `element` gives for operand k, as a tuple unless n is 1. */
static const struct hlo_shape *each(const struct inference *c, int n,
                                    const struct hlo_shape *(*element)(const struct inference *, int))
{
    const struct hlo_shape **v = ARENA_ARRAY(c->arena, const struct hlo_shape *, n);
    for (int k = 0; k < n; k++)
        if (!(v[k] = element(c, k)))
            return NULL;
    return n == 1 ? v[0] : hlo_shape_tuple(c->arena, n, v);
}

static const struct hlo_shape *infer_concatenate(const struct inference *c)
{
    const struct hlo_shape *first = shape_of(c, 0);
    if (!dims_ok(c, HLO_ATTR_dimensions, first->rank))
        return NULL;
    int64_t d = one_dim(c, HLO_ATTR_dimensions);
    struct hlo_shape *r = like(c, first, first->type);
    for (int k = 1; k < c->i->operand_count; k++) {
        const struct hlo_shape *s = shape_of(c, k);
        if (s->rank != first->rank)
            return no(c, "operand %d has %d dimensions, operand 0 has %d", k, s->rank, first->rank);
        for (int j = 0; j < s->rank; j++)
            if (j != d && differ(s->dims[j], first->dims[j]) && !s->dynamic && !first->dynamic)
                return no(c, "operand %d has size %lld in dimension %d, operand 0 has %lld", k,
                          (long long)s->dims[j], j, (long long)first->dims[j]);
        if (s->dims[d] < 0 || r->dims[d] < 0)
            r->dims[d] = HLO_UNBOUNDED;
        else if (__builtin_add_overflow(r->dims[d], s->dims[d], &r->dims[d]))
            return no(c, "the result is too large");
    }
    return r;
}

static const struct hlo_ints no_dims;

/* The dimensions of an operand that are in none of the three lists. */
static void put_free(struct dims *d, const struct hlo_shape *s, struct hlo_ints batch,
                     struct hlo_ints contracting, struct hlo_ints group)
{
    for (int k = 0; k < s->rank; k++)
        if (!in(batch, k) && !in(contracting, k) && !in(group, k))
            put(d, s->dims[k]);
}

static const struct hlo_shape *infer_dot(const struct inference *c)
{
    const struct hlo_shape *l = shape_of(c, 0), *r = shape_of(c, 1);
    struct hlo_ints lb = hlo_attr_ints(c->i, HLO_ATTR_lhs_batch_dims);
    struct hlo_ints rb = hlo_attr_ints(c->i, HLO_ATTR_rhs_batch_dims);
    struct hlo_ints lc = hlo_attr_ints(c->i, HLO_ATTR_lhs_contracting_dims);
    struct hlo_ints rc = hlo_attr_ints(c->i, HLO_ATTR_rhs_contracting_dims);
    struct dims d = {0};
    if (!array(c, 0) || !array(c, 1) || !dims_ok(c, HLO_ATTR_lhs_batch_dims, l->rank) ||
        !dims_ok(c, HLO_ATTR_rhs_batch_dims, r->rank) ||
        !dims_ok(c, HLO_ATTR_lhs_contracting_dims, l->rank) ||
        !dims_ok(c, HLO_ATTR_rhs_contracting_dims, r->rank))
        return NULL;
    if (lb.count != rb.count || lc.count != rc.count)
        return no(c, "%d and %d batch dimensions, %d and %d contracting ones, expected pairs",
                  lb.count, rb.count, lc.count, rc.count);
    for (int k = 0; k < lb.count + lc.count; k++) {
        int64_t a = k < lb.count ? lb.v[k] : lc.v[k - lb.count];
        int64_t b = k < lb.count ? rb.v[k] : rc.v[k - lb.count];
        if (differ(l->dims[a], r->dims[b]) && !l->dynamic && !r->dynamic)
            return no(c, "lhs dimension %lld has size %lld, rhs dimension %lld has %lld",
                      (long long)a, (long long)l->dims[a], (long long)b, (long long)r->dims[b]);
    }
    for (int k = 0; k < lb.count; k++)
        put(&d, l->dims[lb.v[k]]);
    put_free(&d, l, lb, lc, no_dims);
    put_free(&d, r, rb, rc, no_dims);
    return made(c, l->type, &d);
}

/* As dot, but the right operand's group dimension picks a group: it is not in the result. A ragged
 * contracting dimension gives one result per group instead. */
static const struct hlo_shape *infer_ragged_dot(const struct inference *c)
{
    const struct hlo_shape *plain = infer_dot(c), *l = shape_of(c, 0), *r = shape_of(c, 1);
    struct hlo_ints group = hlo_attr_ints(c->i, HLO_ATTR_rhs_group_dims);
    struct hlo_ints ragged = hlo_attr_ints(c->i, HLO_ATTR_lhs_ragged_dims);
    struct hlo_ints lb = hlo_attr_ints(c->i, HLO_ATTR_lhs_batch_dims);
    struct hlo_ints rb = hlo_attr_ints(c->i, HLO_ATTR_rhs_batch_dims);
    struct hlo_ints lc = hlo_attr_ints(c->i, HLO_ATTR_lhs_contracting_dims);
    struct hlo_ints rc = hlo_attr_ints(c->i, HLO_ATTR_rhs_contracting_dims);
    const struct hlo_shape *groups = shape_of(c, 2);
    struct dims d = {0};
    if (!plain || !dims_ok(c, HLO_ATTR_rhs_group_dims, r->rank) ||
        !dims_ok(c, HLO_ATTR_lhs_ragged_dims, l->rank))
        return NULL;
    if (ragged.count != 1 || !groups->rank)
        return no(c, "%d ragged dimensions and group sizes of shape %s, expected one", ragged.count,
                  hlo_shape_text(c->arena, groups));
    if (in(lc, ragged.v[0]))
        put(&d, groups->dims[groups->rank - 1]);
    for (int k = 0; k < lb.count; k++)
        put(&d, l->dims[lb.v[k]]);
    put_free(&d, l, lb, lc, no_dims);
    put_free(&d, r, rb, rc, group);
    return made(c, l->type, &d);
}

static const struct hlo_shape *reduced(const struct inference *c, int k)
{
    struct hlo_ints gone = hlo_attr_ints(c->i, HLO_ATTR_dimensions);
    const struct hlo_shape *s = shape_of(c, k);
    struct dims d = {0};
    if (!array(c, k) || !dims_ok(c, HLO_ATTR_dimensions, s->rank))
        return NULL;
    for (int j = 0; j < s->rank; j++)
        if (!in(gone, j))
            put(&d, s->dims[j]);
    return made(c, shape_of(c, c->i->operand_count / 2 + k)->type, &d);
}

/* Places of a window along a dimension; -1 and a message when that makes no sense. */
static int64_t places(const struct inference *c, int64_t size, const struct hlo_window_dim *w)
{
    if (w->size < HLO_UNBOUNDED || w->stride < 1 || w->lhs_dilate < 1 || w->rhs_dilate < 1)
        return fail(c->d, "window with size %lld, stride %lld, dilation %lld and %lld",
                    (long long)w->size, (long long)w->stride, (long long)w->lhs_dilate,
                    (long long)w->rhs_dilate) -
               1;
    __int128 span = size ? (__int128)(size - 1) * w->lhs_dilate + 1 : 0;
    __int128 window = w->size ? (__int128)(w->size - 1) * w->rhs_dilate + 1 : 0;
    span += (__int128)w->pad_low + w->pad_high;
    if (span < window || span <= 0)
        return 0;
    span = (span - window) / w->stride + 1;
    return span > INT64_MAX ? fail(c->d, "the window's result is too large") - 1 : (int64_t)span;
}

static const struct hlo_shape *windowed(const struct inference *c, int k)
{
    const struct hlo_attr *a = hlo_attr(c->i, HLO_ATTR_window);
    const struct hlo_shape *s = shape_of(c, k);
    struct hlo_shape *r = like(c, s, shape_of(c, c->i->operand_count / 2 + k)->type);
    if (!array(c, k))
        return NULL;
    if ((a ? a->window->rank : 0) != s->rank)
        return no(c, "window has %d dimensions, operand %d has %d", a ? a->window->rank : 0, k,
                  s->rank);
    for (int j = 0; j < s->rank; j++)
        if (s->dims[j] >= 0 && (r->dims[j] = places(c, s->dims[j], &a->window->dims[j])) < 0)
            return NULL;
    return r;
}

static bool labels_ok(const struct inference *c, const struct hlo_labels *l, int rank,
                      const char *what)
{
    if (l->rank != rank)
        return fail(c->d, "dim_labels name %d dimensions of the %s, which has %d", l->rank, what,
                    rank);
    return true;
}

static const struct hlo_shape *infer_convolution(const struct inference *c)
{
    const struct hlo_shape *x = shape_of(c, 0), *k = shape_of(c, 1);
    const struct hlo_dim_labels *l = hlo_attr(c->i, HLO_ATTR_dim_labels)->dim_labels;
    const struct hlo_attr *a = hlo_attr(c->i, HLO_ATTR_window);
    int64_t groups = hlo_attr_int(c->i, HLO_ATTR_batch_group_count);
    int64_t feature_groups = hlo_attr_int(c->i, HLO_ATTR_feature_group_count);
    int spatial = l->input.spatial_count;
    if (!array(c, 0) || !array(c, 1) || !labels_ok(c, &l->input, x->rank, "input") ||
        !labels_ok(c, &l->kernel, k->rank, "kernel"))
        return NULL;
    if ((a ? a->window->rank : 0) != spatial)
        return no(c, "window has %d dimensions, dim_labels have %d spatial ones",
                  a ? a->window->rank : 0, spatial);
    if (groups < 1 || feature_groups < 1)
        return no(c, "%lld batch groups and %lld feature groups, expected at least 1",
                  (long long)groups, (long long)feature_groups);
    struct dims d = {.rank = l->output.rank};
    for (int j = 0; j < d.rank; j++)
        d.v[j] = 1;
    if (l->output.first >= 0 && l->input.first >= 0)
        d.v[l->output.first] =
            x->dims[l->input.first] < 0 ? HLO_UNBOUNDED : x->dims[l->input.first] / groups;
    if (l->output.second >= 0 && l->kernel.second >= 0)
        d.v[l->output.second] = k->dims[l->kernel.second];
    for (int j = 0; j < spatial; j++) {
        int64_t size = x->dims[l->input.spatial[j]], tap = k->dims[l->kernel.spatial[j]];
        if (differ(tap, a->window->dims[j].size))
            return no(c, "window size %lld, but the kernel's spatial dimension %d has %lld",
                      (long long)a->window->dims[j].size, j, (long long)tap);
        bool unknown = size < 0 || a->window->dims[j].size < 0;
        int64_t n = unknown ? HLO_UNBOUNDED : places(c, size, &a->window->dims[j]);
        if (!unknown && n < 0)
            return NULL;
        d.v[l->output.spatial[j]] = n;
    }
    if (l->input.second >= 0 && l->kernel.first >= 0 && x->dims[l->input.second] >= 0 &&
        differ(k->dims[l->kernel.first], x->dims[l->input.second] / feature_groups) && !x->dynamic)
        return no(c, "%lld input features in %lld groups, but the kernel takes %lld",
                  (long long)x->dims[l->input.second], (long long)feature_groups,
                  (long long)k->dims[l->kernel.first]);
    return made(c, x->type, &d);
}

/* Which attributes say how windows lie in an array, and where they are found. */
struct window_attrs {
    enum hlo_attr_id offset, collapsed, map, batching, indices_batching;
};

/*
 * Windows of an array of `rank` dimensions, picked by index vectors of the array `at`: `outer` is
 * the rank of the gathered result or of the updates.
 */
static bool windows_ok(const struct inference *c, const struct window_attrs *a, int rank,
                       const struct hlo_shape *at, int outer)
{
    struct hlo_ints collapsed = hlo_attr_ints(c->i, a->collapsed),
                    batching = hlo_attr_ints(c->i, a->batching),
                    beside = hlo_attr_ints(c->i, a->indices_batching);
    int64_t vector = hlo_attr_int(c->i, HLO_ATTR_index_vector_dim);
    int components = hlo_attr_ints(c->i, a->map).count, offset = hlo_attr_ints(c->i, a->offset).count;
    if (!dims_ok(c, a->collapsed, rank) || !dims_ok(c, a->batching, rank) ||
        !dims_ok(c, a->map, rank) || !dims_ok(c, a->indices_batching, at->rank))
        return false;
    if (batching.count != beside.count)
        return fail(c->d, "%s has %d entries, %s has %d", hlo_attr_info(a->batching)->name,
                    batching.count, hlo_attr_info(a->indices_batching)->name, beside.count);
    for (int k = 0; k < batching.count; k++)
        if (in(collapsed, batching.v[k]) || in(hlo_attr_ints(c->i, a->map), batching.v[k]))
            return fail(c->d, "%s has %lld, which is a dimension of batching",
                        in(collapsed, batching.v[k]) ? hlo_attr_info(a->collapsed)->name
                                                     : hlo_attr_info(a->map)->name,
                        (long long)batching.v[k]);
    if (vector < 0 || vector > at->rank)
        return fail(c->d, "index_vector_dim is %lld, the indices have %d dimensions",
                    (long long)vector, at->rank);
    if (vector < at->rank ? differ(at->dims[vector], components) : components != 1)
        return fail(c->d, "%s has %d entries, the indices have %lld components",
                    hlo_attr_info(a->map)->name, components,
                    vector < at->rank ? (long long)at->dims[vector] : 1LL);
    if (offset != rank - collapsed.count - batching.count)
        return fail(c->d, "%s has %d entries, windows keep %d dimensions",
                    hlo_attr_info(a->offset)->name, offset, rank - collapsed.count - batching.count);
    return dims_ok(c, a->offset, outer);
}

static const struct hlo_shape *infer_gather(const struct inference *c)
{
    static const struct window_attrs attrs = {HLO_ATTR_offset_dims, HLO_ATTR_collapsed_slice_dims,
                                              HLO_ATTR_start_index_map, HLO_ATTR_operand_batching_dims,
                                              HLO_ATTR_start_indices_batching_dims};
    const struct hlo_shape *x = shape_of(c, 0), *at = shape_of(c, 1);
    struct hlo_ints offset = hlo_attr_ints(c->i, attrs.offset),
                    collapsed = hlo_attr_ints(c->i, attrs.collapsed),
                    batching = hlo_attr_ints(c->i, attrs.batching),
                    sizes = hlo_attr_ints(c->i, HLO_ATTR_slice_sizes);
    int64_t vector = hlo_attr_int(c->i, HLO_ATTR_index_vector_dim);
    if (!array(c, 0) || !array(c, 1) || !hlo_whole(at, "indices", c->d))
        return NULL;
    struct dims batch = {0}, window = {0}, d = {0};
    for (int k = 0; k < at->rank; k++)
        if (k != vector)
            put(&batch, at->dims[k]);
    if (!windows_ok(c, &attrs, x->rank, at, batch.rank + offset.count))
        return NULL;
    if (sizes.count != x->rank)
        return no(c, "slice_sizes has %d entries, the operand has %d dimensions", sizes.count,
                  x->rank);
    for (int k = 0; k < x->rank; k++) {
        if (sizes.v[k] < 0 || (sizes.v[k] > x->dims[k] && x->dims[k] >= 0))
            return no(c, "slice size %lld of dimension %d, which has size %lld",
                      (long long)sizes.v[k], k, (long long)x->dims[k]);
        if (!in(collapsed, k) && !in(batching, k))
            put(&window, sizes.v[k]);
    }
    int b = 0, w = 0;
    for (int k = 0; k < batch.rank + window.rank; k++)
        put(&d, in(offset, k) ? window.v[w++] : batch.v[b++]);
    return made(c, x->type, &d);
}

static const struct hlo_shape *infer_pad(const struct inference *c)
{
    const struct hlo_shape *x = shape_of(c, 0);
    const struct hlo_paddings *p = hlo_attr(c->i, HLO_ATTR_padding)->paddings;
    if (!array(c, 0))
        return NULL;
    if (shape_of(c, 1)->rank)
        return no(c, "the padding value has shape %s, expected a scalar",
                  hlo_shape_text(c->arena, shape_of(c, 1)));
    if (!x->rank)
        return same(c, 0);
    if (p->count != x->rank)
        return no(c, "padding has %d dimensions, the operand has %d", p->count, x->rank);
    struct hlo_shape *r = like(c, x, x->type);
    for (int k = 0; k < x->rank; k++) {
        const struct hlo_padding *e = &p->v[k];
        if (x->dims[k] < 0)
            continue;
        __int128 n = (__int128)x->dims[k] + e->low + e->high;
        n += x->dims[k] > 1 ? (__int128)(x->dims[k] - 1) * e->interior : 0;
        if (e->interior < 0 || n < 0 || n > INT64_MAX)
            return no(c, "padding %lld_%lld_%lld of a dimension of size %lld", (long long)e->low,
                      (long long)e->high, (long long)e->interior, (long long)x->dims[k]);
        r->dims[k] = (int64_t)n;
    }
    return r;
}

static const struct hlo_shape *infer_fft(const struct inference *c)
{
    struct hlo_ints n = hlo_attr_ints(c->i, HLO_ATTR_fft_length);
    const struct hlo_shape *x = shape_of(c, 0);
    int64_t kind = hlo_attr_int(c->i, HLO_ATTR_fft_type);
    if (!array(c, 0))
        return NULL;
    if (n.count < 1 || n.count > 3 || n.count > x->rank)
        return no(c, "fft_length has %d entries, expected 1 to 3 and at most the rank, %d", n.count,
                  x->rank);
    enum dtype dt = hlo_type_dtype(x->type);
    bool wide = dt == DT_F64 || dt == DT_C128;
    struct hlo_shape *r = like(c, x, x->type);
    int last = x->rank - 1;
    if (kind == HLO_FFT_RFFT) {
        r->type = wide ? HLO_C128 : HLO_C64;
        r->dims[last] = n.v[n.count - 1] / 2 + (x->dims[last] ? 1 : 0);
    } else if (kind == HLO_FFT_IRFFT) {
        r->type = wide ? HLO_F64 : HLO_F32;
        r->dims[last] = n.v[n.count - 1];
    }
    for (int k = 0; k < n.count; k++)
        if (n.v[k] < 0)
            return no(c, "fft_length %lld", (long long)n.v[k]);
    return r;
}

static const struct hlo_shape *infer_broadcast(const struct inference *c)
{
    const struct hlo_shape *x = shape_of(c, 0);
    struct hlo_ints at = hlo_attr_ints(c->i, HLO_ATTR_dimensions);
    const struct hlo_shape *r = c->i->shape ? c->i->shape : x;
    if (!array(c, 0))
        return NULL;
    if (at.count != x->rank)
        return no(c, "dimensions has %d entries, the operand has %d dimensions", at.count, x->rank);
    if (!dims_ok(c, HLO_ATTR_dimensions, r->rank))
        return NULL;
    for (int k = 0; k < x->rank; k++)
        if (differ(r->dims[at.v[k]], x->dims[k]) && !r->dynamic && !x->dynamic)
            return no(c, "operand dimension %d has size %lld, result dimension %lld has %lld", k,
                      (long long)x->dims[k], (long long)at.v[k], (long long)r->dims[at.v[k]]);
    return r;
}

static const struct hlo_shape *infer_transpose(const struct inference *c)
{
    const struct hlo_shape *x = shape_of(c, 0);
    struct hlo_ints perm = hlo_attr_ints(c->i, HLO_ATTR_dimensions);
    if (!array(c, 0) || !dims_ok(c, HLO_ATTR_dimensions, x->rank))
        return NULL;
    if (perm.count != x->rank)
        return no(c, "dimensions has %d entries, the operand has %d dimensions", perm.count,
                  x->rank);
    struct hlo_shape *r = like(c, x, x->type);
    for (int k = 0; k < x->rank; k++) {
        r->dims[k] = x->dims[perm.v[k]];
        if (x->dynamic)
            r->dynamic[k] = x->dynamic[perm.v[k]];
    }
    return r;
}

static const struct hlo_shape *infer_scan(const struct inference *c)
{
    int64_t carries = hlo_attr_int(c->i, HLO_ATTR_num_carries),
            inputs = c->i->operand_count - carries;
    const struct hlo_computation *body = hlo_attr_computation(c->i, HLO_ATTR_to_apply);
    const struct hlo_shape *out = body->root->shape;
    int64_t dim = one_dim(c, HLO_ATTR_dimensions), length = -1;
    if (carries < 0 || inputs < 0)
        return no(c, "%lld carries among %d operands", (long long)carries, c->i->operand_count);
    for (int k = 0; k < inputs; k++) {
        const struct hlo_shape *s = shape_of(c, k);
        if (!array(c, k) || dim < 0 || dim >= s->rank)
            return no(c, "scan dimension %lld, operand %d has %d dimensions", (long long)dim, k,
                      s->rank);
        length = s->dims[dim];
    }
    int count = out->type == HLO_TUPLE ? out->count : 1;
    const struct hlo_shape **v = ARENA_ARRAY(c->arena, const struct hlo_shape *, count);
    for (int k = 0; k < count; k++) {
        const struct hlo_shape *s = out->type == HLO_TUPLE ? out->elements[k] : out;
        v[k] = s;
        if (k >= count - carries)
            continue;
        struct dims d = {0};
        if (length < 0 || dim < 0 || dim > s->rank)
            return no(c, "scan dimension %lld, output %d has %d dimensions", (long long)dim, k,
                      s->rank);
        for (int j = 0; j < s->rank; j++) {
            if (j == dim)
                put(&d, length);
            put(&d, s->dims[j]);
        }
        if (dim == s->rank)
            put(&d, length);
        if (!(v[k] = made(c, s->type, &d)))
            return NULL;
    }
    return out->type == HLO_TUPLE ? hlo_shape_tuple(c->arena, count, v) : v[0];
}

static const struct hlo_shape *infer_batch_norm(const struct inference *c)
{
    const struct hlo_shape *v[3] = {same(c, 0), same(c, 1), same(c, 1)};
    int64_t feature = hlo_attr_int(c->i, HLO_ATTR_feature_index);
    if (!array(c, 0) || !array(c, 1))
        return NULL;
    if (feature < 0 || feature >= v[0]->rank)
        return no(c, "feature_index is %lld, the operand has %d dimensions", (long long)feature,
                  v[0]->rank);
    return c->i->opcode == HLO_OP_BATCH_NORM_INFERENCE ? v[0] : hlo_shape_tuple(c->arena, 3, v);
}

static const struct hlo_shape *infer_topk(const struct inference *c)
{
    const struct hlo_shape *x = shape_of(c, 0);
    int64_t k = hlo_attr_int(c->i, HLO_ATTR_k);
    if (!array(c, 0))
        return NULL;
    if (!x->rank || k < 0 || (k > x->dims[x->rank - 1] && x->dims[x->rank - 1] >= 0))
        return no(c, "k is %lld for an operand of shape %s", (long long)k,
                  hlo_shape_text(c->arena, x));
    const struct hlo_shape *stated = c->i->shape;
    if (stated && stated->count == 2 && stated->elements[1]->type != HLO_S32)
        return no(c, "the indices are of type %s, expected s32", hlo_type_name(stated->elements[1]->type));
    struct hlo_shape *values = like(c, x, x->type), *indices = like(c, x, HLO_S32);
    values->dims[x->rank - 1] = indices->dims[x->rank - 1] = k;
    const struct hlo_shape *v[2] = {values, indices};
    return hlo_shape_tuple(c->arena, 2, v);
}

static enum hlo_type real_part(enum hlo_type t)
{
    return t == HLO_C64 ? HLO_F32 : t == HLO_C128 ? HLO_F64 : t;
}

/* The operand in the middle is never broadcast. */
static const struct hlo_shape *infer_ternary(const struct inference *c)
{
    enum { LARGE = 1 };
    bool clamp = c->i->opcode == HLO_OP_CLAMP;
    for (int k = 0; k < 3; k++)
        if (((clamp || !k) && !array(c, k)) ||
            (k != LARGE && shape_of(c, k)->rank && !agree(c, k, LARGE)))
            return NULL;
    return same(c, LARGE);
}

/* ---- elementwise ---- */

static const struct hlo_shape *infer_binary(const struct inference *c)
{
    return array(c, 0) && agree(c, 0, 1) ? same(c, 0) : NULL;
}

static const struct hlo_shape *infer_complex(const struct inference *c)
{
    const struct hlo_shape *s = shape_of(c, 0);
    return agree(c, 0, 1) ? like(c, s, s->type == HLO_F64 ? HLO_C128 : HLO_C64) : NULL;
}

static const struct hlo_shape *infer_compare(const struct inference *c)
{
    return array(c, 0) && agree(c, 0, 1) ? like(c, shape_of(c, 0), HLO_PRED) : NULL;
}

static const struct hlo_shape *infer_predicate(const struct inference *c)
{
    return like(c, shape_of(c, 0), HLO_PRED);
}

static const struct hlo_shape *infer_real_part(const struct inference *c)
{
    return like(c, shape_of(c, 0), real_part(shape_of(c, 0)->type));
}

static const struct hlo_shape *infer_map(const struct inference *c)
{
    return like(c, shape_of(c, 0),
                hlo_attr_computation(c->i, HLO_ATTR_to_apply)->root->shape->type);
}

/* ---- as an operand ---- */

/* Elementwise of one operand, and what passes its first operand on. */
static const struct hlo_shape *infer_first(const struct inference *c)
{
    return c->i->operand_count ? same(c, 0) : no(c, "the result's shape must be written");
}

static const struct hlo_shape *infer_second(const struct inference *c)
{
    return same(c, 1);
}

/* Along dimensions of the first operand, whose shape stays. */
static const struct hlo_shape *infer_along(const struct inference *c)
{
    return dims_ok(c, HLO_ATTR_dimensions, shape_of(c, 0)->rank) ? same(c, 0) : NULL;
}

static const struct hlo_shape *infer_sort(const struct inference *c)
{
    return dims_ok(c, HLO_ATTR_dimensions, shape_of(c, 0)->rank)
               ? each(c, c->i->operand_count, same)
               : NULL;
}

static const struct hlo_shape *infer_scatter(const struct inference *c)
{
    static const struct window_attrs attrs = {
        HLO_ATTR_update_window_dims, HLO_ATTR_inserted_window_dims,
        HLO_ATTR_scatter_dims_to_operand_dims, HLO_ATTR_input_batching_dims,
        HLO_ATTR_scatter_indices_batching_dims};
    int n = c->i->operand_count / 2;
    for (int k = 0; k < c->i->operand_count; k++)
        if (!array(c, k))
            return NULL;
    if (!hlo_whole(shape_of(c, n), "indices", c->d))
        return NULL;
    for (int k = 0; k < n; k++) {
        int rank = shape_of(c, k)->rank, outer = shape_of(c, n + 1 + k)->rank;
        if (!windows_ok(c, &attrs, rank, shape_of(c, n), outer))
            return NULL;
        int64_t vector = hlo_attr_int(c->i, HLO_ATTR_index_vector_dim);
        int batch = shape_of(c, n)->rank - (vector < shape_of(c, n)->rank),
            window = hlo_attr_ints(c->i, attrs.offset).count;
        if (outer != batch + window)
            return no(c, "updates have %d dimensions, expected %d of the indices and %d of windows",
                      outer, batch, window);
    }
    return each(c, c->i->operand_count / 2, same);
}

static const struct hlo_shape *infer_reduce(const struct inference *c)
{
    return each(c, c->i->operand_count / 2, reduced);
}

static const struct hlo_shape *infer_reduce_window(const struct inference *c)
{
    return each(c, c->i->operand_count / 2, windowed);
}

/* ---- tuples, calls, numbers ---- */

static const struct hlo_shape *infer_tuple(const struct inference *c)
{
    const struct hlo_instruction *i = c->i;
    return i->operand_count == 1 ? hlo_shape_tuple(c->arena, 1, &i->operands[0]->shape)
           : i->operand_count    ? each(c, i->operand_count, shape_of)
                                 : hlo_shape_tuple(c->arena, 0, NULL);
}

static const struct hlo_shape *infer_element(const struct inference *c)
{
    const struct hlo_shape *s = shape_of(c, 0);
    int64_t k = hlo_attr_int(c->i, HLO_ATTR_index);
    if (s->type != HLO_TUPLE || k < 0 || k >= s->count)
        return no(c, "no element %lld in %s", (long long)k, hlo_shape_text(c->arena, s));
    return s->elements[k];
}

static const struct hlo_shape *infer_token(const struct inference *c)
{
    return hlo_shape_new(c->arena, HLO_TOKEN, 0, NULL);
}

static const struct hlo_shape *infer_call(const struct inference *c)
{
    return hlo_attr_computation(c->i, HLO_ATTR_to_apply)->root->shape;
}

static const struct hlo_shape *infer_conditional(const struct inference *c)
{
    const struct hlo_attr *b = hlo_attr(c->i, HLO_ATTR_branch_computations);
    return b ? b->computations->v[0]->root->shape
             : hlo_attr_computation(c->i, HLO_ATTR_true_computation)->root->shape;
}

static const struct hlo_shape *infer_device_id(const struct inference *c)
{
    return hlo_shape_new(c->arena, HLO_U32, 0, NULL);
}

static const struct hlo_shape *infer_dimension_size(const struct inference *c)
{
    return dims_ok(c, HLO_ATTR_dimensions, shape_of(c, 0)->rank)
               ? hlo_shape_new(c->arena, HLO_S32, 0, NULL)
               : NULL;
}

/* ---- the rules by opcode ---- */

#define INFERRED(rule) infer_##rule
#define STATED         NULL
#define CHECKED(rule)  NULL
#define VERIFIED(rule) NULL
static const struct hlo_shape *(*const rules[HLO_OP_COUNT])(const struct inference *c) = {
#define HLO_OP(id, spelling, operands, shape, required, optional) [HLO_OP_##id] = shape,
#include "frontend/hlo/syntax/hlo_opcodes.def"
#undef HLO_OP
};

const struct hlo_shape *hlo_infer(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct inference c = {a, d, i};
    return rules[i->opcode] ? rules[i->opcode](&c) : infer_first(&c);
}
