/*
 * Integer products: what convolutions and matrix products of quantised operands have in common, and
 * quantisation as an elementwise operator.
 */
#include "backend/lower/product.h"

bool integer_operands(struct lowering *l, const struct node *n)
{
    const struct value *x = outer_value(l, n->in[0]), *w = outer_value(l, n->in[1]);
    bool fits = x->type.dtype == DT_U8 && w->constant && w->type.dtype == DT_I8 &&
                (n->nin < 4 || !n->in[3]);
    for (int i = 2; i < n->nin; i++) {
        const struct value *v = n->in[i] ? outer_value(l, n->in[i]) : NULL;
        bool computed = v && i == 4 && !rows_zero_point(l, n) && has_layout(l, v);
        fits &= !v || computed || (v->constant && (i != 2 || tensor_count(v->constant) == 1));
    }
    if (!fits)
        why(l->o, n, "tile.integer-form",
            "not a product of unsigned rows by constant signed weights; it runs on GpSimd");
    return fits;
}

int64_t rows_zero_point(struct lowering *l, const struct node *n)
{
    const struct value *zero = n->nin > 2 && n->in[2] ? outer_value(l, n->in[2]) : NULL;
    return zero && zero->constant ? tensor_i64(zero->constant, 0) : 0;
}

bool bias_is_computed(struct lowering *l, const struct node *n)
{
    return n->nin > 4 && n->in[4] && !outer_value(l, n->in[4])->constant;
}

int integer_bias(struct lowering *l, const struct node *n, int64_t out_channels, int64_t out_step,
                 int64_t k, int64_t step)
{
    const int8_t *w = outer_value(l, n->in[1])->constant->data;
    if (bias_is_computed(l, n))
        return value_slot(l, outer_value(l, n->in[4]));
    const struct value *bias = n->nin > 4 && n->in[4] ? outer_value(l, n->in[4]) : NULL;
    int64_t zero = rows_zero_point(l, n), dims[2] = {1, out_channels};
    int32_t *sums = arena_alloc(&l->g->arena, sizeof *sums * (size_t)out_channels);
    bool any = false;
    for (int64_t o = 0; o < out_channels; o++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += w[o * out_step + i * step];
        sums[o] = (int32_t)(uint32_t)((bias ? tensor_i64(bias->constant, o) : 0) -
                                      zero * sum); /* sums wrap: so may this */
        any |= sums[o] != 0;
    }
    if (!any)
        return -1;
    struct tensor t = tensor_view(DT_I32, 2, dims, sums);
    return constant_slot(l, &t, "bias");
}

void emit_bias(struct kernel_builder *k, int bias, struct ap dst, int var_block, int64_t block,
               int64_t out_channels)
{
    struct ap src = ap_slot(k->p, bias);
    for (int i = 0; i < dst.rank - 1; i++) {
        src.dim[src.rank++] = dst.dim[i];
        src.dim[i].step = 0;
    }
    ap_push_tile(k->p, &src, 1, block, var_block, out_channels);
    emit_copy(k, dst, src);
}

enum lowered lower_quantization(struct lowering *l, struct node *n)
{
    struct group g = group_of(l, n);
    if (!node_possible(l, g.nodes[0]))
        return DECLINED;
    return lower_elementwise(l, n);
}
