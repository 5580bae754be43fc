/*
 * What an elementwise group computes, reduced while it is in the tile. Over the last dims, an
 * instance has whole rows, or a part of one when they are long; over others, a part of the
 * columns. Parts are reduced by a second kernel, in an order that the shapes alone decide.
 */
#include "backend/lower/reduce.h"

enum { COLUMN_ROOM = 16384, MAX_COLUMNS = 1024, LAST_COLUMNS = 64, LAST_ELEMENTS = 4096 };

struct reduced {
    struct group_layout y;
    bool gone[MAX_RANK]; /* joined dims that are reduced */
    bool rows;           /* the last ones are */
    int reductions;
    int64_t kept, count; /* elements of a result, and reduced into one */
    int64_t columns;     /* of those kept: behind what is reduced */
    int64_t parts;       /* partial results of each */
};

/* Reduced dims lie together, and sizes are numbers. */
static bool examine(struct lowering *l, const struct group *g, struct reduced *r)
{
    struct group_layout *y = &r->y;
    int changes = 0, result;
    y->l = l;
    r->reductions = group_reductions(g);
    if (!layout_collect(y, g))
        return false;
    layout_collapse(y);
    result = layout_operand(y, outer_value(l, g->nodes[g->n - 1]->out[0]));
    r->kept = r->count = r->columns = 1;
    for (int i = 0; i < y->rank; i++) {
        if (!dim_is_const(y->dims[i]) || y->dims[i] < 1)
            return false;
        r->gone[i] = y->operands[result].steps[i] == 0;
        *(r->gone[i] ? &r->count : &r->kept) *= y->dims[i];
        r->columns = r->gone[i] ? 1 : r->columns * y->dims[i];
        changes += i && r->gone[i] && !r->gone[i - 1];
    }
    r->rows = r->gone[y->rank - 1];
    return changes + r->gone[0] == 1;
}

/* Long rows of columns are cut, and several of them make a tile. */
static void cut_columns(struct group_layout *y)
{
    int last = y->rank - 1;
    for (int i = 0; i < y->rank; i++)
        y->tile[i] = y->dims[i];
    y->tile[last] = y->dims[last] > MAX_COLUMNS ? MAX_COLUMNS : y->dims[last];
    if (y->dims[last - 1] > COLUMN_ROOM / MAX_COLUMNS)
        y->tile[last - 1] = COLUMN_ROOM / MAX_COLUMNS;
    y->tile_dims = 2;
}

static bool choose_tiles(struct reduced *r, int nodes)
{
    struct group_layout *y = &r->y;
    if (r->rows)
        layout_tile(y, layout_room(y, nodes));
    else if (r->columns <= COLUMN_ROOM / 4)
        layout_tile(y, COLUMN_ROOM);
    else if (y->rank >= 2 && r->gone[y->rank - 2])
        cut_columns(y);
    else
        return false;
    r->parts = 1;
    for (int i = 0; i < y->rank; i++)
        if (r->gone[i])
            r->parts *= i < y->rank - y->tile_dims ? y->dims[i]
                                                   : (y->dims[i] + y->tile[i] - 1) / y->tile[i];
    return layout_grid_rank(y) <= MAX_GRID && y->tile_dims + 1 <= MAX_SPACE;
}

/* A tile with what is kept first, at least one dim of that. */
static struct ap kept_first(const struct reduced *r, struct ap a)
{
    struct ap b = a;
    int first = r->y.rank - r->y.tile_dims, n = 0;
    b.rank = 0;
    for (int gone = 0; gone < 2; gone++) {
        for (int i = 0; i < r->y.tile_dims; i++)
            if (r->gone[first + i] == gone)
                b.dim[b.rank++] = a.dim[i], n += !gone;
        if (!gone && n == 0)
            ap_push(&b, 0, 1);
    }
    return b;
}

/* Where an instance stores its result or part: in the reduction's result, or in `slot`, in which
 * the parts of one element are neighbours (rows) or those of one instance are. */
static struct ap target(struct lowering *l, const struct reduced *r, struct value *result, int slot)
{
    const struct group_layout *y = &r->y;
    const dim_t *steps = y->operands[layout_operand(y, outer_value(l, result))].steps;
    int first = y->rank - y->tile_dims;
    int64_t kept_step = r->rows && r->parts > 1 ? r->parts : 1, part_step = r->rows ? 1 : r->kept;
    struct ap a = ap_slot(l->p, slot);
    for (int i = 0; i < first; i++)
        if (!r->gone[i])
            ap_move(l->p, &a, y->var[i], steps[i] * kept_step);
    for (int i = first; i < y->rank; i++)
        if (!r->gone[i])
            ap_push_tile(l->p, &a, steps[i] * kept_step, y->tile[i], y->tile_var[i], y->dims[i]);
    if (a.rank == 0)
        ap_push(&a, 1, 1);
    for (int i = y->rank - 1; i >= 0; i--) { /* parts are counted from the last dim on */
        int var = i < first ? y->var[i] : y->tile_var[i];
        if (!r->gone[i] || var < 0)
            continue;
        ap_move(l->p, &a, var, part_step);
        part_step *= i < first ? y->dims[i] : (y->dims[i] + y->tile[i] - 1) / y->tile[i];
    }
    return a;
}

static int part_slot(struct lowering *l, const struct reduced *r)
{
    int64_t dims[] = {r->kept, r->parts};
    struct type t = type_tensor(DT_F32, 2, dims);
    return temporary_slot(l, &t, NULL);
}

static float scale_of(const struct reduced *r, const struct reduction_kind *kind)
{
    return kind->mean ? 1 / (float)r->count : 1;
}

/* Reduces the parts of every element. */
static void reduce_parts(struct lowering *l, const struct reduced *r, const struct node *n, int slot)
{
    const struct reduction_kind *kind = reduction_kind(n->op);
    enum op joins = kind->reduce == OP_square || kind->reduce == OP_abs ? OP_add : kind->reduce;
    struct kernel_builder k = begin_kernel(l, n, n->name);
    int64_t tile = r->rows ? LAST_ELEMENTS / r->parts : LAST_COLUMNS;
    tile = tile < 1 ? 1 : tile > r->kept ? r->kept : tile;
    int var = tile == r->kept ? -1 : kernel_grid(&k, (r->kept + tile - 1) / tile);
    struct ap src = ap_slot(l->p, slot), dst = ap_slot(l->p, value_slot(l, n->out[0]));
    ap_push_tile(l->p, &src, r->rows ? r->parts : 1, tile, var, r->kept);
    ap_push(&src, r->rows ? 1 : r->kept, r->parts);
    ap_push_tile(l->p, &dst, 1, tile, var, r->kept);
    emit_tensor_reduce(&k, (struct tensor_reduce){.dst = dst,
                                                  .src = src,
                                                  .axes = 1,
                                                  .scale = scale_of(r, kind),
                                                  .op = joins});
    kernel_of(&k)->flops = r->kept * r->parts;
    kernel_of(&k)->bytes = 4 * r->kept * (r->parts + 1);
}

static bool possible(struct lowering *l, const struct group *g, int reductions)
{
    for (int i = 0; i < g->n; i++) {
        const struct node *n = g->nodes[i];
        bool reduces = i >= g->n - reductions;
        const struct reduction_kind *kind = reduces ? reduction_kind(n->op) : NULL;
        if (reduces ? kind->finish != OP_identity : !node_possible(l, n))
            return false;
    }
    return !l->m->strict;
}

enum lowered lower_reduced_elementwise(struct lowering *l, struct group *g)
{
    struct reduced r = {0};
    int slots[MAX_AP_RANK], made = group_reductions(g);
    if (made > MAX_AP_RANK || !possible(l, g, made) || !examine(l, g, &r) ||
        !choose_tiles(&r, g->n)) {
        why(l->o, g->whole, "tile.reduced", "what is computed is written before it is reduced");
        return DECLINED;
    }
    for (int i = 0; i < made; i++)
        slots[i] = r.parts > 1 ? part_slot(l, &r)
                               : value_slot(l, g->nodes[g->n - made + i]->out[0]);
    struct kernel_builder k = begin_kernel(l, g->whole, g->whole->name);
    layout_grid(&r.y, &k);
    struct expression e = {.k = &k, .g = g, .space = layout_space(&r.y), .pattern = layout_pattern,
                           .user = &r.y, .tail = made};
    expression_emit(&e, 0);
    for (int i = 0; i < made; i++) {
        const struct node *n = g->nodes[g->n - made + i];
        const struct reduction_kind *kind = reduction_kind(n->op);
        struct ap src = kept_first(&r, expression_operand(&e, n->in[0]));
        struct ap dst = target(l, &r, n->out[0], slots[i]);
        emit_tensor_reduce(&k, (struct tensor_reduce){.dst = dst,
                                                      .src = src,
                                                      .axes = src.rank - dst.rank,
                                                      .scale = r.parts > 1 ? 1 : scale_of(&r, kind),
                                                      .op = kind->reduce});
    }
    kernel_of(&k)->flops = r.kept * r.count * g->n;
    kernel_of(&k)->bytes = 4 * r.kept * r.count * r.y.n;
    for (int i = 0; i < made && r.parts > 1; i++)
        reduce_parts(l, &r, g->nodes[g->n - made + i], slots[i]);
    return LOWERED;
}
