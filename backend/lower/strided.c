#include "backend/lower/strided.h"

#include "backend/lower/plan.h"
#include "backend/lower/states.h"

static struct strided dense(struct lowering *l, struct value *v)
{
    struct strided s = {.slot = value_slot(l, v), .rank = v->type.rank};
    for (int i = 0; i < s.rank; i++)
        s.dims[i] = v->type.dims[i];
    value_steps(l, v, s.steps);
    return s;
}

/* A state under other dims: those that are inserted have one place. */
static struct strided shown(struct lowering *l, struct value *state, const struct type *as)
{
    struct strided x = dense(l, state), y = {.slot = x.slot, .rank = as->rank};
    for (int i = 0, k = 0; i < y.rank; i++) {
        bool own = k < x.rank && as->dims[i] == x.dims[k];
        y.dims[i] = as->dims[i];
        y.steps[i] = own ? x.steps[k] : 0;
        k += own;
    }
    return y;
}

static int permuted(const struct node *n, int i)
{
    int count, rank = n->out[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    int64_t from = count ? perm[i] : rank - 1 - i;
    return (int)(from + (from < 0 ? rank : 0));
}

struct strided strided_operand(struct lowering *l, struct value *v)
{
    v = outer_value(l, v);
    struct value *state = state_shown(l, v);
    if (state)
        return shown(l, state, &v->type);
    if (!v->def || decision_of(l, v->def)->passage != READ_THROUGH)
        return dense(l, v);
    struct strided x = strided_operand(l, v->def->in[0]), y = x;
    for (int i = 0; i < x.rank; i++)
        y.dims[i] = v->type.dims[i];
    for (int i = 0; i < x.rank && v->def->op == OP_transpose; i++) {
        y.dims[i] = x.dims[permuted(v->def, i)];
        y.steps[i] = x.steps[permuted(v->def, i)];
    }
    return y;
}

struct strided strided_result(struct lowering *l, struct value *v)
{
    v = outer_value(l, v);
    const struct node *user = value_only_user(v);
    if (!user || decision_of(l, user)->passage != WRITTEN_THROUGH)
        return dense(l, v);
    struct strided y = dense(l, user->out[0]), x = y;
    for (int i = 0; i < y.rank; i++) {
        x.dims[permuted(user, i)] = y.dims[i];
        x.steps[permuted(user, i)] = y.steps[i];
    }
    return x;
}
