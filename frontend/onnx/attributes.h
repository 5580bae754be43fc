/*
 * AttributeProto to struct attr, and attributes of functions' bodies that refer to the call's.
 */
#ifndef FRONTEND_ONNX_ATTRIBUTES_H
#define FRONTEND_ONNX_ATTRIBUTES_H

#include "frontend/onnx/scope.h"

/* An attribute of a node as it applies: itself, or what ref_attr_name stands for. */
struct resolved {
    const char *name;
    const Onnx__AttributeProto *proto; /* NULL: refers to an attribute that the call leaves out */
    struct scope *scope;
};
struct resolved attribute_resolve(const struct onnx_node *n, const Onnx__AttributeProto *a);
/* The kind letter of lower.h, by the type field or (old files) by what is filled in; '?' when
 * unclear. */
char attribute_kind(const Onnx__AttributeProto *a);
/* Fills n->attrs; checks kinds and required attributes against the schema, when there is one. */
bool attributes_convert(struct onnx_node *n, const struct schema *s);

#endif
