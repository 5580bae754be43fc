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

/* ops_kernel.c: every operator of that domain is a kernel written by hand. */
bool is_kernel_domain(const char *domain);
bool lower_kernel(struct onnx_node *n);

#endif
