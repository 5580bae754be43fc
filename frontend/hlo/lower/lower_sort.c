/*
 * sort and topk: a comparator that orders some operands, one after the other, by their natural
 * order is recognised.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

enum { MAX_KEYS = 16, DESCENDING = 1, CANONICAL = 2 };

struct keys {
    int count;
    int64_t operand[MAX_KEYS], order[MAX_KEYS];
};

/* What is compared: a parameter, with its zeros and its NaNs each made one number. */
struct compared {
    int parameter; /* -1: something else */
    bool one_zero, one_nan;
};

static bool is_constant(const struct hlo_instruction *i, bool nan)
{
    double v;
    if (i->opcode != HLO_OP_CONSTANT || i->literal->count != 1 || !i->literal->data ||
        !dtype_is_float(hlo_type_dtype(i->shape->type)))
        return false;
    v = dtype_load_f64(hlo_type_dtype(i->shape->type), i->literal->data, 0);
    return nan ? v != v : v == 0;
}

static int parameter_of(const struct hlo_instruction *i)
{
    while (i->opcode == HLO_OP_COPY || i->opcode == HLO_OP_SELECT)
        i = i->operands[i->opcode == HLO_OP_COPY ? 0 : 2];
    return i->opcode == HLO_OP_PARAMETER ? (int)i->parameter : -1;
}

static bool compares(const struct hlo_instruction *i, int64_t direction)
{
    return i->opcode == HLO_OP_COMPARE && hlo_attr_int(i, HLO_ATTR_direction) == direction;
}

static bool is_total(const struct hlo_instruction *i)
{
    return hlo_attr(i, HLO_ATTR_type) &&
           hlo_attr_int(i, HLO_ATTR_type) == HLO_COMPARISON_TOTALORDER;
}

/* select(x == 0, 0, x), select(x != x, NaN, x), or both. */
static struct compared compared(const struct hlo_instruction *i)
{
    struct compared c = {-1, false, false};
    int parameter = parameter_of(i);
    for (; i->opcode != HLO_OP_PARAMETER; i = i->operands[2]) {
        if (i->opcode != HLO_OP_SELECT)
            return c;
        const struct hlo_instruction *test = i->operands[0];
        if (test->opcode != HLO_OP_COMPARE || is_total(test) ||
            parameter_of(test->operands[0]) != parameter)
            return c;
        bool zero = compares(test, HLO_DIRECTION_EQ) && is_constant(test->operands[1], false) &&
                    is_constant(i->operands[1], false);
        bool nan = compares(test, HLO_DIRECTION_NE) && is_constant(i->operands[1], true) &&
                   parameter_of(test->operands[1]) == parameter;
        if (!zero && !nan)
            return c;
        c.one_zero |= zero;
        c.one_nan |= nan;
    }
    c.parameter = parameter;
    return c;
}

/* A comparison of the two elements of one operand: which, and how it orders floats. A comparison
 * that is not of total order does not tell where NaN goes. */
static bool compared_pair(const struct hlo_instruction *i, int64_t *operand, int64_t *order,
                          bool *swapped)
{
    struct compared a = compared(i->operands[0]), b = compared(i->operands[1]);
    int dtype = hlo_type_dtype(i->operands[0]->shape->type);
    if (a.parameter < 0 || b.parameter < 0 || a.parameter / 2 != b.parameter / 2 ||
        a.parameter == b.parameter || a.one_zero != b.one_zero || a.one_nan != b.one_nan ||
        dtype_is_complex(dtype))
        return false;
    bool canonical = dtype_is_float(dtype) && (!is_total(i) || (a.one_zero && a.one_nan));
    if (dtype_is_float(dtype) && is_total(i) && a.one_zero != a.one_nan)
        return false;
    *operand = a.parameter / 2;
    *order = canonical ? CANONICAL : 0;
    *swapped = a.parameter > b.parameter;
    return true;
}

static bool same_pair(const struct hlo_instruction *i, int64_t operand)
{
    int64_t other, order;
    bool swapped;
    return compares(i, HLO_DIRECTION_EQ) && compared_pair(i, &other, &order, &swapped) &&
           other == operand;
}

/* less(a), or a < b or (a == b and less(the next operand)). */
static bool find_keys(const struct hlo_instruction *i, struct keys *k)
{
    const struct hlo_instruction *rest = NULL;
    for (int side = 0; i->opcode == HLO_OP_OR && !rest; side++) {
        if (side == 2)
            return false;
        if (i->operands[1 - side]->opcode == HLO_OP_AND && i->operands[side]->opcode == HLO_OP_COMPARE) {
            rest = i->operands[1 - side];
            i = i->operands[side];
        }
    }
    bool swapped, less = compares(i, HLO_DIRECTION_LT), greater = compares(i, HLO_DIRECTION_GT);
    if (k->count == MAX_KEYS || !(less || greater) ||
        !compared_pair(i, &k->operand[k->count], &k->order[k->count], &swapped))
        return false;
    int64_t operand = k->operand[k->count];
    k->order[k->count++] |= greater != swapped ? DESCENDING : 0;
    if (!rest)
        return true;
    bool first = same_pair(rest->operands[0], operand);
    return (first || same_pair(rest->operands[1], operand)) && find_keys(rest->operands[first], k);
}

bool hlo_lower_sort(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int n = l->i->operand_count;
    struct keys keys = {0};
    bool known = !c->captures.count && find_keys(c->root, &keys);
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, n);
    struct attrs a = {0};
    for (int k = 0; k < n; k++)
        in[k] = h_in(l, k);
    h_set_int(l, &a, "axis", hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0]);
    if (known) {
        attr_set_ints(&l->b->g->arena, &a, "keys", keys.operand, keys.count);
        attr_set_ints(&l->b->g->arena, &a, "orders", keys.order, keys.count);
    } else if (hlo_admits_vectors(c)) {
        h_set_int(l, &a, "lanes", 1);
    }
    struct node *s = b_place(l->b, OP_sort, in, n, n, &a);
    if (!s || (!known && !hlo_region(l, c, node_add_region(l->b->g, s), hlo_admits_vectors(c))))
        return false;
    return b_infer(l->b, s) && h_done_all(l, s->out, n);
}

bool hlo_lower_topk(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    h_set_int(l, &a, "k", hlo_attr_int(l->i, HLO_ATTR_k));
    h_set_int(l, &a, "largest", hlo_attr_int(l->i, HLO_ATTR_largest));
    struct node *n = b_place(l->b, OP_top_k, &x, 1, 2, &a);
    return b_infer(l->b, n) &&
           h_done_all(
               l,
               (struct value *[]){
                   n->out[0], h_cast(l, n->out[1], hlo_type_dtype(hlo_leaf(l->i->shape, 1)->type))},
               2);
}
