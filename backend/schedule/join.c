/*
 * Transfers of neighbours made one on strict targets: of tiles that lie beside each other in the
 * same rows in HBM. A row's share of a transfer is one piece, and pieces of 2 KiB and more move at
 * the full rate. The two tiles become one, side by side too.
 */
#include "backend/schedule/schedule.h"

#include "backend/tile/builder.h"

enum {
    DST = AP(dma_copy, dst),
    SRC = AP(dma_copy, src),
    MAX_BYTES = 4096, /* of a partition; longer pieces are no faster */
    FURTHEST = 160     /* instructions between the two */
};

struct joiner {
    struct program *p;
    struct kernel *k;
    const struct machine *m;
};

/* The tile's rows as a whole: (partition, element). */
static bool is_whole(const struct joiner *j, const struct ap *near)
{
    if (near->mem != MEM_SBUF || near->rank != 2)
        return false;
    const struct tile *t = &j->k->tiles[near->tensor];
    return !t->fixed && near->offset.base == 0 && !near->offset.nterms && dim_is_const(t->elements) &&
           near->dim[1].step == 1 && near->dim[0].step == t->elements && near->dim[1].count == t->elements &&
           near->dim[0].count == t->partitions && near->dtype == t->dtype;
}

/* The operand in HBM of a transfer between rows in HBM and a whole tile; -1. */
static int far_operand(const struct joiner *j, const struct insn *n)
{
    if (n->op != INSN_dma_copy)
        return -1;
    int far = n->ap[SRC].mem == MEM_HBM ? SRC : DST;
    const struct ap *a = &n->ap[far];
    bool rows = a->mem == MEM_HBM && a->rank == 2 && a->dim[1].step == 1 &&
                is_whole(j, &n->ap[far == SRC ? DST : SRC]) &&
                a->dim[1].count == n->ap[far == SRC ? DST : SRC].dim[1].count;
    return rows ? far : -1;
}

static bool same_clip(const struct ap_clip *a, const struct ap_clip *b, dim_t apart)
{
    return (!a && !b) || (a && b && a->var == b->var && a->factor == b->factor &&
                          dim_is_const(a->limit) && dim_is_const(b->limit) &&
                          b->limit == a->limit - apart);
}

/* Whether b's elements in HBM go on where a's end, in each row. */
static bool goes_on(const struct ap *a, const struct ap *b)
{
    struct ap moved = *a;
    if (a->tensor != b->tensor || a->dtype != b->dtype || !dim_is_const(a->offset.base) ||
        !same_clip(a->dim[0].clip, b->dim[0].clip, 0) ||
        !same_clip(a->dim[1].clip, b->dim[1].clip, a->dim[1].count))
        return false;
    moved.offset.base += a->dim[1].count;
    return affine_equal(&moved.offset, &b->offset) && a->dim[0].step == b->dim[0].step &&
           a->dim[0].count == b->dim[0].count;
}

/* Every pattern of the tile has its partitions first, or a tile beside it would be in its way. */
static bool can_widen(const struct joiner *j, int tile, int *first, int *last)
{
    *first = -1;
    for (int i = 0; i < j->k->ninsns; i++)
        for (int a = 0; a < insn_info(j->k->insns[i].op)->naps; a++) {
            const struct ap *ap = &j->k->insns[i].ap[a];
            if (ap->mem != MEM_SBUF || ap->tensor != tile)
                continue;
            bool rows = ap->rank >= 1 && ap->dim[0].step == j->k->tiles[tile].elements &&
                        insn_info(j->k->insns[i].op)->ap[a].reach != REACH_INDIRECT;
            for (int d = 1; d < ap->rank; d++)
                rows &= ap->dim[d].step != ap->dim[0].step || ap->dim[d].count == 1;
            if (!rows)
                return false;
            *first = *first < 0 ? i : *first, *last = i;
        }
    return *first >= 0;
}

typedef bool touches_fn(const struct insn *n, int operand);

/* Whether any operand in the slot's memory is such, operand_reads or operand_writes. */
static bool touches_slot(const struct joiner *j, int slot, touches_fn *touches)
{
    for (int i = 0; i < j->k->ninsns; i++)
        for (int a = 0; a < insn_info(j->k->insns[i].op)->naps; a++)
            if (j->k->insns[i].ap[a].mem == MEM_HBM && touches(&j->k->insns[i], a) &&
                slot_root(j->p, j->k->insns[i].ap[a].tensor) == slot_root(j->p, slot))
                return true;
    return false;
}

/* Whether what store a writes is the same when it happens just before b. */
static bool passes_others(const struct joiner *j, int a, int b)
{
    for (int i = a + 1; i < b; i++)
        if (insns_conflict(j->p, j->k, &j->k->insns[a], &j->k->insns[i], false))
            return false;
    return true;
}

/* Whether transfers a and b, in this order, can be one: a load where a is, a store where b is. */
static bool can_join(const struct joiner *j, int a, int b)
{
    const struct insn *x = &j->k->insns[a], *y = &j->k->insns[b];
    int far = far_operand(j, x), near = far == SRC ? DST : SRC, first[2], last[2];
    if (far < 0 || far_operand(j, y) != far || x->engine != y->engine || !goes_on(&x->ap[far], &y->ap[far]))
        return false;
    int s = x->ap[near].tensor, t = y->ap[near].tensor;
    const struct tile *u = &j->k->tiles[s], *v = &j->k->tiles[t];
    if (s == t || u->dtype != v->dtype || u->partitions != v->partitions ||
        (u->elements + v->elements) * (int64_t)dtype_bytes(u->dtype) > MAX_BYTES ||
        !same_clip(x->ap[near].dim[0].clip, y->ap[near].dim[0].clip, 0) ||
        !can_widen(j, s, &first[0], &last[0]) || !can_widen(j, t, &first[1], &last[1]))
        return false;
    if (far == SRC) /* what was there before is not asked for */
        return first[0] == a && first[1] == b && !touches_slot(j, x->ap[far].tensor, operand_writes);
    return last[0] == a && last[1] == b && passes_others(j, a, b) &&
           !touches_slot(j, x->ap[far].tensor, operand_reads);
}

/* Patterns of a tile become those of the wide one, from element `at` of its rows. */
static void widen(struct joiner *j, int tile, int wide, dim_t at)
{
    dim_t elements = j->k->tiles[wide].elements;
    for (int i = 0; i < j->k->ninsns; i++)
        for (int a = 0; a < insn_info(j->k->insns[i].op)->naps; a++) {
            struct ap *ap = &j->k->insns[i].ap[a];
            if (ap->mem != MEM_SBUF || ap->tensor != tile)
                continue;
            ap->tensor = wide;
            ap->dim[0].step = elements;
            ap->offset.base = dim_add(&j->p->dims, ap->offset.base, at);
        }
}

static void join(struct joiner *j, int a, int b)
{
    struct kernel_builder builder = kernel_reopen(j->p, j->m, j->k);
    struct insn *x = &j->k->insns[a], *y = &j->k->insns[b];
    int far = far_operand(j, x), near = far == SRC ? DST : SRC;
    int s = x->ap[near].tensor, t = y->ap[near].tensor;
    struct tile u = j->k->tiles[s], v = j->k->tiles[t];
    int wide = kernel_tile(&builder, MEM_SBUF, u.dtype, u.partitions, u.elements + v.elements);
    widen(j, s, wide, 0), widen(j, t, wide, u.elements);
    struct insn *stays = far == SRC ? x : y;
    struct ap whole_far = x->ap[far], whole_near = x->ap[near];
    whole_far.dim[1].count += v.elements, whole_near.dim[1].count += v.elements;
    if (whole_near.dim[1].clip)
        whole_near.dim[1].clip = whole_far.dim[1].clip;
    stays->ap[far] = whole_far, stays->ap[near] = whole_near;
    kernel_remove(j->k, far == SRC ? b : a);
}

/* The transfer after `a` that goes on where it ends; -1. */
static int partner(const struct joiner *j, int a)
{
    for (int b = a + 1; b < j->k->ninsns && b - a <= FURTHEST; b++) {
        if (insn_is_structure(&j->k->insns[b]))
            return -1;
        if (j->k->insns[b].op == INSN_dma_copy && can_join(j, a, b))
            return b;
    }
    return -1;
}

void join_transfers(struct program *p, struct kernel *k, const struct machine *m)
{
    struct joiner j = {p, k, m};
    for (int a = 0; a < k->ninsns; a++) {
        int b;
        while (far_operand(&j, &k->insns[a]) >= 0 && (b = partner(&j, a)) >= 0)
            join(&j, a, b); /* a store is further on then, and comes again */
    }
}
