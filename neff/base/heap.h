/*
 * A heap in memory that somebody else owns: blocks that are taken and given back, neighbours that
 * are free becoming one. For one thread at a time.
 *
 * It holds a few thousand blocks at most, most of them from the time when a model is opened, so the
 * first block that fits is taken.
 */
#ifndef NEFF_BASE_HEAP_H
#define NEFF_BASE_HEAP_H

#include <stdatomic.h>
#include <stddef.h>

enum { HEAP_ALIGN = 64 }; /* of what it gives */

/* Somebody else's functions, which give `align` 64 and take back what they gave; from any thread. */
struct heap_source {
    void *(*allocate)(void *user, size_t size, size_t align);
    void (*release)(void *user, void *p, size_t size);
    void *user;
};

struct heap {
    char *start, *end;
    char *low;   /* no block before it is free */
    size_t peak; /* the most bytes from `start` that have been in use */
    /* For neff/base/allocator.h: whether a thread is at it; where memory comes from instead, and what
     * came from there. */
    atomic_flag busy;
    const struct heap_source *source;
    struct heap_loan *loans;
};

/* A heap of `size` bytes from p on, whatever their alignment. What was in it is forgotten. */
void heap_make(struct heap *h, void *p, size_t size);
/* NULL when nothing fits. */
void *heap_get(struct heap *h, size_t size);
/* NULL is allowed. */
void heap_put(struct heap *h, void *p);
/* Bytes of a block, at least those asked for. */
size_t heap_size(const void *p);

#endif
