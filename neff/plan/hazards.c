#include "neff/plan/hazards.h"

#include "neff/plan/hazards_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* On strict machines an engine goes on while its queue moves bytes: its transfers are a track of their
 * own. */
enum { QUEUES = ENGINE_COUNT, TRACKS = 2 * ENGINE_COUNT, MAX_ROWS = 128 };

struct progress {
    int32_t at[TRACKS]; /* how many instructions of each track are complete */
};

struct access {
    struct box where;
    int insn, engine, track;
    int32_t index; /* of its track, from 1 */
    bool write, transfer;
};

struct signal_list { /* clocks after each signal and those before it, in the kernel's order */
    struct progress *clocks;
    int n, cap, engine;
};

struct checker {
    const struct program *p;
    const struct kernel *k;
    const struct machine *m;
    const struct hazard_limits *limits;
    struct diag *d;
    struct arena scratch;
    int64_t vars[MAX_VARS];
    struct hazard_memory memory;
    struct progress tracks[TRACKS]; /* of a queue: when the last transfer is complete */
    struct signal_list *semaphores;
    struct track_accesses {
        struct access *all; /* by index */
        int first, n, cap;  /* before the first: what everything comes after */
    } accesses[TRACKS];
    int64_t executed;
    int *ends;
    int *first;               /* per tile */
    bool undefined[MAX_ROWS]; /* rows of the instruction's results that come of what nothing has written */
    struct origin {
        int insn, tile; /* that read it, and where; insn -1: it was not read */
    } *origins;          /* per tile that has some of it */
    struct origin origin; /* of the instruction's */
};

/* "KIND: node 'n': instruction 3 (pe.nc_matmul): what" */
__attribute__((format(printf, 4, 5))) static bool fault(struct checker *c, const char *kind, int i,
                                                        const char *fmt, ...)
{
    const struct insn *n = &c->k->insns[i];
    char what[512], where[128] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (n->node >= 0)
        snprintf(where, sizeof where, "node '%.100s': ", c->p->nodes[n->node].name);
    return fail(c->d, "%s: %sinstruction %d (%s.%s): %s", kind, where, i, engine_names[n->engine],
                insn_info(n->op)->name, what);
}

/* ---- order ---- */

/* Whether that told anything new. */
static bool join(struct progress *a, const struct progress *b)
{
    bool news = false;
    for (int e = 0; e < TRACKS; e++)
        if (b->at[e] > a->at[e])
            a->at[e] = b->at[e], news = true;
    return news;
}

static int track_of(const struct checker *c, const struct insn *n)
{
    return c->m->strict && insn_is_transfer(n) ? QUEUES + n->engine : n->engine;
}

/* The instruction begins, and is complete some time later. */
static void execute(struct checker *c, const struct insn *n)
{
    int track = track_of(c, n);
    join(&c->tracks[track], &c->tracks[n->engine]);
    c->tracks[track].at[track]++;
}

/* Which instruction signals a semaphore from i on: for messages; -1 none. */
static int later_signal(const struct checker *c, int i, int semaphore)
{
    for (int k = i; k < c->k->ninsns; k++)
        for (int s = 0; s < 2; s++)
            if (c->k->insns[k].signal[s] == semaphore)
                return k;
    return -1;
}

static bool unsatisfied(struct checker *c, int i, int semaphore, int64_t value, int given)
{
    int later = later_signal(c, i + 1, semaphore);
    if (later < 0)
        return fault(
            c, "deadlock", i,
            "waits for semaphore %d to reach %lld, which gets %d signals in all: lower the "
            "count, or signal it",
            semaphore, (long long)value, given);
    const struct insn *n = &c->k->insns[later];
    return fault(c, "wrong count", i,
                 "waits for semaphore %d to reach %lld, but %d signals come before it in the "
                 "kernel's order; the next is that of instruction %d (%s.%s), %s",
                 semaphore, (long long)value, given, later, engine_names[n->engine],
                 insn_info(n->op)->name,
                 n->engine == c->k->insns[i].engine
                     ? "which its own engine executes after it: a deadlock"
                     : "which may wait for this one: a deadlock, or an order that is not legal");
}

/* In a last iteration there may be nothing left to do. */
static bool touches_nothing(const struct checker *c, const struct insn *n)
{
    for (int a = 0; a < insn_info(n->op)->naps; a++)
        if (n->ap[a].mem != MEM_NONE && box_of(&c->memory, &n->ap[a]).total)
            return false;
    return true;
}

/* Which of an instruction's waits order what nothing else does, its other waits neither. */
static void note_useful(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    for (int w = 0; w < n->nwaits && !touches_nothing(c, n); w++) {
        struct progress others = c->tracks[n->engine];
        const struct progress *own = NULL;
        for (int x = 0; x < n->nwaits; x++) {
            int64_t value = hazard_value(&c->memory, &n->wait[x].value);
            if (value <= 0 || value > c->semaphores[n->wait[x].semaphore].n)
                continue;
            const struct progress *p = &c->semaphores[n->wait[x].semaphore].clocks[value - 1];
            if (x == w)
                own = p;
            else
                join(&others, p);
        }
        if (own && join(&others, own))
            c->limits->trace->useful[i * MAX_SYNC + w] = 1;
    }
}

static bool wait(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    if (c->limits->trace)
        note_useful(c, i);
    for (int w = 0; w < n->nwaits; w++) {
        const struct signal_list *s = &c->semaphores[n->wait[w].semaphore];
        int64_t value = hazard_value(&c->memory, &n->wait[w].value);
        if (value > s->n)
            return unsatisfied(c, i, n->wait[w].semaphore, value, s->n);
        if (value > 0)
            join(&c->tracks[n->engine], &s->clocks[value - 1]);
    }
    return true;
}

static bool signal(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    for (int k = 0; k < 2; k++) {
        if (n->signal[k] < 0)
            continue;
        struct signal_list *s = &c->semaphores[n->signal[k]];
        if (s->n && s->engine != n->engine)
            return fault(c, "semaphore", i,
                         "signals semaphore %d, as %s does: its count does not say who is done",
                         n->signal[k], engine_names[s->engine]);
        s->engine = n->engine;
        ARENA_GROW(&c->scratch, s->clocks, s->n, s->cap);
        s->clocks[s->n] = c->tracks[track_of(c, n)];
        if (s->n)
            join(&s->clocks[s->n], &s->clocks[s->n - 1]);
        s->n++;
    }
    return true;
}

/* Accesses that everything from now on comes after are forgotten. Of a track,
 * earlier ones are over with any later one. */
static void forget(struct checker *c)
{
    for (int t = 0; t < TRACKS; t++) {
        struct track_accesses *list = &c->accesses[t];
        int32_t known = INT32_MAX;
        for (int e = 0; e < ENGINE_COUNT; e++)
            if (e != t && c->tracks[e].at[t] < known)
                known = c->tracks[e].at[t];
        while (list->first < list->n && list->all[list->first].index <= known)
            list->first++;
        if (list->first <= list->n / 2)
            continue;
        list->n -= list->first;
        memmove(list->all, list->all + list->first, sizeof *list->all * (size_t)list->n);
        list->first = 0;
    }
}

static bool race(struct checker *c, const struct access *now, const struct access *before)
{
    const struct insn *other = &c->k->insns[before->insn];
    const char *kind = "missing wait";
    if (now->where.memory != MEM_HBM && now->where.tensor != before->where.tensor)
        kind = "overlapping buffers";
    else if (now->transfer && before->transfer)
        kind = "two queues";
    return fault(c, kind, now->insn,
                 "%s after %s without a wait: the other access is that of instruction %d (%s.%s), "
                 "which should signal it",
                 now->write ? "write" : "read", before->write ? "write" : "read", before->insn,
                 engine_names[other->engine], insn_info(other->op)->name);
}

/* The first access of a track that does not come before what knows of `known` instructions. */
static int first_unknown(const struct track_accesses *list, int32_t known)
{
    int low = list->first, high = list->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (list->all[middle].index <= known)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool ordered_after(struct checker *c, const struct access *now, const struct track_accesses *list)
{
    int32_t *known = &c->tracks[now->engine].at[list->all[list->first].track];
    for (int k = first_unknown(list, *known); k < list->n; k++) {
        const struct access *x = &list->all[k];
        if (*known >= x->index || !(x->write || now->write) || !boxes_meet(&c->memory, &x->where, &now->where))
            continue;
        if (x->engine != now->engine)
            return race(c, now, x);
        *known = x->index; /* what touches the same as a transfer of its engine's queue is after it */
    }
    return true;
}

static bool ordered(struct checker *c, const struct access *now)
{
    for (int t = 0; t < TRACKS; t++)
        if (t != now->track && t != now->engine && c->accesses[t].first < c->accesses[t].n &&
            !ordered_after(c, now, &c->accesses[t]))
            return false;
    return true;
}

/* ---- memory ---- */

/* Whether row r of a result comes of row r of each operand: partitions do not meet. Where all patterns have one dim, an
 * instruction of rows walks along that. */
static bool is_row_wise(const struct checker *c, const struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    int64_t rows = -1;
    bool wide = info->shape == SHAPE_ELEMENTWISE;
    if (insn_is_transfer(n) || (info->shape != SHAPE_ELEMENTWISE && info->shape != SHAPE_ROWWISE))
        return false;
    for (int a = 0; a < info->naps; a++) {
        if (n->ap[a].mem == MEM_NONE)
            continue;
        struct box b = box_of(&c->memory, &n->ap[a]);
        if ((n->ap[a].mem != MEM_SBUF && n->ap[a].mem != MEM_PSUM) || b.rank < 1 || b.count[0] > MAX_ROWS ||
            (rows >= 0 && b.count[0] != rows) ||
            (b.count[0] > 1 && b.step[0] != tile_row(&c->memory, &b)))
            return false;
        rows = b.count[0], wide |= b.rank > 1;
    }
    return wide;
}

/* What a read of rows finds of which some are not wholly written: those make the same rows of the results undefined.
 * Where all are, nothing has written what is read. */
static enum tile_content take_undefined(struct checker *c, int i, const struct box *b, int *other)
{
    bool undefined[MAX_ROWS] = {false};
    int64_t n = 0;
    for (int64_t r = 0; r < b->count[0]; r++) {
        struct box row = box_row(b, r);
        enum tile_content content = tile_read(&c->memory, &row, other);
        if (content == CONTENT_OTHER)
            return CONTENT_OTHER;
        n += undefined[r] = content == CONTENT_NONE;
    }
    if (n == b->count[0])
        return CONTENT_NONE;
    for (int64_t r = 0; r < b->count[0]; r++)
        c->undefined[r] |= undefined[r];
    const struct origin *o = &c->origins[b->tensor];
    if (c->origin.insn < 0)
        c->origin = o->insn >= 0 ? *o : (struct origin){i, b->tensor};
    return CONTENT_OWN;
}

/* The instruction's results in rows that come of undefined ones are undefined too. */
static void pass_undefined(struct checker *c, const struct insn *n)
{
    if (c->origin.insn < 0)
        return;
    for (int a = 0; a < insn_info(n->op)->naps; a++) {
        if (n->ap[a].mem == MEM_NONE || insn_info(n->op)->ap[a].access == 'r')
            continue;
        struct box b = box_of(&c->memory, &n->ap[a]);
        for (int64_t r = 0; b.total && r < b.count[0]; r++) {
            struct box row = box_row(&b, r);
            if (c->undefined[r])
                tile_forget(&c->memory, &row);
        }
        c->origins[b.tensor] = c->origin;
    }
    memset(c->undefined, 0, sizeof c->undefined);
    c->origin.insn = -1;
}

static bool uninitialised(struct checker *c, int i, const struct box *b)
{
    const struct origin *o = &c->origins[b->tensor];
    const struct insn *n = &c->k->insns[i];
    if (c->limits->unwritten)
        *c->limits->unwritten = o->insn < 0 ? (struct hazard_unwritten){i, b->memory, b->tensor}
                                            : (struct hazard_unwritten){o->insn, MEM_SBUF, o->tile};
    if (o->insn < 0)
        return fault(c, "uninitialised read", i, "reads elements of tile %d that nothing has written", b->tensor);
    return fault(c, "uninitialised read", o->insn,
                 "reads elements of tile %d that nothing has written, and instruction %d (%s.%s) takes what comes of "
                 "them further",
                 o->tile, i, engine_names[n->engine], insn_info(n->op)->name);
}

/* ---- tiles of which a mask left elements out ---- */

/* Elements that nothing wrote may be read where what comes of them is left out later. */
static bool holds_less(const struct checker *c, const struct box *b)
{
    const struct tile *t = &c->k->tiles[b->tensor];
    int64_t row = tile_row(&c->memory, b);
    int other;
    return t->partial && b->rank == 2 && b->total > 0 && row > 0 && b->low >= 0 &&
           b->high <= dim_value(c->memory.values, t->partitions) * row &&
           tile_read(&c->memory, b, &other) == CONTENT_NONE;
}

/* Whether of what is read along dim d some holds nothing and some something. */
static bool holds_some(const struct checker *c, const struct box *b, int d)
{
    bool any = false, none = false;
    for (int64_t r = 0; r < b->count[d] && !(any && none); r++) {
        struct box slice = box_slice(b, d, r);
        bool holds = tile_holds_any(&c->memory, &slice);
        any |= holds, none |= !holds;
    }
    return any && none;
}

/* Whether a sum takes them in: over the partitions of a product, over the rows of a reduction. */
static bool mixes_masked(const struct checker *c, int i, const struct box *b)
{
    const struct insn *n = &c->k->insns[i];
    if (!c->limits->unwritten || !holds_less(c, b))
        return false;
    if (n->op == INSN_nc_matmul)
        return holds_some(c, b, b->step[0] == tile_row(&c->memory, b) ? 0 : 1);
    if (n->op != INSN_tensor_reduce || b->step[0] != tile_row(&c->memory, b))
        return false;
    struct box dst = box_of(&c->memory, &n->ap[AP(tensor_reduce, dst)]);
    return dst.total == b->count[0] && holds_some(c, b, 1);
}

/* Whether an element of its result comes of nothing but the same element of each operand, whatever it holds. */
static bool keeps_places(int op)
{
    return op == INSN_tensor_copy || op == INSN_tensor_scalar || op == INSN_tensor_tensor || op == INSN_activation ||
           op == INSN_scalar_tensor_tensor;
}

/* Rows and columns of a result that come of those that hold nothing hold nothing. */
static void pass_masked(struct checker *c, const struct insn *n)
{
    const struct ap *dst = insn_tile_written(n);
    if (!keeps_places(n->op) || !dst || !c->k->tiles[dst->tensor].partial)
        return;
    struct box to = box_of(&c->memory, dst);
    bool whole = to.rank == 2 && to.total > 0 && tile_row(&c->memory, &to) > 0;
    for (int a = 0; whole && a < insn_info(n->op)->naps; a++) {
        if ((n->ap[a].mem != MEM_SBUF && n->ap[a].mem != MEM_PSUM) || n->ap[a].tensor == to.tensor)
            continue;
        struct box from = box_of(&c->memory, &n->ap[a]);
        if (!holds_less(c, &from))
            continue;
        for (int d = 0; d < 2; d++)
            for (int64_t r = 0; from.count[d] == to.count[d] && r < to.count[d]; r++) {
                struct box read = box_slice(&from, d, r), written = box_slice(&to, d, r);
                if (!tile_holds_any(&c->memory, &read))
                    tile_forget(&c->memory, &written);
            }
    }
}

/* A tile that is made within a loop holds nothing when a trip begins: its first instruction is there. */
static void begin_tile(struct checker *c, int i)
{
    const struct ap *dst = insn_tile_written(&c->k->insns[i]);
    if (!dst || !c->k->tiles[dst->tensor].partial || c->first[dst->tensor] != i || dst->offset.nterms > 0)
        return;
    struct box b = box_of(&c->memory, dst);
    int64_t row = tile_row(&c->memory, &b), rows = dim_value(c->memory.values, c->k->tiles[dst->tensor].partitions);
    b.rank = 2, b.offset = 0;
    b.step[0] = row, b.count[0] = rows, b.step[1] = 1, b.count[1] = row;
    b.total = rows * row, b.low = 0, b.high = b.total;
    if (b.total > 0)
        tile_forget(&c->memory, &b);
}

static bool check_tile(struct checker *c, int i, const struct box *b, bool write)
{
    const struct tile *t = &c->k->tiles[b->tensor];
    int64_t size = dim_value(c->memory.values, t->partitions) * tile_row(&c->memory, b);
    int other = -1;
    if (b->low < 0 || b->high > size)
        return fault(c, "capacity", i,
                     "an access leaves its tile %d: elements %lld to %lld of %lld", b->tensor,
                     (long long)b->low, (long long)b->high - 1, (long long)size);
    if (write) {
        tile_write(&c->memory, b);
        return true;
    }
    if (mixes_masked(c, i, b))
        return uninitialised(c, i, b);
    enum tile_content content = tile_read(&c->memory, b, &other);
    if (content == CONTENT_NONE && t->partial && c->origins[b->tensor].insn < 0)
        return true;
    if (content == CONTENT_NONE && is_row_wise(c, &c->k->insns[i]))
        content = take_undefined(c, i, b, &other);
    switch (content) {
    case CONTENT_NONE:
        return uninitialised(c, i, b);
    case CONTENT_OTHER:
        return fault(c, "overlapping buffers", i,
                     "reads tile %d where tile %d was written last: their addresses overlap "
                     "while both are in use",
                     b->tensor, other);
    case CONTENT_OWN:
        break;
    }
    return true;
}

static bool check_tensor(struct checker *c, int i, const struct box *b, bool write)
{
    if (c->limits->elements)
        *c->limits->elements -= b->total;
    if (write)
        tensor_write(&c->memory, b);
    if (write || tensor_is_written(&c->memory, b))
        return true;
    *c->limits->unwritten = (struct hazard_unwritten){i, MEM_HBM, b->tensor};
    return fault(c, "uninitialised read", i, "reads elements of tensor %d that nothing has written", b->tensor);
}

/* Where partitions do not hold whole elements as they are seen, no step leads from one to the next. What the elements
 * are is not followed. */
static bool check_first_partition(struct checker *c, int i, const struct box *b)
{
    const struct tile *t = &c->k->tiles[b->tensor];
    int64_t bytes = dim_value(c->memory.values, t->elements) * (int64_t)dtype_bytes(t->dtype);
    if (b->low >= 0 && b->high <= bytes / b->size)
        return true;
    return fault(c, "capacity", i,
                 "an access leaves a partition of its tile %d: elements %lld to %lld of %lld bytes each, of which "
                 "a partition of %lld bytes does not hold a whole number",
                 b->tensor, (long long)b->low, (long long)b->high - 1, (long long)b->size, (long long)bytes);
}

/* Sums that an instruction has read are those of a group of products that is over. */
static bool check_sums(struct checker *c, int i, int a, const struct box *b)
{
    const struct insn *n = &c->k->insns[i];
    if (!c->limits->sums)
        return true;
    if (n->op != INSN_nc_matmul || a != AP(nc_matmul, dst)) {
        tile_mark_read(&c->memory, b);
        return true;
    }
    return !tile_was_read(&c->memory, b) ||
           fault(c, "stale sums", i,
                 "adds onto sums in tile %d that have been read since they were added up: the first product of a "
                 "group should not accumulate",
                 b->tensor);
}

/* Which elements are read through an index is not known. */
static bool check_content(struct checker *c, int i, int a, const struct box *b, bool write)
{
    const struct insn *n = &c->k->insns[i];
    if (!write && insn_info(n->op)->ap[a].reach == REACH_INDIRECT)
        return true;
    if (n->ap[a].mem == MEM_HBM)
        return !c->memory.tensors || check_tensor(c, i, b, write);
    if (!tile_row(&c->memory, b))
        return check_first_partition(c, i, b);
    return check_tile(c, i, b, write) && (write || b->memory != MEM_PSUM || check_sums(c, i, a, b));
}

static bool touch(struct checker *c, int i, int a, bool write)
{
    const struct insn *n = &c->k->insns[i];
    struct ap touched = insn_touched(n, a);
    struct access now = {.where = box_of(&c->memory, &touched),
                         .insn = i,
                         .engine = n->engine,
                         .track = track_of(c, n),
                         .index = c->tracks[track_of(c, n)].at[track_of(c, n)],
                         .write = write,
                         .transfer = insn_is_transfer(n)};
    if (now.where.total == 0)
        return true;
    if (c->limits->unwritten)
        return check_content(c, i, a, &now.where, write);
    if (!ordered(c, &now) || !check_content(c, i, a, &now.where, write))
        return false;
    struct track_accesses *list = &c->accesses[now.track];
    ARENA_GROW(&c->scratch, list->all, list->n, list->cap);
    list->all[list->n++] = now;
    return true;
}

static bool accumulates(const struct checker *c, const struct insn *n)
{
    int i = insn_role(insn_info(n->op), ROLE_ACCUMULATE);
    return i >= 0 && hazard_value(&c->memory, &n->imm[i]) != 0;
}

static bool reads(const struct checker *c, const struct insn *n, int a)
{
    const struct insn_info *info = insn_info(n->op);
    if (info->ap[a].access == 'r')
        return true;
    bool may = insn_role(info, ROLE_ACCUMULATE) >= 0;
    return a == 0 && may ? accumulates(c, n) : false;
}

/* A result that lies on an operand of the same instruction, other than exactly. */
static bool check_in_place(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    const struct insn_info *info = insn_info(n->op);
    for (int a = 0; a < info->naps; a++)
        for (int b = 0; b < info->naps; b++) {
            const struct ap *w = &n->ap[a], *r = &n->ap[b];
            if (info->ap[a].access == 'r' || info->ap[b].access != 'r' || w->mem != r->mem ||
                (w->mem != MEM_SBUF && w->mem != MEM_PSUM) || w->tensor == r->tensor)
                continue;
            struct box x = box_of(&c->memory, w), y = box_of(&c->memory, r);
            if (boxes_meet(&c->memory, &x, &y) && !boxes_equal(&c->memory, &x, &y))
                return fault(c, "overlapping buffers", i,
                             "its result in tile %d lies on its operand in tile %d", w->tensor,
                             r->tensor);
        }
    return true;
}

/* ---- the walk ---- */

static bool step(struct checker *c, int i)
{
    const struct insn *n = &c->k->insns[i];
    const struct insn_info *info = insn_info(n->op);
    bool order = !c->limits->unwritten;
    if (order && (!wait(c, i) || !check_in_place(c, i)))
        return false;
    execute(c, n);
    if (c->limits->trace)
        c->limits->trace->executed[i] = 1;
    for (int a = 0; a < info->naps; a++)
        if (n->ap[a].mem != MEM_NONE && reads(c, n, a) && !touch(c, i, a, false))
            return false;
    if (!order)
        begin_tile(c, i);
    for (int a = 0; a < info->naps; a++)
        if (n->ap[a].mem != MEM_NONE && info->ap[a].access != 'r' && !touch(c, i, a, true))
            return false;
    if (!order)
        pass_masked(c, n);
    pass_undefined(c, n);
    if (++c->executed % 64 == 0)
        forget(c);
    return !order || signal(c, i);
}

static bool walked_enough(const struct checker *c)
{
    bool enough = c->executed >= c->limits->insns || (c->limits->elements && *c->limits->elements <= 0);
    if (enough && c->limits->ended)
        *c->limits->ended = true;
    return enough;
}

/* Executes [from, to); false at a fault, and when enough has been walked. */
static bool walk(struct checker *c, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct insn *n = &c->k->insns[i];
        if (n->op != INSN_loop) {
            if (n->op != INSN_end && (walked_enough(c) || !step(c, i)))
                return false;
            continue;
        }
        int64_t count = hazard_value(&c->memory, &n->imm[IMM(loop, count)]);
        int var = (int)n->imm[IMM(loop, var)].base;
        for (int64_t t = 0; t < count && c->ends[i] > i + 1; t++) {
            c->vars[var] = t;
            if (!walk(c, i + 1, c->ends[i]))
                return false;
        }
        i = c->ends[i];
    }
    return true;
}

static int *loop_ends(const struct kernel *k, struct arena *a)
{
    int *ends = ARENA_ARRAY(a, int, k->ninsns + 1), open[MAX_VARS + 1], depth = 0;
    for (int i = 0; i < k->ninsns; i++) {
        if (k->insns[i].op == INSN_loop)
            open[depth++] = i;
        else if (k->insns[i].op == INSN_end)
            ends[open[--depth]] = i;
    }
    return ends;
}

static bool check_point(const struct checker *base, const int64_t *values, const int64_t *point)
{
    struct checker c = *base;
    memcpy(c.vars, point, sizeof(int64_t) * (size_t)c.k->ngrid);
    c.memory = (struct hazard_memory){
        .p = c.p, .k = c.k, .values = values, .vars = c.vars, .arena = &c.scratch, .left = c.limits->elements};
    hazard_memory_init(&c.memory);
    if (c.limits->unwritten && c.k->ngrid == 0)
        tensor_contents_init(&c.memory);
    c.semaphores = ARENA_ARRAY(&c.scratch, struct signal_list, c.k->nsemaphores + 1);
    c.ends = loop_ends(c.k, &c.scratch);
    c.first = tile_first_writers(c.k, &c.scratch);
    c.origin.insn = -1;
    c.origins = ARENA_ARRAY(&c.scratch, struct origin, c.k->ntiles + 1);
    for (int t = 0; t < c.k->ntiles; t++)
        c.origins[t].insn = -1;
    walk(&c, 0, c.k->ninsns);
    arena_free(&c.scratch);
    return !diag_failed(c.d);
}

/* ---- before the walk ---- */

static bool known(const int64_t *values, dim_t d)
{
    int64_t v = dim_value(values, d);
    return v != DIM_NOT_BOUND && v < INT64_MAX / 4 && v > -(INT64_MAX / 4);
}

static bool affine_known(const int64_t *values, const struct affine *a)
{
    bool all = known(values, a->base);
    for (int i = 0; i < a->nterms; i++)
        all &= known(values, a->terms[i].coef);
    return all;
}

static bool ap_known(const int64_t *values, const struct ap *a)
{
    bool all = affine_known(values, &a->offset);
    for (int i = 0; i < a->rank; i++)
        all &= known(values, a->dim[i].step) && known(values, a->dim[i].count) &&
               (!a->dim[i].clip ||
                (known(values, a->dim[i].clip->factor) && known(values, a->dim[i].clip->limit)));
    return all;
}

bool hazards_known(const struct kernel *k, const int64_t *values)
{
    bool all = true;
    for (int i = 0; i < k->ngrid; i++)
        all &= known(values, k->grid[i]);
    for (int i = 0; i < k->ntiles; i++)
        all &= known(values, k->tiles[i].partitions) && known(values, k->tiles[i].elements);
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int a = 0; a < info->naps; a++)
            all &= ap_known(values, &k->insns[i].ap[a]);
        for (int a = 0; a < info->nimms; a++)
            all &= affine_known(values, &k->insns[i].imm[a]);
        for (int w = 0; w < k->insns[i].nwaits; w++)
            all &= affine_known(values, &k->insns[i].wait[w].value);
    }
    return all;
}

/* Placed tiles have one map for each memory: of no more than any machine has, whatever target is named. */
static bool check_places(struct checker *c, const int64_t *values)
{
    static const int64_t max = INT64_C(1) << 31; /* bytes */
    __int128 partitions[MEM_PSUM + 1] = {0}, reach[MEM_PSUM + 1] = {0};
    for (int i = 0; i < c->k->ntiles; i++) {
        const struct tile *t = &c->k->tiles[i];
        if (t->address < 0)
            continue;
        __int128 rows = dim_value(values, t->partitions),
                 end = (__int128)dim_value(values, t->elements) * (int64_t)dtype_bytes(t->dtype) + t->address;
        partitions[t->mem] = rows > partitions[t->mem] ? rows : partitions[t->mem];
        reach[t->mem] = end > reach[t->mem] ? end : reach[t->mem];
        if (reach[t->mem] > max || partitions[t->mem] * reach[t->mem] > max)
            return fail(c->d, "capacity: tile %d ends at byte %lld of a partition", i, (long long)end);
    }
    return true;
}

/* What one tile may have, and what all placed ones reach. */
static bool check_capacity(struct checker *c, const int64_t *values)
{
    for (int i = 0; i < c->k->ntiles; i++) {
        const struct tile *t = &c->k->tiles[i];
        const char *memory = t->mem == MEM_PSUM ? "psum" : "sbuf";
        int64_t partitions = dim_value(values, t->partitions);
        int64_t elements = dim_value(values, t->elements);
        if (partitions < 0 || elements < 0 || partitions > 1 << 24 || elements > 1 << 28 ||
            partitions * elements > INT64_C(1) << 28)
            return fail(c->d, "capacity: tile %d in %s: %lld partitions of %lld elements", i,
                        memory, (long long)partitions, (long long)elements);
        if (!c->m->strict)
            continue;
        int64_t limit = t->mem == MEM_PSUM ? c->m->psum : c->m->sbuf;
        int64_t end = elements * (int64_t)dtype_bytes(t->dtype) + (t->address > 0 ? t->address : 0);
        if (partitions > c->m->partitions)
            return fail(c->d, "capacity: tile %d in %s: %lld partitions, %s has %d", i, memory,
                        (long long)partitions, c->m->name, c->m->partitions);
        if (end > limit || t->address > limit)
            return fail(c->d,
                        "capacity: tile %d in %s ends at byte %lld of a partition, %s has %lld", i,
                        memory, (long long)end, c->m->name, (long long)limit);
    }
    return check_places(c, values);
}

bool kernel_is_sound(const struct program *p, const struct kernel *k, const struct machine *m,
                     const int64_t *values, const struct hazard_limits *limits, struct diag *d)
{
    struct checker c = {.p = p, .k = k, .m = m, .limits = limits, .d = d};
    if (!hazards_known(k, values))
        return true;
    if (!check_capacity(&c, values))
        return false;
    for (int n = 0; n < limits->points; n++) { /* first, last, one last coordinate at a time */
        int64_t point[MAX_GRID + 1] = {0};
        bool empty = false;
        for (int g = 0; g < k->ngrid; g++) {
            int64_t count = dim_value(values, k->grid[g]);
            empty |= count < 1;
            point[g] = n == 1 || n - 2 == g ? count - 1 : n == 0 ? 0 : count / 2;
        }
        if (empty || n > k->ngrid + 1)
            break;
        if (!check_point(&c, values, point))
            return false;
    }
    return true;
}
