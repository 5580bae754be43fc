/*
 * Windows whose sizes, strides, dilations and paddings are operands of any content.
 */
#ifndef FRONTEND_HLO_OPEN_WINDOW_H
#define FRONTEND_HLO_OPEN_WINDOW_H

#include "frontend/hlo/lower/lower.h"

/* Lists of numbers, one for each dimension, in the order of operands; paddings follow. */
enum { OPEN_SIZES, OPEN_STRIDES, OPEN_BASE, OPEN_DILATIONS, OPEN_LISTS };

/* x..., first values..., the lists, paddings (rank,2) */
bool hlo_open_windows(struct hlo_lower *l, struct hlo_computation *c);

/* x with between[0] times the value between neighbours along an axis (lower_dynamic.c). */
struct value *h_spread(struct hlo_lower *l, struct value *x, struct value *fill, struct value *between, int axis);

#endif
