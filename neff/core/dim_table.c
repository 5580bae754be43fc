/*
 * Dimensions: symbols and expressions of a table, each of which is there once.
 */
#include "neff/core/dim_parts.h"

#include <stdio.h>
#include <string.h>

const char *const dim_op_names[DIM_OPS] = {
    [DIM_SYM] = "sym",           [DIM_ADD] = "add",         [DIM_MUL] = "mul",
    [DIM_FLOORDIV] = "floordiv", [DIM_CEILDIV] = "ceildiv", [DIM_MOD] = "mod",
    [DIM_MIN] = "min",           [DIM_MAX] = "max",         [DIM_BROADCAST] = "broadcast",
    [DIM_PITCH] = "pitch",
};

void dim_table_init(struct dim_table *t, struct arena *a)
{
    *t = (struct dim_table){.arena = a};
}

static uint32_t hash3(int op, dim_t a, dim_t b)
{
    uint64_t h = (uint64_t)op * 0x9E3779B97F4A7C15u;
    h = (h ^ (uint64_t)a) * 0xD6E8FEB86659FD93u;
    h = (h ^ (h >> 32) ^ (uint64_t)b) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(h ^ (h >> 32));
}

static void rehash(struct dim_table *t)
{
    t->hash_cap = t->hash_cap ? t->hash_cap * 2 : 64;
    t->hash = ARENA_ARRAY(t->arena, uint32_t, t->hash_cap);
    for (int i = 0; i < t->nnodes; i++) {
        struct dim_node *n = &t->nodes[i];
        uint32_t h = hash3(n->op, n->a, n->b);
        while (t->hash[h &= (uint32_t)t->hash_cap - 1])
            h++;
        t->hash[h] = (uint32_t)i + 1;
    }
}

/* ---- symbols, by name ---- */

static uint32_t hash_name(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 0x100000001B3u;
    return (uint32_t)(h ^ (h >> 32));
}

/* Where the name is, or its free place. */
static uint32_t *place_of(const struct dim_table *t, const char *name)
{
    uint32_t h = hash_name(name);
    for (;; h++) {
        uint32_t *at = &t->names[h &= (uint32_t)t->names_cap - 1];
        if (!*at || !strcmp(t->symbols[*at - 1].name, name))
            return at;
    }
}

static void rehash_names(struct dim_table *t, int cap)
{
    t->names_cap = cap;
    t->names = ARENA_ARRAY(t->arena, uint32_t, cap);
    for (int i = 0; i < t->nsymbols; i++)
        *place_of(t, t->symbols[i].name) = (uint32_t)i + 1;
}

int dim_find_symbol(const struct dim_table *t, const char *name)
{
    return t->names ? (int)*place_of(t, name) - 1 : -1;
}

bool dim_table_add_symbol(struct dim_table *t, struct dim_symbol s)
{
    if (t->nsymbols * 2 >= t->names_cap)
        rehash_names(t, t->names_cap ? t->names_cap * 2 : 64);
    uint32_t *at = place_of(t, s.name);
    if (*at)
        return false;
    ARENA_GROW(t->arena, t->symbols, t->nsymbols, t->symbols_cap);
    t->symbols[t->nsymbols++] = s;
    *at = (uint32_t)t->nsymbols;
    return true;
}

/* ---- nodes ---- */

struct dim_node dim_operand(const struct dim_table *t, dim_t d)
{
    return dim_is_const(d) ? (struct dim_node){.depth = 0, .size = 1} : t->nodes[dim_index(d)];
}

/* How deep the expression is nested, and how long its text is; false: too much. */
static bool measure(const struct dim_table *t, struct dim_node *n)
{
    struct dim_node none = {.depth = 0, .size = 0};
    struct dim_node a = n->op == DIM_SYM ? none : dim_operand(t, n->a),
                    b = n->op == DIM_SYM ? none : dim_operand(t, n->b);
    n->depth = 1 + (a.depth > b.depth ? a.depth : b.depth);
    n->size = 1 + a.size + b.size;
    return n->depth <= DIM_MAX_DEPTH && n->size <= DIM_MAX_SIZE;
}

/* The number of the equal node plus one, in its place, or the free place for it. */
static uint32_t *node_place(const struct dim_table *t, int op, dim_t a, dim_t b)
{
    for (uint32_t h = hash3(op, a, b);; h++) {
        uint32_t *at = &t->hash[h &= (uint32_t)t->hash_cap - 1];
        const struct dim_node *n = *at ? &t->nodes[*at - 1] : NULL;
        if (!n || (n->op == op && n->a == a && n->b == b))
            return at;
    }
}

bool dim_table_add_node(struct dim_table *t, struct dim_node n, struct diag *d)
{
    if (t->nnodes * 2 >= t->hash_cap)
        rehash(t);
    uint32_t *at = node_place(t, n.op, n.a, n.b);
    if (*at)
        return fail(d, "a dimension expression occurs twice");
    if (!measure(t, &n) || t->nnodes == DIM_MAX_NODES)
        return fail(d, "dimension expression %d is too large", t->nnodes);
    ARENA_GROW(t->arena, t->nodes, t->nnodes, t->nodes_cap);
    t->nodes[t->nnodes++] = n;
    *at = (uint32_t)t->nnodes;
    return true;
}

void dim_table_copy(struct dim_table *t, const struct dim_table *from)
{
    struct arena *a = t->arena;
    *t = *from;
    t->arena = a;
    t->nodes = arena_copy(a, from->nodes, sizeof *from->nodes * (size_t)from->nnodes);
    t->symbols = arena_copy(a, from->symbols, sizeof *from->symbols * (size_t)from->nsymbols);
    t->hash = arena_copy(a, from->hash, sizeof *from->hash * (size_t)from->hash_cap);
    t->names = arena_copy(a, from->names, sizeof *from->names * (size_t)from->names_cap);
    t->nodes_cap = t->nnodes;
    t->symbols_cap = t->nsymbols;
    for (int i = 0; i < t->nsymbols; i++)
        t->symbols[i].name = arena_strdup(a, t->symbols[i].name);
}

bool dim_may_work(struct dim_table *t)
{
    t->too_large |= ++t->work > DIM_MAX_WORK;
    return !t->too_large;
}

dim_t dim_intern(struct dim_table *t, int op, dim_t a, dim_t b, bool runtime)
{
    struct dim_node n = {.op = (uint8_t)op, .runtime = runtime, .a = a, .b = b};
    if (t->nnodes * 2 >= t->hash_cap)
        rehash(t);
    uint32_t *at = node_place(t, op, a, b);
    if (*at)
        return INT64_MIN + (dim_t)(*at - 1);
    if (!measure(t, &n) || t->nnodes == DIM_MAX_NODES) {
        t->too_large = true;
        return 0;
    }
    ARENA_GROW(t->arena, t->nodes, t->nnodes, t->nodes_cap);
    t->nodes[t->nnodes] = n;
    *at = (uint32_t)++t->nnodes;
    return INT64_MIN + (t->nnodes - 1);
}

static dim_t add_symbol(struct dim_table *t, const char *name, bool runtime)
{
    dim_table_add_symbol(t, (struct dim_symbol){.name = arena_strdup(t->arena, name), .runtime = runtime});
    return dim_intern(t, DIM_SYM, t->nsymbols - 1, 0, runtime);
}

dim_t dim_symbol(struct dim_table *t, const char *name)
{
    int i = dim_find_symbol(t, name);
    return i < 0 ? add_symbol(t, name, false) : dim_intern(t, DIM_SYM, i, 0, t->symbols[i].runtime);
}

dim_t dim_symbol_runtime(struct dim_table *t, const char *name)
{
    return dim_find_symbol(t, name) < 0 ? add_symbol(t, name, true) : dim_symbol(t, name);
}

dim_t dim_fresh(struct dim_table *t, const char *stem)
{
    char name[64];
    int number = t->nsymbols;
    do
        snprintf(name, sizeof name, "%.40s.%d", stem, number++);
    while (dim_find_symbol(t, name) >= 0);
    return add_symbol(t, name, true);
}

int dim_as_symbol(const struct dim_table *t, dim_t d)
{
    if (dim_is_const(d) || t->nodes[dim_index(d)].op != DIM_SYM)
        return -1;
    return (int)t->nodes[dim_index(d)].a;
}

bool dim_is_runtime(const struct dim_table *t, dim_t d)
{
    return !dim_is_const(d) && t->nodes[dim_index(d)].runtime;
}

const struct dim_node *dim_node_of(const struct dim_table *t, dim_t d, int op)
{
    if (dim_is_const(d) || t->nodes[dim_index(d)].op != op)
        return NULL;
    return &t->nodes[dim_index(d)];
}

bool dim_at_most(struct dim_table *t, dim_t d, int64_t max)
{
    if (dim_is_const(d))
        return false;
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_ADD && dim_is_const(n->b) &&
        __builtin_sub_overflow(max, n->b, &max) == false)
        return !dim_is_const(n->a) && t->nodes[dim_index(n->a)].op == DIM_SYM &&
               dim_at_most(t, n->a, max);
    if (n->op != DIM_SYM || t->symbols[n->a].runtime || max < 1)
        return false;
    int64_t *known = &t->symbols[n->a].max;
    bool news = !*known || max < *known;
    *known = news ? max : *known;
    return news;
}

bool dim_is_limited(const struct dim_table *t, dim_t b, dim_t *a, int64_t *max)
{
    const struct dim_node *n = dim_is_const(b) ? NULL : &t->nodes[dim_index(b)];
    if (!n || n->op != DIM_MIN || dim_is_const(n->a) == dim_is_const(n->b))
        return false;
    *a = dim_is_const(n->a) ? n->b : n->a;
    *max = dim_is_const(n->a) ? n->a : n->b;
    return true;
}
