/*
 * TensorProto to struct tensor, in every storage form: raw bytes, typed fields, lifted payloads,
 * external files, sparse tensors; 4- and 2-bit elements come out one per byte. And the .pb files of
 * test cases.
 */
#ifndef FRONTEND_ONNX_TENSOR_PROTO_H
#define FRONTEND_ONNX_TENSOR_PROTO_H

#include "frontend/onnx/onnx_file.h"

/*
 * *out borrows from f's mappings when the bytes can be used in place, else owns its memory. f may
 * be NULL: a message without references and without external data.
 */
bool onnx_tensor(struct onnx_file *f, const Onnx__TensorProto *t, struct tensor *out,
                 struct diag *d);
/* Dense form of a sparse tensor; owns its memory. */
bool onnx_sparse_tensor(struct onnx_file *f, const Onnx__SparseTensorProto *s, struct tensor *out,
                        struct diag *d);

/*
 * Reads a file's bytes that hold a TensorProto, SequenceProto, OptionalProto or MapProto: which one says
 * `declared`, the model's type for the value (NULL or VK_NONE: a TensorProto). `name` is the file's, for
 * messages. *out owns its memory.
 */
bool onnx_read_tensor_bytes(const void *data, size_t size, const char *name, struct tensor *out,
                            const struct type *declared, struct diag *d);

#endif
