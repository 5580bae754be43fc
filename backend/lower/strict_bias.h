/*
 * A constant row that is added to all rows of a product, on strict targets: as one more product, of ones and the row,
 * which the Tensor engine adds up with the others. It is exact: a number in float is the sum of three in bf16. A load
 * that brings the row to all partitions, and an addition of the Vector engine, are saved.
 */
#ifndef BACKEND_STRICT_BIAS_H
#define BACKEND_STRICT_BIAS_H

#include "backend/lower/strict_product.h"

/* The row that the group's second node adds to the result of part x alone, where that is worth it; or NULL. */
const struct value *product_bias(struct lowering *l, const struct group *g, const struct strict_product *p,
                                 const struct product_part *x);
/* Adds it to the tile of the result at hand. */
void emit_product_bias(struct kernel_builder *k, struct lowering *l, const struct value *bias,
                       const struct strict_product *p, const struct product_part *x, struct ap result);

#endif
