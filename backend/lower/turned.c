#include "backend/lower/joined.h"

#include "backend/lower/plan.h"
#include "backend/lower/strict_matmul.h"

/* Whether what the group reads besides the product's operands is alike in all rows. */
static bool alike_in_rows(struct lowering *l, const struct group *g)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    for (int i = 1; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->nin; k++) {
            struct value *v = g->nodes[i]->in[k];
            dim_t steps[MAX_RANK];
            if (!v || group_def(g, v))
                continue;
            v = outer_value(l, v);
            if (!has_layout(l, v) || !broadcast_steps(l, v, y->rank, y->dims, steps))
                return false;
            for (int d = 0; d + 1 < y->rank; d++)
                if (steps[d] != 0)
                    return false;
        }
    return true;
}

/* The product that alone takes the value, as its rows. */
static bool rows_of_product(struct lowering *l, const struct value *v, const struct node *with)
{
    struct node *n = value_only_user(v);
    if (!n || !n->nout || n->parent != with->parent || decision_of(l, n)->joined || l->refused[n->out[0]->id])
        return false;
    if (n->op == OP_fused)
        alias_parameters(l, n);
    const struct strict_matmul *m = strict_matmul_of(l, n);
    return m && strict_matmul_is_plain(m) && m->a == v && dim_is_const(m->p.k);
}

static bool tiles_fit(const struct lowering *l, const struct strict_matmul *m)
{
    struct strict_product p = m->p;
    const struct product_part *x = &p.part[0];
    return strict_product_tiles(l, &p) && p.unrolled && x->out.tile % l->m->partitions == 0 &&
           x->out_channels % x->out.tile == 0;
}

void decide_turned(struct lowering *l, struct node *n)
{
    const struct strict_matmul *m = strict_matmul_of(l, n);
    const struct decision *d = decision_of(l, n);
    const struct value *v = n->out[0];
    if (!m || !strict_matmul_is_plain(m) || m->alpha != 1 || n->nout != 1 || d->joined || d->next ||
        d->passage != MADE || l->refused[v->id] || l->apart[v->id] || l->is_output[v->id] ||
        !dtype_is_engine_float(v->type.dtype) || !dim_is_const(m->p.rows) || m->p.rows < MIN_TURNED_ROWS ||
        !dim_is_const(m->p.part[0].out_channels))
        return;
    if (n->op == OP_fused)
        alias_parameters(l, n);
    struct group g = group_of(l, n);
    if (g.nresults == 1 && alike_in_rows(l, &g) && rows_of_product(l, v, n) && tiles_fit(l, m))
        l->decisions[v->id].turned = true;
}
