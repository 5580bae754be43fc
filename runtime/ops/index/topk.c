/*
 * The k first or last elements along an axis, in order.
 */
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/extremes.h"
#include "runtime/ops/common/order.h"
#include "runtime/ops/common/radix.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/typed.h"

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

/* Whether some of the elements may come before `last`; all may where that is no number. */
enum { BLOCK = 16 };
static bool any_before(const float *x, int64_t step, int64_t n, float last, bool largest)
{
    unsigned any = 0;
    if (step == 1 && n == BLOCK) {
        for (int j = 0; largest && j < BLOCK; j++)
            any |= !(x[j] <= last);
        for (int j = 0; !largest && j < BLOCK; j++)
            any |= !(x[j] >= last);
        return any;
    }
    for (int64_t j = 0; j < n; j++)
        any |= largest ? !(x[j * step] <= last) : !(x[j * step] >= last);
    return any;
}

/* Of an unsorted line, those in front that can be among the k least; how many. Keys are compared
 * with the k-th least of those kept so far, of which there are at most `max`. */
static int64_t pack_candidates(const float *from, int64_t step, int64_t n, int64_t k, int64_t max,
                               uint32_t flip, uint64_t *out)
{
    uint32_t bound = UINT32_MAX;
    float last = NAN; /* the element of that key, to compare with first */
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        bool any = any_before(from + i * step, step, m, last, flip);
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

/* The k least of a line, sorted, in `best`: for few. */
static void few_of_line(const float *from, int64_t step, int64_t n, int64_t k, uint32_t flip, uint64_t *best)
{
    for (int64_t i = 0; i < k; i++)
        best[i] = (uint64_t)rank_f32(from[i * step], flip) << 32 | (uint64_t)i;
    insert_min(best, k, k);
    for (int64_t i = k; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        float last = from[(int64_t)(best[k - 1] & UINT32_MAX) * step];
        bool any = any_before(from + i * step, step, m, last, flip);
        for (int64_t j = i; any && j < i + m; j++) {
            uint64_t x = (uint64_t)rank_f32(from[j * step], flip) << 32 | (uint64_t)j;
            int64_t at = k - 1;
            if (x >= best[at])
                continue;
            for (; at && best[at - 1] > x; at--)
                best[at] = best[at - 1];
            best[at] = x;
        }
    }
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

/* What a call selects, and memory for one line at a time. */
struct topk {
    const struct tensor *x;
    int64_t outer, n, k, inner;
    bool largest, narrow;
    void *room;           /* n + k numbers of 64 bits, or k of struct ranked */
    int64_t *index;       /* k */
    struct tensor turned; /* columns as lines; without data where lines are read where they are */
};

/* Which elements of a line are the first k, of types of up to 32 bits: in `index`. */
static void first_of_line(const struct topk *s, const struct tensor *x, int64_t first, int64_t step)
{
    enum { FEW = 16 };
    int64_t n = s->n, k = s->k, max = 4 * k + 1024;
    uint32_t flip = s->largest ? UINT32_MAX : 0;
    uint64_t *room = s->room;
    if (x->dtype == DT_F32 && k <= FEW) {
        few_of_line((const float *)x->data + first, step, n, k, flip, room);
    } else {
        if (x->dtype == DT_F32 && n > 2 * max)
            n = pack_candidates((const float *)x->data + first, step, n, k, max, flip, room);
        else
            pack_line(x, first, step, n, s->largest, room);
        if (k <= FEW) {
            insert_min(room, n, k);
        } else {
            select_min(room, n, k);
            sort_numbers(room, k, room + n);
        }
    }
    for (int64_t j = 0; j < k; j++)
        s->index[j] = (int64_t)(room[j] & UINT32_MAX);
}

static void first_of_any_line(const struct topk *s, const struct tensor *x, int64_t first, int64_t step)
{
    struct ranked *heap = s->room;
    if (s->narrow) {
        first_of_line(s, x, first, step);
        return;
    }
    rank_line(x, first, step, s->n, s->k, s->largest, heap);
    for (int64_t j = 0; j < s->k; j++)
        s->index[j] = heap[j].index;
}

/* n elements that lie `to_step` apart, from those of `index`, which are `step` apart. */
static void pick(char *to, int64_t to_step, const char *from, int64_t step, const int64_t *index, int64_t n,
                 size_t bytes)
{
    switch (bytes) {
#define PICK(size, T)                                                                                                  \
    case size:                                                                                                         \
        for (int64_t j = 0; j < n; j++)                                                                                \
            ((T *)to)[j * to_step] = ((const T *)from)[index[j] * step];                                               \
        return;
        TYPED_SIZES(PICK)
#undef PICK
    }
    for (int64_t j = 0; j < n; j++)
        memcpy(to + (size_t)(j * to_step) * bytes, from + (size_t)(index[j] * step) * bytes, bytes);
}

/* The result of line (o, i), whose first elements are in `index`. */
static void store_line(struct op_call *c, const struct topk *s, int64_t o, int64_t i)
{
    size_t bytes = dtype_bytes(s->x->dtype);
    int64_t to = o * s->k * s->inner + i, first = o * s->n * s->inner + i;
    if (wants_result(c, 0))
        pick((char *)c->out[0]->data + (size_t)to * bytes, s->inner, (const char *)s->x->data + (size_t)first * bytes,
             s->inner, s->index, s->k, bytes);
    for (int64_t j = 0; wants_result(c, 1) && j < s->k; j++)
        ((int64_t *)c->out[1]->data)[to + j * s->inner] = s->index[j];
}

/* Lines side by side, some at a time. */
enum { COLUMNS = 16, MAX_TURNED = 1 << 16 };
static void select_columns(struct op_call *c, const struct topk *s, int64_t o)
{
    size_t bytes = dtype_bytes(s->x->dtype);
    const char *from = (const char *)s->x->data + (size_t)(o * s->n * s->inner) * bytes;
    for (int64_t i = 0; i < s->inner; i += COLUMNS) {
        int64_t m = s->inner - i < COLUMNS ? s->inner - i : COLUMNS;
        if (s->turned.data)
            kernels_get()->transpose(s->turned.data, s->n, from + (size_t)i * bytes, s->inner, (size_t)s->n, (size_t)m,
                                     bytes);
        for (int64_t j = 0; j < m; j++) {
            if (s->turned.data)
                first_of_any_line(s, &s->turned, j * s->n, 1);
            else
                first_of_any_line(s, s->x, o * s->n * s->inner + i + j, s->inner);
            store_line(c, s, o, i + j);
        }
    }
}

/* Elements of lines, one each. */
static void pick_places(char *to, const char *from, struct lines l, const int64_t *place, size_t bytes)
{
    switch (bytes) {
#define PICK(size, T)                                                                                                  \
    case size:                                                                                                         \
        for (int64_t o = 0; o < l.outer; o++)                                                                          \
            for (int64_t i = 0; i < l.inner; i++)                                                                      \
                ((T *)to)[o * l.inner + i] = ((const T *)from)[(o * l.n + place[o * l.inner + i]) * l.inner + i];      \
        return;
        TYPED_SIZES(PICK)
#undef PICK
    }
}

/* The least of lines whose first elements are at `place`, and which are on from line o: NaN is least of all there, but
 * after all numbers here. */
static void pass_nan(const struct topk *s, int64_t o, struct lines l, int64_t *place)
{
    for (int64_t r = 0; r < l.outer; r++)
        for (int64_t i = 0; i < l.inner; i++, place++) {
            int64_t first = (o + r) * l.n * l.inner + i;
            double v = tensor_f64(s->x, first + *place * l.inner);
            if (v == v)
                continue;
            first_of_any_line(s, s->x, first, l.inner);
            *place = s->index[0];
        }
}

/* The first alone, as the extreme of some lines at a time. False of other types. */
static bool select_one(struct op_call *c, const struct topk *s)
{
    enum { PART = 512 };
    size_t bytes = dtype_bytes(s->x->dtype);
    int64_t part = s->inner < PART ? PART / (s->inner ? s->inner : 1) : 1;
    bool wanted = wants_result(c, 1), ok = true;
    int64_t *room = wanted ? NULL : malloc(sizeof *room * (size_t)(part * s->inner) + 1);
    for (int64_t o = 0, m; (wanted || room) && ok && o < s->outer; o += m) {
        m = s->outer - o < part ? s->outer - o : part;
        int64_t *place = wanted ? (int64_t *)c->out[1]->data + o * s->inner : room, first = o * s->n * s->inner;
        struct lines l = {m, s->n, s->inner};
        ok = extreme_places(s->x, first, l, s->largest, false, place);
        if (ok && !s->largest && dtype_is_float(s->x->dtype))
            pass_nan(s, o, l, place);
        if (ok && wants_result(c, 0))
            pick_places((char *)c->out[0]->data + (size_t)(o * s->inner) * bytes,
                        (const char *)s->x->data + (size_t)first * bytes, l, place, bytes);
    }
    ok = ok && (wanted || room);
    free(room);
    return ok;
}

static bool select_lines(struct op_call *c, const struct topk *s)
{
    if (s->k == 1 && select_one(c, s))
        return true;
    for (int64_t o = 0; o < s->outer; o++)
        select_columns(c, s, o);
    return true;
}

bool eval_topk(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int axis = call_axis(c, "axis", -1, x->rank);
    size_t bytes = dtype_bytes(x->dtype);
    struct topk s = {.x = x,
                          .outer = dims_product(x->dims, 0, axis),
                          .n = x->dims[axis],
                          .k = tensor_i64(c->in[1], 0),
                          .inner = dims_product(x->dims, axis + 1, x->rank),
                          .largest = attr_int(c->attrs, "largest", 1),
                          .turned = {.dtype = x->dtype}};
    s.narrow = dtype_info(x->dtype)->bits <= 32 && s.n <= UINT32_MAX;
    if (s.k < 0 || s.k > s.n)
        return fail(c->env->d, "k is %lld for size %lld", (long long)s.k, (long long)s.n);
    if (s.k == 0)
        return true;
    s.index = malloc(sizeof *s.index * (size_t)s.k);
    s.room =
        malloc(s.narrow ? sizeof(uint64_t) * (size_t)(s.n + s.k) : sizeof(struct ranked) * (size_t)s.k);
    bool turns = s.inner > 1 && s.n <= MAX_TURNED && bytes <= 8;
    if (turns)
        s.turned.data = malloc((size_t)s.n * COLUMNS * bytes);
    bool ok = s.index && s.room && (s.turned.data || !turns);
    if (ok)
        select_lines(c, &s);
    free(s.index), free(s.room), free(s.turned.data);
    return ok || fail_memory(c->env->d, "out of memory");
}
