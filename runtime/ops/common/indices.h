/*
 * Operands that are indices into a dim; negative ones count from its end.
 */
#ifndef RUNTIME_OPS_INDICES_H
#define RUNTIME_OPS_INDICES_H

#include "runtime/ops/common/ops.h"

/* Says that element i of `indices` lies outside [-n, n). False. */
bool index_fail(struct op_call *c, const struct tensor *indices, int64_t i, int64_t n);

/* Element i of `indices` as a place in [0, n); fails when it is outside. */
static inline bool index_place(struct op_call *c, const struct tensor *indices, int64_t i,
                               int64_t n, int64_t *out)
{
    int64_t v = indices->dtype == DT_I64   ? ((const int64_t *)indices->data)[i]
                : indices->dtype == DT_I32 ? ((const int32_t *)indices->data)[i]
                                           : tensor_i64(indices, i);
    *out = v < 0 ? v + n : v;
    return (*out >= 0 && *out < n) || index_fail(c, indices, i, n);
}

/* The same of `count` elements from `first` on; PLACES are as many as suit the stack. */
enum { PLACES = 512 };
bool index_places(struct op_call *c, const struct tensor *indices, int64_t first, int64_t count,
                  int64_t n, int64_t *out);

#endif
