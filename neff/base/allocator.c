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

/* Programs for one model have no other memory than their context's (neff/base/use.h). */
#ifdef XRT_USE
#define OTHERWISE(expr) NULL
#else
#define OTHERWISE(expr) expr
#endif

void *mem_malloc(size_t size)
{
    return in_use ? heap_get(in_use, size) : OTHERWISE(malloc(size));
}

void *mem_calloc(size_t n, size_t size)
{
    if (!in_use)
        return OTHERWISE(calloc(n, size));
    void *p = size && n > SIZE_MAX / size ? NULL : heap_get(in_use, n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

void *mem_realloc(void *p, size_t size)
{
    if (!in_use)
        return OTHERWISE(realloc(p, size));
    void *grown = heap_get(in_use, size);
    if (grown && p) {
        size_t before = heap_size(p);
        memcpy(grown, p, before < size ? before : size);
        heap_put(in_use, p);
    }
    return grown;
}

void *mem_aligned_alloc(size_t align, size_t size)
{
    if (!in_use)
        return OTHERWISE(aligned_alloc(align, size));
    return heap_get(in_use, size); /* HEAP_ALIGN is as much as anybody asks for */
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
        heap_put(in_use, p);
#ifndef XRT_USE
    else
        free(p);
#endif
}
