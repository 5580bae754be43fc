/* Sorting several arrays alike, and the k largest or smallest. */
#include "runtime/ops/common/combine.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/radix.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/typed.h"

#include <string.h>

enum { MAX_ARRAYS = 32 };

/* ---- sort ---- */

/* Attribute keys: operands, the most significant first; orders: of each, bits of enum key_order. */
static bool check_keys(struct infer *f)
{
    int n, m;
    const int64_t *key = attr_ints(f->attrs, "keys", &n);
    attr_ints(f->attrs, "orders", &m);
    if (n < 1 || n != m)
        return fail(f->d, "%d keys and %d orders, expected as many and at least one", n, m);
    for (int i = 0; i < n; i++)
        if (key[i] < 0 || key[i] >= f->nin || !has_key(f->in[key[i]].dtype))
            return fail(f->d, "key %d is operand %lld of %d, expected one of numbers", i,
                        (long long)key[i], f->nin);
    return true;
}

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
    if (attr_find(f->attrs, "keys"))
        return check_keys(f);
    return combine_infer(f, "combine", 0, dtypes, 2 * f->nin, &truth, 1);
}

struct sorting {
    struct op_call *c;
    struct work *w;
    struct around a;
    int64_t rows;   /* outer * inner */
    int64_t *order; /* (rows, n): places along the axis */
};

struct row_room { /* for one row */
    uint64_t *keys, *scratch;
    int64_t *before;
};

static int64_t place_of(const struct sorting *s, int64_t row, int64_t at)
{
    return (row / s->a.inner * s->a.n + at) * s->a.inner + row % s->a.inner;
}

static int64_t row_start(const struct sorting *s, int64_t row)
{
    return place_of(s, row, 0);
}

/* The row's order so far, by one more significant key. */
static void order_more(struct sorting *s, int64_t row, int key, int order, bool first,
                       struct row_room *r)
{
    const struct tensor *t = s->c->in[key];
    int64_t n = s->a.n, *to = s->order + row * n;
    bool narrow = dtype_info(t->dtype)->bits <= 32 && n <= UINT32_MAX;
    order_keys(t, row_start(s, row), s->a.inner, n, order, r->keys);
    for (int64_t i = 0; first && i < n; i++)
        to[i] = i;
    if (!narrow) {
        sort_by_keys(r->keys, to, n, r->before);
        return;
    }
    if (!first) {
        memcpy(r->before, to, sizeof *to * (size_t)n);
        memcpy(r->scratch, r->keys, sizeof *r->keys * (size_t)n);
        for (int64_t i = 0; i < n; i++)
            r->keys[i] = r->scratch[to[i]];
    }
    for (int64_t i = 0; i < n; i++)
        r->keys[i] = r->keys[i] << 32 | (uint64_t)i;
    sort_packed(r->keys, n, true, r->scratch);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = (int64_t)(r->keys[i] & UINT32_MAX);
        to[i] = first ? at : r->before[at];
    }
}

static bool order_by_keys(struct sorting *s)
{
    int count, orders;
    const int64_t *key = attr_ints(s->c->attrs, "keys", &count),
                  *order = attr_ints(s->c->attrs, "orders", &orders);
    int64_t n = s->a.n;
    struct row_room r = {WORK(s->w, uint64_t, n), WORK(s->w, uint64_t, n), WORK(s->w, int64_t, n)};
    if (!r.keys || !r.scratch || !r.before)
        return false;
    for (int64_t row = 0; row < s->rows; row++)
        for (int k = count - 1; k >= 0; k--)
            order_more(s, row, (int)key[k], (int)order[k], k == count - 1, &r);
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

#define PUT_ROW(bytes, T)                                                                          \
    case bytes:                                                                                    \
        for (int64_t k = 0; k < n; k++)                                                            \
            ((T *)to)[k * step] = ((const T *)from)[order[k] * step];                              \
        break;

static void put_in_order(const struct sorting *s, const struct tensor *x, struct tensor *y)
{
    size_t bytes = dtype_bytes(x->dtype);
    int64_t n = s->a.n, step = s->a.inner;
    for (int64_t row = 0; row < s->rows; row++) {
        const int64_t *order = s->order + row * n;
        const void *from = element(x, row_start(s, row));
        void *to = element(y, row_start(s, row));
        switch (bytes) {
            TYPED_SIZES(PUT_ROW)
        default:
            for (int64_t k = 0; k < n; k++)
                memcpy((char *)to + (size_t)(k * step) * bytes,
                       (const char *)from + (size_t)(order[k] * step) * bytes, bytes);
        }
    }
}

static bool sort(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t axis = attr_int(c->attrs, "axis", -1);
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
    if (!(attr_find(c->attrs, "keys") ? order_by_keys(&s) : order_by_region(&s)))
        return false;
    for (int i = 0; i < c->nin; i++)
        if (wants_result(c, i))
            put_in_order(&s, c->in[i], c->out[i]);
    return true;
}

EVAL_WITH_WORK(sort)

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

/* Of n packed keys with their indices. */
static uint64_t largest(const uint64_t *packed, int64_t n)
{
    uint64_t max = 0;
    for (int64_t i = 0; i < n; i++)
        max = packed[i] > max ? packed[i] : max;
    return max;
}

enum { SCREENED = 32 };
/* Whether one of SCREENED numbers may come no later than `last`: equal ones, and what is no number, may. */
static bool may_come(const float *x, float last, bool descending)
{
    unsigned any = 0;
    if (descending)
        for (int i = 0; i < SCREENED; i++)
            any |= !(x[i] < last);
    else
        for (int i = 0; i < SCREENED; i++)
            any |= !(x[i] > last);
    return any != 0;
}

/* Keys that can be among the k least of the n elements from `first` on, in front and with their
 * indices; how many. Keys are made a block at a time; of f32, once there is a bound, where a number
 * may be below it. */
static int64_t pack_min(const struct tensor *x, int64_t first, int64_t n, int64_t k, int order,
                          uint64_t *packed)
{
    enum { BLOCK = 512 };
    int64_t kept = 0, max = 2 * k + 256, size = BLOCK;
    uint64_t bound = UINT32_MAX, keys[BLOCK];
    const float *numbers = x->dtype == DT_F32 ? (const float *)x->data + first : NULL;
    float last = 0;
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < size ? n - at : size;
        if (size == SCREENED && m == SCREENED && !may_come(numbers + at, last, order & KEY_DESCENDING))
            continue;
        order_keys(x, first + at, 1, m, order, keys);
        for (int64_t i = 0; i < m; i++) {
            packed[kept] = keys[i] << 32 | (uint64_t)(at + i);
            kept += keys[i] <= bound;
            if (kept < max || k == 0)
                continue;
            select_min(packed, kept, k);
            kept = k;
            uint64_t latest = largest(packed, k);
            bound = latest >> 32;
            if (numbers) {
                last = numbers[latest & UINT32_MAX];
                size = SCREENED;
            }
        }
    }
    return kept;
}

static bool top_k(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t n = x->dims[x->rank - 1], rows = dims_product(x->dims, 0, x->rank - 1),
            k = c->out[0]->dims[x->rank - 1];
    bool narrow = dtype_info(x->dtype)->bits <= 32 && n <= UINT32_MAX;
    int direction = attr_int(c->attrs, "largest", 1) ? KEY_DESCENDING : 0;
    uint64_t *keys = WORK(w, uint64_t, n), *scratch = WORK(w, uint64_t, narrow ? k : 0);
    int64_t *order = WORK(w, int64_t, narrow ? 0 : n), *before = WORK(w, int64_t, narrow ? 0 : n);
    if (!keys || !order || !scratch || !before)
        return false;
    for (int64_t row = 0; row < rows; row++) {
        if (narrow) {
            int64_t kept = pack_min(x, row * n, n, k, direction, keys);
            select_min(keys, kept, k);
            sort_packed(keys, k, false, scratch);
        } else {
            order_keys(x, row * n, 1, n, direction, keys);
            for (int64_t i = 0; i < n; i++)
                order[i] = i;
            sort_by_keys(keys, order, n, before);
        }
        for (int64_t i = 0; i < k; i++) {
            int64_t from = narrow ? (int64_t)(keys[i] & UINT32_MAX) : order[i];
            memcpy(element(c->out[0], row * k + i), element(x, row * n + from),
                   dtype_bytes(x->dtype));
            dtype_store_i64(DT_I32, c->out[1]->data, (size_t)(row * k + i), from);
        }
    }
    return true;
}

EVAL_WITH_WORK(top_k)
