/*
 * The ONNX importer: a model file to a graph.
 *
 * Every operator version is brought to the newest meaning here, so that the graph knows one
 * spelling of each operator: attributes that became inputs, old broadcasting, changed defaults,
 * compositions. Control flow becomes regions; model-local functions are inlined. The types of
 * values are inferred on the way.
 */
#ifndef FRONTEND_ONNX_ONNX_H
#define FRONTEND_ONNX_ONNX_H

#include "frontend/import.h"
#include "frontend/onnx/tensor_proto.h"
#include "passes/ir/ir.h"

/*
 * NULL after a failure; d->unsupported is set when the model is valid but uses operators we lack,
 * and the message then lists all of them. Constants borrow from the mapped file, which the graph
 * keeps until graph_free.
 */
struct graph *onnx_import(const char *path, const struct import_options *o, struct diag *d);

#endif
