/* Experimental operators of the first operator sets: gone from the standard, still in old files. */
#include "frontend/onnx/ops.h"

#include <string.h>

/* a * f(b * x) + c with constants of x's type; those that change nothing are left out. */
static struct value *scaled(struct onnx_node *n, struct value *x, double factor, double offset)
{
    struct value *y = factor == 1 ? x : b_mul(n->b, x, b_like(n->b, x, factor));
    return offset == 0 ? y : b_add(n->b, y, b_like(n->b, x, offset));
}

bool lower_affine(struct onnx_node *n)
{
    double alpha = attr_float(&n->attrs, "alpha", 1), beta = attr_float(&n->attrs, "beta", 0);
    return b_done(n, b_1(n->b, OP_identity, scaled(n, n->in[0], alpha, beta)));
}

bool lower_scale(struct onnx_node *n)
{
    double scale = attr_float(&n->attrs, "scale", 1);
    return b_done(n, b_1(n->b, OP_identity, scaled(n, n->in[0], scale, 0)));
}

bool lower_parametric(struct onnx_node *n)
{
    enum op op = !strcmp(n->op, "ScaledTanh") ? OP_tanh : OP_softplus;
    if (!attr_find(&n->attrs, "alpha") || !attr_find(&n->attrs, "beta"))
        return NODE_ERROR(n, "attributes 'alpha' and 'beta' are needed");
    struct value *inner = b_1(n->b, op, scaled(n, n->in[0], attr_float(&n->attrs, "beta", 1), 0));
    return b_done(n, scaled(n, inner, attr_float(&n->attrs, "alpha", 1), 0));
}

/* x * scale, plus a bias for each channel. */
bool lower_image_scaler(struct onnx_node *n)
{
    int count;
    const double *bias = attr_floats(&n->attrs, "bias", &count);
    struct value *y = scaled(n, n->in[0], attr_float(&n->attrs, "scale", 1), 0);
    if (!bias)
        return b_done(n, b_1(n->b, OP_identity, y));
    float *v = ARENA_ARRAY(&n->b->g->arena, float, count);
    for (int i = 0; i < count; i++)
        v[i] = (float)bias[i];
    struct value *per = constant_copy(n->b->g, DT_F32, 3, (int64_t[]){count, 1, 1}, v, NULL);
    return b_done(n, b_add(n->b, y, b_cast(n->b, per, b_dtype(n->in[0]))));
}

/* Rows and columns cut from the last two dims: border is left, top, right, bottom; or scale is the
 * size kept. */
bool lower_crop(struct onnx_node *n)
{
    int count, sized;
    const int64_t *border = attr_ints(&n->attrs, "border", &count);
    const int64_t *size = attr_ints(&n->attrs, "scale", &sized);
    if (count != 4 || (size && sized != 2))
        return NODE_ERROR(n, "attribute 'border' has %d entries, expected left, top, right, bottom",
                          count);
    struct value *y = n->in[0];
    for (int axis = 0; axis < 2; axis++) { /* height, width */
        int64_t from = border[1 - axis], behind = border[3 - axis];
        y = b_slice(n->b, y, from, size ? from + size[axis] : behind ? -behind : INT64_MAX, axis - 2);
    }
    return b_done(n, y);
}
