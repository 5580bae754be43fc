/*
 * Small helpers of passes that replace nodes; build.h makes those that take their place.
 */
#ifndef PASSES_REWRITE_H
#define PASSES_REWRITE_H

#include "passes/build.h"
#include "passes/cse.h"
#include "passes/pass.h"

/* What a visit of nodes needs, in passes that keep nothing else. */
struct rewriter {
    struct graph *g;
    const struct options *o;
    struct diag *d;
};

/* Casts of values to one type: each is made once, right after its value, where every reader finds it. */
struct casts {
    struct value **of; /* by the value's number */
    int nvalues;
};
/* Where the cast of v is kept, NULL as long as there is none. */
struct value **cast_of(struct casts *c, struct graph *g, const struct value *v);
struct value *cast_at_source(struct value *v, int dtype, struct diag *d);
/* Where v is computed or comes in: before this node it is at hand. */
struct node *after_source(const struct value *v);

/* Readers of n's only result read `with` instead, which takes its name when it has none; removes n.
 * False when `with` is NULL: what made it failed. */
bool node_replace(struct node *n, struct value *with);

/* A float constant with the elements of a double array, rounded to dtype. */
struct value *constant_floats(struct graph *g, int dtype, int rank, const int64_t *dims,
                              const double *v, const char *name);
/* A constant of the type whose elements the caller writes to its data; NULL: there is no memory. */
struct value *constant_unwritten(struct graph *g, int dtype, int rank, const int64_t *dims, const char *name,
                                 struct diag *d);
/* An FP32 vector over n channels as a constant that broadcasts against N,C,spatial... of that rank, or ...,C when
 * channels come last. */
struct value *constant_channels(struct graph *g, const double *v, int64_t n, int rank, bool last, const char *name);
/* n ones in FP32. */
struct value *constant_ones(struct graph *g, int64_t n);
/* The FP32 constant with the elements of index i along the axis times scale[i], computed in double and rounded once;
 * NULL: there is no memory. */
struct value *constant_scaled(struct graph *g, const struct value *v, int axis, const double *scale);
/* The constant's elements as doubles, in the arena. */
double *constant_doubles(struct graph *g, const struct value *v);

/* Calls visit for each node of the region and inner regions, in order; visit may replace or remove
 * the node it is given and insert nodes before it. Stops at false. */
bool for_each_node(struct region *r, bool (*visit)(struct node *n, void *user), void *user);

#endif
