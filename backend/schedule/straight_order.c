/*
 * The order of kernels of many thousand instructions without loops. What conflict.c does compares pairs.
 *
 * Memory is looked at in cells, of 64 bytes by 32 partitions on the chip; of traced kernels, whose tiles may be small
 * and are touched in parts, cells begin where an operand begins or ends. A cell knows who wrote it last, and which
 * instruction of each stream read it last since. A later write of a cell comes after all of these, so that they can be
 * forgotten: an instruction that must come after them comes after the write.
 */
#include "backend/schedule/chain.h"

#include "backend/tile/rules.h"

#include <stdlib.h>
#include <string.h>

enum { CELL = 64, PARTS = 4, PART = 32, MAX_CELLS = 16384, MAX_CHIP_CELLS = 1 << 20 };

struct touches {
    int32_t writer, reader[STREAMS];
};

struct cell_reader { /* since the cell was written last */
    int32_t insn, next; /* -1: the last one of the list */
};

struct cells { /* of HBM */
    struct touches *cells;
    int64_t n, bytes; /* bytes of one */
};

struct cell_bounds { /* where cells begin: `each` bytes apart, or if that is 0 at `at` */
    int64_t each, *at;
    int n;
};

struct chip_cells { /* of SBUF or PSUM */
    struct touches *cells; /* all partitions of the same bytes lie together */
    struct cell_bounds bytes, partitions;
};

struct tracker {
    const struct program *p;
    const struct kernel *k;
    struct arena *a;
    struct chip_cells chip[2]; /* sbuf, psum */
    struct cells *slots;  /* of those that own memory */
    bool *written;        /* per slot, by the kernel */
    before_t *before;
    struct links *links; /* instead: pairs of whatever streams. A cell's reader[0] is the first of its list then */
    int32_t *linked;     /* per instruction, the last one that comes after it */
    struct cell_reader *readers;
    int nreaders, readers_cap;
    int insn;
};

static int stream_of(const struct insn *n)
{
    return n->engine + (insn_is_transfer(n) ? ENGINE_COUNT : 0);
}

static void come_after(struct tracker *t, int32_t other)
{
    if (other < 0)
        return;
    int32_t *latest = &t->before[t->insn][stream_of(&t->k->insns[other])];
    *latest = other > *latest ? other : *latest;
}

static void link_after(struct tracker *t, int32_t other)
{
    if (other < 0 || other == t->insn || t->linked[other] == t->insn)
        return;
    t->linked[other] = t->insn;
    ARENA_GROW(t->a, t->links->at, t->links->n, t->links->cap);
    t->links->at[t->links->n++] = (struct link){other, t->insn};
}

static void link_cell(struct tracker *t, struct touches *c, bool write)
{
    link_after(t, c->writer);
    if (!write) {
        ARENA_GROW(t->a, t->readers, t->nreaders, t->readers_cap);
        t->readers[t->nreaders] = (struct cell_reader){t->insn, c->reader[0]};
        c->reader[0] = t->nreaders++;
        return;
    }
    for (int32_t r = c->reader[0]; r >= 0; r = t->readers[r].next)
        link_after(t, t->readers[r].insn);
    c->reader[0] = -1;
    c->writer = t->insn;
}

static void touch_cell(struct tracker *t, struct touches *c, bool write)
{
    if (t->links) {
        link_cell(t, c, write);
        return;
    }
    come_after(t, c->writer);
    if (!write) {
        c->reader[stream_of(&t->k->insns[t->insn])] = t->insn;
        return;
    }
    for (int s = 0; s < STREAMS; s++) {
        come_after(t, c->reader[s]);
        c->reader[s] = -1;
    }
    c->writer = t->insn;
}

static void make_cells(struct tracker *t, struct cells *c, int64_t n, int64_t bytes)
{
    *c = (struct cells){ARENA_ARRAY(t->a, struct touches, n), n, bytes};
    memset(c->cells, -1, sizeof *c->cells * (size_t)n);
}

/* Partitions [p[0], p[1]] and bytes [p[2], p[3]) of each that a pattern of a tile may touch. */
static void chip_box(const struct tile *t, const struct ap *a, bool all, int64_t p[4])
{
    int64_t size = (int64_t)dtype_bytes(a->dtype), row = t->elements;
    p[0] = 0, p[1] = t->partitions - 1, p[2] = 0, p[3] = tile_partition_bytes(t);
    if (all || size != (int64_t)dtype_bytes(t->dtype) || a->offset.nterms || !dim_is_const(a->offset.base))
        return;
    int64_t first = a->offset.base / row, low = a->offset.base % row, last = first, high = low;
    for (int i = 0; i < a->rank; i++) {
        int64_t step = a->dim[i].step, count = a->dim[i].count;
        if (count <= 1 || step == 0)
            continue;
        if (step < 0 || (step > row && step % row != 0))
            return;
        *(step >= row ? &last : &high) += (step >= row ? step / row : step) * (count - 1);
    }
    if (high < row)
        p[0] = first, p[1] = last, p[2] = low * size, p[3] = (high + 1) * size;
}

static int64_t cell_at(const struct cell_bounds *b, int64_t at)
{
    int low = 0, high = b->n - 1;
    if (b->each)
        return at / b->each;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (b->at[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void touch_chip(struct tracker *t, const struct ap *a, bool all, bool write)
{
    const struct tile *tile = &t->k->tiles[a->tensor];
    struct chip_cells *c = &t->chip[a->mem == MEM_PSUM];
    int64_t p[4];
    chip_box(tile, a, all, p);
    const int64_t first = cell_at(&c->bytes, tile->address + p[2]), last = cell_at(&c->bytes, tile->address + p[3] - 1);
    const int64_t low = cell_at(&c->partitions, p[0]), high = cell_at(&c->partitions, p[1]);
    for (int64_t b = first; b <= last; b++)
        for (int64_t q = low; q <= high; q++)
            touch_cell(t, &c->cells[b * c->partitions.n + q], write);
}

static int by_place(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void sort_bounds(struct cell_bounds *b)
{
    int n = 0;
    qsort(b->at, (size_t)b->n, sizeof *b->at, by_place);
    for (int i = 0; i < b->n; i++)
        if (!n || b->at[i] != b->at[n - 1])
            b->at[n++] = b->at[i];
    b->n = n;
}

/* Where the operands in that memory begin, and where what lies behind them does. */
static void find_bounds(const struct tracker *t, int mem, struct chip_cells *c)
{
    const struct kernel *k = t->k;
    int max = 1;
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++)
            max += k->insns[i].ap[o].mem == mem ? 2 : 0;
    c->bytes = (struct cell_bounds){.at = ARENA_ARRAY(t->a, int64_t, max), .n = 1};
    c->partitions = (struct cell_bounds){.at = ARENA_ARRAY(t->a, int64_t, max), .n = 1};
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++) {
            const struct ap *a = &k->insns[i].ap[o];
            int64_t p[4];
            if (a->mem != mem)
                continue;
            chip_box(&k->tiles[a->tensor], a, insn_info(k->insns[i].op)->ap[o].reach == REACH_INDIRECT, p);
            c->partitions.at[c->partitions.n++] = p[0], c->partitions.at[c->partitions.n++] = p[1] + 1;
            c->bytes.at[c->bytes.n++] = k->tiles[a->tensor].address + p[2];
            c->bytes.at[c->bytes.n++] = k->tiles[a->tensor].address + p[3];
        }
    sort_bounds(&c->bytes), sort_bounds(&c->partitions);
}

/* size: bytes of a partition. */
static void make_chip_cells(struct tracker *t, int mem, int64_t size)
{
    struct chip_cells *c = &t->chip[mem == MEM_PSUM];
    if (t->k->traced)
        find_bounds(t, mem, c);
    else
        c->bytes = (struct cell_bounds){.each = CELL, .n = (int)(size / CELL + 1)};
    if (!t->k->traced || (int64_t)c->bytes.n * c->partitions.n > MAX_CHIP_CELLS)
        c->partitions = (struct cell_bounds){.each = PART, .n = PARTS};
    const int64_t n = (int64_t)c->bytes.n * c->partitions.n;
    c->cells = ARENA_ARRAY(t->a, struct touches, n);
    memset(c->cells, -1, sizeof *c->cells * (size_t)n);
}

static int64_t slot_bytes(const struct slot *s)
{
    int64_t n = (int64_t)dtype_bytes(s->type.dtype);
    for (int i = 0; i < s->type.rank; i++)
        if (!dim_is_const(s->type.dims[i]) || __builtin_mul_overflow(n, s->type.dims[i], &n))
            return -1;
    return n;
}

static void touch_range(struct tracker *t, struct cells *c, int64_t from, int64_t to, bool write)
{
    from = from < 0 ? 0 : from / c->bytes;
    to = to < 1 ? 0 : (to - 1) / c->bytes;
    for (int64_t i = from; i <= to && i < c->n; i++)
        touch_cell(t, &c->cells[i], write);
}

static void touch_dims(struct tracker *t, struct cells *c, const struct ap *a, int dim, int64_t at, bool write)
{
    int64_t size = (int64_t)dtype_bytes(a->dtype), step = a->dim[dim].step * size, n = a->dim[dim].count;
    if (dim == a->rank - 1 && step <= c->bytes) {
        touch_range(t, c, at, at + step * (n - 1) + size, write);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (dim == a->rank - 1)
            touch_range(t, c, at + i * step, at + i * step + size, write);
        else
            touch_dims(t, c, a, dim + 1, at + i * step, write);
}

static void touch_hbm(struct tracker *t, const struct ap *a, bool all, bool write)
{
    const struct slot *s = &t->p->slots[a->tensor];
    int root = slot_root(t->p, a->tensor);
    if (!t->written[root])
        return;
    struct cells *c = &t->slots[root];
    if (!c->cells) {
        int64_t bytes = slot_bytes(&t->p->slots[root]), one = CELL;
        while (bytes / one > MAX_CELLS)
            one *= 2; /* what begins at such a place has no cell in common with what ends there */
        make_cells(t, c, bytes < 1 ? 1 : bytes / one + 1, bytes < 1 ? INT64_MAX : one);
    }
    dim_t moved = s->kind == SLOT_VIEW ? s->offset : 0;
    bool known = !all && dim_is_const(moved) && dim_is_const(a->offset.base) && !a->offset.nterms;
    for (int i = 0; i < a->rank; i++)
        known &= dim_is_const(a->dim[i].step) && dim_is_const(a->dim[i].count) && a->dim[i].step >= 0;
    if (!known || c->n == 1) {
        touch_range(t, c, 0, INT64_MAX, write);
        return;
    }
    int64_t start = a->offset.base * (int64_t)dtype_bytes(a->dtype) + moved * (int64_t)dtype_bytes(s->type.dtype);
    touch_dims(t, c, a, 0, start, write);
}

static void touch_operands(struct tracker *t, const struct insn *n, bool write)
{
    const struct insn_info *info = insn_info(n->op);
    for (int o = 0; o < info->naps; o++) {
        const struct ap *a = &n->ap[o];
        if (a->mem == MEM_NONE || !(write ? operand_writes(n, o) : operand_reads(n, o)))
            continue;
        bool all = info->ap[o].reach == REACH_INDIRECT;
        if (a->mem == MEM_HBM)
            touch_hbm(t, a, all, write);
        else
            touch_chip(t, a, all, write);
    }
}

/* All instructions in turn; bytes of a partition in sbuf and psum. */
static void track(struct tracker *t, int64_t sbuf, int64_t psum)
{
    const struct kernel *k = t->k;
    t->written = ARENA_ARRAY(t->a, bool, t->p->nslots + 1);
    t->slots = ARENA_ARRAY(t->a, struct cells, t->p->nslots + 1);
    make_chip_cells(t, MEM_SBUF, sbuf);
    make_chip_cells(t, MEM_PSUM, psum);
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++)
            if (k->insns[i].ap[o].mem == MEM_HBM && operand_writes(&k->insns[i], o))
                t->written[slot_root(t->p, k->insns[i].ap[o].tensor)] = true;
    for (t->insn = 0; t->insn < k->ninsns; t->insn++) {
        touch_operands(t, &k->insns[t->insn], false);
        touch_operands(t, &k->insns[t->insn], true);
    }
}

before_t *straight_order(const struct program *p, const struct kernel *k, const struct machine *m, bool queues,
                         struct arena *a)
{
    struct arena scratch = {0};
    struct tracker t = {.p = p, .k = k, .a = &scratch};
    t.before = ARENA_ARRAY(a, before_t, k->ninsns + 1);
    memset(t.before, -1, sizeof *t.before * (size_t)(k->ninsns + 1));
    track(&t, m->sbuf, m->psum);
    for (int i = 0; i < k->ninsns; i++)
        if (!queues || !insn_is_transfer(&k->insns[i]))
            t.before[i][stream_of(&k->insns[i])] = -1;
    arena_free(&scratch);
    return t.before;
}

static void track_links(const struct program *p, const struct kernel *k, const int64_t bytes[2], struct links *links,
                        struct arena *a)
{
    struct tracker t = {.p = p, .k = k, .a = a, .links = links};
    *links = (struct links){.n = 0};
    t.linked = ARENA_ARRAY(a, int32_t, k->ninsns + 1);
    memset(t.linked, -1, sizeof *t.linked * (size_t)(k->ninsns + 1));
    track(&t, bytes[0], bytes[1]);
}

void straight_links(const struct program *p, const struct kernel *k, const struct machine *m, struct links *links,
                    struct arena *a)
{
    track_links(p, k, (int64_t[]){m->sbuf, m->psum}, links, a);
}

void straight_needs(const struct program *p, struct kernel *k, struct links *links, struct arena *a)
{
    int64_t end[2] = {0};
    for (int i = 0; i < k->ntiles; i++) { /* every tile has memory of its own */
        int64_t *at = &end[k->tiles[i].mem == MEM_PSUM];
        k->tiles[i].address = *at;
        *at += (tile_partition_bytes(&k->tiles[i]) + CELL - 1) / CELL * CELL;
    }
    track_links(p, k, end, links, a);
}
