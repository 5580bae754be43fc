/*
 * Attention: softmax(scale * q k^T + mask) v for one tile of queries per instance.
 *
 * A loop over blocks of keys keeps the largest score and the sum of weights per query and rescales
 * what it has accumulated, so that no more scores than a block are ever stored. A short known
 * number of keys is one block, and so are the keys of one query.
 */
#include "backend/lower/attention.h"
#include "backend/lower/plan.h"
#include "backend/lower/strict_product.h"

#include <float.h>
#include <math.h>

enum { ONE_BLOCK = 512, KEY_BLOCK = 128, QUERY_TILE = 128 };

static struct attention examine(struct lowering *l, const struct node *n)
{
    struct attention a = {.l = l,
                          .q = strided_operand(l, n->in[0]),
                          .k = attended_operand(l, n, 1),
                          .v = attended_operand(l, n, 2)};
    const struct type *y = &n->out[0]->type, *k = &outer_value(l, n->in[1])->type;
    dim_t scores[MAX_RANK];
    a.y = strided_result(l, n->out[0]);
    a.nbatch = y->rank - 2;
    a.queries = a.q.dims[a.q.rank - 2], a.keys = k->dims[k->rank - 2];
    a.width = a.q.dims[a.q.rank - 1], a.value_width = y->dims[y->rank - 1];
    strided_broadcast(l, &a.q, 2, a.nbatch, y->dims, a.q_steps);
    a.masked = n->nin > 3 && n->in[3];
    if (a.masked) {
        struct value *m = outer_value(l, n->in[3]);
        a.mask = strided_shape(m);
        a.mask.slot = value_slot(l, m);
        dense_steps(&l->p->dims, a.mask.rank, a.mask.dims, a.mask.steps);
        for (int i = 0; i < a.nbatch; i++)
            scores[i] = y->dims[i];
        scores[a.nbatch] = a.queries, scores[a.nbatch + 1] = a.keys;
        strided_broadcast(l, &a.mask, 0, a.nbatch + 2, scores, a.mask_steps);
    }
    a.causal = attr_int(&n->attrs, "causal", 0) != 0;
    a.hidden_are_zero = attr_int(&n->attrs, "hidden_rows_zero", 0) != 0;
    a.causal_offset = attr_int(&n->attrs, "causal_offset", 0);
    double otherwise = dim_is_const(a.width) ? 1 / sqrt((double)a.width) : 1;
    a.scale = (float)attr_float(&n->attrs, "scale", otherwise);
    return a;
}

static void clip_keys(struct lowering *l, const struct attention *a, struct ap *p)
{
    if (a->var_key >= 0)
        ap_clip(l->p, p, p->rank - 1, a->var_key, a->block, a->keys);
}

/* One column of a tile repeated over `count` columns. */
static struct ap repeated(struct ap column, dim_t count)
{
    column.dim[1] = (struct ap_dim){.step = 0, .count = count};
    return column;
}

/* (width, queries), and (width, keys): what is contracted lies first. */
static struct ap queries_across(struct lowering *l, const struct attention *a)
{
    struct ap q = attention_operand(l, a, &a->q, a->q_steps);
    ap_push(&q, a->q.steps[a->q.rank - 1], a->width);
    attention_push_queries(l, a, &q, a->q.steps[a->q.rank - 2]);
    return q;
}

/* The keys of part i in a block; of several parts all, for they are in one block. */
static void push_part(struct lowering *l, const struct attention *a, const struct attended *o,
                      int i, struct ap *p)
{
    const struct strided *s = &o->part[i];
    if (o->nparts == 1)
        attention_push_keys(l, a, p, s->steps[s->rank - 2]);
    else
        ap_push(p, s->steps[s->rank - 2], s->dims[s->rank - 2]);
}

static struct ap keys_across(struct lowering *l, const struct attention *a, int i)
{
    const struct strided *s = &a->k.part[i];
    struct ap keys = attention_operand(l, a, s, a->k.steps[i]);
    ap_push(&keys, s->steps[s->rank - 1], a->width);
    push_part(l, a, &a->k, i, &keys);
    return keys;
}

/* The columns of a row of scores or weights that belong to part i. */
static struct ap columns_of(const struct attended *o, int i, struct ap row)
{
    if (o->nparts == 1)
        return row;
    row.offset.base = o->at[i];
    row.dim[1].count = o->part[i].dims[o->part[i].rank - 2];
    return row;
}

static void emit_products(struct kernel_builder *k, const struct attention *a, struct ap products)
{
    struct lowering *l = a->l;
    struct ap q = attention_operand(l, a, &a->q, a->q_steps);
    attention_push_queries(l, a, &q, a->q.steps[a->q.rank - 2]);
    ap_push(&q, a->q.steps[a->q.rank - 1], a->width);
    if (l->m->strict)
        emit_tile_product(k, products, a->queries_in, stage_in(k, keys_across(l, a, 0)),
                          affine_number(0));
    for (int i = 0; !l->m->strict && i < a->k.nparts; i++)
        emit_nc_matmul(k, (struct nc_matmul){.dst = columns_of(&a->k, i, products),
                                             .stationary = keys_across(l, a, i),
                                             .moving = q});
}

static struct ap values_block(struct lowering *l, const struct attention *a, int i)
{
    const struct strided *s = &a->v.part[i];
    struct ap v = attention_operand(l, a, s, a->v.steps[i]);
    push_part(l, a, &a->v, i, &v);
    ap_push(&v, s->steps[s->rank - 1], a->value_width);
    return v;
}

static struct ap destination(struct lowering *l, const struct attention *a)
{
    struct ap y = attention_operand(l, a, &a->y, a->y.steps);
    attention_push_queries(l, a, &y, a->y.steps[a->y.rank - 2]);
    ap_push(&y, a->y.steps[a->y.rank - 1], a->value_width);
    return y;
}

/* bf16 values are multiplied by bf16 probabilities. */
static int probability_type(struct lowering *l, const struct attention *a)
{
    return l->p->slots[a->v.part[0].slot].type.dtype == DT_BF16 ? DT_BF16 : DT_F32;
}

/* Blocks of keys in turn, or the one block there is; what is accumulated is divided by the sum of
 * weights at the end. */
static void emit_blocks(struct kernel_builder *k, struct attention *a, bool one)
{
    struct lowering *l = a->l;
    struct ap scores = attention_tile(k, a, MEM_PSUM, DT_F32, a->block), weights = scores;
    struct ap sum = attention_tile(k, a, MEM_PSUM, DT_F32, a->value_width);
    struct ap state = attention_tile(k, a, MEM_SBUF, DT_F32, 2), total = state;
    bool plain_mask = a->masked && l->p->slots[a->mask.slot].type.dtype == DT_F32;
    bool apart = a->causal || (a->masked && !plain_mask);
    total.offset.base = 1;
    total.dim[1].count = 1;
    if (probability_type(l, a) != DT_F32)
        weights = attention_tile(k, a, MEM_SBUF, DT_BF16, a->block);
    if (!dim_is_const(a->keys)) { /* perhaps there are none: 0 / 1 */
        emit_memset(k, (struct memset){.dst = sum});
        emit_memset(k, (struct memset){.dst = state, .value = 1});
    }
    if (!one)
        a->var_key = kernel_loop(k, dim_ceildiv(&l->p->dims, a->keys, a->block));
    clip_keys(l, a, &scores);
    clip_keys(l, a, &weights);
    attended_append(a->l, k, &a->k, a->nbatch, a->var);
    emit_products(k, a, scores);
    if (apart)
        attention_scores(k, a, scores, scores);
    struct affine later = {0}; /* not 0 after the first block */
    if (!one)
        later = affine_variable(l->p, 0, a->var_key, 1);
    emit_softmax_block(k, (struct softmax_block){.dst = weights,
                                                 .src = scores,
                                                 .bias = apart ? ap_absent() : attention_mask(l, a),
                                                 .state = state,
                                                 .sum = sum,
                                                 .more = later,
                                                 .factor = apart ? 1 : a->scale});
    attended_append(a->l, k, &a->v, a->nbatch, a->var);
    for (int part = 0; part < a->v.nparts; part++) {
        struct affine accumulate = part == a->v.nparts - 1 ? later : (struct affine){0};
        accumulate.base = part > 0;
        emit_nc_matmul(k, (struct nc_matmul){.dst = sum,
                                             .stationary = values_block(l, a, part),
                                             .moving = columns_of(&a->v, part, weights),
                                             .accumulate = accumulate});
    }
    if (!one)
        kernel_end_loop(k);
    a->var_key = -1;
    attention_divide(k, a, destination(l, a), sum, total);
}

/* sum += probabilities * values on a strict target: the Tensor engine wants keys over partitions,
 * so it transposes first. */
static void add_values(struct kernel_builder *k, const struct attention *a, struct ap sum,
                       struct ap probabilities)
{
    struct lowering *l = a->l;
    struct ap psum = ap_tile(k, kernel_tile(k, MEM_PSUM, DT_F32, a->block, a->tile));
    ap_clip(l->p, &psum, 0, a->var_key, a->block, a->keys);
    ap_clip(l->p, &psum, 1, a->var_query, a->tile, a->queries);
    struct ap across = ap_tile(
        k, kernel_tile(k, MEM_SBUF, l->p->slots[a->v.part[0].slot].type.dtype, a->block, a->tile));
    across.dim[0] = psum.dim[0], across.dim[1] = psum.dim[1];
    emit_nc_transpose(k, (struct nc_transpose){.dst = psum, .src = probabilities});
    emit_copy(k, across, psum);
    struct ap part = attention_tile(k, a, MEM_PSUM, DT_F32, a->value_width);
    emit_tile_product(k, part, across, stage_in(k, values_block(l, a, 0)), affine_number(0));
    emit_tensor_tensor(k, (struct tensor_tensor){.dst = sum, .a = sum, .b = part, .op = OP_add});
}

/* The same on a strict target, of its instructions. */
static void emit_strict_blocks(struct kernel_builder *k, struct attention *a)
{
    struct dim_table *t = &k->p->dims;
    struct ap scores = attention_tile(k, a, MEM_SBUF, DT_F32, a->block);
    struct ap sum = attention_tile(k, a, MEM_SBUF, DT_F32, a->value_width);
    struct ap top = attention_tile(k, a, MEM_SBUF, DT_F32, 1),
              total = attention_tile(k, a, MEM_SBUF, DT_F32, 1);
    struct ap new_top = attention_tile(k, a, MEM_SBUF, DT_F32, 1),
              ratio = attention_tile(k, a, MEM_SBUF, DT_F32, 1);
    struct ap part = attention_tile(k, a, MEM_SBUF, DT_F32, 1);
    a->queries_in = stage_in(k, queries_across(a->l, a));
    emit_memset(
        k,
        (struct memset){
            .dst = top,
            .value = -FLT_MAX}); /* finite, so that blocks masked by minus infinity count nothing */
    emit_memset(k, (struct memset){.dst = total});
    emit_memset(k, (struct memset){.dst = sum});
    a->var_key = kernel_loop(k, dim_ceildiv(t, a->keys, a->block));
    clip_keys(a->l, a, &scores);
    struct ap products = attention_tile(k, a, MEM_PSUM, DT_F32, a->block);
    clip_keys(a->l, a, &products);
    emit_products(k, a, products);
    attention_scores(k, a, scores, products);
    emit_tensor_reduce(
        k, (struct tensor_reduce){.dst = part, .src = scores, .axes = 1, .scale = 1, .op = OP_max});
    emit_tensor_tensor(k,
                       (struct tensor_tensor){.dst = new_top, .a = top, .b = part, .op = OP_max});
    emit_tensor_tensor(k,
                       (struct tensor_tensor){.dst = ratio, .a = top, .b = new_top, .op = OP_sub});
    emit_activation(k, (struct activation){.dst = ratio, .src = ratio, .factor = 1, .f = OP_exp});
    emit_activation(k, (struct activation){.dst = top, .src = new_top, .factor = -1});
    struct ap minus_top = repeated(top, a->block);
    clip_keys(a->l, a, &minus_top);
    attention_weights(k, scores, scores, minus_top, part);
    emit_copy(k, top, new_top);
    emit_tensor_tensor(k,
                       (struct tensor_tensor){.dst = total, .a = total, .b = ratio, .op = OP_mul});
    emit_tensor_tensor(k,
                       (struct tensor_tensor){.dst = total, .a = total, .b = part, .op = OP_add});
    emit_tensor_tensor(
        k, (struct tensor_tensor){
               .dst = sum, .a = sum, .b = repeated(ratio, a->value_width), .op = OP_mul});
    add_values(k, a, sum, scores);
    kernel_end_loop(k);
    a->var_key = -1;
    attention_divide(k, a, destination(a->l, a), sum, total);
}

/* Operands and result once; what is appended again. */
static dim_t bytes_moved(struct lowering *l, const struct node *n, const struct attention *a)
{
    struct dim_table *t = &l->p->dims;
    dim_t bytes = 0;
    for (int i = 0; i < 4; i++) {
        const struct type *x = i < 3 ? &outer_value(l, n->in[i])->type : &n->out[0]->type;
        int64_t times = 1 + ((i == 1 && a->k.whole) || (i == 2 && a->v.whole));
        bytes = dim_add(t, bytes, dim_mul(t, type_count(t, x), times * dtype_bytes(x->dtype)));
    }
    return bytes;
}

enum lowered lower_attention_tiles(struct lowering *l, struct node *n)
{
    bool strict = l->m->strict;
    struct dim_table *t = &l->p->dims;
    struct attention a = examine(l, n);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    a.tile = even_tile(a.queries, strict ? l->m->partitions : QUERY_TILE);
    bool whole = strict && strict_attention_fits(&a);
    a.heads = whole ? strict_attention_heads(&a, &n->out[0]->type) : 1;
    for (int i = 0; i < a.nbatch; i++) {
        dim_t count = n->out[0]->type.dims[i];
        if (i == a.nbatch - 1 && a.heads > 1)
            count /= a.heads;
        a.var[i] = count == 1 ? -1 : kernel_grid(&k, count);
    }
    const struct attention_plan *plan = decision_of(l, n)->plan;
    bool one = !strict && ((dim_is_const(a.keys) && a.keys <= ONE_BLOCK) || plan->one_row);
    a.block = one ? a.keys : strict ? even_tile(a.keys, l->m->partitions) : KEY_BLOCK;
    a.var_query = kernel_grid(&k, dim_ceildiv(t, a.queries, a.tile));
    a.var_key = -1;
    if (whole)
        emit_strict_attention(&k, &a);
    else if (strict)
        emit_strict_blocks(&k, &a);
    else
        emit_blocks(&k, &a, one);
    dim_t scores = dim_mul(t, a.queries, a.keys);
    for (int i = 0; i < a.nbatch; i++)
        scores = dim_mul(t, scores, n->out[0]->type.dims[i]);
    kernel_of(&k)->flops = dim_mul(t, scores, dim_mul(t, 2, dim_add(t, a.width, a.value_width)));
    kernel_of(&k)->bytes = bytes_moved(l, n, &a);
    return LOWERED;
}
