/*
 * Dimensions: arithmetic, and the one form that equal expressions have.
 */
#include "neff/core/dim_parts.h"

/* A handle of the table, or a constant: what a sum of numbers has made of itself is none. */
static dim_t known(const struct dim_table *t, dim_t d)
{
    return dim_is_const(d) || (t && dim_index(d) < t->nnodes) ? d : DIM_LOWEST;
}

static dim_t make(struct dim_table *t, int op, dim_t a, dim_t b)
{
    return dim_intern(t, op, a, b, dim_is_runtime(t, a) || dim_is_runtime(t, b));
}

/* A term as factor * rest, for collecting like terms: 3*x has factor 3 and rest x. */
static dim_t split_factor(const struct dim_table *t, dim_t d, int64_t *factor)
{
    const struct dim_node *n = dim_node_of(t, d, DIM_MUL);
    *factor = 1;
    if (n && dim_is_const(n->b)) {
        *factor = n->b;
        return n->a;
    }
    return d;
}

/*
 * Sums are kept as left-leaning chains ((x + y) + 3): symbolic terms in order of handle, the
 * constant last, like terms collected.
 */
dim_t dim_add(struct dim_table *t, dim_t a, dim_t b)
{
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_apply(DIM_ADD, a, b);
    if (!dim_may_work(t))
        return 0;
    if (dim_is_const(a) || (dim_is_const(b) == false && dim_node_of(t, b, DIM_ADD) == NULL &&
                            dim_node_of(t, a, DIM_ADD) == NULL && a > b)) {
        dim_t swap = a;
        a = b, b = swap;
    }
    if (b == 0)
        return a;
    const struct dim_node *bn = dim_node_of(t, b, DIM_ADD);
    if (bn) {
        dim_t x = bn->a, y = bn->b;
        return dim_add(t, dim_add(t, a, x), y);
    }
    const struct dim_node *an = dim_node_of(t, a, DIM_ADD);
    if (an) {
        dim_t x = an->a, y = an->b;
        if (dim_is_const(y)) {
            if (dim_is_const(b))
                return dim_add(t, x, dim_apply(DIM_ADD, y, b));
            return dim_add(t, dim_add(t, x, b), y);
        }
        if (!dim_is_const(b)) {
            int64_t fy, fb;
            dim_t ry = split_factor(t, y, &fy), rb = split_factor(t, b, &fb);
            if (ry == rb)
                return dim_add(t, x, dim_mul(t, ry, dim_apply(DIM_ADD, fy, fb)));
            if (rb < ry)
                return dim_add(t, dim_add(t, x, b), y);
        }
    } else if (!dim_is_const(b)) {
        int64_t fa, fb;
        dim_t ra = split_factor(t, a, &fa), rb = split_factor(t, b, &fb);
        if (ra == rb)
            return dim_mul(t, ra, dim_apply(DIM_ADD, fa, fb));
        if (rb < ra)
            return make(t, DIM_ADD, b, a);
    }
    return make(t, DIM_ADD, a, b);
}

dim_t dim_sub(struct dim_table *t, dim_t a, dim_t b)
{
    return dim_add(t, a, dim_mul(t, b, -1));
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a;
}

int64_t dim_constant_factor(const struct dim_table *t, dim_t d)
{
    if (dim_is_const(d))
        return d;
    const struct dim_node *n = dim_node_of(t, d, DIM_MUL);
    return n && dim_is_const(n->b) ? n->b : 1;
}

/* The largest constant that divides every term of a sum; 1 for what is no sum. */
static int64_t content_of_sum(const struct dim_table *t, dim_t d)
{
    int64_t common = 0, factor;
    const struct dim_node *n = dim_node_of(t, d, DIM_ADD);
    if (!n)
        return 1;
    for (; n; d = n->a, n = dim_node_of(t, d, DIM_ADD)) {
        if (dim_is_const(n->b))
            factor = n->b;
        else
            split_factor(t, n->b, &factor);
        common = gcd(common, factor);
    }
    split_factor(t, d, &factor);
    common = gcd(common, factor);
    return common < 0 ? -common : common;
}

static bool divides(struct dim_table *t, dim_t d, int64_t k, dim_t *quotient);

/*
 * Products: symbolic factors in order of handle, the constant last. A constant is distributed over
 * a sum that stands alone; beside other factors a sum gives up what its terms have in common, so
 * that 8*(w+1)*h and (8*w+8)*h are one.
 */
dim_t dim_mul(struct dim_table *t, dim_t a, dim_t b)
{
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_apply(DIM_MUL, a, b);
    if (!dim_may_work(t))
        return 0;
    if (dim_is_const(a)) {
        dim_t swap = a;
        a = b, b = swap;
    }
    if (dim_is_const(b)) {
        if (b == 0 || b == 1)
            return b ? a : 0;
        const struct dim_node *n = dim_node_of(t, a, DIM_MUL);
        if (n && dim_is_const(n->b))
            return dim_mul(t, n->a, dim_apply(DIM_MUL, n->b, b));
        n = dim_node_of(t, a, DIM_ADD);
        if (n) {
            dim_t x = n->a, y = dim_mul(t, n->b, b); /* in this order with every compiler: numbers go into archives */
            return dim_add(t, dim_mul(t, x, b), y);
        }
        return make(t, DIM_MUL, a, b);
    }
    int64_t ca = content_of_sum(t, a), cb = content_of_sum(t, b);
    dim_t qa, qb;
    if ((ca > 1 || cb > 1) && divides(t, a, ca, &qa) && divides(t, b, cb, &qb))
        return dim_mul(t, dim_mul(t, qa, qb), dim_apply(DIM_MUL, ca, cb));
    const struct dim_node *an = dim_node_of(t, a, DIM_MUL), *bn = dim_node_of(t, b, DIM_MUL);
    if (bn) {
        dim_t x = bn->a, y = bn->b;
        return dim_mul(t, dim_mul(t, a, x), y);
    }
    if (an) {
        dim_t x = an->a, y = an->b;
        if (dim_is_const(y) || b < y)
            return dim_mul(t, dim_mul(t, x, b), y);
        return make(t, DIM_MUL, a, b);
    }
    return a < b ? make(t, DIM_MUL, a, b) : make(t, DIM_MUL, b, a);
}

/* Whether d is a constant multiple of k; the quotient then. Dims are taken as any integers. */
static bool divides(struct dim_table *t, dim_t d, int64_t k, dim_t *quotient)
{
    if (dim_is_const(d)) {
        *quotient = d / k;
        return d % k == 0;
    }
    if (k == 1) {
        *quotient = d;
        return true;
    }
    const struct dim_node *n = &t->nodes[dim_index(d)];
    dim_t x = n->a, y = n->b, qx, qy;
    if (n->op == DIM_MUL && dim_is_const(y) && y % k == 0) {
        *quotient = dim_mul(t, x, y / k);
        return true;
    }
    if (n->op == DIM_ADD && divides(t, x, k, &qx) && divides(t, y, k, &qy)) {
        *quotient = dim_add(t, qx, qy);
        return true;
    }
    return false;
}

/* Whether d is a product that contains the factor b; the rest then. */
static bool cancel(struct dim_table *t, dim_t d, dim_t b, dim_t *quotient)
{
    if (!dim_may_work(t))
        return false;
    if (d == b) {
        *quotient = 1;
        return true;
    }
    const struct dim_node *n = dim_node_of(t, d, DIM_MUL);
    if (!n)
        return false;
    dim_t x = n->a, y = n->b, q;
    if (y == b) {
        *quotient = x;
        return true;
    }
    if (cancel(t, x, b, &q)) {
        *quotient = dim_mul(t, q, y);
        return true;
    }
    return false;
}

/* Divides by each factor of a symbolic product in turn, so that (n*h*w) / (h*w) is n. */
static bool cancel_product(struct dim_table *t, dim_t a, dim_t b, dim_t *quotient)
{
    if (dim_is_const(b))
        return b != 0 && divides(t, a, b, quotient);
    dim_t q;
    if (cancel(t, a, b, quotient))
        return true;
    int64_t content = content_of_sum(t, b);
    if (content > 1 && divides(t, b, content, &q) && cancel(t, a, q, &q) &&
        divides(t, q, content, quotient))
        return true;
    const struct dim_node *n = dim_node_of(t, b, DIM_MUL);
    if (!n)
        return false;
    dim_t x = n->a, y = n->b;
    return cancel_product(t, a, y, &q) && cancel_product(t, q, x, quotient);
}

/* Removes one symbolic factor that both products have. */
static bool cancel_common(struct dim_table *t, dim_t *a, dim_t *b)
{
    for (dim_t at = *b; !dim_is_const(at);) {
        const struct dim_node *n = dim_node_of(t, at, DIM_MUL);
        dim_t factor = n ? n->b : at, rest = n ? n->a : 1, qa, qb;
        if (!dim_is_const(factor) && cancel(t, *a, factor, &qa) && cancel(t, *b, factor, &qb)) {
            *a = qa;
            *b = qb;
            return true;
        }
        at = rest;
    }
    return false;
}

static dim_t divide(struct dim_table *t, int op, dim_t a, dim_t b)
{
    dim_t q;
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_apply(op, a, b);
    if (!dim_may_work(t))
        return 0;
    if (b == 1)
        return a;
    if (cancel_product(t, a, b, &q))
        return q;
    if (cancel_common(t, &a, &b))
        return divide(t, op, a, b);
    const struct dim_node *n = dim_node_of(t, a, DIM_ADD);
    if (n && dim_is_const(b) && b > 0) { /* (k*b + r) / b = k + r / b */
        dim_t x = n->a, y = n->b;
        if (divides(t, x, b, &q))
            return dim_add(t, q, divide(t, op, y, b));
        if (divides(t, y, b, &q))
            return dim_add(t, divide(t, op, x, b), q);
    }
    n = dim_node_of(t, a, op);
    if (n && dim_is_const(b) && b > 0 && dim_is_const(n->b) && n->b > 0)
        return divide(t, op, n->a, dim_apply(DIM_MUL, n->b, b));
    return make(t, op, a, b);
}

dim_t dim_floordiv(struct dim_table *t, dim_t a, dim_t b)
{
    return divide(t, DIM_FLOORDIV, a, b);
}

dim_t dim_ceildiv(struct dim_table *t, dim_t a, dim_t b)
{
    return divide(t, DIM_CEILDIV, a, b);
}

dim_t dim_mod(struct dim_table *t, dim_t a, dim_t b)
{
    dim_t q;
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_apply(DIM_MOD, a, b);
    if (b == 1 || cancel_product(t, a, b, &q))
        return 0;
    return make(t, DIM_MOD, a, b);
}

/* Whether b is the maximum of a and something: then the minimum of both is a; or the other way round. */
static bool absorbs(const struct dim_table *t, int op, dim_t a, dim_t b)
{
    const struct dim_node *n = dim_node_of(t, b, op == DIM_MIN ? DIM_MAX : DIM_MIN);
    return n && (n->a == a || n->b == a);
}

static dim_t extreme(struct dim_table *t, int op, dim_t a, dim_t b)
{
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_apply(op, a, b);
    if (absorbs(t, op, a, b))
        return a;
    if (absorbs(t, op, b, a))
        return b;
    dim_t d = dim_sub(t, a, b);
    t->work += dim_operand(t, d).size;
    int64_t low, high;
    dim_bounds(t, d, &low, &high);
    if (high <= 0)
        return op == DIM_MIN ? a : b;
    if (low >= 0)
        return op == DIM_MIN ? b : a;
    return a < b ? make(t, op, a, b) : make(t, op, b, a);
}

dim_t dim_min(struct dim_table *t, dim_t a, dim_t b)
{
    return extreme(t, DIM_MIN, a, b);
}

dim_t dim_max(struct dim_table *t, dim_t a, dim_t b)
{
    return extreme(t, DIM_MAX, a, b);
}

/* Is b the minimum of a and a constant above 1? Then it is 1 when a is, and broadcasts with a only if it is a. */
static bool is_limited_to(const struct dim_table *t, dim_t b, dim_t a)
{
    dim_t of;
    int64_t max;
    return dim_is_limited(t, b, &of, &max) && of == a && max > 1;
}

/* Broadcasts are kept as left-leaning chains in order of handle; each dim occurs once. */
dim_t dim_broadcast(struct dim_table *t, dim_t a, dim_t b)
{
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return dim_apply(DIM_BROADCAST, a, b);
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    if (!dim_may_work(t))
        return 0;
    if (dim_is_const(a) || dim_is_const(b)) /* the other one is 1 or the same */
        return dim_is_const(a) ? a : b;
    if (is_limited_to(t, b, a) || is_limited_to(t, a, b))
        return is_limited_to(t, b, a) ? a : b;
    const struct dim_node *n = dim_node_of(t, b, DIM_BROADCAST);
    if (n) {
        dim_t x = n->a, y = n->b;
        return dim_broadcast(t, dim_broadcast(t, a, x), y);
    }
    n = dim_node_of(t, a, DIM_BROADCAST);
    if (!n)
        return a < b ? make(t, DIM_BROADCAST, a, b) : make(t, DIM_BROADCAST, b, a);
    dim_t x = n->a, y = n->b;
    if (y == b)
        return a;
    return b < y ? dim_broadcast(t, dim_broadcast(t, x, b), y) : make(t, DIM_BROADCAST, a, b);
}

dim_t dim_pitch(struct dim_table *t, dim_t length, int state)
{
    return dim_may_work(t) ? make(t, DIM_PITCH, length, state) : 0;
}

dim_t dim_make(struct dim_table *t, int op, dim_t a, dim_t b)
{
    switch (op) {
    case DIM_PITCH:
        return dim_pitch(t, a, dim_is_const(b) && b >= 0 && b < INT32_MAX ? (int)b : 0);
    case DIM_ADD:
        return dim_add(t, a, b);
    case DIM_MUL:
        return dim_mul(t, a, b);
    case DIM_MOD:
        return dim_mod(t, a, b);
    case DIM_FLOORDIV:
    case DIM_CEILDIV:
        return divide(t, op, a, b);
    case DIM_BROADCAST:
        return dim_broadcast(t, a, b);
    default:
        return extreme(t, op, a, b);
    }
}

dim_t dim_translate(struct dim_table *t, const struct dim_table *from, dim_t d, const dim_t *with)
{
    if (dim_is_const(d))
        return d;
    if (!dim_may_work(t))
        return 0; /* not d: the other table's number */
    struct dim_node n = from->nodes[dim_index(d)];
    if (n.op == DIM_SYM)
        return with[n.a];
    dim_t a = dim_translate(t, from, n.a, with), b = dim_translate(t, from, n.b, with);
    return a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : dim_make(t, n.op, a, b);
}

dim_t dim_substitute(struct dim_table *t, dim_t d, const dim_t *with)
{
    if (dim_is_const(d) || !dim_may_work(t))
        return d;
    struct dim_node n = t->nodes[dim_index(d)];
    if (n.op == DIM_SYM)
        return with[n.a] == DIM_NOT_BOUND ? d : with[n.a];
    dim_t a = dim_substitute(t, n.a, with), b = dim_substitute(t, n.b, with);
    return dim_make(t, n.op, a, b);
}
