/*
 * Moves on strict targets whose source lies in short pieces: rows with gaps, or repeated elements. A piece costs the
 * DMA engines as much as hundreds of bytes. So rows come with their gaps, an engine leaves these out or repeats, and
 * rows that lie side by side go.
 */
#include "backend/lower/move.h"

#include "backend/lower/product.h"
#include "neff/isa/cost.h"

enum { MAX_WASTE = 8 }; /* elements that come for one that is kept */

/* Dims from `first` on are a row: `n` elements of the result side by side, among `reach` of the source. */
struct row_move {
    int first, rows; /* the dim whose indices lie over partitions; -1: none */
    int64_t n, reach;
};

static bool known(const struct move *m)
{
    bool known = dim_is_const(m->to_offset) && dim_is_const(m->from_offset);
    for (int i = 0; i < m->rank; i++)
        known &= dim_is_const(m->dims[i]) && m->dims[i] > 0 && dim_is_const(m->to[i]) && dim_is_const(m->from[i]) &&
                 m->from[i] >= 0;
    return known;
}

/* The longest rows of dims from `least` on for which there is room, of one partition. */
static struct row_move find_rows(const struct move *m, int min, int64_t room)
{
    struct row_move r = {.first = m->rank, .rows = -1, .n = 1, .reach = 1};
    for (int i = m->rank - 1; i >= min; i--) {
        int64_t n = r.n * m->dims[i], reach = r.reach + m->from[i] * (m->dims[i] - 1);
        if (m->to[i] != r.n || n + reach > room || reach > MAX_WASTE * n)
            break;
        r.first = i, r.n = n, r.reach = reach;
    }
    for (int i = 0; i < r.first; i++)
        if (r.rows < 0 || m->dims[i] > m->dims[r.rows])
            r.rows = i;
    return r;
}

/* Elements side by side at both ends. */
static int64_t piece_of(const struct move *m)
{
    int64_t piece = 1;
    for (int i = m->rank - 1; i >= 0 && m->to[i] == piece && m->from[i] == piece; i--)
        piece *= m->dims[i];
    return piece;
}

static int64_t tile_of(const struct lowering *l, const struct move *m, const struct row_move *r)
{
    return r->rows < 0 ? 1 : even_tile(m->dims[r->rows], l->m->partitions);
}

static double rows_before(const struct move *m, int dim)
{
    double rows = 1;
    for (int i = 0; i < dim; i++)
        rows *= (double)m->dims[i];
    return rows;
}

/* Nanoseconds of transfers piece by piece. */
static double pieces_ns(const struct lowering *l, const struct move *m, int64_t size)
{
    const struct timing *t = machine_timing(l->m);
    double piece = (double)piece_of(m);
    return rows_before(m, m->rank) / piece * piece_ns(t, piece * (double)size) / t->dma_engines;
}

/* By rows, with the engine's copy. */
static double rows_ns(const struct lowering *l, const struct move *m, const struct row_move *r, int64_t size)
{
    enum { INSTANCE_NS = 200 };
    const struct timing *t = machine_timing(l->m);
    double rows = rows_before(m, r->first);
    double moved = piece_ns(t, (double)(r->reach * size)) + piece_ns(t, (double)(r->n * size));
    double copied = INSTANCE_NS + (double)r->n / l->m->act_ghz;
    return rows * moved / t->dma_engines + rows / (double)tile_of(l, m, r) * copied;
}

/* The last dim as rows of `of` elements, which divide it. */
static struct move with_rows_of(const struct move *m, int64_t of)
{
    struct move s = *m;
    int last = s.rank - 1;
    s.dims[last + 1] = of, s.to[last + 1] = s.to[last], s.from[last + 1] = s.from[last];
    s.dims[last] /= of, s.to[last] *= of, s.from[last] *= of;
    s.rank++;
    return s;
}

static bool fits(const struct move *m, const struct row_move *r)
{
    return r->first < m->rank && r->first <= MAX_GRID && m->rank - r->first + 1 <= MAX_AP_RANK;
}

struct row_choice {
    struct move m;
    struct row_move r;
    double ns;
};

static void try_rows(const struct lowering *l, const struct move *m, int min, int64_t size, struct row_choice *best)
{
    struct row_move r = find_rows(m, min, strict_image_room(l->m) / 4 / size);
    double ns = fits(m, &r) ? rows_ns(l, m, &r, size) : best->ns;
    if (ns < best->ns)
        *best = (struct row_choice){*m, r, ns};
}

/* The fastest rows, of some last dims or of parts of the last one; false: none is faster than piece by piece. */
static bool choose_rows(const struct lowering *l, const struct move *m, int64_t size, struct row_choice *best)
{
    double pieces = pieces_ns(l, m, size);
    int64_t count = m->dims[m->rank - 1];
    best->ns = pieces;
    for (int min = 0; min < m->rank; min++)
        try_rows(l, m, min, size, best);
    for (int64_t of = 1; m->rank < MOVE_RANK && of < count && of * size <= strict_image_room(l->m); of++)
        if (count % of == 0) {
            struct move parts = with_rows_of(m, of);
            try_rows(l, &parts, m->rank, size, best);
        }
    return best->ns < pieces;
}

static struct ap rows_in(int tile, int dtype, int64_t row, int64_t rows)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = (uint8_t)dtype, .tensor = tile};
    ap_push(&a, row, rows);
    return a;
}

static void emit_rows(struct kernel_builder *k, const struct move *m, const struct row_move *r, int dtype, int64_t tile)
{
    struct ap to = ap_slot(k->p, m->to_slot), from = ap_slot(k->p, m->from_slot);
    int var = -1;
    to.offset.base = m->to_offset, from.offset.base = m->from_offset;
    for (int i = 0; i < r->first; i++) {
        int at = kernel_grid(k, i == r->rows ? ceil_div(m->dims[i], tile) : m->dims[i]);
        if (i == r->rows)
            var = at;
        else
            ap_move(k->p, &to, at, m->to[i]), ap_move(k->p, &from, at, m->from[i]);
    }
    struct ap loaded = rows_in(kernel_tile(k, MEM_SBUF, dtype, tile, r->reach), dtype, r->reach, tile);
    struct ap made = rows_in(kernel_tile(k, MEM_SBUF, dtype, tile, r->n), dtype, r->n, tile);
    if (var >= 0) {
        ap_push_tile(k->p, &to, m->to[r->rows], tile, var, m->dims[r->rows]);
        ap_push_tile(k->p, &from, m->from[r->rows], tile, var, m->dims[r->rows]);
        ap_clip(k->p, &loaded, 0, var, tile, m->dims[r->rows]), ap_clip(k->p, &made, 0, var, tile, m->dims[r->rows]);
    } else {
        ap_push(&to, r->n, 1), ap_push(&from, r->reach, 1);
    }
    struct ap kept = loaded, placed = made;
    ap_push(&loaded, 1, r->reach), ap_push(&from, 1, r->reach);
    emit_dma_copy(k, (struct dma_copy){.dst = loaded, .src = from});
    for (int i = r->first; i < m->rank; i++)
        ap_push(&placed, m->to[i], m->dims[i]), ap_push(&kept, m->from[i], m->dims[i]);
    emit_tensor_copy(k, (struct tensor_copy){.dst = placed, .src = kept});
    ap_push(&made, 1, r->n), ap_push(&to, 1, r->n);
    emit_dma_copy(k, (struct dma_copy){.dst = to, .src = made});
}

bool strict_move_rows(struct lowering *l, const struct node *n, const char *name, const struct move *m)
{
    struct row_choice best;
    int dtype = l->p->slots[m->to_slot].type.dtype;
    int64_t size = (int64_t)dtype_bytes(dtype);
    if (!l->m->strict || !dtype_is_engine_float(dtype) || !known(m) ||
        !choose_rows(l, m, size, &best))
        return false;
    struct kernel_builder k = begin_kernel(l, n, name);
    emit_rows(&k, &best.m, &best.r, dtype, tile_of(l, &best.m, &best.r));
    kernel_of(&k)->bytes = 2 * size;
    for (int i = 0; i < m->rank; i++)
        kernel_of(&k)->bytes = dim_mul(&l->p->dims, kernel_of(&k)->bytes, m->dims[i]);
    return true;
}
