#include "neff/plan/hazards_memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_EXACT = 1 << 20 }; /* runs of elements that are compared one by one */
#define OWNER_READ (UINT32_C(1) << 31) /* beside an owner: its elements have been read */

/* Numbers of a file, whose bounds nobody has proved yet: what does not fit stays at the end of what
 * does, far outside every tensor. */
enum { OUTSIDE_BITS = 55 }; /* so that sums of a box's few numbers fit */
static const int64_t outside = (int64_t)1 << OUTSIDE_BITS;

static int64_t limited(__int128 x)
{
    return x > outside ? outside : x < -outside ? -outside : (int64_t)x;
}

static int64_t product(int64_t a, int64_t b)
{
    return limited((__int128)a * b);
}

int64_t hazard_value(const struct hazard_memory *m, const struct affine *a)
{
    __int128 v = dim_value(m->values, a->base);
    for (int i = 0; i < a->nterms; i++)
        v += (__int128)dim_value(m->values, a->terms[i].coef) * m->vars[a->terms[i].var];
    return limited(v);
}

static int64_t count_of(const struct hazard_memory *m, const struct ap_dim *d)
{
    int64_t count = dim_value(m->values, d->count);
    if (d->clip) {
        int64_t left = limited((__int128)dim_value(m->values, d->clip->limit) -
                               (__int128)m->vars[d->clip->var] *
                                   dim_value(m->values, d->clip->factor));
        count = left < count ? left : count;
    }
    return count < 0 ? 0 : limited(count);
}

struct box box_of(const struct hazard_memory *m, const struct ap *a)
{
    struct box b = {.memory = a->mem, .tensor = a->tensor, .rank = a->rank, .total = 1};
    int64_t scale = 1;
    b.size = (int64_t)dtype_bytes(a->dtype);
    b.run = 1;
    b.offset = hazard_value(m, &a->offset);
    if (a->mem == MEM_HBM) {
        const struct slot *s = &m->p->slots[a->tensor];
        scale = b.run = b.size, b.size = 1;
        b.offset = product(b.offset, scale);
        if (s->kind == SLOT_VIEW) {
            b.tensor = s->base;
            b.offset = limited((__int128)b.offset + product(dim_value(m->values, s->offset),
                                                            (int64_t)dtype_bytes(s->type.dtype)));
        }
    }
    b.low = b.high = b.offset;
    for (int i = 0; i < a->rank; i++) {
        b.step[i] = product(dim_value(m->values, a->dim[i].step), scale);
        b.count[i] = count_of(m, &a->dim[i]);
        b.total = product(b.total, b.count[i]);
        int64_t *end = b.step[i] < 0 ? &b.low : &b.high;
        if (b.count[i] > 0)
            *end = limited((__int128)*end + product(b.step[i], b.count[i] - 1));
    }
    b.high += b.run;
    for (int i = 0; i < a->rank && (b.low <= -outside || b.high >= outside); i++)
        b.step[i] = 0; /* so that walks along it stay there */
    return b;
}

/* ---- overlap ---- */

bool box_next(const struct box *b, int64_t at[MAX_AP_RANK], int64_t *element)
{
    for (int i = b->rank - 1; i >= 0; i--) {
        *element += b->step[i];
        if (++at[i] < b->count[i])
            return true;
        *element -= b->step[i] * b->count[i];
        at[i] = 0;
    }
    return false;
}

struct box box_joined(const struct box *b)
{
    struct box j = *b;
    j.rank = 0;
    for (int i = b->rank - 1; i >= 0; i--) {
        int first = MAX_AP_RANK - j.rank; /* dims are gathered at the end, the outer ones in front */
        if (b->count[i] == 1)
            continue;
        if (j.rank == 0 && b->step[i] == j.run)
            j.run = product(j.run, b->count[i]);
        else if (j.rank > 0 && b->step[i] == product(j.step[first], j.count[first]))
            j.count[first] = product(j.count[first], b->count[i]);
        else
            j.step[first - 1] = b->step[i], j.count[first - 1] = b->count[i], j.rank++;
    }
    memmove(j.step, j.step + MAX_AP_RANK - j.rank, sizeof *j.step * (size_t)j.rank);
    memmove(j.count, j.count + MAX_AP_RANK - j.rank, sizeof *j.count * (size_t)j.rank);
    return j;
}

static int64_t count_runs(const struct box *b)
{
    int64_t n = 1;
    for (int i = 0; i < b->rank; i++)
        n = product(n, b->count[i]);
    return n;
}

static int by_start(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Where each run begins, in order; malloc. */
static int64_t *run_starts(const struct box *b, int64_t n)
{
    int64_t at[MAX_AP_RANK] = {0}, element = b->offset, *starts = malloc(sizeof *starts * (size_t)n);
    bool sorted = true;
    if (!starts)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        starts[i] = element;
        sorted &= i == 0 || starts[i - 1] <= element;
        box_next(b, at, &element);
    }
    if (!sorted)
        qsort(starts, (size_t)n, sizeof *starts, by_start);
    return starts;
}

/* Boxes of one tensor. */
static bool elements_meet(const struct box *a, const struct box *b)
{
    if (a->low >= b->high || b->low >= a->high)
        return false;
    struct box x = box_joined(a), y = box_joined(b);
    int64_t n = count_runs(&x), m = count_runs(&y), i = 0, j = 0;
    if ((n == 1 && m == 1) || n > MAX_EXACT || m > MAX_EXACT)
        return true;
    int64_t *xs = run_starts(&x, n), *ys = run_starts(&y, m);
    bool meet = !xs || !ys;
    while (!meet && i < n && j < m) {
        meet = xs[i] < ys[j] + y.run && ys[j] < xs[i] + x.run;
        *(xs[i] < ys[j] ? &i : &j) += 1;
    }
    free(xs), free(ys);
    return meet;
}

int64_t tile_row(const struct hazard_memory *m, const struct box *b)
{
    const struct tile *t = &m->k->tiles[b->tensor];
    int64_t bytes = dim_value(m->values, t->elements) * (int64_t)dtype_bytes(t->dtype);
    return bytes % b->size ? 0 : bytes / b->size;
}

/* Of a tile: partitions [p[0], p[1]), bytes [p[2], p[3]) of each, from the tile's first. */
static bool rectangle(const struct hazard_memory *m, const struct box *b, int64_t p[4])
{
    int64_t row = tile_row(m, b), first = b->offset;
    if (row < 1)
        return false;
    int64_t partition = first / row, column = first % row,
            ends[4] = {partition, partition, column, column};
    for (int i = 0; i < b->rank; i++) {
        int64_t reach = b->step[i] * (b->count[i] - 1);
        if (b->step[i] % row == 0)
            ends[reach < 0 ? 0 : 1] += reach / row;
        else
            ends[reach < 0 ? 2 : 3] += reach;
    }
    if (ends[2] < 0 || ends[3] >= row) { /* runs on into the next partition */
        ends[0] = b->low / row, ends[1] = (b->high - 1) / row;
        ends[2] = 0, ends[3] = row - 1;
    }
    p[0] = ends[0], p[1] = ends[1] + 1;
    p[2] = ends[2] * b->size, p[3] = (ends[3] + 1) * b->size;
    return true;
}

/* The same of a placed tile, from the partitions' first bytes. */
static bool physical(const struct hazard_memory *m, const struct box *b, int64_t p[4])
{
    int64_t address = m->k->tiles[b->tensor].address;
    if (address < 0 || !rectangle(m, b, p))
        return false;
    p[2] += address, p[3] += address;
    return true;
}

static bool rectangles_meet(const int64_t p[4], const int64_t q[4])
{
    return p[0] < q[1] && q[0] < p[1] && p[2] < q[3] && q[2] < p[3];
}

bool boxes_meet(const struct hazard_memory *m, const struct box *a, const struct box *b)
{
    int64_t p[4], q[4];
    if (a->memory != b->memory || !a->total || !b->total)
        return false;
    if (a->tensor == b->tensor)
        return (a->memory == MEM_HBM || !rectangle(m, a, p) || !rectangle(m, b, q) || rectangles_meet(p, q)) &&
               elements_meet(a, b);
    return a->memory != MEM_HBM && physical(m, a, p) && physical(m, b, q) && rectangles_meet(p, q);
}

bool boxes_equal(const struct hazard_memory *m, const struct box *a, const struct box *b)
{
    int64_t p[4], q[4];
    return a->size == b->size && a->total == b->total && physical(m, a, p) && physical(m, b, q) &&
           !memcmp(p, q, sizeof p);
}

/* ---- content ---- */

/* The most bytes, up to 8, that divide all tiles' elements, what these are seen as, and addresses. */
static int64_t common_grain(const struct kernel *k)
{
    int64_t grain = 8;
    for (int i = 0; i < k->ntiles; i++)
        while ((int64_t)dtype_bytes(k->tiles[i].dtype) % grain ||
               (k->tiles[i].address > 0 && k->tiles[i].address % grain))
            grain /= 2;
    for (int i = 0; i < k->ninsns; i++)
        for (int a = 0; a < insn_info(k->insns[i].op)->naps; a++) {
            const struct ap *ap = &k->insns[i].ap[a];
            while ((ap->mem == MEM_SBUF || ap->mem == MEM_PSUM) && (int64_t)dtype_bytes(ap->dtype) % grain)
                grain /= 2;
        }
    return grain;
}

void hazard_memory_init(struct hazard_memory *m)
{
    m->loose = ARENA_ARRAY(m->arena, struct tile_map, m->k->ntiles + 1);
    m->grain = common_grain(m->k);
    for (int i = 0; i < m->k->ntiles; i++) {
        const struct tile *t = &m->k->tiles[i];
        int64_t row = dim_value(m->values, t->elements) * (int64_t)dtype_bytes(t->dtype);
        int64_t partitions = dim_value(m->values, t->partitions);
        if (t->address < 0) {
            m->loose[i] = (struct tile_map){.partitions = partitions, .row = row};
            continue;
        }
        struct tile_map *map = &m->placed[t->mem];
        map->row = t->address + row > map->row ? t->address + row : map->row;
        map->partitions = partitions > map->partitions ? partitions : map->partitions;
    }
}

/* Partitions that have been touched alike share one row of owners: mostly all of them. */
static void open_map(const struct hazard_memory *m, struct tile_map *map)
{
    uint32_t *row = ARENA_ARRAY(m->arena, uint32_t, map->row / m->grain + 1);
    map->rows = ARENA_ARRAY(m->arena, uint32_t *, map->partitions + 1);
    map->starts = ARENA_ARRAY(m->arena, bool, map->partitions + 1);
    for (int64_t p = 0; p <= map->partitions; p++)
        map->rows[p] = row;
}

/* From p on partitions have a row of their own. */
static void split_at(const struct hazard_memory *m, struct tile_map *map, int64_t p)
{
    if (p <= 0 || p >= map->partitions || map->starts[p])
        return;
    uint32_t *row = arena_copy(m->arena, map->rows[p], sizeof *row * (size_t)(map->row / m->grain + 1));
    map->starts[p] = true;
    do
        map->rows[p++] = row;
    while (p < map->partitions && !map->starts[p]);
}

/* Elements side by side at the end of a walk. */
static int64_t inner_run(const struct box *b, int64_t row)
{
    int last = b->rank - 1;
    bool within =
        b->step[last] == 1 && b->count[last] <= row && b->offset % row + b->count[last] <= row;
    for (int i = 0; i < last; i++)
        within &= b->step[i] % row == 0 ||
                  (b->offset % row + b->step[i] * (b->count[i] - 1) + b->count[last] <= row &&
                   b->step[i] >= 0);
    return within ? b->count[last] : 1;
}

/* Whether the pattern touches the same of partitions [*first, *end), each as a whole: *columns, of one of them. */
static bool is_regular(const struct box *b, int64_t row, int64_t *first, int64_t *end, struct box *columns)
{
    int64_t last = b->offset % row;
    *columns = *b;
    columns->offset = last, *first = b->offset / row, *end = *first + 1;
    for (int i = 0; i < b->rank; i++) {
        if (b->step[i] == row && b->count[i] > 1) {
            if (*end > *first + 1)
                return false;
            *end = *first + b->count[i], columns->count[i] = 1;
        } else if (b->step[i] < 0) {
            return false;
        } else {
            last += b->step[i] * (b->count[i] - 1);
        }
    }
    return last < row;
}

/* A walk over the owners of what a pattern of a tile touches, run by run. */
struct owner_walk {
    struct tile_map *map;
    uint32_t owner;       /* the tile's own mark */
    struct box outer;     /* one element of it a run */
    int64_t row, grains, run, start, at[MAX_AP_RANK], element; /* start: grains before the tile's first */
    int64_t first, end; /* partitions of which the walk is done for one of each row */
    bool regular;
};

static struct owner_walk owner_walk(const struct hazard_memory *m, const struct box *b)
{
    const struct tile *t = &m->k->tiles[b->tensor];
    struct owner_walk w = {.owner = (uint32_t)(b->tensor + 1), .row = tile_row(m, b), .grains = b->size / m->grain};
    w.map = t->address < 0 ? &m->loose[b->tensor] : (struct tile_map *)&m->placed[t->mem];
    w.start = t->address < 0 ? 0 : t->address / m->grain;
    if (!w.map->rows)
        open_map(m, w.map);
    w.regular = is_regular(b, w.row, &w.first, &w.end, &w.outer);
    if (w.regular) {
        split_at(m, w.map, w.first), split_at(m, w.map, w.end);
    } else {
        w.outer = *b;
        for (int64_t p = b->low / w.row; p <= (b->high - 1) / w.row + 1; p++)
            split_at(m, w.map, p);
    }
    w.element = w.outer.offset;
    w.run = inner_run(&w.outer, w.row);
    if (w.run > 1)
        w.outer.count[b->rank - 1] = 1;
    return w;
}

/* Of the run that is looked at now. */
static uint32_t *owners(const struct hazard_memory *m, const struct owner_walk *w)
{
    if (m->left)
        *m->left -= w->run;
    int64_t partition = w->regular ? w->first : w->element / w->row;
    return w->map->rows[partition] + w->start + w->element % w->row * w->grains;
}

static bool next_run(struct owner_walk *w)
{
    if (box_next(&w->outer, w->at, &w->element))
        return true;
    if (!w->regular)
        return false;
    do
        w->first++;
    while (w->first < w->end && !w->map->starts[w->first]);
    return w->first < w->end;
}

static void set_owner(const struct hazard_memory *m, const struct box *b, bool own)
{
    struct owner_walk w = owner_walk(m, b);
    do {
        uint32_t *to = owners(m, &w);
        for (int64_t i = 0; i < w.run * w.grains; i++)
            to[i] = own ? w.owner : 0;
    } while (next_run(&w));
}

void tile_write(const struct hazard_memory *m, const struct box *b)
{
    set_owner(m, b, true);
}

void tile_forget(const struct hazard_memory *m, const struct box *b)
{
    set_owner(m, b, false);
}

struct box box_slice(const struct box *b, int d, int64_t r)
{
    struct box slice = *b;
    slice.offset += r * b->step[d];
    slice.count[d] = 1;
    return slice;
}

struct box box_row(const struct box *b, int64_t r)
{
    return box_slice(b, 0, r);
}

bool tile_holds_any(const struct hazard_memory *m, const struct box *b)
{
    struct owner_walk w = owner_walk(m, b);
    do {
        const uint32_t *from = owners(m, &w);
        for (int64_t i = 0; i < w.run * w.grains; i++)
            if ((from[i] & ~OWNER_READ) == w.owner)
                return true;
    } while (next_run(&w));
    return false;
}

enum tile_content tile_read(const struct hazard_memory *m, const struct box *b, int *other)
{
    struct owner_walk w = owner_walk(m, b);
    do {
        const uint32_t *from = owners(m, &w);
        unsigned differs = 0;
        for (int64_t i = 0; i < w.run * w.grains; i++)
            differs |= (from[i] & ~OWNER_READ) ^ w.owner;
        for (int64_t i = 0; differs && i < w.run * w.grains; i++) {
            uint32_t owner = from[i] & ~OWNER_READ;
            *other = (int)owner - 1;
            if (owner != w.owner)
                return owner ? CONTENT_OTHER : CONTENT_NONE;
        }
    } while (next_run(&w));
    return CONTENT_OWN;
}

void tile_mark_read(const struct hazard_memory *m, const struct box *b)
{
    struct owner_walk w = owner_walk(m, b);
    do {
        uint32_t *at = owners(m, &w);
        for (int64_t i = 0; i < w.run * w.grains; i++)
            at[i] |= at[i] ? OWNER_READ : 0;
    } while (next_run(&w));
}

bool tile_was_read(const struct hazard_memory *m, const struct box *b)
{
    struct owner_walk w = owner_walk(m, b);
    uint32_t any = 0;
    do {
        const uint32_t *from = owners(m, &w);
        for (int64_t i = 0; i < w.run * w.grains; i++)
            any |= from[i];
    } while (next_run(&w));
    return any & OWNER_READ;
}

const struct ap *insn_tile_written(const struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    for (int a = 0; a < info->naps; a++)
        if ((n->ap[a].mem == MEM_SBUF || n->ap[a].mem == MEM_PSUM) && info->ap[a].access != 'r')
            return &n->ap[a];
    return NULL;
}

int *tile_first_writers(const struct kernel *k, struct arena *a)
{
    int *first = ARENA_ARRAY(a, int, k->ntiles + 1);
    for (int t = 0; t < k->ntiles; t++)
        first[t] = -1;
    for (int i = k->ninsns - 1; i >= 0; i--) {
        const struct ap *dst = insn_tile_written(&k->insns[i]);
        if (dst)
            first[dst->tensor] = i;
    }
    return first;
}
