/*
 * The rules of ir.h, checked: links, uses, arity, regions, dominance, types. A violation is a
 * defect of the pass that ran last (or of the importer, or of a hand-written text), never of a
 * model.
 */
#include "passes/ir/ir.h"

enum { MAX_NESTING = 64 };

struct ir_verifier {
    struct graph *g;
    const char *where;
    struct diag *d;
    bool *visible; /* by value id: may be used at this point */
    bool *placed;  /* by node id */
    struct arena scratch;
};

#define BROKEN(v, n, ...) broken(v, n, arena_printf(&(v)->scratch, __VA_ARGS__))

static bool broken(struct ir_verifier *v, const struct node *n, const char *text)
{
    return fail_internal(v->d, "after %s: %s: %s", v->where, n ? node_text(v->g, n) : "graph",
                         text);
}

static bool check_type(struct ir_verifier *v, const struct node *n, const struct type *t, int depth)
{
    if (t->kind == VK_NONE)
        return true;
    if (depth > MAX_NESTING || t->kind > VK_NONE)
        return BROKEN(v, n, "damaged type");
    if (t->kind != VK_TENSOR)
        return !t->elem || check_type(v, n, t->elem, depth + 1);
    if (!dtype_valid(t->dtype))
        return BROKEN(v, n, "type with element type number %d", t->dtype);
    if (t->rank < RANK_UNKNOWN || t->rank > MAX_RANK)
        return BROKEN(v, n, "type of rank %d", t->rank);
    for (int i = 0; i < t->rank; i++) {
        if (dim_is_const(t->dims[i]) ? t->dims[i] < 0 : dim_index(t->dims[i]) >= v->g->dims.nnodes)
            return BROKEN(v, n, "dim %d of a type is out of range", i);
    }
    return true;
}

static bool check_uses(struct ir_verifier *v, const struct node *n, const struct value *x)
{
    const struct use *before = NULL;
    for (const struct use *u = x->uses; u; before = u, u = u->next)
        if (u->prev != before || u->index < 0 || u->index >= u->node->nin ||
            u->node->in[u->index] != x || !u->node->parent)
            return BROKEN(v, n, "the uses of value %d are damaged", x->id);
    return true;
}

static bool check_operands(struct ir_verifier *v, const struct node *n)
{
    for (int i = 0; i < n->nin; i++) {
        const struct value *x = n->in[i];
        if (!x)
            continue;
        if (n->in_uses[i].node != n || n->in_uses[i].index != i)
            return BROKEN(v, n, "the use of operand %d is damaged", i);
        if (!x->constant && !v->visible[x->id])
            return BROKEN(v, n, "operand %d (value %d%s%s) is used before it is computed", i, x->id,
                          x->name ? ", " : "", x->name ? x->name : "");
    }
    const struct op_info *info = &op_infos[n->op];
    if (n->nin < info->min_in || (info->max_in >= 0 && n->nin > info->max_in))
        return BROKEN(v, n, "%d operands, expected %d to %d", n->nin, info->min_in, info->max_in);
    if (n->nout < info->min_out || (info->max_out >= 0 && n->nout > info->max_out))
        return BROKEN(v, n, "%d results, expected %d to %d", n->nout, info->min_out, info->max_out);
    return true;
}

static bool check_results(struct ir_verifier *v, const struct node *n)
{
    for (int i = 0; i < n->nout; i++) {
        const struct value *x = n->out[i];
        if (!x || x->def != n || x->index != i)
            return BROKEN(v, n, "result %d does not belong to it", i);
        if (v->g->typed && x->type.kind == VK_NONE && !(op_infos[n->op].flags & OPF_DATA_DEPENDENT))
            return BROKEN(v, n, "result %d has no type", i);
        if (!check_type(v, n, &x->type, 0) || !check_uses(v, n, x))
            return false;
    }
    return true;
}

static bool check_region(struct ir_verifier *v, struct region *r, int depth);

static bool check_regions(struct ir_verifier *v, struct node *n, int depth)
{
    struct region_counts expected = op_regions(n->op);
    if (n->nregions < expected.min || n->nregions > expected.max)
        return BROKEN(v, n, "%d regions, expected %d to %d", n->nregions, expected.min, expected.max);
    for (int i = 0; i < n->nregions; i++) {
        if (n->regions[i]->owner != n)
            return BROKEN(v, n, "region %d has another owner", i);
        if (!check_region(v, n->regions[i], depth + 1))
            return false;
    }
    return true;
}

static bool check_node(struct ir_verifier *v, struct node *n, struct region *r, int depth)
{
    if (n->parent != r || (n->prev ? n->prev->next : r->first) != n ||
        (n->next ? n->next->prev : r->last) != n)
        return BROKEN(v, n, "it is not linked into its region");
    if (v->placed[n->id])
        return BROKEN(v, n, "it is placed twice");
    v->placed[n->id] = true;
    if ((n->op == OP_return) != (n == r->last))
        return BROKEN(v, n,
                      n->op == OP_return ? "a return in the middle of a region"
                                         : "the last node of a region is not a return");
    if (!check_operands(v, n) || !check_regions(v, n, depth) || !check_results(v, n))
        return false;
    for (int i = 0; i < n->nout; i++)
        v->visible[n->out[i]->id] = true;
    return true;
}

static bool check_region(struct ir_verifier *v, struct region *r, int depth)
{
    if (depth > MAX_NESTING)
        return fail(v->d, "regions are nested more than %d deep", MAX_NESTING);
    if (!r->first)
        return BROKEN(v, r->owner, "an empty region");
    for (int i = 0; i < r->nparams; i++) {
        const struct value *p = r->params[i];
        if (p->param_of != r || p->index != i || p->def)
            return BROKEN(v, r->owner, "parameter %d does not belong to its region", i);
        if (!check_type(v, r->owner, &p->type, 0) || !check_uses(v, r->owner, p))
            return false;
        v->visible[p->id] = true;
    }
    for (struct node *n = r->first; n; n = n->next)
        if (!check_node(v, n, r, depth))
            return false;
    for (int i = 0; i < r->nparams; i++)
        v->visible[r->params[i]->id] = false;
    for (struct node *n = r->first; n; n = n->next)
        for (int i = 0; i < n->nout; i++)
            v->visible[n->out[i]->id] = false;
    return true;
}

bool graph_verify(struct graph *g, const char *where, struct diag *d)
{
    struct ir_verifier v = {.g = g, .where = where, .d = d};
    v.visible = ARENA_ARRAY(&v.scratch, bool, g->next_value + 1);
    v.placed = ARENA_ARRAY(&v.scratch, bool, g->next_node + 1);
    bool ok = check_region(&v, g->main, 0);
    if (ok && g->main->last->nin != g->noutputs)
        ok = BROKEN(&v, NULL, "%d results but %d output names", g->main->last->nin, g->noutputs);
    for (int i = 0; ok && i < g->nconstants; i++)
        ok = check_type(&v, NULL, &g->constants[i]->type, 0) &&
             check_uses(&v, NULL, g->constants[i]);
    arena_free(&v.scratch);
    return ok;
}
