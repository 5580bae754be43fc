#define _GNU_SOURCE
#include "neff/base/memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A number from a file that holds nothing else; SIZE_MAX when there is none ("max"). */
static size_t file_number(const char *path)
{
    uint64_t v = SIZE_MAX;
    FILE *f = fopen(path, "r");
    if (!f)
        return SIZE_MAX;
    if (fscanf(f, "%" SCNu64, &v) != 1)
        v = SIZE_MAX;
    fclose(f);
    return v;
}

/* The sum of the named lines of /proc/meminfo, in bytes; 0 without them. */
static size_t meminfo(const char *name, const char *other)
{
    char line[256], key[64];
    uint64_t v;
    size_t sum = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%63[^:]: %" SCNu64, key, &v) == 2 &&
            (!strcmp(key, name) || !strcmp(key, other)))
            sum += (size_t)v << 10;
    if (f)
        fclose(f);
    return sum;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t group_limit(void)
{
    return smaller(file_number("/sys/fs/cgroup/memory.max"),
                   file_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

static size_t total;

static void measure(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    total = meminfo("MemTotal", "SwapTotal");
    if (!total)
        total = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    total = smaller(total, group_limit());
}

void memory_in_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    madvise(p, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
#endif
}

size_t memory_total(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure);
    return total;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* their shadow memory alone is terabytes */
#endif

void memory_limit(size_t bytes)
{
    struct rlimit r;
    total = smaller(memory_total(), bytes);
    if (SANITIZED || getrlimit(RLIMIT_DATA, &r))
        return;
    if (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > bytes) {
        r.rlim_cur = bytes;
        setrlimit(RLIMIT_DATA, &r);
    }
}

void memory_cap(void)
{
    struct rlimit r;
    size_t free_now = meminfo("MemAvailable", "SwapFree");
    if (SANITIZED || !free_now || getrlimit(RLIMIT_DATA, &r))
        return;
    free_now = smaller(free_now, memory_total());
    if (r.rlim_cur == RLIM_INFINITY || r.rlim_cur > free_now) {
        r.rlim_cur = free_now;
        setrlimit(RLIMIT_DATA, &r);
    }
}

void memory_return_large(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* otherwise it grows with every block freed */
#endif
}
