/*
 * Places of tiles in a worker's memory.
 *
 * Kernels of many instructions without loops have thousands of tiles, of which few live at a time: these share memory.
 * Between the last use of one and the first of another in the same memory stands a product or a transfer, so that the
 * two are not used by instructions that run together, row by row (exec_steps.c); where a transfer is a plain copy and
 * runs together with what stands beside it, the two are places apart (stream.c).
 *
 * Tiles of strict targets have addresses in each partition, by which those that live at different times share memory,
 * in loops too (backend/schedule/place.c). Where tiles apart would take more than a chip has, columns of the chip's
 * memory become pieces of the worker's. What runs row by row asks whether its tiles meet there.
 */
#include "runtime/exec/bind_kernel.h"

#include "neff/base/sort.h"

enum { MANY = 64, MAX = 1 << 14, ALIGN = 64 }; /* more than MAX would take too long */
enum { LARGE = 64 << 20 }; /* bytes of tiles apart: about twice as many as a chip has for them */

static bool bind_sizes(struct binder *b)
{
    const struct kernel *k = b->k;
    for (int t = 0; t < k->ntiles; t++) {
        int64_t partitions, elements, bytes;
        if (!bind_value(b, k->tiles[t].partitions, &partitions) || !bind_value(b, k->tiles[t].elements, &elements))
            return false;
        if (partitions < 0 || elements < 0 || __builtin_mul_overflow(partitions, elements, &bytes) ||
            bytes > MAX_TILE_BYTES / (int64_t)dtype_bytes(k->tiles[t].dtype))
            return fail(b->d, "tile %d of %lld x %lld elements is too large", t, (long long)partitions,
                        (long long)elements);
        b->tile_size[t] = bytes * (int64_t)dtype_bytes(k->tiles[t].dtype);
    }
    return true;
}

static int64_t room_for(int64_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Takes memory up to `end`. */
static bool reach(struct binder *b, int64_t end)
{
    if (end > b->out->tile_bytes)
        b->out->tile_bytes = end;
    return b->out->tile_bytes <= MAX_TILE_BYTES || fail(b->d, "tiles of more than %d bytes", MAX_TILE_BYTES);
}

static bool place_apart(struct binder *b)
{
    for (int t = 0; t < b->k->ntiles; t++) {
        b->tile_at[t] = b->out->tile_bytes;
        if (!reach(b, b->tile_at[t] + room_for(b->tile_size[t])))
            return false;
    }
    return true;
}

/* Rows of the memory whose columns addresses name, a multiple of ALIGN; 0: some tile has no address. */
static int64_t rows_of_memory(const struct binder *b)
{
    int64_t rows = ALIGN;
    for (int t = 0; t < b->k->ntiles; t++) {
        int64_t partitions = dim_value(b->values, b->k->tiles[t].partitions); /* bind_sizes has seen it */
        if (b->k->tiles[t].address < 0 || b->k->tiles[t].address > MAX_TILE_BYTES || partitions > MAX_TILE_BYTES)
            return 0;
        rows = partitions > rows ? room_for(partitions) : rows;
    }
    return rows;
}

/* Where the tile ends: [rows x address, rows x (address + bytes in a partition)) of its kind of memory. */
static int64_t end_by_address(const struct binder *b, int tile, int64_t rows)
{
    const struct tile *t = &b->k->tiles[tile];
    int64_t partitions = dim_value(b->values, t->partitions);
    int64_t width = partitions ? b->tile_size[tile] / partitions : 0;
    return rows * (t->address + width);
}

/* False where tiles have no addresses, or take less apart. */
static bool place_by_address(struct binder *b)
{
    int64_t rows = rows_of_memory(b), apart = 0, end[2] = {0, 0}; /* of SBUF, PSUM */
    for (int t = 0; rows && t < b->k->ntiles; t++) {
        int64_t to = end_by_address(b, t, rows), *end_now = &end[b->k->tiles[t].mem == MEM_PSUM];
        *end_now = to > *end_now ? to : *end_now;
        apart += room_for(b->tile_size[t]);
    }
    if (!rows || apart < LARGE || end[0] + end[1] > MAX_TILE_BYTES || end[0] + end[1] >= apart)
        return false;
    for (int t = 0; t < b->k->ntiles; t++)
        b->tile_at[t] = (b->k->tiles[t].mem == MEM_PSUM ? end[0] : 0) + rows * b->k->tiles[t].address;
    b->by_address = true;
    b->out->tile_bytes = end[0] + end[1];
    return true;
}

bool tiles_meet(const struct binder *b, int x, int y)
{
    return b->by_address && x != y && b->tile_at[x] < b->tile_at[y] + b->tile_size[y] &&
           b->tile_at[y] < b->tile_at[x] + b->tile_size[x];
}

struct life { /* of a tile; first -1: nobody uses it */
    int tile, first, last; /* last: until nothing runs together with its last use */
    int64_t from, to;
};

static int by_first(const void *a, const void *b)
{
    const struct life *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->tile - y->tile;
}

static bool runs_alone(const struct insn *n)
{
    return insn_is_transfer(n) || n->op == INSN_nc_matmul || n->op == INSN_nc_transpose;
}

static bool has_loops(const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        if (k->insns[i].op == INSN_loop)
            return true;
    return false;
}

/* From where to where each tile lives. */
static struct life *find_lives(const struct kernel *k, struct arena *a)
{
    struct life *lives = ARENA_ARRAY(a, struct life, k->ntiles + 1);
    int *alone = ARENA_ARRAY(a, int, k->ninsns + 1); /* the next such instruction after each */
    for (int t = 0; t < k->ntiles; t++)
        lives[t] = (struct life){t, -1, -1, 0, 0};
    for (int i = k->ninsns - 1, next = k->ninsns; i >= 0; i--) {
        alone[i] = next;
        next = runs_alone(&k->insns[i]) ? i : next;
    }
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++) {
            const struct ap *ap = &k->insns[i].ap[o];
            if (ap->mem != MEM_SBUF && ap->mem != MEM_PSUM)
                continue;
            struct life *l = &lives[ap->tensor];
            l->first = l->first < 0 ? i : l->first;
            l->last = alone[i];
        }
    sort_items(lives, (size_t)k->ntiles, sizeof *lives, by_first);
    return lives;
}

/* The lowest place beside those that live. */
static bool place_shared(struct binder *b, struct arena *scratch)
{
    struct life *lives = find_lives(b->k, scratch);
    const struct life **now = ARENA_ARRAY(scratch, const struct life *, b->k->ntiles + 1); /* by place */
    for (int t = 0, n = 0; t < b->k->ntiles; t++) {
        struct life *l = &lives[t];
        int kept = 0, at = 0;
        for (int i = 0; i < n; i++)
            if (now[i]->last >= l->first)
                now[kept++] = now[i];
        l->to = room_for(b->tile_size[l->tile]);
        while (at < kept && now[at]->from < l->to) {
            l->to += now[at]->to - l->from;
            l->from = now[at++]->to;
        }
        for (int i = kept; i > at; i--)
            now[i] = now[i - 1];
        now[at] = l;
        n = kept + 1;
        b->tile_at[l->tile] = l->from;
        if (!reach(b, l->to))
            return false;
    }
    return true;
}

bool bind_tiles(struct binder *b, struct arena *scratch)
{
    const struct kernel *k = b->k;
    b->tile_at = ARENA_ARRAY(scratch, int64_t, k->ntiles);
    b->tile_size = ARENA_ARRAY(scratch, int64_t, k->ntiles);
    if (!bind_sizes(b))
        return false;
    if (b->m->engine_threads)
        return place_apart(b);
    if (k->ntiles > MANY && k->ntiles <= MAX && !has_loops(k))
        return place_shared(b, scratch);
    return place_by_address(b) || place_apart(b);
}
