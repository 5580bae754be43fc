/*
 * Products of rows by a constant matrix with an epilogue: linear layers, and convolutions that are
 * linear layers of pixels.
 */
#ifndef BACKEND_PRODUCT_H
#define BACKEND_PRODUCT_H

#include "backend/lower/epilogue.h"
#include "backend/lower/tile_size.h"
#include "backend/lower/weights.h"

struct quantized;

struct product {
    struct value *x;                     /* dense rows: all dims but the last, k features each */
    const struct value *w;               /* a constant: element (k, out) at the given steps */
    const struct packed_weights *packed; /* instead of w */
    struct pack_source steps;
    int64_t k, out_channels;
    dim_t rows;
    const struct quantized *quantized; /* of sums that become 8-bit numbers at once; else NULL */
    int bias; /* slot of s32 sums to start from, [1, out_channels]; -1: none. Integer products only */
};

/* What plan_matmul says, where engines address HBM, of a product of two computed operands. */
static inline bool product_is_computed(const struct product *p)
{
    return !p->w;
}

/* What products of rows of that type are summed in. */
static inline int sum_type(int dtype)
{
    return dtype == DT_U8 ? DT_I32 : DT_F32;
}
/*
 * The node is a conv_integer or matmul_integer in the form that pass quantize leaves: u8 rows,
 * constant s8 weights, a constant zero point of the rows. Says why() not.
 */
bool integer_operands(struct lowering *l, const struct node *n);
/* Whether its bias is known only while running. */
bool bias_is_computed(struct lowering *l, const struct node *n);
/* The zero point of its rows. */
int64_t rows_zero_point(struct lowering *l, const struct node *n);
/*
 * Slot of its bias less the zero point times the sums of weights; -1 when all are zero. Weight
 * (out, i) lies at out * out_step + i * step, i < k.
 */
int integer_bias(struct lowering *l, const struct node *n, int64_t out_channels, int64_t out_step,
                 int64_t k, int64_t step);
/* Starts the sums from a bias over `block` output channels that var_block selects: dst (..., out_channels). */
void emit_bias(struct kernel_builder *k, int bias, struct ap dst, int var_block, int64_t block,
               int64_t out_channels);

/* Whether x and weights of a type have types the Tensor engine multiplies: both f32, bf16 or f16,
 * or u8 and s8. */
static inline bool product_types(const struct value *x, int weights)
{
    int t = x->type.dtype;
    return (t == DT_U8 && weights == DT_I8) ||
           (t == weights && dtype_is_engine_float(t));
}
/* The covers of a result of rows by features, tiles of `rows` by blocks of features. */
struct epilogue rows_epilogue(struct kernel_builder *k, struct group *g, int var_row, dim_t rows, int var_block,
                              int64_t block);
/* Where such sums go: the result itself when nothing follows, else a tile with rows `pitch` apart. */
struct ap rows_sums(struct epilogue *e, int dtype, int64_t pitch);
/* The group's first node is the product. */
void emit_product(struct lowering *l, struct group *g, const struct product *p);

enum { WEIGHTS_IN_CACHE = 512 << 10, ROW_TILE = 64 };

#endif
