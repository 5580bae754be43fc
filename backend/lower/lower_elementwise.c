/*
 * Elementwise groups: one pass over memory, tile by tile.
 */
#include "backend/lower/elementwise.h"

#include <string.h>

/*
 * Elements of a tile: few instructions on much memory go by long rows, many on little keep their
 * temporaries in the first cache.
 */
enum { TILE_ELEMENTS = 4096, CACHED_ELEMENTS = 2048, UNKNOWN_TILE = 256, NODES_PER_STREAM = 4 };

/* Operands and results that are read or written in full. */
static int streams(const struct layout *y)
{
    int n = 0;
    for (int o = 0; o < y->n; o++) {
        bool moves = false;
        for (int d = 0; d < y->rank; d++)
            moves |= y->operands[o].steps[d] != 0;
        n += moves;
    }
    return n;
}

/*
 * Whole dims from the last on while they fit, and as much of the next one as does. Of a last dim
 * whose size is not known a tile takes a part, so that there is room for several rows should they
 * be short.
 */
static void choose_tile(struct layout *y, int nodes)
{
    bool computes = nodes >= NODES_PER_STREAM * streams(y);
    int64_t room = computes ? CACHED_ELEMENTS : TILE_ELEMENTS;
    int d = y->rank - 1;
    for (; d >= 0; d--) {
        int64_t n = y->dims[d], max = room;
        bool whole = dim_is_const(n) && n <= room, rows = d == y->rank - 1 && d > 0;
        if (!dim_is_const(n) && rows)
            max = UNKNOWN_TILE;
        y->tile[d] = whole ? n : max;
        room /= y->tile[d] ? y->tile[d] : 1;
        if (!whole && !(rows && !dim_is_const(n)))
            break;
    }
    y->tile_dims = y->rank - (d < 0 ? 0 : d);
}

static void make_grid(struct layout *y, struct kernel_builder *k)
{
    int first = y->rank - y->tile_dims;
    for (int i = 0; i < first; i++)
        y->var[i] = kernel_grid(k, y->dims[i]);
    for (int i = first; i < y->rank; i++)
        y->tile_var[i] = y->tile[i] == y->dims[i]
                             ? -1
                             : kernel_grid(k, dim_ceildiv(&y->l->p->dims, y->dims[i], y->tile[i]));
}

static struct ap pattern(void *user, struct value *v)
{
    struct layout *y = user;
    struct lowering *l = y->l;
    int first = y->rank - y->tile_dims;
    v = outer_value(l, v);
    const dim_t *steps = y->operands[layout_operand(y, v)].steps;
    struct ap a = ap_slot(l->p, value_slot(l, v));
    for (int i = 0; i < first; i++)
        ap_move(l->p, &a, y->var[i], steps[i]);
    for (int i = first; i < y->rank; i++)
        ap_push_tile(l->p, &a, steps[i], y->tile[i], y->tile_var[i], y->dims[i]);
    return a;
}

static struct space space_of(const struct layout *y)
{
    struct space s = {.rank = y->tile_dims};
    for (int i = 0; i < y->tile_dims; i++) {
        int d = y->rank - y->tile_dims + i;
        s.dim[i] = (struct space_dim){y->tile[d], y->tile_var[d], y->tile[d], y->dims[d]};
    }
    return s;
}

/* Dims outside the tile, and those of which a tile has a part. */
static int grid_rank(const struct layout *y)
{
    int n = 0;
    for (int i = 0; i < y->rank; i++)
        n += i < y->rank - y->tile_dims || y->tile[i] != y->dims[i];
    return n;
}

enum lowered lower_elementwise(struct lowering *l, struct node *n)
{
    struct group g = group_of(l, n);
    struct layout y = {.l = l};
    if (!expression_possible(l, &g, 0))
        return DECLINED;
    if (!layout_collect(&y, &g)) {
        why(l->o, n, "tile.shape",
            "operands do not broadcast to the result in a way known before running; it runs on "
            "GpSimd");
        return DECLINED;
    }
    layout_collapse(&y);
    choose_tile(&y, g.n);
    bool fits = l->m->strict ? y.rank <= 4 : grid_rank(&y) <= MAX_GRID && y.tile_dims <= MAX_SPACE;
    if (!fits) {
        why(l->o, n, "tile.rank", "%d separate dimensions, which are too many; it runs on GpSimd",
            y.rank);
        return DECLINED;
    }
    if (l->m->strict)
        return strict_elementwise(&y, &g);
    struct kernel_builder k =
        begin_kernel(l, n, n->name && *n->name ? n->name : op_name(g.nodes[0]->op));
    make_grid(&y, &k);
    struct expression e = {.k = &k, .g = &g, .space = space_of(&y), .pattern = pattern, .user = &y};
    expression_emit(&e, 0);
    struct kernel *kernel = kernel_of(&k);
    dim_t count = type_count(&l->p->dims, &g.results[0]->type);
    kernel->flops = dim_mul(&l->p->dims, count, g.n);
    kernel->bytes = dim_mul(&l->p->dims, count, 4 * y.n);
    return LOWERED;
}
