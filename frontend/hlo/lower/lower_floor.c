/*
 * Floor division and remainder as JAX writes them, from truncating ones and signs:
 *
 *   q = a / b; select(sign(a) != sign(b) & a % b != 0, q - 1, q)
 *   r = a % b; select((r < 0) != (b < 0) & r != 0, r + b, r), with select(b == 0, 1, b) for b
 *
 * Of what follows from sizes they are written without a select here: rules for shapes know what sizes those are.
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

/* The number that v is known to be; 0: none, or not positive. */
static int64_t positive(const struct value *v)
{
    double x;
    if (h_known(v, &x))
        return x >= 1 && x <= INT32_MAX ? (int64_t)x : 0;
    return v->content.n == 1 && dim_is_const(v->content.v[0]) && v->content.v[0] >= 1 ? v->content.v[0] : 0;
}

/* The least that v, which follows from sizes, can be: INT64_MIN is no bound. */
static bool has_min(const struct dim_table *t, const struct value *v, int64_t *low)
{
    int64_t high;
    double x;
    if (h_known(v, &x))
        *low = (int64_t)x;
    else if (v->content.n == 1)
        dim_bounds(t, v->content.v[0], low, &high);
    return h_known(v, &x) || v->content.n == 1;
}

/* v, or the truth value x where v is x != false. */
static const struct value *truth(const struct value *v)
{
    const struct node *ne = made_by(v, OP_ne);
    return ne && ne->in[0]->type.dtype == DT_BOOL && is_zero(ne->in[1]) ? ne->in[0] : v;
}

/* sign(a) != sign(b) */
static bool signs_differ(const struct value *v, const struct value *a, const struct value *b)
{
    const struct node *ne = made_by(truth(v), OP_ne), *x = ne ? made_by(ne->in[0], OP_sign) : NULL,
                      *y = ne ? made_by(ne->in[1], OP_sign) : NULL;
    double sign;
    return x && x->in[0] == a && (y ? y->in[0] == b : h_known(ne->in[1], &sign) && sign == 1);
}

/* r != 0, r what a % b leaves */
static bool leaves_rest(const struct value *v, const struct value *a, const struct value *b)
{
    const struct node *ne = made_by(truth(v), OP_ne), *rem = ne ? made_by(ne->in[0], OP_rem) : NULL;
    return rem && is_zero(ne->in[1]) && rem->in[0] == a && rem->in[1] == b;
}

/* (r < 0) != ... */
static bool is_negative(const struct value *v, const struct value *r)
{
    const struct node *ne = made_by(v, OP_ne), *lt = ne ? made_by(ne->in[0], OP_lt) : NULL;
    return lt && lt->in[0] == r && is_zero(lt->in[1]);
}

/* Whether this is the floor of no = a / b. */
static bool is_floor(const struct value *condition, const struct value *yes, const struct value *no)
{
    const struct node *both = made_by(condition, OP_and), *less = made_by(yes, OP_sub), *n = no->def;
    double one;
    return both && less && less->in[0] == no && h_known(less->in[1], &one) && one == 1 &&
           signs_differ(both->in[0], n->in[0], n->in[1]) && leaves_rest(both->in[1], n->in[0], n->in[1]);
}

/* Whether this is what is left beyond the floor, from no = a % b. */
static bool is_rest(const struct value *condition, const struct value *yes, const struct value *no)
{
    const struct node *both = made_by(condition, OP_and), *more = made_by(yes, OP_add), *n = no->def;
    return both && more && more->in[0] == no && more->in[1] == n->in[1] && is_negative(both->in[0], no) &&
           leaves_rest(both->in[1], n->in[0], n->in[1]);
}

/* Whether this is a size where it is not 0: of select(no == 0, 1, no). */
static bool is_divisor(const struct value *condition, const struct value *yes, const struct value *no)
{
    const struct node *eq = made_by(condition, OP_eq);
    double one;
    return eq && eq->in[0] == no && is_zero(eq->in[1]) && h_known(yes, &one) && one == 1 && no->content.n == 1;
}

/* v, or 1 where it is 0. */
static struct value *not_zero(struct hlo_lower *l, struct value *v)
{
    struct value *one = b_scalar(l->b, b_dtype(v), 1);
    int64_t low;
    if (has_min(&l->b->g->dims, v, &low) && low >= 0)
        return b_2(l->b, OP_max, v, one);
    struct value *more = b_2(l->b, OP_max, b_sub(l->b, one, b_1(l->b, OP_abs, v)), b_scalar(l->b, b_dtype(v), 0));
    return b_add(l->b, v, more);
}

/* The size that v, of which least() knows, is. */
static dim_t size_of(const struct value *v)
{
    double x;
    return h_known(v, &x) ? (dim_t)x : v->content.v[0];
}

/* The floor of a / b; times b, added to a, makes that not negative where b is known. */
static struct value *floor_of(struct hlo_lower *l, struct value *a, struct value *b, int64_t low)
{
    const int64_t by = positive(b);
    if (low < INT32_MIN || !by) {
        struct value *q = b_div(l->b, b_sub(l->b, a, b_2(l->b, OP_mod, a, b)), b);
        dim_t *shorter = ARENA_ARRAY(&l->b->g->arena, dim_t, 1); /* than what the rule for truncating ones says */
        *shorter = dim_floordiv(&l->b->g->dims, size_of(a), size_of(b));
        if (q && q->content.n == 1)
            q->content.v = shorter;
        return q;
    }
    const int64_t times = (by - 1 - low) / by;
    struct value *whole = b_add(l->b, a, b_scalar(l->b, b_dtype(a), times * by));
    return b_sub(l->b, b_div(l->b, whole, b), b_scalar(l->b, b_dtype(a), times));
}

struct value *hlo_floor_of_sizes(struct hlo_lower *l, const struct value *condition, const struct value *yes,
                                 struct value *no)
{
    const struct dim_table *t = &l->b->g->dims;
    if (h_rank(no) != 0 || dtype_class(no->type.dtype) != DTC_SINT)
        return NULL;
    if (is_divisor(condition, yes, no))
        return not_zero(l, no);
    const struct node *div = made_by(no, OP_div), *n = div ? div : made_by(no, OP_rem);
    int64_t low, min_by;
    if (!n || !(div ? is_floor : is_rest)(condition, yes, no) || !has_min(t, n->in[0], &low) ||
        !has_min(t, n->in[1], &min_by) || is_zero(n->in[1]))
        return NULL;
    if (low >= 0 && min_by >= 0)
        return no;
    return div ? floor_of(l, n->in[0], n->in[1], low) : b_2(l->b, OP_mod, n->in[0], n->in[1]);
}
