/*
 * One builder per row of models.def: fills an empty `struct onnx_model` (name, seed, `tiny` and
 * `fixed` are set) with nodes, weights, inputs and outputs. Builders cannot fail.
 */
#ifndef MODELS_BUILDERS_H
#define MODELS_BUILDERS_H

#include "models/model.h"

#define MODEL(name, builder, opset, what) void builder(struct onnx_model *m);
#include "models/models.def"
#undef MODEL

#endif
