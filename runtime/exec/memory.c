#define _GNU_SOURCE
#include "runtime/exec/memory.h"

#include "neff/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

void pages_ahead(void *p, size_t bytes)
{
    uintptr_t from = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE,
              end = ((uintptr_t)p + bytes) / PAGE * PAGE;
    if (end <= from)
        return;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE)
        madvise((void *)from, end - from, MADV_HUGEPAGE);
#endif
#ifdef MADV_POPULATE_WRITE
    madvise((void *)from, end - from, MADV_POPULATE_WRITE);
#endif
}

void *large_alloc(size_t bytes, size_t *got)
{
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE;
    if (bytes > memory_total())
        return NULL;
    *got = (bytes + unit - 1) / unit * unit;
    void *p = aligned_alloc(unit, *got);
    if (p)
        pages_ahead(p, *got);
    return p;
}
