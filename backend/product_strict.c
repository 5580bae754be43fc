/*
 * Products on machines with a systolic array: stationary rows of x, moving weights, contraction in
 * blocks of partitions.
 *
 * A tile of the result lies in one bank of PSUM, rows over partitions: (128 rows, 512 outs). What
 * the instruction calls stationary is x (its columns become the result's partitions), what it calls
 * moving is the weights; both lie in SBUF with the contraction over partitions, x by a transposing
 * pattern of DMA.
 */
#include "backend/product.h"

struct strict_product {
    struct kernel_builder *k;
    const struct product *m;
    dim_t rows, outs, depth; /* of a tile */
    int var_row, var_out, var_k;
    int weights; /* slot */
};

static struct ap k_clipped(struct ap a, int dim, const struct strict_product *s)
{
    if (s->var_k >= 0)
        ap_clip(&a, dim, s->var_k, s->depth, s->m->k);
    return a;
}

/* A tile (k over partitions, n), seen as (k, n), or (n, k) when `flipped`. */
static struct ap operand_tile(struct strict_product *s, int tile, dim_t n, int var, dim_t limit,
                              bool flipped)
{
    const struct tile *t = &kernel_of(s->k)->tiles[tile];
    struct ap a = {.mem = t->mem, .dtype = t->dtype, .tensor = tile};
    for (int i = 0; i < 2; i++) {
        bool k_dim = (i == 0) != flipped;
        ap_push(&a, k_dim ? n : 1, k_dim ? s->depth : n);
        if (!k_dim && var >= 0)
            ap_clip(&a, i, var, n, limit);
        if (k_dim)
            a = k_clipped(a, i, s);
    }
    return a;
}

/* The same elements in HBM: element (k, n) at the given steps. */
static struct ap operand_source(struct strict_product *s, int slot, dim_t k_step, dim_t n_step,
                                dim_t n, int var, dim_t limit)
{
    struct lowering *l = s->k->l;
    struct ap a = ap_slot(l, slot);
    ap_push_tile(l, &a, k_step, s->depth, s->var_k, s->m->k);
    ap_push_tile(l, &a, n_step, n, var, limit);
    return a;
}

static void emit_block(struct strict_product *s, struct ap psum)
{
    struct lowering *l = s->k->l;
    const struct product *m = s->m;
    int x = kernel_tile(s->k, MEM_SBUF, m->x->type.dtype, s->depth, s->rows);
    int w = kernel_tile(s->k, MEM_SBUF, m->w->dtype, s->depth, s->outs);
    emit_copy(s->k, operand_tile(s, x, s->rows, s->var_row, m->rows, false),
              operand_source(s, value_slot(l, m->x), 1, m->k, s->rows, s->var_row, m->rows));
    emit_copy(s->k, operand_tile(s, w, s->outs, s->var_out, m->outs, false),
              operand_source(s, s->weights, m->steps.k_step, m->steps.out_step, s->outs, s->var_out,
                             m->outs));
    struct insn *i = kernel_insn(s->k, INSN_nc_matmul);
    i->ap[0] = psum;
    i->ap[1] = operand_tile(s, x, s->rows, s->var_row, m->rows, false);
    i->ap[2] = operand_tile(s, w, s->outs, s->var_out, m->outs, true);
    if (s->var_k >= 0)
        i->imm[0].coef[s->var_k] = 1; /* accumulate: all blocks but the first */
}

void emit_product_strict(struct lowering *l, struct group *g, const struct product *p)
{
    const struct node *n = g->nodes[0];
    struct kernel_builder k = kernel_begin(l, n, n->name);
    struct strict_product s = {
        .k = &k, .m = p, .var_k = -1, .weights = value_slot(l, outer_value(l, n->in[1]))};
    s.rows = even_tile(p->rows, l->m->matmul_m), s.outs = even_tile(p->outs, l->m->matmul_n);
    s.depth = even_tile(p->k, l->m->matmul_k);
    s.var_row = kernel_grid(&k, dim_ceildiv(&l->p->dims, p->rows, s.rows));
    s.var_out = kernel_grid(&k, (p->outs + s.outs - 1) / s.outs);

    const struct type *y = &n->out[0]->type;
    struct epilogue e = {.k = &k, .g = g, .rank = y->rank, .ncovers = 2};
    for (int i = 0; i < y->rank; i++)
        e.dims[i] = y->dims[i];
    e.covers[0] = (struct cover){0, y->rank - 2, s.var_row, s.rows};
    e.covers[1] = (struct cover){y->rank - 1, y->rank - 1, s.var_out, s.outs};
    int tile = kernel_tile(&k, MEM_PSUM, DT_F32, s.rows, s.outs);
    struct ap result = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = tile}, flipped = result;
    ap_push(&result, s.outs, s.rows), ap_clip(&result, 0, s.var_row, s.rows, p->rows);
    ap_push(&result, 1, s.outs), ap_clip(&result, 1, s.var_out, s.outs, p->outs);
    flipped.rank = 2;
    flipped.dim[0] = result.dim[1], flipped.dim[1] = result.dim[0];

    bool blocks = s.depth < p->k;
    if (blocks)
        s.var_k = kernel_loop(&k, (p->k + s.depth - 1) / s.depth);
    emit_block(&s, flipped);
    if (blocks)
        kernel_end_loop(&k);
    epilogue_emit(&e, result);
    kernel_of(&k)->flops = dim_mul(&l->p->dims, p->rows, 2 * p->k * p->outs);
    kernel_of(&k)->bytes = dim_mul(&l->p->dims, p->rows, 4 * (p->k + p->outs));
}
