#include "runtime/ops/common/require.h"

/* "channels of operand 'x'", "operands 'x' and 'c'" */
static const char *whose(struct infer *f, struct site at)
{
    const char *names[2] = {NULL, NULL};
    int operand[2] = {at.i, at.k};
    for (int i = 0; i < 2; i++)
        if (operand[i] >= 0 && has_input(f, operand[i])) {
            const char *name = f->name ? f->name(f, operand[i]) : NULL;
            names[i] = name && *name ? arena_printf(f->arena, "'%.200s'", name)
                                     : arena_printf(f->arena, "%d", operand[i]);
        }
    const char *what = at.what ? at.what : "";
    if (names[0] && names[1])
        return arena_printf(f->arena, "%s%soperands %s and %s", what, *what ? " of " : "", names[0],
                            names[1]);
    if (names[0])
        return arena_printf(f->arena, "%s%soperand %s", what, *what ? " of " : "", names[0]);
    return what;
}

bool require(struct infer *f, int kind, dim_t a, dim_t b, struct site at)
{
    if (guard_is_certain(f->dims, kind, a, b))
        return true;
    if (kind == GUARD_EXPAND && dim_is_const(a)) /* and not 1 */
        kind = GUARD_EQUAL;
    struct guard g = {.kind = (uint8_t)kind, .dimension = (int8_t)at.dimension, .a = a, .b = b};
    g.what = whose(f, at);
    if (dim_is_const(a) && dim_is_const(b))
        return guard_fail(&g, NULL, a, b, f->d);
    if (f->guard)
        f->guard(f, &g);
    return true;
}

/* Of two dims that are to be equal: the constant one, else the one known before running. */
static dim_t prefer(const struct infer *f, dim_t a, dim_t b)
{
    if (dim_is_const(a) || dim_is_const(b))
        return dim_is_const(a) ? a : b;
    if (dim_is_runtime(f->dims, a) != dim_is_runtime(f->dims, b))
        return dim_is_runtime(f->dims, a) ? b : a;
    return a < b ? a : b;
}

bool require_same(struct infer *f, dim_t a, dim_t b, struct site at, dim_t *out)
{
    *out = prefer(f, a, b);
    return require_equal(f, a, b, at);
}

bool require_broadcast(struct infer *f, dim_t a, dim_t b, struct site at, dim_t *out)
{
    if (!require(f, GUARD_BROADCAST, a, b, at))
        return false;
    *out = dim_broadcast(f->dims, a, b);
    return true;
}

bool require_shape(struct infer *f, int i, const char *what, int rank, const dim_t *dims)
{
    if (!has_input(f, i) || f->in[i].rank < 0)
        return true;
    if (f->in[i].rank != rank)
        return fail(f->d, "%s has rank %d, expected %d", what, f->in[i].rank, rank);
    for (int k = 0; k < rank; k++)
        if (!require_equal(f, f->in[i].dims[k], dims[k], named(what, i, k)))
            return false;
    return true;
}

bool require_expands_to(struct infer *f, int i, const struct type *t)
{
    const struct type *x = &f->in[i];
    if (x->rank < 0 || t->rank < 0)
        return true;
    if (x->rank > t->rank)
        return fail(f->d, "operand %d has rank %d, expected %d at most", i, x->rank, t->rank);
    for (int k = 0; k < x->rank; k++)
        if (!require_expand(f, x->dims[k], t->dims[t->rank - x->rank + k], between(i, -1, k)))
            return false;
    return true;
}
