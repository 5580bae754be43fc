/*
 * The proof that access patterns stay inside their tensors.
 *
 * It holds for every value that grid and loop variables take. Sums are made in 128 bits; since no
 * number on the way leaves MAX_REACH, executors compute the same in 64.
 */
#include "runtime/exec/bind_kernel.h"

/* ---- reach ---- */

static __int128 magnitude(__int128 v)
{
    return v < 0 ? -v : v;
}

bool number_within_reach(const struct binder *b, int64_t base, int nterms, const struct term *terms)
{
    __int128 reach = magnitude(base);
    for (int i = 0; i < nterms; i++)
        reach += magnitude(terms[i].coef) * b->var_count[terms[i].var];
    return reach <= MAX_REACH;
}

bool clip_within_reach(const struct binder *b, const struct clip *c, int64_t times)
{
    __int128 max = MAX_REACH / times;
    return magnitude(c->limit) + magnitude(c->factor) * b->var_count[c->var] <= max;
}

/* Of everything that executors form of a pattern: place of the first element, way to the last. */
static bool within_reach(const struct binder *b, const struct pattern *p)
{
    __int128 reach = 0;
    for (int i = 0; i < p->o.rank; i++)
        reach += magnitude(p->step[i]) * p->o.size * magnitude(p->count[i]);
    for (int i = 0; i < p->nclips; i++)
        if (!clip_within_reach(b, &p->clip[i], 1))
            return false;
    return reach <= MAX_REACH && number_within_reach(b, p->o.offset, p->o.nterms, p->o.terms);
}

/* ---- first and last element ---- */

struct value_bounds {
    __int128 low, high; /* bytes; of first and last element touched */
    bool never;
};

/* What one variable contributes to first and last place for value v; false where nothing is
 * accessed. */
static bool contribution(const struct pattern *p, int64_t coef, int var, int64_t v, struct value_bounds *r)
{
    r->low = r->high = (__int128)coef * v;
    for (int i = 0; i < p->nclips; i++) {
        const struct clip *c = &p->clip[i];
        if (c->var != var)
            continue;
        __int128 count = (__int128)c->limit - (__int128)c->factor * v;
        if (count > p->o.count[c->dim])
            count = p->o.count[c->dim];
        if (count < 1)
            return false;
        __int128 span = (__int128)p->o.step[c->dim] * p->o.size * (count - 1);
        if (span > 0)
            r->high += span;
        else
            r->low += span;
    }
    return true;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

/* Both places are piecewise linear in the variable, so their extremes are at its ends and beside
 * the breaks. */
static void variable_range(const struct binder *b, const struct pattern *p, int64_t coef, int var,
                           struct value_bounds *total)
{
    int64_t last = b->var_count[var] - 1, at[2 + 4 * MAX_AP_RANK];
    int n = 0;
    struct value_bounds all = {0, 0, true};
    at[n++] = 0, at[n++] = last;
    for (int i = 0; i < p->nclips; i++) {
        const struct clip *c = &p->clip[i];
        if (c->var != var || !c->factor)
            continue;
        int64_t full = floor_div(c->limit - p->o.count[c->dim], c->factor);
        int64_t valid = floor_div(c->limit - 1, c->factor);
        at[n++] = full, at[n++] = full + 1, at[n++] = valid, at[n++] = valid + 1;
    }
    for (int i = 0; i < n; i++) {
        struct value_bounds r;
        if (at[i] < 0 || at[i] > last || !contribution(p, coef, var, at[i], &r))
            continue;
        if (all.never || r.low < all.low)
            all.low = r.low;
        if (all.never || r.high > all.high)
            all.high = r.high;
        all.never = false;
    }
    total->low += all.low;
    total->high += all.high;
    total->never |= all.never;
}

static struct value_bounds range_of(const struct binder *b, const struct pattern *p)
{
    struct value_bounds r = {p->o.offset, p->o.offset, false};
    bool clipped[MAX_AP_RANK] = {0};
    for (int i = 0; i < p->nclips; i++)
        clipped[p->clip[i].dim] = true;
    for (int i = 0; i < p->o.rank; i++) {
        if (p->o.count[i] == 0)
            r.never = true;
        if (clipped[i] || p->o.count[i] == 0)
            continue;
        __int128 span = (__int128)p->o.step[i] * p->o.size * (p->o.count[i] - 1);
        if (span > 0)
            r.high += span;
        else
            r.low += span;
    }
    for (int v = 0; v < b->k->nvars; v++) {
        int64_t coef = 0;
        bool used = false;
        if (!b->var_count[v])
            continue;
        for (int i = 0; i < p->o.nterms; i++)
            if (p->o.terms[i].var == v)
                coef = p->o.terms[i].coef, used = true;
        for (int i = 0; i < p->nclips; i++)
            used |= p->clip[i].var == v;
        if (used)
            variable_range(b, p, coef, v, &r);
    }
    return r;
}

static bool slot_bytes(const struct binder *b, int slot, int64_t *bytes)
{
    const struct slot *s = &b->m->p->slots[slot];
    struct tensor t;
    if (!slot_dims(s, b->values, &t))
        return fail(b->d, "'%s' has no known dims", s->name ? s->name : "(unnamed)");
    *bytes = (int64_t)dtype_bytes(t.dtype);
    bool empty = false, overflow = false;
    for (int i = 0; i < t.rank; i++) {
        if (t.dims[i] < 0)
            return fail(b->d, "'%s' has a negative dimension", s->name ? s->name : "(unnamed)");
        empty |= t.dims[i] == 0;
        overflow |= __builtin_mul_overflow(*bytes, t.dims[i], bytes);
    }
    if (empty)
        *bytes = 0;
    if (!overflow)
        *bytes = state_bytes(b->m->p, b->values, slot, *bytes);
    return empty || !overflow || fail(b->d, "a tensor is too large");
}

/* By how many bytes the last place falls when variable t of a pattern walks over dim c->dim in
 * tiles, the last of which the clip cuts: the walk ends at the limit. */
static __int128 cut_by(const struct binder *b, const struct pattern *p, const struct term *t,
                       const struct clip *c)
{
    __int128 step = (__int128)p->o.step[c->dim] * p->o.size;
    if (c->var != t->var || c->factor <= 0 || step <= 0 || c->limit < 1 ||
        t->coef != step * c->factor)
        return 0;
    __int128 last = (__int128)c->factor * (b->var_count[t->var] - 1) + p->o.count[c->dim];
    return last > c->limit ? step * (last - c->limit) : 0;
}

/* Inside even if clips cut no counts but those of last tiles: mostly so, and told much sooner. */
static bool inside_anyhow(const struct binder *b, const struct pattern *p, int64_t bytes)
{
    __int128 low = p->o.offset, high = p->o.offset;
    for (int i = 0; i < p->o.rank; i++) {
        __int128 span = (__int128)p->o.step[i] * p->o.size * (p->o.count[i] - 1);
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
        if (p->o.count[i] == 0)
            return false;
    }
    unsigned cut = 0; /* dims */
    for (int i = 0; i < p->o.nterms; i++) {
        const struct term *t = &p->o.terms[i];
        __int128 span = (__int128)t->coef * (b->var_count[t->var] - 1), by = 0;
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
        for (int k = 0; k < p->nclips && !by; k++)
            if (!(cut >> p->clip[k].dim & 1) && (by = cut_by(b, p, t, &p->clip[k])))
                cut |= 1u << p->clip[k].dim;
        high -= by;
    }
    return low >= 0 && high + p->o.size <= bytes;
}

bool check_bounds(struct binder *b, const struct pattern *p, const struct ap *ap, const char *what)
{
    int64_t bytes = 0;
    if (!within_reach(b, p))
        return fail(b->d, "operand '%s' has an offset, step, count or clip that is too large",
                    what);
    if (ap->mem != MEM_HBM)
        bytes = b->tile_size[ap->tensor];
    else if (!slot_bytes(b, ap->tensor, &bytes))
        return false;
    if (inside_anyhow(b, p, bytes))
        return true;
    struct value_bounds r = range_of(b, p);
    if (r.never || (r.low >= 0 && r.high + p->o.size <= bytes))
        return true;
    const char *name = ap->mem == MEM_HBM ? b->m->p->slots[ap->tensor].name : "tile";
    return fail(b->d, "operand '%s' reaches bytes %lld to %lld of '%s', which has %lld", what,
                (long long)r.low, (long long)(r.high + p->o.size - 1), name ? name : "(unnamed)",
                (long long)bytes);
}

/* Packed weights are read in whole rows of the pack's width, k rounded up to pairs or quads. */
static void widen_packed(struct pattern *p)
{
    struct operand *o = &p->o;
    int k = o->rank - 2, m = o->rank - 1, unit = o->size == 4 ? 1 : o->size == 2 ? 2 : 4;
    if (k < 0)
        return;
    o->count[k] = (o->count[k] + unit - 1) / unit * unit;
    if (o->count[m] && o->count[m] < o->step[k])
        o->count[m] = o->step[k];
    for (int i = 0; i < p->nclips; i++)
        if (p->clip[i].dim >= k)
            p->clip[i--] = p->clip[--p->nclips];
}

bool check_packed(struct binder *b, const struct pattern *p, const struct ap *ap, const char *what)
{
    struct pattern whole = *p;
    whole.o.step = whole.step, whole.o.count = whole.count;
    if (p->o.rank >= 2 && p->step[p->o.rank - 2] < 0)
        return fail(b->d, "operand '%s' goes through packed weights backwards", what);
    widen_packed(&whole);
    return check_bounds(b, &whole, ap, what);
}
