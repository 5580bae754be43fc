/*
 * shape_assertion: what a shape-polymorphic export of JAX demands of sizes. A comparison of sizes
 * is a guard of the archive, and so is each of several joined by `and`; a warning tells of other conditions, which are
 * left to the guards that operators make.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"
#include "neff/core/guard.h"
#include "passes/ir/guards.h"

#include <string.h>

/* The part of JAX's message that says what is expected, without the list of all specifications. */
static const char *demand(struct hlo_lower *l)
{
    const char *text = hlo_attr_text(l->i, HLO_ATTR_backend_config);
    const char *from = strstr(text, "Expected "), *to = from ? strstr(from, ". ") : NULL;
    if (!from)
        return "a shape assertion of the program";
    size_t n = to ? (size_t)(to - from) : strlen(from);
    return arena_strndup(&l->b->g->arena, from, n < 160 ? n : 160);
}

/* The size that a scalar is. */
static bool size_of(const struct value *v, dim_t *d)
{
    if (v->constant && tensor_count(v->constant) == 1 && dtype_is_int(v->constant->dtype)) {
        *d = tensor_i64(v->constant, 0);
        return true;
    }
    if (v->content.n != 1)
        return false;
    *d = v->content.v[0];
    return true;
}

static bool guard(struct hlo_lower *l, int kind, dim_t a, dim_t b)
{
    struct guard g = {.kind = (uint8_t)kind, .dimension = -1, .a = a, .b = b, .what = demand(l)};
    if (guard_is_certain(&l->b->g->dims, kind, a, b))
        return true;
    if (dim_is_const(a) && dim_is_const(b))
        return guard_fail(&g, NULL, a, b, l->b->d);
    g.node = "shape assertion";
    graph_add_guard(l->b->g, &g, l->b->r, NULL);
    return true;
}

static bool not_checked(struct hlo_lower *l)
{
    if (!diag_failed(l->b->d))
        warn(l->b->d, "a shape assertion is no comparison of sizes, and is not checked: %s", demand(l));
    return !diag_failed(l->b->d);
}

enum { DEEPEST = 8 }; /* conditions may be shared: twice as many with each step */

/* A comparison of sizes, or several that must all hold. */
static bool condition(struct hlo_lower *l, const struct value *v, int depth)
{
    dim_t a, b;
    double known;
    if (h_known(v, &known))
        return known != 0 || HLO_ERROR(l, "%s", demand(l));
    while (v && v->def && (v->def->op == OP_reshape || v->def->op == OP_identity))
        v = v->def->in[0];
    const struct node *n = v ? v->def : NULL;
    if (n && n->nin == 2 && n->op == OP_and && depth < DEEPEST)
        return condition(l, n->in[0], depth + 1) && condition(l, n->in[1], depth + 1);
    if (!n || n->nin != 2 || !size_of(n->in[0], &a) || !size_of(n->in[1], &b))
        return not_checked(l);
    struct dim_table *t = &l->b->g->dims;
    switch (n->op) {
    case OP_eq:
        return guard(l, GUARD_EQUAL, a, b);
    case OP_ge:
        return guard(l, GUARD_AT_MAX, b, a);
    case OP_gt:
        return guard(l, GUARD_AT_MAX, dim_add(t, b, 1), a);
    case OP_le:
        return guard(l, GUARD_AT_MAX, a, b);
    case OP_lt:
        return guard(l, GUARD_AT_MAX, dim_add(t, a, 1), b);
    default:
        return not_checked(l);
    }
}

bool hlo_shape_assertion(struct hlo_lower *l)
{
    return condition(l, h_in(l, 0), 0);
}
