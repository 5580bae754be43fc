#include "neff/core/guard.h"

#include <stdio.h>
#include <string.h>

const char *const guard_kind_names[GUARD_KINDS] = {
    [GUARD_EQUAL] = "equal",       [GUARD_BROADCAST] = "broadcast", [GUARD_EXPAND] = "expand",
    [GUARD_MULTIPLE] = "multiple", [GUARD_AT_MAX] = "at_most",
};

int guard_kind_from_name(const char *name)
{
    int kind = 0;
    while (kind < GUARD_KINDS && strcmp(name, guard_kind_names[kind]) != 0)
        kind++;
    return kind;
}

bool guard_holds(int kind, int64_t a, int64_t b)
{
    switch (kind) {
    case GUARD_EQUAL:
        return a == b;
    case GUARD_BROADCAST:
        return a == b || a == 1 || b == 1;
    case GUARD_EXPAND:
        return a == b || a == 1;
    case GUARD_MULTIPLE:
        return b == 0 ? a == 0 : b == -1 || a % b == 0;
    default:
        return a <= b;
    }
}

/* ---- what is known before running ---- */

bool guard_is_certain(struct dim_table *t, int kind, dim_t a, dim_t b)
{
    int64_t low, high;
    if (dim_is_const(a) && dim_is_const(b))
        return guard_holds(kind, a, b);
    if (a == b || (a == 1 && (kind == GUARD_BROADCAST || kind == GUARD_EXPAND)) ||
        (b == 1 && (kind == GUARD_BROADCAST || kind == GUARD_MULTIPLE)))
        return true;
    switch (kind) {
    case GUARD_MULTIPLE:
        return dim_mod(t, a, b) == 0;
    case GUARD_AT_MAX:
        dim_bounds(t, a, &low, &high);
        if (high != INT64_MAX && dim_is_const(b))
            return high <= b;
        dim_bounds(t, dim_sub(t, a, b), &low, &high);
        return high <= 0;
    default:
        return dim_sub(t, a, b) == 0;
    }
}

/* A product of a constant and expressions that are none. */
enum { MAX_FACTORS = 16 };
struct guard_product {
    int64_t constant;
    int n;
    dim_t factor[MAX_FACTORS];
};

static struct guard_product product_of(const struct dim_table *t, dim_t d)
{
    struct guard_product p = {.constant = 1};
    while (!dim_is_const(d) && p.n < MAX_FACTORS - 1) {
        const struct dim_node *n = &t->nodes[dim_index(d)];
        if (n->op != DIM_MUL)
            break;
        if (dim_is_const(n->b))
            p.constant = n->b;
        else
            p.factor[p.n++] = n->b;
        d = n->a;
    }
    if (dim_is_const(d))
        p.constant = d;
    else
        p.factor[p.n++] = d;
    return p;
}

/* Factors that both have go. */
static void cancel(struct guard_product *a, struct guard_product *b)
{
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++)
            if (a->factor[i] == b->factor[k]) {
                a->factor[i--] = a->factor[--a->n];
                b->factor[k] = b->factor[--b->n];
                break;
            }
    int64_t x = a->constant, y = b->constant;
    while (y > 0 && x > 0) {
        int64_t rest = x % y;
        x = y, y = rest;
    }
    if (x > 1 && y == 0) {
        a->constant /= x;
        b->constant /= x;
    }
}

static const char *product_text(const struct dim_table *t, struct arena *a, const struct guard_product *p)
{
    const char *text =
        p->constant != 1 || !p->n ? arena_printf(a, "%lld", (long long)p->constant) : "";
    for (int i = p->n - 1; i >= 0; i--) {
        const struct dim_node *n = &t->nodes[dim_index(p->factor[i])];
        bool sum = n->op == DIM_ADD && (p->n > 1 || p->constant != 1);
        text = arena_printf(a, "%s%s%s%s%s", text, *text ? "*" : "", sum ? "(" : "",
                            dim_text(t, a, p->factor[i]), sum ? ")" : "");
    }
    return text;
}

/* The expression as factor * symbol + offset; -1 when it is none. */
static int as_line(const struct dim_table *t, const struct guard_product *p, int64_t *factor,
                   int64_t *offset)
{
    *factor = p->constant, *offset = 0;
    if (p->n != 1)
        return -1;
    const struct dim_node *n = &t->nodes[dim_index(p->factor[0])];
    if (n->op == DIM_ADD && dim_is_const(n->b) && p->constant == 1) {
        *offset = n->b;
        struct guard_product rest = product_of(t, n->a);
        if (rest.n != 1)
            return -1;
        *factor = rest.constant;
        n = &t->nodes[dim_index(rest.factor[0])];
    }
    return n->op == DIM_SYM ? (int)n->a : -1;
}

/* The symbol and its only value at which a line meets a constant, where no size is 0; -1 when there
 * is none. */
static int solve(const struct dim_table *t, dim_t a, dim_t b, int64_t *value)
{
    int64_t factor, offset, rest;
    struct guard_product x = product_of(t, a), y = product_of(t, b);
    cancel(&x, &y);
    if (!x.n) {
        struct guard_product swap = x;
        x = y, y = swap;
    }
    int symbol = y.n ? -1 : as_line(t, &x, &factor, &offset);
    if (symbol < 0 || factor <= 0 || __builtin_sub_overflow(y.constant, offset, &rest) ||
        rest % factor || rest / factor < 0)
        return -1;
    *value = rest / factor;
    return symbol;
}

int guard_pins(const struct dim_table *t, const struct guard *g, int64_t *value, bool *or_one)
{
    *or_one = g->kind == GUARD_BROADCAST || (g->kind == GUARD_EXPAND && dim_is_const(g->b));
    if (g->kind == GUARD_MULTIPLE || g->kind == GUARD_AT_MAX)
        return -1;
    return solve(t, g->a, g->b, value);
}

const char *guard_text(const struct dim_table *t, struct arena *arena, const struct guard *g)
{
    static const char *const between[] = {
        [GUARD_EQUAL] = "=",    [GUARD_BROADCAST] = "=",
        [GUARD_EXPAND] = "=",   [GUARD_MULTIPLE] = "a multiple of",
        [GUARD_AT_MAX] = "<=",
    };
    int64_t value;
    bool or_one;
    int symbol = guard_pins(t, g, &value, &or_one);
    if (symbol >= 0 && !or_one)
        return arena_printf(arena, "%s = %lld", t->symbols[symbol].name, (long long)value);
    struct guard_product a = product_of(t, g->a), b = product_of(t, g->b);
    if (g->kind == GUARD_AT_MAX && !a.n)
        return arena_printf(arena, "%s >= %s", product_text(t, arena, &b),
                            product_text(t, arena, &a));
    if (g->kind == GUARD_EQUAL)
        cancel(&a, &b);
    if (!a.n && (g->kind == GUARD_EQUAL || g->kind == GUARD_BROADCAST)) {
        struct guard_product swap = a;
        a = b, b = swap;
    }
    const char * or = "";
    if (g->kind == GUARD_EXPAND || (g->kind == GUARD_BROADCAST && !b.n))
        or = " or 1";
    else if (g->kind == GUARD_BROADCAST)
        or = ", or one of them 1";
    return arena_printf(arena, "%s %s %s%s", product_text(t, arena, &a), between[g->kind],
                        product_text(t, arena, &b), or);
}

/* ---- failures ---- */

bool guard_fail(const struct guard *g, const struct dim_table *t, int64_t a, int64_t b,
                struct diag *d)
{
    struct arena scratch = {0};
    const char *at =
        g->dimension >= 0 ? arena_printf(&scratch, " in dimension %d", g->dimension) : "";
    const char *of = t ? arena_printf(&scratch, *at ? " of %s" : " in %s", g->node) : "";
    const char *whose = *g->what ? arena_printf(&scratch, " (%s)", g->what) : "";
    const char *needs =
        t ? arena_printf(&scratch, ": the model needs %s", guard_text(t, &scratch, g)) : "";
    long long x = a, y = b;
    switch (g->kind) {
    case GUARD_EQUAL:
        fail(d, "sizes %lld and %lld differ%s%s%s%s", x, y, at, of, needs, whose);
        break;
    case GUARD_BROADCAST:
        fail(d, "sizes %lld and %lld do not broadcast%s%s%s%s", x, y, at, of, needs, whose);
        break;
    case GUARD_EXPAND:
        fail(d, "size %lld does not broadcast to %lld%s%s%s%s", x, y, at, of, needs, whose);
        break;
    case GUARD_MULTIPLE:
        fail(d, "size %lld is not a multiple of %lld%s%s%s%s", x, y, at, of, needs, whose);
        break;
    default:
        if (t && dim_is_const(g->a))
            fail(d, "size %lld is less than %lld%s%s%s%s", y, x, at, of, needs, whose);
        else
            fail(d, "size %lld is more than %lld%s%s%s%s", x, y, at, of, needs, whose);
    }
    arena_free(&scratch);
    return false;
}

bool guard_check(const struct guard *g, const struct dim_table *t, const int64_t *values,
                 struct diag *d)
{
    int64_t a = dim_value(values, g->a), b = dim_value(values, g->b);
    if (a == DIM_NOT_BOUND || b == DIM_NOT_BOUND || guard_holds(g->kind, a, b))
        return true;
    return guard_fail(g, t, a, b, d);
}
