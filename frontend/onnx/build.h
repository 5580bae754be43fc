/*
 * Building graph nodes in a lowering function: b_add(n, x, y).
 *
 * Every function places its node at the end of n->r, infers the results' types, and returns the
 * (first) result. A failure is sticky: it is recorded in n->d, results are NULL from then on, and
 * the lowering function only has to `return !diag_failed(n->d)`, or b_done(n, result).
 */
#ifndef FRONTEND_ONNX_BUILD_H
#define FRONTEND_ONNX_BUILD_H

#include "frontend/onnx/lower.h"
#include "neff/core/guard.h"

/* Any operator. attrs may be NULL; operands may be NULL where the operator admits it. */
struct node *b_node(struct onnx_node *n, enum op op, struct value *const *in, int nin, int nout,
                    const struct attrs *attrs);
struct value *b_op(struct onnx_node *n, enum op op, struct value *const *in, int nin,
                   const struct attrs *attrs);
struct value *b_1(struct onnx_node *n, enum op op, struct value *x);
struct value *b_2(struct onnx_node *n, enum op op, struct value *x, struct value *y);
/* What the construction assumes about sizes that may be symbolic: a guard of the model, or, where
 * both are constant, a failure. `what` says whose sizes they are. */
bool b_require(struct onnx_node *n, int kind, dim_t a, dim_t b, const char *what);
/* Stores result 0 and says whether all went well. */
bool b_done(struct onnx_node *n, struct value *result);

static inline struct value *b_add(struct onnx_node *n, struct value *x, struct value *y)
{
    return b_2(n, OP_add, x, y);
}
static inline struct value *b_sub(struct onnx_node *n, struct value *x, struct value *y)
{
    return b_2(n, OP_sub, x, y);
}
static inline struct value *b_mul(struct onnx_node *n, struct value *x, struct value *y)
{
    return b_2(n, OP_mul, x, y);
}
static inline struct value *b_div(struct onnx_node *n, struct value *x, struct value *y)
{
    return b_2(n, OP_div, x, y);
}

/* Constants. */
struct value *b_i64s(struct onnx_node *n, const int64_t *v, int count); /* rank 1 */
struct value *b_i64(struct onnx_node *n, int64_t v);                    /* rank 1, one element */
struct value *b_scalar(struct onnx_node *n, int dtype, double v);       /* rank 0 */
struct value *b_like(struct onnx_node *n, struct value *x, double v);   /* rank 0, x's type */
struct value *b_tensor(struct onnx_node *n, const struct tensor *t);    /* borrowed */

/* Shapes and movement. Axes may be negative. */
struct value *b_cast(struct onnx_node *n, struct value *x, int dtype); /* x itself when it has it */
struct value *b_shape(struct onnx_node *n, struct value *x);
struct value *b_dim(struct onnx_node *n, struct value *x, int axis); /* rank 1, one element */
struct value *b_reshape(struct onnx_node *n, struct value *x, struct value *shape);
/* x in the shape of another value of as many elements */
struct value *b_reshape_as(struct onnx_node *n, struct value *x, struct value *model);
struct value *b_reshape_to(struct onnx_node *n, struct value *x, const int64_t *shape, int rank);
struct value *b_flatten(struct onnx_node *n, struct value *x, int axis);
struct value *b_squeeze(struct onnx_node *n, struct value *x, const int64_t *axes, int count);
struct value *b_unsqueeze(struct onnx_node *n, struct value *x, const int64_t *axes, int count);
struct value *b_transpose(struct onnx_node *n, struct value *x, const int64_t *perm, int rank);
struct value *b_concat(struct onnx_node *n, struct value *const *v, int count, int axis);
struct value *b_slice(struct onnx_node *n, struct value *x, int64_t from, int64_t to, int axis);
struct value *b_gather(struct onnx_node *n, struct value *x, struct value *indices, int axis);
/* axes NULL: all. */
struct value *b_reduce(struct onnx_node *n, enum op op, struct value *x, const int64_t *axes,
                       int count, bool keepdims);

/* What is known of a value. */
int b_dtype(const struct value *v); /* DT_NONE when unknown */
/* Fails with a message when the rank is not known. */
bool b_rank(struct onnx_node *n, const struct value *v, const char *what, int *rank);
/* An attribute's axis, made non-negative. */
bool b_axis(struct onnx_node *n, int64_t axis, int rank, int *out);
/* The integers of a constant operand (NULL when the value is not a constant). */
const struct tensor *b_constant(const struct value *v);

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
