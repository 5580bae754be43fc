/*
 * Order of numbers by unsigned keys, and stable sorts by them.
 */
#ifndef RUNTIME_OPS_RADIX_H
#define RUNTIME_OPS_RADIX_H

#include "neff/core/tensor.h"

enum key_order {
    KEY_DESCENDING = 1,
    KEY_CANONICAL = 2, /* of floats: zeros are equal, NaN is one number above all others; else their
                          total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN */
};

/* Numbers only: not strings, not complex. */
bool has_key(int dtype);
/* Keys of n elements, `step` elements apart from element `first` on. Of types of up to 32 bits they
 * have 32. */
void order_keys(const struct tensor *t, int64_t first, int64_t step, int64_t n, int order,
                uint64_t *keys);

/* Sorts n numbers that all differ: a key of 32 bits above an index of 32. `rising`: the indices
 * rise already, which leaves less to do. scratch: n more. */
void sort_packed(uint64_t *v, int64_t n, bool rising, uint64_t *scratch);
/* The k least of v in front, in any order. */
void select_min(uint64_t *v, int64_t n, int64_t k);

/* Sorts `order`, indices into keys, by 64-bit keys; stable. scratch: n. */
void sort_by_keys(const uint64_t *keys, int64_t *order, int64_t n, int64_t *scratch);

#endif
