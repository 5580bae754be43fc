/* Elementwise arithmetic: old broadcasting, variadic forms, mixed types. */
#include "frontend/onnx/ops.h"

#include <float.h>
#include <string.h>

/* y with dims of size 1 behind it, so that its first dim meets dim `axis` of x; below opset 7. */
static struct value *align_axis(struct onnx_node *n, struct value *x, struct value *y)
{
    int rank_x, rank_y, axis;
    int64_t ones[MAX_RANK];
    int64_t given = attr_int(&n->attrs, "axis", -1); /* -1: the last dims */
    if (!attr_int(&n->attrs, "broadcast", 0) || given == -1)
        return y;
    if (!b_rank(n, x, "the first operand", &rank_x) ||
        !b_rank(n, y, "the second operand", &rank_y) ||
        !b_axis(n, given < 0 ? given + rank_x : given, rank_x + 1, &axis))
        return NULL;
    int behind = rank_x - axis - rank_y;
    if (behind < 0) {
        NODE_ERROR(n, "the second operand of rank %d does not fit at axis %d of rank %d", rank_y,
                   axis, rank_x);
        return NULL;
    }
    for (int i = 0; i < behind; i++)
        ones[i] = rank_y + i;
    return behind ? b_unsqueeze(n->b, y, ones, behind) : y;
}

bool lower_binary_axis(struct onnx_node *n)
{
    struct value *y = align_axis(n, n->in[0], n->in[1]);
    return b_done(n, b_2(n->b, core_op("", n->op), n->in[0], y));
}

/* The result has the base's type; an exponent of another class is computed with in a type that
 * holds both. */
bool lower_pow(struct onnx_node *n)
{
    struct value *x = n->in[0], *y = n->version < 7 ? align_axis(n, x, n->in[1]) : n->in[1];
    int dx = b_dtype(x), dy = b_dtype(y);
    if (dx == dy)
        return b_done(n, b_2(n->b, OP_pow, x, y));
    int common = dtype_is_float(dx) ? dx : dtype_is_float(dy) ? DT_F64 : DT_I64;
    x = b_cast(n->b, x, common), y = b_cast(n->b, y, common);
    return b_done(n, b_cast(n->b, b_2(n->b, OP_pow, x, y), dx));
}

bool lower_variadic(struct onnx_node *n)
{
    static const struct {
        const char *name;
        enum op op;
    } ops[] = {{"Sum", OP_add}, {"Mean", OP_add}, {"Max", OP_max}, {"Min", OP_min}};
    enum op op = OP_add;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, n->op))
            op = ops[i].op;
    struct value *y = n->in[0];
    for (int i = 1; i < n->nin; i++) {
        if (!n->in[i])
            return NODE_ERROR(n, "input %d is left out", i);
        y = b_2(n->b, op, y, n->in[i]);
    }
    if (n->nin > 1 && !strcmp(n->op, "Mean"))
        y = b_div(n->b, y, b_like(n->b, y, n->nin));
    return b_done(n, n->nin == 1 ? b_1(n->b, OP_identity, y) : y);
}

bool lower_mod(struct onnx_node *n)
{
    bool truncating = attr_int(&n->attrs, "fmod", 0) != 0;
    return b_done(n, b_2(n->b, truncating ? OP_rem : OP_mod, n->in[0], n->in[1]));
}

bool lower_bitwise(struct onnx_node *n)
{
    enum op op = strstr(n->op, "Xor") ? OP_xor : strstr(n->op, "Or") ? OP_or : OP_and;
    return b_done(n, b_2(n->b, op, n->in[0], n->in[1]));
}

bool lower_gelu(struct onnx_node *n)
{
    bool tanh_form = attr_is(&n->attrs, "approximate", "tanh");
    if (!tanh_form && attr_find(&n->attrs, "approximate") &&
        !attr_is(&n->attrs, "approximate", "none"))
        return NODE_ERROR(n, "attribute 'approximate' is neither 'none' nor 'tanh'");
    return b_done(n, b_1(n->b, tanh_form ? OP_gelu_tanh : OP_gelu, n->in[0]));
}

bool lower_bit_shift(struct onnx_node *n)
{
    attr_set_int(&n->b->g->arena, &n->attrs, "arithmetic", 1); /* of signed types */
    return lower_same(n);
}

/* Operators that are functions of floats, but admit integers: the result is truncated. */
bool lower_as_floats(struct onnx_node *n)
{
    static const struct {
        const char *name;
        enum op op;
    } ops[] = {{"Erf", OP_erf}, {"Shrink", OP_shrink}};
    enum op op = OP_erf;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, n->op))
            op = ops[i].op;
    int dtype = b_dtype(n->in[0]);
    if (dtype_is_float(dtype))
        return b_done(n, b_op(n->b, op, n->in, 1, &n->attrs));
    struct value *x = b_cast(n->b, n->in[0], DT_F64);
    return b_done(n, b_cast(n->b, b_op(n->b, op, &x, 1, &n->attrs), dtype));
}

bool lower_clip_attributes(struct onnx_node *n)
{
    struct value *x = n->in[0], *limits[2];
    static const char *const names[] = {"min", "max"};
    for (int i = 0; i < 2; i++) {
        const struct attr *a = attr_find(&n->attrs, names[i]);
        bool always = n->version >= 6; /* the defaults are FLT_MAX, which infinities exceed */
        double max = dtype_is_float(b_dtype(x)) && b_dtype(x) != DT_F16 ? FLT_MAX : 0;
        limits[i] = a ? b_like(n->b, x, a->f) : always && max ? b_like(n->b, x, i ? max : -max) : NULL;
    }
    return b_done(n, b_op(n->b, OP_clip, (struct value *[]){x, limits[0], limits[1]}, 3, NULL));
}

bool lower_selu_1(struct onnx_node *n)
{
    struct attrs a = {0};
    attr_set_float(&n->b->g->arena, &a, "alpha", attr_float(&n->attrs, "alpha", 1.6732f));
    attr_set_float(&n->b->g->arena, &a, "gamma", attr_float(&n->attrs, "gamma", 1.0507f));
    return b_done(n, b_op(n->b, OP_selu, n->in, 1, &a));
}

/* Below opset 7 the slope is one value, or one for each channel (dim 1). */
bool lower_prelu_channels(struct onnx_node *n)
{
    int rank, slope_rank;
    if (!b_rank(n, n->in[0], "the operand", &rank) ||
        !b_rank(n, n->in[1], "the slope", &slope_rank))
        return false;
    int64_t ones[MAX_RANK];
    int behind = slope_rank == 1 && rank > 2 ? rank - 2 : 0;
    for (int i = 0; i < behind; i++)
        ones[i] = 1 + i;
    struct value *slope = behind ? b_unsqueeze(n->b, n->in[1], ones, behind) : n->in[1];
    return b_done(n, b_2(n->b, OP_prelu, n->in[0], slope));
}

bool lower_swiglu(struct onnx_node *n)
{
    struct attrs a = {0};
    attr_set_float(&n->b->g->arena, &a, "alpha", attr_float(&n->attrs, "alpha", 1.0));
    return b_done(n, b_mul(n->b, b_op(n->b, OP_swish, n->in, 1, &a), n->in[1]));
}

bool lower_cast_name(struct onnx_node *n)
{
    static const struct {
        const char *name;
        int dtype;
    } names[] = {{"FLOAT", DT_F32},   {"UINT8", DT_U8},      {"INT8", DT_I8},
                 {"UINT16", DT_U16},  {"INT16", DT_I16},     {"INT32", DT_I32},
                 {"INT64", DT_I64},   {"STRING", DT_STR},    {"BOOL", DT_BOOL},
                 {"FLOAT16", DT_F16}, {"DOUBLE", DT_F64},    {"UINT32", DT_U32},
                 {"UINT64", DT_U64},  {"COMPLEX64", DT_C64}, {"COMPLEX128", DT_C128}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attr_is(&n->attrs, "to", names[i].name)) {
            attr_remove(&n->attrs, "to");
            attr_set_int(&n->b->g->arena, &n->attrs, "to", names[i].dtype);
            return lower_same(n);
        }
    return attr_int(&n->attrs, "to", 0)
               ? lower_same(n)
               : NODE_ERROR(n, "attribute 'to' is not the name of an element type");
}

bool lower_cast_like(struct onnx_node *n)
{
    if (b_dtype(n->in[1]) == DT_NONE)
        return NODE_ERROR(n, "the second operand's element type is not known");
    attr_set_int(&n->b->g->arena, &n->attrs, "to", b_dtype(n->in[1]));
    return b_done(n, b_op(n->b, OP_cast, n->in, 1, &n->attrs));
}
