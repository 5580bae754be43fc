/*
 * Tensors for the inputs of a model, from .npy and .npz files.
 */
#ifndef RUNTIME_IO_INPUTS_H
#define RUNTIME_IO_INPUTS_H

#include "neff/core/tensor.h"

struct input_kind {
    const char *name;
    int dtype; /* what its elements become; DT_NONE: they stay */
};

struct inputs {
    int count;
    const struct input_kind *kinds;
    struct tensor *values; /* VK_NONE while nothing is known of one */
};

/* FILE.npy (the next input without a value), NAME=FILE.npy, or FILE.npz (by name, or in order when no name fits). */
bool inputs_read(const struct inputs *in, const char *argument, struct diag *d);

#endif
