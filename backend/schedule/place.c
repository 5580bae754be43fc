/*
 * Strict targets: tiles get addresses by liveness, and the machine's rules are checked.
 *
 * A tile is live from its first to its last instruction in the kernel's order, and through every
 * loop that it enters or leaves with a value: loops that hold only some of its instructions, and
 * loops in whose body it is not wholly written first. Addresses are bytes in each partition. On
 * `cpu`, where sizes may depend on symbols, the runtime places tiles when shapes are bound.
 */
#include "backend/schedule/schedule.h"

#include "backend/tile/rules.h"

#include <stdlib.h>

enum { ALIGN = 64 };

struct span {
    int tile, first, last;
    int64_t size;
};

struct placer {
    struct program *p;
    struct kernel *k;
    const struct machine *m;
    struct diag *d;
    struct arena scratch;
    int *around, *ends;
};

/* "tile 3 (psum, node 'Conv_1')" */
static bool tile_fault(struct placer *s, int tile)
{
    int node = -1;
    for (int i = 0; i < s->k->ninsns && node < 0; i++)
        for (int a = 0; a < insn_info(s->k->insns[i].op)->naps; a++)
            if (s->k->insns[i].ap[a].mem == s->k->tiles[tile].mem &&
                s->k->insns[i].ap[a].tensor == tile)
                node = s->k->insns[i].node;
    return fail_in(s->d, "node '%s': tile %d in %s", node >= 0 ? s->p->nodes[node].name : "", tile,
                   s->k->tiles[tile].mem == MEM_PSUM ? "psum" : "sbuf");
}

/* The first instruction that touches the tile in [from, to) writes all of it. */
static bool written_first(const struct placer *s, int tile, int from, int to)
{
    const struct tile *t = &s->k->tiles[tile];
    for (int i = from; i < to; i++) {
        const struct insn *n = &s->k->insns[i];
        bool reads = false, whole = false, touched = false;
        for (int a = 0; a < insn_info(n->op)->naps; a++) {
            const struct ap *ap = &n->ap[a];
            if (ap->mem != t->mem || ap->tensor != tile)
                continue;
            touched = true;
            reads |= operand_reads(n, a);
            dim_t count = 1;
            for (int k = 0; k < ap->rank; k++)
                count = dim_mul(&s->p->dims, count, ap->dim[k].count);
            whole |=
                operand_writes(n, a) && count == dim_mul(&s->p->dims, t->partitions, t->elements);
        }
        if (touched)
            return whole && !reads;
    }
    return true;
}

static struct span live_span(const struct placer *s, int tile)
{
    struct span r = {tile, -1, -1, tile_partition_bytes(&s->k->tiles[tile])};
    for (int i = 0; i < s->k->ninsns; i++)
        for (int a = 0; a < insn_info(s->k->insns[i].op)->naps; a++)
            if (s->k->insns[i].ap[a].mem == s->k->tiles[tile].mem &&
                s->k->insns[i].ap[a].tensor == tile) {
                r.first = r.first < 0 ? i : r.first;
                r.last = i;
            }
    for (bool grown = r.first >= 0; grown;) {
        grown = false;
        for (int l = 0; l < s->k->ninsns; l++) {
            if (s->k->insns[l].op != INSN_loop || s->ends[l] < r.first || l > r.last)
                continue;
            bool within = l < r.first && r.last < s->ends[l];
            bool covers = r.first <= l && s->ends[l] <= r.last;
            if (covers || (within && written_first(s, tile, l, s->ends[l])))
                continue;
            r.first = l < r.first ? l : r.first;
            r.last = s->ends[l] > r.last ? s->ends[l] : r.last;
            grown = true;
        }
    }
    return r;
}

static int by_size(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->tile - y->tile;
}

/* An accumulator lies in one bank. */
static int64_t settle(const struct placer *s, const struct tile *t, int64_t at, int64_t size)
{
    at = (at + ALIGN - 1) / ALIGN * ALIGN;
    int64_t bank = s->m->psum_bank;
    if (t->mem == MEM_PSUM && size <= bank && at / bank != (at + size - 1) / bank)
        at = (at + bank - 1) / bank * bank;
    return at;
}

/* The lowest place that is free while the tile is live. */
static int64_t lowest(const struct placer *s, const struct span *spans, int i)
{
    const struct tile *t = &s->k->tiles[spans[i].tile];
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        at = settle(s, t, at, spans[i].size);
        for (int j = 0; j < i; j++) {
            const struct tile *o = &s->k->tiles[spans[j].tile];
            bool apart = o->mem != t->mem || spans[j].last < spans[i].first ||
                         spans[i].last < spans[j].first || at + spans[i].size <= o->address ||
                         o->address + spans[j].size <= at;
            if (!apart)
                at = o->address + spans[j].size, moved = true;
        }
    }
    return at;
}

static bool place_tiles(struct placer *s)
{
    struct span *spans = ARENA_ARRAY(&s->scratch, struct span, s->k->ntiles + 1);
    for (int i = 0; i < s->k->ntiles; i++)
        spans[i] = live_span(s, i);
    qsort(spans, (size_t)s->k->ntiles, sizeof *spans, by_size);
    for (int i = 0; i < s->k->ntiles; i++) {
        struct tile *t = &s->k->tiles[spans[i].tile];
        t->address = lowest(s, spans, i);
        int64_t limit = t->mem == MEM_PSUM ? s->m->psum : s->m->sbuf;
        if (t->address + spans[i].size > limit) {
            fail(s->d,
                 "no room: tiles live together need more than the %lld bytes of each partition of "
                 "%s",
                 (long long)limit, s->m->name);
            return tile_fault(s, spans[i].tile);
        }
    }
    return true;
}

/* ---- rules of strict targets ---- */

static bool check_insns(struct placer *s)
{
    struct tile_context c = {s->p, s->k, s->m, NULL};
    for (int i = 0; i < s->k->ninsns; i++) {
        const struct insn *n = &s->k->insns[i];
        if (tile_check(&c, n, s->d))
            continue;
        fail_in(s->d, "%s", insn_info(n->op)->name);
        return fail_in(s->d, "node '%s'", n->node >= 0 ? s->p->nodes[n->node].name : "");
    }
    return true;
}

static bool place(struct placer *s)
{
    for (int i = 0; i < s->k->ntiles; i++)
        if (!tile_check_size(s->m, &s->k->tiles[i], s->d))
            return tile_fault(s, i);
    return check_insns(s) && place_tiles(s);
}

bool place_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    struct placer s = {.p = p, .k = k, .m = m, .d = d};
    if (!m->strict)
        return true;
    s.around = loops_around(k, &s.scratch);
    s.ends = loop_ends(k, &s.scratch);
    bool ok = place(&s);
    arena_free(&s.scratch);
    return ok;
}
