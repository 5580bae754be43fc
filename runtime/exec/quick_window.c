/*
 * Windows of arrays in the body of a loop that need no copy of their own: a slice that kernels only read lies in
 * the array, and what one kernel computes for an update is computed where it goes. The slots' addresses follow the
 * window, trip by trip.
 */
#include "runtime/exec/quick_window.h"

#include <string.h>

enum { READS = 1, WRITES = 2, WORTH_BYTES = 4096 };

/* ---- copies of windows ---- */

static inline int64_t clamped(int64_t start, int64_t max)
{
    return start < 0 ? 0 : start > max ? max : start;
}

static char *window_at(const struct quick_op *op, int array)
{
    const struct quick_row *w = op->row;
    const quick_i64 *start = (const quick_i64 *)op->p[QUICK_C];
    char *p = op->p[array];
    for (int i = 0; i < w->rank; i++)
        p += clamped(start[i], w->max[i]) * w->stride[i];
    return p;
}

static bool take_window(struct context *c, const struct quick_op *op, struct diag *d)
{
    memcpy(op->p[QUICK_TO], window_at(op, QUICK_A), op->row->bytes);
    return true;
}

static bool put_window(struct context *c, const struct quick_op *op, struct diag *d)
{
    memcpy(window_at(op, QUICK_TO), op->p[QUICK_A], op->row->bytes);
    return true;
}

/* The same of one element of a line. */
#define ELEMENT_MOVES(bytes, T)                                                                                        \
    static bool take_element_##bytes(struct context *c, const struct quick_op *op, struct diag *d)                     \
    {                                                                                                                  \
        *(T *)op->p[QUICK_TO] = ((const T *)op->p[QUICK_A])[element_at(op)];                                           \
        return true;                                                                                                   \
    }                                                                                                                  \
    static bool put_element_##bytes(struct context *c, const struct quick_op *op, struct diag *d)                      \
    {                                                                                                                  \
        ((T *)op->p[QUICK_TO])[element_at(op)] = *(const T *)op->p[QUICK_A];                                           \
        return true;                                                                                                   \
    }
static inline int64_t element_at(const struct quick_op *op)
{
    return clamped(*(const quick_i64 *)op->p[QUICK_C], op->row->max[0]);
}
QUICK_MOVES(ELEMENT_MOVES)

static quick_row_fn window_move(bool takes, int rank, size_t bytes, size_t element)
{
#define ELEMENT_MOVE(size, T)                                                                                          \
    if (rank == 1 && bytes == (size) && element == (size))                                                             \
        return takes ? take_element_##size : put_element_##size;
    QUICK_MOVES(ELEMENT_MOVE)
    return takes ? take_window : put_window;
}

/* A window of which all dims but the first longer than 1 are whole. */
static bool contiguous(const struct tensor *x, const struct tensor *part)
{
    int i = 0;
    while (i < part->rank && part->dims[i] == 1)
        i++;
    for (i++; i < part->rank; i++)
        if (part->dims[i] != x->dims[i])
            return false;
    return true;
}

bool quick_find_window(const struct bound *b, const struct call *call, struct arena *a, struct quick_line *line)
{
    bool takes = call->op == OP_dynamic_slice;
    if (!takes && (call->op != OP_dynamic_update_slice || call->out[0] != call->in[0]))
        return false;
    int array = call->in[0], part = takes ? call->out[0] : call->in[1],
        starts = call->in[takes ? 1 : 2];
    if (array < 0 || part < 0 || starts < 0)
        return false;
    const struct tensor *x = &b->types[array], *y = &b->types[part], *s = &b->types[starts];
    if (x->dtype == DT_STR || s->dtype != DT_I64 || s->rank != 1 || s->dims[0] != x->rank ||
        !contiguous(x, y))
        return false;
    int64_t *stride = ARENA_ARRAY(a, int64_t, x->rank + 1),
            *max = ARENA_ARRAY(a, int64_t, x->rank + 1), bytes = (int64_t)dtype_bytes(x->dtype);
    for (int i = x->rank - 1; i >= 0; i--) {
        stride[i] = bytes;
        max[i] = x->dims[i] - y->dims[i];
        bytes *= x->dims[i];
    }
    struct quick_row *r = ARENA_NEW(a, struct quick_row);
    *r = (struct quick_row){.run = window_move(takes, x->rank, tensor_bytes(y), dtype_bytes(x->dtype)),
                            .rank = x->rank,
                            .stride = stride,
                            .max = max,
                            .bytes = tensor_bytes(y)};
    *line = (struct quick_line){.op = {.code = QUICK_row, .row = r},
                                .place = {{takes ? part : array, 0, NULL},
                                          {takes ? array : part, 0, NULL},
                                          {QUICK_NOTHING, 0, NULL},
                                          {starts, 0, NULL}}};
    int whole = takes ? QUICK_A : QUICK_TO, window = takes ? QUICK_TO : QUICK_A;
    line->bytes[whole] = (int64_t)tensor_bytes(x);
    line->bytes[window] = (int64_t)tensor_bytes(y);
    line->bytes[QUICK_C] = (int64_t)tensor_bytes(s);
    return true;
}

/* ---- what touches a tensor, by itself or through a view ---- */

struct touch {
    int step, how;
    struct touch *next; /* of a later step */
};

struct window_finder {
    const struct context *c;
    struct bound *b;
    const struct program *p;
    const struct program_region *r;
    struct quick_windows *w;
    struct arena scratch;
    struct touch **touches; /* per slot that is no view */
};

/* Steps are noted from the last to the first. */
static void note(struct window_finder *f, int step, int slot, int how)
{
    struct touch **first = slot >= 0 ? &f->touches[slot_root(f->p, slot)] : NULL;
    if (!first)
        return;
    if (!*first || (*first)->step != step) {
        struct touch *t = ARENA_NEW(&f->scratch, struct touch);
        *t = (struct touch){.step = step, .next = *first};
        *first = t;
    }
    (*first)->how |= how;
}

static void note_all(struct window_finder *f, int step, const int32_t *slots, int n, int how)
{
    for (int i = 0; i < n; i++)
        note(f, step, slots[i], how);
}

static void note_kernel(struct window_finder *f, int step, const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int n = 0; n < info->naps; n++) {
            const struct ap *ap = &k->insns[i].ap[n];
            char access = info->ap[n].access;
            if (ap->mem == MEM_HBM)
                note(f, step, ap->tensor, access == 'r' ? READS : access == 'w' ? WRITES : READS | WRITES);
        }
    }
}

static void note_step(struct window_finder *f, int step, const struct step *s)
{
    if (s->kind == STEP_LAUNCH) {
        note_kernel(f, step, &f->p->kernels[s->index]);
        return;
    }
    const struct call *call = &f->p->calls[s->index];
    note_all(f, step, call->in, call->nin, READS);
    note_all(f, step, call->out, call->nout, WRITES);
    for (int r = 0; r < call->nregions; r++) {
        const struct program_region *region = &f->p->regions[call->regions[r]];
        note_all(f, step, region->params, region->nparams, WRITES);
        note_all(f, step, region->results, region->nresults, READS);
        for (int i = 0; i < region->nsteps; i++)
            note_step(f, step, &region->steps[i]);
    }
}

static void find_touches(struct window_finder *f)
{
    f->touches = ARENA_ARRAY(&f->scratch, struct touch *, f->p->nslots);
    for (int i = f->r->nsteps - 1; i >= 0; i--)
        note_step(f, i, &f->r->steps[i]);
}

static bool among(const struct program *p, const int32_t *slots, int n, int root)
{
    for (int i = 0; i < n; i++)
        if (slots[i] >= 0 && slot_root(p, slots[i]) == root)
            return true;
    return false;
}

/* ---- which windows ---- */

/* A planned tensor that lives between steps of the region alone, with all its elements in the window. */
static bool is_local(const struct window_finder *f, int slot)
{
    int root = slot_root(f->p, slot);
    return f->p->slots[root].kind == SLOT_PLANNED && !among(f->p, f->r->params, f->r->nparams, root) &&
           !among(f->p, f->r->results, f->r->nresults, root) && !f->w->moved[root] &&
           f->b->types[root].kind == VK_TENSOR &&
           tensor_bytes(&f->b->types[root]) == tensor_bytes(&f->b->types[slot]) &&
           tensor_bytes(&f->b->types[slot]) >= WORTH_BYTES;
}

/* What the loop carries is carried unchanged, and nothing in the trip writes there. */
static bool stays(const struct window_finder *f, int array)
{
    int root = slot_root(f->p, array);
    for (int i = 0; i < f->r->nparams; i++)
        if (slot_root(f->p, f->r->params[i]) == root && (i >= f->r->nresults || f->r->results[i] != f->r->params[i]))
            return false;
    for (const struct touch *t = f->touches[root]; t; t = t->next)
        if (t->how & WRITES)
            return false;
    return true;
}

static bool slice_lies_in_array(const struct window_finder *f, int at, const struct call *call)
{
    int part = slot_root(f->p, call->out[0]);
    if (call->out[0] != part || !is_local(f, part) || !stays(f, call->in[0]))
        return false;
    for (const struct touch *t = f->touches[part]; t; t = t->next)
        if (t->step != at && (f->r->steps[t->step].kind != STEP_LAUNCH || t->how != READS || t->step < at))
            return false;
    return true;
}

/* The launch whose result the update is, if that can go there at once; -1. */
static int update_made_in_array(const struct window_finder *f, int at, const struct call *call)
{
    int value = slot_root(f->p, call->in[1]), array = slot_root(f->p, call->in[0]);
    int starts = slot_root(f->p, call->in[2]);
    int maker = -1;
    if (!is_local(f, call->in[1]) || value == array)
        return -1;
    for (const struct touch *t = f->touches[value]; t; t = t->next) {
        if (t->step == at)
            continue;
        if (f->r->steps[t->step].kind != STEP_LAUNCH || t->step > at ||
            (t->how != READS && (t->how != WRITES || maker >= 0)) || (t->how == READS && maker < 0))
            return -1;
        maker = t->how == WRITES ? t->step : maker;
    }
    for (const struct touch *t = f->touches[array]; t && maker >= 0; t = t->next)
        if (t->step >= maker && t->step < at)
            return -1;
    for (const struct touch *t = f->touches[starts]; t && maker >= 0; t = t->next)
        if (t->step >= maker && (t->how & WRITES))
            return -1;
    return maker;
}

/* The slot and the views on it are where the window is. */
static void move_slot(const struct window_finder *f, int slot, struct quick_row *row)
{
    const struct slot_list *views = &f->c->m->views[slot];
    int32_t *slots = ARENA_ARRAY(&f->b->arena, int32_t, views->count + 1);
    int64_t *behind = ARENA_ARRAY(&f->b->arena, int64_t, views->count + 1);
    slots[0] = slot, behind[0] = 0;
    for (int i = 0; i < views->count; i++) {
        const struct slot *v = &f->p->slots[views->slots[i]];
        slots[1 + i] = views->slots[i];
        behind[1 + i] = dim_value(f->b->values, v->offset) * (int64_t)dtype_bytes(v->type.dtype);
    }
    row->nmoved = views->count + 1;
    row->moved = slots, row->behind = behind;
    for (int i = 0; i < row->nmoved; i++)
        f->w->moved[slots[i]] = true;
}

static bool known_views(const struct window_finder *f, int slot)
{
    const struct slot_list *views = &f->c->m->views[slot];
    for (int i = 0; i < views->count; i++)
        if (f->b->types[views->slots[i]].kind != VK_TENSOR)
            return false;
    return true;
}

static bool point_at_window(struct context *c, const struct quick_op *op, struct diag *d)
{
    char *at = window_at(op, QUICK_A);
    for (int i = 0; i < op->row->nmoved; i++)
        c->address[op->row->moved[i]] = at + op->row->behind[i];
    return true;
}

void quick_windows_find(const struct context *c, struct bound *b, int region, struct quick_windows *w)
{
    const struct program *p = c->m->p;
    struct window_finder f = {.c = c, .b = b, .p = p, .r = &p->regions[region], .w = w};
    w->moved = ARENA_ARRAY(&b->arena, bool, p->nslots + 1);
    w->line = ARENA_ARRAY(&b->arena, struct quick_line *, f.r->nsteps + 1);
    w->done = ARENA_ARRAY(&b->arena, bool, f.r->nsteps + 1);
    for (int i = 0; i < f.r->nsteps; i++) {
        const struct call *call = &p->calls[f.r->steps[i].index];
        struct quick_line line;
        if (f.r->steps[i].kind != STEP_CALL || !b->call_checked[f.r->steps[i].index] ||
            !quick_find_window(b, call, &b->arena, &line))
            continue;
        if (!f.touches)
            find_touches(&f);
        bool takes = call->op == OP_dynamic_slice;
        int slot = slot_root(p, takes ? call->out[0] : call->in[1]);
        int at = takes ? (slice_lies_in_array(&f, i, call) ? i : -1) : update_made_in_array(&f, i, call);
        if (at < 0 || w->line[at] || !known_views(&f, slot))
            continue;
        struct quick_row *row = arena_copy(&b->arena, line.op.row, sizeof *row);
        row->run = point_at_window;
        move_slot(&f, slot, row);
        if (!takes)
            line.place[QUICK_A] = line.place[QUICK_TO], line.bytes[QUICK_A] = line.bytes[QUICK_TO];
        line.place[QUICK_TO].slot = QUICK_NOTHING, line.bytes[QUICK_TO] = 0;
        line.op.row = row;
        w->line[at] = arena_copy(&b->arena, &line, sizeof line);
        w->done[i] = true;
        w->count += row->nmoved;
    }
    arena_free(&f.scratch);
}
