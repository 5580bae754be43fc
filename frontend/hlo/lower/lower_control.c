/* Plumbing that disappears, and control flow. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"
#include "passes/pass.h"

#include <string.h>

/* All operands' leaves in order, as many as there are results: tuples, copies, barriers. */
bool hlo_lower_pass(struct hlo_lower *l)
{
    int n = 0;
    for (int k = 0; k < l->i->operand_count; k++)
        for (int j = 0; j < l->operands[k].count && n < l->out.count; j++)
            l->out.v[n++] = l->operands[k].v[j];
    return n == l->out.count ||
           HLO_ERROR(l, "its operands hold %d arrays, its shape %d", n, l->out.count);
}

bool hlo_lower_nothing(struct hlo_lower *l)
{
    return true;
}

/* The last leaves of the operand: results of what was started. */
bool hlo_lower_pass_last(struct hlo_lower *l)
{
    if (l->operands[0].count < l->out.count)
        return HLO_ERROR(l, "the operand holds %d arrays, expected %d", l->operands[0].count,
                         l->out.count);
    int first = l->operands[0].count - l->out.count;
    for (int k = 0; k < l->out.count; k++)
        l->out.v[k] = l->operands[0].v[first + k];
    return true;
}

static bool give_at(struct hlo_lower *l, int first)
{
    if (first + l->out.count > l->operands[0].count)
        return HLO_ERROR(l, "the operand holds %d arrays, expected %d", l->operands[0].count,
                         first + l->out.count);
    memcpy(l->out.v, l->operands[0].v + first, sizeof *l->out.v * (size_t)l->out.count);
    return true;
}

bool hlo_lower_get_tuple_element(struct hlo_lower *l)
{
    int first = 0;
    for (int k = 0; k < hlo_attr_int(l->i, HLO_ATTR_index); k++)
        first += hlo_leaf_count(h_in_shape(l, 0)->elements[k]);
    return give_at(l, first);
}

bool hlo_lower_call(struct hlo_lower *l)
{
    bool fusion = l->i->opcode == HLO_OP_FUSION;
    struct leaves result;
    if (!hlo_inline(l, hlo_attr_computation(l->i, fusion ? HLO_ATTR_calls : HLO_ATTR_to_apply),
                    l->operands, l->i->operand_count, &result))
        return false;
    return h_done_all(l, result.v, result.count);
}

/* copy-start gives (copy, source, context). */
bool hlo_lower_copy_start(struct hlo_lower *l)
{
    if (l->out.count < 2)
        return HLO_ERROR(l, "%d arrays, expected 3", l->out.count);
    l->out.v[0] = l->out.v[1] = h_in(l, 0);
    if (l->out.count > 2)
        l->out.v[2] = b_scalar(l->b, hlo_type_dtype(hlo_leaf(l->i->shape, 2)->type), 0);
    return l->out.count <= 3 || HLO_ERROR(l, "%d arrays, expected 3", l->out.count);
}

bool hlo_lower_copy_done(struct hlo_lower *l)
{
    return give_at(l, 0);
}

/* async-start gives ((operands), result, contexts...): the result is computed at once. */
bool hlo_lower_async_start(struct hlo_lower *l)
{
    struct leaves result;
    int n = 0;
    if (!hlo_inline(l, hlo_attr_computation(l->i, HLO_ATTR_calls), l->operands, l->i->operand_count,
                    &result))
        return false;
    for (int k = 0; k < l->i->operand_count; k++)
        for (int j = 0; j < l->operands[k].count && n < l->out.count; j++)
            l->out.v[n++] = l->operands[k].v[j];
    for (int j = 0; j < result.count && n < l->out.count; j++)
        l->out.v[n++] = result.v[j];
    for (; n < l->out.count; n++)
        l->out.v[n] = h_fill(l, b_scalar(l->b, hlo_type_dtype(hlo_leaf(l->i->shape, n)->type), 0),
                             hlo_leaf(l->i->shape, n)->dims, hlo_leaf(l->i->shape, n)->rank);
    return !diag_failed(l->b->d);
}

bool hlo_lower_async_done(struct hlo_lower *l)
{
    if (h_in_shape(l, 0)->type != HLO_TUPLE || h_in_shape(l, 0)->count < 2)
        return HLO_ERROR(l, "the operand is not what async-start gives");
    return give_at(l, hlo_leaf_count(h_in_shape(l, 0)->elements[0]));
}

/* ---- conditional ---- */

static int branches(const struct hlo_instruction *i, const struct hlo_computation **list, int room)
{
    const struct hlo_attr *a = hlo_attr(i, HLO_ATTR_branch_computations);
    if (!a) {
        list[0] = hlo_attr_computation(i, HLO_ATTR_true_computation);
        list[1] = hlo_attr_computation(i, HLO_ATTR_false_computation);
        return 2;
    }
    for (int k = 0; k < a->computations->count && k < room; k++)
        list[k] = a->computations->v[k];
    return a->computations->count;
}

/* A branch inside region r; the operands are values from around it. */
static bool import_branch(struct hlo_lower *l, const struct hlo_computation *c,
                          struct leaves *operand, struct region *r)
{
    struct hlo_lower inner = *l;
    struct leaves result;
    inner.b->r = r;
    if (!hlo_inline(&inner, c, operand, 1, &result))
        return false;
    node_append(r, node_new(l->b->g, OP_return, result.v, result.count, 0, ""));
    return true;
}

/* Branches first.. of which the last is taken when no other is: a chain of ifs on the index. */
static bool choose(struct hlo_lower *l, const struct hlo_computation **list, int first, int count,
                   struct region *r)
{
    struct hlo_lower inner = *l;
    inner.b->r = r;
    if (first == count - 1)
        return import_branch(l, list[first], &l->operands[1 + first], r);
    struct value *index = h_in(l, 0);
    struct value *here =
        b_dtype(index) == DT_BOOL ? index : b_2(inner.b, OP_eq, index, b_like(l->b, index, first));
    struct node *n = b_place(inner.b, OP_if, &here, 1, l->out.count, NULL);
    if (!n || !import_branch(l, list[first], &l->operands[1 + first], node_add_region(l->b->g, n)) ||
        !choose(l, list, first + 1, count, node_add_region(l->b->g, n)) || !b_infer(inner.b, n))
        return false;
    node_append(r, node_new(l->b->g, OP_return, n->out, n->nout, 0, ""));
    return true;
}

bool hlo_lower_conditional(struct hlo_lower *l)
{
    const struct hlo_attr *a = hlo_attr(l->i, HLO_ATTR_branch_computations);
    int room = a ? a->computations->count : 2;
    const struct hlo_computation **list =
        ARENA_ARRAY(&l->b->g->arena, const struct hlo_computation *, room + 1);
    int count = branches(l->i, list, room);
    struct leaves result;
    if (l->i->operand_count != count + 1)
        return HLO_ERROR(l, "%d operands for %d branches", l->i->operand_count, count);
    double known;
    int index = h_known(h_in(l, 0), &known) ? (int)known : -1;
    if (h_known(h_in(l, 0), &known) && b_dtype(h_in(l, 0)) == DT_BOOL)
        index = !known;
    if (h_known(h_in(l, 0), &known) || count == 1) {
        index = index < 0 || index >= count ? count - 1 : index;
        return hlo_inline(l, list[index], &l->operands[1 + index], 1, &result) &&
               h_done_all(l, result.v, result.count);
    }
    struct value *test = h_in(l, 0);
    if (b_dtype(test) != DT_BOOL)
        test = b_2(l->b, OP_eq, test, b_like(l->b, test, 0));
    struct node *n = b_place(l->b, OP_if, &test, 1, l->out.count, NULL);
    return n && import_branch(l, list[0], &l->operands[1], node_add_region(l->b->g, n)) &&
           choose(l, list, 1, count, node_add_region(l->b->g, n)) && b_infer(l->b, n) &&
           h_done_all(l, n->out, n->nout);
}

/* ---- while ---- */

/* The state's leaf that an instruction of the body is, when it is one as it came; else -1. */
static int state_leaf(const struct hlo_instruction *i)
{
    if (i->opcode == HLO_OP_PARAMETER)
        return 0;
    if (i->opcode == HLO_OP_COPY)
        return state_leaf(i->operands[0]);
    if (i->opcode != HLO_OP_GET_TUPLE_ELEMENT)
        return -1;
    int at = state_leaf(i->operands[0]);
    for (int k = 0; at >= 0 && k < hlo_attr_int(i, HLO_ATTR_index); k++)
        at += hlo_leaf_count(i->operands[0]->shape->elements[k]);
    return at;
}

/* Marks leaves that the body hands on unchanged; *at counts leaves. */
static void find_fixed(const struct hlo_instruction *root, bool *fixed, int *at)
{
    int n = hlo_leaf_count(root->shape), from = state_leaf(root);
    if (from < 0 && root->opcode == HLO_OP_TUPLE) {
        for (int k = 0; k < root->operand_count; k++)
            find_fixed(root->operands[k], fixed, at);
        return;
    }
    for (int k = 0; k < n; k++)
        fixed[*at + k] = from == *at;
    *at += n;
}

/* A body or condition whose fixed leaves are the values from around the loop and the others
 * parameters. */
static bool import_turn(struct hlo_lower *l, const struct hlo_computation *c, const bool *fixed,
                        struct region *r, bool body)
{
    struct leaves *init = &l->operands[0], state = {init->count, NULL}, result;
    struct hlo_lower inner = *l;
    int n = 0;
    inner.b->r = r;
    state.v = ARENA_ARRAY(&l->b->g->arena, struct value *, init->count + 1);
    for (int k = 0; k < init->count; k++) {
        struct type t = init->v[k]->type;
        state.v[k] = fixed[k] ? init->v[k] : region_add_param(r, &t, NULL);
    }
    if (!hlo_inline(&inner, c, &state, 1, &result))
        return false;
    struct value **out = ARENA_ARRAY(&l->b->g->arena, struct value *, result.count + 1);
    for (int k = 0; k < result.count; k++)
        if (!body || !fixed[k])
            out[n++] = result.v[k];
    node_append(r, node_new(l->b->g, OP_return, out, n, 0, ""));
    return true;
}

bool hlo_lower_while(struct hlo_lower *l)
{
    const struct hlo_computation *body = hlo_attr_computation(l->i, HLO_ATTR_body);
    struct leaves *init = &l->operands[0];
    bool *fixed = ARENA_ARRAY(&l->b->g->arena, bool, init->count + 1);
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, init->count + 1);
    int at = 0, n = 0;
    if (hlo_leaf_count(body->root->shape) != init->count || l->out.count != init->count)
        return HLO_ERROR(l, "the body gives %d arrays, expected %d",
                         hlo_leaf_count(body->root->shape), init->count);
    find_fixed(body->root, fixed, &at);
    for (int k = 0; k < init->count; k++)
        if (!fixed[k])
            in[n++] = init->v[k];
    struct node *w = b_place(l->b, OP_while, in, n, n, NULL);
    if (!w ||
        !import_turn(l, hlo_attr_computation(l->i, HLO_ATTR_condition), fixed,
                     node_add_region(l->b->g, w), false) ||
        !import_turn(l, body, fixed, node_add_region(l->b->g, w), true) || !b_infer(l->b, w))
        return false;
    n = 0;
    for (int k = 0; k < init->count; k++)
        l->out.v[k] = fixed[k] ? init->v[k] : w->out[n++];
    return true;
}

/* ---- scan ---- */

/* to_apply: (one step of each input, carries...) -> (one step of each result, carries...). */
bool hlo_lower_scan(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int carries = (int)hlo_attr_int(l->i, HLO_ATTR_num_carries), operands = l->i->operand_count;
    int inputs = operands - carries, ys = l->out.count - carries;
    int64_t axis = hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0];
    bool back = hlo_attr_int(l->i, HLO_ATTR_is_reverse);
    if (carries < 0 || inputs < 1 || ys < 0 || c->parameter_count != operands)
        return HLO_ERROR(l, "%d operands, %d of them carries, and %d results", operands, carries,
                         l->out.count);
    int count = operands > l->out.count ? operands : l->out.count;
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, count + 1);
    int64_t *axes = ARENA_ARRAY(&l->b->g->arena, int64_t, count + 1);
    int64_t *directions = ARENA_ARRAY(&l->b->g->arena, int64_t, count + 1);
    struct attrs a = {0};
    for (int k = 0; k < count; k++) {
        axes[k] = axis;
        directions[k] = back;
    }
    for (int k = 0; k < operands; k++)
        in[k] = h_in(l, k < carries ? inputs + k : k - carries);
    h_set_int(l, &a, "num_scan_inputs", inputs);
    attr_set_ints(&l->b->g->arena, &a, "scan_input_axes", axes, inputs);
    attr_set_ints(&l->b->g->arena, &a, "scan_input_directions", directions, inputs);
    attr_set_ints(&l->b->g->arena, &a, "scan_output_axes", axes, ys);
    attr_set_ints(&l->b->g->arena, &a, "scan_output_directions", directions, ys);
    struct node *n = b_place(l->b, OP_scan, in, operands, l->out.count, &a);
    if (!n)
        return false;
    struct region *r = node_add_region(l->b->g, n);
    struct leaves *args = ARENA_ARRAY(&l->b->g->arena, struct leaves, operands + 1), result;
    struct hlo_lower inner = *l;
    inner.b->r = r;
    for (int k = 0; k < operands; k++) {
        int parameter = k < carries ? inputs + k : k - carries;
        struct type t = hlo_type_of(c->parameters[parameter]->shape);
        args[parameter].count = 1;
        args[parameter].v = ARENA_ARRAY(&l->b->g->arena, struct value *, 1);
        args[parameter].v[0] = region_add_param(r, &t, NULL);
    }
    if (!hlo_inline(&inner, c, args, operands, &result))
        return false;
    if (result.count != l->out.count)
        return HLO_ERROR(l, "the computation gives %d results, expected %d", result.count,
                         l->out.count);
    struct value **out = ARENA_ARRAY(&l->b->g->arena, struct value *, result.count + 1);
    for (int k = 0; k < result.count; k++)
        out[k] = result.v[k < carries ? ys + k : k - carries];
    node_append(r, node_new(l->b->g, OP_return, out, result.count, 0, ""));
    if (!b_infer(l->b, n))
        return false;
    for (int k = 0; k < result.count; k++)
        l->out.v[k < carries ? ys + k : k - carries] = n->out[k];
    return true;
}
