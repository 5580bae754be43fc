/*
 * Order of elements of any type, and a stable sort of indices by it.
 */
#ifndef RUNTIME_OPS_ORDER_H
#define RUNTIME_OPS_ORDER_H

#include "neff/core/tensor.h"

/* Below, at or above 0. NaN equals NaN and is above all numbers; complex by real, then imaginary
 * part; strings by bytes. */
int compare_elements(const struct tensor *t, int64_t a, int64_t b);

/* Sorts n indices so that compare(user, i, j) <= 0 for neighbours; equal ones keep their order.
 * `scratch` has room for n. */
void sort_indices(int64_t *index, int64_t n, int64_t *scratch,
                  int (*compare)(const void *user, int64_t a, int64_t b), const void *user);

/* Numbers, not strings or complex, as unsigned integers in the same order, or with `largest` in the
 * opposite one. */
uint64_t rank_key(const struct tensor *t, int64_t i, bool largest);
struct ranked {
    uint64_t key;
    int64_t index;
};

#endif
