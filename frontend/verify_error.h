/*
 * How far a correct program may be from the plain routines, element by element. A bound belongs to
 * a value of the reference run that the program does not keep: it grows by each operator's own
 * rounding and by what its operands' bounds do to the result, which is measured by running the
 * operator on disturbed operands. Where the program's own value takes the reference's place, the
 * bound is zero again; so bounds never grow over more than one fused program.
 */
#ifndef FRONTEND_VERIFY_ERROR_H
#define FRONTEND_VERIFY_ERROR_H

#include "frontend/verify_file.h"
#include "passes/pass.h"
#include "runtime/ops/common/ops.h"

enum bound {
    BOUND_ORDER, /* f32 arithmetic in any order */
    BOUND_CAST,  /* that, and operands rounded to the cast type */
    NBOUNDS
};

enum { BOUND_BLOCK = 1 << 14 }; /* elements that are looked at together */

struct bound_place { /* a float for each element, in the file */
    int64_t at, n; /* n 0: all are zero */
};

struct verify_errors {
    const struct options *o;
    struct bound_place *bounds[NBOUNDS]; /* by value id */
    struct side_file file;
    float block[NBOUNDS + 1][BOUND_BLOCK];
    int *uses; /* by value id: operands still to come in the main region */
    int nvalues;
    uint64_t seed;
    double nearby; /* operands of a quantisation move by this much of themselves, at least */
};

/* Bounds of elements [first, first + count), count at most BOUND_BLOCK, until the next call for this b; NULL: all are
 * zero, or d says what failed. */
float *errors_bound(struct verify_errors *e, int b, const struct value *v, int64_t first, int64_t count,
                    struct diag *d);

bool errors_init(struct verify_errors *e, const struct graph *g, const struct options *o,
                 struct diag *d);
void errors_free(struct verify_errors *e);
/* Sets the bounds of the results of a node of the main region, which has just run. */
bool errors_of_node(struct verify_errors *e, struct node *n, struct op_call *call, struct diag *d);
/* The program's value has taken the reference's place. */
void errors_clear(struct verify_errors *e, const struct value *v);
/* The same; it has been rounded, each element by `roundoff` of itself at most. */
bool errors_of_storage(struct verify_errors *e, const struct value *v, const struct tensor *t,
                       double roundoff, struct diag *d);
/* To be called last for each node: bounds that nothing needs any more go. */
void errors_done(struct verify_errors *e, const struct node *n);

/* Unit roundoff of the cast type, 0 without autocast. */
double cast_roundoff(const struct options *o);

#endif
