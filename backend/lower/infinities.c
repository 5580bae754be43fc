#include "backend/lower/infinities.h"

#include "neff/core/dtype.h"

#include <math.h>

/* Beside views: what is not finite in an operand is not finite in a result. */
static const bool keeps[OP_COUNT] = {
    [OP_abs] = true,       [OP_add] = true,     [OP_cast] = true,      [OP_mul] = true,    [OP_neg] = true,
    [OP_sub] = true,       [OP_where] = true,   [OP_concat] = true,    [OP_expand] = true, [OP_broadcast_in_dim] = true,
    [OP_gather] = true,    [OP_pad] = true,     [OP_pad_interior] = true, [OP_reverse] = true, [OP_slice] = true,
    [OP_split] = true,     [OP_tile] = true,    [OP_transpose] = true,
};

static bool has_infinities(const struct tensor *t)
{
    if (t->kind != VK_TENSOR || !dtype_is_float(t->dtype))
        return false;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        if (!isfinite(tensor_f64(t, i)))
            return true;
    return false;
}

/* What is looked at once. */
struct origins {
    bool *seen;
    const struct value **pending;
    int n;
};

static void look_at(struct origins *w, const struct value *v)
{
    if (v && !w->seen[v->id])
        w->seen[v->id] = true, w->pending[w->n++] = v;
}

static void look_at_operands(struct origins *w, const struct value *v)
{
    const struct node *n = v->def, *owner = v->param_of ? v->param_of->owner : NULL;
    if (owner && owner->op == OP_fused)
        look_at(w, owner->in[v->index]);
    else if (n && n->op == OP_fused)
        look_at(w, region_return(n->regions[0])->in[v->index]);
    else if (n && (keeps[n->op] || op_info(n->op)->flags & OPF_VIEW))
        for (int i = 0; i < n->nin; i++)
            look_at(w, n->in[i]);
}

bool brings_infinities(const struct graph *g, const struct value *v)
{
    struct arena scratch = {0};
    struct origins w = {.seen = ARENA_ARRAY(&scratch, bool, g->next_value + 1),
                        .pending = ARENA_ARRAY(&scratch, const struct value *, g->next_value + 1)};
    bool any = false;
    look_at(&w, v);
    while (w.n && !any) {
        v = w.pending[--w.n];
        any = v->constant && has_infinities(v->constant);
        look_at_operands(&w, v);
    }
    arena_free(&scratch);
    return any;
}
