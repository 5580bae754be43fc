/* Operators of ai.onnx.ml that are plain arithmetic. */
#include "frontend/onnx/ops.h"

static struct value *floats_operand(struct onnx_node *n, const char *attribute, double otherwise)
{
    int count;
    const double *v = attr_floats(&n->attrs, attribute, &count);
    if (!v || count == 0)
        return b_scalar(n, DT_F32, otherwise);
    float *list = ARENA_ARRAY(&n->g->arena, float, count);
    for (int i = 0; i < count; i++)
        list[i] = (float)v[i];
    return constant_copy(n->g, DT_F32, 1, (int64_t[]){count}, list, NULL);
}

/* Columns of x by index; a vector counts as one row. */
bool lower_array_feature_extractor(struct onnx_node *n)
{
    static const int64_t flat[] = {-1}, front[] = {0};
    int rank;
    if (!b_rank(n, n->in[0], "the operand", &rank))
        return false;
    struct value *x = rank == 1 ? b_unsqueeze(n, n->in[0], front, 1) : n->in[0];
    return b_done(n, b_gather(n, x, b_reshape_to(n, n->in[1], flat, 1), -1));
}

bool lower_binarizer(struct onnx_node *n)
{
    struct value *limit = b_like(n, n->in[0], attr_float(&n->attrs, "threshold", 0));
    return b_done(n, b_cast(n, b_2(n, OP_gt, n->in[0], limit), b_dtype(n->in[0])));
}

/* (x - offset) * scale, one of each or one for each column. */
bool lower_scaler(struct onnx_node *n)
{
    struct value *x = b_cast(n, n->in[0], DT_F32);
    struct value *moved = b_sub(n, x, floats_operand(n, "offset", 0));
    return b_done(n, b_mul(n, moved, floats_operand(n, "scale", 1)));
}
