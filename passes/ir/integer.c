#include "passes/ir/integer.h"

static bool is_integer(int dtype)
{
    return dtype == DT_BOOL || dtype == DT_I8 || dtype == DT_U8 || dtype == DT_I16 ||
           dtype == DT_U16 || dtype == DT_I32 || dtype == DT_U32 || dtype == DT_I64 ||
           dtype == DT_U64;
}

static bool is_function(enum op op)
{
    static const enum op functions[] = {OP_add, OP_sub, OP_mul, OP_max, OP_min,    OP_and, OP_or,
                                        OP_xor, OP_div, OP_rem, OP_mod, OP_eq,     OP_ne,  OP_lt,
                                        OP_le,  OP_gt,  OP_ge,  OP_not, OP_bitnot, OP_neg, OP_abs};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i] == op)
            return true;
    return false;
}

static bool is_tensor(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR;
}

bool is_integer_elementwise(const struct node *n)
{
    if (n->nout != 1 || !n->nin || !is_tensor(n->out[0]))
        return false;
    for (int i = 0; i < n->nin; i++)
        if (!is_tensor(n->in[i]) || !is_integer(n->in[i]->type.dtype))
            return false;
    int out = n->out[0]->type.dtype;
    if (n->op == OP_cast)
        return is_integer(out) || out == DT_F32;
    if (n->op == OP_where)
        return n->in[0]->type.dtype == DT_BOOL && n->in[1]->type.dtype == out &&
               n->in[2]->type.dtype == out;
    return is_function(n->op) && is_integer(out) &&
           (n->nin < 2 || n->in[0]->type.dtype == n->in[1]->type.dtype);
}
