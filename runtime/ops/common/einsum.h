/*
 * Equations of einsum.
 */
#ifndef RUNTIME_OPS_EINSUM_H
#define RUNTIME_OPS_EINSUM_H

#include "runtime/ops/common/ops.h"

enum { EINSUM_OPERANDS = 16, EINSUM_LABELS = 2 * MAX_RANK };

/*
 * An equation as labels: a letter is its code, dims of an ellipsis are -1 (the last), -2, ... For
 * each operand and the result, the label of each dim.
 */
struct equation {
    int nops;
    int rank[EINSUM_OPERANDS + 1]; /* the result is last */
    int label[EINSUM_OPERANDS + 1][MAX_RANK];
    int nlabels; /* all of them: the result's first, then the summed */
    int labels[EINSUM_LABELS];
};

/* The attribute "equation" for operands of these ranks. */
bool einsum_parse(struct equation *e, const struct attrs *as, const int *ranks, int nops,
                  struct diag *d);

#endif
