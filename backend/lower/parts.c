#include "backend/lower/parts.h"

#include "backend/lower/group.h"
#include "backend/lower/kernels.h"
#include "backend/lower/numbers.h"
#include "backend/lower/padding.h"
#include "backend/lower/plan.h"
#include "backend/lower/states.h"

#include <string.h>

/* ---- places ---- */

/* The first index of a slice: negative starts count from the end, all are clamped. Like the shape
 * rule, which has made sure that the sign can be told. */
static bool first_index(struct lowering *l, dim_t start, dim_t n, bool forward, dim_t *out)
{
    struct dim_table *t = &l->p->dims;
    enum { NO_LIMIT = INT32_MAX };
    int64_t min, max;
    bool near = dim_is_const(start) && start >= -1; /* of what is not empty, an element */
    dim_t top = forward ? n : dim_sub(t, n, 1), low = forward ? 0 : near ? -1 : dim_min(t, 0, top);
    if (dim_is_const(start) && (start >= NO_LIMIT || start <= -(int64_t)NO_LIMIT)) {
        *out = start > 0 ? top : low;
        return true;
    }
    dim_bounds(t, start, &min, &max);
    if (min < 0 && max >= 0)
        return false;
    if (max < 0)
        start = dim_add(t, start, n);
    *out = dim_max(t, low, dim_min(t, start, top));
    return true;
}

static bool slice_place(struct lowering *l, const struct node *n, struct part_place *s)
{
    struct dim_table *t = &l->p->dims;
    dim_t starts[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK], dense[MAX_RANK];
    *s = (struct part_place){.x = outer_value(l, n->in[0])};
    int rank = s->x->type.rank, count = read_numbers(l, n->in[1], starts, MAX_RANK);
    bool has_axes = n->nin > 3 && n->in[3], has_steps = n->nin > 4 && n->in[4];
    for (int i = 0; i < MAX_RANK; i++)
        axes[i] = i, steps[i] = 1;
    if (count < 0 || count > rank || (has_axes && read_numbers(l, n->in[3], axes, MAX_RANK) != count) ||
        (has_steps && read_numbers(l, n->in[4], steps, MAX_RANK) != count)) {
        why(l->o, n, "tile.slice", "its places are known only while running; it runs on GpSimd");
        return false;
    }
    value_steps(l, s->x, dense);
    for (int i = 0; i < rank; i++)
        s->steps[i] = dense[i];
    for (int i = 0; i < count; i++) {
        dim_t axis = axes[i], first;
        if (!dim_is_const(axis) || !dim_is_const(steps[i]) || steps[i] == 0)
            return false;
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank || !first_index(l, starts[i], s->x->type.dims[axis], steps[i] > 0, &first))
            return false;
        s->offset = dim_add(t, s->offset, dim_mul(t, dense[axis], first));
        if (steps[i] < INT32_MAX && steps[i] > -(int64_t)INT32_MAX)
            s->steps[axis] = dim_mul(t, dense[axis], steps[i]);
    }
    return true;
}

bool part_axis(const struct node *n, int rank, int *axis)
{
    int64_t a = attr_int(&n->attrs, "axis", 0);
    a += a < 0 ? rank : 0;
    *axis = (int)a;
    return a >= 0 && a < rank;
}

/* The last of some parts that lie one after the other along an axis; s->x is the whole. */
static void place_behind(struct lowering *l, struct value *const *parts, int before, int axis, struct part_place *s)
{
    struct dim_table *t = &l->p->dims;
    value_steps(l, s->x, s->steps);
    s->offset = 0;
    for (int i = 0; i < before; i++)
        s->offset = dim_add(t, s->offset, outer_value(l, parts[i])->type.dims[axis]);
    s->offset = dim_mul(t, s->offset, s->steps[axis]);
}

/* The operand of a pad in the result. */
static bool padded_place(struct lowering *l, const struct node *n, struct part_place *s)
{
    struct dim_table *t = &l->p->dims;
    struct padding p;
    *s = (struct part_place){.x = n->out[0]};
    if (!padding_is_copied(l, n, &p) || !padding_only_adds(&p))
        return false;
    value_steps(l, s->x, s->steps);
    for (int i = 0; i < p.rank; i++)
        s->offset = dim_add(t, s->offset, dim_mul(t, s->steps[i], p.begin[i]));
    return true;
}

bool part_of_whole(struct lowering *l, const struct node *n, int i, struct part_place *s)
{
    int axis;
    if (n->op == OP_slice)
        return slice_place(l, n, s);
    if (n->op == OP_pad)
        return padded_place(l, n, s);
    *s = (struct part_place){.x = n->op == OP_concat ? n->out[0] : outer_value(l, n->in[0])};
    if (!part_axis(n, s->x->type.rank, &axis))
        return false;
    place_behind(l, n->op == OP_concat ? n->in : n->out, i, axis, s);
    return true;
}

bool lies_dense(struct lowering *l, const dim_t *steps, const struct value *part)
{
    dim_t dense[MAX_RANK];
    dense_steps(&l->p->dims, part->type.rank, part->type.dims, dense);
    for (int i = 0; i < part->type.rank; i++)
        if (part->type.dims[i] != 1 && steps[i] != dense[i])
            return false;
    return true;
}

/* ---- reading slices and splits in place ---- */

enum { MIN_RUN = 32 }; /* of neighbours */

/* Elements that are neighbours in the whole. */
static int64_t neighbours(const struct part_place *s, const struct type *t)
{
    int64_t n = 1;
    for (int i = t->rank - 1; i >= 0 && s->steps[i] == n && dim_is_const(t->dims[i]); i--)
        n *= t->dims[i];
    return n;
}

static bool is_scattered(const struct part_place *s, const struct type *t)
{
    return neighbours(s, t) < MIN_RUN;
}

/* The whole is kept until the part's users have run. */
static bool worth_keeping(struct lowering *l, const struct part_place *s, const struct value *y)
{
    enum { WORTH = 4 }; /* times the part */
    int64_t part, whole, other;
    dim_bounds(&l->p->dims, type_count(&l->p->dims, &y->type), &part, &other);
    dim_bounds(&l->p->dims, type_count(&l->p->dims, &s->x->type), &other, &whole);
    return part > 0 && whole / WORTH <= part;
}

static bool elementwise_reads(struct lowering *l, const struct node *parts, struct node *user)
{
    if (user->parent != parts->parent || !user->nout || user->out[0]->type.rank > MAX_GRID)
        return false;
    struct group g = group_of(l, user);
    for (int i = 0; i < g.n; i++)
        if (!(op_infos[g.nodes[i]->op].flags & OPF_ELEMENTWISE) || g.nodes[i]->op == OP_cast)
            return false;
    return g.n > 0;
}

/* One node reads y, all of whose elements are each read once: what is copied for it is copied once. */
static bool fills_only_user(const struct value *y)
{
    const struct node *user = value_only_user(y);
    const struct type *t = user && user->nout ? &user->out[0]->type : NULL;
    return t && t->rank == y->type.rank && memcmp(t->dims, y->type.dims, sizeof *t->dims * (size_t)t->rank) == 0;
}

static bool part_read_through(struct lowering *l, const struct node *n, int i)
{
    struct value *y = n->out[i];
    struct part_place s;
    if (!has_layout(l, y) || !part_of_whole(l, n, i, &s) || lies_dense(l, s.steps, y) || !worth_keeping(l, &s, y) ||
        (is_scattered(&s, &y->type) && !fills_only_user(y)))
        return false;
    for (const struct use *u = y->uses; u; u = u->next)
        if (!elementwise_reads(l, n, u->node))
            return false;
    return true;
}

bool parts_read_through(struct lowering *l, const struct node *n)
{
    const struct node *owner = n->parent->owner;
    bool used = false;
    if ((n->op != OP_slice && n->op != OP_split) || l->m->strict || (owner && owner->op == OP_fused) ||
        !has_layout(l, outer_value(l, n->in[0])) || touches_nothing(n))
        return false;
    for (int i = 0; i < n->nout; i++) {
        if (n->out[i]->uses && !part_read_through(l, n, i))
            return false;
        used |= n->out[i]->uses != NULL;
    }
    return used;
}

bool is_read_through(struct lowering *l, const struct value *v, struct part_place *s)
{
    const struct node *n = v->def;
    int i = 0;
    if (!n || (n->op != OP_slice && n->op != OP_split) || decision_of(l, n)->passage != READ_THROUGH)
        return false;
    while (n->out[i] != v)
        i++;
    bool known = part_of_whole(l, n, i, s);
    s->scattered = known && is_scattered(s, &v->type);
    return known;
}

/* ---- writing operands of concatenations and pads in place ---- */

/* It is copied part by part (lower_concat, lower_pad). */
static bool is_copied(struct lowering *l, const struct node *n)
{
    bool known = has_layout(l, n->out[0]);
    int parts = n->op == OP_pad ? 1 : n->nin;
    for (int i = 0; i < parts && known; i++)
        known = has_layout(l, outer_value(l, n->in[i]));
    return known;
}

/* The concatenation or pad that alone reads v, as it is or shown in another shape. *part: its operand. */
static struct node *whole_of(const struct value *v, const struct value **part)
{
    struct node *n = value_only_user(v);
    *part = v;
    while (n && shows_operand(n) && n->in[0] == *part && n->parent == v->def->parent &&
           n->out[0]->type.dtype == v->type.dtype) {
        *part = n->out[0];
        n = value_only_user(*part);
    }
    bool joins = n && (n->op == OP_concat || (n->op == OP_pad && n->in[0] == *part));
    return joins && n->parent == v->def->parent ? n : NULL;
}

bool is_written_through(struct lowering *l, const struct value *v, struct part_place *s)
{
    const struct value *part;
    const struct node *n = v->def ? whole_of(v, &part) : NULL;
    int i = 0;
    if (l->m->strict || l->o->opt_level == 0 || !n || decision_of(l, n)->passage != MADE ||
        (n->parent->owner && n->parent->owner->op == OP_fused) || !is_planned(l, &n->out[0]->type) ||
        state_shown(l, n->out[0]) || touches_nothing(n) || !is_copied(l, n))
        return false;
    while (outer_value(l, n->in[i]) != part)
        i++;
    if (!part_of_whole(l, n, i, s))
        return false;
    bool dense = lies_dense(l, s->steps, part);
    if (dense)
        value_steps(l, v, s->steps);
    return dense || (part == v && !is_scattered(s, &v->type));
}

bool was_written_through(struct lowering *l, struct value *part, int whole)
{
    while (part->def && l->slots[part->id] != whole && shows_operand(part->def))
        part = outer_value(l, part->def->in[0]);
    return part->def && l->slots[part->id] == whole;
}
