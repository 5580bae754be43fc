/*
 * The order of a queue: its transfers complete one after the other, and one that touches a byte of an earlier one,
 * where one of the two writes, begins after it.
 */
#include "runtime/sim/state.h"

#include <string.h>

enum { MAX_TOUCHED = 64 };

/* Where the state of a tile or slot and a queue is, or would be, in the instance's table. */
static int place_of(const struct instance *i, int tensor, int mem, int queue)
{
    uint32_t hash = ((uint32_t)tensor * ENGINE_COUNT + (uint32_t)queue) * 4 + (uint32_t)mem;
    int at = (int)((hash * 2654435761u) >> 8) & (i->table_size - 1);
    for (; i->table[at] >= 0; at = (at + 1) & (i->table_size - 1)) {
        const struct transfer_state *t = &i->transfers[i->table[at]];
        if (t->tensor == tensor && t->mem == mem && t->queue == queue)
            break;
    }
    return at;
}

/* NULL: a queue has not touched the operand's tile or slot yet. */
static struct transfer_state *find_state(const struct instance *i, const struct number_ap *ap, int tensor, int queue)
{
    int state = i->table_size ? i->table[place_of(i, tensor, ap->mem, queue)] : -1;
    return state < 0 ? NULL : &i->transfers[state];
}

/* At most half of the table is taken. */
static void enlarge_table(struct instance *i, struct arena *a)
{
    i->table_size = i->table_size ? i->table_size * 2 : 64;
    i->table = ARENA_ARRAY(a, int32_t, i->table_size);
    memset(i->table, -1, sizeof *i->table * (size_t)i->table_size);
    for (int n = 0; n < i->ntransfers; n++) {
        const struct transfer_state *t = &i->transfers[n];
        i->table[place_of(i, t->tensor, t->mem, t->queue)] = n;
    }
}

static struct transfer_state *transfer_state(struct flying *f, const struct number_ap *ap)
{
    struct instance *i = f->i;
    struct transfer_state *t = find_state(i, ap, ap->tensor, f->n->engine);
    if (t)
        return t;
    if (i->ntransfers * 2 >= i->table_size)
        enlarge_table(i, f->l->a);
    i->table[place_of(i, ap->tensor, ap->mem, f->n->engine)] = i->ntransfers;
    ARENA_GROW(f->l->a, i->transfers, i->ntransfers, i->transfers_cap);
    t = &i->transfers[i->ntransfers++];
    *t = (struct transfer_state){.tensor = ap->tensor,
                                 .queue = f->n->engine,
                                 .mem = ap->mem,
                                 .older = {INT64_MAX, INT64_MIN},
                                 .written = {.record = -1},
                                 .read = {.record = -1}};
    return t;
}

void forget_transfers(struct instance *i)
{
    for (int n = 0; n < i->ntransfers; n++) {
        struct transfer_state *t = &i->transfers[n];
        t->n = 0, t->older = (struct range){INT64_MAX, INT64_MIN};
        t->written = t->read = (struct moment){.record = -1};
    }
}

static bool in_order(const struct touched *x, const struct number_ap *ap, const struct byte_runs *r, bool same)
{
    return (ap->writes || x->writes) && (!same || regions_meet(&x->bytes, r));
}

/* Those of a queue that an operand has to follow: in a tile that shares memory with its own, all. */
static void follow(struct flying *f, const struct transfer_state *t, const struct number_ap *ap,
                   const struct byte_runs *r, bool same)
{
    bool old = !same || (r->low < t->older.high && t->older.low < r->high);
    if (old)
        f->after = later(f->after, t->written);
    if (old && ap->writes)
        f->after = later(f->after, t->read);
    for (int n = 0; n < t->n; n++) {
        const struct touched *x = &t->touched[n];
        if (!in_order(x, ap, r, same))
            continue;
        if (!x->by)
            f->after = later(f->after, x->end);
        else if (!f->follows || x->by->number > f->follows->number)
            f->follows = x->by;
    }
}

static struct byte_runs region_of_operand(const struct number_insn *n, int operand, const int64_t *vars)
{
    bool indirect = insn_info(n->op)->ap[operand].reach == REACH_INDIRECT;
    return indirect ? region_anywhere() : region_of(&n->ap[operand], vars);
}

static bool keeps_order(const struct number_ap *ap)
{
    return ap->mem != MEM_NONE && (ap->mem != MEM_HBM || ap->rewritten);
}

/* Earlier transfers of the same queue that touch what an operand touches. */
static void find_order(struct flying *f, const struct number_ap *ap, const struct byte_runs *r)
{
    const int32_t slot[] = {ap->tensor, -1};
    for (const int32_t *t = ap->mem == MEM_HBM ? slot : f->l->aliases[ap->tensor]; *t >= 0; t++) {
        const struct transfer_state *x = find_state(f->i, ap, *t, f->n->engine);
        if (x)
            follow(f, x, ap, r, *t == ap->tensor);
    }
}

static void forget(struct transfer_state *t, int first, int count)
{
    memmove(&t->touched[first], &t->touched[first + count], sizeof *t->touched * (size_t)(t->n - first - count));
    t->n -= count;
}

/* The older half, where it is over, is known by its ends from now on. */
static void fold_older(struct transfer_state *t)
{
    int n = 0;
    for (; n < t->n / 2 && !t->touched[n].by; n++) {
        const struct touched *x = &t->touched[n];
        struct moment *m = x->writes ? &t->written : &t->read;
        *m = later(*m, x->end);
        t->older.low = x->bytes.low < t->older.low ? x->bytes.low : t->older.low;
        t->older.high = x->bytes.high > t->older.high ? x->bytes.high : t->older.high;
    }
    forget(t, 0, n);
}

/* Transfers of a queue complete in order: the same access again takes the place of an earlier one. */
static void note_touched(struct flying *f, const struct number_ap *ap, const struct byte_runs *r)
{
    struct transfer_state *t = transfer_state(f, ap);
    for (int k = t->n - 1; k >= 0; k--) {
        const struct touched *x = &t->touched[k];
        if ((!f->l->s->watch && !x->by && x->end.at <= f->trigger.at) ||
            (x->writes == ap->writes && regions_equal(&x->bytes, r)))
            forget(t, k, 1);
    }
    if (t->n >= MAX_TOUCHED)
        fold_older(t);
    ARENA_GROW(f->l->a, t->touched, t->n, t->cap);
    t->touched[t->n++] = (struct touched){*r, ap->writes, f, {.record = -1}};
}

void queue_transfer(struct flying *f)
{
    struct byte_runs r[MAX_APS];
    for (int a = 0; a < f->n->naps; a++)
        if (keeps_order(&f->n->ap[a])) {
            r[a] = region_of_operand(f->n, a, f->vars);
            find_order(f, &f->n->ap[a], &r[a]);
        }
    for (int a = 0; a < f->n->naps; a++)
        if (keeps_order(&f->n->ap[a]))
            note_touched(f, &f->n->ap[a], &r[a]);
}

void transfer_noted(struct flying *f, struct moment end)
{
    for (int a = 0; a < f->n->naps; a++) {
        const struct number_ap *ap = &f->n->ap[a];
        if (ap->mem == MEM_NONE)
            continue;
        if (ap->mem != MEM_HBM) {
            struct tile_state *t = &f->i->tiles[ap->tensor];
            *(ap->writes ? &t->filled : &t->drained) = end;
            t->queue = f->n->engine;
        }
        if (!keeps_order(ap))
            continue;
        struct transfer_state *t = transfer_state(f, ap);
        for (int k = 0; k < t->n; k++)
            if (t->touched[k].by == f)
                t->touched[k].by = NULL, t->touched[k].end = end;
    }
}

bool queue_touches(const struct launch_state *l, const struct instance *i, const struct number_ap *ap, int engine)
{
    for (const int32_t *tile = l->aliases[ap->tensor]; *tile >= 0; tile++) {
        const struct transfer_state *t = find_state(i, ap, *tile, engine);
        for (int k = 0; t && k < t->n; k++)
            if (t->touched[k].by && (t->touched[k].writes || ap->writes))
                return true;
    }
    return false;
}
