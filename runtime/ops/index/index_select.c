/*
 * Choosing elements by their values: compress, nonzero, unique.
 */
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- compress ---- */

bool infer_compress(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type out = *x;
    int axis;
    if (f->in[1].dtype != DT_BOOL)
        return fail(f->d, "condition is %s, expected bool", dtype_name(f->in[1].dtype));
    if (!attr_find(f->attrs, "axis")) {
        dim_t n = infer_unknown(f, "compress");
        return infer_out(f, 0, x->dtype, 1, &n);
    }
    if (x->rank >= 0) {
        if (!infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis))
            return false;
        out.dims[axis] = infer_unknown(f, "compress");
    }
    f->out[0] = out;
    return true;
}

bool eval_compress(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    const uint8_t *test = c->in[1]->data;
    bool flat = !attr_find(c->attrs, "axis");
    int64_t given = attr_int(c->attrs, "axis", 0), flat_dims[1] = {tensor_count(x)}, dims[MAX_RANK];
    if (!flat && (given < -x->rank || given >= x->rank))
        return fail(c->env->d, "axis %lld is out of range for rank %d", (long long)given, x->rank);
    int axis = flat ? 0 : (int)(given < 0 ? given + x->rank : given), rank = flat ? 1 : x->rank;
    memcpy(dims, flat ? flat_dims : x->dims, sizeof *dims * (size_t)rank);
    int64_t n = dims[axis], count = tensor_count(c->in[1]), kept = 0;
    if (c->in[1]->dtype != DT_BOOL)
        return fail(c->env->d, "condition is %s, expected bool", dtype_name(c->in[1]->dtype));
    if (count > n) /* nothing is there to select, as in ONNX Runtime; the standard says only that it may be shorter */
        count = n;
    int64_t outer = dims_product(dims, 0, axis), inner = dims_product(dims, axis + 1, rank);
    size_t row = (size_t)inner * dtype_bytes(x->dtype);
    for (int64_t i = 0; i < count; i++)
        kept += test[i] != 0;
    dims[axis] = kept;
    struct tensor *z = call_out(c, 0, x->dtype, rank, dims);
    if (!z)
        return false;
    char *to = z->data;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < count; i++)
            if (test[i] && row) {
                memcpy(to, (const char *)x->data + (size_t)(o * n + i) * row, row);
                to += row;
            }
    return own_strings(c, 0);
}

/* ---- nonzero ---- */

bool infer_nonzero(struct infer *f)
{
    dim_t dims[2] = {f->in[0].rank, 0};
    if (f->in[0].rank < 0)
        dims[0] = infer_unknown(f, "rank");
    dims[1] = infer_unknown(f, "nonzero");
    return infer_out(f, 0, DT_I64, 2, dims);
}

/* Whether elements from `at` on are zero or not; how many of them. */
enum { TESTS = 1024 };
static int64_t test_nonzero(const struct tensor *x, int64_t at, uint8_t *test)
{
    int64_t n = tensor_count(x) - at < TESTS ? tensor_count(x) - at : TESTS;
    const char *p = (const char *)x->data + (size_t)at * dtype_bytes(x->dtype);
    if (dtype_is_complex(x->dtype)) {
        uint8_t parts[2 * TESTS];
        dtype_convert(DT_BOOL, parts, x->dtype == DT_C64 ? DT_F32 : DT_F64, p, (size_t)(2 * n),
                      false);
        for (int64_t i = 0; i < n; i++)
            test[i] = parts[2 * i] | parts[2 * i + 1];
    } else if (x->dtype == DT_STR) {
        for (int64_t i = 0; i < n; i++)
            test[i] = ((const struct str *)p)[i].n != 0;
    } else {
        dtype_convert(DT_BOOL, test, x->dtype, p, (size_t)n, false);
    }
    return n;
}

bool eval_nonzero(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t count = 0, n = tensor_count(x), at = 0, m, place[MAX_RANK] = {0};
    int last = x->rank - 1;
    uint8_t test[TESTS];
    for (int64_t i = 0; i < n; i += m) {
        m = test_nonzero(x, i, test);
        for (int64_t k = 0; k < m; k++)
            count += test[k] != 0;
    }
    struct tensor *z = call_out(c, 0, DT_I64, 2, (int64_t[]){x->rank, count});
    if (!z)
        return false;
    int64_t *p = z->data;
    for (int64_t i = 0; i < n && last >= 0; i += m) {
        m = test_nonzero(x, i, test);
        for (int64_t k = 0; k < m; k++) {
            for (int d = 0; test[k] && d <= last; d++)
                p[d * count + at] = place[d];
            at += test[k] != 0;
            if (++place[last] < x->dims[last])
                continue;
            for (int d = last; d > 0 && place[d] == x->dims[d]; d--) {
                place[d] = 0;
                place[d - 1]++;
            }
        }
    }
    return true;
}

/* ---- unique ---- */

bool infer_unique(struct infer *f)
{
    struct type out = f->in[0];
    int axis = 0;
    dim_t n = infer_unknown(f, "unique");
    if (!attr_find(f->attrs, "axis")) {
        out.rank = 1;
    } else if (out.rank >= 0 && !infer_axis(f, attr_int(f->attrs, "axis", 0), out.rank, &axis)) {
        return false;
    }
    if (out.rank >= 0)
        out.dims[axis] = n;
    f->out[0] = out;
    infer_out(f, 1, DT_I64, 1, &n);
    infer_out(f, 3, DT_I64, 1, &n);
    dim_t total;
    if (attr_find(f->attrs, "axis"))
        total = f->in[0].rank < 0 ? infer_unknown(f, "unique") : f->in[0].dims[axis];
    else
        total = f->in[0].rank < 0 ? infer_unknown(f, "unique") : type_count(f->dims, &f->in[0]);
    return infer_out(f, 2, DT_I64, 1, &total);
}

/* Slices of a tensor along an axis, ordered element by element. */
struct slices {
    const struct tensor *x;
    int64_t outer, n, inner;
};

static int compare_slices(const void *user, int64_t a, int64_t b)
{
    const struct slices *s = user;
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int order = compare_elements(s->x, (o * s->n + a) * s->inner + i,
                                         (o * s->n + b) * s->inner + i);
            if (order)
                return order;
        }
    return 0;
}

/* The same order for single numbers: digit by digit from the lowest on, those that all share left
 * out. False: no memory, or no such type. */
static bool sort_numbers_by_key(const struct slices *s, int64_t *order)
{
    enum { DIGITS = 8, VALUES = 256, MIN_COUNT = 64 };
    int class = dtype_class(s->x->dtype);
    if (s->outer != 1 || s->inner != 1 || s->n < MIN_COUNT || class == DTC_STRING ||
        class == DTC_COMPLEX)
        return false;
    struct ranked *v = malloc(2 * sizeof *v * (size_t)s->n), *to = v + s->n, *from = v;
    int64_t count[DIGITS][VALUES] = {{0}};
    for (int64_t i = 0; v && i < s->n; i++) {
        from[i] = (struct ranked){rank_key(s->x, i, false), i};
        for (int d = 0; d < DIGITS; d++)
            count[d][from[i].key >> 8 * d & (VALUES - 1)]++;
    }
    for (int d = 0; v && d < DIGITS; d++) {
        int64_t at = 0;
        if (count[d][from[0].key >> 8 * d & (VALUES - 1)] == s->n)
            continue;
        for (int k = 0; k < VALUES; k++) {
            int64_t here = count[d][k];
            count[d][k] = at;
            at += here;
        }
        for (int64_t i = 0; i < s->n; i++)
            to[count[d][from[i].key >> 8 * d & (VALUES - 1)]++] = from[i];
        struct ranked *other = from;
        from = to, to = other;
    }
    for (int64_t i = 0; v && i < s->n; i++)
        order[i] = from[i].index;
    free(v);
    return v != NULL;
}

struct groups {
    int64_t count;
    int64_t *first, *size; /* per group, in result order: first slice, number of slices */
    int64_t *of;           /* group of each slice */
};

/*
 * Equal slices are neighbours after a stable sort, the first of them being the first in the
 * operand. Without `sorted`, groups are numbered by their first slice.
 */
static void group_slices(const struct slices *s, bool sorted, int64_t *order, int64_t *scratch,
                         struct groups *g)
{
    g->count = 0;
    if (!sort_numbers_by_key(s, order)) {
        for (int64_t i = 0; i < s->n; i++)
            order[i] = i;
        sort_indices(order, s->n, scratch, compare_slices, s);
    }
    int64_t head = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (i == 0 || compare_slices(s, order[head], order[i]) != 0)
            head = i;
        g->of[order[i]] = order[head];
    }
    for (int64_t i = 0; i < s->n; i++) { /* groups in result order get their numbers */
        int64_t k = sorted ? order[i] : i;
        if (g->of[k] == k) {
            scratch[k] = g->count;
            g->first[g->count] = k;
            g->size[g->count++] = 0;
        }
    }
    for (int64_t i = 0; i < s->n; i++) {
        g->of[i] = scratch[g->of[i]];
        g->size[g->of[i]]++;
    }
}

static bool write_unique(struct op_call *c, const struct slices *s, const struct groups *g,
                         int rank, int64_t *dims, int axis)
{
    size_t row = (size_t)s->inner * dtype_bytes(s->x->dtype);
    const int64_t *lists[] = {NULL, g->first, g->of, g->size};
    dims[axis] = g->count;
    struct tensor *z = call_out(c, 0, s->x->dtype, rank, dims);
    if (!z)
        return false;
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < g->count && row; i++)
            memcpy((char *)z->data + (size_t)(o * g->count + i) * row,
                   (const char *)s->x->data + (size_t)(o * s->n + g->first[i]) * row, row);
    for (int i = 1; i < 4; i++) {
        int64_t n = i == 2 ? s->n : g->count;
        if (!wants_result(c, i))
            continue;
        struct tensor *list = call_out(c, i, DT_I64, 1, &n);
        if (!list)
            return false;
        if (n)
            memcpy(list->data, lists[i], sizeof **lists * (size_t)n);
    }
    return own_strings(c, 0);
}

bool eval_unique(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    bool flat = !attr_find(c->attrs, "axis"), sorted = attr_int(c->attrs, "sorted", 1);
    int64_t given = attr_int(c->attrs, "axis", 0), flat_dims[1] = {tensor_count(x)}, dims[MAX_RANK];
    if (!flat && (given < -x->rank || given >= x->rank))
        return fail(c->env->d, "axis %lld is out of range for rank %d", (long long)given, x->rank);
    int axis = flat ? 0 : (int)(given < 0 ? given + x->rank : given), rank = flat ? 1 : x->rank;
    memcpy(dims, flat ? flat_dims : x->dims, sizeof *dims * (size_t)rank);
    struct slices s = {x, dims_product(dims, 0, axis), dims[axis],
                       dims_product(dims, axis + 1, rank)};
    int64_t *memory = malloc(sizeof *memory * (size_t)(5 * s.n + 1));
    if (!memory)
        return fail_memory(c->env->d, "out of memory");
    struct groups g = {0, memory, memory + s.n, memory + 2 * s.n};
    group_slices(&s, sorted, memory + 3 * s.n, memory + 4 * s.n, &g);
    bool ok = write_unique(c, &s, &g, rank, dims, axis);
    free(memory);
    return ok;
}
