/*
 * Elementwise groups: one pass over memory, tile by tile.
 */
#include "backend/lower/reduce.h"

/* whole: of all elements, else of those that the layout has. */
static void emit(struct group_layout *y, struct group *g, bool whole)
{
    const struct node *n = g->whole;
    struct dim_table *t = &y->l->p->dims;
    struct kernel_builder k = begin_kernel(y->l, n, n->name && *n->name ? n->name : op_name(g->nodes[0]->op));
    layout_grid(y, &k);
    layout_load(y, &k);
    struct expression e = {.k = &k, .g = g, .space = layout_space(y), .pattern = layout_pattern, .user = y};
    expression_emit(&e, 0);
    dim_t count = whole ? type_count(t, &g->results[0]->type) : 1;
    for (int i = 0; !whole && i < y->rank; i++)
        count = dim_mul(t, count, y->dims[i]);
    kernel_of(&k)->flops = dim_mul(t, count, g->n);
    kernel_of(&k)->bytes = dim_mul(t, count, 4 * y->n);
}

enum lowered lower_elementwise(struct lowering *l, struct node *n)
{
    struct group g = group_of(l, n);
    struct group_layout y = {.l = l}, rest;
    if (group_reductions(&g))
        return lower_reduced_elementwise(l, &g);
    if (!expression_possible(l, &g, 0))
        return DECLINED;
    if (!layout_collect(&y, &g)) {
        why(l->o, n, "tile.shape",
            "operands do not broadcast to the result in a way known before running; it runs on "
            "GpSimd");
        return DECLINED;
    }
    layout_collapse(&y);
    layout_tile(&y, layout_room(&y, g.n));
    bool fits = l->m->strict ? y.rank <= 4 : layout_grid_rank(&y) <= MAX_GRID && y.tile_dims <= MAX_SPACE;
    if (!fits) {
        why(l->o, n, "tile.rank", "%d separate dimensions, which are too many; it runs on GpSimd",
            y.rank);
        return DECLINED;
    }
    bool two = l->m->strict && strict_layout_tile(&y, g.n, &rest);
    emit(&y, &g, !two);
    if (two)
        emit(&rest, &g, false);
    return LOWERED;
}
