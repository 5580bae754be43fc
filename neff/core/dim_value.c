/*
 * Dimensions: values of expressions for given symbols, and the bounds of those for any.
 */
#include "neff/core/dim_parts.h"

/* The nearest constant: neither a handle nor DIM_NOT_BOUND, whatever was computed. */
static int64_t nearest(__int128 v)
{
    return v < DIM_LOWEST ? DIM_LOWEST : v > DIM_HIGHEST ? DIM_HIGHEST : (int64_t)v;
}

int64_t dim_apply(int op, int64_t a, int64_t b)
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
            return op == DIM_MOD ? a : 0;
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
        r.low = dim_apply(op, a.low, low_by);
    if (a.high != INT64_MAX)
        r.high = dim_apply(op, a.high, high_by);
    return r;
}

static struct bounds bounds_mod(struct bounds a, struct bounds b)
{
    int64_t max = b.high == INT64_MAX ? INT64_MAX : b.high - 1;
    if (b.low < 0)
        return (struct bounds){INT64_MIN, INT64_MAX};
    if (b.low > 0)
        return (struct bounds){0, max};
    if (a.low >= 0) /* what is left of x is not more than x; of x by 0, x */
        return (struct bounds){0, a.high};
    return (struct bounds){a.low, a.high > max ? a.high : max};
}

static struct bounds bounds_of(const struct dim_table *t, dim_t d)
{
    if (dim_is_const(d))
        return (struct bounds){d, d};
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_SYM) {
        int64_t max = t->symbols[n->a].max;
        return (struct bounds){0, max ? max : INT64_MAX};
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
        return bounds_mod(a, b);
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
        values[i] = a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : dim_apply(n->op, a, b);
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
        return symbol_values ? symbol_values[n->a] : t->symbols[n->a].size ? t->symbols[n->a].size : DIM_NOT_BOUND;
    int64_t a = dim_eval(t, symbol_values, n->a), b = dim_eval(t, symbol_values, n->b);
    return a == DIM_NOT_BOUND || b == DIM_NOT_BOUND ? DIM_NOT_BOUND : dim_apply(n->op, a, b);
}

int64_t dim_given(const struct dim_table *t, dim_t d)
{
    return dim_eval(t, NULL, d);
}
