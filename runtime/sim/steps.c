/*
 * What steps share: HBM and memory on the chip.
 *
 * A transfer waits for those of earlier steps that touch the same memory, where one of the two
 * writes. Constants are never written, so weights are loaded as early as there is room for them.
 * Room is given as in a ring, in the order in which instances begin.
 */
#include "runtime/sim/state.h"

#include <string.h>

/* ---- uses ---- */

static int use_of(struct number_kernel *k, int slot)
{
    for (int i = 0; i < k->nuses; i++)
        if (k->uses[i].slot == slot)
            return i;
    k->uses[k->nuses] = (struct number_use){.slot = slot};
    return k->nuses++;
}

static bool is_indirect(const struct number_kernel *k, int insn, int operand)
{
    return insn_info(k->insns[insn].op)->ap[operand].reach == REACH_INDIRECT;
}

void number_uses(struct number_kernel *k, const struct sim *s, struct arena *a)
{
    int max = 0, depth = 0;
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < k->insns[i].naps; o++)
            max += k->insns[i].ap[o].mem == MEM_HBM;
    k->uses = ARENA_ARRAY(a, struct number_use, max + 1);
    k->accesses = ARENA_ARRAY(a, struct number_access, max + 1);
    for (int i = 0; i < k->ninsns; i++) {
        depth += k->insns[i].op == INSN_loop ? 1 : k->insns[i].op == INSN_end ? -1 : 0;
        k->insns[i].access = k->naccesses;
        for (int o = 0; o < k->insns[i].naps; o++) {
            struct number_ap *ap = &k->insns[i].ap[o];
            if (ap->mem != MEM_HBM)
                continue;
            struct number_use *u = &k->uses[ap->use = use_of(k, ap->tensor)];
            u->reads |= ap->reads, u->writes |= ap->writes;
            if (s->p->slots[ap->tensor].kind != SLOT_CONST)
                k->accesses[k->naccesses++] =
                    (struct number_access){ap, depth > 0, depth > 0 || is_indirect(k, i, o)};
        }
        k->insns[i].naccesses = k->naccesses - k->insns[i].access;
    }
}

struct place *slot_places(const struct sim *s, const int64_t *sizes, struct arena *a)
{
    const struct program *p = s->p;
    struct place *places = ARENA_ARRAY(a, struct place, p->nslots + 1);
    int64_t *known = ARENA_ARRAY(a, int64_t, p->nslots + 1);
    for (int i = 0; i < p->nslots; i++)
        known[i] = sizes[i] < 0 ? 0 : sizes[i];
    struct memory_plan plan;
    plan_memory(p, s->o.values, known, a, &plan);
    for (int i = 0; i < p->nslots; i++) {
        int64_t at = plan.offsets[i];
        if (p->slots[i].kind != SLOT_PLANNED || at < 0) /* perhaps an output's, as a loop's result */
            places[i] = (struct place){plan.onto[i], {0, INT64_MAX}};
        else if (sizes[i] < 0)
            places[i] = (struct place){-1, {0, INT64_MAX}};
        else
            places[i] = (struct place){-1, {at, at + sizes[i]}};
    }
    return places;
}

static bool overlap(struct range a, struct range b)
{
    int64_t low = a.low > b.low ? a.low : b.low, high = a.high < b.high ? a.high : b.high;
    return low < high;
}

static bool uses_conflict(const struct flight *f, const struct number_use *a,
                          const struct number_use *b)
{
    const struct place *x = &f->places[a->slot], *y = &f->places[b->slot];
    return (a->writes || b->writes) && x->space == y->space && overlap(x->bytes, y->bytes);
}

static bool complete(const struct step_state *x, int cores)
{
    for (int c = 0; c < cores; c++)
        if (x->on[c].working)
            return false;
    return true;
}

/* Which of the steps before share memory with a step. */
static void find_conflicts(struct flight *f, int step)
{
    struct step_state *x = step_at(f, step);
    for (int u = 0; u < x->k->nuses; u++)
        for (int d = 0; d < MAX_STEPS && d < step; d++) {
            const struct number_kernel *k = step_at(f, step - d - 1)->k;
            for (int i = 0; i < k->nuses; i++)
                if (uses_conflict(f, &x->k->uses[u], &k->uses[i]))
                    x->uses[u].conflicts |= 1u << d;
        }
}

/* ---- accesses ---- */

enum { MAX_ACCESSES = 4096 }; /* of a step, told apart; else all of an instruction are one */

/* Of which instance an access is the state; -1: all instances have one. */
static struct access_state *access_state(const struct step_state *x, int access, int64_t instance)
{
    return &x->accesses[x->apart ? instance * x->k->naccesses + access : access];
}

static void set_range(const struct flight *f, const struct number_access *n, const int64_t *vars,
                      struct access_state *a)
{
    const struct place *x = &f->places[n->ap->tensor];
    a->bytes = x->bytes;
    if (!vars || n->anywhere)
        return;
    struct byte_runs r = region_of(n->ap, vars);
    a->bytes = (struct range){r.low + x->bytes.low, r.high + x->bytes.low};
}

static void open_accesses(struct flight *f, struct step_state *x)
{
    const struct number_kernel *k = x->k;
    int64_t vars[MAX_VARS] = {0}, n = k->naccesses;
    x->apart = n > 0 && k->instances <= MAX_ACCESSES / n;
    int64_t instances = x->apart ? k->instances : 1;
    x->accesses = ARENA_ARRAY(&x->kept, struct access_state, n * instances + 1);
    for (int64_t i = 0; i < instances; i++) {
        grid_point(k, i, vars);
        for (int a = 0; a < n; a++) {
            struct access_state *y = access_state(x, a, i);
            set_range(f, &k->accesses[a], x->apart ? vars : NULL, y);
            y->end = (struct moment){.record = -1};
        }
    }
}

/* Whether no execution of the access is to come. */
static bool is_over(const struct flight *f, const struct step_state *x, int access,
                    const struct access_state *y)
{
    return complete(x, f->s->o.cores) || (y->executed && x->apart && !x->k->accesses[access].in_loop);
}

/* Adds what an earlier step does with the same memory; false: some of that is to come. `known`: what
 * is over by then, alone. */
static bool follow(const struct flight *f, const struct step_state *x, const struct number_ap *ap,
                   const struct access_state *y, bool known, struct begin *b)
{
    int64_t instances = x->apart ? x->k->instances : 1;
    int space = f->places[ap->tensor].space, n = x->k->naccesses;
    for (int64_t e = 0; e < n * instances; e++) {
        const struct access_state *z = &x->accesses[e];
        const struct number_ap *other = x->k->accesses[e % n].ap;
        if (!overlap(y->bytes, z->bytes) || f->places[other->tensor].space != space ||
            !(ap->writes || other->writes))
            continue;
        if (!is_over(f, x, (int)(e % n), z))
            return false;
        if (known)
            b->at = later(b->at, z->end);
        else if (z->end.at > b->at.at)
            b->at.at = z->end.at, b->at.record = z->end.record;
        if (ap->reads && other->writes && z->reach > b->reach)
            b->reach = z->reach;
    }
    return true;
}

static bool follow_steps(const struct launch_state *l, const struct number_insn *n, int64_t instance,
                         bool known, struct begin *b)
{
    struct flight *f = l->f;
    const struct step_state *x = step_at(f, l->step);
    *b = (struct begin){.at = f->begin, .reach = f->reach};
    if (l->s->o.plant == PLANT_EARLY_STEPS)
        return true;
    for (int a = n->access; a < n->access + n->naccesses; a++) {
        const struct number_ap *ap = l->k->accesses[a].ap;
        const struct access_state *y = access_state(x, a, instance);
        b->at = later(b->at, x->before);
        for (int d = 0; d < MAX_STEPS; d++)
            if (x->uses[ap->use].conflicts & 1u << d &&
                !follow(f, step_at(f, l->step - d - 1), ap, y, known, b))
                return false;
    }
    return true;
}

bool accesses_begin(const struct launch_state *l, const struct number_insn *n, int64_t instance,
                    struct begin *b)
{
    return follow_steps(l, n, instance, false, b) &&
           (!l->s->watch || follow_steps(l, n, instance, true, b));
}

void note_accesses(struct launch_state *l, const struct number_insn *n, int64_t instance,
                   struct moment end, int64_t reach)
{
    const struct step_state *x = step_at(l->f, l->step);
    for (int a = n->access; a < n->access + n->naccesses; a++) {
        struct access_state *y = access_state(x, a, instance);
        y->executed = true;
        y->end = later(y->end, end);
        y->reach = reach > y->reach ? reach : y->reach;
    }
}

/* ---- steps ---- */

static int fitting(int64_t room, int64_t one)
{
    return one <= 0 || room / one >= MAX_OVERLAP ? MAX_OVERLAP
           : room / one < 1                       ? 1
                                                  : (int)(room / one);
}

/* Instances that have memory at a time. */
static int overlap_of(const struct sim *s, const struct number_kernel *k)
{
    if (!s->m->strict)
        return 1;
    int n = fitting(s->m->sbuf, k->sbuf); /* one may load while others have PSUM */
    return s->o.overlap && s->o.overlap < n ? s->o.overlap : n;
}

enum { MAX_PARTS = 1 << 20 }; /* of all launches */

static void add_parts(struct sim *s, struct sim_launch *l, const struct number_kernel *k)
{
    if (k->nparts < 2)
        return;
    if (s->nparts + k->nparts > MAX_PARTS) {
        s->parts_missing = true;
        return;
    }
    s->nparts += l->nparts = k->nparts;
    l->parts = ARENA_ARRAY(&s->arena, struct sim_part, k->nparts);
    for (int i = 0; i < k->nparts; i++)
        l->parts[i] = (struct sim_part){.node = k->part_nodes[i], .work.start = -1};
}

static struct sim_launch *add_launch(struct flight *f, const struct number_kernel *k)
{
    struct sim *s = f->s;
    grow((void **)&s->launches, s->nlaunches, &s->launches_cap, sizeof *s->launches);
    struct sim_launch *l = &s->launches[s->nlaunches++];
    *l = (struct sim_launch){.kernel = k->index,
                             .call = -1,
                             .instances = k->instances,
                             .overlap = overlap_of(s, k),
                             .work.start = -1};
    add_parts(s, l, k);
    int64_t flops = dim_value(s->o.values, k->k->flops);
    s->kernel_flops += flops > 0 && flops != DIM_NOT_BOUND ? (double)flops : 0;
    return l;
}

static void open_step(struct flight *f)
{
    struct sim *s = f->s;
    int step = f->next++, kernel = f->kernels[step], cores = s->o.cores;
    struct step_state *x = step_at(f, step);
    if (step > MAX_STEPS)
        f->before = later(f->before, step_at(f, step - MAX_STEPS - 1)->end);
    *x = (struct step_state){.k = f->numbers[kernel], .end = {.record = -1}, .before = f->before};
    x->uses = ARENA_ARRAY(&x->kept, struct use_state, x->k->nuses + 1);
    find_conflicts(f, step);
    open_accesses(f, x);
    const struct sim_launch *y = add_launch(f, x->k);
    for (int c = 0; c < cores; c++) {
        struct launch_state *l = &x->on[c];
        *l = (struct launch_state){.s = s,
                                   .f = f,
                                   .k = x->k,
                                   .t = machine_timing(s->m),
                                   .d = f->d,
                                   .a = &x->arena,
                                   .c = &f->cores[c],
                                   .uses = x->uses,
                                   .core = c,
                                   .cores = cores,
                                   .launch = s->nlaunches - 1,
                                   .step = step,
                                   .overlap = y->overlap,
                                   .aliases = f->aliases[kernel]};
        l->count = (x->k->instances - c + cores - 1) / cores;
        for (int i = 0; i < MAX_OVERLAP; i++)
            l->ring[i].index = -1;
        for (int e = 0; e < ENGINE_COUNT; e++)
            l->active += l->count > 0 && x->k->streams[e].n > 0;
        l->working = l->active;
        if (f->max == 1)
            f->cores[c].freed = later(f->cores[c].freed, f->end);
    }
}

/* Reads of a step that a memory on the chip could not have saved: of each slot what there is. */
static int64_t useful_reads(const struct flight *f, const struct step_state *x)
{
    int64_t sum = 0;
    for (int u = 0; u < x->k->nuses; u++) {
        int64_t read = x->uses[u].bytes_read, size = f->slot_sizes[x->k->uses[u].slot];
        sum += size >= 0 && size < read ? size : read;
    }
    return sum;
}

/* The step, or a part of it, is over; `before`: when all before it were. */
static void finish_work(struct sim_work *w, int64_t before)
{
    w->end = w->end > 0 ? w->end : before;
    w->start = w->start < 0 ? w->end : w->start;
    w->adds = w->end > before ? w->end - before : 0;
}

static void finish_step(struct flight *f, struct step_state *x)
{
    struct sim_launch *l = &f->s->launches[x->on[0].launch];
    int64_t before = f->end.at;
    l->work.end = x->end.at;
    finish_work(&l->work, before);
    for (int i = 0; i < l->nparts; i++) {
        finish_work(&l->parts[i].work, before);
        before += l->parts[i].work.adds;
    }
    f->end = later(f->end, x->end);
    f->s->hbm_useful += useful_reads(f, x);
}

void open_steps(struct flight *f)
{
    for (; f->oldest < f->next; f->oldest++) {
        struct step_state *x = step_at(f, f->oldest);
        if (!complete(x, f->s->o.cores))
            break;
        finish_step(f, x);
        arena_free(&x->arena);
        if (f->oldest >= MAX_STEPS) /* nobody asks for its uses any more */
            arena_free(&step_at(f, f->oldest - MAX_STEPS)->kept);
    }
    while (f->next < f->nsteps && f->next - f->oldest < f->max)
        open_step(f);
}

/* ---- room ---- */

static struct range room_in(const struct room *x, bool psum)
{
    return psum ? x->psum : x->sbuf;
}

/* The number of the last room, of those not known to be given back, that has any of it; the oldest less one: none. */
static int last_that_has(const struct core_state *c, bool psum, struct range r)
{
    for (int i = c->next_room - 1; i >= c->oldest_room; i--)
        if (overlap(room_in(&c->rooms[i % MAX_ROOMS], psum), r))
            return i;
    return c->oldest_room - 1;
}

/* Of the places at both ends of the memory and beside rooms, the one that is given back first: rooms are in the
 * program's order, so that this does not depend on times. */
static struct range best_place(const struct core_state *c, bool psum, int64_t bytes, int64_t size)
{
    struct range best = {0, bytes};
    int last = last_that_has(c, psum, best);
    for (int i = c->oldest_room - 1; i < c->next_room && last >= c->oldest_room; i++) {
        struct range x = {size, 0}; /* first: the other end */
        if (i >= c->oldest_room)
            x = room_in(&c->rooms[i % MAX_ROOMS], psum);
        for (int side = 0; side < 2; side++) {
            int64_t low = side ? x.high : x.low - bytes;
            struct range r = {low, low + bytes};
            int found = low < 0 || r.high > size ? last : last_that_has(c, psum, r);
            if (found < last)
                best = r, last = found;
        }
    }
    return best;
}

/* Rooms taken so far that have any of the range, as far back as one may not be over: a bit each. */
static uint64_t rooms_that_have(const struct core_state *c, bool psum, struct range r)
{
    uint64_t rooms = 0;
    int first = c->next_room > MAX_ROOMS ? c->next_room - MAX_ROOMS : 0;
    for (int i = first; i < c->next_room; i++)
        if (overlap(room_in(&c->rooms[i % MAX_ROOMS], psum), r))
            rooms |= UINT64_C(1) << i % MAX_ROOMS;
    return rooms;
}

bool room_begins(struct core_state *c, int room, bool psum, struct moment *freed)
{
    struct before *b = &c->rooms[room].before[psum];
    for (uint64_t left = b->rooms; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        if (!c->rooms[i].over)
            return false;
        b->freed = later(b->freed, c->rooms[i].end);
        b->rooms &= ~(UINT64_C(1) << i);
    }
    *freed = b->freed;
    return true;
}

/* The oldest room's place in the list is taken by another: those that wait for it keep its end, and so do all that
 * begin later, which may have its memory. */
static void forget_room(struct core_state *c, int room)
{
    for (int i = 0; i < MAX_ROOMS; i++)
        for (int m = 0; m < 2; m++) {
            struct before *b = &c->rooms[i].before[m];
            if (!(b->rooms >> room & 1))
                continue;
            b->rooms &= ~(UINT64_C(1) << room);
            b->freed = later(b->freed, c->rooms[room].end);
        }
    c->forgotten = later(c->forgotten, c->rooms[room].end);
}

bool take_room(struct launch_state *l, int *room)
{
    struct core_state *c = l->c;
    const struct machine *m = l->s->m;
    int64_t bank = m->psum_bank > 0 ? m->psum_bank : 1;
    int64_t psum = (l->k->psum + bank - 1) / bank * bank;
    int at = c->next_room % MAX_ROOMS;
    if (c->next_room >= MAX_ROOMS && !c->rooms[at].over)
        return false;
    if (c->next_room >= MAX_ROOMS)
        forget_room(c, at);
    struct room r = {.sbuf = best_place(c, false, l->k->sbuf, m->sbuf),
                     .psum = best_place(c, true, psum, m->psum)};
    c->rooms[at].sbuf = c->rooms[at].psum = (struct range){0, 0};
    bool early = l->s->o.plant == PLANT_EARLY_ROOMS;
    for (int i = 0; i < 2; i++)
        r.before[i] = (struct before){early ? 0 : rooms_that_have(c, i, i ? r.psum : r.sbuf), c->forgotten};
    for (int i = c->next_room - 1; i >= c->oldest_room; i--) /* those that are over before it begins */
        if (overlap(c->rooms[i % MAX_ROOMS].sbuf, r.sbuf) || overlap(c->rooms[i % MAX_ROOMS].psum, r.psum)) {
            c->oldest_room = i + 1;
            break;
        }
    if (c->next_room - c->oldest_room >= MAX_ROOMS)
        c->oldest_room = c->next_room - MAX_ROOMS + 1;
    c->next_room++;
    c->rooms[*room = at] = r;
    return true;
}
