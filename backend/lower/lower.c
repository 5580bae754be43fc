/*
 * From graph to program: which function lowers which operator (lower.def), region by region.
 */
#include "backend/lower/states.h"
#include "backend/lower/lower.h"

#include "backend/lower/guards.h"
#include "backend/lower/input_ranges.h"
#include "backend/lower/lazy_constants.h"
#include "backend/lower/plan.h"
#include "backend/lower/prune.h"
#include "backend/lower/share.h"

#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "backend/lower/stage.h"

#include <stdlib.h>
#include <string.h>

static int32_t *slot_list(struct lowering *l, struct value *const *v, int n)
{
    int32_t *list = ARENA_ARRAY(&l->p->arena, int32_t, n);
    for (int i = 0; i < n; i++)
        list[i] = value_slot(l, v[i]);
    return list;
}

static bool lower_region(struct lowering *l, struct region *r, int index)
{
    int outer = l->region;
    struct definitions defined = enter_definitions(l);
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
    lower_guards(l, r, index);
    l->region = outer;
    leave_definitions(l, defined);
    return true;
}

bool lower_call(struct lowering *l, struct node *n)
{
    struct program *p = l->p;
    struct call c = {
        .op = n->op, .attrs = n->attrs, .nin = n->nin, .nout = n->nout, .nregions = n->nregions};
    c.in = slot_list(l, n->in, n->nin);
    if (n->op == OP_while)
        share_loop(l, n);
    else if (n->op == OP_if)
        share_branches(l, n);
    else
        share_update(l, n);
    c.out = ARENA_ARRAY(&p->arena, int32_t, n->nout);
    for (int i = 0; i < n->nout; i++) {
        c.out[i] = result_wanted(n, i) ? value_slot(l, n->out[i]) : -1;
    }
    c.regions = ARENA_ARRAY(&p->arena, int32_t, n->nregions);
    for (int i = 0; i < n->nregions; i++) {
        c.regions[i] = program_add_region(l->p);
        if (!lower_region(l, n->regions[i], c.regions[i]))
            return false;
    }
    c.node = program_node_of(l, n);
    ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
    p->calls[p->ncalls] = c;
    program_add_step(l->p, l->region, STEP_CALL, p->ncalls++);
    for (int i = 0; i < c.nout; i++)
        note_definitions(l, c.out[i]);
    return true;
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

/* Makes what was to be read through, and what that reads through. */
static bool make_transpose(struct lowering *l, struct node *n)
{
    struct node *def = outer_value(l, n->in[0])->def;
    if (def && decision_of(l, def)->passage == READ_THROUGH && !make_transpose(l, def))
        return false;
    l->decisions[n->out[0]->id].passage = MADE;
    return lower_node(l, n) != FAILED;
}

/* A node that was taken has no tile program after all: what it would have read and written through is made. */
static bool withdraw(struct lowering *l, struct node *n)
{
    if (!decision_of(l, n)->taken)
        return true;
    const struct value *y = outer_value(l, n->out[0]);
    struct node *user = value_only_user(y);
    if (user && decision_of(l, user)->passage == WRITTEN_THROUGH)
        l->decisions[user->out[0]->id].passage = MADE;
    for (int i = 0; i < n->nin && n->in[i]; i++) {
        struct node *def = outer_value(l, n->in[i])->def;
        if (def && decision_of(l, def)->passage == READ_THROUGH &&
            !make_transpose(l, def))
            return false;
    }
    return true;
}

/* On strict targets kernels are staged and scheduled at once: what does not fit the machine becomes
 * a call. */
static enum lowered lower_for_machine(struct lowering *l, struct node *n)
{
    struct mark before = mark_of(l);
    enum lowered done = lower_tiles(l, n);
    if (done == DECLINED && l->m->strict)
        return withdraw(l, n) ? DECLINED : FAILED;
    if (done != LOWERED || !l->m->strict)
        return done;
    struct diag d = {0};
    for (int i = before.kernels; i < l->p->nkernels; i++) {
        struct kernel *k = &l->p->kernels[i];
        k->scheduled = stage_kernel(l->p, k, l->m, &d) && schedule_kernel(l->p, k, l->m, &d);
        if (k->scheduled)
            continue;
        why(l->o, n, "tile.machine", "%s; it runs on GpSimd", d.text);
        take_back(l, before);
        return withdraw(l, n) ? DECLINED : FAILED;
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
    if (n->op == OP_fused)
        alias_parameters(l, n);
    if (n->op == OP_kernel_call) /* at every level, and not staged: its author did that */
        return lower_kernel_call(l, n);
    if ((op_infos[n->op].flags & OPF_VIEW) && lower_view(l, n))
        return LOWERED;
    if (decision_of(l, n)->passage != MADE)
        return LOWERED;
    enum lowered done = lower_for_machine(l, n);
    if (done != DECLINED)
        return done;
    if (n->op == OP_fused)
        return lower_pieces(l, n);
    return lower_call(l, n) ? LOWERED : FAILED;
}

/* ---- the whole ---- */

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
    make_maps(l);
    for (int i = 0; i < last->nin; i++)
        l->is_output[last->in[i]->id] = true;
    name_io(l);
    plan_graph(l);
    if (!lower_region(l, l->g->main, program_add_region(l->p)))
        return false;
    note_states(l);
    return true;
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
    if (!p) {
        fail(d, "out of memory");
        return NULL;
    }
    struct lowering l = {.g = g, .o = o, .m = m, .p = p, .d = d};
    p->name = arena_strdup(&p->arena, g->name ? g->name : "");
    p->target = m->name;
    dim_table_copy(&p->dims, &g->dims); /* the same handles, but it stands alone */
    bool ok = lower_graph(&l);
    settle_guards(&l);
    if (ok)
        note_input_ranges(&l);
    lazy_constants_count(&l);
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
