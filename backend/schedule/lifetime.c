/*
 * Lifetimes of tiles, and memory that one tile takes over from another.
 */
#include "backend/schedule/written.h"

#include <stdlib.h>
#include <string.h>

struct span_finder {
    struct program *p;
    const struct kernel *k;
    int *around, *ends, *loops; /* loops: indices of all */
    int nloops;
    struct tile_span *spans;
    struct tile_insns uses;
};

static bool touches(const struct insn *n, const struct tile *t, int tile)
{
    for (int a = 0; a < insn_info(n->op)->naps; a++)
        if (n->ap[a].mem == t->mem && n->ap[a].tensor == tile)
            return true;
    return false;
}

static int by_step(const void *a, const void *b)
{
    const struct ap_dim *x = a, *y = b;
    return x->step != y->step ? (x->step < y->step ? -1 : 1) : 0;
}

/*
 * Whether instruction i, which writes part of the tile, writes all of it over the loops inside the
 * one at `from`, and nothing else touches it before those end. Dims and loops then lie side by
 * side: each steps over all that lower ones cover.
 */
static bool written_by_loops(const struct span_finder *s, int tile, int from, int i, const struct ap *ap)
{
    const struct tile *t = &s->k->tiles[tile];
    int64_t var = s->k->insns[from].imm[IMM(loop, var)].base;
    struct ap_dim dims[MAX_AP_RANK + MAX_VARS];
    int n = 0, outermost = -1;
    for (int loop = s->around[i]; loop != from; loop = s->around[loop]) {
        const struct insn *l = &s->k->insns[loop];
        const struct affine *trips = &l->imm[IMM(loop, count)];
        dim_t coef = affine_coef(&ap->offset, (int)l->imm[IMM(loop, var)].base);
        outermost = loop;
        if (coef && trips->nterms == 0)
            dims[n++] = (struct ap_dim){.step = coef, .count = trips->base};
        else if (coef)
            return false;
    }
    for (int d = 0; d < ap->rank; d++)
        if (ap->dim[d].clip)
            return false;
        else if (ap->dim[d].count != 1)
            dims[n++] = ap->dim[d];
    for (int k = 0; k < ap->offset.nterms; k++)
        if (ap->offset.terms[k].var <= var)
            return false;
    if (outermost < 0 || ap->offset.base != 0)
        return false;
    for (int k = outermost; k < s->ends[outermost]; k++)
        if (k != i && touches(&s->k->insns[k], t, tile))
            return false;
    dim_t covered = 1;
    qsort(dims, (size_t)n, sizeof *dims, by_step);
    for (int d = 0; d < n; covered = dims[d].step * dims[d].count, d++)
        if (!dim_is_const(dims[d].step) || !dim_is_const(dims[d].count) || dims[d].count < 1 ||
            dims[d].step != covered)
            return false;
    return dim_is_const(t->partitions) && dim_is_const(t->elements) &&
           covered == t->partitions * t->elements;
}

/* The first instruction that touches the tile in the loop at `from` writes all of it. */
static bool written_first(const struct span_finder *s, int tile, int from, int to)
{
    const struct tile *t = &s->k->tiles[tile];
    int64_t var = s->k->insns[from].imm[IMM(loop, var)].base;
    for (int i = from + 1; i < to; i++) {
        const struct insn *n = &s->k->insns[i];
        bool reads = false, whole = false, touched = false;
        for (int a = 0; a < insn_info(n->op)->naps; a++) {
            const struct ap *ap = &n->ap[a];
            if (ap->mem != t->mem || ap->tensor != tile)
                continue;
            touched = true;
            reads |= reads_first(n, a, var);
            dim_t count = 1;
            for (int k = 0; k < ap->rank; k++)
                count = dim_mul(&s->p->dims, count, ap->dim[k].count);
            whole |= operand_writes(n, a) && dtype_bytes(ap->dtype) == dtype_bytes(t->dtype) &&
                     (count == dim_mul(&s->p->dims, t->partitions, t->elements) ||
                      written_by_loops(s, tile, from, i, ap));
        }
        if (touched)
            return whole && !reads;
    }
    return true;
}

/* Counts, then lists each tile's instructions, in the kernel's order. */
static void find_uses(struct span_finder *s, struct arena *a)
{
    int *n = ARENA_ARRAY(a, int, s->k->ntiles + 1), *last = ARENA_ARRAY(a, int, s->k->ntiles + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < s->k->ntiles; t++)
            last[t] = -1;
        for (int i = 0; i < s->k->ninsns; i++)
            for (int x = 0; x < insn_info(s->k->insns[i].op)->naps; x++) {
                const struct ap *ap = &s->k->insns[i].ap[x];
                if ((ap->mem != MEM_SBUF && ap->mem != MEM_PSUM) || last[ap->tensor] == i)
                    continue;
                last[ap->tensor] = i;
                if (pass)
                    s->uses.insns[s->uses.begin[ap->tensor] + n[ap->tensor]] = i;
                n[ap->tensor]++;
            }
        if (pass)
            return;
        for (int t = 0; t < s->k->ntiles; n[t++] = 0)
            s->uses.begin[t + 1] = s->uses.begin[t] + n[t];
        s->uses.insns = ARENA_ARRAY(a, int, s->uses.begin[s->k->ntiles] + 1);
    }
}

static void find_ends(struct span_finder *s)
{
    for (int t = 0; t < s->k->ntiles; t++) {
        int begin = s->uses.begin[t], end = s->uses.begin[t + 1];
        s->spans[t] = begin < end ? (struct tile_span){s->uses.insns[begin], s->uses.insns[end - 1]}
                                  : (struct tile_span){-1, -1};
    }
}

static void grow(const struct span_finder *s, int tile)
{
    struct tile_span *r = &s->spans[tile];
    for (bool grown = r->first >= 0; grown;) {
        grown = false;
        for (int n = 0; n < s->nloops; n++) {
            int l = s->loops[n];
            if (s->ends[l] < r->first || l > r->last)
                continue;
            bool within = l < r->first && r->last < s->ends[l];
            bool covers = r->first <= l && s->ends[l] <= r->last;
            if (covers ||
                (within && (written_first(s, tile, l, s->ends[l]) ||
                            (s->k->tight && written_part_by_part(&s->uses, tile, l)))))
                continue;
            r->first = l < r->first ? l : r->first;
            r->last = s->ends[l] > r->last ? s->ends[l] : r->last;
            grown = true;
        }
    }
}

struct tile_span *tile_spans(struct program *p, const struct kernel *k, struct arena *a)
{
    struct span_finder s = {.p = p,
                       .k = k,
                       .around = loops_around(k, a),
                       .ends = loop_ends(k, a),
                       .loops = ARENA_ARRAY(a, int, k->ninsns + 1),
                       .spans = ARENA_ARRAY(a, struct tile_span, k->ntiles + 1)};
    for (int i = 0; i < k->ninsns; i++)
        if (k->insns[i].op == INSN_loop)
            s.loops[s.nloops++] = i;
    s.uses = (struct tile_insns){.k = k, .around = s.around, .ends = s.ends};
    s.uses.begin = ARENA_ARRAY(a, int, k->ntiles + 2);
    find_uses(&s, a);
    find_ends(&s);
    for (int t = 0; t < k->ntiles; t++)
        grow(&s, t);
    return s.spans;
}

/* ---- reuse ---- */

struct turn { /* a tile when its life begins */
    int tile, first;
};

static int by_first(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->tile - y->tile;
}

static bool alike(const struct tile *a, const struct tile *b)
{
    return a->mem == b->mem && a->dtype == b->dtype && a->partitions == b->partitions &&
           a->elements == b->elements && !a->fixed && !b->fixed;
}

/* Tiles whose memory others may take over, by when it is free. */
struct tile_owner {
    int tile, free_at, number; /* number: of those alike, as they came */
};

/* A heap: the one that is free soonest is the first; `latest`: the one that is free last. Of those that are free at the
 * same time, the one that came first. */
struct tile_owners {
    struct tile_owner *at;
    int n, cap;
    bool latest;
};

static bool goes_first(const struct tile_owners *h, const struct tile_owner *a, const struct tile_owner *b)
{
    if (a->free_at != b->free_at)
        return (a->free_at < b->free_at) != h->latest;
    return a->number < b->number;
}

static void swap_owners(struct tile_owner *a, struct tile_owner *b)
{
    struct tile_owner x = *a;
    *a = *b, *b = x;
}

static void put_owner(struct tile_owners *h, struct tile_owner x, struct arena *a)
{
    ARENA_GROW(a, h->at, h->n, h->cap);
    h->at[h->n] = x;
    for (int i = h->n++; i > 0 && goes_first(h, &h->at[i], &h->at[(i - 1) / 2]); i = (i - 1) / 2)
        swap_owners(&h->at[i], &h->at[(i - 1) / 2]);
}

static struct tile_owner take_owner(struct tile_owners *h)
{
    struct tile_owner x = h->at[0];
    h->at[0] = h->at[--h->n];
    for (int i = 0, child; (child = 2 * i + 1) < h->n; i = child) {
        child += child + 1 < h->n && goes_first(h, &h->at[child + 1], &h->at[child]);
        if (!goes_first(h, &h->at[child], &h->at[i]))
            break;
        swap_owners(&h->at[i], &h->at[child]);
    }
    return x;
}

struct likes { /* tiles that are alike */
    int tile, n;
    struct tile_owners busy, free;
};

struct reuse {
    const struct kernel *k;
    struct likes *likes;
    int nlikes, cap;
    struct arena *a;
};

static struct likes *likes_of(struct reuse *r, int tile, bool latest)
{
    int i = 0;
    while (i < r->nlikes && !alike(&r->k->tiles[r->likes[i].tile], &r->k->tiles[tile]))
        i++;
    if (i == r->nlikes) {
        ARENA_GROW(r->a, r->likes, r->nlikes, r->cap);
        r->likes[r->nlikes++] = (struct likes){.tile = tile, .free.latest = latest};
    }
    return &r->likes[i];
}

/* Whose memory the tile has: its own, or that of what died last, which is in cache, or first, which leaves engines more
 * freedom. */
static int owner_for(struct reuse *r, int tile, const struct tile_span *live, bool latest, int apart)
{
    if (r->k->tiles[tile].fixed)
        return tile;
    struct likes *l = likes_of(r, tile, latest);
    while (l->busy.n && l->busy.at[0].free_at < live->first)
        put_owner(&l->free, take_owner(&l->busy), r->a);
    struct tile_owner x = {tile, -1, l->n};
    if (live->first >= 0 && l->free.n && l->n >= apart)
        x = take_owner(&l->free);
    else
        l->n++;
    x.free_at = live->last;
    put_owner(&l->busy, x, r->a);
    return x.tile;
}

static void rename_tiles(struct kernel *k, const int *now, struct arena *a)
{
    int *number = ARENA_ARRAY(a, int, k->ntiles + 1), n = 0;
    for (int t = 0; t < k->ntiles; t++)
        if (now[t] == t) {
            number[t] = n;
            k->tiles[n++] = k->tiles[t];
        }
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++) {
            struct ap *ap = &k->insns[i].ap[o];
            if (ap->mem == MEM_SBUF || ap->mem == MEM_PSUM)
                ap->tensor = number[now[ap->tensor]];
        }
    k->ntiles = n;
}

void reuse_tiles(struct program *p, struct kernel *k, bool latest, int apart)
{
    struct arena scratch = {0};
    const struct tile_span *live = tile_spans(p, k, &scratch);
    struct turn *turns = ARENA_ARRAY(&scratch, struct turn, k->ntiles + 1);
    int *now = ARENA_ARRAY(&scratch, int, k->ntiles + 1);
    struct reuse r = {.k = k, .a = &scratch};
    for (int t = 0; t < k->ntiles; t++)
        turns[t] = (struct turn){t, live[t].first};
    qsort(turns, (size_t)k->ntiles, sizeof *turns, by_first);
    for (int i = 0; i < k->ntiles; i++)
        now[turns[i].tile] = owner_for(&r, turns[i].tile, &live[turns[i].tile], latest, apart);
    rename_tiles(k, now, &scratch);
    arena_free(&scratch);
}

void drop_unused_tiles(struct kernel *k)
{
    struct arena scratch = {0};
    int *now = ARENA_ARRAY(&scratch, int, k->ntiles + 1);
    memset(now, -1, sizeof *now * (size_t)(k->ntiles + 1));
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++) {
            const struct ap *ap = &k->insns[i].ap[o];
            if (ap->mem == MEM_SBUF || ap->mem == MEM_PSUM)
                now[ap->tensor] = ap->tensor;
        }
    rename_tiles(k, now, &scratch);
    arena_free(&scratch);
}
