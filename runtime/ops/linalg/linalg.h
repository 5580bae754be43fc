/*
 * Dense linear algebra: one matrix of a batch, as its routine sees it.
 *
 * Routines of our own compute in double, or in double complex, on matrices row by row; those of LAPACK in the
 * element type, column by column.
 */
#ifndef RUNTIME_OPS_LINALG_H
#define RUNTIME_OPS_LINALG_H

#include "runtime/ops/common/numeric.h"

#include <string.h>

enum { LINALG_OPERANDS = 4, LINALG_RESULTS = 7 };

struct linalg_call {
    struct work *w;
    const struct attrs *attrs;
    int64_t m, n, k, h, r, s, u, v; /* sizes, see routines.def */
    int dtype;                      /* T */
    int parts;                      /* doubles of an element, for OWN: 1 or 2 */
    /* Of one matrix: double or double complex (OWN), or elements of the word's type (LIBRARY). Results
     * are zeros when the routine begins. NULL: there is none, or it is not wanted. */
    void *in[LINALG_OPERANDS], *out[LINALG_RESULTS];
    int64_t in_count[LINALG_OPERANDS], out_count[LINALG_RESULTS]; /* elements */
    size_t in_size[LINALG_OPERANDS];                              /* bytes of one */
    void *scratch;
};

typedef bool (*linalg_fn)(struct linalg_call *c);

#define ROUTINE_OWN(name) bool own_##name(struct linalg_call *c);
#define ROUTINE_LIBRARY(name) bool library_##name(struct linalg_call *c);
#define ROUTINE(name, provider, operands, results, letters, doc) ROUTINE_##provider(name)
#include "runtime/ops/linalg/routines.def"
#undef ROUTINE_OWN
#undef ROUTINE_LIBRARY

/* Of n elements of a matrix, for OWN. */
static inline size_t linalg_bytes(const struct linalg_call *c, int64_t n)
{
    return (size_t)(n * c->parts) * sizeof(double);
}

/* Memory of n elements, the same for each matrix of a batch; NULL after a failure. */
static inline void *linalg_scratch(struct linalg_call *c, int64_t n)
{
    return c->scratch ? c->scratch : (c->scratch = work_take(c->w, n + 1, linalg_bytes(c, 1)));
}

/* Results copied from the operand they overwrite; the sizes are equal. */
static inline void linalg_overwrite(struct linalg_call *c, int result, int operand)
{
    memcpy(c->out[result], c->in[operand], (size_t)c->in_count[operand] * c->in_size[operand]);
}

/* An attribute that is a number, or a letter of routines.def; `otherwise` when it is missing. */
static inline int64_t linalg_job(const struct linalg_call *c, const char *name, int64_t otherwise)
{
    return attr_int(c->attrs, name, otherwise);
}

#endif
