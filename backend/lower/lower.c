/*
 * From graph to program: which function lowers which operator (lower.def), region by region.
 */
#include "backend/lower/lower.h"

#include "backend/lower/guards.h"
#include "backend/lower/input_ranges.h"
#include "backend/lower/lazy_constants.h"
#include "backend/lower/outputs.h"
#include "backend/lower/parts.h"
#include "backend/lower/plan.h"
#include "backend/lower/prune.h"
#include "backend/lower/share.h"

#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "backend/lower/stage.h"
#include "backend/lower/states.h"
#include "passes/ir/integer.h"

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

/* Parts that a tile program would have read where they lie, copied for a node that has none after all. */
static bool make_parts_read(struct lowering *l, const struct node *n)
{
    struct part_place s;
    for (int i = 0; i < n->nin; i++) {
        struct value *v = n->in[i] ? outer_value(l, n->in[i]) : NULL;
        if (!v || l->slots[v->id] >= 0 || !is_read_through(l, v, &s))
            continue;
        enum lowered done = v->def->op == OP_split ? lower_split_parts(l, v->def) : lower_slice(l, v->def);
        if (done == FAILED || (done == DECLINED && !lower_call(l, v->def)))
            return false;
    }
    return true;
}

bool lower_call(struct lowering *l, struct node *n)
{
    struct program *p = l->p;
    if (!make_parts_read(l, n))
        return false;
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

/* Same bytes under another shape or type: the result shares the operand's memory. */
static bool lower_view(struct lowering *l, struct node *n)
{
    struct value *x = outer_value(l, n->in[0]), *y = n->out[0];
    if (!has_layout(l, x) || !has_layout(l, y))
        return false;
    int base = value_slot(l, x);
    if (l->slots[y->id] >= 0 && slot_root(l->p, base) == l->slots[y->id])
        return true; /* made there */
    if (l->is_output[y->id])
        return false;
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
    bool planned;
} rows[] = {
#define LOWER(op, function, machines) {OP_##op, lower_##function, machines, false},
#define PLANNED(op, function, machines) {OP_##op, lower_##function, machines, true},
#include "backend/lower/lower.def"
    {OP_COUNT, NULL, ALL, false},
};

static const char *refusal(const struct lowering *l, const struct node *n)
{
    return n->nout ? l->refused[n->out[0]->id] : NULL;
}

/* By the first node of the group: its tile program takes the others as an epilogue. */
static enum lowered lower_tiles(struct lowering *l, struct node *n)
{
    const struct node *first = n->op == OP_fused ? n->regions[0]->first : n;
    if (l->o->opt_level == 0 || touches_nothing(first))
        return DECLINED;
    if (refusal(l, n)) {
        why(l->o, n, "tile.machine", "%s; it runs on GpSimd", refusal(l, n));
        return DECLINED;
    }
    for (int i = 0; rows[i].lower; i++)
        if (rows[i].op == first->op)
            return (rows[i].machines == DIRECT && l->m->strict) || (rows[i].planned && !decision_of(l, n)->plan)
                       ? DECLINED
                       : rows[i].lower(l, n);
    if ((op_infos[first->op].flags & OPF_ELEMENTWISE) || is_word_bitcast(first))
        return lower_elementwise(l, n);
    return DECLINED;
}

/* The plan was wrong about a node, or about what it is joined with: this program is not finished, and the next one's
 * plan knows. */
static void refuse(struct lowering *l, const struct node *n, const char *reason)
{
    if (decision_of(l, n)->next || decision_of(l, n)->turned)
        l->apart[n->out[0]->id] = true;
    else
        l->refused[n->out[0]->id] = arena_strdup(&l->g->arena, reason);
    l->again = true;
}

/* On strict targets kernels are staged and scheduled at once: whether they fit the machine is known
 * then. */
static enum lowered lower_for_machine(struct lowering *l, struct node *n)
{
    int first = l->p->nkernels;
    enum lowered done = lower_tiles(l, n);
    if (done == DECLINED && (takes_steps(l, n) || decision_of(l, n)->next || decision_of(l, n)->turned))
        refuse(l, n, "what its plan took has no tile program");
    if (done != LOWERED || !l->m->strict)
        return done;
    struct diag d = {0};
    bool ok = true;
    for (int i = first; i < l->p->nkernels && ok; i++) {
        struct kernel *k = &l->p->kernels[i];
        ok = k->scheduled = stage_kernel(l->p, k, l->m, &d) && schedule_kernel(l->p, k, l->m, &d);
    }
    if (!ok)
        refuse(l, n, d.text);
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
    if (shows_operand(n) && lower_view(l, n))
        return LOWERED;
    if (decision_of(l, n)->passage != MADE || decision_of(l, n)->joined)
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
    find_shown(l);
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

/* One program; NULL after a diagnostic, or where l->again asks for another. */
static struct program *lower_once(struct lowering *l)
{
    struct program *p = l->p = program_new();
    if (!p) {
        fail_memory(l->d, "out of memory");
        return NULL;
    }
    p->name = arena_strdup(&p->arena, l->g->name ? l->g->name : "");
    p->target = l->m->name;
    dim_table_copy(&p->dims, &l->g->dims); /* the same handles, but it stands alone */
    bool ok = lower_graph(l) && !l->again;
    settle_guards(l);
    if (ok)
        note_input_ranges(l);
    lazy_constants_count(l);
    if (ok && l->o->opt_level > 0)
        prune_steps(p);
    if (!ok || !schedule_program(p, l->m, l->d) ||
        (l->m->strict && l->o->opt_level > 0 && !l->o->trial && !chain_kernels(p, l->m, l->d))) {
        program_free(p);
        return NULL;
    }
    return p;
}

/* Each time another node is refused at least, so that this ends; mostly the first plan holds. */
static struct program *lower_as_planned(struct graph *g, const struct options *o,
                                        const struct machine *m, struct diag *d)
{
    const char **refused = ARENA_ARRAY(&g->arena, const char *, g->next_value);
    bool *apart = ARENA_ARRAY(&g->arena, bool, g->next_value);
    int reasons = o->reasons ? o->reasons->count : 0;
    for (;;) {
        struct lowering l = {.g = g, .o = o, .m = m, .d = d, .refused = refused, .apart = apart};
        struct program *p = lower_once(&l);
        if (!l.again || diag_failed(d))
            return p;
        if (o->reasons)
            o->reasons->count = reasons;
    }
}

struct program *backend_compile(struct graph *g, const struct options *o, const struct machine *m,
                                struct diag *d)
{
    struct program *p = lower_as_planned(g, o, m, d);
    if (!p)
        return NULL;
    if (!program_check(p, d) || (o->verify_passes && !synchronised(p, d))) {
        d->internal = true;
        program_free(p);
        return NULL;
    }
    return p;
}
