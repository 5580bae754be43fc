#include "backend/lower/group.h"

#include "backend/lower/kernels.h"

struct group group_of(struct lowering *l, struct node *n)
{
    struct arena *a = &l->p->arena;
    struct group g = {.l = l, .whole = n};
    if (n->op != OP_fused) {
        g.n = 1;
        g.nodes = arena_copy(a, &n, sizeof n);
        g.nresults = n->nout;
        g.results = n->out;
        return g;
    }
    struct region *r = n->regions[0];
    struct node *last = region_return(r);
    for (struct node *i = r->first; i != last; i = i->next)
        g.n++;
    g.nodes = ARENA_ARRAY(a, struct node *, g.n);
    int at = 0;
    for (struct node *i = r->first; i != last; i = i->next)
        g.nodes[at++] = i;
    g.nresults = last->nin;
    g.results = last->in;
    for (int i = 0; i < last->nin; i++)
        if (last->in[i]->def)
            l->alias[last->in[i]->id] = n->out[i];
    return g;
}

struct node *group_def(const struct group *g, const struct value *v)
{
    for (int i = 0; v && i < g->n; i++)
        if (v->def == g->nodes[i])
            return g->nodes[i];
    return NULL;
}

bool group_is_result(const struct group *g, const struct value *v)
{
    for (int i = 0; i < g->nresults; i++)
        if (g->results[i] == v)
            return true;
    return false;
}

bool group_single_use(const struct group *g, const struct value *v)
{
    return group_def(g, v) && !group_is_result(g, v) && value_has_one_use(v);
}

bool broadcast_step(struct dim_table *t, dim_t have, dim_t want, dim_t dense, dim_t *step)
{
    *step = have == 1 ? 0 : dense;
    if (have == 1 || have == want)
        return true;
    if (dim_is_const(have))
        return !dim_is_const(want);
    *step = dim_mul(t, dense, dim_min(t, dim_sub(t, have, 1), 1));
    return true;
}

bool broadcast_laid(struct dim_table *t, int have, const dim_t *have_dims, const dim_t *have_steps, int rank,
                    const dim_t *dims, dim_t *steps)
{
    int missing = rank - have;
    for (int i = 0; i < rank; i++) {
        bool absent = i < missing;
        if (missing < 0 || !broadcast_step(t, absent ? 1 : have_dims[i - missing], dims[i],
                                           absent ? 0 : have_steps[i - missing], &steps[i]))
            return false;
    }
    return missing >= 0;
}

bool broadcast_steps(struct lowering *l, const struct value *v, int rank, const dim_t *dims,
                     dim_t *steps)
{
    dim_t dense[MAX_RANK];
    dense_steps(&l->p->dims, v->type.rank, v->type.dims, dense);
    if (is_turned(l, v)) {
        dense_steps(&l->p->dims, v->type.rank - 1, v->type.dims, dense);
        dense[v->type.rank - 1] = dim_mul(&l->p->dims, dense[0], v->type.dims[0]);
    }
    return broadcast_laid(&l->p->dims, v->type.rank, v->type.dims, dense, rank, dims, steps);
}
