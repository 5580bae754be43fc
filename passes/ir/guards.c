#include "passes/ir/guards.h"

#include <string.h>

static uint32_t mix(uint32_t h, int64_t v)
{
    uint64_t x = (h ^ (uint64_t)v) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(x ^ (x >> 32));
}

const struct region *guard_region(const struct region *r)
{
    while (r && r->owner && r->owner->op == OP_fused)
        r = r->owner->parent;
    return r;
}

/* Of the types of all parameters that nodes of the region may depend on, but for the inputs. */
static uint32_t types_around(const struct region *r)
{
    uint32_t h = 1;
    for (r = guard_region(r); r && r->owner; r = guard_region(r->owner->parent))
        for (int i = 0; i < r->nparams; i++) {
            const struct type *t = &r->params[i]->type;
            h = mix(mix(h, t->kind), t->rank);
            for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++)
                h = mix(h, t->dims[k]);
        }
    return h | 1;
}

static uint32_t hash_of(const struct graph_guard *g)
{
    uint32_t h = mix(mix(mix(g->g.kind, g->g.a), g->g.b), (int64_t)(uintptr_t)g->region);
    return mix(h, g->under);
}

static bool same(const struct graph_guard *a, const struct graph_guard *b)
{
    return a->g.kind == b->g.kind && a->g.a == b->g.a && a->g.b == b->g.b &&
           a->region == b->region && a->under == b->under;
}

static void index_all(struct graph *g)
{
    g->guard_index_cap = 64;
    while (g->nguards * 2 >= g->guard_index_cap)
        g->guard_index_cap *= 2;
    g->guard_index = ARENA_ARRAY(&g->arena, uint32_t, g->guard_index_cap);
    for (int i = 0; i < g->nguards; i++) {
        uint32_t h = hash_of(&g->guards[i]);
        while (g->guard_index[h &= (uint32_t)g->guard_index_cap - 1])
            h++;
        g->guard_index[h] = (uint32_t)i + 1;
    }
}

void graph_add_guard(struct graph *g, const struct guard *what, struct region *r,
                     const struct node *origin)
{
    struct graph_guard add = {*what, (struct region *)guard_region(r), origin, 0};
    if (!add.region) /* of a node that is not placed yet */
        return;
    add.under = origin ? types_around(r) : 0;
    if (g->nguards * 2 >= g->guard_index_cap)
        index_all(g);
    uint32_t h = hash_of(&add);
    for (; g->guard_index[h &= (uint32_t)g->guard_index_cap - 1]; h++)
        if (same(&g->guards[g->guard_index[h] - 1], &add))
            return;
    ARENA_GROW(&g->arena, g->guards, g->nguards, g->guards_cap);
    g->guards[g->nguards++] = add;
    g->guard_index[h] = (uint32_t)g->nguards;
}

void graph_move_guards(struct graph *g, const struct region *from, struct region *to)
{
    for (int i = 0; i < g->nguards; i++)
        if (g->guards[i].region == from)
            g->guards[i].region = to;
    g->guard_index_cap = 0; /* made anew with the next one */
}

void graph_drop_guards(struct graph *g, int n)
{
    if (g->nguards > n)
        g->nguards = n, g->guard_index_cap = 0;
}

bool graph_guard_counts(const struct graph_guard *g)
{
    return !g->under || g->under == types_around(g->region);
}
