#include "backend/lower/stage.h"

#include "backend/schedule/schedule.h"

#include <string.h>

struct loaded { /* an HBM pattern that a tile holds */
    struct ap from, tile;
};

struct stager {
    struct program *p;
    struct kernel *k;
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
    struct insn *n = kernel_add(s->p, s->k, INSN_dma_copy);
    n->node = node;
    n->ap[0] = *dst, n->ap[1] = *src;
}

static int add_tile(struct stager *s, int mem, int dtype, dim_t partitions, dim_t elements)
{
    ARENA_GROW(&s->p->arena, s->k->tiles, s->k->ntiles, s->k->tiles_cap);
    s->k->tiles[s->k->ntiles] =
        (struct tile){(uint8_t)mem, (uint8_t)dtype, partitions, elements, -1};
    return s->k->ntiles++;
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
    out->tensor = add_tile(s, MEM_SBUF, a->dtype, partitions, elements / partitions);
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
    if (!expand_insn(s->p, s->k, &n))
        append(s, &n);
    for (int i = 0; i < nstores; i++) {
        append_dma(s, &stores[i], &tiles[i], old->node);
        s->nloaded = 0; /* what was loaded may have changed */
    }
    return true;
}

static bool is_dma(const struct insn *n)
{
    return n->op == INSN_dma_copy || n->op == INSN_dma_transpose || n->op == INSN_dma_gather;
}

/* DMA does not reach PSUM: the Vector engine copies to a tile in SBUF first. */
static bool stage_dma(struct stager *s, const struct insn *old)
{
    struct insn *n = append(s, old);
    struct ap psum = n->ap[1], tile;
    int index = s->k->ninsns - 1;
    if (psum.mem != MEM_PSUM)
        return n->ap[0].mem != MEM_PSUM || fail(s->d, "DMA into psum");
    if (!tile_like(s, &psum, &tile))
        return false;
    n->ap[1] = tile;
    struct insn moved = *n, *copy = kernel_add(s->p, s->k, INSN_tensor_copy);
    copy->node = old->node;
    copy->ap[0] = tile, copy->ap[1] = psum;
    s->k->insns[index] = *copy;
    s->k->insns[index + 1] = moved;
    return true;
}

static bool writes_hbm(const struct insn *n)
{
    return n->ap[0].mem == MEM_HBM;
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
    struct stager s = {.p = p, .k = k, .m = m, .d = d};
    struct insn *old = k->insns;
    int n = k->ninsns;
    bool ok = true;
    k->insns = NULL, k->ninsns = k->insns_cap = 0;
    for (int i = 0; ok && i < n; i++) {
        if (old[i].op == INSN_depthwise_conv || old[i].op == INSN_window_pool ||
            old[i].op == INSN_winograd_input || old[i].op == INSN_winograd_output) {
            ok = fail(d, "%s is an instruction of target cpu only", insn_info(old[i].op)->name);
        } else if (insn_is_structure(&old[i])) {
            append(&s, &old[i]);
            s.nloaded = 0;
        } else if (is_dma(&old[i])) {
            ok = stage_dma(&s, &old[i]);
            if (writes_hbm(&old[i]))
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
