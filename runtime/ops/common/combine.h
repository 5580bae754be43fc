/*
 * A computation on scalars that an operator applies to many elements: an elementwise operator by
 * name, or a region.
 *
 *     struct combine m;
 *     combine_init(&m, c, "combine", 0)             attribute, region when the attribute is absent
 *     combine_run(&m, length, args, nargs, results, nresults)
 *
 * Arguments and results are dense vectors of `length` elements; a result may lie on an argument.
 */
#ifndef RUNTIME_OPS_COMBINE_H
#define RUNTIME_OPS_COMBINE_H

#include "runtime/ops/common/ops.h"

struct vector {
    int dtype;
    void *data;
};

enum combine_form { COMBINE_OP, COMBINE_ARGUMENT, COMBINE_REGION };
struct combine {
    struct op_call *c;
    int form; /* enum combine_form */
    enum op op;
    int argument; /* which one the result is */
    int region;
    bool vectors;
};

bool combine_init(struct combine *m, struct op_call *c, const char *attribute, int region);
bool combine_run(struct combine *m, int64_t length, const struct vector *args, int nargs,
                 const struct vector *results, int nresults);

/* Checks the operator's name, or infers the region from parameters of these element types (rank 0
 * or, on vectors, as they are declared). */
bool combine_infer(struct infer *f, const char *attribute, int region, const int *dtypes,
                   int nparams, const int *results, int nresults);

#endif
