/*
 * The lowering functions of all opcodes, declared from their table.
 */
#ifndef FRONTEND_HLO_LOWER_OPS_H
#define FRONTEND_HLO_LOWER_OPS_H

#include "frontend/hlo/lower/lower.h"

#define SAME(opcode, op, flags)
#define LOWER(opcode, function, flags) bool hlo_lower_##function(struct hlo_lower *l);
#define REFUSED(opcode, reason)
#include "frontend/hlo/lower/lower_ops.def"

#endif
