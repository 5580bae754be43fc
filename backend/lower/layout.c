#include "backend/lower/parts.h"
#include "backend/lower/reduce.h"

#include <string.h>

static struct operand_steps *new_operand(struct group_layout *y, struct value *v)
{
    ARENA_GROW(&y->l->g->arena, y->operands, y->n, y->operands_cap);
    y->operands[y->n] = (struct operand_steps){.v = v, .from = v};
    return &y->operands[y->n++];
}

static bool add_operand(struct group_layout *y, struct value *v, bool may_be_part)
{
    v = outer_value(y->l, v);
    for (int i = 0; i < y->n; i++)
        if (y->operands[i].v == v)
            return true;
    if (y->n == MAX_OPERANDS || !has_layout(y->l, v))
        return false;
    struct operand_steps *o = new_operand(y, v);
    struct part_place s;
    o->written = may_be_part && is_written_through(y->l, v, &s);
    if (!o->written && !is_read_through(y->l, v, &s))
        return broadcast_steps(y->l, v, y->rank, y->dims, o->steps);
    o->from = s.x, o->offset = s.offset;
    o->loaded = s.scattered;
    return broadcast_laid(&y->l->p->dims, v->type.rank, v->type.dims, s.steps, y->rank, y->dims, o->steps);
}

/* The result of a reduction. */
static bool add_reduced(struct group_layout *y, struct value *v)
{
    struct dim_table *t = &y->l->p->dims;
    bool reduced[MAX_RANK];
    dim_t step = 1;
    if (y->n == MAX_OPERANDS || !reduction_dims(y->l, v->def, reduced))
        return false;
    struct operand_steps *o = new_operand(y, outer_value(y->l, v));
    if (!has_layout(y->l, o->v))
        return false;
    for (int i = y->rank - 1; i >= 0; i--) {
        o->steps[i] = reduced[i] ? 0 : step;
        step = reduced[i] ? step : dim_mul(t, step, y->dims[i]);
    }
    return true;
}

bool layout_collect(struct group_layout *y, const struct group *g)
{
    const struct type *t = &g->nodes[0]->out[0]->type;
    if (t->rank < 0)
        return false;
    const struct node *owner = g->whole->parent->owner;
    bool piece = owner && owner->op == OP_fused; /* others of the fusion read its results as they are */
    y->rank = t->rank;
    memcpy(y->dims, t->dims, sizeof y->dims);
    for (int i = 0; i < g->nresults; i++) {
        const struct type *r = &g->results[i]->type;
        if (reduction_kind(g->results[i]->def->op)) {
            if (!add_reduced(y, g->results[i]))
                return false;
            continue;
        }
        if (r->rank != t->rank || memcmp(r->dims, t->dims, sizeof *t->dims * (size_t)t->rank))
            return false;
        if (!add_operand(y, g->results[i], !piece))
            return false;
    }
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->nin && !reduction_kind(g->nodes[i]->op); k++)
            if (g->nodes[i]->in[k] && !group_def(g, g->nodes[i]->in[k]) &&
                !add_operand(y, g->nodes[i]->in[k], false))
                return false;
    return true;
}

static void drop_dim(struct group_layout *y, int at)
{
    y->rank--;
    for (int i = at; i < y->rank; i++) {
        y->dims[i] = y->dims[i + 1];
        for (int o = 0; o < y->n; o++)
            y->operands[o].steps[i] = y->operands[o].steps[i + 1];
    }
}

/* Whether dims i and i + 1 are one dim for every operand. */
static bool joint(const struct group_layout *y, int i)
{
    struct dim_table *t = &y->l->p->dims;
    for (int o = 0; o < y->n; o++) {
        const dim_t *s = y->operands[o].steps;
        if (s[i] != dim_mul(t, s[i + 1], y->dims[i + 1]))
            return false;
    }
    return true;
}

void layout_collapse(struct group_layout *y)
{
    for (int i = y->rank - 1; i >= 0; i--)
        if (y->dims[i] == 1)
            drop_dim(y, i);
    for (int i = y->rank - 2; i >= 0; i--)
        if (joint(y, i)) {
            dim_t n = dim_mul(&y->l->p->dims, y->dims[i], y->dims[i + 1]);
            y->dims[i + 1] = n;
            drop_dim(y, i);
        }
    if (y->rank == 0) {
        y->rank = 1;
        y->dims[0] = 1;
        for (int o = 0; o < y->n; o++)
            y->operands[o].steps[0] = 0;
    }
}

int layout_operand(const struct group_layout *y, const struct value *v)
{
    int o = 0;
    while (y->operands[o].v != v)
        o++;
    return o;
}

/* ---- tiles of it ---- */

/*
 * Elements of a tile: few instructions on much memory go by long rows, many on little keep their
 * temporaries in the first cache, as do those that copy operands there.
 */
enum { TILE_ELEMENTS = 4096, CACHED_ELEMENTS = 2048, UNKNOWN_TILE = 256, NODES_PER_STREAM = 4 };

/* Operands and results that are read or written in full. */
static int streams(const struct group_layout *y)
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

/* Of a last dim whose size is not known a tile takes a part, so that there is room for several rows
 * should they be short. */
void layout_tile(struct group_layout *y, int64_t room)
{
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

int64_t layout_room(const struct group_layout *y, int nodes)
{
    bool loads = false;
    for (int o = 0; o < y->n; o++)
        loads |= y->operands[o].loaded;
    return loads || nodes >= NODES_PER_STREAM * streams(y) ? CACHED_ELEMENTS : TILE_ELEMENTS;
}

void layout_grid(struct group_layout *y, struct kernel_builder *k)
{
    int first = y->rank - y->tile_dims;
    for (int i = 0; i < first; i++)
        y->var[i] = kernel_grid(k, y->dims[i]);
    for (int i = first; i < y->rank; i++)
        y->tile_var[i] = y->tile[i] == y->dims[i]
                             ? -1
                             : kernel_grid(k, dim_ceildiv(&y->l->p->dims, y->dims[i], y->tile[i]));
}

struct ap layout_pattern(void *user, struct value *v)
{
    struct group_layout *y = user;
    struct lowering *l = y->l;
    int first = y->rank - y->tile_dims;
    v = outer_value(l, v);
    const struct operand_steps *o = &y->operands[layout_operand(y, v)];
    if (o->tile.mem != MEM_NONE)
        return o->tile;
    const dim_t *steps = o->steps;
    const int slot = value_slot(l, o->from);
    if (o->written) /* concatenations know by it */
        l->slots[v->id] = slot;
    struct ap a = ap_slot(l->p, slot);
    a.offset.base = dim_add(&l->p->dims, o->offset, dim_mul(&l->p->dims, y->start, steps[y->rank - 1]));
    for (int i = 0; i < first; i++)
        ap_move(l->p, &a, y->var[i], steps[i]);
    for (int i = first; i < y->rank; i++)
        ap_push_tile(l->p, &a, steps[i], y->tile[i], y->tile_var[i], y->dims[i]);
    return a;
}

struct space layout_space(const struct group_layout *y)
{
    struct space s = {.rank = y->tile_dims};
    for (int i = 0; i < y->tile_dims; i++) {
        int d = y->rank - y->tile_dims + i;
        s.dim[i] = (struct space_dim){y->tile[d], y->tile_var[d], y->tile[d], y->dims[d]};
    }
    return s;
}

void layout_load(struct group_layout *y, struct kernel_builder *k)
{
    const struct space space = layout_space(y);
    for (int i = 0; i < y->n; i++) {
        struct operand_steps *o = &y->operands[i];
        if (!o->loaded)
            continue;
        struct ap src = layout_pattern(y, o->v);
        o->tile = space_tile(&space, k, space_new_tile(k, &space, MEM_SBUF, o->v->type.dtype));
        emit_dma_copy(k, (struct dma_copy){.dst = o->tile, .src = src});
    }
}

int layout_grid_rank(const struct group_layout *y)
{
    int n = 0;
    for (int i = 0; i < y->rank; i++)
        n += i < y->rank - y->tile_dims || y->tile[i] != y->dims[i];
    return n;
}
