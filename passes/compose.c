/*
 * Primitives that spell one of the composite operators become that operator, which one tile program
 * computes. Every rule proves shapes, axes and constants, and replaces by what is equal up to
 * rounding.
 *
 * Requires inferred types; simplified graphs match best. Leaves dead nodes to remove_dead.
 */
#include "passes/compose.h"

static const struct {
    enum op root; /* the operator that the pattern ends with */
    compose_rule *rule;
} rules[] = {
    {OP_mul, compose_activation},   {OP_div, compose_activation},
    {OP_div, compose_sigmoid},      {OP_reciprocal, compose_sigmoid},
    {OP_min, compose_clip},         {OP_max, compose_clip},
    {OP_mul, compose_hard_sigmoid}, {OP_div, compose_hard_sigmoid},
    {OP_div, compose_softmax},      {OP_mul, compose_softmax},
    {OP_log, compose_log_softmax},  {OP_sub, compose_log_softmax},
    {OP_div, compose_norm},         {OP_mul, compose_norm},
    {OP_add, compose_norm_folded},  {OP_mul, compose_norm_scale},
    {OP_add, compose_norm_bias},    {OP_reshape, compose_group_norm},
    {OP_mul, compose_group_scale},  {OP_add, compose_group_bias},
    {OP_einsum, compose_einsum},    {OP_attention, compose_attention},
    {OP_matmul, compose_sdpa},      {OP_where, compose_erfc},
    {OP_transpose, compose_scatter_along}, {OP_where, compose_erf_inv},
    {OP_add, compose_interleave},   {OP_or, compose_interleave},
    {OP_where, compose_choice},     {OP_add, compose_padded},
    {OP_div, compose_quotient},     {OP_reduce_window, compose_repeated_windows},
    {OP_gather, compose_repeated_rows},
};

static bool visit(struct node *n, void *user)
{
    struct compose *c = user;
    if (!compose_threefry(c, n))
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].root != n->op || !n->out[0]->uses || n->out[0]->type.kind != VK_TENSOR ||
            n->out[0]->type.rank < 0)
            continue;
        struct value *old = n->out[0], *v = rules[i].rule(c, n);
        if (!v && diag_failed(c->d))
            return false;
        if (!v || !type_equal(&v->type, &old->type))
            continue;
        const char *made = v->def ? op_name(v->def->op) : "operand"; /* a sum over nothing */
        why(c->o, n, arena_printf(&c->g->arena, "compose.%s", made),
            "primitives that end here are one %s", made);
        if (!v->name)
            v->name = old->name;
        value_replace(old, v);
        break;
    }
    return true;
}

bool pass_compose(struct graph *g, const struct options *o, struct diag *d)
{
    struct compose c = {g, o, d};
    if (!for_each_node(g->main, visit, &c))
        return false;
    remove_dead(g);
    merge_common(g);
    remove_dead(g);
    return infer_types(g, d);
}
