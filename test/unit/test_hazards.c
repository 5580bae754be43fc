/*
 * Faults planted in copies of synchronised programs: each must be found, and named.
 *
 *   test_hazards                 the kernels of models/kernels, and a small one
 *   test_hazards PROGRAM.xasm... of compiled programs, as xdump --asm prints them
 */
#include "neff_test.h"

#include "backend/schedule/schedule.h"
#include "neff/base/file.h"
#include "neff/isa/cost.h"
#include "neff/plan/hazards_memory.h"

#include <stdlib.h>

static const struct hazard_limits limits = {.insns = 20000, .points = 2, .sums = true};

struct hazard_subject {
    struct program *p;
    struct kernel *k;
    const struct machine *m;
    int64_t *values;
    struct arena arena;
    uint8_t *executed, *useful; /* hazard_trace of the sound kernel */
    int planted[16], missed[16], harmless[16];
    bool print;
};

enum fault {
    NO_WAIT,
    LOW_COUNT,
    HIGH_COUNT,
    NO_SIGNAL,
    SAME_ADDRESS,
    PAST_END,
    NEVER_WRITTEN,
    OTHER_QUEUE,
    OTHER_SEMAPHORE,
    WAIT_LATER,
    SIGNAL_TWICE,
    SIGNAL_EARLIER,
    OTHER_ENGINE,
    SMALL_TILE,
    NOT_STARTED,
    FAULTS
};
static const struct {
    const char *name;
    const char *kinds[7]; /* any of them */
    bool may_order_all;   /* no fault where all that touches the same bytes is in order as before */
} faults[FAULTS] = {
    [NO_WAIT] = {"wait removed", {"missing wait", "two queues", "overlapping", "uninit"}, true},
    [LOW_COUNT] = {"count too low", {"missing wait", "two queues", "overlapping", "uninit"}, true},
    [HIGH_COUNT] = {"count too high", {"wrong count", "deadlock"}, false},
    [NO_SIGNAL] = {"signal removed",
                   {"wrong count", "deadlock", "missing wait", "two queues", "overlapping"}, false},
    [SAME_ADDRESS] = {"two tiles at one address", {"overlapping"}, false},
    [PAST_END] = {"a tile past the memory's end", {"capacity"}, false},
    [NEVER_WRITTEN] = {"a tile that nothing writes", {"uninitialised"}, false},
    [OTHER_QUEUE] = {"a transfer twice, by another queue", {"two queues", "missing wait"}, false},
    [OTHER_SEMAPHORE] = {"a wait for another semaphore",
                         {"missing wait", "two queues", "overlapping", "uninit", "wrong count", "deadlock"}, true},
    [WAIT_LATER] = {"a wait at the engine's next instruction",
                    {"missing wait", "two queues", "overlapping", "uninit", "wrong count", "deadlock"}, true},
    [SIGNAL_TWICE] = {"a semaphore signalled twice", {"missing wait", "two queues", "overlapping", "uninit"}, true},
    [SIGNAL_EARLIER] = {"a signal at the engine's instruction before",
                        {"missing wait", "two queues", "overlapping", "uninit"}, true},
    [OTHER_ENGINE] = {"another engine's instruction, without waits and signals",
                      {"missing wait", "two queues", "overlapping", "uninit", "wrong count", "deadlock"}, true},
    [SMALL_TILE] = {"a tile smaller than its accesses", {"capacity"}, false},
    [NOT_STARTED] = {"a product that does not start its sums", {"stale sums", "uninit", "overlapping"}, false},
};

static bool sound(const struct hazard_subject *s, struct diag *d)
{
    return kernel_is_sound(s->p, s->k, s->m, s->values, &limits, d);
}

/* ---- what a plant changes, found in another way than by the checker's clocks ---- */

/* One execution of an instruction at the first point of the grid, and what is over when it begins: a bit each, of those
 * before it in the kernel's order. */
struct executed {
    int insn;
    int64_t vars[MAX_VARS];
    uint8_t *over;
};
struct order {
    const struct hazard_subject *s;
    struct executed *events;
    int n, cap;
    struct arena arena;
};

/* From an instruction to the end of its loop, or of the kernel; run: not at all, but where that is. */
static int list_events(struct order *o, int i, int64_t *vars, bool run)
{
    const struct kernel *k = o->s->k;
    for (; i < k->ninsns && k->insns[i].op != INSN_end; i++) {
        const struct insn *n = &k->insns[i];
        if (n->op == INSN_loop) {
            struct hazard_memory m = {.p = o->s->p, .k = k, .values = o->s->values, .vars = vars};
            int64_t count = hazard_value(&m, &n->imm[IMM(loop, count)]), t = 0;
            int var = (int)n->imm[IMM(loop, var)].base, body = i + 1;
            do {
                vars[var] = t;
                i = list_events(o, body, vars, run && t < count);
            } while (++t < count);
        } else if (run) {
            ARENA_GROW(&o->arena, o->events, o->n, o->cap);
            o->events[o->n] = (struct executed){.insn = i};
            memcpy(o->events[o->n++].vars, vars, sizeof o->events->vars);
        }
    }
    return i;
}

static int count_events(const struct hazard_subject *s)
{
    struct order o = {.s = s};
    int64_t vars[MAX_VARS] = {0};
    list_events(&o, 0, vars, true);
    arena_free(&o.arena);
    return o.n;
}

static const struct insn *insn_of(const struct order *o, int event)
{
    return &o->s->k->insns[o->events[event].insn];
}

static bool meet(const struct order *o, int a, int b)
{
    const struct insn *x = insn_of(o, a), *y = insn_of(o, b);
    struct hazard_memory m = {
        .p = o->s->p, .k = o->s->k, .values = o->s->values, .vars = o->events[a].vars};
    for (int i = 0; i < insn_info(x->op)->naps; i++)
        for (int j = 0; j < insn_info(y->op)->naps; j++) {
            if (x->ap[i].mem == MEM_NONE || y->ap[j].mem == MEM_NONE ||
                (insn_info(x->op)->ap[i].access == 'r' && insn_info(y->op)->ap[j].access == 'r'))
                continue;
            struct ap p = insn_touched(x, i), q = insn_touched(y, j);
            m.vars = o->events[a].vars;
            struct box one = box_of(&m, &p);
            m.vars = o->events[b].vars;
            struct box other = box_of(&m, &q);
            if (boxes_meet(&m, &one, &other))
                return true;
        }
    return false;
}

static void is_over(struct order *o, int event, int other)
{
    uint8_t *over = o->events[event].over;
    for (int i = 0; i < o->n; i++)
        over[i] |= o->events[other].over[i];
    over[other] = 1;
}

/* Transfers of a queue complete one after the other. */
static void transfer_is_over(struct order *o, int event, int transfer)
{
    for (int e = 0; e <= transfer; e++)
        if (insn_of(o, e)->engine == insn_of(o, transfer)->engine && insn_is_transfer(insn_of(o, e)))
            is_over(o, event, e);
}

static void signals_are_over(struct order *o, int event, int semaphore, int64_t count)
{
    for (int e = 0; e < event && count > 0; e++)
        for (int x = 0; x < 2 && count > 0; x++) {
            if (insn_of(o, e)->signal[x] != semaphore)
                continue;
            count--;
            if (o->s->m->strict && insn_is_transfer(insn_of(o, e)))
                transfer_is_over(o, event, e);
            else
                is_over(o, event, e);
        }
}

static void find_over(struct order *o, int event)
{
    const struct insn *n = insn_of(o, event);
    struct hazard_memory m = {.p = o->s->p, .k = o->s->k, .values = o->s->values, .vars = o->events[event].vars};
    bool first = true;
    o->events[event].over = ARENA_ARRAY(&o->arena, uint8_t, o->n + 1);
    for (int e = event - 1; e >= 0; e--) {
        if (insn_of(o, e)->engine != n->engine)
            continue;
        bool moves = o->s->m->strict && insn_is_transfer(insn_of(o, e));
        for (int i = 0; first && i < o->n; i++)
            o->events[event].over[i] |= o->events[e].over[i];
        if (first && !moves)
            is_over(o, event, e);
        if (moves && !o->events[event].over[e] && meet(o, e, event))
            transfer_is_over(o, event, e);
        first = false;
    }
    for (int w = 0; w < n->nwaits; w++)
        signals_are_over(o, event, n->wait[w].semaphore, hazard_value(&m, &n->wait[w].value));
}

/* Whether every two instructions of different engines that touch the same bytes, where one of them writes, are in order
 * as the kernel is now. */
static bool all_in_order(const struct hazard_subject *s)
{
    struct order o = {.s = s};
    int64_t vars[MAX_VARS] = {0};
    bool all = true;
    for (int g = 0; g < s->k->ngrid; g++)
        all &= dim_value(s->values, s->k->grid[g]) == 1;
    list_events(&o, 0, vars, true);
    for (int e = 0; all && e < o.n; e++) {
        find_over(&o, e);
        for (int x = 0; all && x < e; x++)
            all = o.events[e].over[x] || insn_of(&o, x)->engine == insn_of(&o, e)->engine || !meet(&o, x, e);
    }
    arena_free(&o.arena);
    return all;
}

/* ---- plants ---- */

/* The program as it is now has the fault. To leave out a wait, for one, is none where all that touches the same bytes
 * is in order without it: the compiler waits for whole tiles, and for cells of tensors, where a pattern leaves gaps. */
static bool found(struct hazard_subject *s, enum fault f, int insn)
{
    struct diag d = {0};
    bool is_sound = sound(s, &d);
    if (is_sound && faults[f].may_order_all && all_in_order(s)) {
        s->harmless[f]++;
        return true;
    }
    s->planted[f]++;
    for (int i = 0; !is_sound && faults[f].kinds[i]; i++)
        if (!strncmp(d.text, faults[f].kinds[i], strlen(faults[f].kinds[i])))
            return true;
    s->missed[f]++;
    if (s->print)
        printf("%s, kernel '%s', instruction %d: %s\n", faults[f].name, s->k->name, insn,
               *d.text ? d.text : "not found");
    return false;
}

static bool awaited(const struct hazard_subject *s, int semaphore)
{
    for (int i = 0; i < s->k->ninsns; i++)
        for (int w = 0; w < s->k->insns[i].nwaits; w++)
            if (s->useful[i * MAX_SYNC + w] && s->k->insns[i].wait[w].semaphore == semaphore)
                return true;
    return false;
}

static void plant_in_waits(struct hazard_subject *s, int i)
{
    struct insn *n = &s->k->insns[i], old = *n;
    for (int w = 0; w < old.nwaits; w++) {
        if (!s->useful[i * MAX_SYNC + w])
            continue; /* without it the order is the same: other waits imply it, or nothing is left to be done */
        n->wait = arena_copy(&s->arena, old.wait, sizeof *old.wait * old.nwaits);
        n->wait[w].value.base = dim_add(&s->p->dims, n->wait[w].value.base, 100000);
        found(s, HIGH_COUNT, i);
        n->wait[w].value.base = dim_sub(&s->p->dims, n->wait[w].value.base, 100001);
        found(s, LOW_COUNT, i);
        n->wait[w] = n->wait[--n->nwaits];
        found(s, NO_WAIT, i);
        *n = old;
    }
    if (old.signal[0] >= 0 && awaited(s, old.signal[0])) {
        n->signal[0] = -1;
        found(s, NO_SIGNAL, i);
        *n = old;
    }
}

/* The engine's instruction after i, or before it, in the same loop; -1: none. */
static int neighbour(const struct kernel *k, int i, int step)
{
    for (int j = i + step; j >= 0 && j < k->ninsns; j += step) {
        if (k->insns[j].op == INSN_loop || k->insns[j].op == INSN_end)
            return -1;
        if (k->insns[j].engine == k->insns[i].engine)
            return j;
    }
    return -1;
}

static void plant_wait_elsewhere(struct hazard_subject *s, int i)
{
    struct insn *n = &s->k->insns[i], old = *n;
    int next = neighbour(s->k, i, 1);
    for (int w = 0; w < old.nwaits; w++) {
        if (!s->useful[i * MAX_SYNC + w])
            continue;
        n->wait = arena_copy(&s->arena, old.wait, sizeof *old.wait * old.nwaits);
        for (int other = 0; other < s->k->nsemaphores && other < 8; other++) {
            n->wait[w].semaphore = (uint16_t)other;
            if (other != old.wait[w].semaphore)
                found(s, OTHER_SEMAPHORE, i);
        }
        *n = old;
    }
    if (next < 0 || !old.nwaits || s->k->insns[next].nwaits)
        return;
    s->k->insns[next].wait = old.wait, s->k->insns[next].nwaits = old.nwaits;
    n->nwaits = 0;
    found(s, WAIT_LATER, i);
    *n = old;
    s->k->insns[next].nwaits = 0;
}

static void plant_signal_elsewhere(struct hazard_subject *s, int i)
{
    struct insn *n = &s->k->insns[i], old = *n;
    int before = neighbour(s->k, i, -1);
    if (old.signal[0] < 0 || old.signal[1] >= 0 || !awaited(s, old.signal[0]))
        return;
    n->signal[1] = old.signal[0];
    found(s, SIGNAL_TWICE, i);
    n->signal[0] = n->signal[1] = -1;
    if (before >= 0 && s->k->insns[before].signal[0] < 0) {
        s->k->insns[before].signal[0] = old.signal[0];
        found(s, SIGNAL_EARLIER, i);
        s->k->insns[before].signal[0] = -1;
    }
    *n = old;
}

static void plant_engine(struct hazard_subject *s, int i)
{
    struct insn *n = &s->k->insns[i], old = *n;
    for (int e = 0; e < ENGINE_COUNT; e++) {
        if (e == old.engine || !(insn_info(n->op)->engines & 1u << e))
            continue;
        n->engine = (uint8_t)e;
        n->nwaits = 0, n->signal[0] = n->signal[1] = -1;
        found(s, OTHER_ENGINE, i);
        *n = old;
    }
}

/* The first product of a group adds onto what an earlier group has left. */
static void plant_sums(struct hazard_subject *s, int i)
{
    struct insn *n = &s->k->insns[i], old = *n;
    static const int64_t vars[MAX_VARS];
    struct hazard_memory m = {.p = s->p, .k = s->k, .values = s->values, .vars = vars};
    const int accumulate = IMM(nc_matmul, accumulate);
    if (n->op != INSN_nc_matmul || hazard_value(&m, &n->imm[accumulate]) != 0)
        return;
    n->imm = arena_copy(&s->arena, old.imm, sizeof *old.imm * insn_info(n->op)->nimms);
    n->imm[accumulate].base = dim_add(&s->p->dims, n->imm[accumulate].base, 1);
    found(s, NOT_STARTED, i);
    *n = old;
}

/* A copy of the store, on another engine's queue and without waits. */
static void plant_queue(struct hazard_subject *s, int i)
{
    struct kernel *k = s->k, old = *k;
    struct insn *n = &k->insns[i];
    if (!insn_is_transfer(n) || n->ap[0].mem != MEM_HBM)
        return;
    k->insns = ARENA_ARRAY(&s->arena, struct insn, old.ninsns + 1);
    memcpy(k->insns, old.insns, sizeof *n * (size_t)(i + 1));
    memcpy(k->insns + i + 2, old.insns + i + 1, sizeof *n * (size_t)(old.ninsns - i - 1));
    k->insns[i + 1] = old.insns[i];
    k->insns[i + 1].engine = k->insns[i].engine == ENGINE_POOL ? ENGINE_PE : ENGINE_POOL;
    k->insns[i + 1].signal[0] = k->insns[i + 1].signal[1] = -1;
    k->ninsns++;
    found(s, OTHER_QUEUE, i);
    *k = old;
}

static void plant_unwritten(struct hazard_subject *s, int i)
{
    struct kernel *k = s->k, old = *k;
    struct insn *n = &k->insns[i], was = *n;
    for (int a = 0; a < insn_info(n->op)->naps; a++) {
        if ((was.ap[a].mem != MEM_SBUF && was.ap[a].mem != MEM_PSUM) ||
            insn_info(n->op)->ap[a].access != 'r')
            continue;
        k->tiles = ARENA_ARRAY(&s->arena, struct tile, old.ntiles + 1);
        memcpy(k->tiles, old.tiles, sizeof *k->tiles * (size_t)old.ntiles);
        k->tiles[k->ntiles] = k->tiles[was.ap[a].tensor];
        k->tiles[k->ntiles].address = -1;
        n->ap = arena_copy(&s->arena, was.ap, sizeof *was.ap * insn_info(n->op)->naps);
        n->ap[a].tensor = k->ntiles++;
        found(s, NEVER_WRITTEN, i);
        *n = was;
        *k = old;
    }
}

struct tile_access {
    int tensor, insn;
    bool write;
    struct box box;
};

/* What the kernel's order does with two tiles, loops once. */
static int accesses_of(const struct hazard_subject *s, const struct hazard_memory *m, int a, int b,
                       struct tile_access *list)
{
    int n = 0;
    for (int i = 0; i < s->k->ninsns; i++)
        for (int o = 0; o < insn_info(s->k->insns[i].op)->naps; o++) {
            const struct ap *ap = &s->k->insns[i].ap[o];
            if ((ap->mem == MEM_SBUF || ap->mem == MEM_PSUM) && (ap->tensor == a || ap->tensor == b))
                list[n++] = (struct tile_access){
                    ap->tensor, i, insn_info(s->k->insns[i].op)->ap[o].access != 'r', box_of(m, ap)};
        }
    return n;
}

/* Of the writes to what access r reads: the last is to the other tile, and an earlier one to its own. */
static bool other_wrote_last(const struct hazard_memory *m, const struct tile_access *list, int r)
{
    bool other = false;
    for (int w = r - 1; w >= 0; w--) {
        if (!list[w].write || list[w].insn == list[r].insn || !boxes_meet(m, &list[r].box, &list[w].box))
            continue;
        if (list[w].tensor == list[r].tensor)
            return other;
        other = true;
    }
    return false;
}

/* Whether an access reads what was written to its tile, after the other tile was written there. */
static bool overwritten(const struct hazard_subject *s, int a, int b)
{
    static const int64_t vars[MAX_VARS];
    struct hazard_memory m = {.p = s->p, .k = s->k, .values = s->values, .vars = vars};
    struct tile_access *list = calloc((size_t)s->k->ninsns * MAX_APS, sizeof *list);
    int n = accesses_of(s, &m, a, b, list);
    bool any = false;
    for (int r = 0; r < n && !any; r++)
        any = !list[r].write && other_wrote_last(&m, list, r);
    free(list);
    return any;
}

/* Of a tile of which some access has the last element. */
static void plant_small_tile(struct hazard_subject *s, int tile)
{
    static const int64_t vars[MAX_VARS];
    struct hazard_memory m = {.p = s->p, .k = s->k, .values = s->values, .vars = vars};
    struct tile *t = &s->k->tiles[tile], old = *t;
    int64_t size = dim_value(s->values, old.partitions) * dim_value(s->values, old.elements);
    bool full = false;
    for (int i = 0; i < s->k->ninsns; i++)
        for (int a = 0; a < insn_info(s->k->insns[i].op)->naps && s->executed[i]; a++) {
            const struct ap *ap = &s->k->insns[i].ap[a];
            bool on_chip = ap->mem == MEM_SBUF || ap->mem == MEM_PSUM;
            full |= on_chip && ap->tensor == tile && ap->dtype == old.dtype && box_of(&m, ap).high == size;
        }
    if (!full || dim_value(s->values, old.partitions) < 2)
        return;
    t->partitions = dim_sub(&s->p->dims, old.partitions, 1);
    found(s, SMALL_TILE, -1);
    *t = old;
}

static void plant_in_tiles(struct hazard_subject *s)
{
    struct tile *tiles = s->k->tiles;
    for (int i = 0; i < s->k->ntiles; i++) {
        struct tile old = tiles[i];
        if (old.address < 0)
            continue;
        int64_t limit = old.mem == MEM_PSUM ? s->m->psum : s->m->sbuf;
        int64_t bytes = dim_value(s->values, old.elements) * (int64_t)dtype_bytes(old.dtype);
        tiles[i].address = limit - bytes + 64;
        found(s, PAST_END, -1);
        tiles[i].address = old.address;
        plant_small_tile(s, i);
        for (int j = i + 1; j < s->k->ntiles && j < i + 4; j++)
            if (tiles[j].mem == old.mem && tiles[j].address >= 0 && tiles[j].address + bytes <= limit) {
                tiles[i].address = tiles[j].address;
                if (overwritten(s, i, j))
                    found(s, SAME_ADDRESS, -1);
            }
        tiles[i] = old;
    }
}

static void plant_all(struct hazard_subject *s)
{
    struct diag d = {0};
    s->executed = ARENA_ARRAY(&s->arena, uint8_t, s->k->ninsns + 1);
    s->useful = ARENA_ARRAY(&s->arena, uint8_t, (s->k->ninsns + 1) * MAX_SYNC);
    struct hazard_trace trace = {s->executed, s->useful};
    struct hazard_limits traced = limits;
    traced.trace = &trace;
    if (!kernel_is_sound(s->p, s->k, s->m, s->values, &traced, &d))
        fail_msg("kernel '%s' before anything is planted: %s", s->k->name, d.text);
    int n = count_events(s), every = n / 300 + 1; /* what is found harmless takes the square of that to judge */
    for (int i = 0; i < s->k->ninsns; i++) {
        if (!s->executed[i])
            continue;
        plant_in_waits(s, i);
        if (n < 2000 && i % every == 0) {
            plant_wait_elsewhere(s, i);
            plant_signal_elsewhere(s, i);
            plant_engine(s, i);
        }
        plant_queue(s, i);
        plant_sums(s, i);
        plant_unwritten(s, i);
    }
    plant_in_tiles(s);
}

static void subject_read(struct hazard_subject *s, const char *file)
{
    struct diag d = {0};
    struct mapped_file text;
    *s = (struct hazard_subject){.print = true};
    if (!file_map(&text, file, &d))
        fail_msg("%s", d.text);
    s->p = program_parse((const char *)text.data, text.size, file, &d);
    if (!s->p)
        fail_msg("%s", d.text);
    file_unmap(&text);
    s->m = machine_find(s->p->target);
    s->values = bind_symbols_for_report(s->p, NULL, 0, 2, &s->arena, &d);
}

static int report(const struct hazard_subject *s, const char *file)
{
    int missed = 0;
    for (int f = 0; f < FAULTS; f++) {
        printf("%s: %s: %d planted, %d missed; %d order nothing\n", file, faults[f].name, s->planted[f], s->missed[f],
               s->harmless[f]);
        missed += s->missed[f];
    }
    return missed;
}

static int plant_in_file(const char *file)
{
    struct hazard_subject s;
    subject_read(&s, file);
    for (int i = 0; i < s.p->nkernels; i++) {
        s.k = &s.p->kernels[i];
        plant_all(&s);
    }
    int missed = report(&s, file);
    program_free(s.p);
    arena_free(&s.arena);
    return missed;
}

static void test_kernels(void **state)
{
    assert_int_equal(plant_in_file("models/kernels/mamba_v1.xasm"), 0);
    assert_int_equal(plant_in_file("models/kernels/mamba_v2.xasm"), 0);
}

/* 100 rows are loaded, 128 computed with: how many are stored, and what stands before the store. */
#define MASKED(rows, between)                                                                           \
    "program \"t\" target trn1\nnode 0 \"square\" \"A\"\noutputs \"y\"\n\n"                              \
    "slot %0 input \"x\" f32[128,64]\nslot %1 planned \"y\" f32[128,64] output\n\n"                     \
    "kernel 0 \"k\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"                                     \
    "  tile sbuf0 f32 128 x 64 at 0\n  tile sbuf1 f32 128 x 64 at 256\n  tile sbuf2 f32 128 x 1 at 512\n" \
    "  tile psum3 f32 64 x 64 at 0\n  tile sbuf4 f32 64 x 64 at 1024\n"                                 \
    "  sp.dma_copy dst=sbuf0 f32[0](100:64, 64:1), src=%0 f32[0](100:64, 64:1)\n"                        \
    "  act.activation dst=sbuf1 f32[0](128:64, 64:1), src=sbuf0 f32[0](128:64, 64:1), factor=1, f=square node 0\n" \
    "  dve.tensor_reduce dst=sbuf2 f32[0](128:1), src=sbuf1 f32[0](128:64, 64:1), axes=1, scale=1, op=add\n" between \
    "  pool.dma_copy dst=%1 f32[0](" rows ":64, 1:1), src=sbuf2 f32[0](" rows ":1, 1:1)\n}\n\n"          \
    "region 0 (%0) -> (%1) {\n  launch 0\n}\n"

static void assert_masked(const char *text, const char *message)
{
    struct diag d = {0};
    struct hazard_subject s = {.p = program_parse(text, strlen(text), "masked", &d)};
    assert_non_null(s.p);
    s.m = machine_find("trn1");
    assert_true(sync_kernel(s.p, &s.p->kernels[0], &d));
    s.k = &s.p->kernels[0];
    s.values = bind_symbols_for_report(s.p, NULL, 0, 2, &s.arena, &d);
    if (sound(&s, &d) != !message || (message && !strstr(d.text, message)))
        fail_msg("'%s' expected: %s", message ? message : "no fault", d.text);
    arena_free(&s.arena);
    program_free(s.p);
}

/* Rows that a mask leaves out of a load are computed with, if nothing that comes of them leaves its partition. */
static void test_masked_rows(void **state)
{
    assert_masked(MASKED("100", ""), NULL);
    assert_masked(MASKED("101", ""),
                  "uninitialised read: node 'square': instruction 1 (act.activation): reads elements of tile 0 that");
    assert_masked(MASKED("100", "  pe.nc_matmul dst=psum3 f32[0](64:64, 64:1), stationary=sbuf1 f32[0](128:64, 64:1), "
                                "moving=sbuf1 f32[0](64:1, 128:64)\n"),
                  "further");
    assert_masked(
        MASKED("100", "  dve.tensor_tensor_scan dst=sbuf2 f32[0](128:1), a=sbuf2 f32[0](128:1), b=sbuf2 f32[0](128:1), "
                      "initial=0, op0=add, op1=add\n"),
        "further");
    assert_masked(MASKED("128", "  dve.memset dst=sbuf2 f32[0](128:1), value=0\n"), NULL);
}

/* Two groups of products in one tile, each copied out; the second one's first product, and what stands between them. */
#define SUMS(between, accumulate)                                                                                 \
    "program \"t\" target trn1\nnode 0 \"sums\" \"A\"\noutputs \"y\"\n\n"                                       \
    "slot %0 planned \"y\" f32[64,64] output\n\n"                                                                 \
    "kernel 0 \"k\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"                                               \
    "  tile sbuf0 f32 128 x 64 at 0\n  tile psum1 f32 64 x 64 at 0\n  tile sbuf2 f32 64 x 64 at 256\n"            \
    "  dve.memset dst=sbuf0 f32[0](128:64, 64:1), value=1\n" PRODUCT("") PRODUCT(", accumulate=1") between          \
    PRODUCT(accumulate) PRODUCT(", accumulate=1") COPY                                                             \
    "  sp.dma_copy dst=%0 f32[0](64:64, 64:1), src=sbuf2 f32[0](64:64, 64:1)\n}\n\n"                                \
    "region 0 () -> (%0) {\n  launch 0\n}\n"
#define PRODUCT(accumulate)                                                                                        \
    "  pe.nc_matmul dst=psum1 f32[0](64:1, 64:64), stationary=sbuf0 f32[0](128:64, 64:1), "                        \
    "moving=sbuf0 f32[0](64:1, 128:64)" accumulate " node 0\n"
#define COPY "  dve.tensor_copy dst=sbuf2 f32[0](64:64, 64:1), src=psum1 f32[0](64:64, 64:1)\n"
#define ADD                                                                                                        \
    "  dve.tensor_tensor dst=psum1 f32[0](64:64, 64:1), a=psum1 f32[0](64:64, 64:1), b=sbuf0 f32[0](64:64, 64:1), " \
    "op=add\n"

/* What has been read is over; what an instruction has changed in place, or nobody has read, goes on. */
static void test_sums(void **state)
{
    assert_masked(SUMS(COPY, ""), NULL);
    assert_masked(SUMS(COPY, ", accumulate=1"),
                  "stale sums: node 'sums': instruction 4 (pe.nc_matmul): adds onto sums in tile 1 that have been");
    assert_masked(SUMS("", ", accumulate=1"), NULL);
    assert_masked(SUMS(COPY ADD, ", accumulate=1"), NULL);
}

/* One queue stores rows of 128 images, from element `at` of each, the other one loads the 24 x 40 elements before 2000:
 * more than 65536 of both. */
#define ROWS(at)                                                                                          \
    "program \"t\" target trn1\nnode 0 \"rows\" \"A\"\noutputs \"y\"\n\n"                                   \
    "slot %0 input \"x\" f32[128,4000]\nslot %1 planned \"\" f32[128,4000]\n"                              \
    "slot %2 planned \"y\" f32[128,960] output\n\n"                                                      \
    "kernel 0 \"k\" grid() vars 0 semaphores 1 flops 0 bytes 0 {\n"                                       \
    "  tile sbuf0 f32 128 x 4000 at 0\n  tile sbuf1 f32 128 x 960 at 16000\n"                             \
    "  sp.dma_copy dst=sbuf0 f32[0](128:4000, 4000:1), src=%0 f32[0](128:4000, 4000:1)\n"                 \
    "  sp.dma_copy dst=%1 f32[0](128:4000, 2000:1), src=sbuf0 f32[0](128:4000, 2000:1) signal s0\n"       \
    "  pool.dma_copy dst=%1 f32[" at "](128:4000, 25:40, 40:1), src=sbuf0 f32[2000](128:4000, 25:40, 40:1)" \
    " wait s0>=1 node 0\n"                                                                               \
    "  act.dma_copy dst=sbuf1 f32[0](128:960, 24:40, 40:1), src=%1 f32[1040](128:4000, 24:40, 40:1)"     \
    " wait s0>=1 node 0\n"                                                                               \
    "  act.dma_copy dst=%2 f32[0](128:960, 960:1), src=sbuf1 f32[0](128:960, 960:1)\n}\n\n"               \
    "region 0 (%0) -> (%2) {\n  launch 0\n}\n"

static void assert_rows(const char *text, const char *message)
{
    struct diag d = {0};
    struct hazard_subject s = {.p = program_parse(text, strlen(text), "rows", &d)};
    assert_non_null(s.p);
    s.m = machine_find("trn1");
    s.k = &s.p->kernels[0];
    s.values = bind_symbols_for_report(s.p, NULL, 0, 2, &s.arena, &d);
    if (sound(&s, &d) != !message || (message && !strstr(d.text, message)))
        fail_msg("'%s' expected: %s", message ? message : "no fault", d.text);
    assert_int_equal(all_in_order(&s), !message);
    arena_free(&s.arena);
    program_free(s.p);
}

static void test_many_elements(void **state)
{
    assert_rows(ROWS("2000"), NULL);
    assert_rows(ROWS("1999"), "two queues: node 'rows': instruction 3 (act.dma_copy): read after write");
}

/* A tile whose second half nothing has written: found, unless the elements to look at are used up before. */
static void test_elements_limited(void **state)
{
    static const char text[] = "program \"t\" target cpu\nnode 0 \"half\" \"A\"\noutputs \"y\"\n\n"
                               "slot %0 input \"x\" f32[8]\nslot %1 planned f32[8] output\n\n"
                               "kernel 0 \"half\" grid(1) vars 1 semaphores 0 flops 0 bytes 0 {\n"
                               "  tile sbuf0 f32 1 x 8\n"
                               "  dve.memset dst=sbuf0 f32[0](1:1, 4:1), value=1 node 0\n"
                               "  dve.tensor_copy dst=%1 f32[0](1:1, 8:1), src=sbuf0 f32[0](1:1, 8:1) node 0\n}\n\n"
                               "region 0 (%0) -> (%1) {\n  launch 0\n}\n";
    for (int64_t allowed = 4; allowed <= 5; allowed++) {
        struct diag d = {0};
        struct program *p = program_parse(text, strlen(text), "half", &d);
        struct arena arena = {0};
        int64_t left = allowed;
        struct hazard_limits limited = limits;
        limited.elements = &left;
        assert_non_null(p);
        bool ok = kernel_is_sound(p, &p->kernels[0], machine_find("cpu"),
                                  bind_symbols_for_report(p, NULL, 0, 2, &arena, &d), &limited, &d);
        assert_int_equal(ok, allowed == 4);
        assert_int_equal(left, allowed == 4 ? 0 : 5 - 4 - 8);
        arena_free(&arena);
        program_free(p);
    }
}

enum { OWNERS = 65537 };

/* Tile 0 is written, then the one that is read, or the last one in tile 0's place. */
static bool owners_sound(int read, struct diag *d)
{
    struct arena arena = {0};
    struct program *p = program_new();
    struct kernel k = {.ntiles = OWNERS};
    p->target = "trn1";
    k.tiles = ARENA_ARRAY(&arena, struct tile, OWNERS);
    for (int t = 0; t < OWNERS; t++)
        k.tiles[t] = (struct tile){.mem = MEM_SBUF, .dtype = DT_U8, .partitions = 1, .elements = 1, .address = t};
    k.tiles[OWNERS - 1].address = 0; /* as tile 0, whose mark it would have in 16 bits */
    for (int i = 0; i < 3; i++) {
        struct insn *n = kernel_add(p, &k, i < 2 ? INSN_memset : INSN_tensor_copy);
        int tile = i == 0 ? 0 : i == 1 ? read == 0 ? OWNERS - 1 : read : 1;
        n->ap[0] = (struct ap){.mem = MEM_SBUF, .dtype = DT_U8, .rank = 1, .tensor = tile, .dim = {{1, 1, NULL}}};
        if (i < 2)
            continue;
        n->ap[1] = n->ap[0];
        n->ap[1].tensor = read;
    }
    bool is_sound = kernel_is_sound(p, &k, machine_find("trn1"), NULL, &limits, d);
    program_free(p);
    arena_free(&arena);
    return is_sound;
}

static void test_many_tiles(void **state)
{
    struct diag d = {0};
    if (!owners_sound(OWNERS - 2, &d))
        fail_msg("what tile 65535 has: %s", d.text);
    assert_false(owners_sound(0, &d));
    assert_true(strstr(d.text, "overlapping buffers") == d.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_masked_rows), cmocka_unit_test(test_many_elements),
        cmocka_unit_test(test_elements_limited), cmocka_unit_test(test_many_tiles),
        cmocka_unit_test(test_sums),
    };
    if (argc == 1)
        return cmocka_run_group_tests(tests, NULL, NULL);
    int missed = 0;
    for (int i = 1; i < argc; i++)
        missed += plant_in_file(argv[i]);
    return missed != 0;
}
