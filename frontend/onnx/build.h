/*
 * Building graph nodes in a lowering function: b_add(n->b, x, y), see passes/build.h. A failure is sticky, so that the
 * function only has to `return !diag_failed(n->b->d)`, or b_done(n, result).
 */
#ifndef FRONTEND_ONNX_BUILD_H
#define FRONTEND_ONNX_BUILD_H

#include "frontend/onnx/lower.h"
#include "passes/build.h"

/* Stores result 0 and says whether all went well. */
bool b_done(struct onnx_node *n, struct value *result);

/* What is known of a value. */
/* Fails with a message when the rank is not known. */
bool b_rank(struct onnx_node *n, const struct value *v, const char *what, int *rank);
/* An attribute's axis, made non-negative. */
bool b_axis(struct onnx_node *n, int64_t axis, int rank, int *out);
/* The integers of a constant operand (NULL when the value is not a constant). */
const struct tensor *b_constant(const struct value *v);

/* Fails unless operand i, if there is one, has these dims: at once, or by a guard. */
bool b_has_dims(struct onnx_node *n, int i, const char *name, const dim_t *dims, int rank);
/* Fails unless the attribute is left out or one of the words (NULL-terminated). */
bool b_is_one_of(struct onnx_node *n, const char *attribute, const char *const *words);
/* Fails unless the attribute is left out or has that value: what ONNX Runtime has for other devices only. */
bool b_has_default(struct onnx_node *n, const char *attribute, int64_t value);

/* The attributes without those named (NULL-terminated list of names). */
struct attrs b_attrs_without(struct onnx_node *n, const char *const *names);
/* Operand i, or NULL. */
static inline struct value *b_in(const struct onnx_node *n, int i)
{
    return i < n->nin ? n->in[i] : NULL;
}
/* An optional list attribute as a rank-1 i64 constant, or NULL when absent. */
struct value *b_ints_operand(struct onnx_node *n, const char *attribute);

#endif
