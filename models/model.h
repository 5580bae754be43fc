/*
 * A model under construction, and how it becomes model.onnx.
 *
 * Builders (resnet.c, bert.c, ...) call emit() and weight() in execution order; values are their
 * names. Everything but the weights' contents lives in the model's arena; weights are rules
 * (fill.h) and are generated while the file is written, 64 KiB at a time.
 *
 * Names follow PyTorch's exporter: initializers "layer1.0.conv1.weight", nodes
 * "/layer1/0/conv1/Conv_12", their outputs "<node>_output_0".
 */
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H

#include "models/fill.h"
#include "neff/base/arena.h"
#include "neff/base/diag.h"

#include <onnx/onnx.pb-c.h>

enum { MAX_RANK = 5 };

/* One dimension of an input or output: a number, or a symbol with the size that --static gives it
 * (test_data_set_0 has that size too) and another one that test_data_set_1 has. */
struct dim {
    const char *symbol; /* NULL: always `size` */
    int64_t size, other;
};

struct port {
    const char *name;
    int element_type;
    int rank;
    struct dim dims[MAX_RANK];
    struct fill fill; /* contents of test inputs; unused for outputs */
};

struct weight {
    const char *name;
    int rank;
    int64_t dims[MAX_RANK];
    struct fill fill;
};

struct onnx_model {
    struct arena *arena;
    const char *name;
    const char *seed; /* weights depend on it and on their names: equal seeds, equal weights */
    bool tiny;        /* small widths and few repeated layers, same structure */
    bool fixed;       /* --static: no symbols, shapes are constants */
    int opset;
    char scope[200]; /* "encoder.layer.3", empty at top level */
    Onnx__NodeProto **nodes;
    int node_count, node_cap;
    struct weight *weights;
    int weight_count, weight_cap;
    struct port *inputs, *outputs;
    int input_count, input_cap, output_count, output_cap;
    int64_t macs; /* multiply-accumulates of matmuls and convolutions at the sizes of data set 0 */
};

/* Names below are in a scope until the matching scope_leave(mark). */
size_t scope_enter(struct onnx_model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void scope_leave(struct onnx_model *m, size_t mark);

/* Inputs and outputs, in graph order. IMAGE and TOKENS inputs take their contents from `fill`. */
const char *model_input(struct onnx_model *m, const char *name, struct fill fill, int rank,
                        const struct dim *dims);
/* `value` is renamed: the node that made it now produces `name`. Call after its last use. */
void model_output(struct onnx_model *m, const char *name, const char *value, int rank,
                  const struct dim *dims);

/* An initializer named SCOPE.name. */
const char *weight(struct onnx_model *m, const char *name, struct fill fill, int rank,
                   const int64_t *dims);

enum attribute_kind { ATTRIBUTE_INT = 1, ATTRIBUTE_FLOAT, ATTRIBUTE_INTS };
struct attribute {
    const char *name; /* NULL ends a list */
    enum attribute_kind kind;
    int64_t i;
    float f;
    int count;
    int64_t ints[8];
};
#define INPUTS(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})
#define INT(n, v)                                                                                  \
    {                                                                                              \
        .name = (n), .kind = ATTRIBUTE_INT, .i = (v)                                               \
    }
#define FLOAT(n, v)                                                                                \
    {                                                                                              \
        .name = (n), .kind = ATTRIBUTE_FLOAT, .f = (v)                                             \
    }
#define INTS(n, c, ...)                                                                            \
    {                                                                                              \
        .name = (n), .kind = ATTRIBUTE_INTS, .count = (c), .ints = { __VA_ARGS__ }                 \
    }
#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/*
 * Adds a node with one output and returns the output's name; `attributes` may be NULL. Two calls
 * that add nodes must not stand in one argument list: C leaves their order to the compiler.
 */
const char *emit(struct onnx_model *m, const char *op, const char *const *inputs,
                 const struct attribute *attributes);
/* The same with several outputs, whose names are stored. */
void emit_many(struct onnx_model *m, const char *op, const char *const *inputs,
               const struct attribute *attributes, int output_count, const char **outputs);

/* Constant nodes, as exporters write small numbers. */
const char *constant_float(struct onnx_model *m, float v);           /* rank 0 */
const char *constant_int(struct onnx_model *m, int64_t v);           /* rank 0 */
const char *constant_ints(struct onnx_model *m, int n, const int64_t *v); /* rank 1 */

/* Writes FOLDER/model.onnx, with `external` also FOLDER/model.onnx.data, both or none. */
bool model_write(const struct onnx_model *m, const char *folder, bool external, struct diag *d);
/* Writes FOLDER/test_data_set_{0,1}/input_N.npy; set 1 only if a dimension is symbolic. */
bool model_write_inputs(const struct onnx_model *m, const char *folder, struct diag *d);

#endif
