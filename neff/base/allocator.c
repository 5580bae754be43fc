#undef malloc
#undef calloc
#undef realloc
#undef aligned_alloc
#undef posix_memalign
#undef free
#include "neff/base/allocator.h"

#include "neff/base/heap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct heap *in_use;

struct heap *mem_use(struct heap *h)
{
    struct heap *before = in_use;
    in_use = h;
    return before;
}

struct heap *mem_heap(void)
{
    return in_use;
}

/* ---- heaps that threads share ---- */

static void lock(struct heap *h)
{
    while (atomic_flag_test_and_set_explicit(&h->busy, memory_order_acquire))
        ;
}
static void unlock(struct heap *h)
{
    atomic_flag_clear_explicit(&h->busy, memory_order_release);
}

/* Before memory of a source: the others that it has given. */
struct heap_loan {
    struct heap_loan *next, *before;
    size_t size; /* of all, this included */
    char pad[HEAP_ALIGN - 2 * sizeof(void *) - sizeof(size_t)];
};
_Static_assert(sizeof(struct heap_loan) == HEAP_ALIGN, "what follows it is aligned");

static void *borrow(struct heap *h, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct heap_loan))
        return NULL;
    size += sizeof(struct heap_loan);
    struct heap_loan *l = h->source->allocate(h->source->user, size, HEAP_ALIGN);
    if (!l)
        return NULL;
    lock(h);
    *l = (struct heap_loan){.next = h->loans, .size = size};
    if (h->loans)
        h->loans->before = l;
    h->loans = l;
    unlock(h);
    return l + 1;
}

static void give_back(struct heap *h, struct heap_loan *l)
{
    lock(h);
    if (l->next)
        l->next->before = l->before;
    if (l->before)
        l->before->next = l->next;
    else
        h->loans = l->next;
    unlock(h);
    h->source->release(h->source->user, l, l->size);
}

void mem_give_back(struct heap *h)
{
    while (h->loans)
        give_back(h, h->loans);
}

static void *get(struct heap *h, size_t size)
{
    if (h->source)
        return borrow(h, size);
    lock(h);
    void *p = heap_get(h, size);
    unlock(h);
    return p;
}

static void put(struct heap *h, void *p)
{
    if (p && h->source) {
        give_back(h, (struct heap_loan *)p - 1);
        return;
    }
    lock(h);
    heap_put(h, p);
    unlock(h);
}

static size_t size_of(const struct heap *h, const void *p)
{
    if (h->source)
        return ((const struct heap_loan *)p)[-1].size - sizeof(struct heap_loan);
    return heap_size(p);
}

/* Programs for one model have no other memory than their context's (neff/base/use.h). */
#ifdef XRT_USE
#define OTHERWISE(expr) NULL
#else
#define OTHERWISE(expr) expr
#endif

void *mem_malloc(size_t size)
{
    return in_use ? get(in_use, size) : OTHERWISE(malloc(size));
}

void *mem_calloc(size_t n, size_t size)
{
    if (!in_use)
        return OTHERWISE(calloc(n, size));
    void *p = size && n > SIZE_MAX / size ? NULL : get(in_use, n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

void *mem_realloc(void *p, size_t size)
{
    if (!in_use)
        return OTHERWISE(realloc(p, size));
    void *grown = get(in_use, size);
    if (grown && p) {
        size_t before = size_of(in_use, p);
        memcpy(grown, p, before < size ? before : size);
        put(in_use, p);
    }
    return grown;
}

void *mem_aligned_alloc(size_t align, size_t size)
{
    if (!in_use)
        return OTHERWISE(aligned_alloc(align, size));
    return get(in_use, size); /* HEAP_ALIGN is as much as anybody asks for */
}

int mem_posix_memalign(void **p, size_t align, size_t size)
{
    *p = NULL;
#ifndef XRT_USE
    if (!in_use)
        return posix_memalign(p, align, size);
#endif
    *p = mem_aligned_alloc(align, size);
    return *p ? 0 : ENOMEM;
}

void mem_free(void *p)
{
    if (in_use)
        put(in_use, p);
#ifndef XRT_USE
    else
        free(p);
#endif
}
