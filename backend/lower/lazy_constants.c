#include "backend/lower/lazy_constants.h"

static void release(const struct constant_maker *maker)
{
    const struct lazy_constant *m = (const struct lazy_constant *)maker;
    if (--*m->left == 0)
        constant_release(m->g, m->from);
}

int lazy_constant(struct lowering *l, struct lazy_constant *m, const struct value *from,
                  int64_t pieces, const struct tensor *shape, const char *name)
{
    m->maker.pieces = pieces;
    m->maker.release = release;
    m->g = l->g;
    m->from = from;
    int slot = constant_slot(l, shape, name);
    l->p->slots[slot].maker = &m->maker;
    return slot;
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
