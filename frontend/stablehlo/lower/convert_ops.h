/* The functions that SPECIAL rows of stablehlo_ops.def name. */
#ifndef FRONTEND_STABLEHLO_CONVERT_OPS_H
#define FRONTEND_STABLEHLO_CONVERT_OPS_H

#include "frontend/stablehlo/lower/convert.h"

#define OP(...)
#define ATTR(...)
#define SPECIAL(name, function)                                                                    \
    bool sh_convert_##function(struct sh_convert *c, const struct mlir_op *op);
#include "frontend/stablehlo/lower/stablehlo_ops.def"

/* The array of type t that inference found to be `found`: dims that are stated must be equal, those
 * that are not are what was found. NULL and a message when they contradict each other. */
const struct hlo_shape *sh_fit(struct sh_convert *c, const struct mlir_type *t,
                               const struct hlo_shape *found);
/* Attributes of ATTR rows for the operation. False after a failure. */
bool sh_table_attrs(struct sh_convert *c, const struct mlir_op *op, struct sh_attrs *l);
/* All operands; NULL after a failure. */
struct hlo_instruction **sh_operands(struct sh_convert *c, const struct mlir_op *op);
/* An instruction of the operation's operands; its shape is inferred, or the stated one when
 * HLO's rule needs it. */
bool sh_plain(struct sh_convert *c, const struct mlir_op *op, enum hlo_opcode opcode,
              const struct sh_attrs *l, bool stated);
/* Pairs of `padding`, a tensor of n x 2; zeros when absent. */
bool sh_padding(struct sh_convert *c, const struct mlir_op *op, int n, int64_t **v);
/* A list of n, filled with `standard` when absent. */
bool sh_list(struct sh_convert *c, const struct mlir_op *op, const char *name, int n,
             int64_t standard, int64_t **v);

#endif
