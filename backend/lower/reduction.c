#include "backend/lower/reduce.h"

#include <math.h>

static const struct reduction_kind kinds[] = {
    {OP_reduce_sum, OP_add, OP_identity, false, 0},
    {OP_reduce_mean, OP_add, OP_identity, true, 0},
    {OP_reduce_max, OP_max, OP_identity, false, -INFINITY},
    {OP_reduce_min, OP_min, OP_identity, false, INFINITY},
    {OP_reduce_prod, OP_mul, OP_identity, false, 1},
    {OP_reduce_sum_square, OP_square, OP_identity, false, 0},
    {OP_reduce_l1, OP_abs, OP_identity, false, 0},
    {OP_reduce_l2, OP_square, OP_sqrt, false, 0},
    {OP_reduce_log_sum, OP_add, OP_log, false, 0},
};

const struct reduction_kind *reduction_kind(enum op op)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].op == op)
            return &kinds[i];
    return NULL;
}

bool reduction_dims(struct lowering *l, const struct node *n, bool *reduced)
{
    int count, rank = n->in[0]->type.rank;
    const int64_t *axes = attr_ints(&n->attrs, "axes", &count);
    struct value *operand = n->nin > 1 ? outer_value(l, n->in[1]) : NULL;
    int64_t list[MAX_RANK];
    if (operand) {
        if (!operand->constant || tensor_count(operand->constant) > MAX_RANK)
            return false;
        count = (int)tensor_count(operand->constant);
        for (int i = 0; i < count; i++)
            list[i] = tensor_i64(operand->constant, i);
        axes = list;
    }
    if (count == 0 && attr_int(&n->attrs, "noop_with_empty_axes", 0))
        return false;
    for (int i = 0; i < rank; i++)
        reduced[i] = count == 0;
    for (int i = 0; i < count; i++) {
        int64_t a = axes[i] + (axes[i] < 0 ? rank : 0);
        if (a < 0 || a >= rank)
            return false;
        reduced[a] = true;
    }
    return true;
}

int group_reductions(const struct group *g)
{
    int n = 0;
    while (n < g->n - 1 && reduction_kind(g->nodes[g->n - 1 - n]->op))
        n++;
    return n;
}
