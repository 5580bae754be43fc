/*
 * Lifetimes of slots and placement of planned slots in the arena.
 *
 * Numbers are given in the order of one pass through the program: one where a region begins (its
 * parameters share the next number with its first step), one for each step, after those of the
 * regions it runs, and one where the region ends. The regions of a call may run many times, in
 * turn: a slot that one of them uses but that was made outside lives until the call is done.
 */
#include "neff/base/sort.h"
#include "neff/plan/in_place.h"

#include <stdlib.h>
#include <string.h>

struct plan_walk {
    const struct program *p;
    struct lifetime *life;
    int *begin,
        *end; /* per region: where its call begins, and the number of the call; begin -1: not met */
    int clock;
};

static void touch(struct plan_walk *w, int slot)
{
    if (slot < 0)
        return;
    struct lifetime *l = &w->life[slot_root(w->p, slot)];
    if (w->clock < l->first)
        l->first = w->clock;
    if (w->clock > l->last)
        l->last = w->clock;
}

static void visit_region(struct plan_walk *w, int region, const struct call *owner);

static void visit_launch(struct plan_walk *w, const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        for (int a = 0; a < insn_info(k->insns[i].op)->naps; a++)
            if (k->insns[i].ap[a].mem == MEM_HBM)
                touch(w, k->insns[i].ap[a].tensor);
}

/* What a loop carries in one place is there from before its first turn to after its last one. */
static void touch_carried(struct plan_walk *w, const struct call *c)
{
    if (c->op != OP_while || c->nregions != 2)
        return;
    const struct program_region *test = &w->p->regions[c->regions[0]],
                                *body = &w->p->regions[c->regions[1]];
    for (int i = 0; i < test->nparams && i < body->nparams; i++)
        if (test->params[i] == body->params[i])
            touch(w, body->params[i]);
}

static void visit_call(struct plan_walk *w, const struct call *c)
{
    int begin = w->clock;
    for (int i = 0; i < c->nin; i++)
        touch(w, c->in[i]);
    touch_carried(w, c);
    for (int i = 0; i < c->nregions; i++)
        visit_region(w, c->regions[i], c);
    for (int i = 0; i < c->nregions; i++)
        w->begin[c->regions[i]] = begin, w->end[c->regions[i]] = w->clock;
    for (int i = 0; i < c->nout; i++)
        touch(w, c->out[i]);
    for (int i = 0; i < c->nin; i++)
        touch(w, c->in[i]); /* operands stay until the regions are done */
    touch_carried(w, c);
}

/* A branch's results are copied to those of its call one after another, while the others still wait:
 * the call's are there when the region ends. */
static void visit_region(struct plan_walk *w, int region, const struct call *owner)
{
    const struct program_region *r = &w->p->regions[region];
    w->clock++;
    for (int i = 0; i < r->nparams; i++)
        touch(w, r->params[i]);
    for (int i = 0; i < r->nsteps; i++, w->clock++) {
        if (r->steps[i].kind == STEP_LAUNCH)
            visit_launch(w, &w->p->kernels[r->steps[i].index]);
        else
            visit_call(w, &w->p->calls[r->steps[i].index]);
    }
    for (int i = 0; i < r->nresults; i++)
        touch(w, r->results[i]);
    for (int i = 0; owner && owner->op == OP_if && i < owner->nout; i++)
        touch(w, owner->out[i]);
    w->clock++;
}

struct reach {
    int begin, end;
};

static int inner_first(const void *a, const void *b)
{
    const struct reach *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? 1 : -1) : x->end - y->end;
}

/* Slots from outside live to the end of the regions that use them; then perhaps to the end of the
 * regions around those. */
static void extend_uses(struct plan_walk *w, struct arena *a)
{
    struct reach *list = ARENA_ARRAY(a, struct reach, w->p->nregions + 1);
    int n = 0;
    for (int r = 1; r < w->p->nregions; r++)
        if (w->begin[r] >= 0)
            list[n++] = (struct reach){w->begin[r], w->end[r]};
    sort_items(list, (size_t)n, sizeof *list, inner_first);
    for (int r = 0; r < n; r++)
        for (int s = 0; s < w->p->nslots; s++) {
            struct lifetime *l = &w->life[s];
            if (l->first <= list[r].begin && l->last > list[r].begin && l->last < list[r].end)
                l->last = list[r].end;
        }
}

struct lifetime *program_lifetimes(const struct program *p, struct arena *a)
{
    struct plan_walk w = {.p = p, .life = ARENA_ARRAY(a, struct lifetime, p->nslots + 1)};
    w.begin = ARENA_ARRAY(a, int, p->nregions + 1);
    w.end = ARENA_ARRAY(a, int, p->nregions + 1);
    for (int i = 0; i < p->nslots; i++)
        w.life[i] = (struct lifetime){INT32_MAX, -1};
    for (int i = 0; i < p->nregions; i++)
        w.begin[i] = -1;
    if (p->nregions)
        visit_region(&w, 0, NULL);
    extend_uses(&w, a);
    return w.life;
}

struct plan_item {
    int slot;
    int64_t size, offset;
    struct lifetime life;
};

/* ---- orders in which items are placed; the best result counts ---- */

static int by_size(const void *a, const void *b)
{
    const struct plan_item *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x->slot - y->slot;
}

static int by_start(const void *a, const void *b)
{
    const struct plan_item *x = a, *y = b;
    return x->life.first != y->life.first ? x->life.first - y->life.first : by_size(a, b);
}

static int by_area(const void *a, const void *b)
{
    const struct plan_item *x = a, *y = b;
    double xa = (double)x->size * (x->life.last - x->life.first + 1),
           ya = (double)y->size * (y->life.last - y->life.first + 1);
    return xa != ya ? (xa < ya ? 1 : -1) : by_size(a, b);
}

static int by_duration(const void *a, const void *b)
{
    const struct plan_item *x = a, *y = b;
    int xd = x->life.last - x->life.first, yd = y->life.last - y->life.first;
    return xd != yd ? yd - xd : by_size(a, b);
}

static int (*const orders[])(const void *, const void *) = {by_size, by_area, by_start,
                                                            by_duration};
enum { NORDERS = sizeof orders / sizeof *orders };

/* Among gaps between placed items that are live together with this one: the smallest that holds it,
 * or the lowest. */
static int64_t find_gap(const struct plan_item *it, struct plan_item *const *placed, int n, bool lowest)
{
    int64_t best = -1, best_room = INT64_MAX, at = 0;
    for (int i = 0; i < n; i++) {
        const struct plan_item *o = placed[i];
        if (o->life.last < it->life.first || it->life.last < o->life.first)
            continue;
        int64_t room = o->offset - at;
        if (room >= it->size && room < best_room) {
            best = at, best_room = room;
            if (lowest)
                break;
        }
        if (o->offset + o->size > at)
            at = o->offset + o->size;
    }
    return best >= 0 ? best : at;
}

/* Places the items in their order; `placed` is kept sorted by offset. The size of the arena. */
static int64_t place_items(struct plan_item *items, int n, struct plan_item **placed, bool lowest)
{
    int64_t size = 0;
    for (int i = 0; i < n; i++) {
        struct plan_item *it = &items[i];
        it->offset = find_gap(it, placed, i, lowest);
        int at = i;
        for (; at > 0 && placed[at - 1]->offset > it->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = it;
        if (it->offset + it->size > size)
            size = it->offset + it->size;
    }
    return size;
}

static int64_t lower_bound(const struct plan_item *items, int n, int nsteps, struct arena *a)
{
    int64_t *change = ARENA_ARRAY(a, int64_t, nsteps + 2), live = 0, max = 0;
    for (int i = 0; i < n; i++) {
        change[items[i].life.first] += items[i].size;
        change[items[i].life.last + 1] -= items[i].size;
    }
    for (int s = 0; s <= nsteps; s++) {
        live += change[s];
        if (live > max)
            max = live;
    }
    return max;
}

/* One item for each piece of memory: slots that take each other's in turn are one. */
static int make_items(const struct program *p, const int64_t *sizes, const struct lifetime *life,
                      const int32_t *onto, struct plan_item *items, int *item_of)
{
    int n = 0;
    for (int i = 0; i < p->nslots; i++)
        item_of[i] = -1;
    for (int i = 0; i < p->nslots; i++) {
        if (p->slots[i].kind != SLOT_PLANNED || p->slots[i].is_output ||
            p->slots[onto[i]].is_output || life[i].last < 0)
            continue;
        int64_t size = sizes[i] > 0 ? (sizes[i] + 63) / 64 * 64 : 64;
        int *at = &item_of[onto[i]];
        if (*at < 0) {
            *at = n;
            items[n++] = (struct plan_item){onto[i], size, -1, life[i]};
            continue;
        }
        struct plan_item *it = &items[*at];
        it->size = size > it->size ? size : it->size;
        it->life.first = life[i].first < it->life.first ? life[i].first : it->life.first;
        it->life.last = life[i].last > it->life.last ? life[i].last : it->life.last;
    }
    return n;
}

/* ---- the best arrangement found ---- */

struct plan_search {
    struct plan_item *items, **placed;
    int n;
    int64_t *best; /* per slot: offset */
    int64_t size, bound;
};

static void try_order(struct plan_search *s, bool lowest)
{
    int64_t size = place_items(s->items, s->n, s->placed, lowest);
    if (size >= s->size)
        return;
    s->size = size;
    for (int i = 0; i < s->n; i++)
        s->best[s->items[i].slot] = s->items[i].offset;
}

/* What lies highest goes first in the next round, for it found no room. Rounds are few: planning
 * is part of the first run with new shapes. */
static void lift_highest(struct plan_search *s, bool lowest, int64_t work)
{
    enum { LIMIT = 100 };
    int64_t each = (int64_t)s->n * s->n + 1;
    int rounds = each * LIMIT < work ? LIMIT : (int)(work / each);
    for (int r = 0; r < rounds && s->size > s->bound + s->bound / 100; r++) {
        int top = 0;
        for (int i = 1; i < s->n; i++)
            if (s->items[i].offset + s->items[i].size > s->items[top].offset + s->items[top].size)
                top = i;
        if (top == 0)
            return;
        struct plan_item it = s->items[top];
        memmove(s->items + 1, s->items, sizeof it * (size_t)top);
        s->items[0] = it;
        try_order(s, lowest);
    }
}

/* Few rounds from each order before many from any: an order from which few do not help will hardly
 * be helped by more. */
static void search_places(struct plan_search *s)
{
    enum { FEW = 250000, MANY = 2000000 };
    for (int t = 0; t < 2 * NORDERS && s->size > s->bound; t++) {
        sort_items(s->items, (size_t)s->n, sizeof *s->items, orders[t / 2]);
        try_order(s, t % 2);
    }
    for (int t = 0; t < 4 * NORDERS && s->size > s->bound + s->bound / 100; t++) {
        sort_items(s->items, (size_t)s->n, sizeof *s->items, orders[t / 2 % NORDERS]);
        place_items(s->items, s->n, s->placed, t % 2);
        lift_highest(s, t % 2, t < 2 * NORDERS ? FEW : MANY);
    }
}

void plan_memory(const struct program *p, const int64_t *values, const int64_t *sizes,
                 struct arena *a, struct memory_plan *out)
{
    struct arena scratch = {0};
    struct lifetime *life = program_lifetimes(p, &scratch);
    const int32_t *onto = find_in_place(p, values, life, &scratch);
    struct plan_search s = {.items = ARENA_ARRAY(&scratch, struct plan_item, p->nslots + 1),
                       .placed = ARENA_ARRAY(&scratch, struct plan_item *, p->nslots + 1),
                       .best = ARENA_ARRAY(&scratch, int64_t, p->nslots + 1),
                       .size = INT64_MAX};
    int *item_of = ARENA_ARRAY(&scratch, int, p->nslots + 1), steps = 0;
    s.n = make_items(p, sizes, life, onto, s.items, item_of);
    for (int i = 0; i < s.n; i++)
        steps = s.items[i].life.last > steps ? s.items[i].life.last : steps;
    s.bound = lower_bound(s.items, s.n, steps, &scratch);
    search_places(&s);
    *out = (struct memory_plan){
        .offsets = ARENA_ARRAY(a, int64_t, p->nslots + 1),
        .onto = arena_copy(a, onto, sizeof *onto * (size_t)p->nslots),
        .size = s.size,
        .lower_bound = s.bound};
    for (int i = 0; i < p->nslots; i++)
        out->offsets[i] =
            p->slots[i].kind == SLOT_PLANNED && !p->slots[onto[i]].is_output &&
                    !p->slots[i].is_output && life[i].last >= 0
                ? s.best[onto[i]]
                : -1;
    arena_free(&scratch);
}
