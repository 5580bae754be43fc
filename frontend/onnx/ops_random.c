/* Random numbers: a shape from an attribute or from another tensor. */
#include "frontend/onnx/ops.h"

#include <string.h>

static bool make(struct onnx_node *n, struct value *shape, int dtype)
{
    struct attrs a = b_attrs_without(n, (const char *const[]){"shape", "dtype", NULL});
    attr_set_int(&n->b->g->arena, &a, "dtype", dtype);
    enum op op = strstr(n->op, "Normal") ? OP_random_normal : OP_random_uniform;
    return b_done(n, b_op(n->b, op, &shape, 1, &a));
}

bool lower_random(struct onnx_node *n)
{
    return make(n, b_ints_operand(n, "shape"), (int)attr_int(&n->attrs, "dtype", DT_F32));
}

bool lower_random_like(struct onnx_node *n)
{
    int64_t dtype = attr_int(&n->attrs, "dtype", b_dtype(n->in[0]));
    return make(n, b_shape(n->b, n->in[0]), (int)dtype);
}
