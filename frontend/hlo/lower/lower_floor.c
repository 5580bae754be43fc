/*
 * Floor division and remainder as JAX writes them, from truncating ones and signs:
 *
 *   q = a / b; select(sign(a) != sign(b) & a % b != 0, q - 1, q)
 *   r = a % b; select((r < 0) != (b < 0) & r != 0, r + b, r)
 *
 * Of sizes, which are not negative, by a positive number these are q and r: rules for shapes know what sizes they are.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"
#include "neff/core/dim.h"

static const struct node *made_by(const struct value *v, enum op op)
{
    return v && v->def && v->def->op == op ? v->def : NULL;
}

static bool is_zero(const struct value *v)
{
    double x;
    return h_known(v, &x) && x == 0;
}

/* A number of 1 or more. */
static bool is_positive(const struct value *v)
{
    double x;
    return h_known(v, &x) ? x >= 1 : v->content.n == 1 && dim_is_const(v->content.v[0]) && v->content.v[0] >= 1;
}

static bool is_size(const struct dim_table *t, const struct value *v)
{
    int64_t low, high;
    if (v->content.n != 1)
        return false;
    dim_bounds(t, v->content.v[0], &low, &high);
    return low >= 0;
}

/* sign(a) != sign(b) */
static bool signs_differ(const struct value *v, const struct value *a, const struct value *b)
{
    const struct node *ne = made_by(v, OP_ne), *x = ne ? made_by(ne->in[0], OP_sign) : NULL,
                      *y = ne ? made_by(ne->in[1], OP_sign) : NULL;
    double sign;
    return x && x->in[0] == a && (y ? y->in[0] == b : h_known(ne->in[1], &sign) && sign == 1);
}

/* r != 0, r what a % b leaves */
static bool leaves_rest(const struct value *v, const struct value *a, const struct value *b)
{
    const struct node *ne = made_by(v, OP_ne), *rem = ne ? made_by(ne->in[0], OP_rem) : NULL;
    return rem && is_zero(ne->in[1]) && rem->in[0] == a && rem->in[1] == b;
}

/* (r < 0) != ... */
static bool is_negative(const struct value *v, const struct value *r)
{
    const struct node *ne = made_by(v, OP_ne), *lt = ne ? made_by(ne->in[0], OP_lt) : NULL;
    return lt && lt->in[0] == r && is_zero(lt->in[1]);
}

bool hlo_is_floor_of_sizes(const struct hlo_lower *l, const struct value *condition, const struct value *yes,
                           const struct value *no)
{
    const struct node *both = made_by(condition, OP_and), *n = no ? no->def : NULL;
    if (!both || !n || n->nin != 2 || h_rank(no) != 0 || !dtype_is_int(no->type.dtype))
        return false;
    const struct value *a = n->in[0], *b = n->in[1];
    const struct node *less = made_by(yes, OP_sub), *more = made_by(yes, OP_add);
    if (!is_positive(b) || !is_size(&l->b->g->dims, a))
        return false;
    double one;
    if (n->op == OP_div)
        return less && less->in[0] == no && h_known(less->in[1], &one) && one == 1 &&
               signs_differ(both->in[0], a, b) && leaves_rest(both->in[1], a, b);
    return n->op == OP_rem && more && more->in[0] == no && more->in[1] == b && is_negative(both->in[0], no) &&
           leaves_rest(both->in[1], a, b);
}
