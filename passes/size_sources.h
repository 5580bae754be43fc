/*
 * Values of which sizes of tensors are computed: what a text-to-speech model says of the length of its sound, say.
 * Rounded to few bits they would be other sizes, which is no error of an element.
 */
#ifndef PASSES_SIZE_SOURCES_H
#define PASSES_SIZE_SOURCES_H

#include "passes/ir/ir.h"

/* By value id, up to g->next_value: whether a size depends on the value's elements. How many elements a condition picks
 * (NonZero, Compress, Unique, NonMaxSuppression) is a choice, not a size that is computed. */
const bool *size_sources(struct graph *g, struct arena *arena);

#endif
