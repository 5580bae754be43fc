/*
 * Linked into a program, makes its allocations fail: XCC_FAIL_ALLOC=N the Nth of them,
 * XCC_FAIL_ALLOC=N+ all from there on. XCC_COUNT_ALLOC=1 prints at the end how many there were.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long allocations;
static long fail_at;
static bool fail_all;

/* Allocations of shared libraries fail too: protobuf-c's, and the C library's for strdup and streams. */
#define SEEN __attribute__((visibility("default")))

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t m);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t a, size_t n);

static bool fails(void)
{
    long now = ++allocations;
    bool this_one = fail_at && (now == fail_at || (fail_all && now > fail_at));
    if (this_one)
        errno = ENOMEM;
    return this_one;
}

SEEN void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

SEEN void *calloc(size_t n, size_t m)
{
    return fails() ? NULL : __libc_calloc(n, m);
}

SEEN void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}

SEEN void *aligned_alloc(size_t a, size_t n)
{
    return fails() ? NULL : __libc_memalign(a, n);
}

SEEN int posix_memalign(void **p, size_t a, size_t n)
{
    void *got = fails() ? NULL : __libc_memalign(a, n);
    if (got)
        *p = got;
    return got ? 0 : ENOMEM;
}

static void print_count(void)
{
    fprintf(stderr, "allocations %ld\n", (long)allocations);
}

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("XCC_FAIL_ALLOC");
    if (getenv("XCC_COUNT_ALLOC"))
        atexit(print_count);
    allocations = 0;
    fail_at = at ? strtol(at, NULL, 10) : 0;
    fail_all = at && strchr(at, '+');
}

/* For programs that test libraries: from now on the Nth allocation fails; 0: none. */
void fail_allocation(long n);
void fail_allocation(long n)
{
    allocations = 0;
    fail_at = n;
    fail_all = false;
}
