#include "backend/lower/lazy_constants.h"

static void release(const struct constant_maker *maker)
{
    const struct lazy_constant *m = (const struct lazy_constant *)maker;
    if (--*m->left == 0)
        constant_release(m->g, m->from);
}

static bool shape_equal(const struct tensor *a, const struct tensor *b)
{
    bool equal = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; equal && i < a->rank; i++)
        equal = a->dims[i] == b->dims[i];
    return equal;
}

/* An earlier constant of the same bytes, or NULL. */
static const struct lazy_constant *find_same(const struct lowering *l, const struct lazy_constant *m,
                                             const struct value *from, int64_t pieces,
                                             const struct tensor *shape)
{
    const struct lazy_constant *e = m->same ? l->lazy[from->id] : NULL;
    while (e && !(e->same == m->same && e->maker.make == m->maker.make && e->maker.pieces == pieces &&
                  shape_equal(&l->p->slots[e->slot].data, shape) && m->same(e, m)))
        e = e->next;
    return e;
}

int lazy_constant(struct lowering *l, struct lazy_constant *m, const struct value *from,
                  int64_t pieces, const struct tensor *shape, const char *name)
{
    const struct lazy_constant *earlier = find_same(l, m, from, pieces, shape);
    if (earlier)
        return earlier->slot;
    m->maker.pieces = pieces;
    m->maker.release = release;
    m->g = l->g;
    m->from = from;
    m->slot = constant_slot(l, shape, name);
    m->next = l->lazy[from->id];
    l->lazy[from->id] = m;
    l->p->slots[m->slot].maker = &m->maker;
    return m->slot;
}

void lazy_constants_count(struct lowering *l)
{
    int *left = ARENA_ARRAY(&l->g->arena, int, l->g->next_value);
    for (int i = 0; i < l->nvalues && i < l->g->next_value; i++)
        left[i] = l->slots[i] >= 0; /* itself in the archive: never released */
    for (int i = 0; i < l->p->nslots; i++) {
        struct lazy_constant *m = (struct lazy_constant *)l->p->slots[i].maker;
        if (!m)
            continue;
        m->left = &left[m->from->id];
        ++*m->left;
    }
}
