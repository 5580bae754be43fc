/*
 * One ONNX node on its way into the graph, and the table of how each operator gets there.
 *
 * The importer resolves a node's operands and attributes and hands them to the operator's lowering
 * function, which builds with build.h and stores the results in n->out. Operators whose newest
 * meaning is a row of op.def need no function: the row's `onnx` column is their entry. The table
 * (ops.c) holds everything else: older versions whose meaning differs, and compositions. An
 * addition is a row there and a function in its family's file.
 */
#ifndef FRONTEND_ONNX_LOWER_H
#define FRONTEND_ONNX_LOWER_H

#include "frontend/onnx/onnx.h"
#include "passes/build.h"

struct importer;
struct scope;

enum { SPARE_INPUTS = 16 }; /* as many as any operator has optional inputs */

struct onnx_node {
    struct importer *im;
    struct builder b[1]; /* of its nodes; the name is never empty: the first output's when the node has none */
    struct scope *scope;
    const Onnx__NodeProto *proto;
    const char *op, *domain;
    int version; /* of the operator set that the model imports */
    int nin, nout;
    struct value **in;  /* NULL: left out; trailing ones are dropped, SPARE_INPUTS of NULL follow */
    struct value **out; /* to be set by the lowering function; those not wanted may stay NULL */
    bool *wanted;       /* the result has a name in the model */
    struct attrs attrs; /* converted, except graphs; graph constants hold their tensors */
};

typedef bool (*lower_fn)(struct onnx_node *n);

struct op_row {
    const char *op;
    int16_t from, to; /* operator set versions, inclusive */
    lower_fn lower;
};
enum { NEWEST = 32767 };

/* What a schema says, all versions together (schema.def). */
struct schema {
    const char *domain, *op;
    int16_t since;                            /* first version */
    int16_t min_in, max_in, min_out, max_out; /* max -1: any number */
    const char *types;                        /* signature of the inputs (neff/core/signature.h) */
    const char *attributes; /* `name:kinds` each, `=types` and `!` after it (schema.def) */
};
extern const struct schema schemas[];
extern const int nschemas;
const struct schema *schema_find(const char *domain, const char *op); /* NULL when unknown */
/* Whether the schema has an attribute and admits the kind. */
enum attribute_check { ATTRIBUTE_OK, ATTRIBUTE_UNKNOWN, ATTRIBUTE_WRONG_KIND };
enum attribute_check schema_check(const struct schema *s, const char *attribute, char kind,
                                  const char **expected);
/* Fails where an int is to be an element type, and is none of those; n: whose attribute it is. */
bool schema_check_type(const struct schema *s, struct onnx_node *n, const char *attribute, int64_t value);
/* A required attribute for which has() is false, or NULL. The name lives in the arena. */
const char *schema_missing(const struct schema *s, struct arena *a,
                           bool (*has)(void *user, const char *name), void *user);

struct onnx_lowering {
    lower_fn lower; /* NULL: not supported */
    enum op op;     /* for lower_same */
};
/* ops.c */
struct onnx_lowering lowering_find(const char *domain, const char *op, int version);
/* build.c: the row of op.def with that ONNX spelling; OP_COUNT when there is none. */
enum op core_op(const char *domain, const char *name);
bool lower_same(struct onnx_node *n); /* that row, as it is */

#define NODE_ERROR(n, ...) fail((n)->b->d, __VA_ARGS__)

/* ---- what control flow needs from the importer (nodes.c) ---- */

struct subgraph {
    const Onnx__GraphProto *graph;
    struct scope *scope; /* that its free names are resolved in */
};
/* A graph attribute; fails when it is absent or of another kind. */
bool node_subgraph(struct onnx_node *n, const char *attribute, struct subgraph *s);
bool node_has_subgraph(struct onnx_node *n, const char *attribute);
/*
 * Fills a region from a subgraph, with its `return`. Parameters are made from the subgraph's
 * inputs; `types` (nparams of them) say what the importer knows about each. They must agree in
 * number.
 */
bool import_region(struct onnx_node *n, const struct subgraph *s, struct region *r,
                   const struct type *types, int nparams);
/* The subgraph's nodes put into n->b->r, on the given arguments; writes the subgraph's results. */
bool import_inline(struct onnx_node *n, const struct subgraph *s, struct value *const *args,
                   int nargs, struct value **results, int nresults);
/* Declared type of a subgraph's output; kind VK_NONE when there is none. */
bool subgraph_output_type(struct onnx_node *n, const struct subgraph *s, int i, struct type *t);
/* The number that dim `axis` of an input is declared as; negative unless it is, and the rank is that. */
int64_t subgraph_input_dim(const struct subgraph *s, int i, int axis, int rank);
/* A constant from a sparse_value attribute; NULL when absent or after a failure. */
struct value *node_sparse_constant(struct onnx_node *n, const char *attribute);

#endif
