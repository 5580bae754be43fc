/*
 * Loads of the same elements made one on strict targets: each turn of a loop that is written out
 * has its own load of what all of them need, a bias or a scale, in a tile of its own.
 */
#include "backend/schedule/schedule.h"

enum {
    DST = AP(dma_copy, dst),
    SRC = AP(dma_copy, src),
    MAX_BYTES = 1024 /* of a partition: the tile lives longer */
};

struct merger {
    struct program *p;
    struct kernel *k;
};

static bool is_small_load(const struct merger *g, const struct insn *n)
{
    if (n->op != INSN_dma_copy || n->ap[SRC].mem != MEM_HBM || n->ap[DST].mem != MEM_SBUF)
        return false;
    const struct tile *t = &g->k->tiles[n->ap[DST].tensor];
    return !t->fixed && dim_is_const(t->elements) && t->elements * (int64_t)dtype_bytes(t->dtype) <= MAX_BYTES;
}

/* Whether instruction `load` alone writes its tile, and nothing writes what it loads. */
static bool stays_the_same(const struct merger *g, int load)
{
    const struct insn *l = &g->k->insns[load];
    for (int i = 0; i < g->k->ninsns; i++)
        for (int a = 0; a < insn_info(g->k->insns[i].op)->naps; a++) {
            const struct ap *ap = &g->k->insns[i].ap[a];
            if (!operand_writes(&g->k->insns[i], a))
                continue;
            if (ap->mem == MEM_SBUF
                    ? i != load && ap->tensor == l->ap[DST].tensor
                    : ap->mem == MEM_HBM && slot_root(g->p, ap->tensor) == slot_root(g->p, l->ap[SRC].tensor))
                return false;
        }
    return true;
}

static bool can_merge(const struct merger *g, int a, int b)
{
    const struct insn *x = &g->k->insns[a], *y = &g->k->insns[b];
    if (!is_small_load(g, y) || x->engine != y->engine || !ap_equal(&x->ap[SRC], &y->ap[SRC]) ||
        x->ap[DST].tensor == y->ap[DST].tensor || x->ap[DST].dtype != y->ap[DST].dtype ||
        !ap_places_equal(&x->ap[DST], &y->ap[DST]))
        return false;
    const struct tile *s = &g->k->tiles[x->ap[DST].tensor], *t = &g->k->tiles[y->ap[DST].tensor];
    return s->dtype == t->dtype && s->partitions == t->partitions && s->elements == t->elements &&
           stays_the_same(g, a) && stays_the_same(g, b);
}

static void merge(struct merger *g, int a, int b)
{
    int stays = g->k->insns[a].ap[DST].tensor, gone = g->k->insns[b].ap[DST].tensor;
    kernel_remove(g->k, b);
    for (int i = 0; i < g->k->ninsns; i++)
        for (int o = 0; o < insn_info(g->k->insns[i].op)->naps; o++) {
            struct ap *ap = &g->k->insns[i].ap[o];
            if (ap->mem == MEM_SBUF && ap->tensor == gone)
                ap->tensor = stays;
        }
}

void merge_loads(struct program *p, struct kernel *k)
{
    struct merger g = {p, k};
    for (int a = 0, depth = 0; a < k->ninsns; a++) {
        depth += (k->insns[a].op == INSN_loop) - (k->insns[a].op == INSN_end);
        if (!is_small_load(&g, &k->insns[a]))
            continue;
        for (int b = a + 1; b < k->ninsns && !(depth && insn_is_structure(&k->insns[b])); b++)
            while (b < k->ninsns && can_merge(&g, a, b)) /* the next one is in its place then */
                merge(&g, a, b);
    }
}
