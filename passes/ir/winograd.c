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

/* Pixels along d: known, or those of images of CONV_SUPPOSED_IMAGE a side. Deep in a network few are left of any image,
 * and filters are larger than what they save. */
static double supposed(const struct node *n, dim_t d)
{
    struct graph *g = n->parent->graph;
    const struct dim_table *t = &g->dims;
    if (dim_is_const(d))
        return (double)d;
    int64_t *values = ARENA_ARRAY(&g->arena, int64_t, t->nsymbols);
    for (int s = 0; s < t->nsymbols; s++) {
        int64_t size = t->symbols[s].size, max = t->symbols[s].max;
        values[s] = size ? size : max && max < CONV_SUPPOSED_IMAGE ? max : CONV_SUPPOSED_IMAGE;
    }
    int64_t v = dim_eval(t, values, d);
    return v < 1 || v > CONV_SUPPOSED_SIDE ? CONV_SUPPOSED_SIDE : (double)v;
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
    *size = (struct conv_size){supposed(n, y->dims[1]), supposed(n, y->dims[2]), w->type.dims[1], w->type.dims[0]};
    return true;
}
