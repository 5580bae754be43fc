/*
 * Dense linear algebra: one matrix of a batch, as its routine sees it.
 *
 * Matrices are column by column, the first column first, as LAPACK has them. Routines of our own
 * compute in double complex whatever the element type; those of LAPACK in that type.
 */
#ifndef RUNTIME_OPS_LINALG_H
#define RUNTIME_OPS_LINALG_H

#include "runtime/ops/common/numeric.h"

#include <complex.h>

enum { LINALG_OPERANDS = 4, LINALG_RESULTS = 7 };

struct linalg_call {
    struct work *w;
    const struct attrs *attrs;
    int64_t m, n, k, h, r, s, u, v; /* sizes, see routines.def */
    int dtype;                      /* T */
    /* Of one matrix: double complex (OWN), or elements of the word's type (LIBRARY). Results are
     * zeros when the routine begins. NULL: there is none, or it is not wanted. */
    void *in[LINALG_OPERANDS], *out[LINALG_RESULTS];
    int64_t in_count[LINALG_OPERANDS], out_count[LINALG_RESULTS]; /* elements */
    size_t in_size[LINALG_OPERANDS];                              /* bytes of one, for LIBRARY */
};

typedef bool (*linalg_fn)(struct linalg_call *c);

#define ROUTINE_OWN(name) bool own_##name(struct linalg_call *c);
#define ROUTINE_LIBRARY(name) bool library_##name(struct linalg_call *c);
#define ROUTINE(name, provider, operands, results, letters, doc) ROUTINE_##provider(name)
#include "runtime/ops/linalg/routines.def"
#undef ROUTINE_OWN
#undef ROUTINE_LIBRARY

/* An attribute that is a number, or a letter of routines.def; `otherwise` when it is missing. */
static inline int64_t linalg_job(const struct linalg_call *c, const char *name, int64_t otherwise)
{
    return attr_int(c->attrs, name, otherwise);
}

#endif
