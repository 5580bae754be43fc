/*
 * Matrix products by constant weights: rows x features times packed weights, with an epilogue.
 *
 * The grid runs over row tiles and blocks of 64 output channels. Small weights stay in cache while rows stream
 * (rows outside); otherwise a block of weights stays while the rows pass by (blocks outside).
 */
#include "backend/lower/plan.h"
#include "backend/lower/product.h"
#include "backend/lower/strict.h"
#include "backend/lower/quantized.h"
#include "backend/lower/strided.h"

enum { MIN_ROWS = 21, SPREAD_FLOPS = 2 << 20, SPREAD_WEIGHTS = 640 << 10 };

/* Rows of an instance: of a number with an unknown factor, which is often 1, a tile that leaves no
 * rest where there is one of about the size wanted. Of few rows by few blocks, less of them, where a block of weights
 * stays in cache for the next: results do not depend on it. */
static dim_t row_tile(const struct dim_table *t, const struct product *m, const struct packed_weights *w, dim_t blocks)
{
    dim_t rows = m->rows;
    int64_t factor = dim_constant_factor(t, rows);
    for (int64_t n = ROW_TILE; !dim_is_const(rows) && n >= ROW_TILE * 3 / 4; n--)
        if (factor % n == 0)
            return n;
    if (dim_is_const(rows) && rows * m->k * m->out_channels >= SPREAD_FLOPS / 2 &&
        (int64_t)pack_size(&w->shape) / blocks <= SPREAD_WEIGHTS)
        return spread_tile(rows, ROW_TILE, blocks, MIN_ROWS);
    return even_tile(rows, ROW_TILE);
}

struct epilogue rows_epilogue(struct kernel_builder *k, struct group *g, int var_row, dim_t rows, int var_block,
                              int64_t block)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank, .ncovers = 2};
    for (int i = 0; i < y->rank; i++)
        e.dims[i] = y->dims[i];
    e.covers[0] = cover_of(0, y->rank - 2, var_row, rows);
    e.covers[1] = cover_of(y->rank - 1, y->rank - 1, var_block, block);
    return e;
}

struct ap rows_sums(struct epilogue *e, int dtype, int64_t pitch)
{
    if (epilogue_empty(e->g))
        return epilogue_pattern(e, e->g->nodes[0]->out[0]);
    struct space s = epilogue_space(e);
    int psum = kernel_tile(e->k, MEM_PSUM, dtype, s.dim[0].count, pitch);
    struct ap a = {.mem = MEM_PSUM, .dtype = (uint8_t)dtype, .tensor = psum};
    for (int i = 0; i < 2; i++) {
        ap_push(&a, i ? 1 : pitch, s.dim[i].count);
        ap_clip(e->k->p, &a, i, s.dim[i].var, s.dim[i].count, s.dim[i].limit);
    }
    return a;
}

static void emit(struct kernel_builder *k, struct group *g, const struct product *m,
                 const struct packed_weights *w)
{
    struct lowering *l = g->l;
    dim_t blocks = (m->out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS;
    dim_t tile = row_tile(&l->p->dims, m, w, blocks), tiles = dim_ceildiv(&l->p->dims, m->rows, tile);
    bool rows_outside = pack_size(&w->shape) <= WEIGHTS_IN_CACHE;
    int var_row = rows_outside ? kernel_grid(k, tiles) : -1;
    int var_block = kernel_grid(k, blocks);
    if (!rows_outside)
        var_row = kernel_grid(k, tiles);

    int64_t block = w->width < m->out_channels ? w->width : m->out_channels;
    struct epilogue e = rows_epilogue(k, g, var_row, tile, var_block, block);
    struct ap moving = ap_slot(l->p, value_slot(l, m->x));
    ap_push_tile(l->p, &moving, m->k, tile, var_row, m->rows);
    ap_push(&moving, 1, m->k);
    struct ap stationary = weights_start(l->p, w, var_block);
    weights_finish(l->p, w, &stationary, var_block);
    if (m->quantized) {
        int terms = quantized_terms(l, m->quantized, m->bias);
        emit_quantized(&e, m->quantized, terms, stationary, ap_in_bands(moving), var_block, block);
        return;
    }

    struct ap dst = rows_sums(&e, sum_type(m->x->type.dtype), PACK_COLUMNS);
    if (m->bias >= 0)
        emit_bias(k, m->bias, dst, var_block, block, m->out_channels);
    emit_nc_matmul(k, (struct nc_matmul){.dst = dst,
                                         .stationary = stationary,
                                         .moving = moving,
                                         .accumulate = affine_number(m->bias >= 0),
                                         .packing = !w->in_place});
    if (!epilogue_empty(g))
        epilogue_emit(&e, dst);
}

void emit_product(struct lowering *l, struct group *g, const struct product *p)
{
    const struct node *n = g->nodes[0];
    struct packed_weights w;
    if (p->packed) {
        w = *p->packed;
    } else {
        struct weight_source from = {.constant = p->w, .steps = p->steps};
        from.steps.data = p->w->constant->data;
        w = pack_constant(l, &from, 1, p->k, p->out_channels, 1, outer_value(l, n->in[1])->name);
    }
    struct kernel_builder k = begin_kernel(l, n, n->name);
    emit(&k, g, p, &w);
    struct kernel *kernel = kernel_of(&k);
    kernel->flops = dim_mul(&l->p->dims, p->rows, 2 * p->k * p->out_channels);
    kernel->bytes = dim_add(&l->p->dims, dim_mul(&l->p->dims, p->rows, 4 * (p->k + p->out_channels)),
                            (dim_t)pack_size(&w.shape));
}

enum lowered lower_matmul(struct lowering *l, struct node *n)
{
    const struct product *p = decision_of(l, n)->plan;
    if (l->m->strict)
        return strict_matmul(l, n);
    if (product_is_computed(p))
        return lower_product(l, n);
    struct group g = group_of(l, n);
    emit_product(l, &g, p);
    return LOWERED;
}

enum lowered lower_integer_matmul(struct lowering *l, struct node *n)
{
    struct group g = group_of(l, n);
    struct product p = *(const struct product *)decision_of(l, n)->plan;
    p.bias = integer_bias(l, g.nodes[0], p.out_channels, 1, p.k, p.out_channels);
    emit_product(l, &g, &p);
    return LOWERED;
}
