#include "backend/lower/input_ranges.h"

#include "passes/size_sources.h"

#include <string.h>

enum { MAX_STEPS = 4096, LIKELY_SIZE = 9 };

struct ranging {
    int64_t low, high;
    bool known;
    int steps;
};

static void narrow(struct ranging *r, int64_t low, dim_t high)
{
    if (!dim_is_const(high) || high < low)
        return;
    r->low = r->known && r->low > low ? r->low : low;
    r->high = r->known && r->high < high ? r->high : high;
    r->known = true;
}

static bool is_number(const struct value *v, double x)
{
    return v && v->constant && v->constant->kind == VK_TENSOR && v->constant->dtype != DT_STR &&
           tensor_count(v->constant) == 1 && tensor_f64(v->constant, 0) == x;
}

static void look(struct ranging *r, const struct value *v);

static void look_at_results(struct ranging *r, const struct node *n)
{
    for (int i = 0; i < n->nout; i++)
        look(r, n->out[i]);
}

/* Places in all the dims that an index list may walk. */
static void narrow_to_dims(struct ranging *r, const struct type *x)
{
    for (int i = 0; i < x->rank; i++)
        narrow(r, 0, dim_is_const(x->dims[i]) ? x->dims[i] - 1 : 0);
}

/* Operand 1 tells of x along the axis: from low to the last place, or to how many there are. */
static void narrow_to_axis(struct ranging *r, const struct type *x, int64_t axis, int64_t low, int64_t less)
{
    axis += axis < 0 ? x->rank : 0;
    if (axis >= 0 && axis < x->rank && dim_is_const(x->dims[axis]))
        narrow(r, low, x->dims[axis] - less);
}

/* Operands that are places along an axis of the first one. */
static const struct axis_use {
    enum op op;
    int operand;
    bool attribute; /* the node's axis, `axis` where it has none */
    int64_t axis, low, less;
} axis_uses[] = {
    {OP_gather, 1, true, 0, 0, 1},
    {OP_gather_elements, 1, true, 0, 0, 1},
    {OP_scatter_elements, 1, true, 0, 0, 1},
    {OP_nll_loss, 1, false, 1, 0, 1}, /* classes */
    {OP_softmax_cross_entropy_loss, 1, false, 1, 0, 1},
    {OP_topk, 1, true, -1, 1, 0},
};

static void look_along_axis(struct ranging *r, const struct use *u, const struct type *x)
{
    for (size_t i = 0; i < sizeof axis_uses / sizeof *axis_uses; i++) {
        const struct axis_use *a = &axis_uses[i];
        if (a->op == u->node->op && a->operand == u->index && x)
            narrow_to_axis(r, x, a->attribute ? attr_int(&u->node->attrs, "axis", a->axis) : a->axis, a->low, a->less);
    }
}

static void look_at_use(struct ranging *r, const struct use *u)
{
    const struct node *n = u->node;
    const struct type *x = n->nin && n->in[0] ? &n->in[0]->type : NULL;
    look_along_axis(r, u, x);
    switch (n->op) {
    case OP_gather_nd:
    case OP_scatter_nd:
        if (u->index == 1 && x)
            narrow_to_dims(r, x);
        break;
    case OP_cumsum:
        if (u->index == 1 && x && x->rank > 0)
            narrow(r, 0, x->rank - 1);
        break;
    case OP_one_hot:
        if (u->index == 0 && n->in[1]->content.n == 1 && dim_is_const(n->in[1]->content.v[0]))
            narrow(r, 0, n->in[1]->content.v[0] - 1);
        break;
    case OP_lstm:
    case OP_gru:
    case OP_rnn:
        if (u->index == 4 && x && x->rank == 3)
            narrow(r, 1, x->dims[attr_int(&n->attrs, "layout", 0) != 0]);
        break;
    case OP_sub: /* 1 - mask */
        if (u->index == 1 && is_number(n->in[0], 1))
            narrow(r, 0, 1);
        break;
    case OP_cast:
        if (n->out[0]->type.dtype == DT_BOOL)
            narrow(r, 0, 1);
        look_at_results(r, n);
        break;
    case OP_identity:
    case OP_reshape:
    case OP_flatten:
    case OP_squeeze:
    case OP_unsqueeze:
    case OP_expand:
    case OP_broadcast_in_dim:
    case OP_transpose:
    case OP_slice:
    case OP_split:
    case OP_sequence_lengths:
        if (u->index == 0)
            look_at_results(r, n);
        break;
    case OP_concat:
        look_at_results(r, n);
        break;
    case OP_fused:
        look(r, n->regions[0]->params[u->index]);
        break;
    default:
        break;
    }
}

static void look(struct ranging *r, const struct value *v)
{
    for (const struct use *u = v->uses; u && r->steps < MAX_STEPS; u = u->next) {
        r->steps++;
        look_at_use(r, u);
    }
}

void note_input_ranges(struct lowering *l)
{
    const struct program_region *main_region = &l->p->regions[0];
    struct arena scratch = {0};
    const bool *sizes = size_sources(l->g, &scratch);
    for (int i = 0; i < main_region->nparams && i < l->g->main->nparams; i++) {
        const struct value *v = l->g->main->params[i];
        struct slot *s = &l->p->slots[main_region->params[i]];
        struct ranging r = {0};
        s->donated = l->g->donated && l->g->donated[i];
        if (v->type.kind != VK_TENSOR || !dtype_is_int(v->type.dtype))
            continue;
        look(&r, v);
        if (!r.known && v->name && strstr(v->name, "mask"))
            narrow(&r, 0, 1);
        if (!r.known && sizes[v->id])
            narrow(&r, 1, LIKELY_SIZE);
        if (r.known && r.low <= r.high)
            s->has_range = true, s->low = r.low, s->high = r.high;
    }
    arena_free(&scratch);
}
