#include "backend/lower/guards.h"

#include "passes/ir/guards.h"

enum { MAX_COMPARED = 4096 };

void lower_guards(struct lowering *l, const struct region *r, int index)
{
    for (int i = 0; i < l->g->nguards; i++) {
        const struct graph_guard *from = &l->g->guards[i];
        if (from->region != r || !graph_guard_counts(from))
            continue;
        struct guard g = from->g;
        g.region = index;
        program_add_guard(l->p, &g);
    }
}

/* Symbols that stand alone as a dim of an input, or of a tensor made while running. */
static bool *defined_symbols(const struct program *p, struct arena *a)
{
    bool *defined = ARENA_ARRAY(a, bool, p->dims.nsymbols + 1);
    for (int s = 0; s < p->nslots; s++) {
        const struct slot *slot = &p->slots[s];
        if ((slot->kind != SLOT_INPUT && slot->kind != SLOT_DYNAMIC) ||
            slot->type.kind != VK_TENSOR)
            continue;
        for (int i = 0; i < slot->type.rank; i++) {
            int symbol = dim_as_symbol(&p->dims, slot->type.dims[i]);
            if (symbol >= 0)
                defined[symbol] = true;
        }
    }
    return defined;
}

static bool known(const struct program *p, const bool *node_known, dim_t d)
{
    return dim_is_const(d) || node_known[dim_index(d)];
}

/* Of each expression, whether all its symbols are. Operands come before it. */
static bool *known_dims(const struct program *p, const bool *symbols, struct arena *a)
{
    bool *of = ARENA_ARRAY(a, bool, p->dims.nnodes + 1);
    for (int i = 0; i < p->dims.nnodes; i++) {
        const struct dim_node *n = &p->dims.nodes[i];
        of[i] = n->op == DIM_SYM ? symbols[n->a] : known(p, of, n->a) && known(p, of, n->b);
    }
    return of;
}

/* Whether x, if it holds, says all that g does. */
static bool implies(const struct guard *x, const struct guard *g)
{
    bool same = x->a == g->a && x->b == g->b, swapped = x->a == g->b && x->b == g->a;
    if (x->region && x->region != g->region)
        return false;
    switch (g->kind) {
    case GUARD_EQUAL:
        return x->kind == GUARD_EQUAL && (same || swapped);
    case GUARD_BROADCAST:
        return x->kind <= GUARD_EXPAND && (same || swapped);
    case GUARD_EXPAND:
        return (x->kind == GUARD_EQUAL && (same || swapped)) || (x->kind == g->kind && same);
    default:
        return x->kind == g->kind && same;
    }
}

static bool is_implied(const struct program *p, int n)
{
    for (int i = 0; i < p->nguards && i < MAX_COMPARED; i++)
        if (i != n && implies(&p->guards[i], &p->guards[n]) &&
            (i < n || !implies(&p->guards[n], &p->guards[i])))
            return true;
    return false;
}

void settle_guards(struct lowering *l)
{
    struct program *p = l->p;
    struct arena scratch = {0};
    dim_t *unchanged = ARENA_ARRAY(&scratch, dim_t, p->dims.nsymbols + 1);
    for (int i = 0; i < p->dims.nsymbols; i++)
        unchanged[i] = DIM_NOT_BOUND;
    for (int i = 0; i < p->nguards; i++) { /* what is known about symbols now simplifies them */
        struct guard *g = &p->guards[i];
        g->a = dim_substitute(&p->dims, g->a, unchanged);
        g->b = dim_substitute(&p->dims, g->b, unchanged);
    }
    const bool *node_known = known_dims(p, defined_symbols(p, &scratch), &scratch);
    int n = 0;
    for (int i = 0; i < p->nguards; i++) {
        struct guard g = p->guards[i];
        if (known(p, node_known, g.a) && known(p, node_known, g.b) &&
            !guard_is_certain(&p->dims, g.kind, g.a, g.b))
            p->guards[n++] = g;
    }
    p->nguards = n;
    bool *drop = ARENA_ARRAY(&scratch, bool, n + 1);
    for (int i = 0; i < n; i++)
        drop[i] = is_implied(p, i);
    for (int i = p->nguards = 0; i < n; i++)
        if (!drop[i])
            p->guards[p->nguards++] = p->guards[i];
    arena_free(&scratch);
}
