#include "passes/one_window.h"

#include "passes/match.h"

/* The components of the one index vector. */
static bool find_components(struct value *v, int count, struct value **index)
{
    if (count < 1 || count > MAX_RANK || v->type.rank > 1 || !type_is_static(&v->type))
        return false;
    if (count == 1 && is_one_integer(v)) {
        index[0] = v;
        return true;
    }
    const struct node *joined = v->def;
    if (!joined || joined->op != OP_concat || joined->nin != count)
        return false;
    for (int k = 0; k < count; k++)
        if (!is_one_integer(index[k] = joined->in[k]))
            return false;
    return true;
}

/* How long the window is in each dim of the array; false: it is not one that fits, or the updates have more dims. */
static bool find_sizes(const struct node *n, struct one_window *w)
{
    const struct type *x = &n->in[0]->type, *u = &n->in[2]->type;
    int inserted, batching, used = 0;
    const int64_t *out = attr_ints(&n->attrs, "inserted_window_dims", &inserted);
    attr_ints(&n->attrs, "input_batching_dims", &batching);
    for (int i = 0; i < x->rank; i++) {
        bool there = true;
        for (int k = 0; k < inserted; k++)
            there &= out[k] != i;
        if (there && used == u->rank)
            return false;
        w->size[i] = there ? u->dims[used++] : 1;
        w->last[i] = x->dims[i] - w->size[i];
        if (w->last[i] < 0)
            return false;
    }
    return batching == 0 && used == u->rank;
}

bool find_one_window(const struct node *n, struct one_window *w)
{
    struct value *index[MAX_RANK];
    int count;
    const int64_t *dims = attr_ints(&n->attrs, "scatter_dims_to_operand_dims", &count);
    if (n->nin != 3 || !type_is_static(&n->in[0]->type) || !type_is_static(&n->in[2]->type) ||
        !same_type(n->in[0], n->out[0]) || !find_components(n->in[1], count, index) || !find_sizes(n, w))
        return false;
    w->rank = n->in[0]->type.rank;
    for (int i = 0; i < w->rank; i++)
        w->start[i] = NULL;
    for (int k = 0; k < count; k++) {
        if (dims[k] < 0 || dims[k] >= w->rank || w->start[dims[k]])
            return false;
        w->start[dims[k]] = index[k];
    }
    return true;
}

struct value *window_starts(struct builder *b, const struct one_window *w)
{
    const int64_t one = 1;
    struct value *parts[MAX_RANK];
    for (int i = 0; i < w->rank; i++)
        parts[i] = w->start[i] ? b_reshape_to(b, b_cast(b, w->start[i], DT_I64), &one, 1) : b_i64(b, 0);
    return w->rank == 1 ? parts[0] : b_concat(b, parts, w->rank, 0);
}

struct value *window_updates(struct builder *b, const struct node *n, const struct one_window *w)
{
    return b_reshape_to(b, n->in[2], w->size, w->rank);
}
