#include "backend/lower/stage.h"

#include "backend/schedule/schedule.h"

#include <string.h>

struct loaded { /* an HBM pattern that a tile holds */
    struct ap from, tile;
};

struct stager {
    struct program *p;
    struct kernel *k;
    struct kernel_builder builder; /* of k */
    const struct machine *m;
    struct diag *d;
    struct arena scratch;
    struct loaded *loaded;
    int nloaded, loaded_cap;
};

static struct insn *append(struct stager *s, const struct insn *n)
{
    struct insn *copy = kernel_add(s->p, s->k, n->op);
    struct ap *ap = copy->ap;
    *copy = *n;
    copy->ap = ap;
    memcpy(ap, n->ap, sizeof *ap * insn_info(n->op)->naps);
    return copy;
}

static void append_dma(struct stager *s, const struct ap *dst, const struct ap *src, int node)
{
    s->builder.node = node;
    emit_dma_copy(&s->builder, (struct dma_copy){.dst = *dst, .src = *src});
}

/* A dense tile with the pattern's dims and edges. */
static bool tile_like(struct stager *s, const struct ap *a, struct ap *out)
{
    dim_t elements = 1;
    *out = (struct ap){.mem = MEM_SBUF, .dtype = a->dtype, .rank = a->rank};
    for (int i = a->rank - 1; i >= 0; i--) {
        if (!dim_is_const(a->dim[i].count) || a->dim[i].count < 1 ||
            elements > INT32_MAX / a->dim[i].count)
            return fail(s->d, "a tile whose size is not known before running, or too large");
        out->dim[i] = a->dim[i];
        out->dim[i].step = elements;
        elements *= a->dim[i].count;
    }
    dim_t partitions = a->rank > 1 && a->dim[0].count <= s->m->partitions ? a->dim[0].count : 1;
    out->tensor = kernel_tile(&s->builder, MEM_SBUF, a->dtype, partitions, elements / partitions);
    return true;
}

static bool load(struct stager *s, struct ap *a, int node)
{
    for (int i = 0; i < s->nloaded; i++)
        if (ap_equal(&s->loaded[i].from, a)) {
            *a = s->loaded[i].tile;
            return true;
        }
    struct loaded now = {.from = *a};
    if (!tile_like(s, a, &now.tile))
        return false;
    append_dma(s, &now.tile, a, node);
    ARENA_GROW(&s->scratch, s->loaded, s->nloaded, s->loaded_cap);
    s->loaded[s->nloaded++] = now;
    *a = now.tile;
    return true;
}

static bool stage_insn(struct stager *s, const struct insn *old)
{
    struct ap stores[MAX_APS], tiles[MAX_APS], ap[MAX_APS];
    const struct insn_info *info = insn_info(old->op);
    struct insn n = *old;
    int nstores = 0;
    memcpy(ap, old->ap, sizeof *ap * info->naps);
    n.ap = ap;
    for (int a = 0; a < info->naps; a++) {
        if (ap[a].mem != MEM_HBM)
            continue;
        if (operand_writes(old, a)) {
            stores[nstores] = ap[a];
            if (!tile_like(s, &ap[a], &tiles[nstores]))
                return false;
            if (operand_reads(old, a))
                append_dma(s, &tiles[nstores], &ap[a], old->node);
            ap[a] = tiles[nstores++];
        } else if (!load(s, &ap[a], old->node)) {
            return false;
        }
    }
    s->builder.node = old->node;
    if (!expand_insn(&s->builder, &n)) {
        if (!(info->targets & machine_bit(s->m)))
            return fail(s->d, "%s is not an instruction of %s", info->name, s->m->name);
        append(s, &n);
    }
    for (int i = 0; i < nstores; i++) {
        append_dma(s, &stores[i], &tiles[i], old->node);
        s->nloaded = 0; /* what was loaded may have changed */
    }
    return true;
}

static bool is_dma(const struct insn *n)
{
    return insn_info(n->op)->cost.kind == COST_DMA;
}

/* DMA does not reach PSUM: the Vector engine copies to a tile in SBUF first. Every DMA instruction
 * has its source second. */
static bool stage_dma(struct stager *s, const struct insn *old)
{
    enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
    _Static_assert(SRC == AP(dma_transpose, src) && SRC == AP(dma_gather, table), "sources of DMA");
    struct insn n = *old;
    struct ap ap[MAX_APS];
    memcpy(ap, old->ap, sizeof *ap * insn_info(old->op)->naps);
    n.ap = ap;
    if (ap[DST].mem == MEM_PSUM)
        return fail(s->d, "DMA into psum");
    if (ap[SRC].mem == MEM_PSUM) {
        struct ap psum = ap[SRC];
        if (!tile_like(s, &psum, &ap[SRC]))
            return false;
        s->builder.node = old->node;
        emit_tensor_copy(&s->builder, (struct tensor_copy){.dst = ap[SRC], .src = psum});
    }
    append(s, &n);
    return true;
}

/* Tiles that lowering made as one partition of rows are spread over partitions where every pattern
 * allows it. */
static void spread_tile(struct stager *s, int tile)
{
    struct tile *t = &s->k->tiles[tile];
    dim_t rows = 0;
    if (t->partitions != 1 || !dim_is_const(t->elements))
        return;
    for (int i = 0; i < s->k->ninsns; i++)
        for (int a = 0; a < insn_info(s->k->insns[i].op)->naps; a++) {
            const struct ap *ap = &s->k->insns[i].ap[a];
            if ((ap->mem != MEM_SBUF && ap->mem != MEM_PSUM) || ap->tensor != tile)
                continue;
            static const struct affine start;
            bool fits = ap->rank > 1 && !memcmp(&ap->offset, &start, sizeof start) &&
                        dim_is_const(ap->dim[0].count) && dim_is_const(ap->dim[0].step) &&
                        ap->dim[0].count * ap->dim[0].step == t->elements;
            if (!fits || (rows && rows != ap->dim[0].count) || ap->dim[0].count > s->m->partitions)
                return;
            rows = ap->dim[0].count;
        }
    if (rows > 1)
        t->partitions = rows, t->elements /= rows;
}

bool stage_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d)
{
    struct stager s = {.p = p, .k = k, .m = m, .d = d, .builder = kernel_reopen(p, m, k)};
    struct insn *old = k->insns;
    int n = k->ninsns;
    bool ok = true;
    k->insns = NULL, k->ninsns = k->insns_cap = 0;
    for (int i = 0; ok && i < n; i++) {
        if (insn_is_structure(&old[i])) {
            append(&s, &old[i]);
            s.nloaded = 0;
        } else if (is_dma(&old[i])) {
            ok = stage_dma(&s, &old[i]);
            if (old[i].ap[AP(dma_copy, dst)].mem == MEM_HBM)
                s.nloaded = 0;
        } else {
            ok = stage_insn(&s, &old[i]);
        }
    }
    for (int t = 0; ok && t < k->ntiles; t++)
        spread_tile(&s, t);
    arena_free(&s.scratch);
    return ok;
}
