/*
 * One builder per row of models.def: fills an empty `struct model` (name, seed, `tiny` and
 * `fixed` are set) with nodes, weights, inputs and outputs. Builders cannot fail.
 */
#ifndef MODELS_BUILDERS_H
#define MODELS_BUILDERS_H

#include "models/model.h"

#define MODEL(name, builder, opset, what) void builder(struct model *m);
#include "models/models.def"
#undef MODEL

#endif
