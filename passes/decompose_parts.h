/*
 * Operators that are a few others which engines compute.
 *
 *   is_nan, is_inf, is_finite   comparisons
 *   reduce_log_sum_exp          maximum, exponentials, sum, logarithm
 *   lp_norm                     a division by reduce_l1 or reduce_l2
 *   gemm                        a product, scaled, and a sum
 */
#ifndef PASSES_DECOMPOSE_PARTS_H
#define PASSES_DECOMPOSE_PARTS_H

#include "passes/rewrite.h"

/* Places the parts before n; *made is what replaces its result, NULL when n stays. false after a
 * failure. */
bool decompose_parts(struct node *n, struct value **made, struct diag *d);

/* Gemm as a product with an FP32 result, scaled, and the sum with C in FP32, before n. NULL after a failure. */
struct value *gemm_parts(struct node *n, struct diag *d);

#endif
