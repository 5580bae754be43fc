/* sort and topk: a comparator that orders one operand by its natural order is recognised. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

/* The comparator's parameter pair (which = 0 or 1) behind i, through what keeps every number's
 * order and place. */
static int parameter_of(const struct hlo_instruction *i)
{
    return i->opcode == HLO_OP_PARAMETER ? (int)i->parameter : -1;
}

/* Operand by which the comparator sorts, or -1: LT or GT of its two elements, in total order where
 * they are floats. */
static int sort_key(const struct hlo_computation *c, bool *descending)
{
    const struct hlo_instruction *i = c->root;
    if (i->opcode != HLO_OP_COMPARE || c->captures.count)
        return -1;
    int64_t direction = hlo_attr_int(i, HLO_ATTR_direction);
    int a = parameter_of(i->operands[0]), b = parameter_of(i->operands[1]);
    bool is_float = dtype_is_float(hlo_type_dtype(i->operands[0]->shape->type));
    bool total =
        hlo_attr(i, HLO_ATTR_type) && hlo_attr_int(i, HLO_ATTR_type) == HLO_COMPARISON_TOTALORDER;
    if (a < 0 || b < 0 || a / 2 != b / 2 || a == b || (is_float && !total) ||
        dtype_is_complex(hlo_type_dtype(i->operands[0]->shape->type)) ||
        (direction != HLO_DIRECTION_LT && direction != HLO_DIRECTION_GT))
        return -1;
    *descending = (direction == HLO_DIRECTION_GT) == (a < b);
    return a / 2;
}

bool hlo_lower_sort(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int n = l->i->operand_count;
    bool descending = false;
    int key = sort_key(c, &descending);
    struct value **in = ARENA_ARRAY(&l->g->arena, struct value *, n);
    struct attrs a = {0};
    for (int k = 0; k < n; k++)
        in[k] = h_in(l, k);
    h_set_int(l, &a, "axis", hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0]);
    if (key >= 0) {
        h_set_int(l, &a, "key", key);
        h_set_int(l, &a, "descending", descending);
    } else if (hlo_admits_lanes(c)) {
        h_set_int(l, &a, "lanes", 1);
    }
    struct node *s = h_node(l, OP_sort, in, n, n, &a);
    if (!s || (key < 0 && !hlo_region(l, c, node_add_region(l->g, s), hlo_admits_lanes(c))))
        return false;
    return h_infer(l, s) && h_done_all(l, s->out, n);
}

bool hlo_lower_topk(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    h_set_int(l, &a, "k", hlo_attr_int(l->i, HLO_ATTR_k));
    h_set_int(l, &a, "largest", hlo_attr_int(l->i, HLO_ATTR_largest));
    struct node *n = h_node(l, OP_top_k, &x, 1, 2, &a);
    return h_infer(l, n) &&
           h_done_all(
               l,
               (struct value *[]){
                   n->out[0], h_cast(l, n->out[1], hlo_type_dtype(hlo_leaf(l->i->shape, 1)->type))},
               2);
}
