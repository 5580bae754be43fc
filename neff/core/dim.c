#include "neff/core/dim.h"

#include <stdio.h>
#include <string.h>

const char *const dim_op_names[DIM_OPS] = {
    [DIM_SYM] = "sym",           [DIM_ADD] = "add",         [DIM_MUL] = "mul",
    [DIM_FLOORDIV] = "floordiv", [DIM_CEILDIV] = "ceildiv", [DIM_MOD] = "mod",
    [DIM_MIN] = "min",           [DIM_MAX] = "max",         [DIM_BROADCAST] = "broadcast",
    [DIM_PITCH] = "pitch",
};

void dim_table_init(struct dim_table *t, struct arena *a)
{
    *t = (struct dim_table){.arena = a};
}

/* The nearest constant: neither a handle nor DIM_NOT_BOUND, whatever was computed. */
static int64_t nearest(__int128 v)
{
    return v < DIM_LOWEST ? DIM_LOWEST : v > DIM_HIGHEST ? DIM_HIGHEST : (int64_t)v;
}

static int64_t apply(int op, int64_t a, int64_t b)
{
    int64_t q, r;
    switch (op) {
    case DIM_ADD:
        return nearest((__int128)a + b);
    case DIM_MUL:
        return nearest((__int128)a * b);
    case DIM_FLOORDIV:
    case DIM_CEILDIV:
    case DIM_MOD:
        if (b == 0)
            return 0;
        if (b == -1)
            return op == DIM_MOD ? 0 : nearest(-(__int128)a);
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
    case DIM_PITCH:
        return a;
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

/* ---- symbols, by name ---- */

static uint32_t hash_name(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 0x100000001B3u;
    return (uint32_t)(h ^ (h >> 32));
}

/* Where the name is, or its free place. */
static uint32_t *place_of(const struct dim_table *t, const char *name)
{
    uint32_t h = hash_name(name);
    for (;; h++) {
        uint32_t *at = &t->names[h &= (uint32_t)t->names_cap - 1];
        if (!*at || !strcmp(t->symbols[*at - 1].name, name))
            return at;
    }
}

static void rehash_names(struct dim_table *t, int cap)
{
    t->names_cap = cap;
    t->names = ARENA_ARRAY(t->arena, uint32_t, cap);
    for (int i = 0; i < t->nsymbols; i++)
        *place_of(t, t->symbols[i].name) = (uint32_t)i + 1;
}

int dim_find_symbol(const struct dim_table *t, const char *name)
{
    return t->names ? (int)*place_of(t, name) - 1 : -1;
}

bool dim_table_add_symbol(struct dim_table *t, struct dim_symbol s)
{
    if (t->nsymbols * 2 >= t->names_cap)
        rehash_names(t, t->names_cap ? t->names_cap * 2 : 64);
    uint32_t *at = place_of(t, s.name);
    if (*at)
        return false;
    ARENA_GROW(t->arena, t->symbols, t->nsymbols, t->symbols_cap);
    t->symbols[t->nsymbols++] = s;
    *at = (uint32_t)t->nsymbols;
    return true;
}

/* ---- nodes ---- */

static struct dim_node operand_of(const struct dim_table *t, dim_t d)
{
    return dim_is_const(d) ? (struct dim_node){.depth = 0, .size = 1} : t->nodes[dim_index(d)];
}

/* How deep the expression is nested, and how long its text is; false: too much. */
static bool measure(const struct dim_table *t, struct dim_node *n)
{
    struct dim_node none = {.depth = 0, .size = 0};
    struct dim_node a = n->op == DIM_SYM ? none : operand_of(t, n->a),
                    b = n->op == DIM_SYM ? none : operand_of(t, n->b);
    n->depth = 1 + (a.depth > b.depth ? a.depth : b.depth);
    n->size = 1 + a.size + b.size;
    return n->depth <= DIM_MOST_DEPTH && n->size <= DIM_MOST_SIZE;
}

/* The number of the equal node plus one, in its place, or the free place for it. */
static uint32_t *node_place(const struct dim_table *t, int op, dim_t a, dim_t b)
{
    for (uint32_t h = hash3(op, a, b);; h++) {
        uint32_t *at = &t->hash[h &= (uint32_t)t->hash_cap - 1];
        const struct dim_node *n = *at ? &t->nodes[*at - 1] : NULL;
        if (!n || (n->op == op && n->a == a && n->b == b))
            return at;
    }
}

bool dim_table_add_node(struct dim_table *t, struct dim_node n, struct diag *d)
{
    if (t->nnodes * 2 >= t->hash_cap)
        rehash(t);
    uint32_t *at = node_place(t, n.op, n.a, n.b);
    if (*at)
        return fail(d, "a dimension expression occurs twice");
    if (!measure(t, &n) || t->nnodes == DIM_MOST_NODES)
        return fail(d, "dimension expression %d is too large", t->nnodes);
    ARENA_GROW(t->arena, t->nodes, t->nnodes, t->nodes_cap);
    t->nodes[t->nnodes++] = n;
    *at = (uint32_t)t->nnodes;
    return true;
}

void dim_table_copy(struct dim_table *t, const struct dim_table *from)
{
    struct arena *a = t->arena;
    *t = *from;
    t->arena = a;
    t->nodes = arena_copy(a, from->nodes, sizeof *from->nodes * (size_t)from->nnodes);
    t->symbols = arena_copy(a, from->symbols, sizeof *from->symbols * (size_t)from->nsymbols);
    t->hash = arena_copy(a, from->hash, sizeof *from->hash * (size_t)from->hash_cap);
    t->names = arena_copy(a, from->names, sizeof *from->names * (size_t)from->names_cap);
    t->nodes_cap = t->nnodes;
    t->symbols_cap = t->nsymbols;
    for (int i = 0; i < t->nsymbols; i++)
        t->symbols[i].name = arena_strdup(a, t->symbols[i].name);
}

/* Whether arithmetic on expressions may go on: there is an end to what it may cost. */
static bool may_work(struct dim_table *t)
{
    t->too_large |= ++t->work > DIM_MOST_WORK;
    return !t->too_large;
}

static dim_t intern(struct dim_table *t, int op, dim_t a, dim_t b, bool runtime)
{
    struct dim_node n = {.op = (uint8_t)op, .runtime = runtime, .a = a, .b = b};
    if (t->nnodes * 2 >= t->hash_cap)
        rehash(t);
    uint32_t *at = node_place(t, op, a, b);
    if (*at)
        return INT64_MIN + (dim_t)(*at - 1);
    if (!measure(t, &n) || t->nnodes == DIM_MOST_NODES) {
        t->too_large = true;
        return 0;
    }
    ARENA_GROW(t->arena, t->nodes, t->nnodes, t->nodes_cap);
    t->nodes[t->nnodes] = n;
    *at = (uint32_t)++t->nnodes;
    return INT64_MIN + (t->nnodes - 1);
}

static dim_t add_symbol(struct dim_table *t, const char *name, bool runtime)
{
    dim_table_add_symbol(t, (struct dim_symbol){arena_strdup(t->arena, name), runtime, 0});
    return intern(t, DIM_SYM, t->nsymbols - 1, 0, runtime);
}

dim_t dim_symbol(struct dim_table *t, const char *name)
{
    int i = dim_find_symbol(t, name);
    return i < 0 ? add_symbol(t, name, false) : intern(t, DIM_SYM, i, 0, t->symbols[i].runtime);
}

dim_t dim_symbol_runtime(struct dim_table *t, const char *name)
{
    return dim_find_symbol(t, name) < 0 ? add_symbol(t, name, true) : dim_symbol(t, name);
}

dim_t dim_fresh(struct dim_table *t, const char *stem)
{
    char name[64];
    int number = t->nsymbols;
    do
        snprintf(name, sizeof name, "%.40s.%d", stem, number++);
    while (dim_find_symbol(t, name) >= 0);
    return add_symbol(t, name, true);
}

/* A handle of the table, or a constant: what a sum of numbers has made of itself is none. */
static dim_t known(const struct dim_table *t, dim_t d)
{
    return dim_is_const(d) || (t && dim_index(d) < t->nnodes) ? d : DIM_LOWEST;
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
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_ADD, a, b);
    if (!may_work(t))
        return 0;
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
                return dim_add(t, x, dim_mul(t, ry, apply(DIM_ADD, fy, fb)));
            if (rb < ry)
                return dim_add(t, dim_add(t, x, b), y);
        }
    } else if (!dim_is_const(b)) {
        int64_t fa, fb;
        dim_t ra = split_factor(t, a, &fa), rb = split_factor(t, b, &fb);
        if (ra == rb)
            return dim_mul(t, ra, apply(DIM_ADD, fa, fb));
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
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_MUL, a, b);
    if (!may_work(t))
        return 0;
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
            dim_t x = n->a, y = dim_mul(t, n->b, b); /* in this order with every compiler: numbers go into archives */
            return dim_add(t, dim_mul(t, x, b), y);
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
    if (!may_work(t))
        return false;
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
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return apply(op, a, b);
    if (!may_work(t))
        return 0;
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
    a = known(t, a), b = known(t, b);
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
    case DIM_PITCH:
        return (struct bounds){a.low, INT64_MAX};
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
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return apply(op, a, b);
    dim_t d = dim_sub(t, a, b);
    t->work += operand_of(t, d).size;
    struct bounds difference = bounds_of(t, d);
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
/* Is b the minimum of a and a constant above 1? Then it is 1 when a is, and broadcasts with a only if it is a. */
static bool is_limited_to(const struct dim_table *t, dim_t b, dim_t a)
{
    dim_t of;
    int64_t most;
    return dim_is_limited(t, b, &of, &most) && of == a && most > 1;
}

dim_t dim_broadcast(struct dim_table *t, dim_t a, dim_t b)
{
    a = known(t, a), b = known(t, b);
    if (dim_is_const(a) && dim_is_const(b))
        return apply(DIM_BROADCAST, a, b);
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    if (!may_work(t))
        return 0;
    if (dim_is_const(a) || dim_is_const(b)) /* the other one is 1 or the same */
        return dim_is_const(a) ? a : b;
    if (is_limited_to(t, b, a) || is_limited_to(t, a, b))
        return is_limited_to(t, b, a) ? a : b;
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

dim_t dim_pitch(struct dim_table *t, dim_t length, int state)
{
    return may_work(t) ? make(t, DIM_PITCH, length, state) : 0;
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
    if (!may_work(t))
        return 0; /* not d: the other table's number */
    struct dim_node n = from->nodes[dim_index(d)];
    if (n.op == DIM_SYM)
        return with[n.a];
    dim_t a = dim_translate(t, from, n.a, with), b = dim_translate(t, from, n.b, with);
    return a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : dim_make(t, n.op, a, b);
}

dim_t dim_substitute(struct dim_table *t, dim_t d, const dim_t *with)
{
    if (dim_is_const(d) || !may_work(t))
        return d;
    struct dim_node n = t->nodes[dim_index(d)];
    if (n.op == DIM_SYM)
        return with[n.a] == DIM_NOT_BOUND ? d : with[n.a];
    dim_t a = dim_substitute(t, n.a, with), b = dim_substitute(t, n.b, with);
    return dim_make(t, n.op, a, b);
}

void dim_eval_all(const struct dim_table *t, const int64_t *symbol_values, int64_t *values)
{
    dim_eval_with(t, symbol_values, NULL, 0, values);
}

void dim_eval_with(const struct dim_table *t, const int64_t *symbol_values, const int64_t *capacities, int states,
                   int64_t *values)
{
    for (int i = 0; i < t->nnodes; i++) {
        const struct dim_node *n = &t->nodes[i];
        if (n->op == DIM_SYM) {
            values[i] = symbol_values[n->a];
            continue;
        }
        int64_t a = dim_value(values, n->a), b = dim_value(values, n->b);
        values[i] = a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : apply(n->op, a, b);
        if (n->op == DIM_PITCH && b >= 0 && b < states && capacities[b])
            values[i] = capacities[b];
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
