#include "backend/schedule/chain.h"

#include "backend/tile/rules.h"
#include "neff/isa/cost.h"

#include <limits.h>
#include <string.h>

enum {
    MAX_INSTANCES = 64,  /* of a grid, written out */
    MAX_INSNS = 16384,   /* of one kernel */
    NOT_COUNTED = 1 << 20 /* readers: results, calls */
};

/* ---- which kernels ---- */

static bool number_known(const struct affine *a)
{
    bool known = dim_is_const(a->base);
    for (int i = 0; i < a->nterms; i++)
        known &= dim_is_const(a->terms[i].coef);
    return known;
}

static bool pattern_known(const struct ap *a)
{
    bool known = number_known(&a->offset);
    for (int i = 0; i < a->rank; i++) {
        const struct ap_dim *d = &a->dim[i];
        known &= dim_is_const(d->step) && dim_is_const(d->count) &&
                 (!d->clip || (dim_is_const(d->clip->factor) && dim_is_const(d->clip->limit)));
    }
    return known;
}

static bool insn_known(const struct insn *n)
{
    bool known = !insn_is_structure(n);
    for (int o = 0; o < insn_info(n->op)->naps; o++)
        known &= n->ap[o].mem == MEM_NONE || pattern_known(&n->ap[o]);
    for (int i = 0; i < insn_info(n->op)->nimms; i++)
        known &= number_known(&n->imm[i]);
    return known;
}

static int64_t instances_of(const struct kernel *k)
{
    int64_t n = 1;
    for (int i = 0; i < k->ngrid; i++) {
        if (!dim_is_const(k->grid[i]) || k->grid[i] < 1 || k->grid[i] > MAX_INSTANCES)
            return 0;
        n *= k->grid[i];
    }
    return n <= MAX_INSTANCES && n * k->ninsns <= MAX_INSNS ? n : 0;
}

bool kernel_is_straight(const struct kernel *k)
{
    bool is = true;
    for (int t = 0; is && t < k->ntiles; t++)
        is = dim_is_const(k->tiles[t].elements) && dim_is_const(k->tiles[t].partitions);
    for (int i = 0; is && i < k->ninsns; i++)
        is = insn_known(&k->insns[i]);
    return is;
}

bool has_fixed_tiles(const struct kernel *k)
{
    for (int t = 0; t < k->ntiles; t++)
        if (k->tiles[t].fixed)
            return true;
    return false;
}

/* Made by lowering, of a few instances. */
static bool can_be_chained(const struct kernel *k)
{
    return k->scheduled && !k->own_sync && k->ninsns > 0 && instances_of(k) > 0 && !has_fixed_tiles(k) &&
           kernel_is_straight(k);
}

static bool has_loops(const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        if (insn_is_structure(&k->insns[i]))
            return true;
    return false;
}

/* The program's kernel, or a copy with its loops written out where that makes one that can be chained. */
static struct kernel written_out(struct chain *c, struct kernel *k)
{
    const struct kernel own = *k;
    if (!k->scheduled || k->own_sync || !has_loops(k))
        return own;
    k->tiles = arena_copy(&c->scratch, k->tiles, sizeof *k->tiles * (size_t)k->ntiles);
    k->tiles_cap = k->ntiles;
    unroll_whole_loops(c->p, k, c->m);
    struct kernel copy = can_be_chained(k) ? *k : own;
    *k = own;
    return copy;
}

/* ---- who reads a slot ---- */

static void count_reads(struct chain *c, const int32_t *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] >= 0)
            c->reads[slot_root(c->p, list[i])] += NOT_COUNTED;
}

static void count_readers(struct chain *c)
{
    const struct program *p = c->p;
    for (int k = 0; k < p->nkernels; k++) {
        const struct kernel *x = &c->kernels[k];
        int times = instances_of(x) ? (int)instances_of(x) : NOT_COUNTED;
        for (int i = 0; i < x->ninsns; i++)
            for (int o = 0; o < insn_info(x->insns[i].op)->naps; o++)
                if (x->insns[i].ap[o].mem == MEM_HBM && operand_reads(&x->insns[i], o))
                    c->reads[slot_root(p, x->insns[i].ap[o].tensor)] += times;
    }
    for (int i = 0; i < p->ncalls; i++) {
        count_reads(c, p->calls[i].in, p->calls[i].nin);
        count_reads(c, p->calls[i].out, p->calls[i].nout);
    }
    for (int i = 0; i < p->nregions; i++) {
        count_reads(c, p->regions[i].params, p->regions[i].nparams);
        count_reads(c, p->regions[i].results, p->regions[i].nresults);
    }
    for (int i = 0; i < p->nstates; i++)
        count_reads(c, (const int32_t[]){p->states[i].input, p->states[i].output}, 2);
    for (int i = 0; i < p->nslots; i++)
        if (p->slots[i].kind != SLOT_PLANNED || p->slots[i].is_output)
            c->reads[slot_root(p, i)] += p->slots[i].kind == SLOT_VIEW && !p->slots[i].is_output ? 0 : NOT_COUNTED;
}

/* ---- instances written out ---- */

static struct affine at_point(const struct affine *a, const int64_t *point)
{
    struct affine x = {.base = a->base};
    for (int i = 0; i < a->nterms; i++)
        x.base += a->terms[i].coef * point[a->terms[i].var];
    return x;
}

/* False: nothing is left of the pattern at an edge. */
static bool pattern_at_point(struct ap *a, const int64_t *point)
{
    a->offset = at_point(&a->offset, point);
    for (int i = 0; i < a->rank; i++) {
        struct ap_dim *d = &a->dim[i];
        if (!d->clip)
            continue;
        int64_t left = d->clip->limit - d->clip->factor * point[d->clip->var];
        d->count = left < d->count ? left : d->count;
        d->clip = NULL;
        if (d->count < 1)
            return false;
    }
    return true;
}

static void note_use(struct chain *c, struct uses *u, int what)
{
    ARENA_GROW(&c->scratch, u->at, u->n, u->cap);
    u->at[u->n++] = what;
}

static int new_tile(struct chain *c, const struct tile *t)
{
    ARENA_GROW(&c->p->arena, c->k.tiles, c->k.ntiles, c->k.tiles_cap);
    c->k.tiles[c->k.ntiles] = *t;
    c->k.tiles[c->k.ntiles].address = -1;
    int n = c->k.ntiles;
    ARENA_GROW(&c->scratch, c->tiles, n, c->uses_cap);
    c->tiles[n] = (struct uses){0};
    return c->k.ntiles++;
}

static bool add_insn(struct chain *c, const struct insn *from, const int64_t *point, int first_tile)
{
    const struct insn_info *info = insn_info(from->op);
    int at = c->k.ninsns;
    struct insn *to = kernel_add(c->p, &c->k, from->op);
    struct ap *ap = to->ap;
    struct affine *imm = to->imm;
    *to = *from;
    to->ap = ap, to->imm = imm, to->nwaits = 0, to->wait = NULL;
    to->signal[0] = to->signal[1] = -1;
    int n = at;
    ARENA_GROW(&c->scratch, c->gone, n, c->gone_cap);
    c->gone[at] = false;
    for (int i = 0; i < info->nimms; i++)
        imm[i] = at_point(&from->imm[i], point);
    for (int o = 0; o < info->naps; o++) {
        ap[o] = from->ap[o];
        if (ap[o].mem == MEM_NONE)
            continue;
        if (!pattern_at_point(&ap[o], point))
            return false;
        if (ap[o].mem == MEM_HBM) {
            if (operand_writes(to, o))
                note_use(c, &c->stores[slot_root(c->p, ap[o].tensor)], at);
            continue;
        }
        ap[o].tensor += first_tile;
        note_use(c, &c->tiles[ap[o].tensor], at * MAX_APS + o);
    }
    return true;
}

static bool next_point(const struct kernel *k, int64_t *point)
{
    for (int g = k->ngrid - 1; g >= 0; g--) {
        if (++point[g] < k->grid[g])
            return true;
        point[g] = 0;
    }
    return false;
}

static bool append(struct chain *c, const struct kernel *k)
{
    int64_t point[MAX_VARS] = {0};
    ARENA_GROW(&c->scratch, c->parts, c->nparts, c->parts_cap);
    c->parts[c->nparts++] = c->k.ninsns;
    do {
        int first = c->k.ntiles;
        for (int t = 0; t < k->ntiles; t++)
            new_tile(c, &k->tiles[t]);
        for (int i = 0; i < k->ninsns; i++)
            if (!add_insn(c, &k->insns[i], point, first))
                return false;
    } while (next_point(k, point));
    struct dim_table *t = &c->p->dims;
    c->k.flops = dim_add(t, c->k.flops, k->flops);
    c->k.bytes = dim_add(t, c->k.bytes, k->bytes);
    return true;
}

/* ---- the attempt to append one more ---- */

struct length {
    int ninsns, ntiles, nparts;
    dim_t flops, bytes;
};

static void forget_from(struct uses *u, int n, int limit)
{
    for (int i = 0; i < n; i++) {
        int kept = 0;
        for (int x = 0; x < u[i].n; x++)
            if (u[i].at[x] < limit)
                u[i].at[kept++] = u[i].at[x];
        u[i].n = kept;
    }
}

/* As it was before the kernel was appended. */
static void take_back(struct chain *c, const struct length *b)
{
    for (int i = b->ninsns; i < c->k.ninsns; i++)
        if (c->gone[i])
            c->reads[slot_root(c->p, c->k.insns[i].ap[AP(dma_copy, src)].tensor)]++;
    for (int i = c->nchanges - 1; i >= 0; i--)
        c->k.insns[c->changes[i].insn].ap[c->changes[i].operand] = c->changes[i].was;
    c->k.ninsns = b->ninsns, c->k.ntiles = b->ntiles, c->nparts = b->nparts;
    c->k.flops = b->flops, c->k.bytes = b->bytes;
    forget_from(c->stores, c->nslots, b->ninsns);
    for (int t = 0; t < c->k.ntiles; t++)
        c->tiles[t].n = 0;
    for (int i = 0; i < c->k.ninsns; i++)
        for (int o = 0; o < insn_info(c->k.insns[i].op)->naps; o++)
            if (c->k.insns[i].ap[o].mem == MEM_SBUF || c->k.insns[i].ap[o].mem == MEM_PSUM)
                note_use(c, &c->tiles[c->k.insns[i].ap[o].tensor], i * MAX_APS + o);
}

/* What is left of the kernel: without loads that are not needed, stores that nobody reads, and tiles that nobody
 * uses. */
static struct kernel remaining(const struct chain *c, int *parts, struct arena *a)
{
    struct kernel k = c->k;
    int part = 0;
    int *number = ARENA_ARRAY(a, int, k.ntiles + 1);
    k.insns = ARENA_ARRAY(a, struct insn, k.ninsns + 1);
    k.tiles = ARENA_ARRAY(a, struct tile, k.ntiles + 1);
    k.ninsns = k.ntiles = 0;
    k.insns_cap = c->k.ninsns + 1, k.tiles_cap = c->k.ntiles + 1;
    for (int i = 0; i < c->k.ninsns; i++) {
        while (part < c->nparts && c->parts[part] == i)
            parts[part++] = k.ninsns;
        if (c->gone[i] || is_dead_store(c, i))
            continue;
        struct insn *n = &k.insns[k.ninsns++];
        *n = c->k.insns[i];
        int naps = insn_info(n->op)->naps;
        n->ap = arena_copy(a, n->ap, sizeof *n->ap * (size_t)naps);
        for (int o = 0; o < naps; o++) {
            if (n->ap[o].mem != MEM_SBUF && n->ap[o].mem != MEM_PSUM)
                continue;
            int *now = &number[n->ap[o].tensor];
            if (!*now) {
                k.tiles[k.ntiles++] = c->k.tiles[n->ap[o].tensor];
                *now = k.ntiles;
            }
            n->ap[o].tensor = *now - 1;
        }
    }
    return k;
}

/* The most bytes of a partition that live together from instruction `first` on, of one memory. */
static int64_t live_bytes(const struct chain *c, int first, int mem)
{
    struct arena scratch = {0};
    int64_t *change = ARENA_ARRAY(&scratch, int64_t, c->k.ninsns - first + 2), live = 0, max = 0;
    for (int t = 0; t < c->k.ntiles; t++) {
        int from = INT_MAX, to = -1;
        for (int i = 0; i < c->tiles[t].n; i++) {
            int insn = c->tiles[t].at[i] / MAX_APS;
            from = insn < from ? insn : from, to = insn > to ? insn : to;
        }
        if (to < first || c->k.tiles[t].mem != mem)
            continue;
        change[from < first ? 0 : from - first] += tile_partition_bytes(&c->k.tiles[t]);
        change[to - first + 1] -= tile_partition_bytes(&c->k.tiles[t]);
    }
    for (int i = 0; i <= c->k.ninsns - first; i++) {
        live += change[i];
        max = live > max ? live : max;
    }
    arena_free(&scratch);
    return max;
}

/* What lives before the last kernel, which begins at `first`, had room. */
static bool has_room(const struct chain *c, int first)
{
    if (live_bytes(c, first, MEM_SBUF) < c->m->sbuf / 2 && live_bytes(c, first, MEM_PSUM) < c->m->psum / 4)
        return true;
    struct arena scratch = {0};
    struct kernel k = remaining(c, ARENA_ARRAY(&scratch, int, c->nparts), &scratch);
    bool placed =
        place_straight(c->p, &k, c->m, PLACE_IN_TURN) < 0 || place_straight(c->p, &k, c->m, PLACE_LOWEST) < 0;
    arena_free(&scratch);
    return placed;
}

static bool try_append(struct chain *c, const struct kernel *k)
{
    struct length b = {c->k.ninsns, c->k.ntiles, c->nparts, c->k.flops, c->k.bytes};
    c->nchanges = 0;
    if (can_be_chained(k) && b.ninsns + instances_of(k) * k->ninsns <= MAX_INSNS && append(c, k) &&
        keep_resident(c, b.ninsns) >= 0 && has_room(c, b.ninsns))
        return true;
    if (c->k.ninsns > b.ninsns)
        take_back(c, &b);
    return false;
}

/* ---- the program ---- */

/* Loads that were taken out count again: the kernels stay apart. */
static void give_up(struct chain *c)
{
    for (int i = 0; i < c->k.ninsns; i++)
        if (c->gone[i])
            c->reads[slot_root(c->p, c->k.insns[i].ap[AP(dma_copy, src)].tensor)]++;
}

/* Of a chain: "conv1 to softmax". */
static const char *name_of_both(struct program *p, const char *first, const char *last)
{
    if (!first || !last || !strcmp(first, last))
        return first ? first : last;
    return arena_printf(&p->arena, "%s to %s", first, last);
}

/* The chain's kernel takes the place of its first one; false without a message: there is no room for it. */
static bool finish(struct chain *c, struct kernel *first, const struct kernel *last, struct diag *d)
{
    int *parts = ARENA_ARRAY(&c->scratch, int, c->nparts);
    struct kernel k = remaining(c, parts, &c->p->arena);
    k.name = name_of_both(c->p, first->name, last->name);
    k.ngrid = k.nvars = 0;
    k.scheduled = k.straight = true;
    join_image_sums(c->p, &k);
    join_columns(c->p, &k, parts, c->nparts);
    struct diag unknown = {0};
    const int64_t *values = bind_symbols_for_report(c->p, NULL, 0, 1, &c->scratch, &unknown);
    if (values)
        broadcast_by_products(c->p, &k, c->m, values, parts, c->nparts);
    if (!overlap_kernels(c->p, &k, c->m, parts, c->nparts)) {
        give_up(c);
        return false;
    }
    *first = k;
    return sync_kernel(c->p, first, d);
}

static void start(struct chain *c, const struct kernel *k)
{
    c->k = (struct kernel){.flops = 0};
    c->nchanges = c->nparts = 0;
    forget_from(c->stores, c->nslots, 0);
    append(c, k);
}

/* How many steps from `from` on became one. */
static int chain_from(struct chain *c, struct program_region *r, int from, const int *launches, struct diag *d)
{
    struct kernel *kernels = c->kernels;
    int first = r->steps[from].index, n = 1;
    if (r->steps[from].kind != STEP_LAUNCH || launches[first] != 1 || !can_be_chained(&kernels[first]))
        return 1;
    start(c, &kernels[first]);
    for (; from + n < r->nsteps; n++) {
        const struct step *s = &r->steps[from + n];
        if (s->kind != STEP_LAUNCH || launches[s->index] != 1 || !try_append(c, &kernels[s->index]))
            break;
    }
    if (n == 1 || finish(c, &c->p->kernels[first], &kernels[r->steps[from + n - 1].index], d))
        return n;
    return diag_failed(d) ? -1 : 1;
}

static bool chain_region(struct chain *c, struct program_region *r, const int *launches, struct diag *d)
{
    int kept = 0;
    for (int i = 0, n; i < r->nsteps; i += n) {
        n = chain_from(c, r, i, launches, d);
        if (n < 0)
            return false;
        r->steps[kept++] = r->steps[i];
    }
    r->nsteps = kept;
    return true;
}

/* Kernels that no step launches any more are taken out. */
static void renumber(struct program *p)
{
    struct arena scratch = {0};
    int *number = ARENA_ARRAY(&scratch, int, p->nkernels + 1), n = 0;
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nsteps; i++)
            if (p->regions[r].steps[i].kind == STEP_LAUNCH)
                number[p->regions[r].steps[i].index] = 1;
    for (int k = 0; k < p->nkernels; k++)
        if (number[k]) {
            p->kernels[n] = p->kernels[k];
            number[k] = n++;
        }
    p->nkernels = n;
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nsteps; i++)
            if (p->regions[r].steps[i].kind == STEP_LAUNCH)
                p->regions[r].steps[i].index = number[p->regions[r].steps[i].index];
    arena_free(&scratch);
}

bool chain_kernels(struct program *p, const struct machine *m, struct diag *d)
{
    struct chain c = {.p = p, .m = m, .nslots = p->nslots};
    bool ok = true;
    c.stores = ARENA_ARRAY(&c.scratch, struct uses, p->nslots + 1);
    c.reads = ARENA_ARRAY(&c.scratch, int64_t, p->nslots + 1);
    c.kernels = ARENA_ARRAY(&c.scratch, struct kernel, p->nkernels + 1);
    for (int k = 0; k < p->nkernels; k++)
        c.kernels[k] = written_out(&c, &p->kernels[k]);
    int *launches = ARENA_ARRAY(&c.scratch, int, p->nkernels + 1);
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nsteps; i++)
            if (p->regions[r].steps[i].kind == STEP_LAUNCH)
                launches[p->regions[r].steps[i].index]++;
    count_readers(&c);
    for (int r = 0; ok && r < p->nregions; r++)
        ok = chain_region(&c, &p->regions[r], launches, d);
    if (ok)
        renumber(p);
    arena_free(&c.scratch);
    return ok;
}
