/*
 * The map between the graph being lowered and the program being made: slots of values, dims that
 * steps define, and steps.
 */
#include "backend/lower/plan.h"
#include "backend/lower/product.h"

#include <stdlib.h>
#include <string.h>

/* ---- values and slots ---- */

void make_maps(struct lowering *l)
{
    struct arena *a = &l->p->arena;
    l->nvalues = l->g->next_value;
    l->slots = ARENA_ARRAY(a, int32_t, l->nvalues);
    l->alias = ARENA_ARRAY(a, struct value *, l->nvalues);
    l->is_output = ARENA_ARRAY(a, bool, l->nvalues);
    l->shown = ARENA_ARRAY(a, struct value *, l->nvalues);
    l->lazy = ARENA_ARRAY(a, struct lazy_constant *, l->nvalues);
    l->decisions = ARENA_ARRAY(a, struct decision, l->nvalues);
    for (int i = 0; i < l->nvalues; i++)
        l->slots[i] = -1;
}

const struct decision *decision_of(const struct lowering *l, const struct node *n)
{
    static const struct decision none;
    return n->nout ? &l->decisions[n->out[0]->id] : &none;
}

bool is_turned(const struct lowering *l, const struct value *v)
{
    return v->def && decision_of(l, v->def)->turned;
}

/* Whether the plan, of a node or of the group that it is the first of, takes any steps. */
static bool plan_takes_steps(const struct lowering *l, const struct node *n, const void *plan)
{
    return plan && (n->op == OP_sdpa || (n->op == OP_matmul && !l->m->strict && product_is_computed(plan)));
}

bool takes_steps(const struct lowering *l, const struct node *n)
{
    if (n->op == OP_fused)
        return plan_takes_steps(l, n->regions[0]->first, decision_of(l, n)->plan);
    const struct node *whole = n->parent->owner;
    return plan_takes_steps(l, n, decision_of(l, n)->plan) ||
           (whole && whole->op == OP_fused && takes_steps(l, whole));
}

struct value *outer_value(struct lowering *l, struct value *v)
{
    while (v && l->alias[v->id])
        v = l->alias[v->id];
    return v;
}

void alias_parameters(struct lowering *l, const struct node *fused)
{
    for (int i = 0; i < fused->regions[0]->nparams; i++)
        l->alias[fused->regions[0]->params[i]->id] = fused->in[i];
}

bool result_wanted(const struct node *n, int i)
{
    return n->out[i]->uses || op_needs_result(n->op, i);
}

static void define_dim(struct lowering *l, dim_t d);

/* ---- dims that running defines ---- */

bool dim_is_known(struct lowering *l, dim_t d)
{
    if (!dim_is_runtime(&l->p->dims, d))
        return true;
    int i = dim_index(d);
    if (i < l->ndefined && l->defined[i])
        return true;
    const struct dim_node *n = &l->p->dims.nodes[i];
    if (n->op == DIM_SYM || !dim_is_known(l, n->a) || !dim_is_known(l, n->b))
        return false;
    define_dim(l, d); /* found once */
    return true;
}

static void define_dim(struct lowering *l, dim_t d)
{
    int i = dim_index(d);
    if (i >= l->ndefined) {
        int n = l->p->dims.nnodes + 64;
        bool *grown = ARENA_ARRAY(&l->p->arena, bool, n);
        arena_move_(grown, l->defined, sizeof *grown * (size_t)l->ndefined);
        l->defined = grown, l->ndefined = n;
    }
    l->defined[i] = true;
}

void note_definitions(struct lowering *l, int slot)
{
    if (slot >= 0 && l->p->slots[slot].kind == SLOT_DYNAMIC)
        define_dims(l, &l->p->slots[slot].type);
}

void define_dims(struct lowering *l, const struct type *t)
{
    for (int i = 0; t->kind == VK_TENSOR && i < t->rank; i++)
        if (dim_as_symbol(&l->p->dims, t->dims[i]) >= 0)
            define_dim(l, t->dims[i]);
}

struct definitions enter_definitions(struct lowering *l)
{
    struct definitions outer = {l->defined, l->ndefined};
    l->defined = arena_copy(&l->p->arena, l->defined, sizeof *l->defined * (size_t)l->ndefined);
    return outer;
}

void leave_definitions(struct lowering *l, struct definitions outer)
{
    l->defined = outer.defined, l->ndefined = outer.n;
}

static bool shape_is_known(struct lowering *l, const struct type *t)
{
    if (t->kind != VK_TENSOR || t->rank < 0 || t->dtype == DT_STR || t->dtype == DT_NONE)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (!dim_is_known(l, t->dims[i]))
            return false;
    return true;
}

bool has_layout(struct lowering *l, const struct value *v)
{
    return v && shape_is_known(l, &outer_value(l, (struct value *)v)->type);
}

bool is_planned(const struct lowering *l, const struct type *t)
{
    if (t->kind != VK_TENSOR || t->rank < 0 || t->dtype == DT_STR || t->dtype == DT_NONE)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (dim_is_runtime(&l->p->dims, t->dims[i]))
            return false;
    return true;
}

bool shows_operand(const struct node *n)
{
    if (n->op != OP_bitcast)
        return op_infos[n->op].flags & OPF_VIEW;
    int from = n->in[0]->type.dtype, to = n->out[0]->type.dtype;
    return dtype_info(from)->bits >= 8 && dtype_info(to)->bits == dtype_info(from)->bits &&
           from != DT_BOOL && to != DT_BOOL; /* booleans are 0 or 1 */
}

int constant_slot(struct lowering *l, const struct tensor *t, const char *name)
{
    dim_t dims[MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dims[i] = t->dims[i];
    return program_add_slot(l->p, (struct slot){.name = name,
                                                .type = type_tensor(t->dtype, t->rank, dims),
                                                .kind = SLOT_CONST,
                                                .base = -1,
                                                .data = *t});
}

int temporary_slot(struct lowering *l, const struct type *t, const char *name)
{
    int kind = is_planned(l, t) ? SLOT_PLANNED : SLOT_DYNAMIC;
    return program_add_slot(
        l->p, (struct slot){.name = name, .type = *t, .kind = (uint8_t)kind, .base = -1});
}

static int container_slot(struct lowering *l, const struct tensor *t, const char *name);

int value_slot(struct lowering *l, struct value *v)
{
    if (!v)
        return -1;
    v = outer_value(l, v);
    if (l->slots[v->id] >= 0)
        return l->slots[v->id];
    if (v->constant && v->constant->kind != VK_TENSOR)
        return container_slot(l, v->constant, v->name);
    if (v->constant)
        return l->slots[v->id] = constant_slot(l, v->constant, v->name);
    struct slot s = {.name = v->name, .type = v->type, .kind = SLOT_DYNAMIC, .base = -1};
    if (l->shown[v->id]) {
        s.kind = SLOT_VIEW, s.base = value_slot(l, l->shown[v->id]);
        return l->slots[v->id] = program_add_slot(l->p, s);
    }
    if (v->param_of == l->g->main) {
        s.kind = SLOT_INPUT;
        if (!s.name)
            s.name = arena_printf(&l->p->arena, "input_%d", v->index);
    } else if (is_planned(l, &v->type) && v->def &&
               !(op_infos[v->def->op].flags & OPF_DATA_DEPENDENT)) {
        s.kind = SLOT_PLANNED;
    }
    if (is_turned(l, v))
        s.name = NULL; /* it is not what the model has under that name */
    s.is_output = l->is_output[v->id];
    return l->slots[v->id] = program_add_slot(l->p, s);
}

/* ---- steps ---- */

int program_node_of(struct lowering *l, const struct node *n)
{
    return program_add_node(l->p, n->name ? n->name : "", n->source ? n->source : op_name(n->op));
}

/*
 * The archive holds tensors only: a constant sequence or optional is made anew in each region that
 * uses it, from its parts. An absent part has no slot.
 */
static int container_slot(struct lowering *l, const struct tensor *t, const char *name)
{
    struct program *p = l->p;
    if (t->kind == VK_NONE)
        return -1;
    if (t->kind == VK_TENSOR)
        return constant_slot(l, t, name);
    bool sequence = t->kind == VK_SEQUENCE;
    struct call c = {.op = !sequence   ? OP_optional
                           : t->nitems ? OP_sequence_construct
                                       : OP_sequence_empty,
                     .nin = (int)t->nitems,
                     .nout = 1,
                     .node = -1};
    if (c.op == OP_sequence_empty && t->dtype)
        attr_set_int(&p->arena, &c.attrs, "dtype", t->dtype);
    c.in = ARENA_ARRAY(&p->arena, int32_t, c.nin + 1);
    for (int i = 0; i < c.nin; i++)
        c.in[i] = container_slot(l, &t->items[i], NULL);
    struct type *element = ARENA_NEW(&p->arena, struct type);
    *element = type_tensor(t->dtype, RANK_UNKNOWN, NULL);
    c.out = ARENA_ARRAY(&p->arena, int32_t, 1);
    c.out[0] = program_add_slot(p, (struct slot){.name = name,
                                                 .type = type_container(t->kind, element),
                                                 .kind = SLOT_DYNAMIC,
                                                 .base = -1});
    ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
    p->calls[p->ncalls] = c;
    program_add_step(l->p, l->region, STEP_CALL, p->ncalls++);
    return c.out[0];
}

static bool has_no_elements(const struct value *v)
{
    for (int i = 0; v && i < v->type.rank; i++)
        if (v->type.dims[i] == 0)
            return true;
    return false;
}

bool touches_nothing(const struct node *n)
{
    bool nothing = false;
    for (int i = 0; i < n->nin; i++)
        nothing |= has_no_elements(n->in[i]);
    for (int i = 0; i < n->nout; i++)
        nothing |= has_no_elements(n->out[i]);
    return nothing;
}
