/*
 * Common subexpressions and dead code.
 */
#ifndef PASSES_CSE_H
#define PASSES_CSE_H

#include "passes/ir/ir.h"

/* Nodes with equal operator, operands and attributes become one, as do integer tensors whose
 * elements are known to be the same dims, and equal small constants. */
void merge_common(struct graph *g);
/* Nodes whose results nobody needs go, in all regions; so does what loops carry for themselves only. */
void remove_dead(struct graph *g);

#endif
