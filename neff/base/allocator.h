/*
 * Where the runtime's memory comes from: the C library, or an allocator that the thread has chosen.
 *
 * The build has neff/ and runtime/ call the functions below instead of malloc and its family
 * (MEM_REDIRECT of CMakeLists.txt). What a thread allocates while it uses an allocator is freed
 * while it uses the same one. Several threads may use one at a time.
 */
#ifndef NEFF_BASE_ALLOCATOR_H
#define NEFF_BASE_ALLOCATOR_H

#include <stddef.h>

struct heap;

/* From now on this thread allocates from h (neff/base/heap.h); NULL: from the C library. The one
 * before. */
struct heap *mem_use(struct heap *h);
/* The heap that this thread uses, or NULL. */
struct heap *mem_heap(void);

/* Gives all that h has of its source (heap.h) back to it. */
void mem_give_back(struct heap *h);

void *mem_malloc(size_t size);
void *mem_calloc(size_t n, size_t size);
void *mem_realloc(void *p, size_t size);
void *mem_aligned_alloc(size_t align, size_t size);
int mem_posix_memalign(void **p, size_t align, size_t size);
void mem_free(void *p);

#endif
