/*
 * Nodes in an order in which each follows those whose results it reads. ONNX asks for that order;
 * ONNX Runtime takes any, and so do we.
 */
#ifndef FRONTEND_ONNX_SORT_H
#define FRONTEND_ONNX_SORT_H

#include "frontend/onnx/onnx.h"

/* The list itself when it is in order; else a sorted one in the arena, nodes as early as they were
 * where they may be. Nodes of a cycle keep their places: whoever reads them reports it. */
Onnx__NodeProto *const *nodes_in_order(struct arena *a, Onnx__NodeProto *const *nodes, size_t n);

#endif
