#include "backend/lower/input_ranges.h"

#include "passes/size_sources.h"

#include <string.h>

enum { MAX_STEPS = 4096, LIKELY_SIZE = 9 };

struct ranging {
    struct dim_table *dims;
    int64_t low;
    dim_t high;
    bool known;
    int steps;
};

static void narrow(struct ranging *r, int64_t low, dim_t high)
{
    if (dim_is_runtime(r->dims, high) || (dim_is_const(high) && high < low))
        return;
    r->low = r->known && r->low > low ? r->low : low;
    r->high = r->known ? dim_min(r->dims, r->high, high) : high;
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
        narrow(r, 0, dim_sub(r->dims, x->dims[i], 1));
}

/* Operand 1 tells of x along the axis: from low to the last place, or to how many there are. */
static void narrow_to_axis(struct ranging *r, const struct type *x, int64_t axis, int64_t low, int64_t less)
{
    axis += axis < 0 ? x->rank : 0;
    if (axis >= 0 && axis < x->rank)
        narrow(r, low, dim_sub(r->dims, x->dims[axis], less));
}

/* Operands that are places along an axis of the first one. */
static const struct axis_use {
    enum op op;
    int operand;
    const char *attribute; /* has the axis; `axis` where the node has none */
    int64_t axis, low, less;
} axis_uses[] = {
    {OP_gather, 1, "axis", 0, 0, 1},
    {OP_gather_elements, 1, "axis", 0, 0, 1},
    {OP_scatter_elements, 1, "axis", 0, 0, 1},
    {OP_nll_loss, 1, NULL, 1, 0, 1}, /* classes */
    {OP_softmax_cross_entropy_loss, 1, NULL, 1, 0, 1},
    {OP_topk, 1, "axis", -1, 1, 0},
    {OP_reverse_sequence, 1, "time_axis", 0, 1, 0},
    {OP_roi_align, 2, NULL, 0, 0, 1}, /* images */
};

/* Operands that name axes of the first one. */
static const struct rank_use {
    enum op first, last;
    int operand;
} rank_uses[] = {
    {OP_reduce_sum, OP_reduce_sum_square, 1},
    {OP_cumsum, OP_cumsum, 1},
    {OP_cumprod, OP_cumprod, 1},
    {OP_dft, OP_dft, 2},
    {OP_slice, OP_slice, 3},
    {OP_squeeze, OP_squeeze, 1},
};

static void look_at_rank(struct ranging *r, const struct use *u, const struct type *x)
{
    for (size_t i = 0; i < sizeof rank_uses / sizeof *rank_uses; i++) {
        const struct rank_use *a = &rank_uses[i];
        if (a->first <= u->node->op && u->node->op <= a->last && a->operand == u->index && x && x->rank > 0)
            narrow(r, 0, x->rank - 1);
    }
}

static void look_along_axis(struct ranging *r, const struct use *u, const struct type *x)
{
    for (size_t i = 0; i < sizeof axis_uses / sizeof *axis_uses; i++) {
        const struct axis_use *a = &axis_uses[i];
        if (a->op != u->node->op || a->operand != u->index || !x)
            continue;
        int64_t axis = a->attribute ? attr_int(&u->node->attrs, a->attribute, a->axis) : a->axis;
        narrow_to_axis(r, x, axis, a->low, a->less);
    }
}

static void look_at_use(struct ranging *r, const struct use *u)
{
    const struct node *n = u->node;
    const struct type *x = n->nin && n->in[0] ? &n->in[0]->type : NULL;
    look_along_axis(r, u, x);
    look_at_rank(r, u, x);
    switch (n->op) {
    case OP_gather_nd:
    case OP_scatter_nd:
        if (u->index == 1 && x)
            narrow_to_dims(r, x);
        if (u->index == 0 && n->op == OP_gather_nd)
            look_at_results(r, n);
        break;
    case OP_topk:
        if (u->index == 0)
            look(r, n->out[0]);
        break;
    case OP_one_hot:
        if (u->index == 0 && n->in[1]->content.n == 1)
            narrow(r, 0, dim_sub(r->dims, n->in[1]->content.v[0], 1));
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
    case OP_gather: /* of it: some of its numbers */
    case OP_gather_elements:
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

/* Whether numbers computed from v one by one are compared: those of lengths are, with places. */
static bool is_compared(struct ranging *r, const struct value *v)
{
    for (const struct use *u = v->uses; u && r->steps < MAX_STEPS; u = u->next) {
        const struct node *n = u->node;
        r->steps++;
        switch (n->op) {
        case OP_lt:
        case OP_le:
        case OP_gt:
        case OP_ge:
            return true;
        case OP_add:
        case OP_sub:
        case OP_mul:
        case OP_div:
        case OP_min:
        case OP_max:
        case OP_floor:
        case OP_ceil:
        case OP_cast:
        case OP_identity:
        case OP_reshape:
        case OP_unsqueeze:
        case OP_expand:
        case OP_broadcast_in_dim:
            break;
        case OP_fused:
            if (is_compared(r, n->regions[0]->params[u->index]))
                return true;
            break;
        default:
            continue;
        }
        for (int i = 0; i < n->nout; i++)
            if (is_compared(r, n->out[i]))
                return true;
    }
    return false;
}

/* A number for each example that is compared: the example's length, as far as the longest axis of an input of that many
 * examples goes; an axis whose size differs between runs is longer than any other. */
static void narrow_to_examples(struct ranging *r, const struct region *b, const struct value *v)
{
    dim_t longest = 0;
    if (v->type.rank != 1 || !is_compared(r, v))
        return;
    for (int i = 0; i < b->nparams; i++) {
        const struct type *t = &b->params[i]->type;
        if (t->kind != VK_TENSOR || t->rank < 2 || !dtype_is_float(t->dtype) ||
            t->dims[0] != v->type.dims[0])
            continue;
        for (int k = 1; k < t->rank; k++)
            if (dim_is_const(longest) && (!dim_is_const(t->dims[k]) || t->dims[k] > longest))
                longest = t->dims[k];
    }
    if (longest != 0)
        narrow(r, 1, longest);
}

void note_input_ranges(struct lowering *l)
{
    const struct program_region *main_region = &l->p->regions[0];
    struct arena scratch = {0};
    const bool *sizes = size_sources(l->g, &scratch);
    for (int i = 0; i < main_region->nparams && i < l->g->main->nparams; i++) {
        const struct value *v = l->g->main->params[i];
        struct slot *s = &l->p->slots[main_region->params[i]];
        struct ranging r = {.dims = &l->p->dims};
        s->donated = l->g->donated && l->g->donated[i];
        if (v->type.kind != VK_TENSOR || !dtype_is_int(v->type.dtype))
            continue;
        look(&r, v);
        if (!r.known && v->name && strstr(v->name, "mask"))
            narrow(&r, 0, 1);
        if (!r.known && sizes[v->id])
            narrow(&r, 1, LIKELY_SIZE);
        if (!r.known)
            narrow_to_examples(&r, l->g->main, v);
        if (r.known && (!dim_is_const(r.high) || r.low <= r.high))
            s->has_range = true, s->low = r.low, s->high = r.high;
    }
    arena_free(&scratch);
}
