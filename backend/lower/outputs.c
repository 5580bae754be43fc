#include "backend/lower/outputs.h"

#include "backend/lower/plan.h"
#include "backend/lower/states.h"

/* Made by a kernel or a call of the main region, dense, in memory that is planned. */
static bool may_lie_elsewhere(const struct lowering *l, const struct value *v)
{
    return v->def && v->def->parent == l->g->main && (!v->def->nregions || v->def->op == OP_fused) &&
           is_planned(l, &v->type) && !is_turned(l, v) && !l->is_output[v->id];
}

/* The result of the node that alone reads v, if that is v's bytes under another shape. Or NULL. */
static struct value *only_view(const struct lowering *l, const struct value *v)
{
    const struct node *n = v->uses && !v->uses->next ? v->uses->node : NULL;
    bool shows = n && shows_operand(n) && n->in[0] == v && n->parent == l->g->main &&
                 is_planned(l, &n->out[0]->type);
    return shows ? n->out[0] : NULL;
}

static struct value *output_shown(struct lowering *l, const struct value *v)
{
    struct value *y = only_view(l, v);
    while (y && !l->is_output[y->id])
        y = only_view(l, y);
    return y && !state_shown(l, y) ? y : NULL; /* states have steps of their own */
}

void find_shown(struct lowering *l)
{
    for (const struct node *n = l->g->main->first; n; n = n->next)
        for (int i = 0; i < n->nout; i++)
            if (n->out[i] && may_lie_elsewhere(l, n->out[i]))
                l->shown[n->out[i]->id] = output_shown(l, n->out[i]);
}
