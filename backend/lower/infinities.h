/*
 * Infinities and NaNs that a model brings along, such as the minus infinity of a mask.
 */
#ifndef BACKEND_LOWER_INFINITIES_H
#define BACKEND_LOWER_INFINITIES_H

#include "passes/ir/ir.h"

/* Whether elements of a constant that are no finite numbers become elements of the value: moved, chosen, added or
 * multiplied. What overflows, and what inputs hold, is not known when compiling. */
bool brings_infinities(const struct graph *g, const struct value *v);

#endif
