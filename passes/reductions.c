/*
 * pass reductions: those over the first dims and a few last elements, but not over what lies between, in two: over the
 * first dims, where whole rows are added to each other, then over the last. Requires inferred types; runs after layout.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

enum { MAX_LAST = 16, MIN_ROW = 16 };

/* Whether of results of parts, of one size, there is the result of all; of short types it would be rounded twice. */
static bool divides(const struct node *n)
{
    static const enum op ops[] = {OP_reduce_sum, OP_reduce_mean, OP_reduce_max, OP_reduce_min, OP_reduce_prod};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i] == n->op)
            return n->in[0]->type.dtype == DT_F32 || n->in[0]->type.dtype == DT_F64;
    return false;
}

/* How many axes are the first dims, when the others are the last, few elements, of long rows. 0: it is another. */
static int first_axes(const struct type *x, const int *axes, int n)
{
    int64_t last = 1, row = 1, rows = 1;
    int first = 0;
    while (first < n && axes[first] == first)
        rows *= x->dims[first++];
    for (int i = first; i < n; i++) {
        if (axes[i] != x->rank - n + i)
            return 0;
        last *= x->dims[axes[i]];
    }
    for (int i = first; i < x->rank; i++)
        row *= x->dims[i];
    return first < n && rows > 1 && last <= MAX_LAST && row >= MIN_ROW && row > last ? first : 0;
}

static struct value *reduce(struct rewriter *p, struct node *n, struct value *x, const int *axes, int count)
{
    struct builder b = builder_before(n, p->d);
    struct attrs as = {0};
    int64_t over[MAX_RANK];
    for (int i = 0; i < count; i++)
        over[i] = axes[i];
    attr_set_ints(&p->g->arena, &as, "axes", over, count);
    attr_set_int(&p->g->arena, &as, "keepdims", 1);
    return b_op(&b, n->op, &x, 1, &as);
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    struct builder b = builder_before(n, p->d);
    int axes[MAX_RANK];
    if (!divides(n) || !type_is_static(&n->in[0]->type) || !type_is_static(&n->out[0]->type))
        return true;
    int count = reduction_axes(n, axes), first = count > 1 ? first_axes(&n->in[0]->type, axes, count) : 0;
    if (!first)
        return true;
    const struct type *y = &n->out[0]->type;
    struct value *rows = reduce(p, n, n->in[0], axes, first);
    struct value *all = rows ? reduce(p, n, rows, axes + first, count - first) : NULL;
    if (all && all->type.rank != y->rank)
        all = b_reshape_to(&b, all, y->dims, y->rank);
    why(p->o, n, "reductions.two", "over the first dims, then over the last");
    return node_replace(n, all);
}

bool pass_reductions(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    return for_each_node(g->main, visit, &p);
}
