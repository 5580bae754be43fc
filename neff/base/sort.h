/*
 * Sorting in place. The C library's qsort may allocate, which programs without a runtime's memory must not.
 */
#ifndef NEFF_BASE_SORT_H
#define NEFF_BASE_SORT_H

#include <stddef.h>

/* As qsort. `compare` must tell any two items apart, or they must be alike: the order of equal ones is not kept. */
void sort_items(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
