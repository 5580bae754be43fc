/*
 * What stands behind struct xop_call: the call that an operator is at work on.
 */
#ifndef RUNTIME_OPS_CUSTOM_HOST_H
#define RUNTIME_OPS_CUSTOM_HOST_H

#include "runtime/custom/custom.h"
#include "runtime/ops/common/ops.h"

enum { CUSTOM_ERROR = 512 };

struct custom_state { /* of one core, or of a shape function */
    const struct custom_operator *op;
    const struct attrs *attrs;
    struct dim_table *dims; /* shape functions; else NULL */
    struct op_call *call;   /* running; else NULL */
    struct xop_tensor *out;
    struct guarded *guarded; /* NULL unless operands are guarded */
    char error[CUSTOM_ERROR];
};

extern const struct xop_host custom_host;

/* As many as a call has, those left out at the end included. */
int custom_operands(const struct custom_operator *op, int given);

/* Dense. */
struct xop_tensor custom_tensor(int dtype, int rank, const int64_t *dims, void *data);

#endif
