/*
 * TypeProto to struct type: symbolic dims become symbols of the graph's dim table.
 */
#ifndef FRONTEND_ONNX_TYPE_PROTO_H
#define FRONTEND_ONNX_TYPE_PROTO_H

#include "frontend/import.h"
#include "onnx.pb-c.h"
#include "passes/ir/ir.h"

/* Names of the model's dims and what they stand for; lives in the graph's arena. */
struct dim_names {
    struct graph *g;
    const Onnx__GraphProto *graph; /* the model's; names of its inputs' dims may be added up */
    struct dim_name {
        const char *name; /* the model's dim_param */
        dim_t dim;        /* a symbol, a sum of them, or the constant that --shape bound */
    } * list;
    int count, cap;
};

/*
 * The type of a graph input. `stem` names its unnamed dims (`stem_d0`); NULL makes them unknown
 * symbols of no use outside, and keeps dim_params apart from those of inputs as far as they are not
 * among them.
 */
bool onnx_type(struct dim_names *names, const Onnx__TypeProto *t, const char *stem,
               struct type *out, struct diag *d);

/* Applies --shape: inputs' symbolic dims and plain symbols become constants. Before the first
 * onnx_type. */
bool onnx_bind_shapes(struct dim_names *names, const Onnx__GraphProto *graph,
                      const struct import_options *o, struct diag *d);
/* Replaces the dims of input `name` by what --shape says, after onnx_type. */
bool onnx_bind_input(struct dim_names *names, const char *name, const struct import_options *o,
                     struct type *t, struct diag *d);

#endif
