/*
 * Where the greatest or least element of each of many lines lies.
 */
#ifndef RUNTIME_OPS_EXTREMES_H
#define RUNTIME_OPS_EXTREMES_H

#include "neff/core/tensor.h"

struct lines {
    int64_t outer, n, inner; /* element k of line (o, i) is (o * n + k) * inner + i */
};

/* Of lines from element `first` of x on: z[o * inner + i]. The first of equal elements, or with `last` the last one;
 * NaN is more extreme than all numbers. False, and nothing done, of element types or lengths without such a loop. */
bool extreme_places(const struct tensor *x, int64_t first, struct lines l, bool max, bool last, int64_t *z);

#endif
