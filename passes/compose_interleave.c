/*
 * Two tensors interleaved along an axis, as JAX's associative scans write it at each of their levels: both spread with
 * zeros between, and added. They are laid side by side instead. A -0 stays what it is, to which the sum would add 0.
 */
#include "passes/compose.h"

/* x with room for another element behind each along the axis, or before: low is 0, or 1. */
struct spread {
    struct value *x;
    int axis;
    int64_t low;
};

static bool is_spread(const struct value *v, struct spread *s)
{
    const struct node *n = made_by(v, OP_pad_interior);
    if (!n || !is_tensor(n->in[0]) || !constant_is(n->in[1], 0))
        return false;
    int rank = n->in[0]->type.rank, npads, ninterior;
    const int64_t *pads = attr_ints(&n->attrs, "pads", &npads);
    const int64_t *interior = attr_ints(&n->attrs, "interior", &ninterior);
    if (!pads || !interior || npads != 2 * rank || ninterior != rank)
        return false;
    *s = (struct spread){.x = n->in[0], .axis = -1};
    for (int i = 0; i < rank; i++) {
        bool spreads = interior[i] == 1 && s->axis < 0;
        if (!spreads && (interior[i] || pads[i] || pads[rank + i]))
            return false;
        if (spreads)
            s->axis = i, s->low = pads[i];
    }
    return s->axis >= 0;
}

static struct value *emit_part(struct compose *c, struct node *at, const struct spread *s, int64_t from, int64_t to)
{
    struct builder b = builder_before(at, c->d);
    b.name = NULL;
    return b_slice(&b, s->x, from, to, s->axis);
}

static struct value *emit_concat(struct compose *c, struct node *at, struct value *x, struct value *y, int axis)
{
    struct builder b = builder_before(at, c->d);
    b.name = NULL;
    return b_concat(&b, (struct value *[]){x, y}, 2, axis);
}

/* x and y, as long as each other along the axis, in turn. */
static struct value *emit_pairs(struct compose *c, struct node *at, struct value *x, struct value *y, int axis)
{
    struct builder b = builder_before(at, c->d);
    const int64_t behind = axis + 1;
    struct value *first = b_unsqueeze(&b, x, &behind, 1);
    struct value *both = emit_concat(c, at, first, b_unsqueeze(&b, y, &behind, 1), axis + 1);
    if (!both)
        return NULL;
    int64_t dims[MAX_RANK];
    const struct type *t = &y->type;
    for (int i = 0; i < t->rank; i++)
        dims[i] = i < axis ? 0 : !dim_is_const(t->dims[i]) ? -1 : i == axis ? 2 * t->dims[i] : t->dims[i];
    return b_reshape_to(&b, both, dims, t->rank);
}

struct value *compose_interleave(struct compose *c, struct node *n)
{
    struct spread a, b;
    if (!is_spread(n->in[0], &a) || !is_spread(n->in[1], &b) || a.axis != b.axis || a.low == b.low ||
        !same_type(n->in[0], n->out[0]) || !same_type(n->in[1], n->out[0]))
        return NULL;
    const struct spread *first = a.low == 0 ? &a : &b, *second = a.low == 0 ? &b : &a;
    int axis = a.axis, open = 0;
    const struct type *t = &n->out[0]->type;
    dim_t total = t->dims[axis], nx = first->x->type.dims[axis], ny = second->x->type.dims[axis];
    if (second->low != 1 || first->low != 0 || t->rank == MAX_RANK || !dim_is_const(total) || !dim_is_const(nx) ||
        !dim_is_const(ny) || ny < 1 || nx - ny < 0 || nx - ny > 1 || total - nx != ny)
        return NULL;
    for (int i = axis + 1; i < t->rank; i++)
        open += !dim_is_const(t->dims[i]);
    if (open > 1) /* a reshape finds one dim */
        return NULL;
    struct value *x = nx > ny ? emit_part(c, n, first, 0, ny) : first->x;
    struct value *pairs = emit_pairs(c, n, x, second->x, axis);
    return nx > ny && pairs ? emit_concat(c, n, pairs, emit_part(c, n, first, ny, nx), axis) : pairs;
}
