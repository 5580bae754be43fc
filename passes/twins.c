/*
 * pass twins: carried values of a loop that are the same in every trip are one.
 *
 * Two begin with one value, and what a trip makes of them is computed alike: by the same operators from the same
 * values, or from each of the two. Loops of JAX count their trips twice. What is carried for nothing then goes
 * (remove_dead). Requires inferred types.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

enum { MAX_DEPTH = 4 };

struct twins {
    const struct value *first, *second; /* in the body */
};

static bool alike(const struct twins *t, const struct value *a, const struct value *b, int depth)
{
    if (a == b || (a == t->first && b == t->second))
        return true;
    const struct node *x = a ? a->def : NULL, *y = b ? b->def : NULL;
    if (!x || !y || depth == MAX_DEPTH || x->op != y->op || x->nin != y->nin || x->nout != y->nout ||
        a->index != b->index || x->nregions || y->nregions || op_infos[x->op].flags & OPF_IMPURE ||
        !same_type(a, b) || !attrs_equal(&x->attrs, &y->attrs))
        return false;
    for (int i = 0; i < x->nin; i++)
        if (!alike(t, x->in[i], y->in[i], depth + 1))
            return false;
    return true;
}

static bool are_twins(const struct node *loop, int i, int k)
{
    const struct region *body = loop->regions[1];
    const struct node *next = region_return(body);
    const struct twins t = {body->params[i], body->params[k]};
    return loop->in[i] == loop->in[k] && same_type(body->params[i], body->params[k]) &&
           same_type(loop->out[i], loop->out[k]) && alike(&t, next->in[i], next->in[k], 0);
}

static void join(struct node *loop, int i, int k)
{
    for (int r = 0; r < 2; r++)
        value_replace(loop->regions[r]->params[k], loop->regions[r]->params[i]);
    value_replace(loop->out[k], loop->out[i]);
}

static bool visit(struct node *n, void *user)
{
    const struct rewriter *r = user;
    if (n->op != OP_while || n->nregions != 2 || n->nin != n->nout)
        return true;
    for (int i = 0; i < n->nin; i++)
        for (int k = i + 1; k < n->nin; k++)
            if (n->regions[1]->params[k]->uses && are_twins(n, i, k)) {
                join(n, i, k);
                why(r->o, n, "twins", "two carried values are the same in every trip");
            }
    return true;
}

bool pass_twins(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter r = {g, o, d};
    if (!for_each_node(g->main, visit, &r))
        return false;
    remove_dead(g);
    return true;
}
