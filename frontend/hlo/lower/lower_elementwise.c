/* Elementwise opcodes that are not just a row of op.def. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <math.h>

/* The larger or smaller complex number, by real parts first. */
static struct value *complex_extreme(struct hlo_lower *l, enum op before, struct value *x,
                                     struct value *y)
{
    struct value *p = b_1(l->b, OP_complex_real, x), *q = b_1(l->b, OP_complex_real, y);
    struct value *r = b_1(l->b, OP_complex_imag, x), *s = b_1(l->b, OP_complex_imag, y);
    struct value *by_imag = b_2(l->b, before, r, s), *by_real = b_2(l->b, before, p, q);
    by_imag = b_2(l->b, OP_and, b_2(l->b, OP_eq, p, q), by_imag);
    return b_select(l->b, b_2(l->b, OP_or, by_real, by_imag), x, y);
}

/* add, subtract, multiply, maximum, minimum; on booleans they are logical. */
bool hlo_lower_arithmetic(struct hlo_lower *l)
{
    static const struct {
        enum op number, truth;
    } ops[HLO_OP_COUNT] = {
        [HLO_OP_ADD] = {OP_add, OP_or},       [HLO_OP_SUBTRACT] = {OP_sub, OP_xor},
        [HLO_OP_MULTIPLY] = {OP_mul, OP_and}, [HLO_OP_MAXIMUM] = {OP_max, OP_or},
        [HLO_OP_MINIMUM] = {OP_min, OP_and},
    };
    bool truth = b_dtype(h_in(l, 0)) == DT_BOOL;
    enum op op = truth ? ops[l->i->opcode].truth : ops[l->i->opcode].number;
    if (dtype_is_complex(b_dtype(h_in(l, 0))) && (op == OP_max || op == OP_min))
        return h_done(l, complex_extreme(l, op == OP_max ? OP_gt : OP_lt, h_in(l, 0), h_in(l, 1)));
    return h_done(l, h_elementwise(l, op, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, NULL));
}

bool hlo_lower_bits(struct hlo_lower *l)
{
    enum op op = l->i->opcode == HLO_OP_AND ? OP_and : l->i->opcode == HLO_OP_OR ? OP_or : OP_xor;
    return h_done(l, h_elementwise(l, op, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, NULL));
}

bool hlo_lower_not(struct hlo_lower *l)
{
    return h_done(l, b_1(l->b, b_dtype(h_in(l, 0)) == DT_BOOL ? OP_not : OP_bitnot, h_in(l, 0)));
}

bool hlo_lower_abs(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    if (dtype_class(b_dtype(x)) == DTC_UINT)
        return h_done(l, x);
    return h_done(l, b_1(l->b, dtype_is_complex(b_dtype(x)) ? OP_complex_abs : OP_abs, x));
}

bool hlo_lower_sign(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    if (dtype_class(b_dtype(x)) == DTC_UINT)
        return h_done(l, b_2(l->b, OP_min, x, b_like(l->b, x, 1)));
    return h_done(l, b_1(l->b, OP_sign, x));
}

/* Negative exponents of integers give 1 for base 1 and 0 for every other, -1 too. */
bool hlo_lower_power(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0), *y = h_in(l, 1);
    struct value *z = h_elementwise(l, OP_pow, (struct value *[]){x, y}, 2, NULL);
    if (dtype_class(b_dtype(x)) != DTC_SINT)
        return h_done(l, z);
    struct value *negative = b_2(l->b, OP_lt, y, b_like(l->b, y, 0));
    struct value *vanishes = b_2(l->b, OP_and, negative, b_2(l->b, OP_ne, x, b_like(l->b, x, 1)));
    return h_done(l, b_select(l->b, vanishes, b_like(l->b, x, 0), z));
}

static const enum op comparisons[] = {
    [HLO_DIRECTION_EQ] = OP_eq, [HLO_DIRECTION_NE] = OP_ne, [HLO_DIRECTION_GE] = OP_ge,
    [HLO_DIRECTION_GT] = OP_gt, [HLO_DIRECTION_LE] = OP_le, [HLO_DIRECTION_LT] = OP_lt,
};

/* n is `op` of u and a known number. */
static bool against(const struct node *n, enum op op, const struct value *u, double *number)
{
    return n && n->op == op && n->in[0] == u && h_known(n->in[1], number);
}

/* u, where v is u with one NaN and one zero, as JAX makes it before an order of all floats: NaN where
 * u differs from itself, 0 where it equals 0. Else NULL. */
static struct value *made_ordinary(const struct value *v)
{
    double nan, number, zero;
    const struct node *outer = v && v->def && v->def->op == OP_where ? v->def : NULL;
    const struct node *inner = outer && outer->in[2]->def ? outer->in[2]->def : NULL;
    if (!inner || inner->op != OP_where || !h_known(outer->in[1], &nan) || !isnan(nan) ||
        signbit(nan) || !h_known(inner->in[1], &zero) || zero != 0)
        return NULL;
    struct value *u = inner->in[2];
    const struct node *differs = outer->in[0]->def;
    bool picks = differs && differs->op == OP_ne && differs->in[0] == u && differs->in[1] == u;
    return picks && against(inner->in[0]->def, OP_eq, u, &number) && number == 0 ? u : NULL;
}

/* x < y or x <= y where NaN is the greatest number and zeros are equal. */
static struct value *nan_last(struct hlo_lower *l, bool equal, struct value *x, struct value *y)
{
    struct value *last = b_2(l->b, OP_ne, y, y), *before = b_2(l->b, equal ? OP_le : OP_lt, x, y);
    before = b_2(l->b, OP_or, last, before);
    return equal ? before : b_2(l->b, OP_and, b_2(l->b, OP_eq, x, x), before);
}

/* A comparison in the order of all floats of such operands; NULL: of others. */
static struct value *compare_ordinary(struct hlo_lower *l, enum op op)
{
    struct value *x = made_ordinary(h_in(l, 0)), *y = made_ordinary(h_in(l, 1));
    bool turned = op == OP_gt || op == OP_ge, equal = op == OP_le || op == OP_ge;
    if (!x || !y || op == OP_eq || op == OP_ne)
        return NULL;
    return nan_last(l, equal, turned ? y : x, turned ? x : y);
}

/* The integer whose bits x has, with a sign or without. */
static struct value *with_sign(struct hlo_lower *l, struct value *x, int64_t type)
{
    static const int other[][2] = {{DT_I8, DT_U8}, {DT_I16, DT_U16}, {DT_I32, DT_U32}, {DT_I64, DT_U64}};
    int column = type == HLO_COMPARISON_UNSIGNED ? 0 : type == HLO_COMPARISON_SIGNED ? 1 : -1;
    struct attrs a = {0};
    for (size_t k = 0; column >= 0 && k < sizeof other / sizeof *other; k++)
        if (b_dtype(x) == other[k][column]) {
            h_set_int(l, &a, "to", other[k][!column]);
            return b_op(l->b, OP_bitcast, &x, 1, &a);
        }
    return x;
}

bool hlo_lower_compare(struct hlo_lower *l)
{
    int64_t type = hlo_attr(l->i, HLO_ATTR_type) ? hlo_attr_int(l->i, HLO_ATTR_type) : HLO_COMPARISON_FLOAT;
    struct value *x = with_sign(l, h_in(l, 0), type), *y = with_sign(l, h_in(l, 1), type);
    if (type == HLO_COMPARISON_TOTALORDER && dtype_is_float(b_dtype(x))) {
        struct value *z = compare_ordinary(l, comparisons[hlo_attr_int(l->i, HLO_ATTR_direction)]);
        if (z)
            return h_done(l, z);
        x = b_1(l->b, OP_total_order, x);
        y = b_1(l->b, OP_total_order, y);
    }
    return h_done(l, h_elementwise(l, comparisons[hlo_attr_int(l->i, HLO_ATTR_direction)],
                                   (struct value *[]){x, y}, 2, NULL));
}

bool hlo_lower_convert(struct hlo_lower *l)
{
    return h_done(l, h_cast(l, h_in(l, 0), hlo_type_dtype(l->i->shape->type)));
}

bool hlo_lower_bitcast_convert(struct hlo_lower *l)
{
    struct attrs a = {0};
    struct value *x = h_in(l, 0);
    int to = hlo_type_dtype(l->i->shape->type);
    if (b_dtype(x) == to)
        return h_done(l, x);
    h_set_int(l, &a, "to", to);
    return h_done(l, b_op(l->b, OP_bitcast, &x, 1, &a));
}

/* A scalar condition picks one array; it broadcasts. Tuples are picked leaf by leaf. */
bool hlo_lower_select(struct hlo_lower *l)
{
    for (int k = 0; k < l->out.count; k++) {
        struct value *yes = l->operands[1].v[k], *no = l->operands[2].v[k];
        struct value *floor = hlo_floor_of_sizes(l, h_in(l, 0), yes, no);
        l->out.v[k] =
            floor ? floor : h_elementwise(l, OP_where, (struct value *[]){h_in(l, 0), yes, no}, 3, NULL);
    }
    return !diag_failed(l->b->d);
}

static bool may_be_nan(const struct value *x)
{
    double v;
    return dtype_is_float(x->type.dtype) && (!h_known(x, &v) || v != v);
}

/* clip takes a bound that is NaN for none, clamp gives NaN; of truth values the larger is their or. */
bool hlo_lower_clamp(struct hlo_lower *l)
{
    struct value *low = h_in(l, 0), *x = h_in(l, 1), *high = h_in(l, 2);
    bool logic = b_dtype(x) == DT_BOOL;
    if (dtype_is_complex(b_dtype(x)))
        return h_done(l, complex_extreme(l, OP_lt, complex_extreme(l, OP_gt, low, x), high));
    if (logic || may_be_nan(low) || may_be_nan(high)) {
        x = h_elementwise(l, logic ? OP_or : OP_max, (struct value *[]){x, low}, 2, NULL);
        return h_done(l, h_elementwise(l, logic ? OP_and : OP_min, (struct value *[]){x, high}, 2,
                                       NULL));
    }
    return h_done(l, h_elementwise(l, OP_clip, (struct value *[]){x, low, high}, 3, NULL));
}

/* The same bits as a signed or as an unsigned integer. */
static int of_sign(int dtype, bool is_signed)
{
    static const int pairs[][2] = {{DT_U8, DT_I8},   {DT_U16, DT_I16}, {DT_U32, DT_I32},
                                   {DT_U64, DT_I64}, {DT_U4, DT_I4},   {DT_U2, DT_I2}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (pairs[k][0] == dtype || pairs[k][1] == dtype)
            return pairs[k][is_signed];
    return dtype;
}

/* To the right signed integers keep their sign and unsigned ones do not. */
bool hlo_lower_shift(struct hlo_lower *l)
{
    struct value *in[] = {h_in(l, 0), h_in(l, 1)};
    bool left = l->i->opcode == HLO_OP_SHIFT_LEFT;
    int dtype = b_dtype(in[0]),
        as = left ? dtype : of_sign(dtype, l->i->opcode == HLO_OP_SHIFT_RIGHT_ARITHMETIC);
    for (int k = 0; k < 2; k++)
        in[k] = h_cast(l, in[k], as);
    return h_done(l, h_cast(l, h_elementwise(l, left ? OP_shl : OP_shr, in, 2, NULL), dtype));
}

/* real, imag; of what is real already: itself, and zeros. */
bool hlo_lower_part(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    bool real = l->i->opcode == HLO_OP_REAL;
    if (dtype_is_complex(b_dtype(x)))
        return h_done(l, b_1(l->b, real ? OP_complex_real : OP_complex_imag, x));
    return h_done(l, real ? x : b_select(l->b, b_scalar(l->b, DT_BOOL, 1), b_like(l->b, x, 0), x));
}

bool hlo_lower_is_finite(struct hlo_lower *l)
{
    return h_done(l, b_1(l->b, OP_is_finite, h_in(l, 0)));
}

bool hlo_lower_reduce_precision(struct hlo_lower *l)
{
    struct attrs a = {0};
    struct value *x = h_in(l, 0);
    h_set_int(l, &a, "exponent_bits", hlo_attr_int(l->i, HLO_ATTR_exponent_bits));
    h_set_int(l, &a, "mantissa_bits", hlo_attr_int(l->i, HLO_ATTR_mantissa_bits));
    return h_done(l, b_op(l->b, OP_reduce_precision, &x, 1, &a));
}

bool hlo_lower_stochastic_convert(struct hlo_lower *l)
{
    struct attrs a = {0};
    h_set_int(l, &a, "to", hlo_type_dtype(l->i->shape->type));
    return h_done(l,
                  b_op(l->b, OP_stochastic_cast, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, &a));
}
