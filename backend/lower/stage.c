#include "backend/lower/stage.h"

#include "backend/schedule/schedule.h"

#include <string.h>

/* Whether dim i of an HBM pattern takes room in a tile: dims that broadcast do not, but for dim 0,
 * since partitions have memories of their own. */
static bool has_room(const struct ap *hbm, int i)
{
    return i == 0 || (hbm->dim[i].count != 1 && hbm->dim[i].step != 0);
}

struct ap stage_tile(struct kernel_builder *k, const struct ap *hbm, int mem, int dtype)
{
    dim_t elements = 1, steps[MAX_AP_RANK] = {0};
    for (int i = hbm->rank - 1; i > 0; i--)
        if (has_room(hbm, i)) {
            steps[i] = elements;
            elements = dim_mul(&k->p->dims, elements, hbm->dim[i].count);
        }
    dim_t partitions = hbm->rank ? hbm->dim[0].count : 1;
    steps[0] = elements;
    if (partitions > k->m->partitions)
        elements *= partitions, partitions = 1;
    struct ap a = {.mem = (uint8_t)mem, .dtype = (uint8_t)dtype, .rank = hbm->rank};
    a.tensor = kernel_tile(k, mem, dtype, partitions, elements);
    for (int i = 0; i < hbm->rank; i++) {
        a.dim[i] = hbm->dim[i];
        a.dim[i].step = steps[i];
    }
    return a;
}

static void add_dim(struct ap *to, const struct ap_dim *d)
{
    to->dim[to->rank++] = *d;
}

/* Neighbours in memory that go to different partitions: the last dim that takes room, which should
 * be innermost in memory and is not; -1 when nothing is to be transposed. */
static int transposed_dim(const struct ap *hbm)
{
    int inner = -1;
    for (int i = 1; i < hbm->rank; i++)
        if (has_room(hbm, i))
            inner = i;
    bool across =
        inner > 0 && hbm->dim[0].count != 1 && hbm->dim[0].step == 1 && hbm->dim[inner].step != 1;
    return across ? inner : -1;
}

/* Whether the Tensor engine transposes: floats, where DMA would move single elements. */
static bool engine_transposes(const struct kernel_builder *k, const struct ap *hbm, int inner)
{
    for (int i = 1; i < inner; i++)
        if (has_room(hbm, i))
            return false;
    return machine_timing(k->m)->dma_transpose_share == 0 &&
           dtype_is_engine_float(hbm->dtype) && hbm->dim[0].count <= k->m->partitions;
}

/* `count` of a dim's elements from element `first` on. */
static struct ap_dim part_of(struct kernel_builder *k, const struct ap_dim *d, dim_t first,
                             dim_t count)
{
    struct ap_dim part = {.step = d->step, .count = count};
    if (d->clip) {
        struct ap_clip clip = *d->clip;
        clip.limit = dim_sub(&k->p->dims, clip.limit, first);
        part.clip = arena_copy(&k->p->arena, &clip, sizeof clip);
    }
    return part;
}

/* A pattern of two dims. */
static struct ap plane_of(struct kernel_builder *k, const struct ap *a, dim_t offset,
                          struct ap_dim outer, struct ap_dim inner)
{
    struct ap plane = *a;
    plane.offset.base = dim_add(&k->p->dims, plane.offset.base, offset);
    plane.rank = 2, plane.dim[0] = outer, plane.dim[1] = inner;
    return plane;
}

/* (p, n) in a tile from n rows of p neighbours in HBM, or back: as many rows at a time as there are
 * partitions, through PSUM. */
static void transpose_by_engine(struct kernel_builder *k, const struct ap *hbm,
                                const struct ap *tile, int inner, bool into)
{
    const struct ap_dim *across = &hbm->dim[0], *along = &hbm->dim[inner];
    dim_t n = along->count, chunk = n < k->m->partitions ? n : k->m->partitions;
    for (dim_t at = 0; at < n; at += chunk) {
        dim_t rows = n - at < chunk ? n - at : chunk;
        struct ap_dim far_rows = part_of(k, along, at, rows), near_rows = far_rows, far_p = *across,
                      near_p = far_p;
        near_rows.step = tile->dim[inner].step, near_p.step = tile->dim[0].step;
        struct ap far = plane_of(k, hbm, dim_mul(&k->p->dims, along->step, at), far_rows, far_p);
        struct ap near =
            plane_of(k, tile, dim_mul(&k->p->dims, tile->dim[inner].step, at), near_p, near_rows);
        struct ap held = stage_tile(k, &far, MEM_SBUF, hbm->dtype); /* (rows, p) */
        struct ap transposed = stage_tile(k, into ? &near : &far, MEM_PSUM, DT_F32);
        if (into) {
            emit_dma_copy(k, (struct dma_copy){.dst = held, .src = far});
            emit_nc_transpose(k, (struct nc_transpose){.dst = transposed, .src = held});
            emit_tensor_copy(k, (struct tensor_copy){.dst = near, .src = transposed});
        } else {
            emit_nc_transpose(k, (struct nc_transpose){.dst = transposed, .src = near});
            emit_tensor_copy(k, (struct tensor_copy){.dst = held, .src = transposed});
            emit_dma_copy(k, (struct dma_copy){.dst = far, .src = held});
        }
    }
}

/* Moves between HBM and a tile: `into` the tile, or out of it. */
static void transfer(struct kernel_builder *k, const struct ap *hbm, const struct ap *tile,
                     bool into)
{
    int inner = transposed_dim(hbm);
    bool transpose = inner > 0;
    if (transpose && engine_transposes(k, hbm, inner)) {
        transpose_by_engine(k, hbm, tile, inner, into);
        return;
    }
    struct ap far = *hbm, near = *tile;
    far.rank = near.rank = 0;
    for (int i = transpose; i < (transpose ? inner : hbm->rank); i++)
        if (has_room(hbm, i))
            add_dim(&far, &hbm->dim[i]), add_dim(&near, &tile->dim[i]);
    if (transpose) {
        add_dim(&far, &hbm->dim[inner]), add_dim(&far, &hbm->dim[0]);
        add_dim(&near, &tile->dim[0]), add_dim(&near, &tile->dim[inner]);
    }
    struct ap dst = into ? near : far, src = into ? far : near;
    if (transpose)
        emit_dma_transpose(k, (struct dma_transpose){.dst = dst, .src = src});
    else
        emit_dma_copy(k, (struct dma_copy){.dst = dst, .src = src});
}

struct ap stage_in(struct kernel_builder *k, struct ap hbm)
{
    struct ap tile = stage_tile(k, &hbm, MEM_SBUF, hbm.dtype);
    transfer(k, &hbm, &tile, true);
    return tile;
}

void stage_out(struct kernel_builder *k, struct ap hbm, struct ap tile)
{
    transfer(k, &hbm, &tile, false);
}

/* ---- instructions ---- */

struct loaded_tile { /* an HBM pattern that a tile holds */
    struct ap from, tile;
};

struct stager {
    struct program *p;
    struct kernel *k;
    struct kernel_builder builder; /* of k */
    const struct machine *m;
    struct diag *d;
    struct arena scratch;
    struct loaded_tile *loaded;
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

/* Tiles have sizes that are known before running. */
static bool has_known_size(struct stager *s, const struct ap *a)
{
    dim_t elements = 1;
    for (int i = 0; i < a->rank; i++) {
        if (!dim_is_const(a->dim[i].count) || a->dim[i].count < 1 ||
            elements > INT32_MAX / a->dim[i].count)
            return fail(s->d, "a tile whose size is not known before running, or too large");
        elements *= a->dim[i].count;
    }
    return true;
}

static void remember(struct stager *s, const struct ap *hbm, const struct ap *tile)
{
    ARENA_GROW(&s->scratch, s->loaded, s->nloaded, s->loaded_cap);
    s->loaded[s->nloaded++] = (struct loaded_tile){*hbm, *tile};
}

/* Tiles of a slot that is written are out of date. */
static void forget(struct stager *s, const struct ap *hbm)
{
    int n = 0;
    for (int i = 0; i < s->nloaded; i++)
        if (slot_root(s->p, s->loaded[i].from.tensor) != slot_root(s->p, hbm->tensor))
            s->loaded[n++] = s->loaded[i];
    s->nloaded = n;
}

/* Takes the tile for an operand; a row that all partitions have is loaded into all of them, those
 * behind the edge included, and then serves every tile of rows. */
static bool load(struct stager *s, struct ap *a)
{
    struct ap from = *a;
    bool repeats = a->rank && a->dim[0].step == 0;
    const struct ap_clip *clip = a->rank ? a->dim[0].clip : NULL;
    if (repeats)
        from.dim[0].clip = NULL;
    int i = 0;
    while (i < s->nloaded && !ap_equal(&s->loaded[i].from, &from))
        i++;
    if (i < s->nloaded) {
        *a = s->loaded[i].tile;
    } else {
        if (!has_known_size(s, a))
            return false;
        *a = stage_in(&s->builder, from);
        remember(s, &from, a);
    }
    if (repeats)
        a->dim[0].clip = clip;
    return true;
}

/* A copy that only stores what a tile holds: no engine has to touch it. */
static bool only_stores(const struct insn *n)
{
    if (n->op != INSN_tensor_copy)
        return false;
    const struct ap *dst = &n->ap[AP(tensor_copy, dst)], *src = &n->ap[AP(tensor_copy, src)];
    bool same = dst->mem == MEM_HBM && src->mem == MEM_SBUF && dst->dtype == src->dtype &&
                dst->rank == src->rank;
    for (int i = 0; same && i < dst->rank; i++)
        same = dst->dim[i].count == src->dim[i].count && (i == 0 || src->dim[i].step != 0);
    return same;
}

static bool stage_insn(struct stager *s, const struct insn *old)
{
    struct ap stores[MAX_APS], tiles[MAX_APS], ap[MAX_APS];
    const struct insn_info *info = insn_info(old->op);
    struct insn n = *old;
    int nstores = 0;
    memcpy(ap, old->ap, sizeof *ap * info->naps);
    n.ap = ap;
    s->builder.node = old->node;
    if (only_stores(old)) {
        transfer(&s->builder, &ap[AP(tensor_copy, dst)], &ap[AP(tensor_copy, src)], false);
        forget(s, &ap[AP(tensor_copy, dst)]);
        return true;
    }
    for (int a = 0; a < info->naps; a++)
        if (ap[a].mem == MEM_HBM && !operand_writes(old, a) && !load(s, &ap[a]))
            return false;
    for (int a = 0; a < info->naps; a++) {
        if (ap[a].mem != MEM_HBM)
            continue;
        if (!has_known_size(s, &ap[a]))
            return false;
        stores[nstores] = ap[a];
        ap[a] = operand_reads(old, a) ? stage_in(&s->builder, ap[a])
                                      : stage_tile(&s->builder, &ap[a], MEM_SBUF, ap[a].dtype);
        tiles[nstores++] = ap[a];
    }
    if (!expand_insn(&s->builder, &n)) {
        if (!(info->targets & machine_bit(s->m)))
            return fail(s->d, "%s is not an instruction of %s", info->name, s->m->name);
        append(s, &n);
    }
    for (int i = 0; i < nstores; i++) {
        transfer(&s->builder, &stores[i], &tiles[i], false);
        forget(s, &stores[i]);
        remember(s, &stores[i], &tiles[i]);
    }
    return true;
}

/* DMA does not reach PSUM and does not convert: an engine copies to a tile in SBUF first. Every DMA
 * instruction has its source second. */
static bool stage_dma(struct stager *s, const struct insn *old)
{
    enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
    _Static_assert(SRC == AP(dma_transpose, src) && SRC == AP(dma_gather, table), "sources of DMA");
    struct insn n = *old;
    struct ap ap[MAX_APS];
    memcpy(ap, old->ap, sizeof *ap * insn_info(old->op)->naps);
    n.ap = ap;
    s->builder.node = old->node;
    if (ap[DST].mem == MEM_PSUM)
        return fail(s->d, "DMA into psum");
    if (ap[SRC].mem == MEM_PSUM || (ap[SRC].mem == MEM_SBUF && ap[SRC].dtype != ap[DST].dtype)) {
        struct ap from = ap[SRC];
        bool stores = ap[DST].mem == MEM_HBM && old->op == INSN_dma_copy;
        if (!has_known_size(s, &from))
            return false;
        ap[SRC] = stage_tile(&s->builder, stores ? &ap[DST] : &from, MEM_SBUF, ap[DST].dtype);
        emit_tensor_copy(&s->builder, (struct tensor_copy){.dst = ap[SRC], .src = from});
        if (stores) {
            transfer(&s->builder, &ap[DST], &ap[SRC], false);
            return true;
        }
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
        } else if (insn_is_transfer(&old[i])) {
            ok = stage_dma(&s, &old[i]);
            if (old[i].ap[AP(dma_copy, dst)].mem == MEM_HBM)
                forget(&s, &old[i].ap[AP(dma_copy, dst)]);
        } else {
            ok = stage_insn(&s, &old[i]);
        }
    }
    for (int t = 0; ok && t < k->ntiles; t++)
        spread_tile(&s, t);
    if (ok) {
        unroll_loops(p, k, m, true);
        merge_loads(p, k);
        join_transfers(p, k, m);
        balance_engines(p, k, m);
    }
    part_queues(k);
    if (ok)
        part_loads(p, k, m);
    arena_free(&s.scratch);
    return ok;
}

/* ---- kernels that somebody wrote ---- */

_Static_assert(AP(dma_copy, dst) == 0 && AP(dma_copy, src) == 1, "turned_operand's other operand");

enum { MIN_TURNED = 512 }; /* elements; fewer are there sooner one by one */

/* The HBM operand of a copy between HBM and SBUF in two dims that moves single elements; -1. */
static int turned_operand(const struct kernel_builder *k, const struct insn *n)
{
    enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src) };
    if (n->op != INSN_dma_copy)
        return -1;
    int hbm = n->ap[SRC].mem == MEM_HBM ? SRC : DST;
    const struct ap *far = &n->ap[hbm], *near = &n->ap[hbm == SRC ? DST : SRC];
    bool plain = far->mem == MEM_HBM && near->mem == MEM_SBUF && dtype_is_engine_float(near->dtype) && far->rank == 2 &&
                 near->rank == 2 && transposed_dim(far) == 1 && engine_transposes(k, far, 1);
    for (int i = 0; plain && i < 2; i++)
        plain = dim_is_const(far->dim[i].count) && far->dim[i].count == near->dim[i].count;
    return plain && far->dim[0].count * far->dim[1].count >= MIN_TURNED ? hbm : -1;
}

bool stage_turned_transfers(struct program *p, struct kernel *k, const struct machine *m)
{
    struct stager s = {.p = p, .k = k, .m = m, .builder = kernel_reopen(p, m, k)};
    struct insn *old = k->insns;
    int n = k->ninsns;
    bool any = false;
    for (int i = 0; i < n && !any; i++)
        any = turned_operand(&s.builder, &old[i]) >= 0;
    if (!any)
        return false;
    k->insns = NULL, k->ninsns = k->insns_cap = 0;
    for (int i = 0; i < n; i++) {
        int hbm = turned_operand(&s.builder, &old[i]);
        s.builder.node = old[i].node;
        if (hbm < 0)
            append(&s, &old[i]);
        else
            transpose_by_engine(&s.builder, &old[i].ap[hbm], &old[i].ap[!hbm], 1,
                                hbm == AP(dma_copy, src));
    }
    return true;
}
