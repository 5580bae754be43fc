/*
 * Regions that loops run again and again, made ready once per plan: single numbers are computed by
 * one function call on their addresses, windows of fixed size copied, small kernels run without a
 * launch.
 */
#ifndef RUNTIME_EXEC_QUICK_H
#define RUNTIME_EXEC_QUICK_H

#include "runtime/exec/state.h"

struct quick_step;
typedef void (*quick_fn)(const struct quick_step *q, char *const *address);

struct place { /* slot and bytes behind its start */
    int32_t slot;
    int64_t offset;
};

struct quick_scalar { /* of tensor_scalar */
    enum op op;
    bool reverse;
    float value;
};

struct quick_window { /* a window of an array: contiguous, moved so that it fits */
    int rank;
    const int64_t *stride, *most; /* in bytes; the last start */
    size_t bytes;
};

struct quick_step {
    quick_fn run;                     /* NULL: by `kernel`, else step `step` of the region */
    const struct bound_kernel *kernel; /* one instance, alone */
    int32_t step;
    struct place to, a, b, c;
    union {
        struct quick_scalar scalar[2];
        struct quick_window window;
    };
};

struct quick_region {
    int count;
    int64_t steps; /* of the region, for limits */
    struct quick_step *list;
};

/* b->quick: per region, NULL where it must be run step by step. */
void plan_quick(const struct context *c, struct bound *b);

#endif
