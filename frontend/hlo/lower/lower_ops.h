/*
 * The lowering functions of all opcodes, declared from their table.
 */
#ifndef FRONTEND_HLO_LOWER_OPS_H
#define FRONTEND_HLO_LOWER_OPS_H

#include "frontend/hlo/lower/lower.h"

#define LOWER(opcode, function, flags) bool hlo_lower_##function(struct hlo_lower *l);
#define REFUSED(opcode, reason)
#include "frontend/hlo/lower/lower_ops.def"

bool hlo_shape_assertion(struct hlo_lower *l);    /* lower_assertion.c */
/* A select that is the floor division or the remainder of sizes, without it; else NULL (lower_floor.c). */
struct value *hlo_floor_of_sizes(struct hlo_lower *l, const struct value *condition, const struct value *yes,
                                 struct value *no);
bool hlo_target_sparse_rows(struct hlo_lower *l); /* lower_sparse.c */
/* Shapes as operands (lower_dynamic.c). */
bool hlo_dynamic_broadcast_in_dim(struct hlo_lower *l);
bool hlo_dynamic_gather(struct hlo_lower *l);
bool hlo_dynamic_iota(struct hlo_lower *l);
bool hlo_dynamic_pad(struct hlo_lower *l);
bool hlo_dynamic_pad_spatial(struct hlo_lower *l);
bool hlo_dynamic_rng(struct hlo_lower *l);
bool hlo_dynamic_rng_bits(struct hlo_lower *l);
bool hlo_approx_top_k(struct hlo_lower *l);
bool hlo_dynamic_top_k(struct hlo_lower *l);
bool hlo_dynamic_reduce_window(struct hlo_lower *l); /* lower_dynamic_window.c */
bool hlo_dynamic_reshape(struct hlo_lower *l);
bool hlo_real_dynamic_slice(struct hlo_lower *l);

#endif
