/*
 * Dims of inputs that the model takes one size of, as weights of 138 columns demand of rows of `n`: they keep their
 * symbol, whose guard tells of other sizes, and a view that has the size stands before what reads them.
 */
#include "passes/build.h"
#include "passes/ir/guards.h"
#include "passes/pass.h"

/* The size that the symbol of a dim must have; -1: none, or it is no symbol. */
static int64_t pinned(const struct graph *g, dim_t dim)
{
    int symbol = dim_is_const(dim) ? -1 : dim_as_symbol(&g->dims, dim);
    if (symbol < 0 || g->dims.symbols[symbol].runtime)
        return -1;
    for (int i = 0; i < g->nguards; i++) {
        int64_t value;
        bool or_one;
        const struct graph_guard *guard = &g->guards[i];
        if (guard->region == g->main && graph_guard_counts(guard) &&
            guard_pins(&g->dims, &guard->g, &value, &or_one) == symbol && !or_one && value > 0)
            return value;
    }
    return -1;
}

static bool view_pinned(struct graph *g, struct value *v, bool *any, struct diag *d)
{
    enum { COPY = 0 };
    int64_t dims[MAX_RANK];
    bool some = false;
    const struct type *t = &v->type;
    for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++) {
        int64_t value = pinned(g, t->dims[k]);
        if (dim_is_const(t->dims[k]) && t->dims[k] == 0)
            return true;
        dims[k] = value > 0 ? value : dim_is_const(t->dims[k]) ? t->dims[k] : COPY;
        some |= value > 0;
    }
    if (!some || !v->uses)
        return true;
    struct builder b = builder_before(g->main->first, d);
    struct value *in[] = {v, constant_i64s(g, dims, t->rank)};
    struct value *view = b_op(&b, OP_reshape, in, 2, NULL);
    if (!view)
        return false;
    value_replace(v, view);
    node_set_input(view->def, 0, v);
    *any = true;
    return true;
}

bool pass_pins(struct graph *g, const struct options *o, struct diag *d)
{
    bool any = false;
    for (int i = 0; i < g->main->nparams; i++)
        if (!view_pinned(g, g->main->params[i], &any, d))
            return false;
    return !any || pass_infer(g, o, d);
}
