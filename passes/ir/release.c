/*
 * Giving back the memory of constants that nobody will read again.
 */
#include "passes/ir/ir.h"

#include <sys/mman.h>
#include <unistd.h>

static bool overlaps(const struct tensor *a, const char *from, const char *to)
{
    const char *p = a->data;
    return a->kind == VK_TENSOR && p < to && p + tensor_bytes(a) > from;
}

void constant_release(struct graph *g, const struct value *v)
{
    const struct tensor *t = v->constant;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (!t || t->kind != VK_TENSOR || t->dtype == DT_STR || tensor_bytes(t) < 4 * page)
        return;
    const char *from = t->data, *to = from + tensor_bytes(t);
    for (int i = 0; i < g->nconstants; i++)
        if (g->constants[i] != v && overlaps(g->constants[i]->constant, from, to))
            return;
    uintptr_t first = ((uintptr_t)from + page - 1) / page * page,
              last = (uintptr_t)to / page * page;
    if (last > first)
        madvise((void *)first, last - first, MADV_DONTNEED);
}
