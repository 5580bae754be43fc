/*
 * Kernels of graph nodes: the builder of backend/tile, under a node's name.
 */
#ifndef BACKEND_KERNELS_H
#define BACKEND_KERNELS_H

#include "backend/lower/lower.h"
#include "backend/tile/builder.h"

/* A kernel that computes a node, launched next in the region that is being lowered. name NULL or "": that of its first
 * result. The instructions are not checked one by one: on strict targets they are staged first, and all programs are
 * checked when they are finished. */
struct kernel_builder begin_kernel(struct lowering *l, const struct node *n, const char *name);

#endif
