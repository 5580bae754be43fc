/*
 * Building graph nodes, wherever they are made: importers give their struct builder the place and the name of what they
 * import, passes that of the node they rewrite.
 *
 * Every function places its node, infers the results' types, and returns the (first) result. A failure is sticky: it is
 * recorded in b->d, and results are NULL from then on.
 */
#ifndef PASSES_BUILD_H
#define PASSES_BUILD_H

#include "neff/core/guard.h"
#include "passes/ir/ir.h"

struct builder {
    struct graph *g;
    struct region *r;         /* where nodes go: to its end, */
    struct node *before;      /* or, unless NULL, before this one */
    const char *name, *source; /* of the nodes; they live as long as the graph */
    struct diag *d;
};

/* Before `at`, with its name and source; builder_like: with those of another node. */
struct builder builder_before(struct node *at, struct diag *d);
struct builder builder_like(struct node *at, const struct node *like, struct diag *d);

/* A node whose types are not inferred, so that regions may be added first. */
struct node *b_place(struct builder *b, enum op op, struct value *const *in, int nin, int nout,
                     const struct attrs *attrs);
bool b_infer(struct builder *b, struct node *n);
/* Any operator. attrs may be NULL; operands may be NULL where the operator admits it. */
struct node *b_node(struct builder *b, enum op op, struct value *const *in, int nin, int nout,
                    const struct attrs *attrs);
struct value *b_op(struct builder *b, enum op op, struct value *const *in, int nin,
                   const struct attrs *attrs);
/* Of operands that all must be there: NULL is the result of a failure. */
struct value *b_1(struct builder *b, enum op op, struct value *x);
struct value *b_2(struct builder *b, enum op op, struct value *x, struct value *y);
/* What the construction assumes about sizes that may be symbolic: a guard of the model, or, where
 * both are constant, a failure. `what` says whose sizes they are. */
bool b_require(struct builder *b, int kind, dim_t x, dim_t y, const char *what);

static inline struct value *b_add(struct builder *b, struct value *x, struct value *y)
{
    return b_2(b, OP_add, x, y);
}
static inline struct value *b_sub(struct builder *b, struct value *x, struct value *y)
{
    return b_2(b, OP_sub, x, y);
}
static inline struct value *b_mul(struct builder *b, struct value *x, struct value *y)
{
    return b_2(b, OP_mul, x, y);
}
static inline struct value *b_div(struct builder *b, struct value *x, struct value *y)
{
    return b_2(b, OP_div, x, y);
}

/* Constants. */
struct value *b_i64s(struct builder *b, const int64_t *v, int count); /* rank 1 */
struct value *b_i64(struct builder *b, int64_t v);                    /* rank 1, one element */
struct value *b_scalar(struct builder *b, int dtype, double v);       /* rank 0 */
struct value *b_like(struct builder *b, struct value *x, double v);   /* rank 0, x's type */
struct value *b_tensor(struct builder *b, const struct tensor *t);    /* borrowed */

/* p ? x : y */
struct value *b_select(struct builder *b, struct value *p, struct value *x, struct value *y);

/* Shapes and movement. Axes may be negative. */
struct value *b_cast(struct builder *b, struct value *x, int dtype); /* x itself when it has it */
struct value *b_shape(struct builder *b, struct value *x);
struct value *b_dim(struct builder *b, struct value *x, int axis); /* rank 1, one element */
struct value *b_reshape(struct builder *b, struct value *x, struct value *shape);
/* dims as the operand takes them: 0 keeps a dim, -1 is what remains. */
struct value *b_reshape_to(struct builder *b, struct value *x, const int64_t *dims, int rank);
/* x in the shape of another value of as many elements */
struct value *b_reshape_as(struct builder *b, struct value *x, struct value *model);
struct value *b_flatten(struct builder *b, struct value *x, int axis);
struct value *b_squeeze(struct builder *b, struct value *x, const int64_t *axes, int count);
struct value *b_unsqueeze(struct builder *b, struct value *x, const int64_t *axes, int count);
struct value *b_transpose(struct builder *b, struct value *x, const int64_t *perm, int rank);
/* A transpose, or a reshape where dims of size 1 alone move around; the shape is known. */
struct value *b_permute(struct builder *b, struct value *x, const int64_t *perm);
struct value *b_concat(struct builder *b, struct value *const *v, int count, int axis);
struct value *b_slice(struct builder *b, struct value *x, int64_t from, int64_t to, int axis);
struct value *b_gather(struct builder *b, struct value *x, struct value *indices, int axis);
/* axes NULL: all. */
struct value *b_reduce(struct builder *b, enum op op, struct value *x, const int64_t *axes,
                       int count, bool keepdims);

/* What is known of a value. */
int b_dtype(const struct value *v); /* DT_NONE when unknown */

#endif
