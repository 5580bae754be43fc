/*
 * Axes lists, which models give as attribute `axes` or as an operand.
 */
#ifndef RUNTIME_OPS_AXES_H
#define RUNTIME_OPS_AXES_H

#include "runtime/ops/common/ops.h"

enum { AXES_ABSENT = -1, AXES_UNKNOWN = -2, AXES_BAD = -3 };

/*
 * Number of axes, each normalised to [0, rank) and none twice; or one of the above. AXES_UNKNOWN:
 * known only while running. AXES_BAD: out of range, the failure is in the diag.
 */
int infer_axes(struct infer *f, int operand, int rank, int *axes);
int call_axes(struct op_call *c, int operand, int rank, int *axes);

/* One axis attribute of a call whose shapes have been checked. */
int call_axis(const struct op_call *c, const char *name, int64_t otherwise, int rank);

#endif
