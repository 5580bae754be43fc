/*
 * Tiles of elementwise groups on strict targets: all partitions by a free size that keeps every operand's tile in SBUF.
 *
 * One long dim is folded into rows of equal length; what does not fill a row is a tile of its own.
 * When the last dim is short, several neighbouring rows share a partition.
 */
#include "backend/lower/elementwise.h"
#include "backend/lower/tile_size.h"

#include <string.h>

enum { MIN_FREE = 64, MAX_FREE = 2048, FIRST_FREE = 1024, UNKNOWN_FREE = 512, MIN_ROW = 32, MAX_COMPUTED = 1024 };

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

/* Whether another kernel computes what the group reads, dim `part` of it too. */
static bool reads_computed(const struct group_layout *y, int part)
{
    for (int i = 0; i < y->n; i++)
        if (y->operands[i].v->def && y->operands[i].steps[part] != 0)
            return true;
    return false;
}

/* The greatest divisor of n in [low, high], 1 when there is none. */
static dim_t divisor(dim_t n, dim_t low, dim_t high)
{
    for (dim_t f = high < n ? high : n; f >= low && f > 1; f--)
        if (n % f == 0)
            return f;
    return 1;
}

/* Dim `from` moves to `to`, further in; those between move out by one. */
static void move_inward(struct group_layout *y, int from, int to)
{
    dim_t n = y->dims[from];
    memmove(&y->dims[from], &y->dims[from + 1], sizeof *y->dims * (size_t)(to - from));
    y->dims[to] = n;
    for (int o = 0; o < y->n; o++) {
        dim_t *steps = y->operands[o].steps, step = steps[from];
        memmove(&steps[from], &steps[from + 1], sizeof *steps * (size_t)(to - from));
        steps[to] = step;
    }
}

/* Dim i as rows of n elements each. */
static void cut_dim(struct group_layout *y, int i, dim_t n)
{
    struct dim_table *t = &y->l->p->dims;
    memmove(&y->dims[i + 1], &y->dims[i], sizeof *y->dims * (size_t)(y->rank - i));
    y->dims[i] = dim_floordiv(t, y->dims[i], n), y->dims[i + 1] = n;
    for (int o = 0; o < y->n; o++) {
        dim_t *steps = y->operands[o].steps;
        memmove(&steps[i + 1], &steps[i], sizeof *steps * (size_t)(y->rank - i));
        steps[i] = dim_mul(t, steps[i], n);
    }
    y->rank++;
}

/* Partitions, neighbours of a row in one of them where rows are short, and elements. Other kernels leave one row of a
 * tile in a partition: it stays there where this one takes it so. */
static void choose_tile(struct group_layout *y, dim_t max)
{
    int32_t partitions = y->l->m->partitions;
    int part = y->rank - 2;
    move_inward(y, partition_dim(y), part);
    dim_t inner = y->dims[y->rank - 1], rows = y->dims[part], fold = 1;
    bool whole = dim_is_const(inner) && inner <= max;
    bool shared = inner < MIN_ROW || !reads_computed(y, part);
    if (shared && whole && dim_is_const(rows) && inner > 0 && rows > partitions && inner * 2 <= max)
        fold = divisor(rows, 2, rows / partitions < max / inner ? rows / partitions : max / inner);
    if (fold > 1) {
        cut_dim(y, part, fold);
        y->tile[part + 1] = fold;
    }
    y->tile_dims = y->rank - part;
    y->tile[part] = even_tile(y->dims[part], partitions);
    y->tile[y->rank - 1] = dim_is_const(inner) ? even_tile(inner, max) : max < UNKNOWN_FREE ? max : UNKNOWN_FREE;
}

/* Rows that another kernel has computed, as it mostly leaves them: those of the last dim of what is read. What lies so
 * is found on chip, where other rows go through HBM and back, which takes longer than short ones do in few partitions;
 * 0: there are none. */
static dim_t computed_rows(const struct group_layout *y, dim_t n, dim_t max)
{
    for (int i = 0; i < y->n; i++) {
        const struct type *t = &y->operands[i].v->type;
        dim_t last = t->rank > 0 ? t->dims[t->rank - 1] : 0;
        if (y->operands[i].v->def && y->operands[i].steps[0] != 0 && dim_is_const(last) && last >= MIN_FREE &&
            last <= MAX_COMPUTED && last <= max && n % last == 0 && n / last <= y->l->m->partitions)
            return last;
    }
    return 0;
}

/* Row length for n elements in a line. */
static dim_t row_length(const struct group_layout *y, dim_t n, dim_t max)
{
    int32_t partitions = y->l->m->partitions;
    if (!dim_is_const(n))
        return max < UNKNOWN_FREE ? max : UNKNOWN_FREE;
    dim_t computed = computed_rows(y, n, max), low = (n + partitions - 1) / partitions;
    if (computed)
        return computed;
    low = low < MIN_FREE ? MIN_FREE : low;
    low = low > max ? max : low;
    if (n <= low)
        return n > 0 ? n : 1;
    dim_t exact = divisor(n, low, 2 * low < max ? 2 * low : max);
    return exact > 1 ? exact : low;
}

/* The last dim as rows, where the dims before it fill less than half of the partitions and rows of it fill more; of
 * what another kernel has computed, less than a quarter, as it goes through HBM for that. */
static void split(struct group_layout *y)
{
    int last = y->rank - 1;
    int32_t partitions = y->l->m->partitions;
    int part = partition_dim(y);
    dim_t filled = y->dims[part], n = y->dims[last];
    if (last + 2 > MAX_RANK || !dim_is_const(filled) || !dim_is_const(n) || filled > partitions / 2 ||
        (filled >= partitions / 4 && reads_computed(y, part)))
        return;
    dim_t rows = divisor(n, 2 * filled, partitions);
    if (rows > 1 && n / rows >= MIN_FREE)
        cut_dim(y, last, n / rows);
}

/* Whether the group reads what the model is given: it is among the first then, and all that comes after waits. */
static bool reads_input(const struct group_layout *y)
{
    for (int i = 0; i < y->n; i++)
        if (y->operands[i].v->param_of == y->l->g->main)
            return true;
    return false;
}

bool strict_layout_tile(struct group_layout *y, int nodes, struct group_layout *rest)
{
    dim_t max = strict_free_size(y->l->m, y->n + nodes, reads_input(y) ? FIRST_FREE : MAX_FREE);
    if (y->rank > 1) {
        split(y);
        choose_tile(y, max);
        return false;
    }
    struct dim_table *t = &y->l->p->dims;
    dim_t n = y->dims[0], length = row_length(y, n, max);
    cut_dim(y, 0, length);
    *rest = *y;
    rest->operands = arena_copy(&y->l->g->arena, y->operands, sizeof *y->operands * (size_t)y->n);
    rest->dims[0] = 1, rest->dims[1] = dim_mod(t, n, length);
    rest->start = dim_mul(t, y->dims[0], length);
    choose_tile(y, max);
    choose_tile(rest, max);
    return rest->dims[1] != 0;
}
