/*
 * The k first or last elements along an axis, in order.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/order.h"
#include "runtime/ops/common/radix.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (k.n == 1 && !require_at_most(f, k.v[0], x->dims[axis], named("k", -1, axis)))
        return false;
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
static bool earlier(struct ranked a, struct ranked b)
{
    return a.key < b.key || (a.key == b.key && a.index < b.index);
}

/* rank_key of f32, in 32 bits. */
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
static void insert_min(uint64_t *v, int64_t n, int64_t k)
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

static void sort_numbers(uint64_t *v, int64_t n, uint64_t *scratch)
{
    enum { SHORT = 16 };
    if (n <= SHORT) {
        insert_min(v, n, n);
        return;
    }
    int64_t half = n / 2;
    sort_numbers(v, half, scratch);
    sort_numbers(v + half, n - half, scratch);
    memcpy(scratch, v, sizeof *v * (size_t)half);
    for (int64_t i = 0, j = half, k = 0; i < half; k++)
        v[k] = j < n && v[j] < scratch[i] ? v[j++] : scratch[i++];
}

/* Of an unsorted line, those in front that can be among the k least; how many. Keys are compared
 * with the k-th least of those kept so far, of which there are at most `max`. */
static int64_t pack_candidates(const float *from, int64_t step, int64_t n, int64_t k, int64_t max,
                               uint32_t flip, uint64_t *out)
{
    enum { BLOCK = 16 };
    uint32_t bound = UINT32_MAX;
    float last = flip ? -INFINITY : INFINITY; /* the element of that key, to compare with first */
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        unsigned any = 0;
        for (int64_t j = 0; flip && j < m; j++)
            any |= !(from[(i + j) * step] < last);
        for (int64_t j = 0; !flip && j < m; j++)
            any |= !(from[(i + j) * step] > last);
        for (int64_t j = 0; any && j < m; j++) {
            uint32_t key = rank_f32(from[(i + j) * step], flip);
            out[kept] = (uint64_t)key << 32 | (uint64_t)(i + j);
            kept += key <= bound;
        }
        if (kept + BLOCK <= max)
            continue;
        select_min(out, kept, k);
        kept = k;
        uint64_t worst = 0;
        for (int64_t j = 0; j < k; j++)
            worst = out[j] > worst ? out[j] : worst;
        bound = (uint32_t)(worst >> 32);
        last = from[(int64_t)(worst & UINT32_MAX) * step];
    }
    return kept;
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
    int64_t max = 4 * k + 1024;
    if (x->dtype == DT_F32 && n > 2 * max)
        n = pack_candidates((const float *)x->data + first, step, n, k, max,
                            largest ? UINT32_MAX : 0, room);
    else
        pack_line(x, first, step, n, largest, room);
    if (k <= FEW) {
        insert_min(room, n, k);
    } else {
        select_min(room, n, k);
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
    return ok || fail_memory(c->env->d, "out of memory");
}
