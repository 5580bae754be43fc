/*
 * What tests of kernels share: the variant under test, random rows, distances between floats, and
 * the loop over all variants.
 */
#ifndef TEST_UNIT_KERNEL_TEST_H
#define TEST_UNIT_KERNEL_TEST_H

#include "runtime/kernels/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct kernel_table *table; /* the variant under test */

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

static uint32_t random_state = 12345;
static inline uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}
static inline float uniform(float low, float high)
{
    return low + (high - low) * (float)(next_random() >> 8) / 16777216.0f;
}
static inline float *random_row(size_t n)
{
    float *x = malloc((n ? n : 1) * sizeof *x); /* exact size: ASan sees every overrun */
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(-2, 2);
    return x;
}
static inline uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static inline float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static inline struct in_row row(const float *p)
{
    return (struct in_row){p, 1};
}
static const struct in_row none = {NULL, 0};

/* Difference in units in the last place of the f32 nearest to max(|expected|, floor). */
static inline double ulps(float got, double expected, double floor)
{
    if (isnan(expected))
        return isnan(got) ? 0 : INFINITY;
    if (isinf((float)expected) || isinf(got))
        return (float)expected == got                          ? 0
               : fabs(expected) > 3.4e38 && fabs(got) > 3.4e38 ? 1
                                                               : INFINITY;
    double m = fmax(fmax(fabs(expected), floor), 0x1p-126);
    return fabs(got - expected) / ldexp(1.0, ilogb(m) - 23);
}

/* Runs the tests for every variant, with `table` set to it; says which cannot run here. The number
 * of failures. */
static inline int run_variants(const struct CMUnitTest *tests, size_t n)
{
    static const char *const names[] = {
#define KERNEL_VARIANT(name, ...) #name,
#include "runtime/kernels/kernels.def"
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        table = kernels_find(names[i]);
        if (table)
            failed += _cmocka_run_group_tests(names[i], tests, n, NULL, NULL);
        else
            print_message("[ SKIPPED  ] %s: not built, or this CPU cannot run it\n", names[i]);
    }
    return failed;
}

#endif
