/*
 * What shape rules demand of sizes.
 *
 * Sizes that are constant are judged at once; what cannot be told yet becomes a guard of the
 * program (neff/core/guard.h), checked when it runs. A rule that assumes anything about a symbolic
 * dim calls one of these, so that the compiled program refuses what the rule would refuse.
 *
 * `what` says whose sizes they are, for the message: "channels", "summed dimension"; NULL: the
 * operands `i` and `k` by name (-1: none). `dimension`: where, -1: nowhere in particular.
 */
#ifndef RUNTIME_OPS_REQUIRE_H
#define RUNTIME_OPS_REQUIRE_H

#include "runtime/ops/common/ops.h"

struct site {
    int i, k; /* operands whose sizes they are; -1: none */
    int dimension;
    const char *what;
};

/* A site of operands i and k, or of what `what` names. */
static inline struct site between(int i, int k, int dimension)
{
    return (struct site){i, k, dimension, NULL};
}
static inline struct site named(const char *what, int i, int dimension)
{
    return (struct site){i, -1, dimension, what};
}

bool require(struct infer *f, int kind, dim_t a, dim_t b, struct site at);

static inline bool require_equal(struct infer *f, dim_t a, dim_t b, struct site at)
{
    return require(f, GUARD_EQUAL, a, b, at);
}
static inline bool require_at_most(struct infer *f, dim_t a, dim_t b, struct site at)
{
    return require(f, GUARD_AT_MAX, a, b, at);
}
static inline bool require_multiple(struct infer *f, dim_t a, dim_t b, struct site at)
{
    return require(f, GUARD_MULTIPLE, a, b, at);
}
/* As require_equal; of the two the one that says more goes to *out: a constant, or what is known
 * before running. */
bool require_same(struct infer *f, dim_t a, dim_t b, struct site at, dim_t *out);
/* Both ways (numpy): the size of the result goes to *out. */
bool require_broadcast(struct infer *f, dim_t a, dim_t b, struct site at, dim_t *out);
/* One way: a is 1 or b. */
static inline bool require_expand(struct infer *f, dim_t a, dim_t b, struct site at)
{
    return require(f, GUARD_EXPAND, a, b, at);
}
/* Operand i, unless it is left out or of unknown rank, has exactly these dims; `what` is its role.
 */
bool require_shape(struct infer *f, int i, const char *what, int rank, const dim_t *dims);
/* Operand i broadcasts to type t without stretching it. */
bool require_expands_to(struct infer *f, int i, const struct type *t);

#endif
