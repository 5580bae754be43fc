/*
 * Whether outputs are what was expected.
 */
#ifndef RUNTIME_IO_COMPARE_H
#define RUNTIME_IO_COMPARE_H

#include "neff/core/tensor.h"

struct tolerance {
    double rtol, atol;
    double norm; /* negative: by element, with rtol and atol */
};

/* Shape, type, and every element: exactly but for floats; NaN equals NaN. The reason for a
 * difference in d. */
bool compare_tensors(const struct tensor *out, const struct tensor *ref, const struct tolerance *t,
                     struct diag *d);

#endif
