/*
 * The order of a queue: its transfers complete one after the other, and one that touches a byte of an earlier one, where one of
 * the two writes, begins after it.
 */
#include "runtime/sim/state.h"

#include <string.h>

void ap_span(const struct number_ap *a, const int64_t *vars, int64_t *low, int64_t *high)
{
    int64_t first = number_at(&a->offset, vars), last = first;
    for (int i = 0; i < a->rank; i++) {
        int64_t count = ap_dim_count(&a->dim[i], vars), reach;
        if (count < 1 || __builtin_mul_overflow(a->dim[i].step, count - 1, &reach))
            continue;
        *(reach < 0 ? &first : &last) += reach;
    }
    *low = first * a->size + a->slot_offset, *high = (last + 1) * a->size + a->slot_offset;
}

enum { MAX_TOUCHED = 64 };

static struct transfer_state *transfer_state(struct launch_state *l, struct instance *i, const struct number_ap *ap, int tensor,
                                             int queue)
{
    for (int n = 0; n < i->ntransfers; n++) {
        struct transfer_state *t = &i->transfers[n];
        if (t->tensor == tensor && t->mem == ap->mem && t->queue == queue)
            return t;
    }
    ARENA_GROW(l->a, i->transfers, i->ntransfers, i->transfers_cap);
    struct transfer_state *t = &i->transfers[i->ntransfers++];
    *t = (struct transfer_state){.tensor = tensor,
                                 .queue = queue,
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

static bool in_order(const struct touched *x, const struct number_ap *ap, const struct region *r, bool same)
{
    return (ap->writes || x->writes) && (!same || regions_meet(&x->bytes, r));
}

/* Those of a queue that an operand has to follow: in a tile that shares memory with its own, all. */
static void follow(struct flying *f, const struct transfer_state *t, const struct number_ap *ap, const struct region *r, bool same)
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

static struct region region_of_operand(const struct number_insn *n, int operand, const int64_t *vars)
{
    bool indirect = insn_info(n->op)->ap[operand].reach == REACH_INDIRECT;
    return indirect ? region_anywhere() : region_of(&n->ap[operand], vars);
}

static bool keeps_order(const struct number_ap *ap)
{
    return ap->mem != MEM_NONE && (ap->mem != MEM_HBM || ap->rewritten);
}

/* Earlier transfers of the same queue that touch what this one touches. */
static void find_order(struct flying *f)
{
    struct launch_state *l = f->l;
    for (int a = 0; a < f->n->naps; a++) {
        const struct number_ap *ap = &f->n->ap[a];
        if (!keeps_order(ap))
            continue;
        struct region r = region_of_operand(f->n, a, f->vars);
        if (ap->mem == MEM_HBM) {
            follow(f, transfer_state(l, f->i, ap, ap->tensor, f->n->engine), ap, &r, true);
            continue;
        }
        for (const int32_t *t = l->aliases[ap->tensor]; *t >= 0; t++)
            follow(f, transfer_state(l, f->i, ap, *t, f->n->engine), ap, &r, *t == ap->tensor);
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
static void note_touched(struct flying *f)
{
    struct launch_state *l = f->l;
    for (int a = 0; a < f->n->naps; a++) {
        const struct number_ap *ap = &f->n->ap[a];
        if (!keeps_order(ap))
            continue;
        struct transfer_state *t = transfer_state(l, f->i, ap, ap->tensor, f->n->engine);
        struct region r = region_of_operand(f->n, a, f->vars);
        for (int k = t->n - 1; k >= 0; k--) {
            const struct touched *x = &t->touched[k];
            if ((!l->s->watch && !x->by && x->end.at <= f->trigger.at) ||
                (x->writes == ap->writes && regions_equal(&x->bytes, &r)))
                forget(t, k, 1);
        }
        if (t->n >= MAX_TOUCHED)
            fold_older(t);
        ARENA_GROW(l->a, t->touched, t->n, t->cap);
        t->touched[t->n++] = (struct touched){r, ap->writes, f, {.record = -1}};
    }
}

void queue_transfer(struct flying *f)
{
    find_order(f);
    note_touched(f);
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
        struct transfer_state *t = transfer_state(f->l, f->i, ap, ap->tensor, f->n->engine);
        for (int k = 0; k < t->n; k++)
            if (t->touched[k].by == f)
                t->touched[k].by = NULL, t->touched[k].end = end;
    }
}

bool queue_touches(const struct launch_state *l, const struct instance *i, const struct number_ap *ap, int engine)
{
    for (const int32_t *tile = l->aliases[ap->tensor]; *tile >= 0; tile++)
        for (int n = 0; n < i->ntransfers; n++) {
            const struct transfer_state *t = &i->transfers[n];
            if (t->tensor != *tile || t->mem != ap->mem || t->queue != engine)
                continue;
            for (int k = 0; k < t->n; k++)
                if (t->touched[k].by && (t->touched[k].writes || ap->writes))
                    return true;
        }
    return false;
}
