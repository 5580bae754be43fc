/*
 * A check of order that needs no luck: every two accesses to the same bytes, one of which writes,
 * must be ordered by what the archive and FORMAT.md say, whatever anything takes.
 *
 * With each moment goes a vector clock: how many instructions of each engine, and transfers of each
 * queue, are over by then. Engines' order, semaphores, a queue's order, calls, what transfers wait
 * for in earlier steps (steps.c) and the rooms of instances add to it; times, ports and DMA engines
 * do not. Bytes are found here anew, from the archive's own patterns, not taken from what the
 * simulator decides by. Reported are
 *
 *   unordered steps      accesses of two steps that nothing orders
 *   missing wait         the same within one instance of a grid
 *   dependent instances  the same of two instances of one grid, which may run in any order
 *   overlapping rooms    two instances in the same memory on the chip
 *   overlapping buffers  a read of what was written last as another slot
 *   uninitialised read   of a planned slot's bytes that nothing has written
 *   capacity             bytes outside the slot, or the memory on the chip
 *
 * Constants, and inputs that nothing writes, are left out. Elements found through an index are taken
 * to be all that the index may reach, and never to be missing or another instance's.
 */
#include "neff/isa/cost.h"
#include "neff/plan/hazards_memory.h"

#include "runtime/sim/intervals.h"
#include "runtime/sim/state.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRACKS = SIM_CORES * TRACK_COUNT,
    MAX_NAMED = 10,
    MAX_PIECES = 1 << 28 /* of all patterns; the check ends there */
};

struct clock {
    struct arena *arena;
    int32_t over[TRACKS];
};

struct doer {
    int32_t launch, insn, instance; /* insn -1: a call, or what is there from the beginning */
    int32_t track, number;          /* the how manieth of its track */
    bool sums, indirect;
};

struct reader {
    struct doer by;
    const struct reader *next;
};

struct history {        /* of bytes in HBM; NULL: nothing has touched them */
    struct doer writer; /* launch -1: none */
    int32_t slot;
    const struct reader *readers; /* since then: the last one of each track */
};

struct tenant { /* an instance in memory on the chip */
    struct doer last;
    int32_t numbers[TRACKS]; /* of what it has done */
};

struct home { /* of a slot */
    int32_t space;
    int64_t at, size; /* size -1: not known */
    bool starts_empty;
};

struct watch {
    struct sim *s;
    struct arena arena;
    int32_t begun[TRACKS];
    struct home *homes;
    bool *rewritten;       /* per space: something writes it */
    struct intervals *hbm; /* per space */
    struct intervals chip[SIM_CORES][2];
    int64_t pieces;
    int named;
    struct doer named_last;
    /* the operand that is looked at */
    struct doer me;
    const struct clock *known;
    int32_t slot;
    bool writes, seen;
    const struct history *before, *after;
    struct tenant *tenant;
};

/* ---- clocks ---- */

static struct clock *new_clock(struct arena *a, const struct clock *from)
{
    struct clock *c = ARENA_NEW(a, struct clock);
    if (from)
        *c = *from;
    c->arena = a;
    return c;
}

static bool includes(const struct clock *a, const struct clock *b)
{
    for (int i = 0; i < TRACKS; i++)
        if (a->over[i] < b->over[i])
            return false;
    return true;
}

const struct clock *both_known(const struct clock *a, const struct clock *b)
{
    if (!a || !b)
        return a ? a : b;
    if (includes(a, b))
        return a;
    if (includes(b, a))
        return b;
    struct clock *c = new_clock(a->arena, a);
    for (int i = 0; i < TRACKS; i++)
        c->over[i] = b->over[i] > c->over[i] ? b->over[i] : c->over[i];
    return c;
}

static int track_index(int core, int track)
{
    return core * TRACK_COUNT + track;
}

const struct clock *clock_after(const struct sim *s, const struct clock *known, int core, int track)
{
    struct watch *w = s->watch;
    if (!w)
        return NULL;
    struct clock *c = new_clock(&w->arena, known);
    c->over[track_index(core, track)] = ++w->begun[track_index(core, track)];
    return c;
}

static bool is_over(const struct watch *w, int track, int32_t number)
{
    return number == 0 || (w->known && w->known->over[track] >= number);
}

/* ---- faults ---- */

static const char *step_name(const struct watch *w, int launch)
{
    const struct sim_launch *l = &w->s->launches[launch];
    const char *name = l->kernel < 0 ? op_name(w->s->p->calls[l->call].op)
                                     : w->s->p->kernels[l->kernel].name;
    return name ? name : "";
}

/* "step 3 'matmul', node 'n', instruction 5 (pool.dma_copy) of instance 2" */
static const char *describe(struct watch *w, const struct doer *x)
{
    struct arena *a = &w->s->arena;
    if (x->launch < 0) /* a result that no step has made */
        return "the end of the program";
    if (x->insn < 0)
        return arena_printf(a, "step %d '%s'", x->launch, step_name(w, x->launch));
    const struct insn *n = &w->s->p->kernels[w->s->launches[x->launch].kernel].insns[x->insn];
    return arena_printf(a, "step %d '%s', node '%s', instruction %d (%s.%s) of instance %d",
                        x->launch, step_name(w, x->launch),
                        n->node >= 0 ? w->s->p->nodes[n->node].name : "", x->insn,
                        engine_names[n->engine], insn_info(n->op)->name, x->instance);
}

__attribute__((format(printf, 3, 4))) static void fault(struct watch *w, const char *kind,
                                                        const char *fmt, ...)
{
    struct sim *s = w->s;
    const struct doer *last = &w->named_last;
    if (s->nfaults && last->launch == w->me.launch && last->insn == w->me.insn)
        return; /* more of the same */
    w->named_last = w->me;
    if (s->nfaults++ >= MAX_NAMED)
        return;
    va_list ap;
    va_start(ap, fmt);
    const char *what = arena_vprintf(&s->arena, fmt, ap);
    va_end(ap);
    s->faults = arena_printf(&s->arena, "%s%s: %s: %s\n", s->faults ? s->faults : "", kind,
                             describe(w, &w->me), what);
}

static const char *slot_name(const struct watch *w, int slot)
{
    const char *name = w->s->p->slots[slot].name;
    return name && *name ? arena_printf(&w->s->arena, "'%s'", name)
                         : arena_printf(&w->s->arena, "%%%d", slot);
}

/* ---- HBM ---- */

static void must_follow(struct watch *w, const struct doer *x, const char *did)
{
    const struct doer *me = &w->me;
    bool same = x->launch == me->launch && x->insn >= 0 && me->insn >= 0;
    if (x->launch < 0 || (x->track == me->track && x->number == me->number)) /* its own operand */
        return;
    const char *does = w->writes ? "writes" : "reads", *slot = NULL, *kind = NULL;
    if (same && x->instance != me->instance) {
        if (!(x->sums && me->sums) && !x->indirect && !me->indirect)
            kind = "dependent instances";
    } else if (!is_over(w, x->track, x->number)) {
        kind = same ? "missing wait" : "unordered steps";
    }
    if (!kind)
        return;
    slot = slot_name(w, w->slot);
    fault(w, kind, "%s %s, which %s %s; nothing orders the two", does, slot, describe(w, x), did);
}

/* The bytes' readers with this one, for any earlier one of its queue is over when it is. */
static const struct reader *with_reader(struct watch *w, const struct reader *list)
{
    struct reader *all = ARENA_NEW(&w->arena, struct reader), *last = all;
    all->by = w->me;
    for (; list; list = list->next)
        if (list->by.track != w->me.track) {
            last->next = arena_copy(&w->arena, list, sizeof *list);
            last = (struct reader *)last->next;
        }
    last->next = NULL;
    return all;
}

static void check_content(struct watch *w, const struct history *c)
{
    const struct home *h = &w->homes[w->slot];
    if (!c || c->writer.launch < 0) {
        if (h->starts_empty && !w->me.indirect)
            fault(w, "uninitialised read", "reads bytes of %s that nothing has written",
                  slot_name(w, w->slot));
    } else if (c->slot != w->slot) {
        fault(w, "overlapping buffers", "reads bytes of %s that %s wrote last, as %s",
              slot_name(w, w->slot), describe(w, &c->writer), slot_name(w, c->slot));
    }
}

static const void *change_content(void *with, const void *state, int64_t low, int64_t high)
{
    struct watch *w = with;
    const struct history *c = state;
    (void)low, (void)high;
    if (w->seen && w->before == c)
        return w->after;
    if (c)
        must_follow(w, &c->writer, w->writes ? "wrote" : "writes");
    for (const struct reader *r = w->writes && c ? c->readers : NULL; r; r = r->next)
        must_follow(w, &r->by, "reads");
    if (!w->writes)
        check_content(w, c);
    if (!w->writes || !w->seen) { /* bytes that are written together have one content */
        struct history *new = ARENA_NEW(&w->arena, struct history);
        if (w->writes)
            *new = (struct history){w->me, w->slot, NULL};
        else
            *new = (struct history){c ? c->writer : (struct doer){.launch = -1}, c ? c->slot : w->slot,
                                    with_reader(w, c ? c->readers : NULL)};
        w->after = new;
    }
    w->seen = true, w->before = c;
    return w->after;
}

static void touch_bytes(struct watch *w, int slot, int64_t low, int64_t high)
{
    const struct home *h = &w->homes[slot];
    w->pieces++;
    intervals_apply(&w->hbm[h->space + 1], h->at + low, h->at + high, change_content, w);
}

/* ---- patterns ---- */

/* The pattern's dims from the smallest step on, without those that repeat or go back. */
static void straighten(struct box *b)
{
    int rank = 0;
    for (int i = 0; i < b->rank; i++) {
        int64_t step = b->step[i], count = b->count[i];
        if (count == 1 || step == 0)
            continue;
        if (step < 0)
            b->offset += step * (count - 1), step = -step;
        int at = rank++;
        for (; at > 0 && b->step[at - 1] > step; at--)
            b->step[at] = b->step[at - 1], b->count[at] = b->count[at - 1];
        b->step[at] = step, b->count[at] = count;
    }
    b->rank = rank;
}

/* What is contiguous becomes one piece. */
static int first_apart(struct box *b)
{
    int i = 0;
    for (; i < b->rank && b->step[i] <= b->run; i++)
        b->run += b->step[i] * (b->count[i] - 1);
    return i;
}

static void touch_box(struct watch *w, struct box *b)
{
    int64_t at[MAX_AP_RANK] = {0}, offset;
    straighten(b);
    int first = first_apart(b), i = first;
    offset = b->offset;
    while (w->pieces < MAX_PIECES) {
        touch_bytes(w, b->tensor, offset, offset + b->run);
        for (i = first; i < b->rank; i++) {
            offset += b->step[i];
            if (++at[i] < b->count[i])
                break;
            offset -= b->step[i] * b->count[i], at[i] = 0;
        }
        if (i == b->rank)
            break;
    }
}

static void touch_hbm(struct watch *w, const struct launch_state *l, const struct insn *n, int a,
                      const int64_t *vars)
{
    const struct insn_info *info = insn_info(n->op);
    struct hazard_memory m = {.p = w->s->p, .k = l->k->k, .values = w->s->o.values, .vars = vars};
    struct ap touched = insn_touched(n, a);
    struct box b = box_of(&m, &touched);
    const struct home *h = &w->homes[b.tensor];
    w->slot = b.tensor, w->seen = false;
    w->me.indirect = info->ap[a].reach == REACH_INDIRECT;
    w->me.sums = info->ap[a].access == 'u' && insn_role(info, ROLE_ACCUMULATE) < 0;
    if (b.total == 0)
        return;
    if (b.low < 0 || (h->size >= 0 && b.high > h->size))
        fault(w, "capacity", "bytes %lld to %lld of %s, which has %lld", (long long)b.low,
              (long long)b.high - 1, slot_name(w, b.tensor), (long long)h->size);
    else if (w->rewritten[h->space + 1])
        touch_box(w, &b);
}

/* ---- memory on the chip ---- */

static const void *change_tenant(void *with, const void *state, int64_t low, int64_t high)
{
    struct watch *w = with;
    const struct tenant *t = state;
    (void)low, (void)high;
    bool over = true;
    for (int i = 0; t && t != w->tenant && i < TRACKS; i++)
        over &= is_over(w, i, t->numbers[i]);
    if (!over)
        fault(w, "overlapping rooms", "in memory on the chip that %s uses; nothing orders the two",
              describe(w, &t->last));
    return w->tenant;
}

static void touch_chip(struct watch *w, const struct launch_state *l, struct instance *i,
                       const struct number_ap *ap)
{
    bool psum = ap->mem == MEM_PSUM;
    const struct tile *t = &l->k->k->tiles[ap->tensor];
    const struct room *room = &l->c->rooms[i->room];
    if (!w->s->m->strict || t->address < 0)
        return;
    if (!i->tenant)
        i->tenant = ARENA_NEW(&w->arena, struct tenant);
    w->tenant = i->tenant;
    int64_t low = (psum ? room->psum.low : room->sbuf.low) + t->address,
            high = low + l->k->tile_bytes[ap->tensor], size = psum ? w->s->m->psum : w->s->m->sbuf;
    if (high > size)
        fault(w, "capacity", "tile %d ends at byte %lld of a partition, which has %lld", ap->tensor,
              (long long)high, (long long)size);
    else
        intervals_apply(&w->chip[l->core][psum], low, high, change_tenant, w);
    w->tenant->last = w->me;
    w->tenant->numbers[w->me.track] = w->me.number;
}

/* ---- what is executed ---- */

void watch_insn(struct launch_state *l, struct instance *i, const struct number_insn *n, int insn,
                const int64_t *vars, const struct clock *known, const struct clock *done)
{
    struct watch *w = l->s->watch;
    if (!w || l->s->check_ended)
        return;
    l->s->check_ended = w->pieces >= MAX_PIECES;
    int track = track_index(l->core, n->dma ? TRACK_QUEUE + n->engine : n->engine);
    w->known = known;
    w->me = (struct doer){.launch = l->launch,
                          .insn = insn,
                          .instance = (int32_t)(i->index * l->cores + l->core),
                          .track = track,
                          .number = done->over[track]};
    for (int pass = 0; pass < 2; pass++) /* reads first */
        for (int a = 0; a < n->naps; a++) {
            const struct number_ap *ap = &n->ap[a];
            w->writes = pass == 1;
            if (!(pass ? ap->writes : ap->reads))
                continue;
            if (ap->mem == MEM_HBM)
                touch_hbm(w, l, n->source, a, vars);
            else if (ap->mem != MEM_NONE)
                touch_chip(w, l, i, ap);
        }
}

static void watch_slots(struct sim *s, const int32_t *slots, int n, const struct clock *known,
                        bool writes)
{
    struct watch *w = s->watch;
    int track = track_index(0, ENGINE_POOL);
    if (!w)
        return;
    w->known = known;
    w->me = (struct doer){.launch = s->nlaunches - 1,
                          .insn = -1,
                          .track = track,
                          .number = known ? known->over[track] : 0};
    w->writes = writes;
    for (int i = 0; i < n; i++) {
        if (slots[i] < 0)
            continue;
        int root = slot_root(s->p, slots[i]);
        int64_t size = w->homes[root].size;
        w->slot = root, w->seen = false;
        if (w->rewritten[w->homes[root].space + 1])
            touch_bytes(w, root, 0, size < 0 ? INT64_MAX / 2 : size);
    }
}

void watch_reads(struct sim *s, const int32_t *slots, int n, const struct clock *known)
{
    watch_slots(s, slots, n, known, false);
}

void watch_writes(struct sim *s, const int32_t *slots, int n, const struct clock *known)
{
    watch_slots(s, slots, n, known, true);
}

/* ---- where slots are ---- */

static void find_homes(struct watch *w)
{
    const struct program *p = w->s->p;
    int64_t *sizes = slot_sizes(p, w->s->o.values, &w->arena);
    int64_t *known = ARENA_ARRAY(&w->arena, int64_t, p->nslots + 1);
    for (int i = 0; i < p->nslots; i++)
        known[i] = sizes[i] < 0 ? 0 : sizes[i];
    struct memory_plan plan;
    plan_memory(p, w->s->o.values, known, &w->arena, &plan);
    w->homes = ARENA_ARRAY(&w->arena, struct home, p->nslots + 1);
    for (int i = 0; i < p->nslots; i++) {
        bool planned = p->slots[i].kind == SLOT_PLANNED && plan.offsets[i] >= 0 && sizes[i] >= 0;
        w->homes[i] = (struct home){
            .space = planned ? -1 : p->slots[i].kind == SLOT_PLANNED ? plan.onto[i] : i,
            .at = planned ? plan.offsets[i] : 0,
            .size = sizes[i],
            .starts_empty = p->slots[i].kind == SLOT_PLANNED && sizes[i] >= 0};
    }
}

static void mark_written(struct watch *w, const int32_t *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i] >= 0)
            w->rewritten[w->homes[slot_root(w->s->p, slots[i])].space + 1] = true;
}

static void find_rewritten(struct watch *w)
{
    const struct program *p = w->s->p;
    w->rewritten = ARENA_ARRAY(&w->arena, bool, p->nslots + 2);
    for (int k = 0; k < p->nkernels; k++)
        for (int i = 0; i < p->kernels[k].ninsns; i++) {
            const struct insn *n = &p->kernels[k].insns[i];
            for (int a = 0; a < insn_info(n->op)->naps; a++)
                if (n->ap[a].mem == MEM_HBM && insn_info(n->op)->ap[a].access != 'r')
                    mark_written(w, &n->ap[a].tensor, 1);
        }
    for (int c = 0; c < p->ncalls; c++)
        mark_written(w, p->calls[c].out, p->calls[c].nout);
    for (int r = 1; r < p->nregions; r++)
        mark_written(w, p->regions[r].params, p->regions[r].nparams);
}

struct watch *watch_new(struct sim *s)
{
    struct watch *w = calloc(1, sizeof *w);
    if (!w)
        arena_out_of_memory(sizeof *w);
    w->s = s;
    find_homes(w);
    find_rewritten(w);
    w->hbm = ARENA_ARRAY(&w->arena, struct intervals, s->p->nslots + 2);
    for (int i = 0; i < s->p->nslots + 1; i++)
        w->hbm[i].arena = &w->arena;
    for (int c = 0; c < SIM_CORES; c++)
        w->chip[c][0].arena = w->chip[c][1].arena = &w->arena;
    return w;
}

void watch_free(struct watch *w)
{
    if (w)
        arena_free(&w->arena);
    free(w);
}
