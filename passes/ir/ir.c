#include "passes/ir/ir.h"

#include <stdlib.h>
#include <string.h>

struct graph *graph_new(void)
{
    struct arena a = {0};
    struct graph *g = ARENA_NEW(&a, struct graph);
    g->arena = a; /* the graph lies in its own arena */
    dim_table_init(&g->dims, &g->arena);
    g->name = g->producer = "";
    g->main = region_new(g, NULL);
    return g;
}

void graph_own(struct graph *g, void *block)
{
    ARENA_GROW(&g->arena, g->owned, g->nowned, g->owned_cap);
    g->owned[g->nowned++] = block;
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    if (g->release)
        g->release(g->release_arg);
    for (int i = 0; i < g->nowned; i++)
        free(g->owned[i]);
    struct arena a = g->arena;
    arena_free(&a);
}

/* Room for one more element of an array without a capacity: it doubles at powers of two. */
static void *grow(struct graph *g, void *array, int count, size_t size)
{
    if (count & (count - 1) || count == 1)
        return array;
    size_t room = count ? (size_t)count * 2 : 2;
    void *larger = arena_alloc(&g->arena, room * size);
    arena_move_(larger, array, (size_t)count * size);
    return larger;
}

static struct value *value_new(struct graph *g)
{
    struct value *v = ARENA_NEW(&g->arena, struct value);
    v->id = g->next_value++;
    v->type.kind = VK_NONE;
    v->content.n = -1;
    return v;
}

struct region *region_new(struct graph *g, struct node *owner)
{
    struct region *r = ARENA_NEW(&g->arena, struct region);
    r->graph = g;
    r->owner = owner;
    return r;
}

struct value *region_add_param(struct region *r, const struct type *t, const char *name)
{
    struct graph *g = r->graph;
    struct value *v = value_new(g);
    if (t)
        v->type = *t;
    v->name = name ? arena_strdup(&g->arena, name) : NULL;
    v->param_of = r;
    v->index = r->nparams;
    r->params = grow(g, r->params, r->nparams, sizeof *r->params);
    r->params[r->nparams++] = v;
    return v;
}

/* ---- uses ---- */

static void use_link(struct use *u, struct value *v)
{
    u->prev = NULL;
    u->next = v->uses;
    if (v->uses)
        v->uses->prev = u;
    v->uses = u;
}

static void use_unlink(struct use *u, struct value *v)
{
    if (u->prev)
        u->prev->next = u->next;
    else
        v->uses = u->next;
    if (u->next)
        u->next->prev = u->prev;
    u->next = u->prev = NULL;
}

void node_set_input(struct node *n, int i, struct value *v)
{
    if (n->in[i])
        use_unlink(&n->in_uses[i], n->in[i]);
    n->in[i] = v;
    if (v)
        use_link(&n->in_uses[i], v);
}

static void inputs_room(struct graph *g, struct node *n, int nin)
{
    n->in = ARENA_ARRAY(&g->arena, struct value *, nin);
    n->in_uses = ARENA_ARRAY(&g->arena, struct use, nin);
    for (int i = 0; i < nin; i++)
        n->in_uses[i] = (struct use){.node = n, .index = i};
}

void node_add_input(struct graph *g, struct node *n, struct value *v)
{
    struct value **old = n->in;
    struct use *old_uses = n->in_uses;
    inputs_room(g, n, n->nin + 1);
    for (int i = 0; i < n->nin; i++) {
        if (old[i])
            use_unlink(&old_uses[i], old[i]);
        node_set_input(n, i, old[i]);
    }
    node_set_input(n, n->nin++, v);
}

/* ---- nodes ---- */

struct node *node_new(struct graph *g, enum op op, struct value *const *in, int nin, int nout,
                      const char *name)
{
    struct node *n = ARENA_NEW(&g->arena, struct node);
    n->id = g->next_node++;
    n->op = op;
    n->name = name ? arena_strdup(&g->arena, name) : "";
    n->source = "";
    inputs_room(g, n, nin);
    n->nin = nin;
    for (int i = 0; i < nin; i++)
        node_set_input(n, i, in[i]);
    n->nout = nout;
    n->out = ARENA_ARRAY(&g->arena, struct value *, nout);
    for (int i = 0; i < nout; i++) {
        n->out[i] = value_new(g);
        n->out[i]->def = n;
        n->out[i]->index = i;
    }
    return n;
}

static void link_between(struct region *r, struct node *n, struct node *prev, struct node *next)
{
    n->parent = r;
    n->prev = prev;
    n->next = next;
    *(prev ? &prev->next : &r->first) = n;
    *(next ? &next->prev : &r->last) = n;
}

void node_append(struct region *r, struct node *n)
{
    link_between(r, n, r->last, NULL);
}

void node_insert_before(struct node *at, struct node *n)
{
    link_between(at->parent, n, at->prev, at);
}

void node_insert_after(struct node *at, struct node *n)
{
    link_between(at->parent, n, at, at->next);
}

struct region *node_add_region(struct graph *g, struct node *n)
{
    struct region *r = region_new(g, n);
    n->regions = grow(g, n->regions, n->nregions, sizeof *n->regions);
    n->regions[n->nregions++] = r;
    return r;
}

void node_unlink(struct node *n)
{
    if (n->parent) {
        *(n->prev ? &n->prev->next : &n->parent->first) = n->next;
        *(n->next ? &n->next->prev : &n->parent->last) = n->prev;
    }
    n->prev = n->next = NULL;
    n->parent = NULL;
}

void node_remove(struct node *n)
{
    for (int r = 0; r < n->nregions; r++)
        while (n->regions[r]->last)
            node_remove(n->regions[r]->last);
    for (int i = 0; i < n->nin; i++)
        node_set_input(n, i, NULL);
    node_unlink(n);
}

/* ---- constants ---- */

static struct type constant_type(struct arena *a, const struct tensor *t)
{
    struct type type = {.kind = t->kind, .dtype = t->dtype};
    if (t->kind == VK_TENSOR)
        return type_tensor(t->dtype, t->rank, t->dims);
    if (t->kind != VK_NONE) {
        struct type *elem = ARENA_NEW(a, struct type);
        *elem = (struct type){.kind = VK_NONE};
        if (t->kind == VK_MAP && t->nitems == 2) {
            type.dtype = t->items[0].dtype;
            *elem = constant_type(a, &t->items[1]);
        } else if (t->nitems > 0) {
            *elem = constant_type(a, &t->items[0]);
            for (int64_t i = 1; i < t->nitems; i++)
                if (elem->kind == VK_TENSOR) {
                    struct type other = constant_type(a, &t->items[i]);
                    if (!type_equal(&other, elem))
                        elem->rank = RANK_UNKNOWN;
                }
        } else if (t->dtype) {
            *elem = type_tensor(t->dtype, 0, NULL);
            elem->rank = RANK_UNKNOWN;
        }
        type.elem = elem;
    }
    return type;
}

struct value *constant_new(struct graph *g, const struct tensor *t, const char *name)
{
    struct value *v = value_new(g);
    struct tensor *own = ARENA_NEW(&g->arena, struct tensor);
    *own = *t;
    own->owned = false;
    v->constant = own;
    v->type = constant_type(&g->arena, own);
    v->name = name && *name ? arena_strdup(&g->arena, name) : NULL;
    ARENA_GROW(&g->arena, g->constants, g->nconstants, g->constants_cap);
    g->constants[g->nconstants++] = v;
    return v;
}

struct value *constant_copy(struct graph *g, int dtype, int rank, const int64_t *dims,
                            const void *data, const char *name)
{
    struct tensor t = tensor_view(dtype, rank, dims, NULL);
    size_t size = tensor_bytes(&t);
    char *room = arena_alloc(&g->arena, size + 48); /* aligned to 64 for the kernels */
    room += (64 - (uintptr_t)room % 64) % 64;
    arena_move_(room, data, size);
    t.data = room;
    return constant_new(g, &t, name);
}

struct value *constant_i64s(struct graph *g, const int64_t *v, int n)
{
    int64_t dims[1] = {n};
    return constant_copy(g, DT_I64, 1, dims, v, NULL);
}

struct value *constant_scalar(struct graph *g, int dtype, double v)
{
    uint64_t room[2] = {0};
    dtype_store_f64(dtype, room, 0, v);
    return constant_copy(g, dtype, 0, NULL, room, NULL);
}

/* ---- asking and changing ---- */

void value_replace(struct value *old, struct value *with)
{
    if (old == with)
        return;
    while (old->uses)
        node_set_input(old->uses->node, old->uses->index, with);
}

int value_count_uses(const struct value *v)
{
    int n = 0;
    for (const struct use *u = v->uses; u; u = u->next)
        n++;
    return n;
}

bool value_has_one_use(const struct value *v)
{
    return v->uses && !v->uses->next;
}

bool region_inside(const struct region *inner, const struct region *outer)
{
    for (const struct region *r = inner; r; r = r->owner ? r->owner->parent : NULL)
        if (r == outer)
            return true;
    return false;
}

const char *node_text(struct graph *g, const struct node *n)
{
    const char *type = n->source && *n->source ? n->source : op_name(n->op);
    if (n->name && *n->name)
        return arena_printf(&g->arena, "node '%s' (%s)", n->name, type);
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->name && *n->out[i]->name)
            return arena_printf(&g->arena, "node of '%s' (%s)", n->out[i]->name, type);
    return arena_printf(&g->arena, "node %d (%s)", n->id, type);
}

bool region_walk(struct region *r, bool (*visit)(struct node *n, void *user), void *user)
{
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        if (!visit(n, user))
            return false;
        for (int i = 0; i < n->nregions; i++)
            if (!region_walk(n->regions[i], visit, user))
                return false;
    }
    return true;
}
