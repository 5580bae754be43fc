/*
 * Epilogues that make 8-bit numbers of s32 sums, done by the instruction that makes the sums: scale
 * and shift of every out, a rounding, and perhaps the sum with another 8-bit operand and a second
 * rounding (struct requantize of the kernels).
 */
#ifndef BACKEND_QUANTIZED_H
#define BACKEND_QUANTIZED_H

#include "backend/lower/epilogue.h"

struct quantized {
    const struct tensor *scale, *shift; /* one number, or one for every output channel; shift NULL: none */
    int64_t out_channels;
    struct value *other; /* the operand that is added, or NULL */
    int zero, sum_zero;
    bool sum_signed, other_first;
    float factor, other_factor, offset;
};

/*
 * The epilogue when all nodes after the group's first, a conv_integer or matmul_integer with a bias
 * that is constant or absent, are one, and every number to be rounded is within what the kernels
 * round; otherwise NULL.
 */
const struct quantized *quantized_of(struct lowering *l, const struct group *g, int64_t out_channels);
/* Slot of i32 [3, out_channels]: bias, and the bits of scale and shift. bias: slot of s32 constants
 * [1, out_channels], or -1. */
int quantized_terms(struct lowering *l, const struct quantized *q, int bias);
/*
 * Rows in bands by a packed matrix; e says how the result's tile lies. moving (b..., bands, rows,
 * k) and stationary (b..., k, out_channels) are complete.
 */
void emit_quantized(struct epilogue *e, const struct quantized *q, int terms, struct ap stationary,
                    struct ap moving, int var_block, int64_t block);
/* A tile of rows as (bands, rows, elements): itself, or one band. */
struct ap ap_in_bands(struct ap a);

#endif
