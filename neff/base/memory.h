/*
 * How much memory there is: what is refused with a message before the system ends the process.
 */
#ifndef NEFF_BASE_MEMORY_H
#define NEFF_BASE_MEMORY_H

#include <stddef.h>

/* Bytes that this machine, or the control group of the process, has in all. Never 0. */
size_t memory_total(void);

enum { LARGE_PAGE = 2 << 20 };
/* As many bytes, or those of the whole large pages that they nearly fill. */
static inline size_t memory_rounded(size_t bytes)
{
    size_t pages = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    return pages >= bytes && pages - bytes <= bytes / 16 ? pages : bytes;
}
/* A block that begins at a large page and is used from end to end: with as few pages as the system gives. */
void memory_in_large_pages(void *p, size_t bytes);

/*
 * For programs, at their start: from now on, allocations past what the machine has free return NULL
 * rather than invite the kernel's killer. Keeps a smaller limit that is set already.
 */
void memory_cap(void);

/*
 * For programs, before they start threads: from now on the process gets at most this much memory,
 * and tensors that are larger are refused.
 */
void memory_limit(size_t bytes);

/* Large blocks go back to the system when they are freed, where the C library can be told to. For
 * programs that pass weights from one form to the next. */
void memory_return_large(void);

#endif
