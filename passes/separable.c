/*
 * pass separable: finds the dim of inputs whose parts do not meet, as a batch's do: the results of some of its items
 * are those items of all results. The symbol of that dim is marked; a runtime may then compute a large batch group by
 * group (runtime/exec/groups.c), so that what one layer leaves for the next stays in cache.
 *
 * Every value is followed from the inputs on. Its items lie along one axis, which has `batch` times a number of
 * elements, those of an item side by side. An operator of which no rule (separable_rules.c) says that it keeps items
 * apart ends it. Requires inferred types.
 */
#include "passes/separable.h"
#include "passes/ir/guards.h"

/* A value that is not made of items: whether its elements are sizes that depend on the batch. */
static bool put_common(struct separable *s, const struct value *v, bool of_sizes)
{
    bool known = v->content.n >= 0, depends = of_sizes && !known;
    if (v->type.kind != VK_TENSOR || v->type.rank < 0 || following_axis(s, v) >= 0)
        return false;
    for (int64_t i = 0; i < v->content.n; i++)
        depends |= depends_on_batch(s, v->content.v[i]);
    *place_of(s, v) = (struct item_place){depends ? PLACE_SIZES : PLACE_COMMON, 0};
    return true;
}

/* A node none of whose operands has items, or that reads their shapes alone. */
static bool pass_common(struct separable *s, const struct node *n)
{
    bool shape_only = op_infos[n->op].flags & OPF_SHAPE_ONLY, of_sizes = shape_only;
    for (int i = 0; i < n->nin; i++) {
        int kind = n->in[i] ? place_of(s, n->in[i])->kind : PLACE_COMMON;
        if (kind == PLACE_ITEMS && !shape_only)
            return false;
        of_sizes |= kind == PLACE_SIZES;
    }
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->type.kind != VK_NONE && !put_common(s, n->out[i], of_sizes))
            return false;
    return true;
}

/* For values made since. */
static void reserve_places(struct separable *s)
{
    if (s->g->next_value <= s->nplaces)
        return;
    int cap = 2 * s->g->next_value;
    struct item_place *places = ARENA_ARRAY(s->arena, struct item_place, cap);
    for (int i = 0; i < s->nplaces; i++)
        places[i] = s->places[i];
    s->places = places, s->nplaces = cap;
}

bool may_keep_apart(const struct node *n)
{
    return !n->nregions && !(op_infos[n->op].flags & (OPF_IMPURE | OPF_CONTAINERS));
}

bool follow_items(struct separable *s, const struct node *n)
{
    reserve_places(s);
    if (!may_keep_apart(n))
        return false;
    return pass_common(s, n) || apply_separable_rule(s, n);
}

bool place_inputs(struct separable *s)
{
    const struct region *main = s->g->main;
    reserve_places(s);
    for (int i = 0; i < main->nparams; i++) {
        const struct value *v = main->params[i];
        bool items = v->type.kind == VK_TENSOR && v->type.rank > 0 && v->type.dims[0] == s->batch;
        if (!(items ? put_items(s, v, 0) : put_common(s, v, false)))
            return false;
    }
    return true;
}

/* What the model assumes about sizes would have to be looked at for the whole batch. */
static bool is_guarded(struct separable *s)
{
    for (int i = 0; i < s->g->nguards; i++)
        if (depends_on_batch(s, s->g->guards[i].g.a) || depends_on_batch(s, s->g->guards[i].g.b))
            return true;
    return false;
}

bool results_are_items(const struct separable *s)
{
    const struct node *end = region_return(s->g->main);
    for (int i = 0; i < end->nin; i++) {
        const struct item_place *p = place_of(s, end->in[i]);
        if (p->kind != PLACE_ITEMS || p->axis != 0)
            return false;
    }
    return end->nin > 0;
}

static bool is_separable(struct separable *s)
{
    if (is_guarded(s) || !place_inputs(s))
        return false;
    const struct node *end = region_return(s->g->main);
    for (const struct node *n = s->g->main->first; n != end; n = n->next)
        if (!follow_items(s, n)) {
            why(s->o, n, "separable.not", "items of the batch may meet here: it is computed as a whole");
            return false;
        }
    return results_are_items(s);
}

/* The first dim of an input, where it is a symbol; -1. */
static int batch_symbol(const struct graph *g, const struct value *input)
{
    const struct type *x = &input->type;
    int symbol = x->kind == VK_TENSOR && x->rank > 0 ? dim_as_symbol(&g->dims, x->dims[0]) : -1;
    return symbol >= 0 && !g->dims.symbols[symbol].runtime && !g->dims.symbols[symbol].max ? symbol : -1;
}

/* Chips run one instruction stream, and have no cache. */
bool pass_separable(struct graph *g, const struct options *o, struct diag *d)
{
    for (int i = 0; i < g->main->nparams && !o->strict_target; i++) {
        int symbol = batch_symbol(g, g->main->params[i]);
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= batch_symbol(g, g->main->params[k]) == symbol;
        if (symbol < 0 || again)
            continue;
        struct arena scratch = {0};
        struct separable s = {.g = g,
                              .o = o,
                              .arena = &scratch,
                              .symbol = symbol,
                              .batch = g->main->params[i]->type.dims[0]};
        bool separable = is_separable(&s);
        arena_free(&scratch);
        if (g->dims.too_large)
            return fail(d, "a dimension's expression is too large");
        if (separable) {
            g->dims.symbols[symbol].separable = true;
            break;
        }
    }
    return true;
}
