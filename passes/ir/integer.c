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

static bool is_one_element(const struct value *v, int dtype)
{
    if (!is_tensor(v) || v->type.rank < 0 || v->type.dtype != dtype)
        return false;
    for (int i = 0; i < v->type.rank; i++)
        if (v->type.dims[i] != 1)
            return false;
    return true;
}

bool is_quantized_by_one(const struct node *n)
{
    int to = n->out[0]->type.dtype;
    return n->op == OP_quantize_linear && (to == DT_U8 || to == DT_I8) && is_tensor(n->in[0]) &&
           n->in[0]->type.dtype == DT_F32 && n->in[0]->type.rank >= n->in[1]->type.rank && n->nin > 2 &&
           is_one_element(n->in[1], DT_F32) && is_one_element(n->in[2], to) &&
           n->in[2]->type.rank <= n->in[0]->type.rank && !attr_find(&n->attrs, "precision") &&
           attr_int(&n->attrs, "block_size", 0) == 0;
}
