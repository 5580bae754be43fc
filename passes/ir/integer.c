#include "passes/ir/integer.h"

static bool is_integer(int dtype)
{
    return dtype == DT_BOOL || dtype == DT_I8 || dtype == DT_U8 || dtype == DT_I16 ||
           dtype == DT_U16 || dtype == DT_I32 || dtype == DT_U32 || dtype == DT_I64 ||
           dtype == DT_U64;
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
    return (op_infos[n->op].flags & OPF_ENGINE_INTEGER) && is_integer(out) &&
           (n->nin < 2 || n->in[0]->type.dtype == n->in[1]->type.dtype);
}

static bool is_word(int dtype)
{
    return dtype == DT_F32 || dtype == DT_I32 || dtype == DT_U32;
}

bool is_word_bitcast(const struct node *n)
{
    return n->op == OP_bitcast && is_word(n->in[0]->type.dtype) && is_word(n->out[0]->type.dtype);
}
