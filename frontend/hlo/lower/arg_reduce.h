/*
 * Reductions of pairs (element, index) that find the largest or least element and its place.
 */
#ifndef FRONTEND_HLO_ARG_REDUCE_H
#define FRONTEND_HLO_ARG_REDUCE_H

#include "frontend/hlo/lower/lower.h"

/* Whether the reduction being lowered is one, of elements and their places along the axis; *max:
 * the largest. */
bool arg_reduce_matches(const struct hlo_lower *l, bool *max);
/* The element and its place, an i64. */
void arg_reduce(struct hlo_lower *l, bool max, struct value *out[2]);

#endif
