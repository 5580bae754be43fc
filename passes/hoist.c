/*
 * pass hoist: what the body of a loop computes from values outside alone moves before the loop.
 *
 * Only operators that cannot fail, since a loop may make no trip, and that do not make more elements
 * than they read, which would be kept instead of made where they are used. Requires inferred types.
 */
#include "passes/match.h"
#include "passes/pass.h"

static bool is_loop(enum op op) { return op == OP_while || op == OP_loop || op == OP_scan; }

static bool cannot_fail(const struct node *n)
{
    if (op_infos[n->op].flags & (OPF_ELEMENTWISE | OPF_VIEW))
        return true;
    switch (n->op) {
    case OP_transpose:
    case OP_reverse:
    case OP_bitcast:
    case OP_total_order:
    case OP_matmul:
    case OP_reduce_sum:
    case OP_reduce_mean:
    case OP_reduce_max:
    case OP_reduce_min:
    case OP_reduce_prod:
        return true;
    default:
        return false;
    }
}

/* Elements of a tensor of known size, else -1. */
static int64_t elements(const struct value *v)
{
    int64_t n = 1;
    if (!is_tensor(v))
        return -1;
    for (int i = 0; i < v->type.rank; i++) {
        if (!dim_is_const(v->type.dims[i]))
            return -1;
        n *= v->type.dims[i];
    }
    return n;
}

static bool from_outside(const struct region *r, const struct value *v)
{
    return v->constant || (v->def ? v->def->parent : v->param_of) != r;
}

static bool can_move(const struct region *r, const struct node *n)
{
    int64_t max = 1;
    bool computed = false;
    if (n->nregions || n->nout != 1 || (op_infos[n->op].flags & OPF_IMPURE) || !cannot_fail(n))
        return false;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i])
            continue;
        int64_t count = elements(n->in[i]);
        if (count < 0 || !from_outside(r, n->in[i]))
            return false;
        computed |= !n->in[i]->constant;
        max = count > max ? count : max;
    }
    int64_t count = elements(n->out[0]);
    return computed && count >= 0 && (count <= max || n->op == OP_matmul);
}

static void hoist_region(const struct options *o, struct region *r)
{
    for (struct node *n = r->first; n; n = n->next)
        for (int i = 0; i < n->nregions; i++) {
            hoist_region(o, n->regions[i]);
            if (!is_loop(n->op))
                continue;
            for (struct node *m = n->regions[i]->first, *next; m; m = next) {
                next = m->next;
                if (!can_move(n->regions[i], m))
                    continue;
                why(o, m, "hoist.loop", "nothing it reads changes in the loop: computed before it");
                node_unlink(m);
                node_insert_before(n, m);
            }
        }
}

bool pass_hoist(struct graph *g, const struct options *o, struct diag *d)
{
    hoist_region(o, g->main);
    return true;
}
