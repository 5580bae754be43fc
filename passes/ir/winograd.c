#include "passes/ir/winograd.h"

static bool all_are_one(const struct node *n, const char *attr)
{
    int count;
    const int64_t *v = attr_ints(&n->attrs, attr, &count);
    for (int i = 0; i < count; i++)
        if (v[i] != 1)
            return false;
    return true;
}

bool winograd_can(const struct node *n, struct conv_size *size)
{
    const struct value *w = n->op == OP_conv ? n->in[1] : NULL;
    const struct type *y = &n->out[0]->type;
    if (!w || !w->constant || w->type.rank != 4 || w->type.dims[2] != 3 || w->type.dims[3] != 3 ||
        y->rank != 4 || !attr_int(&n->attrs, "channels_last", 0) ||
        attr_int(&n->attrs, "group", 1) != 1 || !all_are_one(n, "strides") ||
        !all_are_one(n, "dilations") || !all_are_one(n, "lhs_dilation"))
        return false;
    bool known = dim_is_const(y->dims[1]) && dim_is_const(y->dims[2]);
    *size = (struct conv_size){known ? (double)y->dims[1] : CONV_SUPPOSED_SIDE,
                               known ? (double)y->dims[2] : CONV_SUPPOSED_SIDE, w->type.dims[1],
                               w->type.dims[0]};
    return true;
}
