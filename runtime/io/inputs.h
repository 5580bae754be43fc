/*
 * Values for the inputs of a model, from .npy and .npz files.
 */
#ifndef RUNTIME_IO_INPUTS_H
#define RUNTIME_IO_INPUTS_H

#include "neff/core/tensor.h"
#include "neff/core/type.h"

struct input_kind {
    const char *name;
    int dtype; /* what its elements become; DT_NONE: they stay */
    int kind;  /* VK_SEQUENCE and VK_MAP: of tensors of this type; others are tensors */
    int keys;  /* of a map: DT_STR or DT_I64 */
};

struct input_kind input_kind_of(const char *name, const struct type *t);

struct inputs {
    int count;
    const struct input_kind *kinds;
    struct tensor *values; /* VK_NONE while nothing is known of one */
};

/* FILE.npy (the next input without a value), NAME=FILE.npy, or FILE.npz (by name, or in order when no
 * name fits). NAME=FILE.npz is a sequence of the file's arrays, or a map from their names to their
 * values; so is FILE.npz where that is the only input. */
bool inputs_read(const struct inputs *in, const char *argument, struct diag *d);

#endif
