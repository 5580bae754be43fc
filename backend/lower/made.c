#include "backend/lower/made.h"

static void release(const struct constant_maker *maker)
{
    const struct made *m = (const struct made *)maker;
    if (--*m->left == 0)
        constant_release(m->g, m->from);
}

int made_slot(struct lowering *l, struct made *m, const struct value *from, int64_t pieces,
              const struct tensor *shape, const char *name)
{
    m->maker.pieces = pieces;
    m->maker.release = release;
    m->g = l->g;
    m->from = from;
    int slot = constant_slot(l, shape, name);
    l->p->slots[slot].maker = &m->maker;
    return slot;
}

void made_count(struct lowering *l)
{
    int *left = ARENA_ARRAY(&l->g->arena, int, l->g->next_value);
    for (int i = 0; i < l->nvalues && i < l->g->next_value; i++)
        left[i] = l->slots[i] >= 0; /* itself in the archive: never released */
    for (int i = 0; i < l->p->nslots; i++) {
        struct made *m = (struct made *)l->p->slots[i].maker;
        if (!m)
            continue;
        m->left = &left[m->from->id];
        ++*m->left;
    }
}
