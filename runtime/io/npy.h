/*
 * NumPy's files: .npy holds one tensor, .npz a zip of named ones.
 *
 * Read: any byte order, either element order, every type of neff/core/dtype.def that NumPy has, and
 * strings (<U, |S). Types that NumPy lacks are stored as bit patterns (bf16 as uint16, 8-bit and
 * smaller floats as uint8, 2- and 4-bit integers one per byte); npy_as() gives them their type
 * back. Tensors own their memory.
 */
#ifndef RUNTIME_IO_NPY_H
#define RUNTIME_IO_NPY_H

#include "neff/core/tensor.h"

#include <stdio.h>

bool npy_read(const char *path, struct tensor *out, struct diag *d);
/* The same from memory; `name` stands for the file in messages. */
bool npy_read_bytes(const void *data, size_t size, const char *name, struct tensor *out,
                    struct diag *d);
/* Makes *t, as read, a tensor of `dtype` where that type is stored so; fails when it is neither. */
bool npy_as(struct tensor *t, int dtype, struct diag *d);

bool npy_write(const char *path, const struct tensor *t, struct diag *d);
/* The bytes of such a file; the caller checks the stream. */
void npy_put(FILE *f, const struct tensor *t);

struct npz_entry {
    char *name; /* without .npy */
    struct tensor t;
};
struct npz {
    struct npz_entry *entries; /* in the archive's order */
    int count;
};

/* Names become members NAME.npy, stored. At most 65535, below 4 GiB in all. */
bool npz_write(const char *path, const struct npz *z, struct diag *d);
bool npz_read(const char *path, struct npz *out, struct diag *d);
void npz_free(struct npz *z);

#endif
