/*
 * Choosing elements by their values: compress, nonzero, unique, topk.
 */
#include "runtime/ops/axes.h"
#include "runtime/ops/content.h"
#include "runtime/ops/order.h"

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
    if (c->in[1]->dtype != DT_BOOL || count > n)
        return fail(c->env->d, "a condition of %lld elements for size %lld", (long long)count,
                    (long long)n);
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

static bool is_nonzero(const struct tensor *x, int64_t i)
{
    switch (dtype_class(x->dtype)) {
    case DTC_FLOAT:
        return tensor_f64(x, i) != 0;
    case DTC_STRING:
        return ((const struct str *)x->data)[i].n != 0;
    case DTC_COMPLEX: {
        int part = x->dtype == DT_C64 ? DT_F32 : DT_F64;
        return dtype_load_f64(part, x->data, (size_t)(2 * i)) != 0 ||
               dtype_load_f64(part, x->data, (size_t)(2 * i + 1)) != 0;
    }
    default:
        return tensor_i64(x, i) != 0;
    }
}

bool eval_nonzero(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t count = 0, n = tensor_count(x), at = 0;
    for (int64_t i = 0; i < n; i++)
        count += is_nonzero(x, i);
    struct tensor *z = call_out(c, 0, DT_I64, 2, (int64_t[]){x->rank, count});
    if (!z)
        return false;
    int64_t *p = z->data;
    for (int64_t i = 0; i < n; i++) {
        if (!is_nonzero(x, i))
            continue;
        int64_t rest = i;
        for (int d = x->rank - 1; d >= 0; d--) {
            p[d * count + at] = rest % x->dims[d];
            rest /= x->dims[d];
        }
        at++;
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
    for (int64_t i = 0; i < s->n; i++)
        order[i] = i;
    sort_indices(order, s->n, scratch, compare_slices, s);
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
        return fail(c->env->d, "out of memory");
    struct groups g = {0, memory, memory + s.n, memory + 2 * s.n};
    group_slices(&s, sorted, memory + 3 * s.n, memory + 4 * s.n, &g);
    bool ok = write_unique(c, &s, &g, rank, dims, axis);
    free(memory);
    return ok;
}

/* ---- topk ---- */

bool infer_topk(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct content k = infer_content(f, 1);
    struct type out = *x;
    int axis;
    if (x->rank < 0) {
        infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
        return infer_out(f, 1, DT_I64, RANK_UNKNOWN, NULL);
    }
    if (!infer_axis(f, attr_int(f->attrs, "axis", -1), x->rank, &axis))
        return false;
    if (k.n >= 0 && k.n != 1)
        return fail(f->d, "k has %lld elements, expected one", (long long)k.n);
    if (k.n == 1 && dim_is_const(k.v[0]) &&
        (k.v[0] < 0 || (dim_is_const(x->dims[axis]) && k.v[0] > x->dims[axis])))
        return fail(f->d, "k is %lld for size %lld", (long long)k.v[0],
                    dim_is_const(x->dims[axis]) ? (long long)x->dims[axis] : -1);
    out.dims[axis] = k.n == 1 ? k.v[0] : infer_unknown(f, "topk");
    infer_out(f, 0, x->dtype, x->rank, out.dims);
    return infer_out(f, 1, DT_I64, x->rank, out.dims);
}

/*
 * The k first elements of a line in order. Elements are ranked by a key, less is earlier; equal
 * keys keep their order. Keys of up to 32 bits and their indices are one number, of which few
 * firsts are inserted into a list and many are selected by their bits from the highest on; wider
 * ones go through a heap that holds the best so far, the last of them on top.
 */
struct ranked {
    uint64_t key;
    int64_t index;
};

static bool earlier(struct ranked a, struct ranked b)
{
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/* Unsigned integers in the order of the elements; NaN after all numbers. */
static uint64_t rank_key(const struct tensor *x, int64_t i, bool largest)
{
    uint64_t key;
    int class = dtype_class(x->dtype);
    if (class == DTC_FLOAT) {
        double v = tensor_f64(x, i) + 0.0; /* one zero */
        memcpy(&key, &v, sizeof key);
        key = v != v ? UINT64_MAX : key >> 63 ? ~key : key | UINT64_C(1) << 63;
    } else {
        key = (uint64_t)tensor_i64(x, i);
        if (class == DTC_SINT)
            key ^= UINT64_C(1) << 63;
    }
    return largest ? ~key : key;
}

/* The same of f32 in 32 bits. */
static inline uint32_t rank_f32(float v, uint32_t flip)
{
    uint32_t key;
    v += 0.0f;
    memcpy(&key, &v, sizeof key);
    uint32_t ordered = key ^ (key >> 31 ? UINT32_MAX : UINT32_C(1) << 31);
    return (v != v ? UINT32_MAX : ordered) ^ flip;
}

/* Key and index of each element of a line; of types of up to 32 bits. */
static void pack_line(const struct tensor *x, int64_t first, int64_t step, int64_t n, bool largest,
                      uint64_t *out)
{
    uint32_t flip = largest ? UINT32_MAX : 0;
    int class = dtype_class(x->dtype);
    if (x->dtype == DT_F32) {
        const float *from = (const float *)x->data + first;
        for (int64_t i = 0; i < n; i++)
            out[i] = (uint64_t)rank_f32(from[i * step], flip) << 32 | (uint64_t)i;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = first + i * step;
        uint32_t key = class == DTC_FLOAT
                           ? rank_f32((float)tensor_f64(x, at), flip)
                           : (uint32_t)((uint64_t)tensor_i64(x, at) ^
                                        (class == DTC_SINT ? UINT64_C(1) << 31 : 0)) ^
                                 flip;
        out[i] = (uint64_t)key << 32 | (uint64_t)i;
    }
}

/* The k least of v, sorted, in front: for few. */
static void insert_least(uint64_t *v, int64_t n, int64_t k)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        int64_t at = i < k ? i : k;
        if (x >= v[at - 1])
            continue;
        for (at -= i >= k; at && v[at - 1] > x; at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
}

/* The k least of v in front, in any order: digit by digit, from the highest on. */
static void select_least(uint64_t *v, int64_t n, int64_t k)
{
    enum { DIGIT = 8, VALUES = 1 << DIGIT };
    for (int shift = 64 - DIGIT; shift >= 0 && k > 0 && k < n; shift -= DIGIT) {
        int64_t count[VALUES] = {0}, below = 0;
        unsigned pivot = 0;
        for (int64_t i = 0; i < n; i++)
            count[v[i] >> shift & (VALUES - 1)]++;
        while (below + count[pivot] < k)
            below += count[pivot++];
        /* those below the digit of the k-th go to the front; then those of that digit */
        int64_t less = 0, same = 0;
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = v[i];
            unsigned digit = x >> shift & (VALUES - 1);
            if (digit > pivot)
                continue;
            v[i] = v[less + same];
            if (digit < pivot) {
                v[less + same] = v[less];
                v[less++] = x;
            } else {
                v[less + same++] = x;
            }
        }
        v += below, k -= below, n = same;
    }
}

static void sort_numbers(uint64_t *v, int64_t n, uint64_t *scratch)
{
    enum { SHORT = 16 };
    if (n <= SHORT) {
        insert_least(v, n, n);
        return;
    }
    int64_t half = n / 2;
    sort_numbers(v, half, scratch);
    sort_numbers(v + half, n - half, scratch);
    memcpy(scratch, v, sizeof *v * (size_t)half);
    for (int64_t i = 0, j = half, k = 0; i < half; k++)
        v[k] = j < n && v[j] < scratch[i] ? v[j++] : scratch[i++];
}

static void sift_down(struct ranked *heap, int64_t n, struct ranked x)
{
    int64_t at = 0;
    for (int64_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && earlier(heap[child], heap[child + 1]))
            child++;
        if (!earlier(x, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

static void sift_up(struct ranked *heap, int64_t at, struct ranked x)
{
    for (; at && earlier(heap[(at - 1) / 2], x); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = x;
}

static void rank_line(const struct tensor *x, int64_t first, int64_t step, int64_t n, int64_t k,
                      bool largest, struct ranked *heap)
{
    for (int64_t i = 0; i < n && k; i++) {
        struct ranked r = {rank_key(x, first + i * step, largest), i};
        if (i < k)
            sift_up(heap, i, r);
        else if (r.key < heap[0].key)
            sift_down(heap, k, r);
    }
    for (int64_t last = k - 1; last > 0; last--) {
        struct ranked x_last = heap[last];
        heap[last] = heap[0];
        sift_down(heap, last, x_last);
    }
}

/* Which elements of the line are the first k: in `index`, with `room` for n numbers and k more. */
static void first_of_line(const struct tensor *x, int64_t first, int64_t step, int64_t n, int64_t k,
                          bool largest, uint64_t *room, int64_t *index)
{
    enum { FEW = 12 };
    pack_line(x, first, step, n, largest, room);
    if (k <= FEW) {
        insert_least(room, n, k);
    } else {
        select_least(room, n, k);
        sort_numbers(room, k, room + n);
    }
    for (int64_t j = 0; j < k; j++)
        index[j] = (int64_t)(room[j] & UINT32_MAX);
}

static void first_of_wide_line(const struct tensor *x, int64_t first, int64_t step, int64_t n,
                               int64_t k, bool largest, struct ranked *heap, int64_t *index)
{
    rank_line(x, first, step, n, k, largest, heap);
    for (int64_t j = 0; j < k; j++)
        index[j] = heap[j].index;
}

bool eval_topk(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int axis = call_axis(c, "axis", -1, x->rank);
    int64_t n = x->dims[axis], k = tensor_i64(c->in[1], 0);
    int64_t outer = dims_product(x->dims, 0, axis),
            inner = dims_product(x->dims, axis + 1, x->rank);
    size_t bytes = dtype_bytes(x->dtype);
    bool largest = attr_int(c->attrs, "largest", 1),
         narrow = dtype_info(x->dtype)->bits <= 32 && n <= UINT32_MAX;
    if (k < 0 || k > n)
        return fail(c->env->d, "k is %lld for size %lld", (long long)k, (long long)n);
    if (k == 0)
        return true;
    int64_t *index = malloc(sizeof *index * (size_t)k);
    void *room =
        malloc(narrow ? sizeof(uint64_t) * (size_t)(n + k) : sizeof(struct ranked) * (size_t)k);
    for (int64_t o = 0; index && room && o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t first = o * n * inner + i;
            if (narrow)
                first_of_line(x, first, inner, n, k, largest, room, index);
            else
                first_of_wide_line(x, first, inner, n, k, largest, room, index);
            for (int64_t j = 0; j < k; j++) {
                size_t to = (size_t)((o * k + j) * inner + i);
                if (wants_result(c, 0))
                    memcpy((char *)c->out[0]->data + to * bytes,
                           (const char *)x->data + (size_t)(first + index[j] * inner) * bytes,
                           bytes);
                if (wants_result(c, 1))
                    ((int64_t *)c->out[1]->data)[to] = index[j];
            }
        }
    bool ok = index && room;
    free(index);
    free(room);
    return ok || fail(c->env->d, "out of memory");
}
