/*
 * Contents of small integer tensors through elementwise operators, so that shape arithmetic in a
 * model becomes arithmetic on dims.
 */
#ifndef RUNTIME_OPS_CONTENT_H
#define RUNTIME_OPS_CONTENT_H

#include "runtime/ops/common/ops.h"

/* Contents of result 0 of a UNARY, BINARY or COMPARE row, whose type is in f->out[0] already. y.n
 * is -1 for one operand. Elements that cannot be expressed make the whole result unknown. */
void content_elementwise(struct infer *f, struct content x, struct content y);
/* Element i (row-major in the result) of operand k's contents, numpy broadcasting. */
dim_t content_at(const struct infer *f, int k, struct content c, int64_t i);
/* Number of elements of a result of constant small shape, else -1. */
int64_t content_size(const struct type *t);
/* Whether the constant fits the type; expressions are taken to. */
bool content_fits(int dtype, dim_t v);
/* Far from the limits at which dims saturate, so that arithmetic is exact; expressions are taken to be. */
bool content_moderate(dim_t v);

/* Result 0 has operand 0's contents. */
void content_pass(struct infer *f);
/* A shape operand as a type's dims; false when unknown: then the rank alone may be known (else
 * RANK_UNKNOWN) and the dims are fresh symbols. */
bool content_shape(struct infer *f, int operand, struct type *out);

#endif
