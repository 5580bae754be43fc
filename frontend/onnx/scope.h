/*
 * Names of values while importing: a scope per graph, subgraphs see the ones around them, functions
 * do not.
 */
#ifndef FRONTEND_ONNX_SCOPE_H
#define FRONTEND_ONNX_SCOPE_H

#include "frontend/onnx/lower.h"

struct function;

struct opset {
    const char *domain;
    int version;
};

/* An attribute that a function's call gives to its body, with the scope its subgraphs see. */
struct actual {
    const char *name;
    const Onnx__AttributeProto *proto;
    struct scope *scope;
};

/* What is the same for all nodes of the main graph, or of one inlined function call. */
struct frame {
    const struct opset *opsets;
    int nopsets;
    const char *prefix; /* of node and value names: "" or "call/" */
    const struct actual *actuals;
    int nactuals;
    const struct function *function; /* NULL: the main graph */
    const struct frame *caller;
    int depth; /* of function calls */
};

struct scope {
    struct arena *arena;
    struct scope *outer; /* NULL at the top of a frame */
    struct frame *frame;
    struct scope_entry *entries; /* hash table */
    int count, cap;
};

struct scope *scope_new(struct arena *a, struct scope *outer, struct frame *frame);
/* False when the scope itself already has the name. `name` is copied. */
bool scope_define(struct scope *s, const char *name, struct value *v);
struct value *scope_find(const struct scope *s, const char *name); /* outwards; NULL when unknown */
/* Whether the name is defined, be it as an optional function input that a call leaves out (NULL).
 */
bool scope_has(const struct scope *s, const char *name);

#endif
