/* Memory of tests of kernels. */
#ifndef TEST_UNIT_GUARDED_H
#define TEST_UNIT_GUARDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * Memory between sentinels: malloc and free of these tests. Kernels are given tensors of exact size,
 * and what one writes beside a tensor shows when that is freed. (Reads beside it show in builds with
 * ASan, which has its own malloc.)
 */
enum { SENTINEL = 64, SENTINEL_BYTE = 0xa7 };
struct guarded_block {
    struct guarded_block *next;
    size_t size;
    uint8_t *data; /* SENTINEL bytes before it, and behind its last one */
};
static struct guarded_block *guarded_blocks;

/* Not inlined: the compiler would see that free(p) below cannot be right where p is such a block. */
__attribute__((noinline, unused)) static void *guarded_alloc(size_t size)
{
    size_t head = (sizeof(struct guarded_block) + 63) / 64 * 64 + SENTINEL;
    struct guarded_block *b = aligned_alloc(64, (head + size + SENTINEL + 63) / 64 * 64);
    if (!b)
        return NULL;
    *b = (struct guarded_block){guarded_blocks, size, (uint8_t *)b + head};
    guarded_blocks = b;
    memset(b->data - SENTINEL, SENTINEL_BYTE, SENTINEL);
    memset(b->data + size, SENTINEL_BYTE, SENTINEL);
    return b->data;
}
static inline void *guarded_zeroed(size_t size)
{
    void *p = guarded_alloc(size);
    return p ? memset(p, 0, size) : NULL;
}
/* Bytes from the tensor's start to the first one beside it that was written; 0: none was. */
static inline ptrdiff_t guarded_fault(const struct guarded_block *b)
{
    for (ptrdiff_t i = 0; i < SENTINEL; i++) {
        if (b->data[-1 - i] != SENTINEL_BYTE)
            return -1 - i;
        if (b->data[(ptrdiff_t)b->size + i] != SENTINEL_BYTE)
            return (ptrdiff_t)b->size + i;
    }
    return 0;
}
__attribute__((noinline, unused)) static void guarded_free(void *p)
{
    struct guarded_block **at = &guarded_blocks, *b;
    while (*at && (*at)->data != p)
        at = &(*at)->next;
    b = *at;
    if (!b) { /* of the libraries */
        free(p);
        return;
    }
    ptrdiff_t fault = guarded_fault(b);
    size_t size = b->size;
    *at = b->next;
    free(b);
    if (fault)
        fail_msg("byte %td of a tensor of %zu was written", fault, size);
}
#if !defined __SANITIZE_ADDRESS__
#define malloc(n)           guarded_alloc(n)
#define calloc(n, size)     guarded_zeroed((size_t)(n) * (size))
#define aligned_alloc(a, n) guarded_alloc(n)
#define free(p)             guarded_free(p)
#endif

__attribute__((unused)) static void guarded_leave(void *variable)
{
    void *p;
    memcpy(&p, variable, sizeof p);
    free(p);
}
/* A tensor of n elements until the end of the block, for which an array would have no sentinels. */
#define TENSOR(T, name, n) T *name __attribute__((cleanup(guarded_leave))) = malloc((size_t)(n) * sizeof(T))

#endif
