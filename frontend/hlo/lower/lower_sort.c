/*
 * sort and topk: a comparator that orders some operands, one after the other, by their natural
 * order is recognised.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/dictionary.h"
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

static bool is_integer(const struct hlo_instruction *i, int64_t number)
{
    int dtype = hlo_type_dtype(i->shape->type);
    return i->opcode == HLO_OP_CONSTANT && i->literal->count == 1 && i->literal->data && dtype_is_int(dtype) &&
           dtype_load_i64(dtype, i->literal->data, 0) == number;
}

/* select(bits < 0, bits ^ largest, bits) of a float's bits, as XLA writes a total order after its passes: the float.
 * Else NULL. */
static const struct hlo_instruction *totally_ordered(const struct hlo_instruction *i)
{
    if (i->opcode != HLO_OP_SELECT)
        return NULL;
    const struct hlo_instruction *negative = i->operands[0], *flipped = i->operands[1], *bits = i->operands[2];
    int width = dtype_info(hlo_type_dtype(i->shape->type))->bits;
    if ((bits->opcode != HLO_OP_BITCAST && bits->opcode != HLO_OP_BITCAST_CONVERT) ||
        !compares(negative, HLO_DIRECTION_LT) || negative->operands[0] != bits ||
        !is_integer(negative->operands[1], 0) || flipped->opcode != HLO_OP_XOR)
        return NULL;
    int other = flipped->operands[0] == bits;
    const struct hlo_instruction *x = bits->operands[0];
    bool flips = flipped->operands[1 - other] == bits && dtype_is_float(hlo_type_dtype(x->shape->type)) &&
                 is_integer(flipped->operands[other], (int64_t)(((uint64_t)1 << (width - 1)) - 1));
    return flips ? x : NULL;
}

/* A comparison of the two elements of one operand: which, and how it orders floats. A comparison
 * that is not of total order does not tell where NaN goes. */
static bool compared_pair(const struct hlo_instruction *i, int64_t *operand, int64_t *order,
                          bool *swapped)
{
    const struct hlo_instruction *x = totally_ordered(i->operands[0]), *y = totally_ordered(i->operands[1]);
    bool total = is_total(i) || (x && y);
    struct compared a = compared(x && y ? x : i->operands[0]), b = compared(x && y ? y : i->operands[1]);
    int dtype = hlo_type_dtype((x && y ? x : i->operands[0])->shape->type);
    if (a.parameter < 0 || b.parameter < 0 || a.parameter / 2 != b.parameter / 2 ||
        a.parameter == b.parameter || a.one_zero != b.one_zero || a.one_nan != b.one_nan ||
        dtype_is_complex(dtype))
        return false;
    bool canonical = dtype_is_float(dtype) && (!total || (a.one_zero && a.one_nan));
    if (dtype_is_float(dtype) && total && a.one_zero != a.one_nan)
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

/* What the comparator takes from outside are constants: it can be read as if they stood in it. */
static bool takes_constants(const struct hlo_computation *c)
{
    bool all = true;
    for (int i = 0; i < c->captures.count; i++)
        all &= c->captures.v[i]->opcode == HLO_OP_CONSTANT;
    return all;
}

bool hlo_lower_sort(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int n = l->i->operand_count;
    struct keys keys = {0};
    bool known = takes_constants(c) && find_keys(c->root, &keys);
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

/*
 * ApproxTopK and stablehlo.dynamic_approx_top_k: x, its places, first values, and for the second k; backend_config:
 * reduction_dim. The result's size there is k, or more where the results of parts are not brought together. Exact here.
 */
bool hlo_approx_top_k(struct hlo_lower *l)
{
    enum { X, K = 4 };
    const struct hlo_attr *text = hlo_attr(l->i, HLO_ATTR_backend_config);
    const struct hlo_attr *c = hlo_attr(l->i, HLO_ATTR_called_computations);
    struct attrs config = {0}, a = {0};
    const char *rest = "";
    int rank = l->i->operand_count ? h_rank(h_in(l, X)) : 0;
    if (l->i->operand_count < K || l->out.count != 2 || rank < 1)
        return HLO_ERROR(l, "%d operands and %d results, expected an array, its places, two first values, and 2",
                         l->i->operand_count, l->out.count);
    if (text && !hlo_read_dictionary(&l->b->g->arena, text->text, &config, &rest))
        return HLO_ERROR(l, "backend_config is not a dictionary: %.40s", rest);
    int64_t dim = attr_int(&config, "reduction_dim", -1), one[1] = {1};
    dim += dim < 0 ? rank : 0;
    if (dim < 0 || dim >= rank)
        return HLO_ERROR(l, "reduction_dim is %lld of %d dimensions", (long long)dim, rank);
    const struct hlo_instruction *root = c && c->computations->count == 1 ? c->computations->v[0]->root : NULL;
    const struct hlo_shape *s = hlo_leaf(l->i->shape, 0);
    bool by_operand = s->dims[dim] == HLO_UNBOUNDED;
    if (by_operand && l->i->operand_count <= K)
        return HLO_ERROR(l, "k is known only while running, and no operand has it");
    struct value *k =
        by_operand ? h_reshape(l, h_cast(l, h_in(l, K), DT_I64), one, 1) : b_i64s(l->b, &s->dims[dim], 1);
    bool smallest =
        root && root->opcode == HLO_OP_COMPARE && hlo_attr_int(root, HLO_ATTR_direction) == HLO_DIRECTION_LT;
    h_set_int(l, &a, "axis", dim);
    h_set_int(l, &a, "largest", !smallest);
    struct node *n = diag_failed(l->b->d) ? NULL : b_place(l->b, OP_topk, (struct value *[]){h_in(l, X), k}, 2, 2, &a);
    if (!n || !b_infer(l->b, n))
        return false;
    struct value *at = h_cast(l, n->out[1], hlo_type_dtype(hlo_leaf(l->i->shape, 1)->type));
    return h_done_all(l, (struct value *[]){n->out[0], at}, 2);
}
