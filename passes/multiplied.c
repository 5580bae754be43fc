/*
 * pass multiplied: depthwise convolutions that make several results of each channel (a channel multiplier) become
 * those that make one, of an image in which every channel is repeated: tile programs multiply channels by vectors,
 * where a product of one channel by a few results fills none. Requires inferred types; runs after layout.
 */
#include "passes/rewrite.h"

enum { MAX_MULTIPLIER = 8 }; /* above it the groups are products worth their while */

struct multiplied {
    struct graph *g;
    const struct options *o;
    struct diag *d;
};

/* Results of each channel; 0 when this is no such convolution, or the rank or the channels are not known. */
static int64_t multiplier(const struct node *n)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type;
    if (n->op != OP_conv || !attr_int(&n->attrs, "channels_last", 0) || x->rank < 3 || x->rank >= MAX_RANK ||
        w->rank != x->rank || !dim_is_const(x->dims[x->rank - 1]) || !dim_is_const(w->dims[0]))
        return 0;
    int64_t channels = x->dims[x->rank - 1], results = w->dims[0];
    bool each = channels > 1 && attr_int(&n->attrs, "group", 1) == channels && results % channels == 0;
    return each && results / channels > 1 && results / channels <= MAX_MULTIPLIER ? results / channels : 0;
}

/* Channel c of x in places c m to c m + m - 1. */
static struct value *repeated(struct multiplied *p, struct node *n, int64_t m)
{
    struct value *x = n->in[0];
    int rank = x->type.rank;
    int64_t apart[MAX_RANK + 1] = {0}, times[MAX_RANK + 1], together[MAX_RANK] = {0}; /* 0 keeps a dim */
    for (int i = 0; i <= rank; i++)
        times[i] = i < rank ? 1 : m;
    apart[rank - 1] = x->type.dims[rank - 1], apart[rank] = 1;
    together[rank - 1] = m * x->type.dims[rank - 1];
    struct value *y = emit_reshape(n, x, apart, rank + 1, p->d);
    y = y ? emit2(n, OP_expand, y, constant_i64s(p->g, times, rank + 1), p->d) : NULL;
    return y ? emit_reshape(n, y, together, rank, p->d) : NULL;
}

static bool visit(struct node *n, void *user)
{
    struct multiplied *p = user;
    int64_t m = n->op == OP_conv ? multiplier(n) : 0;
    if (!m)
        return true;
    struct value *x = repeated(p, n, m);
    if (!x)
        return false;
    why(p->o, n, "multiplied.depthwise", "%d results of each channel: the channels are repeated first", (int)m);
    node_set_input(n, 0, x);
    attr_set_int(&p->g->arena, &n->attrs, "group", x->type.dims[x->type.rank - 1]);
    return true;
}

bool pass_multiplied(struct graph *g, const struct options *o, struct diag *d)
{
    struct multiplied p = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &p);
}
