#include "backend/lower/states.h"

#include "backend/lower/kernels.h"
#include "backend/lower/plan.h"
#include "backend/lower/share.h"

static bool is_view(const struct node *n)
{
    return n && op_infos[n->op].flags & OPF_VIEW;
}

/* Whether `to` has the dims of `from` in order, and others that are 1. */
static bool inserts_ones(const struct type *from, const struct type *to)
{
    int k = 0;
    for (int i = 0; i < to->rank; i++)
        if (k < from->rank && to->dims[i] == from->dims[k])
            k++;
        else if (to->dims[i] != 1)
            return false;
    return k == from->rank;
}

static const struct grown *grown_of(const struct lowering *l, const struct value *v, int *end)
{
    for (int i = 0; i < l->ngrown; i++)
        if (l->grown[i].input == v || l->grown[i].output == v) {
            *end = l->grown[i].output == v;
            return &l->grown[i];
        }
    return NULL;
}

struct value *state_shown(struct lowering *l, struct value *v)
{
    int end;
    const struct type *t = &v->type;
    while (is_view(v->def))
        v = outer_value(l, v->def->in[0]);
    return grown_of(l, v, &end) && inserts_ones(&v->type, t) ? v : NULL;
}

void value_steps(struct lowering *l, const struct value *v, dim_t *steps)
{
    int end;
    const struct grown *s = grown_of(l, v, &end);
    dim_t dims[MAX_RANK];
    for (int i = 0; i < v->type.rank; i++)
        dims[i] = s && i == s->axis ? s->pitch[end] : v->type.dims[i];
    dense_steps(&l->p->dims, v->type.rank, dims, steps);
}

/* ---- finding them ---- */

static bool reads_with_steps(struct lowering *l, const struct value *whole, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct node *n = u->node;
        if (n->op == OP_shape || (v == whole && n == region_return(l->g->main)))
            continue;
        bool shown = is_view(n) && !l->is_output[n->out[0]->id] && n->parent == l->g->main &&
                     inserts_ones(&whole->type, &n->out[0]->type) && reads_with_steps(l, whole, n->out[0]);
        bool turned = (n->op == OP_transpose || n->op == OP_slice) && decision_of(l, n)->passage == READ_THROUGH;
        bool read = n->op == OP_sdpa && (u->index == 1 || u->index == 2) && takes_steps(l, n);
        if (n->parent != l->g->main || !(shown || turned || read))
            return false;
    }
    return true;
}

static int uses_by(const struct value *v, const struct node *n)
{
    int uses = 0;
    for (const struct use *u = v->uses; u; u = u->next)
        uses += u->node == n;
    return uses;
}

static bool only_by(const struct value *v, const struct node *n)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->node != n && u->node->op != OP_shape)
            return false;
    return uses_by(v, n) == 1;
}

static bool is_input(const struct lowering *l, const struct value *v)
{
    return v->param_of == l->g->main && v->type.kind == VK_TENSOR;
}

static bool appends(const struct node *n)
{
    return n->op == OP_concat ? n->nin == 2 : n->op == OP_cache_append;
}

static bool may_grow(struct lowering *l, const struct node *n, int *axis)
{
    const struct value *x = n->in[0], *y = n->out[0];
    int rank = y->type.rank;
    if (!appends(n) || !l->is_output[y->id] || !is_input(l, x) || x->type.rank != rank ||
        !is_planned(l, &y->type) || !is_planned(l, &x->type) || !has_layout(l, n->in[1]) || touches_nothing(n) ||
        dtype_info(x->type.dtype)->bits < 8)
        return false;
    *axis = n->op == OP_cache_append ? 2 : (int)attr_int(&n->attrs, "axis", 0);
    *axis += *axis < 0 ? rank : 0;
    for (int i = 0; i < rank; i++) /* a guard may have made the output's a number */
        if (i != *axis && x->type.dims[i] != y->type.dims[i])
            return false;
    return only_by(x, n) && uses_by(y, region_return(l->g->main)) == 1 && reads_with_steps(l, y, y);
}

void find_states(struct lowering *l)
{
    int cap = 0, axis = 0;
    struct dim_table *t = &l->p->dims;
    for (struct node *n = l->g->main->first; n && !l->m->strict; n = n->next) {
        if (!n->nout || !may_grow(l, n, &axis))
            continue;
        ARENA_GROW(&l->p->arena, l->grown, l->ngrown, cap);
        struct grown *s = &l->grown[l->ngrown];
        *s = (struct grown){.input = n->in[0], .output = n->out[0], .axis = axis};
        s->pitch[0] = dim_pitch(t, s->input->type.dims[axis], l->ngrown);
        s->pitch[1] = dim_pitch(t, s->output->type.dims[axis], l->ngrown);
        l->ngrown++;
        why(l->o, n, "state.grown", "an output that is an input and more behind it: xrt_bind_state keeps it in place");
    }
}

/* ---- updates: of equal dims, so that steps stay as they are ---- */

/* Whether what the region returns as v is its parameter, with parts written over. */
static bool updated_in(const struct region *r, int i)
{
    const struct value *v = region_return(r)->in[i], *from = r->params[i];
    bool updated = false;
    while (v != from && v->def && v->def->parent == r && updates_operand(v->def))
        v = v->def->in[0], updated = true;
    return updated && v == from;
}

/* What slot `to`, which holds v, was first filled from: an operand in other memory, of a node that writes over parts of
 * it or carries it around a loop. */
static struct value *filled_from(struct lowering *l, struct value *v, int to, struct node **by)
{
    while (v->def && v->def->parent == l->g->main) {
        struct node *n = v->def;
        int i = 0;
        while (n->op == OP_while && i < n->nout && n->out[i] != v)
            i++;
        bool carried = n->op == OP_while && n->nin == n->nout && l->slots[n->regions[1]->params[i]->id] == to &&
                       updated_in(n->regions[1], i);
        if (!carried && !updates_operand(n))
            return NULL;
        *by = n;
        v = outer_value(l, n->in[i]);
        if (l->slots[v->id] != to)
            return v;
    }
    return NULL;
}

static void note_update(struct lowering *l, struct value *y)
{
    struct node *by = NULL;
    int to = l->slots[y->id], end, axis = 0;
    if (to < 0 || l->p->slots[to].kind != SLOT_PLANNED || !l->p->slots[to].is_output || y->type.rank < 1 ||
        uses_by(y, region_return(l->g->main)) != 1 || dtype_info(y->type.dtype)->bits < 8)
        return;
    struct value *x = filled_from(l, y, to, &by);
    if (!x || !is_input(l, x) || !only_by(x, by) || l->slots[x->id] < 0 || !type_equal(&x->type, &y->type) ||
        state_of_slot(l->p, l->slots[x->id], &end) || state_of_slot(l->p, to, &end))
        return;
    const struct type *part = updates_operand(by) ? &by->in[by->nin - 1]->type : NULL;
    if (by->op == OP_dynamic_update_slice || by->op == OP_tensor_scatter)
        part = &by->in[1]->type;
    for (int i = y->type.rank - 1; part && part->rank == y->type.rank && i > 0 && !axis; i--)
        axis = part->dims[i] != y->type.dims[i] ? i : 0;
    dim_t length = y->type.dims[axis];
    program_add_state(l->p, (struct program_state){l->slots[x->id], to, axis, {length, length}});
    why(l->o, by, "state.updated",
        "an output that is an input with parts written over: xrt_bind_state keeps it in place");
}

void note_states(struct lowering *l)
{
    for (int i = 0; i < l->ngrown; i++) {
        const struct grown *s = &l->grown[i];
        struct program_state made = {.axis = s->axis, .pitch = {s->pitch[0], s->pitch[1]}};
        made.input = value_slot(l, s->input);
        made.output = value_slot(l, s->output);
        program_add_state(l->p, made);
    }
    const struct node *last = region_return(l->g->main);
    for (int i = 0; i < last->nin && !l->m->strict; i++)
        if (last->in[i] && last->in[i]->type.kind == VK_TENSOR)
            note_update(l, outer_value(l, last->in[i]));
}
