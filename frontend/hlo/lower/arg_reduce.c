#include "frontend/hlo/lower/arg_reduce.h"

#include "frontend/hlo/lower/build.h"

#include <math.h>

/* ---- the computation: (element, index, element, index) -> (element, index) ---- */

static bool is_parameter(const struct hlo_instruction *i, int number)
{
    return i->opcode == HLO_OP_PARAMETER && i->parameter == number;
}

static bool compares(const struct hlo_instruction *i, int64_t direction, int a, int b)
{
    bool total = i->opcode == HLO_OP_COMPARE && hlo_attr(i, HLO_ATTR_type) &&
                 hlo_attr_int(i, HLO_ATTR_type) == HLO_COMPARISON_TOTALORDER;
    return i->opcode == HLO_OP_COMPARE && !total &&
           hlo_attr_int(i, HLO_ATTR_direction) == direction && is_parameter(i->operands[0], a) &&
           is_parameter(i->operands[1], b);
}

/* The first element stays: it is beyond the other one, or no number. */
static bool stays(const struct hlo_instruction *i, int64_t direction, bool is_float)
{
    if (!is_float)
        return compares(i, direction, 0, 2);
    for (int side = 0; i->opcode == HLO_OP_OR && side < 2; side++)
        if (compares(i->operands[side], direction, 0, 2) &&
            compares(i->operands[1 - side], HLO_DIRECTION_NE, 0, 0))
            return true;
    return false;
}

/* The same, or equal elements of which it is the earlier one. */
static bool index_stays(const struct hlo_instruction *i, int64_t direction, bool is_float)
{
    for (int side = 0; i->opcode == HLO_OP_OR && side < 2; side++) {
        const struct hlo_instruction *both = i->operands[1 - side];
        for (int k = 0; both->opcode == HLO_OP_AND && k < 2; k++)
            if (stays(i->operands[side], direction, is_float) &&
                compares(both->operands[k], HLO_DIRECTION_EQ, 0, 2) &&
                compares(both->operands[1 - k], HLO_DIRECTION_LT, 1, 3))
                return true;
    }
    return false;
}

static bool selects(const struct hlo_instruction *i, int a, int b)
{
    return i->opcode == HLO_OP_SELECT && is_parameter(i->operands[1], a) &&
           is_parameter(i->operands[2], b);
}

static bool finds_extreme(const struct hlo_computation *c, int64_t direction)
{
    const struct hlo_instruction *root = c->root;
    if (c->parameter_count != 4 || c->captures.count || root->opcode != HLO_OP_TUPLE ||
        root->operand_count != 2)
        return false;
    const struct hlo_instruction *element = root->operands[0], *index = root->operands[1];
    bool is_float = dtype_is_float(hlo_type_dtype(element->shape->type));
    return selects(element, 0, 2) && stays(element->operands[0], direction, is_float) &&
           selects(index, 1, 3) && index_stays(index->operands[0], direction, is_float);
}

/* ---- its operands ---- */

static bool counts_along(const struct hlo_instruction *i, int64_t axis)
{
    if (i->opcode == HLO_OP_BROADCAST) {
        struct hlo_ints at = hlo_attr_ints(i, HLO_ATTR_dimensions);
        return at.count == 1 && at.v[0] == axis && i->operands[0]->opcode == HLO_OP_IOTA;
    }
    return i->opcode == HLO_OP_IOTA && hlo_attr_int(i, HLO_ATTR_iota_dimension) == axis;
}

/* Every element is beyond the first value, or equal to it. */
static bool starts_below(const struct value *init, bool max)
{
    double v;
    int dtype = b_dtype(init);
    if (!h_known(init, &v))
        return false;
    if (dtype_is_float(dtype))
        return v == (max ? -INFINITY : INFINITY);
    if (!dtype_is_int(dtype))
        return false;
    int bits = dtype_info(dtype)->bits;
    bool is_signed = dtype_class(dtype) == DTC_SINT;
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, bits - is_signed) - 1;
    return v == (max ? low : high);
}

bool arg_reduce_matches(const struct hlo_lower *l, bool *max)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    struct hlo_ints axes = hlo_attr_ints(l->i, HLO_ATTR_dimensions);
    const struct value *x = h_in(l, 0);
    double first;
    *max = finds_extreme(c, HLO_DIRECTION_GT);
    return l->i->operand_count == 4 && axes.count == 1 && x &&
           dim_is_const(x->type.dims[axes.v[0]]) && x->type.dims[axes.v[0]] > 0 &&
           (*max || finds_extreme(c, HLO_DIRECTION_LT)) &&
           counts_along(l->i->operands[1], axes.v[0]) && starts_below(h_in(l, 2), *max) &&
           h_known(h_in(l, 3), &first) && first == 0;
}

void arg_reduce(struct hlo_lower *l, bool max, struct value *out[2])
{
    struct value *x = h_in(l, 0);
    int64_t axis = hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0];
    struct attrs a = {0};
    h_set_int(l, &a, "axis", axis);
    h_set_int(l, &a, "keepdims", 0);
    out[0] = h_reduce(l, max ? OP_reduce_max : OP_reduce_min, x, &axis, 1, false);
    out[1] = b_op(l->b, max ? OP_argmax : OP_argmin, &x, 1, &a);
}
