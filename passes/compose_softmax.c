/*
 * Softmax and its logarithm. A shift by the maximum is what the composite does by itself.
 */
#include "passes/compose.h"

/* x of x - max(x), the maximum over those axes; else v itself. */
static struct value *unshifted(struct value *v, const struct composed_reduction *over)
{
    struct node *n = made_by(v, OP_sub);
    struct composed_reduction max;
    if (n && is_reduction(n->in[1], OP_reduce_max, &max) && max.x == n->in[0] &&
        same_axes(&max, over) && same_type(n->in[0], v))
        return n->in[0];
    return v;
}

static struct value *emit_softmax(struct compose *c, struct node *n, enum op op, struct value *x,
                                  const struct composed_reduction *over)
{
    struct builder b = builder_before(n, c->d);
    struct attrs as = {0};
    if (over->naxes != 1) {
        why(c->o, n, "compose.softmax-axes", "softmax over %d axes is left as primitives",
            over->naxes);
        return NULL;
    }
    attr_set_int(&c->g->arena, &as, "axis", over->axes[0]);
    return same_type(x, n->out[0]) ? b_op(&b, op, &x, 1, &as) : NULL;
}

/* exp(x) / sum(exp(x)) */
struct value *compose_softmax(struct compose *c, struct node *n)
{
    for (int i = 0; i < (n->op == OP_mul ? 2 : 1); i++) {
        struct value *below = n->in[!i];
        struct node *e = made_by(n->in[i], OP_exp);
        struct composed_reduction sum;
        if (!e || (n->op == OP_mul && !is_reciprocal(below, &below)) ||
            !is_reduction(below, OP_reduce_sum, &sum))
            continue;
        if (sum.x != e->out[0]) {
            why(c->o, n, "compose.softmax-sum",
                "looks like softmax, but the sum is of another value");
            continue;
        }
        return emit_softmax(c, n, OP_softmax, unshifted(e->in[0], &sum), &sum);
    }
    return NULL;
}

/* l is log(sum(exp(z))), or that of a shifted z with the shift added again. */
static bool log_sum_exp(struct value *l, const struct value *z, struct composed_reduction *over)
{
    struct node *n = l->def, *e;
    struct composed_reduction max, sum;
    if (is_reduction(l, OP_reduce_log_sum_exp, over))
        return over->x == z;
    if (n && n->op == OP_log)
        return is_reduction(n->in[0], OP_reduce_sum, over) && (e = made_by(over->x, OP_exp)) &&
               e->in[0] == z;
    for (int i = 0; n && n->op == OP_add && i < 2; i++) {
        struct node *log = made_by(n->in[!i], OP_log);
        if (!is_reduction(n->in[i], OP_reduce_max, &max) || max.x != z || !log ||
            !is_reduction(log->in[0], OP_reduce_sum, &sum) || !(e = made_by(sum.x, OP_exp)) ||
            !same_axes(&max, &sum) || unshifted(e->in[0], &sum) != z)
            continue;
        *over = sum;
        return e->in[0] != z;
    }
    return false;
}

/* log(softmax(x)), or x - log(sum(exp(x))) */
struct value *compose_log_softmax(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    struct composed_reduction over;
    if (n->op == OP_log) {
        struct node *soft = made_by(n->in[0], OP_softmax);
        if (!soft)
            return NULL;
        if (!value_has_one_use(soft->out[0])) {
            why(c->o, n, "compose.log_softmax-shared", "the softmax below is needed by itself too");
            return NULL;
        }
        return b_op(&b, OP_log_softmax, soft->in, 1, &soft->attrs);
    }
    if (!log_sum_exp(n->in[1], n->in[0], &over))
        return NULL;
    return emit_softmax(c, n, OP_log_softmax, unshifted(n->in[0], &over), &over);
}
