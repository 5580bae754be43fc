#include "backend/lower/share.h"

static int slot_of(const struct lowering *l, const struct value *v)
{
    return l->slots[v->id];
}

/* ---- who reads a slot ---- */

/* Whether using v reads the slot's memory. Values without a slot are those whose users read what
 * they are made of. */
static bool reads_slot(struct lowering *l, struct value *v, int slot)
{
    v = outer_value(l, v);
    if (!v || v->constant)
        return false;
    if (slot_of(l, v) >= 0)
        return slot_root(l->p, slot_of(l, v)) == slot;
    if (!v->def || (v->def->op != OP_transpose && v->def->op != OP_concat && v->def->op != OP_slice &&
                    v->def->op != OP_split))
        return false;
    for (int i = 0; i < v->def->nin; i++)
        if (reads_slot(l, v->def->in[i], slot))
            return true;
    return false;
}

static bool node_reads(struct lowering *l, const struct node *n, int slot);

static bool region_reads(struct lowering *l, const struct region *r, int slot)
{
    for (const struct node *n = r->first; n; n = n->next)
        if (node_reads(l, n, slot))
            return true;
    return false;
}

static bool regions_read(struct lowering *l, const struct node *n, int slot)
{
    for (int i = 0; i < n->nregions; i++)
        if (region_reads(l, n->regions[i], slot))
            return true;
    return false;
}

static bool operands_read(struct lowering *l, const struct node *n, int slot)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && reads_slot(l, n->in[i], slot))
            return true;
    return false;
}

static bool node_reads(struct lowering *l, const struct node *n, int slot)
{
    return operands_read(l, n, slot) || regions_read(l, n, slot);
}

static bool read_after(struct lowering *l, const struct node *n, int slot)
{
    for (const struct node *after = n->next; after; after = after->next)
        if (node_reads(l, after, slot))
            return true;
    return false;
}

/* ---- which memory may be overwritten ---- */

/* The value's memory belongs to the region: made there, a parameter of its loop, or left to the
 * branch. */
static bool belongs_to(const struct lowering *l, const struct value *v, const struct region *r)
{
    if (v->def ? v->def->parent == r : v->param_of == r && r->owner && r->owner->op == OP_while)
        return true;
    return l->left_to && v->id < l->nleft_to && l->left_to[v->id] == r->owner;
}

/* The slot of operand i where the node may leave something else in it; else -1. */
static int disposable(struct lowering *l, const struct node *n, int i)
{
    const struct value *v = outer_value(l, n->in[i]);
    int slot = v && !v->constant ? slot_of(l, v) : -1;
    if (slot < 0 || l->p->slots[slot].kind != SLOT_PLANNED ||
        !type_equal(&l->p->slots[slot].type, &n->in[i]->type) || !belongs_to(l, v, n->parent))
        return -1;
    for (int k = 0; k < n->nin; k++)
        if (k != i && n->in[k] && reads_slot(l, n->in[k], slot))
            return -1;
    return read_after(l, n, slot) ? -1 : slot;
}

static void give_slot(struct lowering *l, const struct value *v, int slot)
{
    l->slots[v->id] = slot;
    l->p->slots[slot].is_output |= l->is_output[v->id];
}

/* ---- updates ---- */

bool updates_operand(const struct node *n)
{
    return (op_infos[n->op].flags & OPF_UPDATES) && n->nout == 1;
}

void share_update(struct lowering *l, struct node *n)
{
    if (l->o->opt_level == 0 || !updates_operand(n) || slot_of(l, n->out[0]) >= 0 ||
        !type_equal(&n->in[0]->type, &n->out[0]->type))
        return;
    int slot = disposable(l, n, 0);
    if (slot >= 0 && !regions_read(l, n, slot))
        give_slot(l, n->out[0], slot);
}

/* ---- loops ---- */

static bool fixed_types(struct lowering *l, const struct node *n)
{
    const struct region *test = n->regions[0], *body = n->regions[1];
    const struct node *next = region_return(body);
    bool fixed = test->nparams == n->nin && body->nparams == n->nin && next->nin == n->nin;
    for (int i = 0; fixed && i < n->nin; i++) {
        const struct type *t = &n->in[i]->type;
        fixed = is_planned(l, t) && type_equal(t, &test->params[i]->type) &&
                type_equal(t, &body->params[i]->type) && type_equal(t, &next->in[i]->type) &&
                type_equal(t, &n->out[i]->type);
    }
    return fixed;
}

void share_loop(struct lowering *l, struct node *n)
{
    if (l->o->opt_level == 0 || n->nregions != 2 || n->nin != n->nout || !fixed_types(l, n))
        return;
    for (int i = 0; i < n->nin; i++) {
        const struct value *body = n->regions[1]->params[i], *test = n->regions[0]->params[i];
        int slot = disposable(l, n, i);
        if (slot >= 0 && regions_read(l, n, slot))
            slot = -1;
        if (slot < 0)
            slot = temporary_slot(l, &n->in[i]->type, body->name);
        give_slot(l, body, slot);
        give_slot(l, test, slot);
        if (n->out[i]->uses)
            give_slot(l, n->out[i], slot);
    }
}

/* ---- branches ---- */

/* What the branch's result i is made of: itself, or what it updates, from outside the branch. */
static struct value *updated(struct lowering *l, const struct region *r, int i)
{
    struct value *v = region_return(r)->in[i];
    while (v->def && v->def->parent == r && updates_operand(v->def))
        v = v->def->in[0];
    return v->constant || (v->def && v->def->parent == r) ? NULL : outer_value(l, v);
}

/* Whether nothing but result i of the branches returns the value as it was. */
static bool returned_once(struct lowering *l, const struct node *n, const struct value *v, int i)
{
    for (int r = 0; r < n->nregions; r++) {
        const struct node *last = region_return(n->regions[r]);
        for (int k = 0; k < last->nin; k++)
            if (k != i && last->in[k] && outer_value(l, last->in[k]) == v)
                return false;
    }
    return true;
}

static int left_slot(struct lowering *l, const struct node *n, int i)
{
    struct value *v = updated(l, n->regions[0], i);
    int slot = v && v == updated(l, n->regions[1], i) ? slot_of(l, v) : -1;
    if (slot < 0 || l->p->slots[slot].kind != SLOT_PLANNED ||
        !type_equal(&l->p->slots[slot].type, &n->out[i]->type) || !belongs_to(l, v, n->parent) ||
        !returned_once(l, n, v, i) || operands_read(l, n, slot) || read_after(l, n, slot))
        return -1;
    return slot;
}

static void leave_to(struct lowering *l, const struct value *v, struct node *owner)
{
    if (v->id >= l->nleft_to) {
        struct node **grown = ARENA_ARRAY(&l->p->arena, struct node *, v->id + 64);
        arena_move_(grown, l->left_to, sizeof *grown * (size_t)l->nleft_to);
        l->left_to = grown, l->nleft_to = v->id + 64;
    }
    l->left_to[v->id] = owner;
}

/* The branch computes result i, and nothing else returns it: it is written to `slot` at once. */
static void place_result(struct lowering *l, const struct region *r, int i, int slot)
{
    const struct node *last = region_return(r);
    const struct value *v = last->in[i];
    int times = 0;
    for (int k = 0; k < last->nin; k++)
        times += last->in[k] == v;
    if (times == 1 && !v->constant && v->def && v->def->parent == r && slot_of(l, v) < 0 &&
        !(op_infos[v->def->op].flags & OPF_DATA_DEPENDENT) && !shows_operand(v->def))
        l->slots[v->id] = slot;
}

static bool fixed_result(struct lowering *l, const struct node *n, int i)
{
    bool fixed = is_planned(l, &n->out[i]->type) && n->out[i]->uses && slot_of(l, n->out[i]) < 0;
    for (int r = 0; fixed && r < n->nregions; r++) {
        const struct node *last = region_return(n->regions[r]);
        fixed = last->nin == n->nout && last->in[i] &&
                type_equal(&last->in[i]->type, &n->out[i]->type);
    }
    return fixed;
}

void share_branches(struct lowering *l, struct node *n)
{
    if (l->o->opt_level == 0 || n->nregions != 2)
        return;
    for (int i = 0; i < n->nout; i++) {
        if (!fixed_result(l, n, i))
            continue;
        int slot = left_slot(l, n, i);
        if (slot >= 0)
            leave_to(l, updated(l, n->regions[0], i), n);
        else
            slot = temporary_slot(l, &n->out[i]->type, n->out[i]->name);
        give_slot(l, n->out[i], slot);
        for (int r = 0; r < n->nregions; r++)
            place_result(l, n->regions[r], i, slot);
    }
}
