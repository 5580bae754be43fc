/*
 * Matrix products on strict targets: any operands, computed or constant, with batch dims and an
 * epilogue.
 */
#include "backend/lower/strict_product.h"

#include "backend/lower/product.h"

#include <string.h>

/* ---- matmul ---- */

struct strict_matmul {
    struct value *a, *b;
    bool trans_a, trans_b;
    float alpha;
    int nbatch; /* batch covers, each with a grid variable */
    struct cover batch[3];
    dim_t step_a[3], step_b[3];
    struct strict_product p; /* its covers: rows and output channels of the result */
};

/* Steps along the result's batch dims, 0 where the operand broadcasts. */
static bool batch_steps(struct lowering *l, const struct value *v, const struct type *y,
                        dim_t *steps)
{
    dim_t dense[MAX_RANK];
    int missing = y->rank - v->type.rank;
    dense_steps(&l->p->dims, v->type.rank, v->type.dims, dense);
    for (int i = 0; i < y->rank - 2; i++) {
        dim_t have = i < missing ? 1 : v->type.dims[i - missing];
        if (have != 1 && have != y->dims[i])
            return false;
        steps[i] = have == 1 ? 0 : dense[i - missing];
    }
    return true;
}

static bool batch_covers(struct lowering *l, const struct group *g, const struct type *y,
                         struct strict_matmul *m)
{
    dim_t a[MAX_RANK], b[MAX_RANK];
    int n = y->rank - 2;
    if (!batch_steps(l, m->a, y, a) || !batch_steps(l, m->b, y, b))
        return false;
    m->p.row = (struct cover){.first = n, .last = n, .var = -1, .tile = 1};
    m->p.out = (struct cover){.first = n + 1, .last = n + 1, .var = -1, .tile = 1};
    if (m->b->type.rank == 2 && !m->trans_a &&
        epilogue_fits(l, g, &(struct cover){.first = 0, .last = n, .var = -1, .tile = 1}, 1)) {
        m->p.row.first = 0; /* all dims but the last are rows */
        return true;
    }
    struct cover all = cover_of(0, n - 1, -1, 0);
    if (n > 0 && joint_step(l, a, y->dims, 0, n - 1, &m->step_a[0]) &&
        joint_step(l, b, y->dims, 0, n - 1, &m->step_b[0]) && epilogue_fits(l, g, &all, 1)) {
        m->batch[m->nbatch++] = all;
        return true;
    }
    for (int i = 0; i < n && n <= 2; i++) {
        m->batch[m->nbatch] = cover_of(i, i, -1, 0);
        m->step_a[m->nbatch] = a[i], m->step_b[m->nbatch++] = b[i];
    }
    return n <= 2;
}

static bool examine(struct lowering *l, const struct group *g, struct strict_matmul *m)
{
    const struct node *n = g->nodes[0];
    const struct type *y = &n->out[0]->type;
    m->a = outer_value(l, n->in[0]), m->b = outer_value(l, n->in[1]);
    const struct type *a = &m->a->type, *b = &m->b->type;
    if (!has_layout(l, m->a) || !has_layout(l, m->b) || !has_layout(l, n->out[0]) ||
        !engine_float(a->dtype) || !engine_float(b->dtype) || !engine_float(y->dtype)) {
        why(l->o, n, "tile.matmul-operands",
            "not a product of f32, bf16 or f16 of known shape; it runs on GpSimd");
        return false;
    }
    if (a->rank < 2 || b->rank < 2 || (g->n > 1 && y->dtype != DT_F32)) {
        why(l->o, n, "tile.matmul-form", "a vector operand has no tile program; it runs on GpSimd");
        return false;
    }
    m->trans_a = attr_int(&n->attrs, "trans_a", 0) != 0;
    m->trans_b = attr_int(&n->attrs, "trans_b", 0) != 0;
    m->alpha = (float)attr_float(&n->attrs, "alpha", 1);
    m->p.k = a->dims[a->rank - (m->trans_a ? 2 : 1)];
    m->p.out_channels = y->dims[y->rank - 1];
    if (m->p.k != b->dims[b->rank - (m->trans_b ? 1 : 2)] || m->p.k == 0 ||
        !expression_possible(l, g, 1) || !batch_covers(l, g, y, m)) {
        why(l->o, n, "tile.matmul-shape",
            "its shape, or that of what follows it, has no tile program; it runs on GpSimd");
        return false;
    }
    m->p.rows = 1;
    for (int i = m->p.row.first; i <= m->p.row.last; i++)
        m->p.rows = dim_mul(&l->p->dims, m->p.rows, y->dims[i]);
    struct cover covers[] = {m->p.row, m->p.out, m->batch[0], m->batch[1]};
    return epilogue_fits(l, g, covers, 2 + m->nbatch);
}

static void operand_patterns(struct lowering *l, struct strict_matmul *m)
{
    const struct type *a = &m->a->type, *b = &m->b->type;
    dim_t row_a = a->dims[a->rank - 1], row_b = b->dims[b->rank - 1];
    m->p.a = ap_slot(l->p, value_slot(l, m->a));
    m->p.a_k = m->trans_a ? row_a : 1;
    m->p.a_row = m->trans_a ? 1 : row_a;
    m->p.b_k = m->trans_b ? 1 : row_b;
    m->p.b_out = m->trans_b ? row_b : 1;
    m->p.b.dtype = b->dtype;
}

/* After the tiles have sizes: weights are packed for them. */
static void right_operand(struct lowering *l, struct strict_matmul *m)
{
    struct strict_product *p = &m->p;
    p->packed = m->b->constant && m->b->type.rank == 2 && p->unrolled && dim_is_const(p->out_channels);
    p->b = ap_slot(l->p, p->packed ? packed_weights(l, p, m->b, p->b_k, p->b_out)
                                   : value_slot(l, m->b));
}

/* What is done with a tile of the result. */
struct finish {
    struct kernel_builder *k;
    struct group *g;
    const struct strict_matmul *m;
};

static void finish(void *user, const struct strict_product *p, struct ap result)
{
    const struct finish *f = user;
    const struct strict_matmul *m = f->m;
    const struct type *y = &f->g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = f->k, .g = f->g, .rank = y->rank, .ncovers = 2 + m->nbatch};
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[0] = p->row, e.covers[1] = p->out;
    memcpy(&e.covers[2], m->batch, sizeof m->batch);
    if (m->alpha != 1) {
        struct space s = epilogue_space(&e);
        struct ap to = space_tile(&s, f->k, space_new_tile(f->k, &s, MEM_SBUF, DT_F32));
        emit_activation(f->k, (struct activation){.dst = to, .src = result, .factor = m->alpha});
        result = to;
    }
    epilogue_emit(&e, result);
}

/* A grid variable for each batch cover; how many products there are. */
static dim_t batch_grid(struct kernel_builder *k, const struct type *y, struct strict_matmul *m)
{
    struct dim_table *t = &k->p->dims;
    dim_t batches = 1;
    for (int i = 0; i < m->nbatch; i++) {
        struct cover *c = &m->batch[i];
        dim_t count = 1;
        for (int d = c->first; d <= c->last; d++)
            count = dim_mul(t, count, y->dims[d]);
        c->var = kernel_grid(k, count);
        batches = dim_mul(t, batches, count);
        ap_move(k->p, &m->p.a, c->var, m->step_a[i]);
        ap_move(k->p, &m->p.b, c->var, m->step_b[i]);
    }
    return batches;
}

enum lowered strict_matmul(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    const struct node *n = g.nodes[0];
    struct dim_table *t = &l->p->dims;
    struct strict_matmul m = {0};
    if (!examine(l, &g, &m))
        return DECLINED;
    struct strict_product *p = &m.p;
    operand_patterns(l, &m);
    strict_product_tiles(l, &g, p);
    right_operand(l, &m);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    dim_t batches = batch_grid(&k, &n->out[0]->type, &m);
    p->out.var = kernel_grid(&k, dim_ceildiv(t, p->out_channels, p->out.every));
    p->row.var = kernel_grid(&k, dim_ceildiv(t, p->rows, p->row.every));
    strict_product_emit(&k, p, finish, &(struct finish){&k, &g, &m});
    dim_t products = dim_mul(t, batches, dim_mul(t, p->rows, p->out_channels));
    kernel_of(&k)->flops = dim_mul(t, 2, dim_mul(t, products, p->k));
    dim_t weights = dim_mul(t, p->k, p->out_channels);
    dim_t moved = dim_mul(t, p->rows, dim_add(t, p->k, p->out_channels));
    dim_t operands = dim_add(t, moved, weights);
    kernel_of(&k)->bytes = dim_mul(t, 4, dim_mul(t, batches, operands));
    return LOWERED;
}
