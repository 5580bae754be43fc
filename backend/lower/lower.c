#include "backend/lower/lower.h"

#include "backend/lower/made.h"
#include "backend/lower/prune.h"
#include "backend/lower/strided.h"

#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "backend/lower/stage.h"

#include <stdlib.h>
#include <string.h>

/* ---- values and slots ---- */

static void grow_maps(struct lowering *l)
{
    int n = l->g->next_value + 64;
    struct arena *a = &l->p->arena;
    int32_t *slots = ARENA_ARRAY(a, int32_t, n);
    struct value **alias = ARENA_ARRAY(a, struct value *, n);
    bool *is_output = ARENA_ARRAY(a, bool, n);
    for (int i = 0; i < n; i++)
        slots[i] = i < l->nvalues ? l->slots[i] : -1;
    arena_move_(alias, l->alias, sizeof *alias * (size_t)l->nvalues);
    arena_move_(is_output, l->is_output, sizeof *is_output * (size_t)l->nvalues);
    l->slots = slots, l->alias = alias, l->is_output = is_output;
    l->nvalues = n;
}

struct value *outer_value(struct lowering *l, struct value *v)
{
    while (v && v->id < l->nvalues && l->alias[v->id])
        v = l->alias[v->id];
    return v;
}

static void define_dim(struct lowering *l, dim_t d);

/* ---- dims that running defines ---- */

/* Whether the dim has a value by the time that the step being lowered runs. */
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

/* What the runtime does when the slot gets its value: symbols that stand alone in its dims get
 * theirs. */
static void note_definitions(struct lowering *l, int slot)
{
    const struct slot *s = slot >= 0 ? &l->p->slots[slot] : NULL;
    if (!s || s->kind != SLOT_DYNAMIC || s->type.kind != VK_TENSOR)
        return;
    for (int i = 0; i < s->type.rank; i++)
        if (dim_as_symbol(&l->p->dims, s->type.dims[i]) >= 0)
            define_dim(l, s->type.dims[i]);
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

/* The inputs' shapes alone determine the shape, so that it has a place before anything runs. */
static bool is_planned(const struct lowering *l, const struct type *t)
{
    if (t->kind != VK_TENSOR || t->rank < 0 || t->dtype == DT_STR || t->dtype == DT_NONE)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (dim_is_runtime(&l->p->dims, t->dims[i]))
            return false;
    return true;
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
    if (v->id >= l->nvalues)
        grow_maps(l);
    if (l->slots[v->id] >= 0)
        return l->slots[v->id];
    if (v->constant && v->constant->kind != VK_TENSOR)
        return container_slot(l, v->constant, v->name);
    if (v->constant)
        return l->slots[v->id] = constant_slot(l, v->constant, v->name);
    struct slot s = {.name = v->name, .type = v->type, .kind = SLOT_DYNAMIC, .base = -1};
    if (v->param_of == l->g->main) {
        s.kind = SLOT_INPUT;
        if (!s.name)
            s.name = arena_printf(&l->p->arena, "input_%d", v->index);
    } else if (is_planned(l, &v->type) && v->def &&
               !(op_infos[v->def->op].flags & OPF_DATA_DEPENDENT)) {
        s.kind = SLOT_PLANNED;
    }
    s.is_output = l->is_output[v->id];
    return l->slots[v->id] = program_add_slot(l->p, s);
}

/* ---- steps ---- */

static void add_step(struct lowering *l, int kind, int index)
{
    struct program_region *r = &l->p->regions[l->region];
    ARENA_GROW(&l->p->arena, r->steps, r->nsteps, r->steps_cap);
    r->steps[r->nsteps++] = (struct step){(uint8_t)kind, index};
}

int add_kernel(struct lowering *l, const char *name)
{
    struct program *p = l->p;
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    p->kernels[p->nkernels] = (struct kernel){.name = name};
    add_step(l, STEP_LAUNCH, p->nkernels);
    return p->nkernels++;
}

int program_node_of(struct lowering *l, const struct node *n)
{
    return program_add_node(l->p, n->name ? n->name : "", n->source ? n->source : op_name(n->op));
}

static int add_region(struct lowering *l)
{
    struct program *p = l->p;
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    p->regions[p->nregions] = (struct program_region){0};
    return p->nregions++;
}

static int32_t *slot_list(struct lowering *l, struct value *const *v, int n)
{
    int32_t *list = ARENA_ARRAY(&l->p->arena, int32_t, n);
    for (int i = 0; i < n; i++)
        list[i] = value_slot(l, v[i]);
    return list;
}

static bool lower_region(struct lowering *l, struct region *r, int index)
{
    int outer = l->region, ndefined = l->ndefined;
    bool *defined = l->defined; /* what a region defines is its own */
    l->defined = arena_copy(&l->p->arena, defined, sizeof *defined * (size_t)ndefined);
    l->region = index;
    int32_t *params = slot_list(l, r->params, r->nparams);
    for (int i = 0; i < r->nparams; i++)
        note_definitions(l, params[i]);
    l->p->regions[index].params = params;
    l->p->regions[index].nparams = r->nparams;
    for (struct node *n = r->first; n && n->op != OP_return; n = n->next)
        if (lower_node(l, n) == FAILED)
            return fail_in(l->d, "%s", node_text(l->g, n));
    struct node *last = region_return(r);
    int32_t *results = slot_list(l, last->in, last->nin);
    l->p->regions[index].results = results;
    l->p->regions[index].nresults = last->nin;
    l->region = outer;
    l->defined = defined, l->ndefined = ndefined;
    return true;
}

bool lower_call(struct lowering *l, struct node *n)
{
    struct program *p = l->p;
    struct call c = {
        .op = n->op, .attrs = n->attrs, .nin = n->nin, .nout = n->nout, .nregions = n->nregions};
    c.in = slot_list(l, n->in, n->nin);
    c.out = ARENA_ARRAY(&p->arena, int32_t, n->nout);
    for (int i = 0; i < n->nout; i++) {
        bool wanted = n->out[i]->uses || i < op_infos[n->op].min_out;
        c.out[i] = wanted ? value_slot(l, n->out[i]) : -1;
    }
    c.regions = ARENA_ARRAY(&p->arena, int32_t, n->nregions);
    for (int i = 0; i < n->nregions; i++) {
        c.regions[i] = add_region(l);
        if (!lower_region(l, n->regions[i], c.regions[i]))
            return false;
    }
    c.node = program_node_of(l, n);
    ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
    p->calls[p->ncalls] = c;
    add_step(l, STEP_CALL, p->ncalls++);
    for (int i = 0; i < c.nout; i++)
        note_definitions(l, c.out[i]);
    return true;
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
    add_step(l, STEP_CALL, p->ncalls++);
    return c.out[0];
}

/* ---- nodes ---- */

/* Same bytes under another shape: the result shares the operand's memory. */
static bool lower_view(struct lowering *l, struct node *n)
{
    struct value *x = outer_value(l, n->in[0]), *y = n->out[0];
    if (!has_layout(l, x) || !has_layout(l, y) || l->is_output[y->id])
        return false;
    int base = value_slot(l, x);
    const struct slot *s = &l->p->slots[base];
    dim_t offset = 0;
    if (s->kind == SLOT_VIEW)
        offset = s->offset, base = s->base;
    l->slots[y->id] = program_add_slot(
        l->p,
        (struct slot){
            .name = y->name, .type = y->type, .kind = SLOT_VIEW, .base = base, .offset = offset});
    return true;
}

static const struct {
    enum op op;
    lower_fn lower;
    enum { ALL, DIRECT } machines;
} rows[] = {
#define LOWER(op, function, machines) {OP_##op, lower_##function, machines},
#include "backend/lower/lower.def"
    {OP_COUNT, NULL, ALL},
};

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

/* By the first node of the group: its tile program takes the others as an epilogue. */
static enum lowered lower_tiles(struct lowering *l, struct node *n)
{
    const struct node *first = n->op == OP_fused ? n->regions[0]->first : n;
    if (l->o->opt_level == 0 || touches_nothing(first))
        return DECLINED;
    for (int i = 0; rows[i].lower; i++)
        if (rows[i].op == first->op)
            return rows[i].machines == DIRECT && l->m->strict ? DECLINED : rows[i].lower(l, n);
    if (op_infos[first->op].flags & OPF_ELEMENTWISE)
        return lower_elementwise(l, n);
    return DECLINED;
}

/* What lowering has added so far, to take it back. */
struct mark {
    int kernels, slots, steps;
};

static struct mark mark_of(const struct lowering *l)
{
    return (struct mark){l->p->nkernels, l->p->nslots, l->p->regions[l->region].nsteps};
}

static void take_back(struct lowering *l, struct mark m)
{
    l->p->nkernels = m.kernels, l->p->nslots = m.slots;
    l->p->regions[l->region].nsteps = m.steps;
    for (int i = 0; i < l->nvalues; i++)
        if (l->slots[i] >= m.slots)
            l->slots[i] = -1;
}

/* On strict targets kernels are staged and scheduled at once: what does not fit the machine becomes
 * a call. */
static enum lowered lower_for_machine(struct lowering *l, struct node *n)
{
    struct mark before = mark_of(l);
    enum lowered done = lower_tiles(l, n);
    if (done != LOWERED || !l->m->strict)
        return done;
    struct diag d = {0};
    for (int i = before.kernels; i < l->p->nkernels; i++) {
        struct kernel *k = &l->p->kernels[i];
        if (stage_kernel(l->p, k, l->m, &d) && schedule_kernel(l->p, k, l->m, &d))
            continue;
        why(l->o, n, "tile.machine", "%s; it runs on GpSimd", d.text);
        take_back(l, before);
        return DECLINED;
    }
    return LOWERED;
}

/* A fused group that no tile program takes whole: its nodes one by one. */
static enum lowered lower_pieces(struct lowering *l, struct node *fused)
{
    struct region *r = fused->regions[0];
    struct node *last = region_return(r);
    for (int i = 0; i < last->nin; i++) /* results get the slots of the fused node's results */
        if (last->in[i]->def)
            l->alias[last->in[i]->id] = fused->out[i];
    for (struct node *n = r->first; n != last; n = n->next)
        if (lower_node(l, n) == FAILED)
            return FAILED;
    return LOWERED;
}

enum lowered lower_node(struct lowering *l, struct node *n)
{
    if (l->g->next_value > l->nvalues)
        grow_maps(l);
    if (n->op == OP_fused)
        for (int i = 0; i < n->regions[0]->nparams; i++)
            l->alias[n->regions[0]->params[i]->id] = n->in[i];
    if ((op_infos[n->op].flags & OPF_VIEW) && lower_view(l, n))
        return LOWERED;
    if (strided_skips(l, n) || attention_appends(l, n))
        return LOWERED;
    enum lowered done = lower_for_machine(l, n);
    if (done != DECLINED)
        return done;
    if (n->op == OP_fused)
        return lower_pieces(l, n);
    return lower_call(l, n) ? LOWERED : FAILED;
}

/* ---- the whole ---- */

/* The program shares the graph's dims: same handles, copied so that it stands alone. */
static void copy_dims(struct program *p, const struct graph *g)
{
    const struct dim_table *from = &g->dims;
    struct dim_table *to = &p->dims;
    to->nodes = arena_copy(to->arena, from->nodes, sizeof *from->nodes * (size_t)from->nnodes);
    to->symbols =
        arena_copy(to->arena, from->symbols, sizeof *from->symbols * (size_t)from->nsymbols);
    to->nnodes = to->nodes_cap = from->nnodes;
    to->nsymbols = to->symbols_cap = from->nsymbols;
    for (int i = 0; i < to->nsymbols; i++)
        to->symbols[i].name = arena_strdup(to->arena, to->symbols[i].name);
    dim_table_index(to);
}

static void name_io(struct lowering *l)
{
    struct graph *g = l->g;
    l->p->output_names = ARENA_ARRAY(&l->p->arena, const char *, g->noutputs + 1);
    for (int i = 0; i < g->noutputs; i++)
        l->p->output_names[i] = arena_strdup(&l->p->arena, g->output_names[i]);
}

static bool lower_graph(struct lowering *l)
{
    struct node *last = region_return(l->g->main);
    grow_maps(l);
    for (int i = 0; i < last->nin; i++)
        l->is_output[last->in[i]->id] = true;
    name_io(l);
    return lower_region(l, l->g->main, add_region(l));
}

/* For a few values of the symbols, so that tiles at edges are seen cut. */
static bool synchronised(const struct program *p, struct diag *d)
{
    static const int64_t symbols[] = {1, 2, 70};
    int n = p->dims.nsymbols ? 3 : 1;
    for (int i = 0; i < n; i++)
        if (!check_program_sync(p, symbols[i], d))
            return false;
    return true;
}

struct program *backend_compile(struct graph *g, const struct options *o, const struct machine *m,
                                struct diag *d)
{
    struct program *p = program_new();
    struct lowering l = {.g = g, .o = o, .m = m, .p = p, .d = d};
    p->name = arena_strdup(&p->arena, g->name ? g->name : "");
    p->target = m->name;
    copy_dims(p, g);
    bool ok = lower_graph(&l);
    made_count(&l);
    if (ok && o->opt_level > 0)
        prune_steps(p);
    if (!ok || !schedule_program(p, m, d)) {
        program_free(p);
        return NULL;
    }
    if (!program_check(p, d) || (o->verify_passes && !synchronised(p, d))) {
        d->internal = true;
        program_free(p);
        return NULL;
    }
    return p;
}
