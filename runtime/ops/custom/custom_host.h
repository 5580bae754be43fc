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

size_t custom_bytes(const struct xop_tensor *t);

/*
 * A result of an operator that asks for memory while it runs: t gets it, of its type and these dims, cleared, between
 * margins of a pattern. The heap's own data would lie there: an operator that wrote over that ended the process, later
 * and without its name. custom_end_result looks at the margins, and makes `out` the result; `name` is for messages.
 */
bool custom_begin_result(struct tensor *out, struct xop_tensor *t, const int64_t *dims, struct diag *d);
bool custom_end_result(struct tensor *out, const struct xop_tensor *t, const char *name, struct diag *d);

#endif
