#include "backend/lower/rows.h"

#include "backend/lower/product.h"

#include <string.h>

enum { TILE_ELEMENTS = 4096, UNKNOWN_ROWS = 16, INNER_TILE = 64 };

static dim_t product(struct lowering *l, const dim_t *dims, int from, int to)
{
    dim_t n = 1;
    for (int i = from; i < to; i++)
        n = dim_mul(&l->p->dims, n, dims[i]);
    return n;
}

struct rows rows_of(struct lowering *l, const struct type *t, int first, int last)
{
    struct rows r = {
        .rank = t->rank, .first = first, .last = last, .var_outer = -1, .var_inner = -1};
    memcpy(r.dims, t->dims, sizeof r.dims);
    r.outer = product(l, r.dims, 0, first);
    r.n = product(l, r.dims, first, last + 1);
    r.inner = product(l, r.dims, last + 1, t->rank);
    r.strided = r.inner != 1;
    return r;
}

void rows_together(struct rows *r, const struct machine *m)
{
    enum { LIMIT = 4, MIN_INSTANCES = 2, WORK_TILES = 3 };
    if (!m->strict || r->strided || !dim_is_const(r->n) || r->n > m->sbuf || !dim_is_const(r->outer))
        return;
    int64_t n = ceil_div(r->outer, even_tile(r->outer, m->partitions));
    int64_t room = m->sbuf / 3 / (WORK_TILES * 4 * r->n + 1);
    for (r->tiles = LIMIT; r->tiles > 1; r->tiles--)
        if (n % r->tiles == 0 && n / r->tiles >= MIN_INSTANCES && r->tiles <= room)
            break;
}

/* The rows of this tile: over partitions, at r->at. */
static struct cover row_cover(const struct rows *r, int last)
{
    struct cover c = cover_of(0, last, r->var_outer, r->tile);
    c.at = r->at;
    c.every = r->tiles > 1 ? r->tiles * r->tile : 0;
    return c;
}

bool rows_have_room(struct lowering *l, const struct node *n, dim_t elements)
{
    if (!l->m->strict)
        return true;
    bool known = dim_is_const(elements) && elements > 0;
    if (known && elements <= l->m->sbuf / 4)
        return true;
    if (known)
        why(l->o, n, "tile.row-room",
            "a row of %lld numbers does not fit a partition's %d bytes; it runs on GpSimd",
            (long long)elements, l->m->sbuf);
    else
        why(l->o, n, "tile.row-room",
            "the length of a row is not known before running; it runs on GpSimd");
    return false;
}

void rows_grid(struct rows *r, struct kernel_builder *k)
{
    struct dim_table *t = &k->p->dims;
    bool strict = k->m->strict; /* rows lie over partitions */
    if (r->strided) {
        r->tile = even_tile(r->inner, strict ? k->m->partitions : INNER_TILE);
        r->var_outer = kernel_grid(k, r->outer);
        r->var_inner = kernel_grid(k, dim_ceildiv(t, r->inner, r->tile));
        return;
    }
    int64_t max = UNKNOWN_ROWS;
    if (dim_is_const(r->n))
        max = r->n >= TILE_ELEMENTS ? 1 : r->n > 0 ? TILE_ELEMENTS / r->n : TILE_ELEMENTS;
    r->tile = even_tile(r->outer, strict ? k->m->partitions : max);
    r->var_outer = kernel_grid(k, dim_ceildiv(t, r->outer, r->tile * (r->tiles > 1 ? r->tiles : 1)));
}

void rows_covers(const struct rows *r, struct epilogue *e)
{
    e->rank = r->rank;
    memcpy(e->dims, r->dims, sizeof e->dims);
    e->ncovers = 0;
    if (r->first > 0)
        e->covers[e->ncovers++] = r->strided ? cover_of(0, r->first - 1, r->var_outer, 0)
                                             : row_cover(r, r->first - 1);
    if (r->strided)
        e->covers[e->ncovers++] = cover_of(r->last + 1, r->rank - 1, r->var_inner, r->tile);
    e->covers[e->ncovers++] = cover_of(r->first, r->last, -1, r->n);
}

struct ap rows_pattern(struct lowering *l, const struct rows *r, int slot, const dim_t *steps)
{
    struct ap a = ap_slot(l->p, slot);
    dim_t outer = 0, n = 0, inner = 0;
    joint_step(l, steps, r->dims, 0, r->first - 1, &outer);
    joint_step(l, steps, r->dims, r->first, r->last, &n);
    joint_step(l, steps, r->dims, r->last + 1, r->rank - 1, &inner);
    if (r->strided) {
        ap_move(l->p, &a, r->var_outer, outer);
        ap_push_tile(l->p, &a, inner, r->tile, r->var_inner, r->inner);
    } else {
        struct cover c = row_cover(r, 0);
        cover_push(l->p, &a, &c, outer, r->outer);
    }
    ap_push(&a, n, r->n);
    return a;
}

struct ap rows_dense(struct lowering *l, const struct rows *r, int slot)
{
    dim_t steps[MAX_RANK];
    dense_steps(&l->p->dims, r->rank, r->dims, steps);
    return rows_pattern(l, r, slot, steps);
}

struct ap rows_tile(struct kernel_builder *k, const struct rows *r)
{
    return rows_on_tile(k, r, kernel_tile(k, MEM_SBUF, DT_F32, r->tile, r->n));
}

struct ap rows_on_tile(struct kernel_builder *k, const struct rows *r, int tile)
{
    struct ap a = ap_tile(k, tile);
    if (r->strided) {
        ap_clip(k->p, &a, 0, r->var_inner, r->tile, r->inner);
    } else {
        struct cover c = row_cover(r, 0);
        cover_clip(k->p, &a, 0, &c, r->outer);
    }
    return a;
}

bool rows_steps(struct lowering *l, const struct rows *r, struct value *v, dim_t *steps)
{
    dim_t unused;
    v = outer_value(l, v);
    return has_layout(l, v) && broadcast_steps(l, v, r->rank, r->dims, steps) &&
           joint_step(l, steps, r->dims, 0, r->first - 1, &unused) &&
           joint_step(l, steps, r->dims, r->first, r->last, &unused) &&
           joint_step(l, steps, r->dims, r->last + 1, r->rank - 1, &unused);
}

/* A rounding is all that follows, on a chip. */
static bool only_rounds(const struct group *g)
{
    return g->l->m->strict && g->n == 2 && g->nodes[1]->op == OP_cast &&
           !group_is_result(g, g->nodes[0]->out[0]) && dtype_is_engine_float(g->nodes[1]->out[0]->type.dtype);
}

struct ap rows_result(struct kernel_builder *k, struct group *g, struct rows *r, struct epilogue *e)
{
    *e = (struct epilogue){.k = k, .g = g};
    rows_covers(r, e);
    if (g->n == 1 || only_rounds(g))
        return rows_dense(g->l, r, value_slot(g->l, g->nodes[g->n - 1]->out[0]));
    return rows_tile(k, r);
}

void rows_finish(struct epilogue *e, struct ap result)
{
    if (e->g->n > 1 && !only_rounds(e->g))
        epilogue_emit(e, result);
}
