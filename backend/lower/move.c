#include "backend/lower/move.h"

#include "backend/lower/product.h"

enum { TILE_ELEMENTS = 16384, BLOCK = 128 };

struct move move_onto(struct lowering *l, struct value *result, struct value *operand)
{
    struct move m = {.to_slot = value_slot(l, result), .from_slot = value_slot(l, operand)};
    m.rank = result->type.rank;
    for (int i = 0; i < m.rank; i++)
        m.dims[i] = result->type.dims[i];
    dense_steps(&l->p->dims, m.rank, m.dims, m.to);
    return m;
}

void move_dim(struct move *m, dim_t count, dim_t to, dim_t from)
{
    m->dims[m->rank] = count;
    m->to[m->rank] = to;
    m->from[m->rank++] = from;
}

static void drop(struct move *m, int at)
{
    m->rank--;
    for (int i = at; i < m->rank; i++) {
        m->dims[i] = m->dims[i + 1];
        m->to[i] = m->to[i + 1];
        m->from[i] = m->from[i + 1];
    }
}

static bool step_is(struct lowering *l, dim_t outer, dim_t inner, dim_t count)
{
    return outer == dim_mul(&l->p->dims, inner, count);
}

bool move_possible(struct lowering *l, struct move *m)
{
    for (int i = m->rank - 1; i >= 0; i--)
        if (m->dims[i] == 1)
            drop(m, i);
    for (int i = m->rank - 2; i >= 0; i--)
        if (step_is(l, m->to[i], m->to[i + 1], m->dims[i + 1]) &&
            step_is(l, m->from[i], m->from[i + 1], m->dims[i + 1])) {
            m->dims[i + 1] = dim_mul(&l->p->dims, m->dims[i], m->dims[i + 1]);
            drop(m, i);
        }
    if (m->rank == 0)
        move_dim(m, 1, 1, 1);
    return m->rank <= MAX_GRID + 2;
}

/* The dim that is contiguous in the source when the last one is not: both are walked as a
 * transpose. */
static int transposed(const struct move *m)
{
    int last = m->rank - 1;
    if (m->to[last] != 1 || m->from[last] == 1 || m->from[last] == 0)
        return -1;
    for (int i = last - 1; i >= 0; i--)
        if (m->from[i] == 1)
            return i;
    return -1;
}

/* One dim of both patterns: whole, in tiles of the grid, or one index per instance. */
struct move_walk {
    dim_t count, to, from, tile; /* tile 0: one index */
    int var;                     /* -1: whole */
};

static void plan_dim(struct move_walk *w, int64_t *room, int *grids)
{
    *w = (struct move_walk){w->count, w->to, w->from, w->count, -1};
    if (dim_is_const(w->count) && w->count <= *room) {
        *room /= w->count > 0 ? w->count : 1;
        return;
    }
    if (*grids == 0)
        return;
    --*grids;
    w->var = 0; /* given when the grid is made */
    w->tile = *room > 1 ? even_tile(w->count, *room) : 0;
    *room = 1;
}

static void push(struct lowering *l, const struct move_walk *w, struct ap *to, struct ap *from)
{
    if (w->var >= 0 && !w->tile) {
        ap_move(l->p, to, w->var, w->to);
        ap_move(l->p, from, w->var, w->from);
        return;
    }
    ap_push_tile(l->p, to, w->to, w->tile, w->var, w->count);
    ap_push_tile(l->p, from, w->from, w->tile, w->var, w->count);
}

static struct move_walk walk_of(const struct move *m, int i)
{
    return (struct move_walk){m->dims[i], m->to[i], m->from[i], 0, -1};
}

static void swap_dims(struct ap *a)
{
    struct ap_dim d = a->dim[a->rank - 1];
    a->dim[a->rank - 1] = a->dim[a->rank - 2];
    a->dim[a->rank - 2] = d;
}

/* Where DMA would transpose element by element, engines do (stage.h): floats in two dims. */
static bool engines_transpose(const struct lowering *l, const struct ap *to)
{
    return l->m->strict && to->rank == 2 && machine_timing(l->m)->dma_transpose_share == 0 &&
           dtype_is_engine_float(to->dtype);
}

void emit_move(struct lowering *l, const struct node *n, const char *name, const struct move *m)
{
    struct move_walk w[MOVE_RANK];
    int64_t room = TILE_ELEMENTS, block = BLOCK;
    int flip = transposed(m), count = 0, grids = MAX_GRID;
    if (flip < 0 && strict_move_rows(l, n, name, m))
        return;
    for (int i = 0; i < m->rank; i++)
        if (i != flip && i != m->rank - 1)
            w[count++] = walk_of(m, i);
    if (flip >= 0)
        w[count++] = walk_of(m, flip);
    w[count++] = walk_of(m, m->rank - 1);
    for (int i = count - 1; i >= 0; i--) {
        if (flip >= 0 && i >= count - 2) {
            int64_t part = block;
            plan_dim(&w[i], &part, &grids);
            room /= dim_is_const(w[i].tile) && w[i].tile > 0 ? w[i].tile : 1;
            room = room > 0 ? room : 1;
        } else {
            plan_dim(&w[i], &room, &grids);
        }
        if (flip >= 0 && i >= count - 2 && w[i].var >= 0 && !w[i].tile)
            w[i].tile = 1;
    }
    struct kernel_builder k = begin_kernel(l, n, name);
    for (int i = 0; i < count; i++)
        if (w[i].var >= 0)
            w[i].var = kernel_grid(&k, w[i].tile ? dim_ceildiv(&l->p->dims, w[i].count, w[i].tile)
                                                 : w[i].count);
    struct ap to = ap_slot(l->p, m->to_slot), from = ap_slot(l->p, m->from_slot);
    to.offset.base = m->to_offset, from.offset.base = m->from_offset;
    for (int i = 0; i < count; i++)
        push(l, &w[i], &to, &from);
    if (to.rank == 0)
        ap_push(&to, 1, 1), ap_push(&from, 1, 1);
    bool copied = flip < 0 || engines_transpose(l, &to);
    if (!copied)
        swap_dims(&from);
    if (flip >= 0 && copied)
        emit_tensor_copy(&k, (struct tensor_copy){.dst = to, .src = from});
    else if (flip >= 0)
        emit_dma_transpose(&k, (struct dma_transpose){.dst = to, .src = from});
    else
        emit_dma_copy(&k, (struct dma_copy){.dst = to, .src = from});
    dim_t elements = 2 * (dim_t)dtype_bytes(l->p->slots[m->to_slot].type.dtype);
    for (int d = 0; d < m->rank; d++)
        elements = dim_mul(&l->p->dims, elements, m->dims[d]);
    kernel_of(&k)->bytes = elements;
}

bool movable(struct lowering *l, const struct node *n, int operand, int result)
{
    if (n->op == OP_fused)
        return false;
    if (has_layout(l, outer_value(l, n->in[operand])) && has_layout(l, n->out[result]))
        return true;
    why(l->o, n, "tile.move-shape", "its shapes are known only while running; it runs on GpSimd");
    return false;
}
