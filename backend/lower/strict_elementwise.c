/*
 * Elementwise groups on strict targets: a tile is all partitions by a free size that keeps
 * every operand's tile in SBUF.
 *
 * One long dim is folded into rows of equal length; what does not fill a row is a tile of its own.
 * When the last dim is short, several neighbouring rows share a partition.
 */
#include "backend/lower/elementwise.h"
#include "backend/lower/product.h"
#include "backend/lower/strict.h"

enum { MIN_FREE = 64, MAX_FREE = 2048, UNKNOWN_FREE = 512 };

struct tile_walk {
    const struct group_layout *y;
    dim_t start;       /* elements before the first, in one dim */
    int part;          /* dim over partitions */
    dim_t fold;        /* its neighbours in one partition */
    dim_t tile, free;  /* partitions; elements of the last dim */
    int var[MAX_RANK]; /* per dim */
    bool whole;        /* the tile holds the last dim whole */
};

static struct ap pattern(void *user, struct value *v)
{
    const struct tile_walk *w = user;
    struct lowering *l = w->y->l;
    struct dim_table *t = &l->p->dims;
    int last = w->y->rank - 1;
    v = outer_value(l, v);
    const dim_t *steps = w->y->operands[layout_operand(w->y, v)].steps;
    struct ap a = ap_slot(l->p, value_slot(l, v));
    a.offset.base = dim_mul(t, w->start, steps[last]);
    for (int i = 0; i < last; i++)
        if (i != w->part)
            ap_move(l->p, &a, w->var[i], steps[i]);
    dim_t rows = dim_floordiv(t, w->y->dims[w->part], w->fold);
    ap_push_tile(l->p, &a, dim_mul(t, steps[w->part], w->fold), w->tile, w->var[w->part], rows);
    if (w->fold > 1)
        ap_push(&a, steps[w->part], w->fold);
    ap_push_tile(l->p, &a, steps[last], w->free, w->whole ? -1 : w->var[last], w->y->dims[last]);
    return a;
}

static struct space space_of(const struct tile_walk *w)
{
    struct space s = {0};
    int last = w->y->rank - 1;
    dim_t rows = dim_floordiv(&w->y->l->p->dims, w->y->dims[w->part], w->fold);
    s.dim[s.rank++] = (struct space_dim){w->tile, w->var[w->part], w->tile, rows};
    if (w->fold > 1)
        s.dim[s.rank++] = (struct space_dim){w->fold, -1, 0, 0};
    s.dim[s.rank++] =
        (struct space_dim){w->free, w->whole ? -1 : w->var[last], w->free, w->y->dims[last]};
    return s;
}

/* The dim that fills most partitions; the one before the last if several do. */
static int partition_dim(const struct group_layout *y)
{
    int32_t partitions = y->l->m->partitions;
    int best = y->rank - 2;
    dim_t max = dim_is_const(y->dims[best]) ? y->dims[best] : partitions;
    for (int i = best - 1; i >= 0; i--)
        if (dim_is_const(y->dims[i]) && max < partitions && y->dims[i] > max)
            best = i, max = y->dims[i];
    return best;
}

/* The greatest divisor of n in [low, high], 1 when there is none. */
static dim_t divisor(dim_t n, dim_t low, dim_t high)
{
    for (dim_t f = high < n ? high : n; f >= low && f > 1; f--)
        if (n % f == 0)
            return f;
    return 1;
}

static void emit(struct group_layout *y, struct group *g, dim_t start, dim_t max)
{
    struct lowering *l = y->l;
    int32_t partitions = l->m->partitions;
    struct dim_table *t = &l->p->dims;
    struct tile_walk w = {.y = y, .start = start, .part = partition_dim(y), .fold = 1};
    dim_t inner = y->dims[y->rank - 1], rows = y->dims[w.part];
    w.whole = dim_is_const(inner) && inner <= max;
    w.free = dim_is_const(inner)   ? even_tile(inner, max)
             : max < UNKNOWN_FREE ? max
                                   : UNKNOWN_FREE;
    if (w.whole && dim_is_const(rows) && inner > 0 && rows > partitions && inner * 2 <= max)
        w.fold = divisor(rows, 2,
                         rows / partitions < max / inner ? rows / partitions
                                                                 : max / inner);
    dim_t parts = dim_floordiv(t, rows, w.fold);
    w.tile = even_tile(parts, partitions);
    const struct node *n = g->whole;
    struct kernel_builder k =
        begin_kernel(l, n, n->name && *n->name ? n->name : op_name(g->nodes[0]->op));
    for (int i = 0; i < y->rank; i++)
        if (i == w.part)
            w.var[i] = kernel_grid(&k, dim_ceildiv(t, parts, w.tile));
        else if (i < y->rank - 1)
            w.var[i] = kernel_grid(&k, y->dims[i]);
        else if (!w.whole)
            w.var[i] = kernel_grid(&k, dim_ceildiv(t, inner, w.free));
    struct expression e = {.k = &k, .g = g, .space = space_of(&w), .pattern = pattern, .user = &w};
    expression_emit(&e, 0);
    dim_t count = 1;
    for (int i = 0; i < y->rank; i++)
        count = dim_mul(t, count, y->dims[i]);
    kernel_of(&k)->flops = dim_mul(t, count, g->n);
    kernel_of(&k)->bytes = dim_mul(t, count, 4 * y->n);
}

/* Row length for n elements in a line. */
static dim_t row_length(dim_t n, dim_t max, int32_t partitions)
{
    if (!dim_is_const(n))
        return max < UNKNOWN_FREE ? max : UNKNOWN_FREE;
    dim_t low = (n + partitions - 1) / partitions;
    low = low < MIN_FREE ? MIN_FREE : low;
    low = low > max ? max : low;
    if (n <= low)
        return n > 0 ? n : 1;
    dim_t exact = divisor(n, low, 2 * low < max ? 2 * low : max);
    return exact > 1 ? exact : low;
}

static struct group_layout folded(const struct group_layout *y, dim_t rows, dim_t length)
{
    struct group_layout f = *y;
    f.rank = 2;
    f.dims[0] = rows, f.dims[1] = length;
    for (int o = 0; o < y->n; o++) {
        f.operands[o].steps[0] = dim_mul(&y->l->p->dims, y->operands[o].steps[0], length);
        f.operands[o].steps[1] = y->operands[o].steps[0];
    }
    return f;
}

/* The last dim as rows, where the dims before it fill less than half of the partitions and rows of it
 * fill more. */
static bool split(const struct group_layout *y, struct group_layout *s)
{
    struct dim_table *t = &y->l->p->dims;
    int last = y->rank - 1;
    int32_t partitions = y->l->m->partitions;
    dim_t filled = y->dims[partition_dim(y)], n = y->dims[last];
    if (last + 2 > MAX_RANK || !dim_is_const(filled) || !dim_is_const(n) || filled > partitions / 2)
        return false;
    dim_t rows = divisor(n, 2 * filled, partitions);
    if (rows == 1 || n / rows < MIN_FREE)
        return false;
    *s = *y;
    s->rank++;
    s->dims[last] = rows, s->dims[last + 1] = n / rows;
    for (int o = 0; o < y->n; o++) {
        dim_t step = y->operands[o].steps[last];
        s->operands[o].steps[last] = dim_mul(t, step, n / rows);
        s->operands[o].steps[last + 1] = step;
    }
    return true;
}

enum lowered strict_elementwise(struct group_layout *y, struct group *g)
{
    struct dim_table *t = &y->l->p->dims;
    dim_t max = strict_free_size(y->l->m, y->n + g->n, MAX_FREE);
    if (y->rank > 1) {
        struct group_layout s;
        emit(split(y, &s) ? &s : y, g, 0, max);
        return LOWERED;
    }
    dim_t n = y->dims[0], length = row_length(n, max, y->l->m->partitions), rows = dim_floordiv(t, n, length);
    struct group_layout body = folded(y, rows, length), rest = folded(y, 1, dim_mod(t, n, length));
    emit(&body, g, 0, max);
    if (rest.dims[1] != 0)
        emit(&rest, g, dim_mul(t, rows, length), max);
    return LOWERED;
}
