#ifndef XCC_PASSES_EVALUATE_H
#define XCC_PASSES_EVALUATE_H
/*
 * Operators run while compiling, by their plain routines (runtime/ops): constant folding keeps what they give as
 * constants, shape inference as what is known of a value.
 */
#include "passes/ir/ir.h"

/* False for operators that may give something else the next time, end a region or have regions. */
bool may_evaluate(const struct node *n);

/* Runs n on in[n->nin] (NULL: left out) into results[n->nout], whose tensors the caller frees, also after a failure.
 * max_bytes: that results may take together. d says why it failed; d->memory: for want of memory. */
bool evaluate_node(const struct node *n, const struct tensor *const *in, struct tensor *results, int64_t max_bytes,
                   struct diag *d);

/* Bytes of a value of known size, INT64_MAX when they are more than that; -1 when it is not known. */
int64_t static_bytes(const struct type *t);

/* A copy in the arena, containers and strings included. */
struct tensor arena_tensor(struct arena *a, const struct tensor *t);

/* What infer_node keeps of n's results where all that n reads is known and is little: value->computed, and the contents
 * of integers that no shape rule told. False for want of memory alone. */
bool compute_results(struct graph *g, struct node *n, struct diag *d);

/* A tensor of the contents that inference knows of integers, when all are constants of v's type; NULL: they are not, or
 * d says that memory is short. */
const struct tensor *tensor_of_content(struct arena *a, const struct value *v, struct diag *d);

/* The elements of v where they are known while compiling: of a constant, or computed; NULL otherwise. */
const struct tensor *known_tensor(const struct value *v);

#endif
