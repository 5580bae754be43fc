/*
 * Guards of the program: those of inputs' dims are checked when shapes are bound, the others when
 * running has defined a symbol, or begins a region.
 */
#include "runtime/exec/state.h"

static bool is_runtime(const struct program *p, const struct guard *g)
{
    return dim_is_runtime(&p->dims, g->a) || dim_is_runtime(&p->dims, g->b);
}

/* Symbols that a region's slots bind: they have no value when it begins. */
static void note_symbols(struct model *m, int region, int slot)
{
    const struct slot *s = slot >= 0 ? &m->p->slots[slot] : NULL;
    if (!s || s->kind != SLOT_DYNAMIC || s->type.kind != VK_TENSOR)
        return;
    for (int i = 0; i < s->type.rank; i++) {
        int symbol = dim_as_symbol(&m->p->dims, s->type.dims[i]);
        if (symbol >= 0 && m->definer[symbol] == slot)
            slot_list_add(&m->arena, &m->region_symbols[region], symbol);
    }
}

void find_guards(struct model *m)
{
    const struct program *p = m->p;
    m->guards = ARENA_ARRAY(&m->arena, struct slot_list, p->nregions + 1);
    m->region_symbols = ARENA_ARRAY(&m->arena, struct slot_list, p->nregions + 1);
    for (int i = 0; i < p->nguards; i++)
        if (p->guards[i].region || is_runtime(p, &p->guards[i]))
            slot_list_append(&m->arena, &m->guards[p->guards[i].region], i);
    for (int r = 1; r < p->nregions; r++) {
        for (int i = 0; i < p->regions[r].nparams; i++)
            note_symbols(m, r, p->regions[r].params[i]);
        for (int s = 0; s < p->regions[r].nsteps; s++) {
            const struct step *step = &p->regions[r].steps[s];
            for (int i = 0; step->kind == STEP_CALL && i < p->calls[step->index].nout; i++)
                note_symbols(m, r, p->calls[step->index].out[i]);
        }
    }
}

bool check_input_guards(const struct program *p, const int64_t *values, struct diag *d)
{
    for (int i = 0; i < p->nguards; i++)
        if (!p->guards[i].region && !guard_check(&p->guards[i], &p->dims, values, d))
            return false;
    return true;
}

void forget_symbols(struct context *c, int region)
{
    const struct slot_list *list = &c->m->region_symbols[region];
    for (int i = 0; i < list->count; i++)
        c->symbols[list->slots[i]] = DIM_NOT_BOUND;
    c->values_stale |= list->count > 0;
}

bool check_region_guards(struct context *c, int region, const int64_t *values, struct diag *d)
{
    const struct slot_list *list = &c->m->guards[region];
    for (int i = 0; i < list->count; i++)
        if (!guard_check(&c->m->p->guards[list->slots[i]], &c->m->p->dims, values, d))
            return false;
    return true;
}

int64_t pinned_value(const struct program *p, int symbol, int64_t otherwise)
{
    int64_t value;
    bool or_one;
    if (p->dims.symbols[symbol].size)
        return p->dims.symbols[symbol].size;
    for (int i = 0; i < p->nguards; i++)
        if (!p->guards[i].region && guard_pins(&p->dims, &p->guards[i], &value, &or_one) == symbol)
            return value;
    return otherwise;
}
