/*
 * The state of one import, shared by the importer's own files (lowering functions do not need it).
 */
#ifndef FRONTEND_ONNX_IMPORTER_H
#define FRONTEND_ONNX_IMPORTER_H

#include "frontend/onnx/scope.h"
#include "frontend/onnx/type_proto.h"

enum {
    NEWEST_OPSET = 28,
    NEWEST_ML = 5,
    NEWEST_IR = 14,
    MAX_CALL_DEPTH = 64,
    MAX_GRAPH_DEPTH = 48
};
/* Nodes after inlining functions: so many, and one for each byte of the file. Functions that call
 * each other twice double what is written with every level. */
enum { MAX_NODES = 100000 };

struct function { /* a model-local function */
    const char *domain, *name, *overload;
    const Onnx__FunctionProto *proto;
    const struct opset *opsets;
    int nopsets;
    const Onnx__AttributeProto *const
        *defaults; /* attribute_proto, newer than the packaged onnx.proto */
    int ndefaults;
    bool checked; /* by the search for unsupported operators */
};

struct importer {
    struct graph *g;
    struct onnx_file *file;
    const struct import_options *options;
    struct diag *d;
    struct dim_names dims;
    struct function *functions;
    int nfunctions;
    Onnx__AttributeProto **unpacked; /* from unknown fields; freed with the message */
    int nunpacked, unpacked_cap;
    int64_t nnodes;
    int depth; /* of subgraphs */
    bool rounded; /* folded weights were, and that has been said */
    bool learner; /* a node of ai.onnx.ml was met: a model of classical machine learning */
    /* lowering_find: the table of all lowering functions (ops.c). */
    struct onnx_lowering (*find)(const char *domain, const char *op, int version);
};

/* ---- functions.c ---- */

bool functions_read(struct importer *im);
struct function *function_find(struct importer *im, const Onnx__NodeProto *node);
/* The kernel of --kernels that a node of domain xcc.kernel calls; NULL when there is none. */
const struct kernel_entry *kernel_of_node(const struct importer *im, const Onnx__NodeProto *node);
/* "" for the default domain in both its spellings. */
const char *domain_name(const char *domain);
/* Version of the domain that the frame imports; 0 when it does not. */
int opset_version(const struct opset *opsets, int nopsets, const char *domain);
const struct opset *opsets_read(struct arena *a, Onnx__OperatorSetIdProto *const *imports, size_t n,
                                int *count);

/* ---- unsupported.c ---- */

/* Fails with a list of every operator that has no lowering. */
bool check_operators(struct importer *im, const Onnx__GraphProto *graph, const struct opset *opsets,
                     int nopsets);

/* ---- nodes.c ---- */

/* The graph's initializers as constants of the scope. */
bool import_initializers(struct importer *im, struct scope *s, const Onnx__GraphProto *graph);
bool import_nodes(struct importer *im, struct region *r, struct scope *s,
                  Onnx__NodeProto *const *nodes, size_t n);

#endif
