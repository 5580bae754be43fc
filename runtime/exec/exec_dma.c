/*
 * Copies, transposes and gathers: DMA queues, and the copies of other engines.
 */
#include "runtime/exec/engine.h"
#include "runtime/exec/state.h"
#include "runtime/ops/common/short_rows.h"

#include <string.h>

/* Of tensor_copy, dma_copy and the transposes. */
enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
_Static_assert((int)DST == AP(tensor_copy, dst) && (int)SRC == AP(tensor_copy, src) &&
                   (int)DST == AP(dma_transpose, dst) && (int)SRC == AP(dma_transpose, src) &&
                   (int)DST == AP(nc_transpose, dst) && (int)SRC == AP(nc_transpose, src),
               "operands of moves");

/* ---- copies ---- */

enum { STREAMED_RUN = 16 << 10, STREAMED_SLOT = 256 << 10, STREAMED_OUTPUTS = 8 << 20 };

/* Whether what is copied goes around the caches: long runs into a large output that the program does not read, of
 * outputs that caches do not hold, were all of that size. Whoever reads smaller ones finds them there. */
static bool streams(const struct binding *b, const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int last = i->shape.rank - 1;
    if (y->mem != MEM_HBM || y->dtype != x->dtype || last < 0 || y->step[last] != 1 ||
        x->step[last] != 1 || i->shape.count[last] * y->size < STREAMED_RUN)
        return false;
    int root = slot_root(b->m->p, y->slot);
    int64_t bytes = y->size;
    for (int d = 0; d <= last; d++)
        bytes *= i->shape.count[d];
    for (int g = 0; g < b->kernel->ngrid; g++)
        bytes *= b->kernel->grid[g];
    return b->m->p->slots[root].is_output && !b->m->slot_read[root] && bytes >= STREAMED_SLOT &&
           bytes >= STREAMED_OUTPUTS / (b->m->p->regions[0].nresults + 1);
}

static void stream_row(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    if (p[DST] == p[SRC]) /* a state that grows where it is */
        return;
    me->k->copy_streamed(p[DST], p[SRC], (size_t)(count[i->shape.rank - 1] * i->o[DST].size));
}

void exec_streamed_copy(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, stream_row);
}

/* Exchanges two dims of a copy. */
static void exchange(struct bound_insn *i, int a, int b)
{
    int64_t count = i->shape.count[a];
    i->shape.count[a] = i->shape.count[b], i->shape.count[b] = count;
    for (int n = 0; n < i->nops; n++) {
        struct operand *o = &i->o[n];
        int64_t step = o->step[a];
        o->step[a] = o->step[b], o->step[b] = step;
    }
}

/* Whether the dim has fewer elements in some instances: such dims stay where they are. */
static bool is_clipped(const struct bound_insn *i, int dim)
{
    bool any = false;
    for (int c = 0; c < i->shape.nclips; c++)
        any |= i->shape.clips[c].dim == dim;
    return any;
}

static bool kernel_size(int size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

enum { FEW_REPEATS = 8 };

/* Rows of neighbours, or of one element again and again; planes or blocks of them. The longer of the dims before the
 * last are the rows. */
static void copy_block(struct worker *me, const struct bound_insn *i, char *const *p, const int64_t *count)
{
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int last = i->shape.rank - 1, dim = last - 1, other = last > 1 ? last - 2 : last;
    if (last > 1 && count[other] > count[dim])
        dim = last - 2, other = last - 1;
    int64_t planes = last > 1 ? count[other] : 1, ys = y->step[dim] * y->size, xs = x->step[dim] * x->size;
    for (int64_t k = 0; k < planes; k++) {
        char *to = p[DST] + k * y->step[other] * y->size, *from = p[SRC] + k * x->step[other] * x->size;
        if (x->step[last] && xs == 0 && ys == count[last] * y->size) { /* the same row, dense */
            memcpy(to, from, (size_t)ys);
            repeat_block(to, (size_t)ys, (size_t)(ys * count[dim]));
        } else if (x->step[last])
            copy_short_rows(to, ys, from, xs, count[dim], (size_t)(count[last] * y->size));
        else
            fill_short_rows(to, ys, from, xs, count[dim], (size_t)(count[last] * y->size), (size_t)y->size);
    }
}

void exec_short_copy(struct worker *me, const struct bound_insn *i)
{
    int64_t count[MAX_AP_RANK];
    int rank = i->shape.rank;
    if (shape_now(me, &i->shape, count))
        for_each_row(me, i, count, rank > 2 ? rank - 3 : 0, copy_block);
}

static bool is_short_copy(const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int last = i->shape.rank - 1;
    if (last < 1 || y->dtype != x->dtype || y->step[last] != 1)
        return false;
    return (x->step[last] == 1 && i->shape.count[last] <= SHORT_ROW_BYTES / y->size) ||
           (x->step[last] == 0 && i->shape.count[last] <= SHORT_FILL_BYTES / y->size && kernel_size(x->size));
}

enum { PREFETCH = 4096, LINE = 64 }; /* bytes */

/* Rows of elements that lie apart. The rows need not be neighbours in memory (every other one of an image), which the
 * hardware's prefetchers do not follow: the row that lies about PREFETCH bytes further is asked for. */
static void copy_far_rows(struct worker *me, const struct bound_insn *i, char *const *p, const int64_t *count)
{
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int last = i->shape.rank - 1;
    int64_t ys = y->step[last - 1] * y->size, xs = x->step[last - 1] * x->size, step = x->step[last] * x->size;
    int64_t bytes = count[last] * step;
    int64_t ahead = bytes > LINE && bytes <= PREFETCH ? PREFETCH / bytes * xs : 0;
    for (int64_t r = 0; r < count[last - 1]; r++) {
        const char *from = p[SRC] + r * xs;
        for (int64_t b = 0; ahead && b < bytes; b += LINE)
            __builtin_prefetch(from + ahead + b);
        me->k->copy(p[DST] + r * ys, y->size, from, step, (size_t)count[last], x->size);
    }
}

void exec_far_copy(struct worker *me, const struct bound_insn *i)
{
    run_tiles(me, i, copy_far_rows);
}

static bool choose_copy(struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int last = i->shape.rank - 1;
    if (is_short_copy(i))
        i->run = exec_short_copy;
    else if (last > 0 && y->dtype == x->dtype && y->step[last] == 1 && x->step[last] != 1)
        i->run = exec_far_copy;
    return true;
}

bool prepare_copy(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    if (i->o[DST].dtype != i->o[SRC].dtype && !only_numbers(b, i, insn))
        return false;
    if (streams(b, i)) {
        i->run = exec_streamed_copy;
        return true;
    }
    /* Runs along the dim with unit steps: a copy of columns is done in rows of the other order; and
     * along that of x rather than along a few repeats of one element. */
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int last = i->shape.rank - 1;
    if (last < 1 || is_clipped(i, last) || (y->step[last] == 1 && x->step[last] == 1))
        return choose_copy(i);
    for (int d = 0; d < last; d++)
        if (y->step[d] == 1 && x->step[d] == 1 && !is_clipped(i, d)) {
            exchange(i, d, last);
            return choose_copy(i);
        }
    bool repeats = x->step[last] == 0 && i->shape.count[last] <= FEW_REPEATS;
    for (int d = 0; d < last && repeats; d++)
        if (x->step[d] == 1 && i->shape.count[d] > i->shape.count[last] && !is_clipped(i, d)) {
            bool joint = d == last - 1 && y->step[last] == 1 && y->dtype == x->dtype;
            exchange(i, d, last);
            if (joint && kernel_size(x->size)) { /* rows that are all the same, as columns */
                i->inner = 2;
                i->run = exec_dma_transpose;
            }
            return true;
        }
    return choose_copy(i);
}

static void copy_row(struct worker *me, const struct bound_insn *i, char *const *p,
                     const int64_t *count)
{
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = i->o[DST].step[last], xs = i->o[SRC].step[last];
    if (i->o[DST].dtype == i->o[SRC].dtype && ys == xs && p[DST] == p[SRC])
        return; /* a state that grows where it is */
    if (i->o[DST].dtype == i->o[SRC].dtype && ys == 1 && xs == 1)
        memmove(p[DST], p[SRC], (size_t)(n * i->o[DST].size));
    else
        convert_row(me, &i->o[DST], p[DST], ys, &i->o[SRC], p[SRC], xs, n);
}

void exec_dma_copy(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, copy_row);
}

void exec_tensor_copy(struct worker *me, const struct bound_insn *i)
{
    exec_dma_copy(me, i);
}

/* ---- transposes: dst's planes have swapped dims ---- */

static void transpose_plane(struct worker *me, const struct bound_insn *i, char *const *p,
                            const int64_t *count)
{
    const struct operand *y = &i->o[DST], *x = &i->o[SRC];
    int r = i->shape.rank - 2, c = r + 1;
    if (y->dtype == x->dtype && y->step[r] == 1 && x->step[c] == 1 && kernel_size(x->size)) {
        me->k->transpose(p[DST], y->step[c], p[SRC], x->step[r], (size_t)count[r], (size_t)count[c],
                         x->size);
        return;
    }
    for (int64_t j = 0; j < count[r]; j++)
        convert_row(me, y, p[DST] + j * y->step[r] * y->size, y->step[c], x,
                    p[SRC] + j * x->step[r] * x->size, x->step[c], count[c]);
}

/* The dims of dst were exchanged when binding (exchange_dims), so that both operands have src's
 * shape. */
bool prepare_transpose(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    return i->o[DST].dtype == i->o[SRC].dtype || only_numbers(b, i, insn);
}

void exec_dma_transpose(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, transpose_plane);
}

/* ---- gathers: dst (rows, columns...), table (entries, columns...), index (rows) ---- */

bool prepare_gather(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *y = &i->o[AP(dma_gather, dst)], *t = &i->o[AP(dma_gather, table)],
                         *x = &i->o[AP(dma_gather, index)];
    if (x->dtype != DT_I32 && x->dtype != DT_I64)
        return fail(b->d, "dma_gather: indices of %s, expected i32 or i64", dtype_name(x->dtype));
    if (y->dtype != t->dtype)
        return fail(b->d, "dma_gather: rows of %s into %s", dtype_name(t->dtype),
                    dtype_name(y->dtype));
    if (y->rank != t->rank || y->rank < 1)
        return fail(b->d, "dma_gather: rank %d and %d, expected the same", y->rank, t->rank);
    if (i->imm[IMM(dma_gather, limit)].nterms ||
        i->imm[IMM(dma_gather, limit)].base > t->count[0] ||
        i->imm[IMM(dma_gather, limit)].base < 0 || i->o[AP(dma_gather, table)].nclips)
        return fail(b->d, "dma_gather: limit %lld of a table of %lld entries",
                    (long long)i->imm[IMM(dma_gather, limit)].base, (long long)t->count[0]);
    for (int r = 1; r < y->rank; r++)
        if (y->count[r] > t->count[r])
            return fail(b->d, "dma_gather: rows are longer than the table's");
    for (int r = 0; r < x->rank - 1; r++)
        if (x->count[r] != 1)
            return fail(b->d, "dma_gather: indices in more than one dim");
    const int64_t rows = x->rank ? x->count[x->rank - 1] : 1;
    return rows >= y->count[0] || fail(b->d, "dma_gather: %lld indices for %lld rows",
                                       (long long)rows, (long long)y->count[0]);
}

/* Whether a row is one of neighbours, or rows of them, that are short. */
static bool is_short_gather(const struct bound_insn *i, const int64_t *count)
{
    const struct operand *y = &i->o[AP(dma_gather, dst)], *t = &i->o[AP(dma_gather, table)];
    int last = y->rank - 1;
    return (last == 1 || last == 2) && y->step[last] == 1 && t->step[last] == 1 &&
           count[last] <= SHORT_ROW_BYTES / y->size;
}

static void copy_dims(const struct worker *me, const struct bound_insn *i, char *y, const char *x,
                      int dim, const int64_t *count)
{
    const struct operand *to = &i->o[AP(dma_gather, dst)], *from = &i->o[AP(dma_gather, table)];
    if (dim == to->rank) {
        memcpy(y, x, to->size);
    } else if (dim == to->rank - 1) {
        convert_row(me, to, y, to->step[dim], from, x, from->step[dim], count[dim]);
    } else {
        for (int64_t n = 0; n < count[dim]; n++)
            copy_dims(me, i, y + n * to->step[dim] * to->size, x + n * from->step[dim] * from->size,
                      dim + 1, count);
    }
}

typedef uint32_t indices_4 __attribute__((vector_size(16), aligned(4), may_alias));

/* Whether all of them are in 0 .. limit - 1. */
static bool all_inside(const int32_t *at, int64_t n, int32_t limit)
{
    indices_4 outside = {0};
    uint32_t rest = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) { /* the sign of an index, or of what is left up to the last one */
        const indices_4 v = *(const indices_4 *)(const void *)(at + i);
        outside |= v | ((uint32_t)(limit - 1) - v);
    }
    for (; i < n; i++)
        rest |= (uint32_t)at[i] | ((uint32_t)(limit - 1) - (uint32_t)at[i]);
    return (outside[0] | outside[1] | outside[2] | outside[3] | rest) >> 31 == 0;
}

static void gather_words(uint32_t *to, int64_t step, const uint32_t *from, const int32_t *at, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint32_t a = from[at[i]], b = from[at[i + 1]], c = from[at[i + 2]], d = from[at[i + 3]];
        to[i * step] = a, to[(i + 1) * step] = b, to[(i + 2) * step] = c, to[(i + 3) * step] = d;
    }
    for (; i < n; i++)
        to[i * step] = from[at[i]];
}

/* Rows of one element: false when an index is out of range. */
static bool gather_elements(const struct bound_insn *i, char *to, const char *table,
                            const char *index, int64_t rows)
{
    const struct operand *y = &i->o[AP(dma_gather, dst)], *t = &i->o[AP(dma_gather, table)],
                         *x = &i->o[AP(dma_gather, index)];
    int64_t ys = y->step[0], ts = t->step[0], xs = x->step[x->rank - 1],
            limit = i->imm[IMM(dma_gather, limit)].base;
    bool wide = x->dtype == DT_I64;
    if (!wide && xs == 1 && ts == 1 && y->size == 4 && limit > 0 && limit <= INT32_MAX &&
        all_inside((const int32_t *)index, rows, (int32_t)limit)) {
        gather_words((uint32_t *)to, ys, (const uint32_t *)table, (const int32_t *)index, rows);
        return true;
    }
#define MOVE(T)                                                                                    \
    for (int64_t r = 0; r < rows; r++) {                                                           \
        int64_t v = wide ? ((const int64_t *)index)[r * xs] : ((const int32_t *)index)[r * xs];    \
        v += limit & (v >> 63);                                                                    \
        if (v < 0 || v >= limit)                                                                   \
            return false;                                                                          \
        ((T *)to)[r * ys] = ((const T *)table)[v * ts];                                            \
    }                                                                                              \
    return true
    switch (y->size) {
    case 1:
        MOVE(uint8_t);
    case 2:
        MOVE(uint16_t);
    case 4:
        MOVE(uint32_t);
    default:
        MOVE(uint64_t);
    }
#undef MOVE
}

void exec_dma_gather(struct worker *me, const struct bound_insn *i)
{
    const struct operand *x = &i->o[AP(dma_gather, index)];
    int64_t count[MAX_AP_RANK], indices[MAX_AP_RANK], limit = i->imm[IMM(dma_gather, limit)].base;
    if (!counts_now(me, i, AP(dma_gather, dst), count) ||
        !counts_now(me, i, AP(dma_gather, index), indices))
        return;
    char *to = operand_address(me, &i->o[AP(dma_gather, dst)]);
    const char *table = operand_address(me, &i->o[AP(dma_gather, table)]),
               *index = operand_address(me, x);
    int64_t rows = count[0] < indices[x->rank - 1] ? count[0] : indices[x->rank - 1], row = 1;
    for (int d = 1; d < i->o[AP(dma_gather, dst)].rank; d++)
        row *= count[d];
    if (row == 1 && kernel_size(i->o[AP(dma_gather, dst)].size)) {
        if (!gather_elements(i, to, table, index, rows))
            worker_fail(me, "an index is out of the range of the table it selects from");
        return;
    }
    const struct operand *y = &i->o[AP(dma_gather, dst)], *t = &i->o[AP(dma_gather, table)];
    bool brief = is_short_gather(i, count);
    for (int64_t r = 0; r < rows; r++) {
        int64_t v = dtype_load_i64(x->dtype, index + r * x->step[x->rank - 1] * x->size, 0);
        v += v < 0 ? limit : 0;
        if (v < 0 || v >= limit) {
            worker_fail(me, "an index is out of the range of the table it selects from");
            return;
        }
        char *row_to = to + r * y->step[0] * y->size;
        const char *from = table + v * t->step[0] * t->size;
        if (brief)
            copy_short_rows(row_to, y->step[1] * y->size, from, t->step[1] * t->size, y->rank == 3 ? count[1] : 1,
                            (size_t)(count[y->rank - 1] * y->size));
        else
            copy_dims(me, i, row_to, from, 1, count);
    }
}
