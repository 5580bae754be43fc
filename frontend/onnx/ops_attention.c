/* Attention whose scores and probabilities pass through subgraphs of the model's own. */
#include "frontend/onnx/ops.h"

/* Heads of x repeated so that they are as many as q's: each serves a run of neighbours. */
static struct value *align_heads(struct onnx_node *n, struct value *q, struct value *x)
{
    static const int64_t behind_heads[] = {2};
    if (q->type.rank == 4 && x->type.rank == 4 && q->type.dims[1] == x->type.dims[1])
        return x;
    struct value *batch = b_dim(n->b, x, 0), *heads = b_dim(n->b, x, 1), *all = b_dim(n->b, q, 1);
    struct value *length = b_dim(n->b, x, 2), *width = b_dim(n->b, x, 3);
    struct value *wide[] = {batch, heads, b_div(n->b, all, heads), length, width};
    struct value *flat[] = {batch, all, length, width};
    struct value *repeated = b_unsqueeze(n->b, x, behind_heads, 1);
    repeated = b_2(n->b, OP_expand, repeated, b_concat(n->b, wide, 5, 0));
    return b_reshape(n->b, repeated, b_concat(n->b, flat, 4, 0));
}

/* The subgraph's result for x; x itself when the node has no such attribute. */
static struct value *modify(struct onnx_node *n, const char *attribute, struct value *x)
{
    struct subgraph s;
    struct value *y = NULL;
    if (diag_failed(n->b->d) || !node_has_subgraph(n, attribute))
        return x;
    if (!node_subgraph(n, attribute, &s) || !import_inline(n, &s, &x, 1, &y, 1)) {
        fail_in(n->b->d, "%s", attribute);
        return NULL;
    }
    return y;
}

/* scale * q k^T, in the precision of the softmax. */
static struct value *scores(struct onnx_node *n, struct value *q, struct value *k, int precision)
{
    static const int64_t swapped[] = {0, 1, 3, 2};
    struct value *scale;
    if (attr_find(&n->attrs, "scale"))
        scale = b_scalar(n->b, precision, attr_float(&n->attrs, "scale", 1));
    else
        scale = b_1(n->b, OP_rsqrt, b_cast(n->b, b_dim(n->b, q, 3), precision));
    struct value *scaled = b_mul(n->b, b_cast(n->b, q, precision), scale);
    return b_2(n->b, OP_matmul, scaled, b_transpose(n->b, b_cast(n->b, k, precision), swapped, 4));
}

bool lower_flex_attention(struct onnx_node *n)
{
    struct value *q = n->in[0];
    struct attrs last = {0};
    int dtype = b_dtype(q), usual = dtype == DT_F64 ? DT_F64 : DT_F32;
    int precision = (int)attr_int(&n->attrs, "softmax_precision", usual);
    if (!dtype_valid(precision) || !dtype_is_float(precision))
        return NODE_ERROR(n, "attribute 'softmax_precision' is %d, expected a float type",
                          precision);
    attr_set_int(&n->b->g->arena, &last, "axis", -1);
    struct value *k = align_heads(n, q, n->in[1]), *v = align_heads(n, q, n->in[2]);
    struct value *s = modify(n, "score_mod", scores(n, q, k, precision));
    struct value *p = modify(n, "prob_mod", b_op(n->b, OP_softmax, &s, 1, &last));
    struct value *y = b_2(n->b, OP_matmul, p, b_cast(n->b, v, precision));
    return b_done(n, b_cast(n->b, y, dtype));
}
