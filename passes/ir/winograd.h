/*
 * Which convolutions Winograd's method can compute, for the pass that decides in which type their
 * operands are stored and for the backend.
 */
#ifndef PASSES_IR_WINOGRAD_H
#define PASSES_IR_WINOGRAD_H

#include "neff/isa/conv_cost.h"
#include "passes/ir/ir.h"

/* A dense 3x3 convolution of stride 1 by constant weights, channels last; its size. */
bool winograd_can(const struct node *n, struct conv_size *size);

#endif
