/* Sorting several arrays alike, and the k largest or smallest. */
#include "runtime/ops/common/combine.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/order.h"
#include "runtime/ops/common/require.h"

#include <string.h>

enum { MAX_ARRAYS = 32 };

/* Integers whose order is the element's: floats in total order, unsigned ones shifted into the
 * signed range. */
static int64_t order_key(const struct tensor *t, int64_t i)
{
    if (dtype_is_float(t->dtype)) {
        const struct float_format *f = float_format(t->dtype);
        uint64_t code = 0, sign = UINT64_C(1) << (f->exp_bits + f->man_bits);
        memcpy(&code, element(t, i), dtype_bytes(t->dtype));
        if (f->sign && code & sign)
            return -(int64_t)(code & (sign - 1)) - 1;
        return (int64_t)code;
    }
    int64_t v = tensor_i64(t, i);
    return t->dtype == DT_U64 ? (int64_t)((uint64_t)v ^ UINT64_C(1) << 63) : v;
}

struct keys {
    const int64_t *v;
    bool descending;
};

static int compare_keys(const void *user, int64_t a, int64_t b)
{
    const struct keys *k = user;
    int64_t x = k->v[a], y = k->v[b];
    return k->descending ? (y > x) - (y < x) : (x > y) - (x < y);
}

/* ---- sort ---- */

bool infer_sort(struct infer *f)
{
    int dtypes[2 * MAX_ARRAYS], truth = DT_BOOL, axis;
    if (f->nin != f->nout || f->nin > MAX_ARRAYS)
        return fail(f->d, "%d operands and %d results, expected as many and at most %d", f->nin,
                    f->nout, MAX_ARRAYS);
    if (f->in[0].rank >= 0 && !infer_axis(f, attr_int(f->attrs, "axis", -1), f->in[0].rank, &axis))
        return false;
    for (int i = 0; i < f->nin; i++) {
        if (f->in[i].rank != f->in[0].rank)
            return fail(f->d, "operand %d has another rank than the first", i);
        dtypes[2 * i] = dtypes[2 * i + 1] = f->in[i].dtype;
        infer_same(f, i, i);
    }
    int64_t key = attr_int(f->attrs, "key", -1);
    if (key >= 0)
        return key < f->nin || fail(f->d, "key is operand %lld of %d", (long long)key, f->nin);
    return combine_infer(f, "combine", 0, dtypes, 2 * f->nin, &truth, 1);
}

struct sorting {
    struct op_call *c;
    struct work *w;
    struct around a;
    int64_t rows;   /* outer * inner */
    int64_t *order; /* (rows, n): places along the axis */
};

static int64_t place_of(const struct sorting *s, int64_t row, int64_t at)
{
    return (row / s->a.inner * s->a.n + at) * s->a.inner + row % s->a.inner;
}

static bool order_by_key(struct sorting *s, int key, bool descending)
{
    int64_t n = s->a.n, *v = WORK(s->w, int64_t, n), *scratch = WORK(s->w, int64_t, n);
    struct keys k = {v, descending};
    if (!v || !scratch)
        return false;
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t i = 0; i < n; i++) {
            v[i] = order_key(s->c->in[key], place_of(s, row, i));
            s->order[row * n + i] = i;
        }
        sort_indices(s->order + row * n, n, scratch, compare_keys, &k);
    }
    return true;
}

/* Two neighbouring runs of one row on their way into one. */
struct merge {
    int64_t row, left, left_end, right, right_end, to;
};

/* For all merges at once: takes one element each until all are done. The right one goes first only
 * when it compares below the left one, so that equal elements keep their order. */
static bool merge_all(struct sorting *s, struct combine *m, struct merge *list, int64_t count,
                      int64_t *to, struct vector *args, uint8_t *truth)
{
    struct vector result = {DT_BOOL, truth};
    int nin = s->c->nin;
    while (count) {
        for (int i = 0; i < nin; i++) {
            const struct tensor *t = s->c->in[i];
            size_t bytes = dtype_bytes(t->dtype);
            for (int64_t j = 0; j < count; j++) {
                const int64_t *order = s->order + list[j].row * s->a.n;
                memcpy((char *)args[2 * i].data + (size_t)j * bytes,
                       element(t, place_of(s, list[j].row, order[list[j].right])), bytes);
                memcpy((char *)args[2 * i + 1].data + (size_t)j * bytes,
                       element(t, place_of(s, list[j].row, order[list[j].left])), bytes);
            }
        }
        if (!combine_run(m, count, args, 2 * nin, &result, 1))
            return false;
        int64_t left = 0;
        for (int64_t j = 0; j < count; j++) {
            struct merge g = list[j];
            const int64_t *order = s->order + g.row * s->a.n;
            int64_t *out = to + g.row * s->a.n;
            out[g.to++] = truth[j] ? order[g.right++] : order[g.left++];
            if (g.left < g.left_end && g.right < g.right_end) {
                list[left++] = g;
                continue;
            }
            while (g.left < g.left_end)
                out[g.to++] = order[g.left++];
            while (g.right < g.right_end)
                out[g.to++] = order[g.right++];
        }
        count = left;
    }
    return true;
}

/* Runs of doubling width are merged, those of all rows side by side. */
static bool order_by_region(struct sorting *s)
{
    int64_t n = s->a.n, all = s->rows * n;
    struct combine m;
    struct vector args[2 * MAX_ARRAYS];
    struct merge *list = WORK(s->w, struct merge, all / 2 + 1);
    int64_t *to = WORK(s->w, int64_t, all);
    uint8_t *truth = WORK(s->w, uint8_t, all / 2 + 1);
    if (!list || !to || !truth || !combine_init(&m, s->c, "combine", 0))
        return false;
    for (int i = 0; i < 2 * s->c->nin; i++) {
        int dtype = s->c->in[i / 2]->dtype;
        args[i] = (struct vector){dtype, work_take(s->w, all / 2 + 1, dtype_bytes(dtype))};
        if (!args[i].data)
            return false;
    }
    for (int64_t i = 0; i < all; i++)
        s->order[i] = i % n;
    for (int64_t width = 1; width < n; width *= 2) {
        int64_t count = 0;
        memcpy(to, s->order, sizeof *to * (size_t)all);
        for (int64_t row = 0; row < s->rows; row++)
            for (int64_t at = 0; at + width < n; at += 2 * width) {
                int64_t end = at + 2 * width < n ? at + 2 * width : n;
                list[count++] = (struct merge){row, at, at + width, at + width, end, at};
            }
        if (!merge_all(s, &m, list, count, to, args, truth))
            return false;
        memcpy(s->order, to, sizeof *to * (size_t)all);
    }
    return true;
}

static bool sort(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t axis = attr_int(c->attrs, "axis", -1), key = attr_int(c->attrs, "key", -1);
    axis += axis < 0 ? x->rank : 0;
    struct sorting s = {.c = c, .w = w, .a = {1, 1, 1}};
    if (x->rank)
        s.a = around_axis(x, (int)axis, (int)axis + 1);
    s.rows = s.a.outer * s.a.inner;
    s.order = WORK(w, int64_t, s.rows * s.a.n);
    if (!s.order)
        return false;
    for (int i = 1; i < c->nin; i++)
        if (c->in[i]->rank != x->rank ||
            memcmp(c->in[i]->dims, x->dims, sizeof *x->dims * (size_t)x->rank))
            return fail(w->d, "operand %d has another shape than the first", i);
    if (s.rows * s.a.n == 0)
        return true;
    if (!(key >= 0 ? order_by_key(&s, (int)key, attr_int(c->attrs, "descending", 0) != 0)
                   : order_by_region(&s)))
        return false;
    for (int i = 0; i < c->nin; i++) {
        size_t bytes = dtype_bytes(c->in[i]->dtype);
        for (int64_t row = 0; wants_result(c, i) && row < s.rows; row++)
            for (int64_t k = 0; k < s.a.n; k++)
                memcpy(element(c->out[i], place_of(&s, row, k)),
                       element(c->in[i], place_of(&s, row, s.order[row * s.a.n + k])), bytes);
    }
    return true;
}

bool eval_sort(struct op_call *c)
{
    return with_work(c, sort);
}

/* ---- top_k ---- */

bool infer_top_k(struct infer *f)
{
    const struct type *x = &f->in[0];
    int64_t k = attr_int(f->attrs, "k", 1);
    struct type out = *x;
    if (x->rank < 1)
        return fail(f->d, "x has rank %d, expected 1 or more", x->rank);
    if (k < 0)
        return fail(f->d, "k is %lld", (long long)k);
    if (!require_at_most(f, k, x->dims[x->rank - 1], named("k", -1, x->rank - 1)))
        return false;
    if (!dtype_is_float(x->dtype) && !dtype_is_int(x->dtype) && x->dtype != DT_BOOL)
        return fail(f->d, "element type %s has no order", dtype_name(x->dtype));
    out.dims[x->rank - 1] = k;
    f->out[0] = out;
    out.dtype = DT_I32;
    f->out[1] = out;
    return true;
}

static bool top_k(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t n = x->dims[x->rank - 1], rows = dims_product(x->dims, 0, x->rank - 1),
            k = c->out[0]->dims[x->rank - 1];
    int64_t *v = WORK(w, int64_t, n), *order = WORK(w, int64_t, n), *scratch = WORK(w, int64_t, n);
    struct keys keys = {v, attr_int(c->attrs, "largest", 1) != 0};
    if (!v || !order || !scratch)
        return false;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < n; i++) {
            v[i] = order_key(x, row * n + i);
            order[i] = i;
        }
        sort_indices(order, n, scratch, compare_keys, &keys);
        for (int64_t i = 0; i < k; i++) {
            memcpy(element(c->out[0], row * k + i), element(x, row * n + order[i]),
                   dtype_bytes(x->dtype));
            dtype_store_i64(DT_I32, c->out[1]->data, (size_t)(row * k + i), order[i]);
        }
    }
    return true;
}

bool eval_top_k(struct op_call *c)
{
    return with_work(c, top_k);
}
