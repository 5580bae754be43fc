/*
 * Products of 8-bit operands in the one form that has a tile program: u8 rows by constant s8
 * weights without a zero point, the sums started from a bias.
 *
 *   rows are s8             x + 128, and 128 more in their zero point
 *   weights with zero z     w - z when that is s8. Otherwise s8 weights w - s (s is 128 for u8, 0
 *                           for s8) and, times s - z, the sums of the rows: a product by ones.
 *                           In several groups: two products, whose weights add up to w - z
 *   the rows' zero point    that is known only when a model runs: padding by it, and its product
 *                           with the negated sums of the weights as a bias
 *
 * The sums are those of the plain routines: they wrap.
 */
#ifndef PASSES_INTEGER_PRODUCT_H
#define PASSES_INTEGER_PRODUCT_H

#include "passes/match.h"
#include "passes/rewrite.h"

struct integer_product {
    enum op op;                      /* OP_conv_integer, OP_matmul_integer */
    struct value *x, *zero;          /* 8-bit rows; zero NULL, or one number */
    struct value *w, *w_zero, *bias; /* constant weights; w_zero, bias may be NULL */
    const struct attrs *attrs;
    int64_t out_channels, inner; /* of the weights: channel of element i is i / inner % output channels */
};

/* One 8-bit number, known now or later. */
bool single_8bit(const struct value *v);

/* Whether operands are those of such a product; fills p, but for its bias. */
bool integer_product_of(struct integer_product *p, enum op op, const struct attrs *attrs,
                        struct value *x, struct value *zero, struct value *w, struct value *w_zero);
/* Whether the weights less their zero points are s8. */
bool integer_weights_fit(const struct integer_product *p);
/* The s32 sums, computed before `at`; NULL after a failure. */
struct value *emit_integer_product(struct node *at, const struct integer_product *p,
                                   struct diag *d);
/* x - zero (NULL: 0), as f32. */
struct value *emit_centred(struct node *at, struct value *x, struct value *zero, struct diag *d);

/* The dequantize_linear that v is: from an 8-bit type to f32, not in blocks; NULL when it is none. */
const struct node *dequantized(const struct value *v);

#endif
