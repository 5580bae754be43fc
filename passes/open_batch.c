/*
 * pass open_batch: a batch that is a number in the model becomes a symbol of that size where its items do not meet, so
 * that a runtime may compute it group by group (separable.c). Only where tensors of the whole batch leave the caches.
 *
 * Inputs whose first dim is the number have the symbol instead. Nodes are inferred again, one after the other, and each
 * must come out as it was with the symbol in the place of the number. Operands that have the number in them are changed
 * on the way (open_operands.c): shapes to reshape to, ends of slices, constants that are alike for all items. Where one
 * does not come out so, or items meet, everything is put back. Requires inferred types; runs after separable.
 */
#include "passes/open_batch.h"
#include "passes/ir/guards.h"

/* ---- which graphs ---- */

static int64_t bytes_of(const struct value *v)
{
    int64_t bytes = v && !v->constant && v->type.kind == VK_TENSOR ? (int64_t)dtype_bytes(v->type.dtype) : 0;
    for (int i = 0; bytes && i < v->type.rank; i++)
        if (!dim_is_const(v->type.dims[i]) || __builtin_mul_overflow(bytes, v->type.dims[i], &bytes))
            return 0;
    return bytes;
}

/* Some operator's operands and results do not fit the caches. */
static bool is_large(const struct graph *g)
{
    for (const struct node *n = g->main->first; n; n = n->next) {
        double bytes = 0;
        for (int i = 0; i < n->nin; i++)
            bytes += (double)bytes_of(n->in[i]);
        for (int i = 0; i < n->nout; i++)
            bytes += (double)bytes_of(n->out[i]);
        if (bytes > BATCH_CACHE)
            return true;
    }
    return false;
}

/* Every result has items of so many first. */
static bool may_be_batch(const struct graph *g, int64_t batch)
{
    const struct node *end = region_return(g->main);
    for (int i = 0; i < end->nin; i++) {
        const struct type *y = &end->in[i]->type;
        if (y->kind != VK_TENSOR || y->rank < 1 || !dim_is_const(y->dims[0]) || y->dims[0] % batch)
            return false;
    }
    return true;
}

/* The first dim of the first input that has one of several for which results leave that open; 0. */
static int64_t batch_of(const struct graph *g)
{
    for (int i = 0; i < g->main->nparams; i++) {
        const struct type *x = &g->main->params[i]->type;
        bool several = x->kind == VK_TENSOR && x->rank > 0 && dim_is_const(x->dims[0]) && x->dims[0] > 1;
        if (several && may_be_batch(g, x->dims[0]))
            return x->dims[0];
    }
    return 0;
}

/* Callers' memory that results lie in is that of a whole run. */
static bool gives_memory(const struct graph *g)
{
    for (int i = 0; g->donated && i < g->main->nparams; i++)
        if (g->donated[i])
            return true;
    return g->naliases > 0;
}

static bool is_candidate(const struct graph *g)
{
    for (int i = 0; i < g->dims.nsymbols; i++)
        if (g->dims.symbols[i].separable)
            return false;
    for (const struct node *n = g->main->first; n; n = n->next)
        if (!may_keep_apart(n))
            return false;
    return !gives_memory(g);
}

/* ---- there and back ---- */

struct saved {
    struct dim_table dims;
    int nguards;
    struct type *types; /* by the values' numbers */
    struct content_list *contents;
};

static void each_value(struct graph *g, void (*visit)(struct value *v, struct saved *s), struct saved *s)
{
    for (int i = 0; i < g->main->nparams; i++)
        visit(g->main->params[i], s);
    for (struct node *n = g->main->first; n; n = n->next)
        for (int i = 0; i < n->nout; i++)
            visit(n->out[i], s);
}

static void save_value(struct value *v, struct saved *s)
{
    s->types[v->id] = v->type, s->contents[v->id] = v->content;
}

static void restore_value(struct value *v, struct saved *s)
{
    v->type = s->types[v->id], v->content = s->contents[v->id];
}

static void save(struct graph *g, struct arena *a, struct saved *s)
{
    s->dims.arena = &g->arena;
    dim_table_copy(&s->dims, &g->dims);
    s->nguards = g->nguards;
    s->types = ARENA_ARRAY(a, struct type, g->next_value);
    s->contents = ARENA_ARRAY(a, struct content_list, g->next_value);
    each_value(g, save_value, s);
}

static void restore(struct opening *o, struct saved *s)
{
    struct graph *g = o->s.g;
    while (o->nchanges--)
        node_set_input(o->changes[o->nchanges].node, o->changes[o->nchanges].operand, o->changes[o->nchanges].was);
    while (o->nmade--)
        node_remove(o->made[o->nmade]);
    g->dims = s->dims;
    graph_drop_guards(g, s->nguards);
    each_value(g, restore_value, s);
}

/* ---- from inputs to results ---- */

static bool same_type(struct opening *o, const struct type *now, const struct type *before)
{
    if (now->kind != before->kind || now->kind != VK_TENSOR || now->dtype != before->dtype || now->rank != before->rank)
        return now->kind == VK_NONE && before->kind == VK_NONE;
    for (int i = 0; i < now->rank; i++)
        if (dim_substitute(&o->s.g->dims, now->dims[i], o->number) != before->dims[i])
            return false;
    return true;
}

static bool open_node(struct opening *o, struct node *n)
{
    struct diag ignored = {0};
    if (!open_operands(o, n) || !infer_node(o->s.g, n, &ignored) || o->s.g->dims.nsymbols > o->nsymbols)
        return false;
    for (int i = 0; i < n->nout; i++)
        if (!same_type(o, &n->out[i]->type, &o->types[n->out[i]->id]))
            return false;
    return follow_items(&o->s, n);
}

static bool open_all(struct opening *o)
{
    struct graph *g = o->s.g;
    int nguards = g->nguards;
    for (int i = 0; i < g->main->nparams; i++) {
        struct type *x = &g->main->params[i]->type;
        if (x->kind == VK_TENSOR && x->rank > 0 && x->dims[0] == o->batch)
            x->dims[0] = o->s.batch;
    }
    if (!place_inputs(&o->s))
        return false;
    for (struct node *n = g->main->first, *end = region_return(g->main); n != end; n = n->next)
        if (!open_node(o, n) || g->nguards > nguards || g->dims.too_large) {
            why(o->s.o, n, "open_batch.not", "items of the batch may meet here: it is computed as a whole");
            return false;
        }
    return results_are_items(&o->s);
}

static const char *symbol_name(struct graph *g)
{
    const char *name = "batch";
    for (int i = 2; dim_find_symbol(&g->dims, name) >= 0; i++)
        name = arena_printf(&g->arena, "batch.%d", i);
    return name;
}

bool pass_open_batch(struct graph *g, const struct options *options, struct diag *d)
{
    int64_t batch = options->strict_target || options->whole_batch ? 0 : batch_of(g);
    if (!batch || !is_candidate(g) || !(options->small_batches || is_large(g)))
        return true;
    struct arena scratch = {0};
    struct saved saved = {0};
    save(g, &scratch, &saved);
    struct opening o = {.batch = batch,
                        .types = saved.types,
                        .s = {.g = g, .o = options, .arena = &scratch, .symbol = g->dims.nsymbols}};
    o.s.batch = dim_symbol(&g->dims, symbol_name(g));
    dim_t *number = ARENA_ARRAY(&scratch, dim_t, g->dims.nsymbols);
    for (int i = 0; i < g->dims.nsymbols; i++)
        number[i] = i == o.s.symbol ? batch : DIM_NOT_BOUND;
    o.number = number, o.nsymbols = g->dims.nsymbols;
    if (open_all(&o)) {
        g->dims.symbols[o.s.symbol].separable = true;
        g->dims.symbols[o.s.symbol].size = batch;
    } else {
        restore(&o, &saved);
    }
    arena_free(&scratch);
    return true;
}
