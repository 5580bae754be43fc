#define _GNU_SOURCE
#include "runtime/exec/memory.h"

#include "neff/base/allocator.h"
#include "neff/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

void pages_ahead(void *p, size_t bytes)
{
    uintptr_t from = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE,
              end = ((uintptr_t)p + bytes) / PAGE * PAGE;
    if (end <= from)
        return;
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE_PAGE)
        madvise((void *)from, end - from, MADV_HUGEPAGE);
#endif
#ifdef MADV_POPULATE_WRITE
    madvise((void *)from, end - from, MADV_POPULATE_WRITE);
#endif
}

/* Mapped memory that begins at a huge page. */
static void *map_space(size_t bytes)
{
    size_t all = bytes + LARGE_PAGE;
    char *p = all < bytes
                  ? MAP_FAILED
                  : mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = (LARGE_PAGE - (uintptr_t)p % LARGE_PAGE) % LARGE_PAGE;
    if (before)
        munmap(p, before);
    if (all - before > bytes)
        munmap(p + before + bytes, all - before - bytes);
    return p + before;
}

void *large_space(size_t bytes)
{
    void *p;
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    if (bytes > memory_total())
        return NULL;
    if (bytes >= LARGE_PAGE && !mem_heap())
        return map_space(bytes);
    bytes = bytes ? bytes : PAGE;
    return posix_memalign(&p, PAGE, bytes) ? NULL : memset(p, 0, bytes);
}

void large_free(void *p, size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    if (p && bytes >= LARGE_PAGE && !mem_heap())
        munmap(p, bytes);
    else
        free(p);
}

void *large_room(size_t bytes, size_t *got)
{
    size_t room = bytes > memory_total() ? 0 : (memory_rounded(bytes) + PAGE - 1) / PAGE * PAGE;
    void *p = room ? large_space(room) : NULL;
    *got = p ? room : 0;
    return p;
}

void *large_alloc(size_t bytes, size_t *got)
{
    void *p = large_room(bytes, got);
    if (p)
        pages_ahead(p, *got);
    return p;
}
