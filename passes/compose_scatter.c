/*
 * Rows written along an axis, as exporters write it: the axis turned to the front, ScatterND, and back. Nothing is
 * turned, and a cache can stay in place.
 */
#include "passes/compose.h"

/* The permutation of a transpose that puts one axis first, the others after it in order: that axis; else 0. */
static int64_t axis_to_front(const struct node *t)
{
    int count, rank = t->in[0]->type.rank;
    const int64_t *perm = attr_ints(&t->attrs, "perm", &count);
    if (!perm || count != rank || perm[0] <= 0)
        return 0;
    for (int i = 1; i < rank; i++)
        if (perm[i] != (i <= perm[0] ? i - 1 : i))
            return 0;
    return perm[0];
}

static bool front_to_axis(const struct node *t, int64_t axis)
{
    int count, rank = t->in[0]->type.rank;
    const int64_t *perm = attr_ints(&t->attrs, "perm", &count);
    for (int i = 0; perm && i < count; i++)
        if (perm[i] != (i < axis ? i + 1 : i == axis ? 0 : i))
            return false;
    return perm && count == rank;
}

struct value *compose_scatter_along(struct compose *c, struct node *n)
{
    struct node *s = made_by(n->in[0], OP_scatter_nd), *t = s ? made_by(s->in[0], OP_transpose) : NULL;
    int64_t axis = t && is_tensor(t->in[0]) && t->in[0]->type.rank > 0 ? axis_to_front(t) : 0;
    const struct type *at = s ? &s->in[1]->type : NULL;
    if (!axis || !front_to_axis(n, axis) || !value_has_one_use(s->out[0]) || attr_int(&s->attrs, "axis", 0) ||
        at->rank < 1 || at->dims[at->rank - 1] != 1)
        return NULL;
    struct attrs as = attrs_copy(&c->g->arena, &s->attrs);
    attr_set_int(&c->g->arena, &as, "axis", axis);
    struct value *in[] = {t->in[0], s->in[1], s->in[2]};
    struct builder b = builder_before(n, c->d);
    b.name = s->name;
    return b_op(&b, OP_scatter_nd, in, 3, &as);
}
