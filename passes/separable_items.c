/* Where the items of a batch lie in a value, for pass separable. */
#include "passes/separable.h"

/* Whether d depends on the batch. */
bool depends_on_batch(struct separable *s, dim_t d)
{
    const struct dim_table *t = &s->g->dims;
    if (dim_is_const(d))
        return false;
    for (int i = s->nseen; i <= dim_index(d); i++) { /* operands come before what is made of them */
        const struct dim_node *n = &t->nodes[i];
        ARENA_GROW(s->arena, s->depends, s->nseen, s->seen_cap);
        s->depends[s->nseen++] = n->op == DIM_SYM ? n->a == s->symbol
                                                  : (!dim_is_const(n->a) && s->depends[dim_index(n->a)]) ||
                                                        (!dim_is_const(n->b) && s->depends[dim_index(n->b)]);
    }
    return s->depends[dim_index(d)];
}

struct item_place *place_of(const struct separable *s, const struct value *v)
{
    return &s->places[v->id];
}

int items_axis(const struct separable *s, const struct value *v)
{
    return v && place_of(s, v)->kind == PLACE_ITEMS ? place_of(s, v)->axis : -1;
}

bool put_items(struct separable *s, const struct value *v, int axis)
{
    struct dim_table *t = &s->g->dims;
    const struct type *x = &v->type;
    if (x->kind != VK_TENSOR || axis < 0 || axis >= x->rank)
        return false;
    dim_t each = dim_floordiv(t, x->dims[axis], s->batch);
    if (dim_mul(t, each, s->batch) != x->dims[axis])
        return false;
    for (int i = 0; i < x->rank; i++)
        if (depends_on_batch(s, i == axis ? each : x->dims[i]))
            return false;
    *place_of(s, v) = (struct item_place){PLACE_ITEMS, axis};
    return true;
}

int following_axis(struct separable *s, const struct value *v)
{
    for (int i = 0; v->type.kind == VK_TENSOR && i < v->type.rank; i++)
        if (depends_on_batch(s, v->type.dims[i]))
            return i;
    return -1;
}
