#include "passes/cse.h"

#include "passes/match.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_CONSTANT = 4096 }; /* bytes; larger ones are not compared */

struct entry {
    struct node *node; /* one of the two */
    struct value *constant;
    uint64_t hash;
};

struct table {
    struct entry *entries;
    size_t cap, count;
};

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    const unsigned char *s = p;
    for (size_t i = 0; i < n; i++)
        h = mix(h, s[i]);
    return h;
}

/* Operand ids, in increasing order where the order does not matter. */
static void operand_ids(const struct node *n, int64_t *ids)
{
    for (int i = 0; i < n->nin; i++)
        ids[i] = n->in[i] ? n->in[i]->id : -1;
    if (op_infos[n->op].flags & OPF_COMMUTATIVE && n->nin == 2 && ids[0] > ids[1]) {
        int64_t first = ids[0];
        ids[0] = ids[1], ids[1] = first;
    }
}

enum { MAX_OPERANDS = 64 };

/* What a node computes is known as dims: equal contents are equal, however they are made. */
static const struct content_list *known_content(const struct node *n)
{
    const struct value *v = n->nout == 1 ? n->out[0] : NULL;
    return v && v->type.kind == VK_TENSOR && v->type.rank >= 0 && v->content.n > 0 ? &v->content
                                                                                    : NULL;
}

static uint64_t hash_node(const struct node *n)
{
    const struct content_list *c = known_content(n);
    if (c)
        return hash_bytes(mix((uint64_t)n->out[0]->type.dtype, (uint64_t)n->out[0]->type.rank),
                          c->v, sizeof *c->v * (size_t)c->n);
    int64_t ids[MAX_OPERANDS];
    operand_ids(n, ids);
    return hash_bytes(mix((uint64_t)n->op, (uint64_t)n->nout), ids, sizeof *ids * (size_t)n->nin);
}

static bool nodes_equal(const struct node *a, const struct node *b)
{
    int64_t x[MAX_OPERANDS], y[MAX_OPERANDS];
    const struct content_list *c = known_content(a), *e = known_content(b);
    if (c || e)
        return c && e && same_type(a->out[0], b->out[0]) && c->n == e->n &&
               !memcmp(c->v, e->v, sizeof *c->v * (size_t)c->n);
    if (a->op != b->op || a->nin != b->nin || a->nout != b->nout ||
        !attrs_equal(&a->attrs, &b->attrs))
        return false;
    operand_ids(a, x);
    operand_ids(b, y);
    return a->nin == 0 || !memcmp(x, y, sizeof *x * (size_t)a->nin);
}

/* The place of an equal entry, or a free one. Nodes match only where their results may be seen. */
static struct entry *find(struct table *t, const struct entry *e)
{
    for (size_t i = e->hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
        struct entry *at = &t->entries[i];
        if (!at->node && !at->constant)
            return at;
        if (at->hash != e->hash)
            continue;
        if (e->constant && at->constant &&
            tensor_equal(e->constant->constant, at->constant->constant))
            return at;
        if (e->node && at->node && nodes_equal(e->node, at->node) &&
            region_inside(e->node->parent, at->node->parent))
            return at;
    }
}

static void merge_constants(struct graph *g, struct table *t)
{
    for (int i = 0; i < g->nconstants; i++) {
        struct value *v = g->constants[i];
        const struct tensor *c = v->constant;
        if (!v->uses || c->kind != VK_TENSOR || c->dtype == DT_STR ||
            tensor_bytes(c) > LARGEST_CONSTANT)
            continue;
        struct entry e = {.constant = v};
        e.hash = hash_bytes(mix(c->dtype, (uint64_t)c->rank), c->data, tensor_bytes(c));
        struct entry *at = find(t, &e);
        if (at->constant)
            value_replace(v, at->constant);
        else
            *at = e;
    }
}

static bool mergeable(const struct node *n)
{
    return n->nin <= MAX_OPERANDS &&
           !(op_infos[n->op].flags & (OPF_IMPURE | OPF_REGIONS | OPF_TERMINATOR));
}

static bool merge_node(struct node *n, void *user)
{
    struct entry e = {.node = n};
    if (!mergeable(n))
        return true;
    e.hash = hash_node(n);
    struct entry *at = find(user, &e);
    if (!at->node) {
        *at = e;
        return true;
    }
    for (int i = 0; i < n->nout; i++)
        value_replace(n->out[i], at->node->out[i]);
    return true;
}

void merge_common(struct graph *g)
{
    struct table t = {0};
    size_t max = (size_t)g->next_node + (size_t)g->nconstants + 16;
    for (t.cap = 64; t.cap < 2 * max; t.cap *= 2)
        ;
    t.entries = calloc(t.cap, sizeof *t.entries);
    if (!t.entries)
        return; /* an optimisation only */
    merge_constants(g, &t);
    region_walk(g->main, merge_node, &t);
    free(t.entries);
}

/* Whether all that is computed from v ends in that operand of the return. */
static bool ends_in(const struct value *v, const struct node *end, int operand, int *budget)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        if (u->node == end ? u->index != operand
                           : u->node->op == OP_return || u->node->nregions || --*budget < 0)
            return false;
        for (int i = 0; u->node != end && i < u->node->nout; i++)
            if (!ends_in(u->node->out[i], end, operand, budget))
                return false;
    }
    return true;
}

/* What a loop carries for nobody but itself (a counter beside the counter) stays as it was. */
static void hold_unread(struct node *loop)
{
    enum { LIMIT = 32 }; /* operators between a value and its next one */
    struct region *test = loop->regions[0], *body = loop->regions[1];
    struct node *end = region_return(body);
    for (int i = 0; i < loop->nout && i < body->nparams && i < test->nparams; i++) {
        struct value *v = body->params[i];
        int budget = LIMIT;
        if (!loop->out[i]->uses && !test->params[i]->uses && end->in[i] != v &&
            type_equal(&loop->in[i]->type, &v->type) && ends_in(v, end, i, &budget))
            node_set_input(end, i, v);
    }
}

static void remove_dead_in(struct region *r)
{
    for (struct node *n = r->last, *prev; n; n = prev) {
        bool needed = n->op == OP_return;
        prev = n->prev;
        for (int i = 0; i < n->nout && !needed; i++)
            needed = n->out[i]->uses != NULL;
        if (!needed) {
            node_remove(n);
            continue;
        }
        if (n->op == OP_while && n->nregions == 2 && n->nin == n->nout)
            hold_unread(n);
        for (int i = 0; i < n->nregions; i++)
            remove_dead_in(n->regions[i]);
    }
}

void remove_dead(struct graph *g)
{
    remove_dead_in(g->main);
}
