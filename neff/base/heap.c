#include "neff/base/heap.h"

#include <stdbool.h>
#include <stdint.h>

/* Before each block's memory; the next block begins where its memory ends. */
struct block {
    size_t size; /* of its memory, a multiple of HEAP_ALIGN */
    bool used;
    char pad[HEAP_ALIGN - sizeof(size_t) - sizeof(bool)];
};
_Static_assert(sizeof(struct block) == HEAP_ALIGN, "what follows a block is aligned");

static struct block *after(struct block *b)
{
    return (struct block *)((char *)(b + 1) + b->size);
}

void heap_make(struct heap *h, void *p, size_t size)
{
    size_t skip = (HEAP_ALIGN - (uintptr_t)p % HEAP_ALIGN) % HEAP_ALIGN;
    size = size > skip ? (size - skip) / HEAP_ALIGN * HEAP_ALIGN : 0;
    *h = (struct heap){.start = (char *)p + skip};
    h->low = h->start;
    h->end = h->start + (size > sizeof(struct block) ? size : 0);
    if (h->end > h->start)
        *(struct block *)h->start = (struct block){.size = size - sizeof(struct block)};
}

/* Takes in the free blocks behind b. */
static void join(const struct heap *h, struct block *b)
{
    for (struct block *n = after(b); (char *)n < h->end && !n->used; n = after(b))
        b->size += sizeof *n + n->size;
}

static void split(struct block *b, size_t size)
{
    if (b->size - size <= sizeof *b)
        return;
    size_t rest = b->size - size - sizeof *b;
    b->size = size;
    *after(b) = (struct block){.size = rest};
}

void *heap_get(struct heap *h, size_t size)
{
    bool first = true; /* of the free ones */
    if (size > SIZE_MAX / 2)
        return NULL;
    size = size ? (size + HEAP_ALIGN - 1) / HEAP_ALIGN * HEAP_ALIGN : HEAP_ALIGN;
    for (struct block *b = (struct block *)h->low; (char *)b < h->end; b = after(b)) {
        if (b->used)
            continue;
        join(h, b);
        if (first)
            h->low = (char *)b;
        first = false;
        if (b->size < size)
            continue;
        split(b, size);
        b->used = true;
        size_t top = (size_t)((char *)after(b) - h->start);
        h->peak = top > h->peak ? top : h->peak;
        return b + 1;
    }
    return NULL;
}

void heap_put(struct heap *h, void *p)
{
    if (!p)
        return;
    struct block *b = (struct block *)p - 1;
    b->used = false;
    if ((char *)b < h->low)
        h->low = (char *)b;
}

size_t heap_size(const void *p)
{
    return ((const struct block *)p - 1)->size;
}
