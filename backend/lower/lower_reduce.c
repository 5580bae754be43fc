/*
 * Reductions over any axes.
 *
 * Neighbouring dims that are all kept, or all reduced, are one segment. The innermost kept segment
 * is cut into tiles, the other kept ones are grid dims; an instance reduces whole tiles, so that
 * the order of sums is that of the shapes.
 */
#include "backend/lower/plan.h"
#include "backend/lower/reduce.h"
#include "backend/lower/rows.h"
#include "backend/lower/product.h"

#include <string.h>

enum { COLUMNS = 64, VECTOR = 16, TILE_ELEMENTS = 4096, UNKNOWN_ROWS = 16 };
enum { SPREAD_ELEMENTS = 2048 }; /* of a result: so many are worth several threads */

struct segment {
    bool reduced;
    dim_t count, step;
    int first, last; /* dims of the result, when kept */
    int var;
};

struct segmented_reduction {
    const struct reduction_kind *kind;
    int n; /* segments */
    struct segment s[MAX_RANK];
    int tiled;      /* segment; -1: nothing is kept */
    int outer;      /* segment of which a tile has several; -1: one, or tiles are parts of columns */
    dim_t elements; /* reduced into one */
    dim_t tile, outer_tile;
    bool extremes; /* the greatest, least or both of all elements */
};

static void make_segments(struct lowering *l, const struct node *n, const bool *reduced,
                          struct segmented_reduction *r)
{
    struct dim_table *t = &l->p->dims;
    const struct type *x = &n->in[0]->type;
    bool keep = attr_int(&n->attrs, "keepdims", 1) != 0;
    dim_t steps[MAX_RANK];
    int place = 0;
    dense_steps(t, x->rank, x->dims, steps);
    r->elements = 1;
    for (int i = 0; i < x->rank; i++) {
        int at = place;
        place += keep || !reduced[i];
        if (reduced[i])
            r->elements = dim_mul(t, r->elements, x->dims[i]);
        if (x->dims[i] == 1)
            continue;
        struct segment *s = r->n ? &r->s[r->n - 1] : NULL;
        if (s && s->reduced == reduced[i]) {
            s->count = dim_mul(t, s->count, x->dims[i]);
            s->step = steps[i];
            s->last = at;
        } else {
            r->s[r->n++] = (struct segment){reduced[i], x->dims[i], steps[i], at, at, -1};
        }
    }
    r->tiled = r->outer = -1;
    for (int i = 0; i < r->n; i++)
        if (!r->s[i].reduced)
            r->tiled = i;
}

static bool examine(struct lowering *l, const struct node *n, struct segmented_reduction *r)
{
    bool reduced[MAX_RANK];
    int kept = 0, gone = 0;
    r->kind = reduction_kind(n->op);
    if (!r->kind || !has_layout(l, outer_value(l, n->in[0])) || !has_layout(l, n->out[0]) ||
        !dtype_is_engine_float(n->in[0]->type.dtype) || !dtype_is_engine_float(n->out[0]->type.dtype)) {
        why(l->o, n, "tile.reduce-type",
            "only f32, bf16 and f16 of known shape are reduced by an engine; it runs on GpSimd");
        return false;
    }
    if (!reduction_dims(l, n, reduced)) {
        why(l->o, n, "tile.reduce-axes",
            "its axes are known only while running; it runs on GpSimd");
        return false;
    }
    make_segments(l, n, reduced, r);
    for (int i = 0; i < r->n; i++) {
        kept += !r->s[i].reduced;
        gone += r->s[i].reduced;
    }
    return gone > 0 && gone <= 4 && kept <= MAX_GRID && r->elements != 0;
}

static void covers(const struct segmented_reduction *r, const struct node *n, struct epilogue *e)
{
    const struct type *y = &n->out[0]->type;
    e->rank = y->rank;
    memcpy(e->dims, y->dims, sizeof e->dims);
    for (int i = 0; i < r->n; i++)
        if (!r->s[i].reduced)
            e->covers[e->ncovers++] = cover_of(r->s[i].first, r->s[i].last, r->s[i].var,
                                               i == r->tiled   ? r->tile
                                               : i == r->outer ? r->outer_tile
                                                               : 0);
}

/* Where a tile has whole columns, and few elements, it has several of them: of the kept segment before. */
static void tile_outer(struct segmented_reduction *r, const struct machine *m)
{
    const struct segment *columns = &r->s[r->n - 1];
    int o = r->n - 2;
    while (o >= 0 && r->s[o].reduced)
        o--;
    if (o < 0 || m->strict || columns->reduced || !dim_is_const(columns->count) || !dim_is_const(r->elements) ||
        !dim_is_const(r->s[o].count) || columns->count > TILE_ELEMENTS / 2 / r->elements)
        return;
    r->outer = o;
    r->outer_tile = even_tile(r->s[o].count, TILE_ELEMENTS / (columns->count * r->elements));
}

static int64_t max_tile(const struct segmented_reduction *r)
{
    const bool columns = r->tiled == r->n - 1;
    if (!dim_is_const(r->elements))
        return columns ? COLUMNS : UNKNOWN_ROWS;
    const int64_t max = r->elements >= TILE_ELEMENTS ? 1 : TILE_ELEMENTS / r->elements;
    return columns && max < COLUMNS ? COLUMNS : max;
}

static void make_grid(struct segmented_reduction *r, struct kernel_builder *k)
{
    bool columns = r->tiled == r->n - 1;
    tile_outer(r, k->m);
    for (int i = 0; i < r->n; i++) {
        struct segment *s = &r->s[i];
        if (s->reduced)
            continue;
        if (i != r->tiled) {
            s->var = kernel_grid(k, i == r->outer ? dim_ceildiv(&k->p->dims, s->count, r->outer_tile) : s->count);
            continue;
        }
        int64_t max = max_tile(r);
        if (k->m->strict) /* results lie over partitions */
            max = k->m->partitions;
        bool spread = columns && !k->m->strict && dim_is_const(r->elements) && r->elements >= SPREAD_ELEMENTS;
        r->tile = spread ? spread_tile(s->count, max, 1, VECTOR) : even_tile(s->count, max);
        if (columns && !k->m->strict && r->tile < s->count) /* whole vectors */
            r->tile = (r->tile + VECTOR - 1) / VECTOR * VECTOR;
        s->var = kernel_grid(k, dim_ceildiv(&k->p->dims, s->count, r->tile));
    }
}

static struct ap source(struct lowering *l, const struct segmented_reduction *r, int slot)
{
    struct ap a = ap_slot(l->p, slot);
    if (r->outer >= 0) {
        const struct segment *o = &r->s[r->outer];
        ap_push_tile(l->p, &a, o->step, r->outer_tile, o->var, o->count);
    }
    if (r->tiled >= 0) {
        const struct segment *t = &r->s[r->tiled];
        ap_push_tile(l->p, &a, t->step, r->tile, t->var, t->count);
    } else {
        ap_push(&a, 0, 1);
    }
    for (int i = 0; i < r->n; i++)
        if (r->s[i].reduced)
            ap_push(&a, r->s[i].step, r->s[i].count);
        else if (i != r->tiled && i != r->outer)
            ap_move(l->p, &a, r->s[i].var, r->s[i].step);
    return a;
}

static struct ap accumulator_tile(struct kernel_builder *k, const struct segmented_reduction *r)
{
    const dim_t columns = r->tiled < 0 ? 1 : r->tile;
    int tile = kernel_tile(k, MEM_SBUF, DT_F32, 1, r->outer < 0 ? columns : r->outer_tile * columns);
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = tile};
    if (r->outer >= 0) {
        ap_push(&a, columns, r->outer_tile);
        ap_clip(k->p, &a, 0, r->s[r->outer].var, r->outer_tile, r->s[r->outer].count);
    }
    ap_push(&a, 1, columns);
    if (r->tiled >= 0)
        ap_clip(k->p, &a, a.rank - 1, r->s[r->tiled].var, r->tile, r->s[r->tiled].count);
    return a;
}

/* Divides by a count that is known only when shapes are bound. */
static void divide_by(struct kernel_builder *k, struct ap at, dim_t count)
{
    struct ap number = ap_tile(k, kernel_tile(k, MEM_SBUF, DT_F32, 1, 1));
    emit_iota(k, (struct iota){.dst = number, .base = affine_number(count)});
    number.rank = 1;
    emit_tensor_tensor(k, (struct tensor_tensor){.dst = at, .a = at, .b = number, .op = OP_div});
}

/* ---- the greatest and least of all elements ---- */

static const struct reduction_kind *extreme_kind(enum op op)
{
    return op == OP_reduce_max || op == OP_reduce_min ? reduction_kind(op) : NULL;
}

static bool all_extremes(const struct group *g)
{
    for (int i = 0; i < g->n; i++)
        if (!extreme_kind(g->nodes[i]->op))
            return false;
    return true;
}

static void emit_extreme(struct kernel_builder *k, const struct reduction_kind *kind, struct ap dst,
                         struct ap src)
{
    ap_push(&dst, 1, 1);
    if (!dim_is_const(src.dim[1].count))
        emit_memset(k, (struct memset){.dst = dst, .value = kind->start});
    emit_tensor_reduce(k, (struct tensor_reduce){
                              .dst = dst, .src = src, .axes = 1, .scale = 1, .op = kind->reduce});
}

/* Those of every piece of the elements, read once for both, then those of the pieces. Neither
 * depends on the order. */
static enum lowered emit_extremes(struct lowering *l, struct group *g, const struct segmented_reduction *r)
{
    enum { PIECE = TILE_ELEMENTS, BOTH = 2 };
    struct dim_table *t = &l->p->dims;
    dim_t pieces = dim_ceildiv(t, r->elements, PIECE);
    bool one = dim_is_const(pieces) && pieces == 1;
    int of_pieces[BOTH], x = value_slot(l, g->nodes[0]->in[0]);
    struct type type = type_tensor(DT_F32, 1, &pieces);
    struct kernel_builder k = begin_kernel(l, g->nodes[0], g->nodes[0]->name);
    int var = one ? -1 : kernel_grid(&k, pieces);
    for (int i = 0; i < g->n; i++) {
        const struct node *n = g->nodes[i];
        of_pieces[i] = one ? value_slot(l, n->out[0]) : temporary_slot(l, &type, NULL);
        struct ap dst = ap_slot(l->p, of_pieces[i]), src = ap_slot(l->p, x);
        ap_push(&src, 0, 1);
        ap_push_tile(l->p, &src, 1, one ? r->elements : PIECE, var, r->elements);
        if (!one)
            ap_move(l->p, &dst, var, 1);
        emit_extreme(&k, extreme_kind(n->op), dst, src);
    }
    kernel_of(&k)->flops = dim_mul(t, r->elements, g->n);
    kernel_of(&k)->bytes = dim_mul(t, r->elements, 4);
    if (one)
        return LOWERED;
    k = begin_kernel(l, g->nodes[0], g->nodes[0]->name);
    for (int i = 0; i < g->n; i++) {
        const struct node *n = g->nodes[i];
        struct ap src = ap_slot(l->p, of_pieces[i]);
        ap_push(&src, 0, 1), ap_push(&src, 1, pieces);
        emit_extreme(&k, extreme_kind(n->op), ap_slot(l->p, value_slot(l, n->out[0])), src);
    }
    kernel_of(&k)->flops = dim_mul(t, pieces, g->n);
    kernel_of(&k)->bytes = dim_mul(t, pieces, 4 * g->n);
    return LOWERED;
}

const void *plan_reduce(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    struct segmented_reduction r = {0};
    if (!examine(l, n, &r))
        return NULL;
    r.extremes = r.tiled < 0 && r.n == 1 && all_extremes(g) && !l->m->strict;
    if (!r.extremes) {
        struct epilogue e = {0};
        covers(&r, n, &e);
        if (!rows_have_room(l, n, r.elements) ||
            (g->n > 1 && (r.tiled < 0 || !epilogue_fits(l, g, e.covers, e.ncovers))))
            return NULL;
    }
    return arena_copy(&l->g->arena, &r, sizeof r);
}

/* On strict targets the reduction's own instruction rounds what it stores, where that is all that follows. */
static struct value *stored_result(const struct group *g)
{
    bool rounds = g->l->m->strict && g->n == 2 && g->nodes[1]->op == OP_cast && g->nresults == 1;
    return g->n == 1 || (rounds && g->results[0] == g->nodes[1]->out[0]) ? g->nodes[g->n - 1]->out[0] : NULL;
}

enum lowered lower_reduce(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct segmented_reduction r = *(const struct segmented_reduction *)decision_of(l, whole)->plan;
    if (r.extremes)
        return emit_extremes(l, &g, &r);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    struct epilogue e = {.k = &k, .g = &g};
    make_grid(&r, &k);
    covers(&r, n, &e);
    bool known = dim_is_const(r.elements), divide = r.kind->mean && !known;
    struct value *stored = stored_result(&g);
    bool direct = stored && !divide && r.kind->finish == OP_identity;
    struct ap result = stored ? epilogue_pattern(&e, stored) : (struct ap){0};
    if (r.tiled < 0)
        ap_push(&result, 1, 1);
    struct ap at = direct ? result : accumulator_tile(&k, &r);
    if (!known)
        emit_memset(&k, (struct memset){.dst = at, .value = r.kind->start});
    struct ap from = source(l, &r, value_slot(l, n->in[0]));
    emit_tensor_reduce(
        &k, (struct tensor_reduce){.dst = at,
                                   .src = from,
                                   .axes = from.rank - at.rank,
                                   .scale = r.kind->mean && known ? 1 / (float)r.elements : 1,
                                   .op = r.kind->reduce});
    if (divide)
        divide_by(&k, at, r.elements);
    if (r.kind->finish != OP_identity)
        emit_activation(
            &k, (struct activation){.dst = at, .src = at, .factor = 1, .f = r.kind->finish});
    if (!stored)
        epilogue_emit(&e, at);
    else if (!direct)
        emit_copy(&k, result, at);
    kernel_of(&k)->flops = type_count(&l->p->dims, &n->in[0]->type);
    kernel_of(&k)->bytes = dim_mul(&l->p->dims, kernel_of(&k)->flops, 4);
    return LOWERED;
}
