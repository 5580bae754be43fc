#include "backend/lower/elementwise.h"

#include <string.h>

static bool add_operand(struct layout *y, struct value *v)
{
    v = outer_value(y->l, v);
    for (int i = 0; i < y->n; i++)
        if (y->operands[i].v == v)
            return true;
    if (y->n == MAX_OPERANDS || !has_layout(y->l, v))
        return false;
    struct operand_steps *o = &y->operands[y->n++];
    o->v = v;
    return broadcast_steps(y->l, v, y->rank, y->dims, o->steps);
}

bool layout_collect(struct layout *y, const struct group *g)
{
    const struct type *t = &g->results[0]->type;
    if (t->rank < 0)
        return false;
    y->rank = t->rank;
    memcpy(y->dims, t->dims, sizeof y->dims);
    for (int i = 0; i < g->nresults; i++) {
        const struct type *r = &g->results[i]->type;
        if (r->rank != t->rank || memcmp(r->dims, t->dims, sizeof *t->dims * (size_t)t->rank))
            return false;
        if (!add_operand(y, g->results[i]))
            return false;
    }
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->nin; k++)
            if (g->nodes[i]->in[k] && !group_def(g, g->nodes[i]->in[k]) &&
                !add_operand(y, g->nodes[i]->in[k]))
                return false;
    return true;
}

static void drop_dim(struct layout *y, int at)
{
    y->rank--;
    for (int i = at; i < y->rank; i++) {
        y->dims[i] = y->dims[i + 1];
        for (int o = 0; o < y->n; o++)
            y->operands[o].steps[i] = y->operands[o].steps[i + 1];
    }
}

/* Whether dims i and i + 1 are one dim for every operand. */
static bool joint(const struct layout *y, int i)
{
    struct dim_table *t = &y->l->p->dims;
    for (int o = 0; o < y->n; o++) {
        const dim_t *s = y->operands[o].steps;
        if (s[i] != dim_mul(t, s[i + 1], y->dims[i + 1]))
            return false;
    }
    return true;
}

void layout_collapse(struct layout *y)
{
    for (int i = y->rank - 1; i >= 0; i--)
        if (y->dims[i] == 1)
            drop_dim(y, i);
    for (int i = y->rank - 2; i >= 0; i--)
        if (joint(y, i)) {
            dim_t n = dim_mul(&y->l->p->dims, y->dims[i], y->dims[i + 1]);
            y->dims[i + 1] = n;
            drop_dim(y, i);
        }
    if (y->rank == 0) {
        y->rank = 1;
        y->dims[0] = 1;
        for (int o = 0; o < y->n; o++)
            y->operands[o].steps[0] = 0;
    }
}

int layout_operand(const struct layout *y, const struct value *v)
{
    int o = 0;
    while (y->operands[o].v != v)
        o++;
    return o;
}
