/*
 * Gathers of whole rows along one axis: embeddings, and selections of one constant index.
 */
#include "backend/lower/move.h"
#include "backend/lower/product.h"

enum { INDEX_TILE = 64, MAX_INDICES = 2048, TILE_ELEMENTS = 4096, FEW_INDICES = 16, FEW_ELEMENTS = 256 };

/* Indices of one tile: more where rows are short. */
static int64_t index_tile(dim_t inner)
{
    int64_t n = dim_is_const(inner) && inner > 0 ? TILE_ELEMENTS / inner : 0;
    return n < INDEX_TILE ? INDEX_TILE : n > MAX_INDICES ? MAX_INDICES : n;
}

/* One index known at compile time: a slice. */
static enum lowered one_index(struct lowering *l, struct node *n, dim_t entries, dim_t outer,
                              dim_t inner, dim_t index)
{
    struct dim_table *t = &l->p->dims;
    if (index < 0)
        index = dim_add(t, index, entries);
    struct move m = {.to_slot = value_slot(l, n->out[0]), .from_slot = value_slot(l, n->in[0])};
    move_dim(&m, outer, inner, dim_mul(t, entries, inner));
    move_dim(&m, inner, 1, 1);
    m.from_offset = dim_mul(t, index, inner);
    if (!move_possible(l, &m))
        return DECLINED;
    emit_move(l, n, n->name, &m);
    return LOWERED;
}

/* How many of the outer indices an instance takes: where few elements are gathered from each, as many as make a tile,
 * and no remainder. */
static int64_t outer_tile(const struct lowering *l, dim_t outer, dim_t count, dim_t inner)
{
    int64_t n = 1;
    if (l->m->strict || !dim_is_const(outer) || !dim_is_const(count) || !dim_is_const(inner) || count < 1 ||
        inner < 1 || count > FEW_INDICES || inner > FEW_ELEMENTS / count)
        return 1;
    for (int64_t d = 2; d <= outer && d <= TILE_ELEMENTS / (count * inner); d++)
        n = outer % d ? n : d;
    return n;
}

enum lowered lower_gather(struct lowering *l, struct node *n)
{
    struct dim_table *t = &l->p->dims;
    if (!movable(l, n, 0, 0) || !movable(l, n, 1, 0))
        return DECLINED;
    struct value *x = outer_value(l, n->in[0]), *index = outer_value(l, n->in[1]);
    int64_t rank = x->type.rank, axis = attr_int(&n->attrs, "axis", 0);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return DECLINED;
    dim_t outer = 1, inner = 1, entries = x->type.dims[axis], count = type_count(t, &index->type);
    for (int i = 0; i < axis; i++)
        outer = dim_mul(t, outer, x->type.dims[i]);
    for (int i = (int)axis + 1; i < rank; i++)
        inner = dim_mul(t, inner, x->type.dims[i]);
    if (index->constant && count == 1) {
        int64_t at = tensor_i64(index->constant, 0);
        if (dim_is_const(entries) ? at >= -entries && at < entries : at == 0 || at == -1)
            return one_index(l, n, entries, outer, inner, at);
    }
    if (index->type.dtype != DT_I32 && index->type.dtype != DT_I64) {
        why(l->o, n, "tile.gather", "indices of %s, expected i32 or i64; it runs on GpSimd",
            dtype_name(index->type.dtype));
        return DECLINED;
    }
    struct kernel_builder k = begin_kernel(l, n, n->name);
    dim_t tile = even_tile(count, index_tile(inner)), joint = outer_tile(l, outer, count, inner);
    int var_outer = kernel_grid(&k, joint > 1 ? outer / joint : outer);
    int var = kernel_grid(&k, dim_ceildiv(t, count, tile));
    struct ap dst = ap_slot(l->p, value_slot(l, n->out[0])), table = ap_slot(l->p, value_slot(l, x));
    struct ap at = ap_slot(l->p, value_slot(l, index));
    dim_t to = dim_mul(t, count, inner), from = dim_mul(t, entries, inner);
    ap_move(l->p, &dst, var_outer, dim_mul(t, to, joint));
    ap_move(l->p, &table, var_outer, dim_mul(t, from, joint));
    ap_push_tile(l->p, &dst, inner, tile, var, count), ap_push(&table, inner, entries);
    if (joint > 1)
        ap_push(&dst, to, joint), ap_push(&table, from, joint);
    if (joint == 1 || inner != 1)
        ap_push(&dst, 1, inner), ap_push(&table, 1, inner);
    ap_push_tile(l->p, &at, 1, tile, var, count);
    emit_dma_gather(&k,
                    (struct dma_gather){.dst = dst, .table = table, .index = at, .limit = entries});
    kernel_of(&k)->bytes =
        dim_mul(t, type_count(t, &n->out[0]->type), 2 * (dim_t)dtype_bytes(x->type.dtype));
    return LOWERED;
}
