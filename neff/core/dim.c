#include "neff/core/dim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dim_op_names[DIM_OPS] = {
    [DIM_SYM] = "sym",           [DIM_ADD] = "add",         [DIM_MUL] = "mul",
    [DIM_FLOORDIV] = "floordiv", [DIM_CEILDIV] = "ceildiv", [DIM_MOD] = "mod",
    [DIM_MIN] = "min",           [DIM_MAX] = "max",         [DIM_BROADCAST] = "broadcast",
};

void dim_table_init(struct dim_table *t, struct arena *a)
{
    *t = (struct dim_table){.arena = a};
}

static int64_t apply(int op, int64_t a, int64_t b)
{
    int64_t q, r;
    switch (op) {
    case DIM_ADD:
        return __builtin_add_overflow(a, b, &r) ? INT64_MAX - 1 : r;
    case DIM_MUL:
        return __builtin_mul_overflow(a, b, &r) ? INT64_MAX - 1 : r;
    case DIM_FLOORDIV:
    case DIM_CEILDIV:
    case DIM_MOD:
        if (b == 0)
            return 0;
        if (b == -1)
            return op == DIM_MOD ? 0 : a == INT64_MIN ? INT64_MAX - 1 : -a;
        q = a / b, r = a % b;
        if (op == DIM_CEILDIV)
            return q + (r != 0 && (r < 0) == (b < 0));
        if (op == DIM_FLOORDIV)
            return q - (r != 0 && (r < 0) != (b < 0));
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    case DIM_MIN:
        return a < b ? a : b;
    case DIM_MAX:
        return a > b ? a : b;
    default:
        return a == 1 ? b : b == 1 || a == b ? a : -1;
    }
}

static uint32_t hash3(int op, dim_t a, dim_t b)
{
    uint64_t h = (uint64_t)op * 0x9E3779B97F4A7C15u;
    h = (h ^ (uint64_t)a) * 0xD6E8FEB86659FD93u;
    h = (h ^ (h >> 32) ^ (uint64_t)b) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(h ^ (h >> 32));
}

static void rehash(struct dim_table *t)
{
    t->hash_cap = t->hash_cap ? t->hash_cap * 2 : 64;
    t->hash = ARENA_ARRAY(t->arena, uint32_t, t->hash_cap);
    for (int i = 0; i < t->nnodes; i++) {
        struct dim_node *n = &t->nodes[i];
        uint32_t h = hash3(n->op, n->a, n->b);
        while (t->hash[h &= (uint32_t)t->hash_cap - 1])
            h++;
        t->hash[h] = (uint32_t)i + 1;
    }
}

bool dim_table_index(struct dim_table *t)
{
    t->hash_cap = 32;
    while (t->hash_cap < t->nnodes * 4)
        t->hash_cap *= 2;
    t->hash_cap /= 2;
    rehash(t);
    for (int i = 0; i < t->nnodes; i++) {
        const struct dim_node *n = &t->nodes[i];
        for (uint32_t h = hash3(n->op, n->a, n->b);; h++) {
            const struct dim_node *o = &t->nodes[t->hash[h &= (uint32_t)t->hash_cap - 1] - 1];
            if (o == n)
                break;
            if (o->op == n->op && o->a == n->a && o->b == n->b)
                return false;
        }
    }
    return true;
}

static dim_t intern(struct dim_table *t, int op, dim_t a, dim_t b, bool runtime)
{
    if (t->nnodes * 2 >= t->hash_cap)
        rehash(t);
    uint32_t h = hash3(op, a, b);
    for (; t->hash[h &= (uint32_t)t->hash_cap - 1]; h++) {
        struct dim_node *n = &t->nodes[t->hash[h] - 1];
        if (n->op == op && n->a == a && n->b == b)
            return INT64_MIN + (dim_t)(t->hash[h] - 1);
    }
    ARENA_GROW(t->arena, t->nodes, t->nnodes, t->nodes_cap);
    t->nodes[t->nnodes] = (struct dim_node){(uint8_t)op, runtime, a, b};
    t->hash[h] = (uint32_t)++t->nnodes;
    return INT64_MIN + (t->nnodes - 1);
}

static dim_t add_symbol(struct dim_table *t, const char *name, bool runtime)
{
    ARENA_GROW(t->arena, t->symbols, t->nsymbols, t->symbols_cap);
    t->symbols[t->nsymbols] = (struct dim_symbol){arena_strdup(t->arena, name), runtime, 0};
    return intern(t, DIM_SYM, t->nsymbols++, 0, runtime);
}

dim_t dim_symbol(struct dim_table *t, const char *name)
{
    for (int i = 0; i < t->nsymbols; i++)
        if (!strcmp(t->symbols[i].name, name))
            return intern(t, DIM_SYM, i, 0, t->symbols[i].runtime);
    return add_symbol(t, name, false);
}

dim_t dim_symbol_runtime(struct dim_table *t, const char *name)
{
    for (int i = 0; i < t->nsymbols; i++)
        if (!strcmp(t->symbols[i].name, name))
            return dim_symbol(t, name);
    return add_symbol(t, name, true);
}

dim_t dim_fresh(struct dim_table *t, const char *stem)
{
    char name[64];
    snprintf(name, sizeof name, "%.40s.%d", stem, t->nsymbols);
    return add_symbol(t, name, true);
}

int dim_as_symbol(const struct dim_table *t, dim_t d)
{
    if (dim_is_const(d) || t->nodes[dim_index(d)].op != DIM_SYM)
        return -1;
    return (int)t->nodes[dim_index(d)].a;
}

bool dim_is_runtime(const struct dim_table *t, dim_t d)
{
    return !dim_is_const(d) && t->nodes[dim_index(d)].runtime;
}

static const struct dim_node *node_of(const struct dim_table *t, dim_t d, int op)
{
    if (dim_is_const(d) || t->nodes[dim_index(d)].op != op)
        return NULL;
    return &t->nodes[dim_index(d)];
}

static dim_t make(struct dim_table *t, int op, dim_t a, dim_t b)
{
    return intern(t, op, a, b, dim_is_runtime(t, a) || dim_is_runtime(t, b));
}

/* A term as factor * rest, for collecting like terms: 3*x has factor 3 and rest x. */
static dim_t split_factor(const struct dim_table *t, dim_t d, int64_t *factor)
{
    const struct dim_node *n = node_of(t, d, DIM_MUL);
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
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_ADD, a, b);
    if (dim_is_const(a) || (dim_is_const(b) == false && node_of(t, b, DIM_ADD) == NULL &&
                            node_of(t, a, DIM_ADD) == NULL && a > b)) {
        dim_t swap = a;
        a = b, b = swap;
    }
    if (b == 0)
        return a;
    const struct dim_node *bn = node_of(t, b, DIM_ADD);
    if (bn) {
        dim_t x = bn->a, y = bn->b;
        return dim_add(t, dim_add(t, a, x), y);
    }
    const struct dim_node *an = node_of(t, a, DIM_ADD);
    if (an) {
        dim_t x = an->a, y = an->b;
        if (dim_is_const(y)) {
            if (dim_is_const(b))
                return dim_add(t, x, apply(DIM_ADD, y, b));
            return dim_add(t, dim_add(t, x, b), y);
        }
        if (!dim_is_const(b)) {
            int64_t fy, fb;
            dim_t ry = split_factor(t, y, &fy), rb = split_factor(t, b, &fb);
            if (ry == rb)
                return dim_add(t, x, dim_mul(t, ry, fy + fb));
            if (rb < ry)
                return dim_add(t, dim_add(t, x, b), y);
        }
    } else if (!dim_is_const(b)) {
        int64_t fa, fb;
        dim_t ra = split_factor(t, a, &fa), rb = split_factor(t, b, &fb);
        if (ra == rb)
            return dim_mul(t, ra, fa + fb);
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
    const struct dim_node *n = node_of(t, d, DIM_MUL);
    return n && dim_is_const(n->b) ? n->b : 1;
}

/* The largest constant that divides every term of a sum; 1 for what is no sum. */
static int64_t content_of_sum(const struct dim_table *t, dim_t d)
{
    int64_t common = 0, factor;
    const struct dim_node *n = node_of(t, d, DIM_ADD);
    if (!n)
        return 1;
    for (; n; d = n->a, n = node_of(t, d, DIM_ADD)) {
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
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_MUL, a, b);
    if (dim_is_const(a)) {
        dim_t swap = a;
        a = b, b = swap;
    }
    if (dim_is_const(b)) {
        if (b == 0 || b == 1)
            return b ? a : 0;
        const struct dim_node *n = node_of(t, a, DIM_MUL);
        if (n && dim_is_const(n->b))
            return dim_mul(t, n->a, apply(DIM_MUL, n->b, b));
        n = node_of(t, a, DIM_ADD);
        if (n) {
            dim_t x = n->a, y = n->b;
            return dim_add(t, dim_mul(t, x, b), dim_mul(t, y, b));
        }
        return make(t, DIM_MUL, a, b);
    }
    int64_t ca = content_of_sum(t, a), cb = content_of_sum(t, b);
    dim_t qa, qb;
    if ((ca > 1 || cb > 1) && divides(t, a, ca, &qa) && divides(t, b, cb, &qb))
        return dim_mul(t, dim_mul(t, qa, qb), apply(DIM_MUL, ca, cb));
    const struct dim_node *an = node_of(t, a, DIM_MUL), *bn = node_of(t, b, DIM_MUL);
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
    if (d == b) {
        *quotient = 1;
        return true;
    }
    const struct dim_node *n = node_of(t, d, DIM_MUL);
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
    const struct dim_node *n = node_of(t, b, DIM_MUL);
    if (!n)
        return false;
    dim_t x = n->a, y = n->b;
    return cancel_product(t, a, y, &q) && cancel_product(t, q, x, quotient);
}

/* Removes one symbolic factor that both products have. */
static bool cancel_common(struct dim_table *t, dim_t *a, dim_t *b)
{
    for (dim_t at = *b; !dim_is_const(at);) {
        const struct dim_node *n = node_of(t, at, DIM_MUL);
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
    if (dim_is_const(a) && dim_is_const(b))
        return apply(op, a, b);
    if (b == 1)
        return a;
    if (cancel_product(t, a, b, &q))
        return q;
    if (cancel_common(t, &a, &b))
        return divide(t, op, a, b);
    const struct dim_node *n = node_of(t, a, DIM_ADD);
    if (n && dim_is_const(b) && b > 0) { /* (k*b + r) / b = k + r / b */
        dim_t x = n->a, y = n->b;
        if (divides(t, x, b, &q))
            return dim_add(t, q, divide(t, op, y, b));
        if (divides(t, y, b, &q))
            return dim_add(t, divide(t, op, x, b), q);
    }
    n = node_of(t, a, op);
    if (n && dim_is_const(b) && b > 0 && dim_is_const(n->b) && n->b > 0)
        return divide(t, op, n->a, apply(DIM_MUL, n->b, b));
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
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_MOD, a, b);
    if (b == 1 || cancel_product(t, a, b, &q))
        return 0;
    return make(t, DIM_MOD, a, b);
}

struct bounds {
    int64_t low, high;
};

static int64_t bound_add(int64_t a, int64_t b, int64_t none)
{
    int64_t r;
    return a == none || b == none || __builtin_add_overflow(a, b, &r) ? none : r;
}

static struct bounds bounds_of(const struct dim_table *t, dim_t d);

static struct bounds bounds_mul(struct bounds a, struct bounds b)
{
    struct bounds none = {INT64_MIN, INT64_MAX};
    int64_t low, high;
    if (a.low < 0 || b.low < 0) {
        if (b.low != b.high || b.high >= 0) /* only factors that are negative constants matter */
            return none;
        if (a.high != INT64_MAX && !__builtin_mul_overflow(a.high, b.low, &low))
            none.low = low;
        if (a.low != INT64_MIN && !__builtin_mul_overflow(a.low, b.low, &high))
            none.high = high;
        return none;
    }
    if (__builtin_mul_overflow(a.low, b.low, &low))
        low = INT64_MAX - 1;
    if (a.high == INT64_MAX || b.high == INT64_MAX || __builtin_mul_overflow(a.high, b.high, &high))
        high = INT64_MAX;
    return (struct bounds){low, high};
}

static struct bounds bounds_divide(int op, struct bounds a, struct bounds b)
{
    if (b.low < 1)
        return a.low >= 0 && b.low >= 0 ? (struct bounds){0, a.high} /* x / 0 is 0 */
                                        : (struct bounds){INT64_MIN, INT64_MAX};
    struct bounds r = a;
    int64_t low_by = a.low < 0 ? b.low : b.high, high_by = a.high < 0 ? b.high : b.low;
    if (a.low != INT64_MIN)
        r.low = apply(op, a.low, low_by);
    if (a.high != INT64_MAX)
        r.high = apply(op, a.high, high_by);
    return r;
}

static struct bounds bounds_of(const struct dim_table *t, dim_t d)
{
    if (dim_is_const(d))
        return (struct bounds){d, d};
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_SYM) {
        int64_t most = t->symbols[n->a].most;
        return (struct bounds){0, most ? most : INT64_MAX};
    }
    struct bounds a = bounds_of(t, n->a), b = bounds_of(t, n->b);
    switch (n->op) {
    case DIM_ADD:
        return (struct bounds){bound_add(a.low, b.low, INT64_MIN),
                               bound_add(a.high, b.high, INT64_MAX)};
    case DIM_MUL:
        return bounds_mul(a, b);
    case DIM_FLOORDIV:
    case DIM_CEILDIV:
        return bounds_divide(n->op, a, b);
    case DIM_MOD:
        if (b.low < 0)
            return (struct bounds){INT64_MIN, INT64_MAX};
        return (struct bounds){0, b.high == INT64_MAX || b.high == 0 ? b.high : b.high - 1};
    case DIM_MIN:
        return (struct bounds){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
    case DIM_BROADCAST:
        return (struct bounds){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    default:
        return (struct bounds){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    }
}

void dim_bounds(const struct dim_table *t, dim_t d, int64_t *low, int64_t *high)
{
    struct bounds b = bounds_of(t, d);
    *low = b.low;
    *high = b.high;
}

bool dim_at_most(struct dim_table *t, dim_t d, int64_t most)
{
    if (dim_is_const(d))
        return false;
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_ADD && dim_is_const(n->b) &&
        __builtin_sub_overflow(most, n->b, &most) == false)
        return !dim_is_const(n->a) && t->nodes[dim_index(n->a)].op == DIM_SYM &&
               dim_at_most(t, n->a, most);
    if (n->op != DIM_SYM || t->symbols[n->a].runtime || most < 1)
        return false;
    int64_t *known = &t->symbols[n->a].most;
    bool news = !*known || most < *known;
    *known = news ? most : *known;
    return news;
}

bool dim_is_limited(const struct dim_table *t, dim_t b, dim_t *a, int64_t *most)
{
    const struct dim_node *n = dim_is_const(b) ? NULL : &t->nodes[dim_index(b)];
    if (!n || n->op != DIM_MIN || dim_is_const(n->a) == dim_is_const(n->b))
        return false;
    *a = dim_is_const(n->a) ? n->b : n->a;
    *most = dim_is_const(n->a) ? n->a : n->b;
    return true;
}

static dim_t extreme(struct dim_table *t, int op, dim_t a, dim_t b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return apply(op, a, b);
    struct bounds difference = bounds_of(t, dim_sub(t, a, b));
    if (difference.high <= 0)
        return op == DIM_MIN ? a : b;
    if (difference.low >= 0)
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

/* Broadcasts are kept as left-leaning chains in order of handle; each dim occurs once. */
dim_t dim_broadcast(struct dim_table *t, dim_t a, dim_t b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_BROADCAST, a, b);
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    if (dim_is_const(a) || dim_is_const(b)) /* the other one is 1 or the same */
        return dim_is_const(a) ? a : b;
    const struct dim_node *n = node_of(t, b, DIM_BROADCAST);
    if (n) {
        dim_t x = n->a, y = n->b;
        return dim_broadcast(t, dim_broadcast(t, a, x), y);
    }
    n = node_of(t, a, DIM_BROADCAST);
    if (!n)
        return a < b ? make(t, DIM_BROADCAST, a, b) : make(t, DIM_BROADCAST, b, a);
    dim_t x = n->a, y = n->b;
    if (y == b)
        return a;
    return b < y ? dim_broadcast(t, dim_broadcast(t, x, b), y) : make(t, DIM_BROADCAST, a, b);
}

static dim_t rebuild(struct dim_table *t, int op, dim_t a, dim_t b)
{
    switch (op) {
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

dim_t dim_substitute(struct dim_table *t, dim_t d, const dim_t *with)
{
    if (dim_is_const(d))
        return d;
    struct dim_node n = t->nodes[dim_index(d)];
    if (n.op == DIM_SYM)
        return with[n.a] == DIM_NOT_BOUND ? d : with[n.a];
    return rebuild(t, n.op, dim_substitute(t, n.a, with), dim_substitute(t, n.b, with));
}

void dim_eval_all(const struct dim_table *t, const int64_t *symbol_values, int64_t *values)
{
    for (int i = 0; i < t->nnodes; i++) {
        const struct dim_node *n = &t->nodes[i];
        if (n->op == DIM_SYM) {
            values[i] = symbol_values[n->a];
            continue;
        }
        int64_t a = dim_value(values, n->a), b = dim_value(values, n->b);
        values[i] = a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : apply(n->op, a, b);
    }
}

int64_t dim_eval(const struct dim_table *t, const int64_t *symbol_values, dim_t d)
{
    if (dim_is_const(d))
        return d;
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_SYM)
        return symbol_values[n->a];
    int64_t a = dim_eval(t, symbol_values, n->a), b = dim_eval(t, symbol_values, n->b);
    return a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : apply(n->op, a, b);
}

/* Symbols that are not identifiers are written in quotes. */
static bool plain_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && *s != '.')
            return false;
    return true;
}

const char *dim_text(const struct dim_table *t, struct arena *arena, dim_t d)
{
    if (dim_is_const(d))
        return arena_printf(arena, "%lld", (long long)d);
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_SYM) {
        const char *name = t->symbols[n->a].name;
        return plain_name(name) ? name : arena_printf(arena, "'%s'", name);
    }
    const char *a = dim_text(t, arena, n->a), *b = dim_text(t, arena, n->b);
    if (n->op == DIM_ADD)
        return arena_printf(arena, "%s+%s", a, b);
    if (n->op == DIM_MUL)
        return arena_printf(arena, node_of(t, n->a, DIM_ADD) ? "(%s)*%s" : "%s*%s", a,
                            node_of(t, n->b, DIM_ADD) ? arena_printf(arena, "(%s)", b) : b);
    return arena_printf(arena, "%s(%s,%s)", dim_op_names[n->op], a, b);
}

struct dim_parser {
    struct dim_table *t;
    const char *s;
    struct diag *d;
    int depth;
};

static bool parse_sum(struct dim_parser *p, dim_t *out);

static void skip(struct dim_parser *p)
{
    while (*p->s == ' ')
        p->s++;
}

static bool expect(struct dim_parser *p, char c)
{
    skip(p);
    if (*p->s != c)
        return fail(p->d, "dimension: expected '%c' at '%.20s'", c, p->s);
    p->s++;
    return true;
}

static bool parse_function(struct dim_parser *p, const char *name, size_t n, dim_t *out)
{
    for (int op = DIM_FLOORDIV; op < DIM_OPS; op++) {
        dim_t a, b;
        if (strlen(dim_op_names[op]) != n || memcmp(dim_op_names[op], name, n))
            continue;
        if (!expect(p, '(') || !parse_sum(p, &a) || !expect(p, ',') || !parse_sum(p, &b) ||
            !expect(p, ')'))
            return false;
        *out = rebuild(p->t, op, a, b);
        return true;
    }
    return fail(p->d, "dimension: unknown function '%.*s'", (int)n, name);
}

static bool parse_atom(struct dim_parser *p, dim_t *out)
{
    skip(p);
    const char *s = p->s;
    if (*s == '(') {
        p->s++;
        return parse_sum(p, out) && expect(p, ')');
    }
    if (isdigit((unsigned char)*s) || *s == '-') {
        char *end;
        *out = strtoll(s, &end, 10);
        if (end == s || !dim_is_const(*out) || *out == DIM_NOT_BOUND)
            return fail(p->d, "dimension: expected a number at '%.20s'", s);
        p->s = end;
        return true;
    }
    const char *name = s, *end;
    if (*s == '\'') {
        name = s + 1;
        end = strchr(name, '\'');
        if (!end)
            return fail(p->d, "dimension: missing closing quote at '%.20s'", s);
        p->s = end + 1;
    } else {
        end = s;
        while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
            end++;
        if (end == s)
            return fail(p->d, "dimension: expected a name or a number at '%.20s'", s);
        p->s = end;
        if (*end == '(')
            return parse_function(p, name, (size_t)(end - name), out);
    }
    *out = dim_symbol(p->t, arena_strndup(p->t->arena, name, (size_t)(end - name)));
    return true;
}

static bool parse_product(struct dim_parser *p, dim_t *out)
{
    if (!parse_atom(p, out))
        return false;
    for (skip(p); *p->s == '*'; skip(p)) {
        dim_t b;
        p->s++;
        if (!parse_atom(p, &b))
            return false;
        *out = dim_mul(p->t, *out, b);
    }
    return true;
}

static bool parse_sum(struct dim_parser *p, dim_t *out)
{
    if (++p->depth > 64)
        return fail(p->d, "dimension: nested too deeply");
    if (!parse_product(p, out))
        return false;
    for (skip(p); *p->s == '+' || *p->s == '-'; skip(p)) {
        bool minus = *p->s++ == '-';
        dim_t b;
        if (!parse_product(p, &b))
            return false;
        *out = minus ? dim_sub(p->t, *out, b) : dim_add(p->t, *out, b);
    }
    p->depth--;
    return true;
}

bool dim_parse(struct dim_table *t, const char **s, dim_t *out, struct diag *d)
{
    struct dim_parser p = {t, *s, d, 0};
    if (!parse_sum(&p, out))
        return false;
    *s = p.s;
    return true;
}
