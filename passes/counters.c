/*
 * pass counters: the range of the numbers that loops count with. Requires inferred types.
 *
 * A carried integer that begins with a constant, and to which each trip adds a constant, is a counter; a condition that
 * compares one with a constant says how many trips there are at most, and so the range of all of them in the body. What
 * is computed of them by a few operators has ranges too:
 *
 *   where(i < 0, i + n, i)   of an i that is never negative is i: indices as Python has them
 *   scatter_windows          of one window that always fits replaces it: dynamic_update_slice, which asks for no more
 */
#include "passes/match.h"
#include "passes/one_window.h"
#include "passes/rewrite.h"

enum { MAX_COUNTERS = 64, MAX_DEPTH = 12 };

struct counter_range {
    int64_t min, max;
};

struct counters {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    int n;
    struct {
        const struct value *v;
        struct counter_range r;
    } of[MAX_COUNTERS];
};

/* ---- ranges ---- */

/* What i32 and i64 hold, with room to add two of them. */
static bool fits(int dtype, struct counter_range r)
{
    const int64_t max = dtype == DT_I32 ? INT32_MAX : INT64_MAX / 4;
    return r.min >= -max && r.max <= max;
}

static bool range_of(const struct counters *c, const struct value *v, int depth, struct counter_range *r);

/* 1 or 0 where the ranges decide a comparison, else -1. */
static int truth_of(const struct counters *c, const struct value *v, int depth)
{
    struct counter_range a, b;
    const struct node *n = v->def;
    if (!n || n->nin != 2 || !range_of(c, n->in[0], depth, &a) || !range_of(c, n->in[1], depth, &b))
        return -1;
    switch (n->op) {
    case OP_lt:
        return a.max < b.min ? 1 : a.min >= b.max ? 0 : -1;
    case OP_le:
        return a.max <= b.min ? 1 : a.min > b.max ? 0 : -1;
    case OP_gt:
        return a.min > b.max ? 1 : a.max <= b.min ? 0 : -1;
    case OP_ge:
        return a.min >= b.max ? 1 : a.max < b.min ? 0 : -1;
    default:
        return -1;
    }
}

static bool range_of_sum(const struct counters *c, const struct node *n, int depth, struct counter_range *r)
{
    struct counter_range a, b;
    if (!range_of(c, n->in[0], depth, &a) || !range_of(c, n->in[1], depth, &b))
        return false;
    if (n->op == OP_add)
        *r = (struct counter_range){a.min + b.min, a.max + b.max};
    else
        *r = (struct counter_range){a.min - b.max, a.max - b.min};
    return fits(n->out[0]->type.dtype, *r);
}

static bool range_of_choice(const struct counters *c, const struct node *n, int depth, struct counter_range *r)
{
    const int truth = truth_of(c, n->in[0], depth);
    struct counter_range a, b;
    if (truth >= 0)
        return range_of(c, n->in[truth ? 1 : 2], depth, r);
    if (!range_of(c, n->in[1], depth, &a) || !range_of(c, n->in[2], depth, &b))
        return false;
    *r = (struct counter_range){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
    return true;
}

static bool range_of(const struct counters *c, const struct value *v, int depth, struct counter_range *r)
{
    if (!is_one_integer(v) || depth > MAX_DEPTH)
        return false;
    if (v->constant) {
        r->min = r->max = tensor_i64(v->constant, 0);
        return fits(v->type.dtype, *r);
    }
    for (int i = 0; i < c->n; i++)
        if (c->of[i].v == v) {
            *r = c->of[i].r;
            return true;
        }
    const struct node *n = v->def;
    if (!n)
        return false;
    switch (n->op) {
    case OP_add:
    case OP_sub:
        return range_of_sum(c, n, depth + 1, r);
    case OP_where:
        return range_of_choice(c, n, depth + 1, r);
    case OP_cast:
    case OP_reshape:
        return range_of(c, n->in[0], depth + 1, r) && fits(v->type.dtype, *r);
    default:
        return false;
    }
}

/* ---- loops ---- */

/* What a trip adds to carried value k, 0: it is no counter. */
static int64_t step_of(const struct node *loop, int k)
{
    const struct region *body = loop->regions[1];
    const struct node *n = region_return(body)->in[k]->def;
    if (!loop->in[k]->constant || !is_one_integer(loop->in[k]) || !n || n->op != OP_add)
        return 0;
    for (int i = 0; i < 2; i++)
        if (n->in[i] == body->params[k] && n->in[1 - i]->constant && is_one_integer(n->in[1 - i]))
            return tensor_i64(n->in[1 - i]->constant, 0);
    return 0;
}

/* How many trips there are at most; -1: nothing says. */
static int64_t max_trips(const struct node *loop)
{
    const struct region *condition = loop->regions[0];
    const struct node *n = region_return(condition)->in[0]->def;
    for (int k = 0; n && n->op == OP_lt && k < loop->nin; k++) {
        const int64_t step = n->in[0] == condition->params[k] ? step_of(loop, k) : 0;
        if (step <= 0 || !n->in[1]->constant || !is_one_integer(n->in[1]))
            continue;
        const int64_t from = tensor_i64(loop->in[k]->constant, 0), to = tensor_i64(n->in[1]->constant, 0);
        if (!fits(DT_I64, (struct counter_range){from, from}) || !fits(DT_I64, (struct counter_range){to, to}))
            return -1;
        return from >= to ? 0 : (to - from - 1) / step + 1;
    }
    return -1;
}

static bool count(struct node *loop, void *user)
{
    struct counters *c = user;
    const bool counts = loop->op == OP_while && loop->nregions == 2 && loop->nin == loop->nout;
    const int64_t trips = counts ? max_trips(loop) : -1;
    for (int k = 0; trips > 0 && k < loop->nin && c->n < MAX_COUNTERS; k++) {
        const int64_t step = step_of(loop, k);
        int64_t first, last;
        if (!step || __builtin_mul_overflow(step, trips - 1, &last))
            continue;
        first = tensor_i64(loop->in[k]->constant, 0);
        if (__builtin_add_overflow(first, last, &last))
            continue;
        const struct counter_range r = {first < last ? first : last, first < last ? last : first};
        if (!fits(loop->in[k]->type.dtype, r))
            continue;
        c->of[c->n].v = loop->regions[1]->params[k];
        c->of[c->n++].r = r;
    }
    return true;
}

/* ---- what follows ---- */

static bool always_fits(const struct counters *c, const struct one_window *w)
{
    for (int i = 0; i < w->rank; i++) {
        struct counter_range r;
        if (w->start[i] && (!range_of(c, w->start[i], 0, &r) || r.min < 0 || r.max > w->last[i]))
            return false;
    }
    return true;
}

static bool update(struct counters *c, struct node *n)
{
    struct one_window w;
    if (!attr_is(&n->attrs, "combine", "second") || !find_one_window(n, &w) || !always_fits(c, &w))
        return true;
    struct builder b = builder_before(n, c->d);
    struct value *u = window_updates(&b, n, &w), *at = u ? window_starts(&b, &w) : NULL;
    struct value *in[] = {n->in[0], u, at};
    why(c->o, n, "counters.window", "its window always fits: dynamic_update_slice");
    return node_replace(n, at ? b_op(&b, OP_dynamic_update_slice, in, 3, NULL) : NULL);
}

static bool visit(struct node *n, void *user)
{
    struct counters *c = user;
    if (n->op == OP_scatter_windows)
        return update(c, n);
    const int truth = n->op == OP_where ? truth_of(c, n->in[0], 0) : -1;
    if (truth < 0 || !same_type(n->in[truth ? 1 : 2], n->out[0]))
        return true;
    why(c->o, n, "counters.where", "a loop's counter decides it");
    return node_replace(n, n->in[truth ? 1 : 2]);
}

bool pass_counters(struct graph *g, const struct options *o, struct diag *d)
{
    struct counters c = {.g = g, .o = o, .d = d};
    if (!for_each_node(g->main, count, &c))
        return false;
    if (!c.n)
        return true;
    if (!for_each_node(g->main, visit, &c))
        return false;
    remove_dead(g);
    return true;
}
