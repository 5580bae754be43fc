/*
 * The lowering functions of all families, and the rows that name them.
 */
#ifndef FRONTEND_ONNX_OPS_H
#define FRONTEND_ONNX_OPS_H

#include "frontend/onnx/build.h"

#define ROW(domain, op, from, to, lower) bool lower(struct onnx_node *n);
#include "frontend/onnx/ops.def"

/* ops_kernel.c: every operator of that domain is a kernel written by hand. */
bool is_kernel_domain(const char *domain);
bool lower_kernel(struct onnx_node *n);

#endif
