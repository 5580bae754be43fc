/*
 * A treap: a search tree by the lowest byte, and a heap by random priorities, which keep it flat.
 */
#include "runtime/sim/intervals.h"

struct interval {
    int64_t low, high;
    const void *state;
    struct interval *left, *right;
    uint32_t priority;
};

static struct interval *new_interval(struct intervals *m, int64_t low, int64_t high,
                                     const void *state)
{
    struct interval *n = m->spare;
    if (n)
        m->spare = n->right;
    else
        n = ARENA_NEW(m->arena, struct interval);
    m->random = m->random * 1664525u + 1013904223u;
    *n = (struct interval){low, high, state, NULL, NULL, m->random >> 4};
    return n;
}

static struct interval *merge(struct interval *a, struct interval *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority) {
        a->right = merge(a->right, b);
        return a;
    }
    b->left = merge(a, b->left);
    return b;
}

/* What lies before `at`, and the rest; an interval around it is cut. */
static void split(struct intervals *m, struct interval *t, int64_t at, struct interval **before,
                  struct interval **rest)
{
    if (!t) {
        *before = *rest = NULL;
    } else if (t->high <= at) {
        split(m, t->right, at, &t->right, rest);
        *before = t;
    } else if (t->low >= at) {
        split(m, t->left, at, before, &t->left);
        *rest = t;
    } else {
        *rest = merge(new_interval(m, at, t->high, t->state), t->right);
        t->right = NULL, t->high = at;
        *before = t;
    }
}

struct rebuilt {
    struct intervals *m;
    intervals_change *change;
    void *with;
    struct interval *root, *last; /* last: not in the tree yet */
};

/* Takes the tree apart, in order, into one with the new states. */
static void rebuild(struct rebuilt *r, struct interval *t)
{
    if (!t)
        return;
    struct interval *right = t->right;
    rebuild(r, t->left);
    t->left = t->right = NULL;
    t->state = r->change(r->with, t->state, t->low, t->high);
    if (r->last && r->last->state == t->state) {
        r->last->high = t->high;
        t->right = r->m->spare, r->m->spare = t;
    } else {
        r->root = merge(r->root, r->last);
        r->last = t;
    }
    rebuild(r, right);
}

void intervals_apply(struct intervals *m, int64_t low, int64_t high, intervals_change *change,
                     void *with)
{
    struct interval *before, *inside, *after;
    if (low >= high)
        return;
    if (!m->root)
        m->root = new_interval(m, INT64_MIN, INT64_MAX, NULL);
    split(m, m->root, low, &before, &inside);
    split(m, inside, high, &inside, &after);
    struct rebuilt r = {m, change, with, NULL, NULL};
    rebuild(&r, inside);
    m->root = merge(merge(before, merge(r.root, r.last)), after);
}
