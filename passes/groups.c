/*
 * pass groups: grouped convolutions for which tile programs have no form of their own, or a slow one. Requires
 * inferred types; runs after layout.
 *
 * Depthwise ones that make several results of each channel (a channel multiplier) become those that make one, of an
 * image in which every channel is repeated: channels are multiplied by vectors, which a product of one channel by a few
 * results does not fill. Those with more results in each of several groups than a block of packed weights has columns
 * become a convolution for each group, with all the ways that one has.
 */
#include "neff/isa/pack.h"
#include "passes/rewrite.h"

enum { MAX_MULTIPLIER = 8 }; /* above it the groups are products worth their while */
enum { MAX_GROUPS = 64 };

struct grouped {
    int rank;
    int64_t channels, results, groups; /* results: all */
};

static bool convolves(const struct node *n) { return n->op == OP_conv || n->op == OP_conv_integer; }

/* With channels last and in known number. */
static bool is_grouped(const struct node *n, struct grouped *c)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type;
    int rank = c->rank = x->rank;
    if (!attr_int(&n->attrs, "channels_last", 0) || rank < 3 || rank >= MAX_RANK ||
        w->rank != rank || !dim_is_const(x->dims[rank - 1]) || !type_is_static(w))
        return false;
    c->channels = x->dims[rank - 1], c->results = w->dims[0], c->groups = attr_int(&n->attrs, "group", 1);
    return c->groups > 1 && c->channels > 0 && c->channels % c->groups == 0 && c->results > 0 &&
           c->results % c->groups == 0;
}

/* ---- channel multipliers ---- */

/* Channel c of x in places c m to c m + m - 1. */
static struct value *repeated(struct rewriter *p, struct node *n, const struct grouped *c, int64_t m)
{
    struct builder b = builder_before(n, p->d);
    int64_t apart[MAX_RANK + 1] = {0}, times[MAX_RANK + 1], together[MAX_RANK] = {0}; /* 0 keeps a dim */
    for (int i = 0; i <= c->rank; i++)
        times[i] = i < c->rank ? 1 : m;
    apart[c->rank - 1] = c->channels, apart[c->rank] = 1;
    together[c->rank - 1] = m * c->channels;
    struct value *y = b_reshape_to(&b, n->in[0], apart, c->rank + 1);
    y = y ? b_2(&b, OP_expand, y, constant_i64s(p->g, times, c->rank + 1)) : NULL;
    return y ? b_reshape_to(&b, y, together, c->rank) : NULL;
}

static bool multiply_channels(struct rewriter *p, struct node *n, const struct grouped *c)
{
    int64_t m = c->results / c->channels;
    struct value *x = repeated(p, n, c, m);
    if (!x)
        return false;
    why(p->o, n, "groups.multiplier", "%d results of each channel: the channels are repeated first", (int)m);
    node_set_input(n, 0, x);
    attr_set_int(&p->g->arena, &n->attrs, "group", c->results);
    return true;
}

/* ---- wide groups ---- */

/* Places from..to along an axis; of a constant's first axis, in its memory. */
static struct value *part(struct rewriter *p, struct node *n, struct value *v, int axis, int64_t from, int64_t to)
{
    struct builder b = builder_before(n, p->d);
    b.name = NULL;
    if (v->constant && axis == 0) {
        struct tensor t = *v->constant;
        t.data = (char *)t.data + tensor_bytes(&t) / (size_t)t.dims[0] * (size_t)from;
        t.dims[0] = to - from, t.owned = false;
        return constant_new(p->g, &t, v->name);
    }
    return b_slice(&b, v, from, to, axis);
}

enum { X_ZERO = 2, W_ZERO = 3, SUMMED = 4, OPERANDS }; /* of conv_integer, behind the image and the weights */

/* What else it reads is one number for all groups, or a constant of a number for each result. */
static bool splits(const struct node *n, const struct grouped *c)
{
    if (n->op == OP_conv)
        return n->nin < 3 || !n->in[2];
    const struct value *zero = n->nin > X_ZERO ? n->in[X_ZERO] : NULL, *sums = n->nin > SUMMED ? n->in[SUMMED] : NULL;
    return (!zero || zero->type.rank == 0) && !(n->nin > W_ZERO && n->in[W_ZERO]) &&
           (!sums || (sums->constant && sums->type.rank == 1 && sums->type.dims[0] == c->results));
}

static bool convolve_each(struct rewriter *p, struct node *n, const struct grouped *c)
{
    struct builder b = builder_before(n, p->d);
    struct value *results[MAX_GROUPS];
    struct attrs as = attrs_copy(&p->g->arena, &n->attrs);
    int64_t channels = c->channels / c->groups, each = c->results / c->groups;
    attr_set_int(&p->g->arena, &as, "group", 1);
    for (int64_t i = 0; i < c->groups; i++) {
        struct value *x = part(p, n, n->in[0], c->rank - 1, i * channels, (i + 1) * channels);
        struct value *w = x ? part(p, n, n->in[1], 0, i * each, (i + 1) * each) : NULL;
        struct value *in[OPERANDS] = {x, w};
        for (int k = X_ZERO; k < n->nin && k < OPERANDS; k++)
            in[k] = k == SUMMED && n->in[k] ? part(p, n, n->in[k], 0, i * each, (i + 1) * each) : n->in[k];
        results[i] = w ? b_op(&b, n->op, in, n->nin, &as) : NULL;
        if (!results[i])
            return false;
    }
    why(p->o, n, "groups.wide", "%d results in each of %d groups: a convolution for each", (int)each, (int)c->groups);
    return node_replace(n, b_concat(&b, results, (int)c->groups, c->rank - 1));
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    struct grouped c;
    if (!convolves(n) || !is_grouped(n, &c))
        return true;
    int64_t each = c.results / c.groups;
    if (c.groups == c.channels && each > 1 && each <= MAX_MULTIPLIER && !p->o->strict_target)
        return multiply_channels(p, n, &c);
    if (each > PACK_COLUMNS && c.groups <= MAX_GROUPS && splits(n, &c))
        return convolve_each(p, n, &c);
    return true;
}

bool pass_groups(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    return for_each_node(g->main, visit, &p);
}
