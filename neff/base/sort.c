#include "neff/base/sort.h"

#include <stdint.h>
#include <string.h>

static void swap(char *a, char *b, size_t size)
{
    uint64_t x, y;
    for (; size >= sizeof x; size -= sizeof x, a += sizeof x, b += sizeof x) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        memcpy(a, &y, sizeof y);
        memcpy(b, &x, sizeof x);
    }
    for (; size > 0; size--, a++, b++) {
        char t = *a;
        *a = *b;
        *b = t;
    }
}

/* Item i of a heap of n, whose children are heaps, takes its place; the largest is on top. */
static void sink(char *items, size_t i, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && compare(items + child * size, items + (child + 1) * size) < 0)
            child++;
        if (compare(items + i * size, items + child * size) >= 0)
            return;
        swap(items + i * size, items + child * size, size);
    }
}

void sort_items(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t i = n / 2; i-- > 0;)
        sink(items, i, n, size, compare);
    for (size_t end = n; end-- > 1;) {
        swap(items, (char *)items + end * size, size);
        sink(items, 0, end, size, compare);
    }
}
