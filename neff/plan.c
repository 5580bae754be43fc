/*
 * Lifetimes of slots and placement of planned slots in the arena.
 *
 * Steps are numbered in the order in which one pass through the program meets them, the steps of a call's
 * regions right after the call. A slot that is used inside a region but made outside stays live to the region's end,
 * since the region may run again.
 */
#include "neff/program.h"

#include <stdlib.h>

struct walk {
    const struct program *p;
    struct lifetime *life;
    int *home;      /* region whose steps define the slot; -1 not seen */
    int *begin, *end; /* step numbers of each region */
    int *outer;     /* region that calls this one, -1 for main */
    int clock;
    int depth;
};

static int root_of(const struct program *p, int slot)
{
    return p->slots[slot].kind == SLOT_VIEW ? p->slots[slot].base : slot;
}

static void define(struct walk *w, int slot, int region)
{
    if (slot < 0)
        return;
    slot = root_of(w->p, slot);
    if (w->home[slot] < 0) {
        w->home[slot] = region;
        w->life[slot].first = w->clock;
    }
    if (w->clock > w->life[slot].last)
        w->life[slot].last = w->clock;
}

/* Uses in nested regions extend to the end of the outermost region that the slot was made outside of; the end is not
 * known yet while walking, so the use is recorded at the region's end by visit_region. */
static void use(struct walk *w, int slot, int region)
{
    if (slot < 0)
        return;
    slot = root_of(w->p, slot);
    if (w->home[slot] < 0)
        w->home[slot] = 0; /* inputs, constants */
    if (w->clock > w->life[slot].last)
        w->life[slot].last = w->clock;
    if (w->clock < w->life[slot].first)
        w->life[slot].first = w->clock;
}

static void visit_region(struct walk *w, int region);

static void visit_launch(struct walk *w, const struct kernel *k, int region)
{
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int a = 0; a < info->naps; a++) {
            const struct ap *ap = &k->insns[i].ap[a];
            if (ap->mem != MEM_HBM)
                continue;
            if (info->ap[a].access == 'r')
                use(w, ap->tensor, region);
            else
                define(w, ap->tensor, region);
        }
    }
}

static void visit_call(struct walk *w, const struct call *c, int region)
{
    for (int i = 0; i < c->nin; i++)
        use(w, c->in[i], region);
    for (int i = 0; i < c->nregions; i++)
        if (w->begin[c->regions[i]] < 0) {
            w->outer[c->regions[i]] = region;
            visit_region(w, c->regions[i]);
        }
    for (int i = 0; i < c->nout; i++)
        define(w, c->out[i], region);
    for (int i = 0; i < c->nin; i++)
        use(w, c->in[i], region); /* operands stay until the regions are done */
}

static void visit_region(struct walk *w, int region)
{
    const struct program_region *r = &w->p->regions[region];
    w->begin[region] = w->clock++;
    for (int i = 0; i < r->nparams; i++)
        define(w, r->params[i], region);
    for (int i = 0; i < r->nsteps; i++, w->clock++) {
        if (r->steps[i].kind == STEP_LAUNCH)
            visit_launch(w, &w->p->kernels[r->steps[i].index], region);
        else
            visit_call(w, &w->p->calls[r->steps[i].index], region);
    }
    for (int i = 0; i < r->nresults; i++)
        use(w, r->results[i], region);
    w->end[region] = w->clock++;
}

/* Every use inside a region of a slot from outside keeps it to the end of that region, and of the regions between. */
static void extend_region_uses(struct walk *w)
{
    for (int r = 1; r < w->p->nregions; r++) {
        if (w->begin[r] < 0)
            continue;
        for (int s = 0; s < w->p->nslots; s++) {
            struct lifetime *l = &w->life[s];
            bool made_before = l->first < w->begin[r];
            if (made_before && l->last >= w->begin[r] && l->last < w->end[r])
                l->last = w->end[r];
        }
    }
}

struct lifetime *program_lifetimes(const struct program *p, struct arena *a)
{
    struct walk w = {.p = p, .life = ARENA_ARRAY(a, struct lifetime, p->nslots)};
    w.home = ARENA_ARRAY(a, int, p->nslots);
    w.begin = ARENA_ARRAY(a, int, p->nregions);
    w.end = ARENA_ARRAY(a, int, p->nregions);
    w.outer = ARENA_ARRAY(a, int, p->nregions);
    for (int i = 0; i < p->nslots; i++) {
        w.home[i] = -1;
        w.life[i] = (struct lifetime){INT32_MAX, -1};
    }
    for (int i = 0; i < p->nregions; i++)
        w.begin[i] = -1, w.outer[i] = -1;
    if (p->nregions)
        visit_region(&w, 0);
    extend_region_uses(&w);
    return w.life;
}

struct item {
    int slot;
    int64_t size, offset;
    struct lifetime life;
};

static int by_size(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->slot - y->slot;
}

static int by_offset(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->slot - y->slot;
}

/* Best fit: the smallest gap between placed items that are live together with this one. */
static int64_t best_gap(struct item *it, struct item *const *placed, int n)
{
    int64_t best = -1, best_room = INT64_MAX, at = 0;
    for (int i = 0; i < n; i++) {
        const struct item *o = placed[i];
        if (o->life.last < it->life.first || it->life.last < o->life.first)
            continue;
        int64_t room = o->offset - at;
        if (room >= it->size && room < best_room)
            best = at, best_room = room;
        if (o->offset + o->size > at)
            at = o->offset + o->size;
    }
    return best >= 0 ? best : at;
}

static int64_t lower_bound(const struct item *items, int n, int nsteps, struct arena *a)
{
    int64_t *change = ARENA_ARRAY(a, int64_t, nsteps + 2), live = 0, most = 0;
    for (int i = 0; i < n; i++) {
        change[items[i].life.first] += items[i].size;
        change[items[i].life.last + 1] -= items[i].size;
    }
    for (int s = 0; s <= nsteps; s++) {
        live += change[s];
        if (live > most)
            most = live;
    }
    return most;
}

void plan_memory(const struct program *p, const int64_t *sizes, struct arena *a,
                 struct memory_plan *out)
{
    struct lifetime *life = program_lifetimes(p, a);
    struct item *items = ARENA_ARRAY(a, struct item, p->nslots);
    struct item **placed = ARENA_ARRAY(a, struct item *, p->nslots);
    int n = 0, steps = 0;
    *out = (struct memory_plan){.offsets = ARENA_ARRAY(a, int64_t, p->nslots)};
    for (int i = 0; i < p->nslots; i++) {
        out->offsets[i] = -1;
        if (p->slots[i].kind != SLOT_PLANNED || p->slots[i].is_output || life[i].last < 0)
            continue;
        int64_t size = sizes[i] > 0 ? (sizes[i] + 63) / 64 * 64 : 64;
        items[n++] = (struct item){i, size, -1, life[i]};
        if (life[i].last > steps)
            steps = life[i].last;
    }
    out->lower_bound = lower_bound(items, n, steps, a);
    qsort(items, (size_t)n, sizeof *items, by_size);
    for (int i = 0; i < n; i++) {
        struct item *it = &items[i];
        it->offset = best_gap(it, placed, i);
        int at = i;
        for (; at > 0 && by_offset(&placed[at - 1], &(const struct item *){it}) > 0; at--)
            placed[at] = placed[at - 1];
        placed[at] = it;
        out->offsets[it->slot] = it->offset;
        if (it->offset + it->size > out->size)
            out->size = it->offset + it->size;
    }
}
