#include "backend/lower/plan.h"

#include "backend/lower/attention.h"
#include "backend/lower/coverage.h"
#include "backend/lower/joined.h"
#include "backend/lower/parts.h"
#include "backend/lower/states.h"

static struct decision *decide(struct lowering *l, const struct node *n)
{
    return &l->decisions[n->out[0]->id];
}

/* ---- the graph, in the order of lowering ---- */

typedef void (*visit_fn)(struct lowering *l, struct node *n);

static void walk_region(struct lowering *l, struct region *r, visit_fn visit);

static void walk_nodes(struct lowering *l, struct region *r, visit_fn visit)
{
    for (struct node *n = r->first; n && n->op != OP_return; n = n->next) {
        if (n->op == OP_fused)
            alias_parameters(l, n);
        if (n->nout)
            visit(l, n);
        if (n->op == OP_fused) {
            walk_nodes(l, n->regions[0], visit);
            continue;
        }
        for (int i = 0; i < n->nregions; i++)
            walk_region(l, n->regions[i], visit);
        for (int i = 0; i < n->nout && n->op != OP_kernel_call; i++)
            if (result_wanted(n, i))
                define_dims(l, &n->out[i]->type);
    }
}

/* What is known of dims is what lowering knows when it reaches the node. */
static void walk_region(struct lowering *l, struct region *r, visit_fn visit)
{
    struct definitions outer = enter_definitions(l);
    for (int i = 0; i < r->nparams; i++)
        define_dims(l, &r->params[i]->type);
    walk_nodes(l, r, visit);
    leave_definitions(l, outer);
}

/* ---- what has a tile program ---- */

static const struct {
    enum op op;
    plan_fn plan;
    enum { ALL, DIRECT } machines;
} rows[] = {
#define LOWER(op, function, machines)
#define PLANNED(op, function, machines) {OP_##op, plan_##function, machines},
#include "backend/lower/lower.def"
};

static const void *plan_by_row(struct lowering *l, const struct group *g)
{
    if (!g->n) /* a fusion that computes nothing of its own */
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == g->nodes[0]->op && (rows[i].machines == ALL || !l->m->strict))
            return touches_nothing(g->nodes[0]) ? NULL : rows[i].plan(l, g);
    return NULL;
}

static void decide_kernel(struct lowering *l, struct node *n)
{
    const struct node *whole = n->parent->owner;
    struct decision *d = decide(l, n);
    d->place = l->places++;
    if (l->refused[n->out[0]->id] || (whole && whole->op == OP_fused && decision_of(l, whole)->plan))
        return;
    struct group g = group_of(l, n);
    d->plan = plan_by_row(l, &g);
}

/* ---- what those read and write through ---- */

/* The whole is a convolution that reads its input, or computed weights, as they lie. */
static bool conv_reads_strided(const struct lowering *l, const struct node *whole, const struct node *first,
                               int operand)
{
    const struct conv_plan *p = decision_of(l, whole)->plan;
    return p && !l->m->strict && operand < 2 && p->rule != CONV_PLANES &&
           (operand ? !p->c.w : pads_planes(whole, first, p));
}

static bool reads_strided(const struct lowering *l, const struct node *n, int operand)
{
    if (n->op == OP_conv)
        return conv_reads_strided(l, n, n, operand);
    return takes_steps(l, n) && operand < (n->op == OP_matmul ? 2 : 3);
}

static bool use_reads_strided(const struct lowering *l, const struct use *u)
{
    const struct node *n = u->node;
    if (n->op != OP_fused)
        return reads_strided(l, n, u->index);
    const struct value *p = n->regions[0]->params[u->index];
    const struct node *first = n->regions[0]->first;
    const struct use *only = p->uses;
    if (only && !only->next && only->node == first && first->op == OP_conv)
        return conv_reads_strided(l, n, first, only->index);
    for (const struct use *inner = p->uses; inner; inner = inner->next)
        if (inner->node != first || !reads_strided(l, first, inner->index))
            return false;
    return p->uses != NULL;
}

static bool read_through(struct lowering *l, const struct node *n)
{
    if (!n->out[0]->uses || !has_layout(l, n->out[0]) || !has_layout(l, outer_value(l, n->in[0])))
        return false;
    for (const struct use *u = n->out[0]->uses; u; u = u->next)
        if (!use_reads_strided(l, u))
            return false;
    return true;
}

/* Whether the transpose alone uses the result of a product or of attention. */
static bool written_through(struct lowering *l, const struct node *n)
{
    const struct value *v = outer_value(l, n->in[0]);
    const struct node *def = v->def;
    if (!def || value_only_user(v) != n || l->is_output[v->id] || !has_layout(l, n->out[0]) || n->parent != def->parent)
        return false;
    if (def->op == OP_fused) {
        const struct node *first = def->regions[0]->first;
        if (first->next != region_return(def->regions[0]))
            return false;
        def = first;
    }
    return takes_steps(l, def);
}

static bool all_are(const struct value *v, int64_t number)
{
    bool all = v->constant && v->constant->kind == VK_TENSOR;
    for (int64_t i = 0; all && i < tensor_count(v->constant); i++)
        all = tensor_i64(v->constant, i) == number;
    return all;
}

/* A slice that begins where its operand does. */
static bool takes_first(const struct node *n)
{
    return n->op == OP_slice && all_are(n->in[1], 0) && (n->nin < 5 || !n->in[4] || all_are(n->in[4], 1));
}

static void decide_passage(struct lowering *l, struct node *n)
{
    struct decision *d = decide(l, n);
    if (!l->m->strict && ((takes_first(n) && read_through(l, n)) || parts_read_through(l, n)))
        d->passage = READ_THROUGH;
    if (n->op == OP_transpose)
        d->passage = read_through(l, n) ? READ_THROUGH : written_through(l, n) ? WRITTEN_THROUGH : MADE;
    else if (n->op == OP_concat && !l->m->strict && read_in_parts(l, n))
        d->passage = READ_IN_PARTS;
}

void plan_graph(struct lowering *l)
{
    if (l->o->opt_level == 0)
        return;
    walk_region(l, l->g->main, decide_kernel);
    walk_region(l, l->g->main, decide_passage);
    if (l->m->strict)
        walk_region(l, l->g->main, decide_joined), walk_region(l, l->g->main, decide_turned);
    find_states(l);
}
