/*
 * Parts of tensors: concatenation, split, slice, padding. One copy per part.
 */
#include "backend/lower/move.h"
#include "backend/lower/numbers.h"
#include "backend/lower/padding.h"
#include "backend/lower/parts.h"
#include "backend/lower/states.h"

static const char *title(const struct node *n)
{
    return n->name && *n->name ? n->name : op_name(n->op);
}

/* Between a part and its whole, over the dims of the part. Slots are filled in later. */
static struct move part_move(struct lowering *l, struct value *part, const struct part_place *s, bool onto_whole)
{
    dim_t dense[MAX_RANK];
    struct move m = {.from_offset = onto_whole ? 0 : s->offset, .to_offset = onto_whole ? s->offset : 0};
    value_steps(l, part, dense);
    for (int i = 0; i < part->type.rank; i++)
        move_dim(&m, part->type.dims[i], onto_whole ? s->steps[i] : dense[i], onto_whole ? dense[i] : s->steps[i]);
    return m;
}

enum lowered lower_concat(struct lowering *l, struct node *n)
{
    struct value *y = n->out[0];
    struct part_place s;
    int axis;
    for (int i = 0; i < n->nin; i++)
        if (!movable(l, n, i, 0))
            return DECLINED;
    if (!part_axis(n, y->type.rank, &axis))
        return DECLINED;
    for (int i = 0; i < n->nin; i++) {
        struct value *x = outer_value(l, n->in[i]);
        if (was_written_through(l, x, value_slot(l, y)) || x->type.dims[axis] == 0 || !part_of_whole(l, n, i, &s))
            continue;
        struct move m = part_move(l, x, &s, true);
        m.to_slot = value_slot(l, y), m.from_slot = value_slot(l, x);
        if (!move_possible(l, &m))
            return DECLINED; /* never: at most three dims are left */
        emit_move(l, n, title(n), &m);
    }
    return LOWERED;
}

/* Whether the whole is worth keeping for a part. Inputs stay anyway; on strict targets a copy costs a transfer. */
static bool keeps_whole(struct lowering *l, const struct slot *base, const struct value *part)
{
    enum { WORTH = 4 }; /* times the part */
    int64_t of_part, of_whole, max;
    if (base->kind == SLOT_INPUT)
        return !l->m->strict;
    if (base->kind != SLOT_PLANNED || l->m->strict)
        return base->kind == SLOT_PLANNED;
    dim_bounds(&l->p->dims, type_count(&l->p->dims, &part->type), &of_part, &max);
    dim_bounds(&l->p->dims, type_count(&l->p->dims, &base->type), &max, &of_whole);
    return of_part > 0 && of_whole / WORTH <= of_part;
}

/* A part whose elements lie side by side in the whole is the whole's memory from `at` on. */
static bool part_is_view(struct lowering *l, struct value *part, struct value *whole, dim_t at)
{
    if (!has_layout(l, whole) || !has_layout(l, part) || l->is_output[part->id] || l->slots[part->id] >= 0)
        return false;
    int base = value_slot(l, whole);
    const struct slot *s = &l->p->slots[base];
    if (s->kind == SLOT_VIEW)
        at = dim_add(&l->p->dims, at, s->offset), base = s->base;
    if (!keeps_whole(l, &l->p->slots[base], part))
        return false;
    l->slots[part->id] = program_add_slot(
        l->p, (struct slot){.name = part->name, .type = part->type, .kind = SLOT_VIEW, .base = base, .offset = at});
    return true;
}

/* Result i of a split or slice. */
static bool copy_part(struct lowering *l, struct node *n, int i)
{
    struct value *y = n->out[i];
    struct part_place s;
    if (!part_of_whole(l, n, i, &s))
        return false;
    if (lies_dense(l, s.steps, y) && part_is_view(l, y, s.x, s.offset))
        return true;
    struct move m = part_move(l, y, &s, false);
    m.to_slot = value_slot(l, y), m.from_slot = value_slot(l, s.x);
    if (!move_possible(l, &m))
        return false;
    emit_move(l, n, title(n), &m);
    return true;
}

enum lowered lower_split_parts(struct lowering *l, struct node *n)
{
    for (int i = 0; i < n->nout; i++)
        if (!movable(l, n, 0, i))
            return DECLINED;
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->uses && !copy_part(l, n, i))
            return DECLINED;
    return LOWERED;
}

enum lowered lower_slice(struct lowering *l, struct node *n)
{
    return movable(l, n, 0, 0) && copy_part(l, n, 0) ? LOWERED : DECLINED;
}

/* ---- pad ---- */

/* How much of a dim of y a border takes. Where the other end is cut, the cut may reach past x. */
static dim_t border_size(struct dim_table *t, dim_t pad, dim_t other, dim_t size)
{
    dim_t d = dim_max(t, pad, 0);
    return dim_is_const(other) && other >= 0 ? d : dim_min(t, d, size);
}

static dim_t low_border(struct dim_table *t, const struct padding *p, int i, dim_t size)
{
    return border_size(t, p->begin[i], p->end[i], size);
}

static dim_t high_border(struct dim_table *t, const struct padding *p, int i, dim_t size)
{
    return border_size(t, p->end[i], p->begin[i], size);
}

/* The border of one dim: whole along later dims, between the borders along earlier ones. */
static void fill_border(struct lowering *l, const struct node *n, const struct padding *p, int fill,
                        int axis, bool after)
{
    struct dim_table *t = &l->p->dims;
    struct value *y = n->out[0];
    dim_t steps[MAX_RANK], along = y->type.dims[axis];
    dim_t count = after ? high_border(t, p, axis, along) : low_border(t, p, axis, along);
    struct move m = {.to_slot = value_slot(l, y), .from_slot = fill};
    dense_steps(t, p->rank, y->type.dims, steps);
    if (count == 0)
        return;
    for (int i = 0; i < p->rank; i++) {
        dim_t size = y->type.dims[i], low = low_border(t, p, i, size),
              high = high_border(t, p, i, size);
        dim_t inside = dim_sub(t, size, dim_add(t, low, high));
        dim_t first = i < axis ? low : i == axis && after ? dim_sub(t, size, high) : 0;
        move_dim(&m, i < axis ? inside : i == axis ? count : size, steps[i], 0);
        m.to_offset = dim_add(t, m.to_offset, dim_mul(t, steps[i], first));
    }
    if (move_possible(l, &m))
        emit_move(l, n, "pad border", &m);
}

static bool some(dim_t d)
{
    return dim_is_const(d) && d > 0;
}

/* Images: what follows one row lies before the next, so that both borders are one. Those before the
 * first row and after the last belong to borders along the dim before. */
static bool fill_columns(struct lowering *l, const struct node *n, const struct padding *p,
                         int fill)
{
    struct dim_table *t = &l->p->dims;
    struct value *y = n->out[0];
    int column = p->rank - 1, row = column - 1;
    struct move m = {.to_slot = value_slot(l, y), .from_slot = fill};
    dim_t steps[MAX_RANK];
    if (row < 0 || !some(p->begin[row]) || !some(p->end[row]) || !some(p->begin[column]) ||
        !some(p->end[column]))
        return false;
    dense_steps(t, p->rank, y->type.dims, steps);
    for (int i = 0; i < p->rank; i++) {
        dim_t size = y->type.dims[i], low = low_border(t, p, i, size),
              high = high_border(t, p, i, size);
        dim_t inside = dim_sub(t, size, dim_add(t, low, high));
        dim_t first = i < row ? low : i == row ? dim_sub(t, low, 1) : dim_sub(t, size, high);
        move_dim(&m,
                 i < row    ? inside
                 : i == row ? dim_add(t, inside, 1)
                            : dim_add(t, low, high),
                 steps[i], 0);
        m.to_offset = dim_add(t, m.to_offset, dim_mul(t, steps[i], first));
    }
    if (!move_possible(l, &m))
        return false;
    emit_move(l, n, "pad border", &m);
    return true;
}

enum lowered lower_pad(struct lowering *l, struct node *n)
{
    struct dim_table *t = &l->p->dims;
    struct padding p = {0};
    struct value *value = n->nin > 2 ? outer_value(l, n->in[2]) : NULL;
    dim_t from[MAX_RANK], to[MAX_RANK];
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct value *x = outer_value(l, n->in[0]), *y = n->out[0];
    if (!padding_is_copied(l, n, &p)) {
        why(l->o, n, "tile.pad",
            "only padding with a constant by amounts known before running has a tile program; it "
            "runs on GpSimd");
        return DECLINED;
    }
    int fill = value ? value_slot(l, value) : zero_slot(l, y->type.dtype);
    int single = p.rank - fill_columns(l, n, &p, fill);
    for (int i = 0; i < single; i++) {
        fill_border(l, n, &p, fill, i, false);
        fill_border(l, n, &p, fill, i, true);
    }
    if (was_written_through(l, x, value_slot(l, y)))
        return LOWERED;
    struct move m = {.to_slot = value_slot(l, y), .from_slot = value_slot(l, x)};
    dense_steps(t, p.rank, x->type.dims, from);
    dense_steps(t, p.rank, y->type.dims, to);
    for (int i = 0; i < p.rank; i++) {
        dim_t low = low_border(t, &p, i, y->type.dims[i]);
        dim_t cut = dim_max(t, dim_mul(t, p.begin[i], -1), 0);
        dim_t cut_end = dim_min(t, p.end[i], 0);
        dim_t cut_both = dim_add(t, dim_min(t, p.begin[i], 0), cut_end);
        dim_t count = dim_add(t, x->type.dims[i], cut_both);
        move_dim(&m, dim_max(t, count, 0), to[i], from[i]);
        m.from_offset = dim_add(t, m.from_offset, dim_mul(t, from[i], cut));
        m.to_offset = dim_add(t, m.to_offset, dim_mul(t, to[i], low));
    }
    if (move_possible(l, &m))
        emit_move(l, n, title(n), &m);
    return LOWERED;
}
