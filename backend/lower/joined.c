#include "backend/lower/joined.h"

#include "backend/lower/norm.h"
#include "backend/lower/plan.h"
#include "backend/lower/strict_matmul.h"

static const struct node *first_of(const struct node *n)
{
    return n->op == OP_fused ? n->regions[0]->first : n;
}

/* Whether v is there when the node runs, which comes before those that use v. */
static bool is_there(const struct lowering *l, const struct value *v, const struct node *n)
{
    return !v->def || v->def->parent != n->parent || decision_of(l, v->def)->place < decision_of(l, n)->place;
}

/* Whether what the group reads is there when the node runs, but for `but`, which its first node alone reads, as operand
 * 0. */
static bool operands_there(struct lowering *l, const struct group *g, const struct value *but,
                           const struct node *n)
{
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->nodes[i]->nin; k++) {
            struct value *v = g->nodes[i]->in[k];
            if (!v || group_def(g, v) || (i == 0 && k == 0))
                continue;
            v = outer_value(l, v);
            if (v == but || !is_there(l, v, n))
                return false;
        }
    return true;
}

static bool free_to_join(const struct lowering *l, const struct node *n, const struct node *with)
{
    const struct decision *d = decision_of(l, n);
    return n->parent == with->parent && !d->joined && !d->next && d->passage == MADE &&
           !l->refused[n->out[0]->id];
}

/* ---- products of the same rows ---- */

static bool share_rows(const struct strict_matmul *a, const struct strict_matmul *b)
{
    return b && strict_matmul_is_plain(b) && a->a == b->a && a->p.k == b->p.k && a->b->type.dtype == b->b->type.dtype;
}

enum { FAR = 64 }; /* nodes; products of the same rows stand close together */

static void join_products(struct lowering *l, struct node *first, const struct strict_matmul *m)
{
    struct strict_matmul all = *m;
    struct node *last = first, *n = first->next;
    all.p.whole = true;
    for (int i = 0; n && i < FAR && all.p.nparts < MAX_MATRICES; i++, n = n->next) {
        if (!n->nout || !free_to_join(l, n, first) || !share_rows(m, strict_matmul_of(l, n)))
            continue;
        struct group g = group_of(l, n);
        if (!operands_there(l, &g, NULL, first))
            continue;
        all.p.part[all.p.nparts++] = strict_matmul_of(l, n)->p.part[0];
        if (!strict_product_tiles(l, &all.p)) {
            all.p.nparts--;
            continue;
        }
        l->decisions[last->out[0]->id].next = n;
        l->decisions[n->out[0]->id].joined = true;
        last = n;
    }
}

/* ---- the normalisation of the product's rows ---- */

static bool normalises(struct lowering *l, const struct node *n, const struct value *v)
{
    const struct node *first = first_of(n);
    if (first->op != OP_layer_norm && first->op != OP_rms_norm)
        return false;
    if (n->op == OP_fused)
        alias_parameters(l, n);
    return outer_value(l, first->in[0]) == v;
}

static bool norm_fits(struct lowering *l, const struct node *product, const struct strict_matmul *m,
                      struct node *norm, const struct value *v)
{
    struct group g = group_of(l, norm);
    struct strict_product p = m->p;
    struct rows r;
    p.whole = true;
    return v->type.dtype == DT_F32 && operands_there(l, &g, v, product) && norm_takes(l, &g, &r) &&
           !r.strided && r.first == r.rank - 1 && r.n == p.part[0].out_channels && r.outer == p.rows &&
           strict_product_tiles(l, &p);
}

static void join_norm(struct lowering *l, struct node *product, const struct strict_matmul *m)
{
    for (int i = 0; i < product->nout; i++)
        for (struct use *u = product->out[i]->uses; u; u = u->next) {
            struct node *n = u->node;
            if (!n->nout || !free_to_join(l, n, product) || !normalises(l, n, product->out[i]) ||
                !norm_fits(l, product, m, n, product->out[i]))
                continue;
            l->decisions[product->out[0]->id].next = n;
            l->decisions[n->out[0]->id].joined = true;
            return;
        }
}

void decide_joined(struct lowering *l, struct node *n)
{
    const struct decision *d = decision_of(l, n);
    const struct strict_matmul *m = strict_matmul_of(l, n);
    if (!m || !strict_matmul_is_plain(m) || d->joined || l->apart[n->out[0]->id])
        return;
    join_products(l, n, m);
    if (!d->next)
        join_norm(l, n, m);
}
