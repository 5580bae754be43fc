/*
 * Matrix products of two computed operands, with batch dims: a row tile times a block of columns
 * per instance.
 */
#include "backend/lower/product.h"
#include "backend/lower/strided.h"

#include <string.h>

enum { COLUMN_TILE = 128 };

struct computed {
    struct strided a, b;
    int nbatch;
    dim_t a_steps[MAX_RANK], b_steps[MAX_RANK]; /* of the batch dims */
    dim_t rows, columns, k;
    int var[MAX_RANK], var_row, var_column;
    dim_t row_tile, column_tile;
};

static void swap_last(struct strided *s)
{
    dim_t d = s->dims[s->rank - 1], step = s->steps[s->rank - 1];
    s->dims[s->rank - 1] = s->dims[s->rank - 2], s->steps[s->rank - 1] = s->steps[s->rank - 2];
    s->dims[s->rank - 2] = d, s->steps[s->rank - 2] = step;
}

static struct computed examine(struct lowering *l, const struct node *n)
{
    struct computed c = {.a = strided_operand(l, n->in[0]), .b = strided_operand(l, n->in[1])};
    const struct type *y = &n->out[0]->type;
    if (attr_int(&n->attrs, "trans_a", 0))
        swap_last(&c.a);
    if (attr_int(&n->attrs, "trans_b", 0))
        swap_last(&c.b);
    c.nbatch = y->rank - 2;
    strided_broadcast(l, &c.a, 2, c.nbatch, y->dims, c.a_steps);
    strided_broadcast(l, &c.b, 2, c.nbatch, y->dims, c.b_steps);
    c.rows = y->dims[y->rank - 2], c.columns = y->dims[y->rank - 1];
    c.k = c.a.dims[c.a.rank - 1];
    return c;
}

static void make_grid(struct computed *c, struct kernel_builder *k, const struct type *y)
{
    struct dim_table *t = &k->p->dims;
    for (int i = 0; i < c->nbatch; i++)
        c->var[i] = y->dims[i] == 1 ? -1 : kernel_grid(k, y->dims[i]);
    c->row_tile = even_tile(c->rows, ROW_TILE);
    c->column_tile = even_tile(c->columns, COLUMN_TILE);
    if (dim_is_const(c->columns) && c->columns > COLUMN_TILE)
        c->column_tile = (c->column_tile + 15) / 16 * 16;
    c->var_row = kernel_grid(k, dim_ceildiv(t, c->rows, c->row_tile));
    c->var_column = kernel_grid(k, dim_ceildiv(t, c->columns, c->column_tile));
}

static struct epilogue epilogue_of(struct kernel_builder *k, struct group *g,
                                   const struct computed *c)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank};
    memcpy(e.dims, y->dims, sizeof e.dims);
    for (int i = 0; i < c->nbatch; i++)
        if (c->var[i] >= 0)
            e.covers[e.ncovers++] = cover_of(i, i, c->var[i], 0);
    e.covers[e.ncovers++] = cover_of(y->rank - 2, y->rank - 2, c->var_row, c->row_tile);
    e.covers[e.ncovers++] = cover_of(y->rank - 1, y->rank - 1, c->var_column, c->column_tile);
    return e;
}

static void multiply(struct kernel_builder *k, const struct computed *c, struct ap dst)
{
    struct ap moving = ap_slot(k->p, c->a.slot), stationary = ap_slot(k->p, c->b.slot);
    int ra = c->a.rank, rb = c->b.rank;
    for (int i = 0; i < c->nbatch; i++)
        if (c->var[i] >= 0) {
            ap_move(k->p, &moving, c->var[i], c->a_steps[i]);
            ap_move(k->p, &stationary, c->var[i], c->b_steps[i]);
        }
    ap_push_tile(k->p, &moving, c->a.steps[ra - 2], c->row_tile, c->var_row, c->rows);
    ap_push(&moving, c->a.steps[ra - 1], c->k);
    ap_push(&stationary, c->b.steps[rb - 2], c->b.dims[rb - 2]);
    ap_push_tile(k->p, &stationary, c->b.steps[rb - 1], c->column_tile, c->var_column, c->columns);
    emit_nc_matmul(k, (struct nc_matmul){.dst = dst, .stationary = stationary, .moving = moving});
}

static struct ap result(struct lowering *l, const struct node *n, const struct computed *c)
{
    struct strided y = strided_result(l, n->out[0]);
    struct ap a = ap_slot(l->p, y.slot);
    for (int i = 0; i < c->nbatch; i++)
        if (c->var[i] >= 0)
            ap_move(l->p, &a, c->var[i], y.steps[i]);
    ap_push_tile(l->p, &a, y.steps[y.rank - 2], c->row_tile, c->var_row, c->rows);
    ap_push_tile(l->p, &a, y.steps[y.rank - 1], c->column_tile, c->var_column, c->columns);
    return a;
}

enum lowered lower_product(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct computed c = examine(l, n);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    make_grid(&c, &k, &n->out[0]->type);
    struct epilogue e = epilogue_of(&k, &g, &c);
    float alpha = (float)attr_float(&n->attrs, "alpha", 1);
    bool direct = g.n == 1 && alpha == 1;
    struct ap dst = result(l, n, &c), at = dst;
    if (!direct) {
        struct space s = epilogue_space(&e);
        at = space_tile(&s, &k, kernel_tile(&k, MEM_PSUM, DT_F32, c.row_tile, c.column_tile));
    }
    multiply(&k, &c, at);
    if (alpha != 1)
        emit_activation(
            &k, (struct activation){.dst = g.n == 1 ? dst : at, .src = at, .factor = alpha});
    if (g.n > 1)
        epilogue_emit(&e, at);
    struct dim_table *t = &l->p->dims;
    dim_t x = type_count(t, &outer_value(l, n->in[0])->type);
    dim_t w = type_count(t, &outer_value(l, n->in[1])->type);
    dim_t y = type_count(t, &n->out[0]->type);
    kernel_of(&k)->flops = dim_mul(t, dim_mul(t, 2, c.k), y);
    dim_t elements = dim_add(t, dim_add(t, x, w), y);
    kernel_of(&k)->bytes = dim_mul(t, elements, 4);
    return LOWERED;
}
