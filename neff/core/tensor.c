#include "neff/core/tensor.h"

#include "neff/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 256 << 20 }; /* of one tensor: joining strings doubles them fast */

int64_t dims_product(const int64_t *dims, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= dims[i];
    return n;
}

bool dims_ascend(const int64_t *dims, int n)
{
    for (int i = 1; i < n; i++)
        if (dims[i] <= dims[i - 1])
            return false;
    return true;
}

int64_t tensor_count(const struct tensor *t)
{
    return dims_product(t->dims, 0, t->rank);
}

static bool checked_bytes(int dtype, int rank, const int64_t *dims, size_t *bytes, struct diag *d)
{
    if (rank < 0 || rank > MAX_RANK)
        return fail(d, "tensor of rank %d, expected 0 to %d", rank, MAX_RANK);
    bool empty = false, overflow = false;
    int64_t n = (int64_t)dtype_bytes(dtype);
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return fail(d, "dimension %d is %lld, expected 0 or more", i, (long long)dims[i]);
        empty |= dims[i] == 0;
        overflow |= __builtin_mul_overflow(n, dims[i], &n);
    }
    if (empty)
        n = 0;
    else if (overflow || n > INT64_MAX / 2)
        return fail(d, "tensor too large: its size does not fit 64 bits");
    *bytes = (size_t)n;
    return true;
}

static void set_shape(struct tensor *t, int dtype, int rank, const int64_t *dims)
{
    t->kind = VK_TENSOR;
    t->dtype = (uint8_t)dtype;
    t->rank = rank;
    for (int i = 0; i < rank; i++)
        t->dims[i] = dims[i];
}

/* ---- blocks ---- */

enum { LINE = 64 };

#ifdef XRT_USE /* a library of one model has its memory once and for all */
struct tensor_spares *tensor_use_spares(struct tensor_spares *s)
{
    (void)s;
    return NULL;
}
void tensor_drop_spares(struct tensor_spares *s)
{
    (void)s;
}
static bool give_spare(void *data, size_t capacity)
{
    (void)data, (void)capacity;
    return false;
}
static bool take_spare(struct tensor *t, size_t bytes)
{
    (void)t, (void)bytes;
    return false;
}
static bool drop_spares(void)
{
    return false;
}
#else
enum { SPARE_MIN = 64 << 10 };
static _Thread_local struct tensor_spares *spares;

struct tensor_spares *tensor_use_spares(struct tensor_spares *s)
{
    struct tensor_spares *before = spares;
    spares = s;
    return before;
}

void tensor_drop_spares(struct tensor_spares *s)
{
    while (s->n)
        free(s->block[--s->n].data);
}

/* Of many blocks the largest are kept. */
static bool give_spare(void *data, size_t capacity)
{
    int min = 0;
    if (!spares || capacity < SPARE_MIN)
        return false;
    for (int i = 1; i < spares->n; i++)
        min = spares->block[i].capacity < spares->block[min].capacity ? i : min;
    if (spares->n < SPARE_BLOCKS)
        min = spares->n++;
    else if (spares->block[min].capacity < capacity)
        free(spares->block[min].data);
    else
        return false;
    spares->block[min].data = data;
    spares->block[min].capacity = capacity;
    return true;
}

/* The smallest that is large enough, and not twice as large. */
static bool take_spare(struct tensor *t, size_t bytes)
{
    int best = -1;
    for (int i = 0; spares && i < spares->n && bytes >= SPARE_MIN; i++)
        if (spares->block[i].capacity >= bytes && spares->block[i].capacity / 2 <= bytes &&
            (best < 0 || spares->block[i].capacity < spares->block[best].capacity))
            best = i;
    if (best < 0)
        return false;
    t->data = spares->block[best].data;
    t->capacity = spares->block[best].capacity;
    spares->block[best] = spares->block[--spares->n];
    return true;
}

static bool drop_spares(void)
{
    bool any = spares && spares->n;
    if (any)
        tensor_drop_spares(spares);
    return any;
}
#endif

static bool new_block(struct tensor *t, size_t bytes)
{
    bool large = bytes >= LARGE_PAGE, fits = bytes <= memory_total();
    size_t align = large ? LARGE_PAGE : LINE;
    if (!fits ||
        (posix_memalign(&t->data, align, bytes) && (!drop_spares() || posix_memalign(&t->data, align, bytes)))) {
        t->data = NULL;
        return false;
    }
    if (large)
        memory_in_large_pages(t->data, bytes);
    t->capacity = bytes;
    return true;
}

static bool get_block(struct tensor *t, size_t bytes, struct diag *d)
{
    bytes = memory_rounded(bytes ? (bytes + LINE - 1) / LINE * LINE : LINE);
    if (t->kind == VK_TENSOR && t->owned && t->capacity >= bytes)
        return true;
    tensor_free(t);
    if (!take_spare(t, bytes) && !new_block(t, bytes))
        return fail_memory(d, "out of memory: a tensor needs %zu bytes", bytes);
    t->owned = true;
    return true;
}

bool tensor_alloc_dirty(struct tensor *t, int dtype, int rank, const int64_t *dims, struct diag *d)
{
    size_t bytes;
    int64_t copy[MAX_RANK]; /* dims may be t->dims */
    if (!checked_bytes(dtype, rank, dims, &bytes, d))
        return false;
    for (int i = 0; i < rank; i++)
        copy[i] = dims[i];
    if (!get_block(t, bytes, d))
        return false;
    set_shape(t, dtype, rank, copy);
    if (dtype == DT_STR)
        memset(t->data, 0, bytes);
    return true;
}

bool tensor_alloc(struct tensor *t, int dtype, int rank, const int64_t *dims, struct diag *d)
{
    if (!tensor_alloc_dirty(t, dtype, rank, dims, d))
        return false;
    memset(t->data, 0, tensor_bytes(t));
    return true;
}

struct tensor tensor_view(int dtype, int rank, const int64_t *dims, void *data)
{
    struct tensor t = {0};
    set_shape(&t, dtype, rank, dims);
    t.data = data;
    return t;
}

void tensor_free(struct tensor *t)
{
    if (t->owned && !give_spare(t->data, t->capacity))
        free(t->data);
    for (int64_t i = 0; i < t->nitems; i++)
        tensor_free(&t->items[i]);
    free(t->items);
    *t = (struct tensor){.kind = VK_NONE};
}

bool tensor_set_strings(struct tensor *t, int rank, const int64_t *dims, const struct str *s,
                        struct diag *d)
{
    size_t table, bytes = 0;
    int64_t copy[MAX_RANK];
    if (!checked_bytes(DT_STR, rank, dims, &table, d))
        return false;
    for (int i = 0; i < rank; i++)
        copy[i] = dims[i];
    int64_t n = (int64_t)(table / dtype_bytes(DT_STR));
    for (int64_t i = 0; i < n; i++)
        bytes += s[i].n;
    if (bytes > MAX_TEXT)
        return fail(d, "strings of %zu bytes in one tensor, expected at most %d", bytes, MAX_TEXT);
    struct tensor made = {.kind = VK_NONE}; /* s may point into t */
    if (!get_block(&made, table + bytes, d))
        return false;
    set_shape(&made, DT_STR, rank, copy);
    struct str *out = made.data;
    char *at = (char *)made.data + table;
    for (int64_t i = 0; i < n; i++) {
        if (s[i].n)
            memcpy(at, s[i].p, s[i].n);
        out[i] = (struct str){at, s[i].n};
        at += s[i].n;
    }
    tensor_move(t, &made);
    return true;
}

bool tensor_alloc_items(struct tensor *t, int kind, int64_t n, struct diag *d)
{
    tensor_free(t);
    t->items = calloc(n ? (size_t)n : 1, sizeof *t->items);
    if (!t->items)
        return fail_memory(d, "out of memory: a container of %lld items", (long long)n);
    for (int64_t i = 0; i < n; i++)
        t->items[i].kind = VK_NONE;
    t->kind = (uint8_t)kind;
    t->nitems = n;
    return true;
}

bool tensor_copy(struct tensor *dst, const struct tensor *src, struct diag *d)
{
    if (src->kind == VK_NONE) {
        tensor_free(dst);
        return true;
    }
    if (src->kind != VK_TENSOR) {
        struct tensor made = {.kind = VK_NONE};
        if (!tensor_alloc_items(&made, src->kind, src->nitems, d))
            return false;
        made.dtype = src->dtype;
        for (int64_t i = 0; i < src->nitems; i++)
            if (!tensor_copy(&made.items[i], &src->items[i], d)) {
                tensor_free(&made);
                return false;
            }
        tensor_move(dst, &made);
        return true;
    }
    if (src->dtype == DT_STR)
        return tensor_set_strings(dst, src->rank, src->dims, src->data, d);
    if (!tensor_alloc_dirty(dst, src->dtype, src->rank, src->dims, d))
        return false;
    size_t n = tensor_bytes(src);
    if (n)
        memcpy(dst->data, src->data, n);
    return true;
}

void tensor_move(struct tensor *dst, struct tensor *src)
{
    struct tensor moved = *src;
    *src = (struct tensor){.kind = VK_NONE};
    tensor_free(dst);
    *dst = moved;
}

static bool strings_equal(const struct tensor *a, const struct tensor *b)
{
    const struct str *x = a->data, *y = b->data;
    for (int64_t i = 0, n = tensor_count(a); i < n; i++)
        if (x[i].n != y[i].n || (x[i].n && memcmp(x[i].p, y[i].p, x[i].n)))
            return false;
    return true;
}

bool tensor_equal(const struct tensor *a, const struct tensor *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == VK_NONE)
        return true;
    if (a->kind != VK_TENSOR) {
        if (a->nitems != b->nitems)
            return false;
        for (int64_t i = 0; i < a->nitems; i++)
            if (!tensor_equal(&a->items[i], &b->items[i]))
                return false;
        return true;
    }
    if (a->dtype != b->dtype || a->rank != b->rank ||
        (a->rank && memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank)))
        return false;
    if (a->dtype == DT_STR)
        return strings_equal(a, b);
    size_t n = tensor_bytes(a);
    return n == 0 || !memcmp(a->data, b->data, n);
}

const char *tensor_type_text(const struct tensor *t, char *buf, size_t size)
{
    static const char *const kinds[] = {"", "sequence", "optional", "map", "none"};
    if (t->kind != VK_TENSOR) {
        snprintf(buf, size, "%s", kinds[t->kind <= VK_NONE ? t->kind : VK_NONE]);
        return buf;
    }
    size_t at = (size_t)snprintf(buf, size, "%s[", dtype_name(t->dtype));
    for (int i = 0; i < t->rank && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    if (at < size)
        snprintf(buf + at, size - at, "]");
    return buf;
}
