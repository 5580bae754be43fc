/*
 * The lowering functions of all families, and the rows that name them.
 */
#ifndef FRONTEND_ONNX_OPS_H
#define FRONTEND_ONNX_OPS_H

#include "frontend/onnx/build.h"

#define ROW(domain, op, from, to, lower) bool lower(struct onnx_node *n);
#include "frontend/onnx/ops.def"

/* ops_contrib.c: bytes that hold 8 / bits values each along the last dim, the first in the low bits, as one value a
 * byte. */
struct value *values_of_bytes(struct onnx_node *n, struct value *x, int rank, int bits);

/* ops_qlinear.c: the same of constant rows of row_bytes each: a constant (rows,count). */
struct value *rows_of_bytes(struct onnx_node *n, const uint8_t *from, int bits, int64_t rows, int64_t row_bytes,
                            int64_t count);

/* ops_transformer.c: (B,S,heads*D) to (B,heads,S,D), and back; 0, 1, ... up to a length of rank 1 or a scalar;
 * attention with the node's scale, and a mask that is added or NULL. */
struct value *split_heads(struct onnx_node *n, struct value *x, int64_t heads);
struct value *join_heads(struct onnx_node *n, struct value *x);
struct value *count_up(struct onnx_node *n, struct value *length);
struct value *attend(struct onnx_node *n, struct value *q, struct value *k, struct value *v, struct value *mask);

/* ops_kernel.c: every operator of that domain is a kernel written by hand. */
bool is_kernel_domain(const char *domain);
bool lower_kernel(struct onnx_node *n);

#endif
