/*
 * Products by weight-only quantised matrices, with an epilogue: the grid of other products, with
 * integers, scales and zero points in the blocks of neff/isa/pack.h.
 */
#include "backend/lower/plan.h"
#include "backend/lower/product.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCKS_TO_SHARE = 8 };

struct few_bit_product {
    struct value *x;
    const struct tensor *w, *scale, *zero; /* zero NULL: the same number everywhere */
    bool transposed;
    struct pack_quantized shape;
    int64_t blocks;
    bool rounded; /* rows are, to 8 bits */
    float centre; /* without stored zero points: of the stored integers */
    dim_t rows;
};

/* Stored integers are 0..15 or -128..127. */
static int shift_of(const struct few_bit_product *m)
{
    bool is_signed = dtype_class(m->w->dtype) == DTC_SINT;
    return m->shape.bits == 4 ? (is_signed ? 8 : 0) : is_signed ? 0 : -128;
}

/* 4 when all of them fit, told from their type or by looking. */
static int bits_of(const struct tensor *w)
{
    if (w->dtype != DT_U8 && w->dtype != DT_I8)
        return 4;
    int64_t low = w->dtype == DT_I8 ? -8 : 0, n = tensor_count(w);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = tensor_i64(w, i);
        if (v < low || v > low + 15)
            return 8;
    }
    return 4;
}

static bool examine(struct lowering *l, const struct node *n, struct few_bit_product *m)
{
    m->x = outer_value(l, n->in[0]);
    const struct type *x = &m->x->type;
    const struct value *w = outer_value(l, n->in[1]), *scale = outer_value(l, n->in[2]);
    const struct value *zero = n->nin > 3 && n->in[3] ? outer_value(l, n->in[3]) : NULL;
    if (l->m->strict || !w->constant || !scale->constant || (zero && !zero->constant) ||
        x->rank < 2 || !has_layout(l, m->x) || !dtype_is_engine_float(x->dtype) ||
        n->out[0]->type.dtype != DT_F32 || touches_nothing(n))
        return false;
    m->w = w->constant, m->scale = scale->constant, m->zero = zero ? zero->constant : NULL;
    m->transposed = attr_int(&n->attrs, "trans_b", 0) != 0;
    int64_t k = m->w->dims[m->transposed], out_channels = m->w->dims[!m->transposed];
    int64_t block = attr_int(&n->attrs, "block_size", 0);
    if (block <= 0 || block > k)
        block = k;
    m->blocks = k ? (k + block - 1) / block : 0;
    int64_t scales = m->blocks * out_channels;
    if (k < 1 || out_channels < 1 || k > 1 << 24 || x->dims[x->rank - 1] != k ||
        tensor_count(m->scale) != scales || (m->zero && tensor_count(m->zero) != scales))
        return false;
    m->shape = (struct pack_quantized){k, out_channels, (int)block, bits_of(m->w), false};
    double centre = m->zero ? tensor_f64(m->zero, 0) : attr_float(&n->attrs, "zero_point", 0);
    for (int64_t i = 0; m->zero && i < scales; i++)
        m->shape.zeros |= tensor_f64(m->zero, i) != centre;
    m->centre = (float)(centre + shift_of(m));
    m->rounded = attr_int(&n->attrs, "row_bits", 0) == 8;
    if (m->rounded && block > WEIGHT_ONLY_ROUNDED_BLOCK)
        return false;
    m->rows = 1;
    for (int i = 0; i < x->rank - 1; i++)
        m->rows = dim_mul(&l->p->dims, m->rows, x->dims[i]);
    return true;
}

struct few_bit_packer {
    struct lazy_constant lazy;
    struct few_bit_product m;
    int shift;
};

static bool pack_all(const struct constant_maker *maker, int64_t piece, void *to)
{
    const struct few_bit_packer *p = (const struct few_bit_packer *)maker;
    const struct few_bit_product *m = &p->m;
    const struct pack_quantized *s = &m->shape;
    int64_t n = s->k * s->columns, scales = m->blocks * s->columns;
    uint8_t *q = malloc((size_t)n);
    float *scale = malloc(sizeof *scale * (size_t)scales);
    float *zero = s->zeros ? malloc(sizeof *zero * (size_t)scales) : NULL;
    bool ok = q && scale && (zero || !s->zeros), t = m->transposed;
    for (int64_t i = 0; ok && i < n; i++)
        q[i] = (uint8_t)(tensor_i64(m->w, i) + p->shift);
    for (int64_t i = 0; ok && i < scales; i++)
        scale[i] = (float)tensor_f64(m->scale, i);
    for (int64_t i = 0; ok && zero && i < scales; i++)
        zero[i] = (float)(tensor_f64(m->zero, i) + p->shift);
    const struct quantized_source from = {.q = q, .q_k_step = t ? 1 : s->columns, .q_out_step = t ? s->k : 1,
                                          .scale = scale, .zero = zero, .scale_k_step = t ? 1 : s->columns,
                                          .scale_out_step = t ? m->blocks : 1};
    if (ok)
        pack_quantized(to, s, &from);
    free(q), free(scale), free(zero);
    return ok;
}

/* The slot of the packed weights. */
static int pack(struct lowering *l, const struct few_bit_product *m, const struct value *w)
{
    struct few_bit_packer *p = ARENA_NEW(&l->g->arena, struct few_bit_packer);
    int64_t bytes = (int64_t)pack_quantized_size(&m->shape);
    p->lazy.maker.make = pack_all;
    p->m = *m;
    p->shift = shift_of(m);
    struct tensor shape = tensor_view(DT_U8, 1, &bytes, NULL);
    return lazy_constant(l, &p->lazy, w, 1, &shape, w->name);
}

static void emit(struct kernel_builder *k, struct group *g, const struct few_bit_product *m, int weights)
{
    struct lowering *l = g->l;
    int64_t width = pack_width(m->shape.columns), out_channels = m->shape.columns;
    int64_t tiles_out = (out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS;
    int64_t bytes = m->blocks * pack_quantized_block(&m->shape, (int)width);
    if (tiles_out >= BLOCKS_TO_SHARE && tiles_out % 2 == 0)
        tiles_out /= 2, width *= 2, bytes *= 2; /* a row is prepared once for both */
    dim_t tile = even_tile(m->rows, ROW_TILE), tiles = dim_ceildiv(&l->p->dims, m->rows, tile);
    int var_block = kernel_grid(k, tiles_out);
    int var_row = kernel_grid(k, tiles);
    struct epilogue e = rows_epilogue(k, g, var_row, tile, var_block, width < out_channels ? width : out_channels);
    struct ap dst = rows_sums(&e, DT_F32, width);
    struct ap moving = ap_slot(l->p, value_slot(l, m->x)), stationary = ap_slot(l->p, weights);
    ap_push_tile(l->p, &moving, m->shape.k, tile, var_row, m->rows);
    ap_push(&moving, 1, m->shape.k);
    ap_move(l->p, &stationary, var_block, bytes);
    ap_push(&stationary, 1, bytes);
    emit_weight_only_matmul(k, (struct weight_only_matmul){.dst = dst,
                                                           .stationary = stationary,
                                                           .moving = moving,
                                                           .block = m->shape.block,
                                                           .bits = m->shape.bits,
                                                           .zeros = m->shape.zeros,
                                                           .rounded = m->rounded,
                                                           .centre = m->centre});
    if (!epilogue_empty(g))
        epilogue_emit(&e, dst);
}

const void *plan_weight_only(struct lowering *l, const struct group *g)
{
    const struct node *first = g->nodes[0];
    struct few_bit_product m = {0};
    if (!examine(l, first, &m) || !epilogue_possible(l, g, first->out[0]->type.rank - 2)) {
        why(l->o, first, "tile.weight-only", "operands without a tile program; it runs on GpSimd");
        return NULL;
    }
    return arena_copy(&l->g->arena, &m, sizeof m);
}

enum lowered lower_weight_only(struct lowering *l, struct node *n)
{
    struct group g = group_of(l, n);
    const struct node *first = g.nodes[0];
    const struct few_bit_product m = *(const struct few_bit_product *)decision_of(l, n)->plan;
    int weights = pack(l, &m, outer_value(l, first->in[1]));
    struct kernel_builder k = begin_kernel(l, first, first->name);
    emit(&k, &g, &m, weights);
    struct kernel *kernel = kernel_of(&k);
    struct dim_table *t = &l->p->dims;
    kernel->flops = dim_mul(t, m.rows, 2 * m.shape.k * m.shape.columns);
    kernel->bytes = dim_add(t, dim_mul(t, m.rows, 4 * (m.shape.k + m.shape.columns)),
                            (dim_t)pack_quantized_size(&m.shape));
    return LOWERED;
}
