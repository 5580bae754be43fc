/*
 * What the kernels of attention on all machines share: where operands lie, tiles, scores.
 */
#include "backend/lower/attention.h"

#include <float.h>
#include <math.h>

struct ap attention_operand(struct lowering *l, const struct attention *a, const struct strided *s,
                            const dim_t *steps)
{
    struct ap p = ap_slot(l->p, s->slot);
    for (int i = 0; i < a->nbatch; i++) {
        bool several = a->heads > 1 && i == a->nbatch - 1;
        if (several)
            p.offset.base = dim_mul(&l->p->dims, steps[i], a->head);
        if (a->var[i] >= 0)
            ap_move(l->p, &p, a->var[i],
                    several ? dim_mul(&l->p->dims, steps[i], a->heads) : steps[i]);
    }
    return p;
}

void attention_push_queries(struct lowering *l, const struct attention *a, struct ap *p, dim_t step)
{
    ap_push_tile(l->p, p, step, a->tile, a->var_query, a->queries);
}

void attention_push_keys(struct lowering *l, const struct attention *a, struct ap *p, dim_t step)
{
    ap_push_tile(l->p, p, step, a->block, a->var_key, a->keys);
}

struct ap attention_tile(struct kernel_builder *k, const struct attention *a, int mem, int dtype,
                         dim_t columns)
{
    struct ap p = ap_tile(k, kernel_tile(k, mem, dtype, a->tile, columns));
    ap_clip(k->p, &p, 0, a->var_query, a->tile, a->queries);
    return p;
}

struct ap attention_mask(struct lowering *l, const struct attention *a)
{
    if (!a->masked)
        return ap_absent();
    struct ap mask = attention_operand(l, a, &a->mask, a->mask_steps);
    attention_push_queries(l, a, &mask, a->mask_steps[a->nbatch]);
    attention_push_keys(l, a, &mask, a->mask_steps[a->nbatch + 1]);
    return mask;
}

void attention_scores(struct kernel_builder *k, const struct attention *a, struct ap scores,
                      struct ap products)
{
    emit_activation(
        k, (struct activation){
               .dst = scores, .src = products, .bias = attention_mask(a->l, a), .factor = a->scale});
    if (a->causal) {
        struct affine offset = affine_variable(k->p, a->causal_offset, a->var_query, a->tile);
        if (a->var_key >= 0)
            affine_set(&offset, &k->p->arena, a->var_key, -a->block);
        emit_affine_select(k, (struct affine_select){.dst = scores,
                                                     .src = scores,
                                                     .offset = offset,
                                                     .row_step = 1,
                                                     .column_step = -1,
                                                     .fill = -INFINITY});
    }
}

void attention_weights(struct kernel_builder *k, struct ap weights, struct ap scores, struct ap bias, struct ap sum)
{
    emit_activation(
        k, (struct activation){.dst = weights, .src = scores, .bias = bias, .sum = sum, .factor = 1, .f = OP_exp});
}

void attention_divide(struct kernel_builder *k, const struct attention *a, struct ap y, struct ap sum, struct ap total)
{
    struct ap over = total;
    over.dim[1] = (struct ap_dim){.step = 0, .count = a->value_width};
    if (a->hidden_are_zero) /* the weights of a row with a key are 1 together at least */
        emit_tensor_scalar(k, (struct tensor_scalar){
                                  .dst = total, .src = total, .scalar0 = FLT_MIN, .op0 = OP_max, .op1 = OP_identity});
    emit_tensor_tensor(k, (struct tensor_tensor){.dst = y, .a = sum, .b = over, .op = OP_div});
}
