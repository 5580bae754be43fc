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

/* Whole huge pages where that adds little; otherwise the rest lies in small ones. */
static size_t rounded(size_t bytes)
{
    size_t huge = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    return huge - bytes <= bytes / 16 ? huge : (bytes + PAGE - 1) / PAGE * PAGE;
}

void *large_space(size_t bytes)
{
    void *p;
    if (bytes > memory_total() ||
        posix_memalign(&p, bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE, bytes ? bytes : PAGE) != 0)
        return NULL;
    return p;
}

void *large_alloc(size_t bytes, size_t *got)
{
    void *p = bytes > memory_total() ? NULL : large_space(*got = rounded(bytes));
    if (p)
        pages_ahead(p, *got);
    return p;
}
