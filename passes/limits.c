/*
 * What no machine can run is refused here, by name, rather than where it runs out of memory or
 * time: a tensor of more than MAX_BYTES, a loop of more than MAX_TRIPS that nothing ends early.
 */
#include "passes/pass.h"

#include <inttypes.h>

#define MAX_BYTES (INT64_C(1) << 40)
#define MAX_TRIPS (INT64_C(1) << 36)

static bool check_size(struct graph *g, const struct value *v, struct diag *d)
{
    const struct type *t = &v->type;
    int64_t bytes = (int64_t)dtype_bytes(t->dtype);
    bool large = false, empty = false;
    for (int i = 0; t->kind == VK_TENSOR && i < t->rank; i++)
        if (dim_is_const(t->dims[i])) { /* a dim that is not known may be 1 */
            empty |= t->dims[i] == 0;
            large |= __builtin_mul_overflow(bytes, t->dims[i], &bytes) || bytes > MAX_BYTES;
        }
    if (!large || empty)
        return true;
    return fail(d, "'%s' is %s, which is larger than %" PRId64 " bytes, the most for one tensor",
                v->name ? v->name : "", type_text(&g->dims, &g->arena, t), MAX_BYTES);
}

static const struct value *behind_identity(const struct value *v)
{
    while (v && v->def && v->def->op == OP_identity)
        v = v->def->in[0];
    return v;
}

/* Whether the value, a condition, is true for certain. */
static bool is_true(const struct value *v)
{
    v = behind_identity(v);
    return v && v->constant && v->constant->kind == VK_TENSOR && v->constant->dtype == DT_BOOL &&
           tensor_count(v->constant) == 1 && tensor_i64(v->constant, 0);
}

static bool check_loop(const struct node *n, struct diag *d)
{
    const struct region *body = n->regions[0];
    const struct value *count = behind_identity(n->in[0]);
    const struct value *next = behind_identity(region_return(body)->in[0]);
    bool counted = count && count->constant && count->constant->kind == VK_TENSOR &&
                   dtype_is_int(count->constant->dtype) && tensor_count(count->constant) == 1;
    int64_t trips = counted ? tensor_i64(count->constant, 0) : n->in[0] ? 0 : INT64_MAX;
    bool goes_on = is_true(next) || (next == body->params[1] && (!n->in[1] || is_true(n->in[1])));
    if (trips <= MAX_TRIPS || !goes_on)
        return true;
    return fail(
        d, "a loop of %" PRId64 " trips whose condition never ends it, expected at most %" PRId64,
        trips, MAX_TRIPS);
}

struct checking {
    struct graph *g;
    struct diag *d;
};

static bool check_node(struct node *n, void *user)
{
    struct checking *c = user;
    bool ok = n->op != OP_loop || check_loop(n, c->d);
    for (int i = 0; ok && i < n->nout; i++)
        ok = check_size(c->g, n->out[i], c->d);
    return ok || fail_in(c->d, "%s", node_text(c->g, n));
}

bool limits_check(struct graph *g, struct diag *d)
{
    struct checking c = {g, d};
    for (int i = 0; i < g->main->nparams; i++)
        if (!check_size(g, g->main->params[i], d))
            return fail_in(d, "model input");
    return region_walk(g->main, check_node, &c);
}
