/*
 * An ONNX model file, open: the unpacked message, and the memory that constants borrow from (the
 * mapped file, mapped external data, converted payloads). The graph keeps it until it is freed; the
 * message goes earlier.
 */
#ifndef FRONTEND_ONNX_ONNX_FILE_H
#define FRONTEND_ONNX_ONNX_FILE_H

#include "neff/base/file.h"
#include "neff/core/tensor.h"
#include "onnx.pb-c.h"

struct onnx_external { /* a mapped file of external data */
    char *location;
    struct mapped_file map;
};

struct onnx_file {
    const char *path;
    struct mapped_file map;
    Onnx__ModelProto *model; /* NULL after onnx_file_drop_message */
    struct onnx_external *externals;
    int nexternals;
    struct tensor **owned; /* tensors with memory of their own */
    int nowned, owned_cap;
};

/* Opens and unpacks a ModelProto; NULL after a failure. `path` must outlive it. */
struct onnx_file *onnx_file_open(const char *path, struct diag *d);
void onnx_file_drop_message(struct onnx_file *f);
void onnx_file_close(struct onnx_file *f);

/*
 * Bytes [offset, offset + size) of an external data file; size -1: to its end. `location` is
 * relative to the model's folder and may not leave it.
 */
const uint8_t *onnx_file_external(struct onnx_file *f, const char *location, int64_t offset,
                                  int64_t *size, struct diag *d);

/* A tensor with memory of its own that lives as long as the file; *t is moved from. NULL when
 * memory is short. */
const struct tensor *onnx_file_keep(struct onnx_file *f, struct tensor *t, struct diag *d);

#endif
