/*
 * What reductions over axes and over windows share, and windows of the common types and operators.
 */
#ifndef RUNTIME_OPS_XLA_WINDOW_H
#define RUNTIME_OPS_XLA_WINDOW_H

#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/ops.h"
#include "runtime/ops/common/walk.h"

enum { MAX_PAIRS = 64 };

/* Operands are n inputs of one rank, then n first values of their types: n, and the types twice. */
bool infer_pairs(struct infer *f, int *n, int *dtypes);

static inline void fill_first(struct tensor *y, const struct tensor *first)
{
    fill_run(y->data, first->data, tensor_count(y), dtype_bytes(y->dtype));
}

struct window_frame { /* a window over all dims */
    int rank;
    const int64_t *size, *stride, *pads, *base, *dilation;
};

/* The only dim with a window, which reaches from the first element to this one or (*down) from this one to the last;
 * -1: windows are others. */
int running_dim(const struct window_frame *f, const struct tensor *x, bool *down);

/*
 * window_typed.c, for floats of 16 and 32 bits and 32-bit integers without base dilations; false when they do not take
 * it, and nothing is done then. y is filled with first values.
 */
/* y = y op the elements of x in its window, for add, mul, max and min. */
bool window_combine(const struct window_frame *f, enum op op, const struct tensor *x, struct tensor *y,
                    struct work *w);
/* Of each window the element that a chain of comparisons keeps: there, y += source. */
bool window_scatter(const struct window_frame *f, enum op select, enum op combine, const struct tensor *x,
                    const struct tensor *source, struct tensor *y, struct work *w);

#endif
