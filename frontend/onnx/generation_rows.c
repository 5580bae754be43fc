/* Rows of what is generated: those of beams, and of logits those that count (generation.h). */
#include "frontend/onnx/generation.h"

static const int64_t column[] = {1};

struct value *generation_rows(struct generation *g, struct value *x)
{
    struct builder *b = g->n->b;
    if (!g->beams || diag_failed(b->d))
        return x;
    struct value *rest = b_slice(b, b_shape(b, x), 1, INT64_MAX, 0), *row = b_unsqueeze(b, x, column, 1);
    struct value *shape[] = {b_dim(b, x, 0), g->beams, rest};
    struct value *y = b_2(b, OP_expand, row, b_concat(b, shape, 3, 0));
    if (diag_failed(b->d) || !b_require(b, GUARD_AT_MAX, 1, y->type.dims[1], "1 and num_beams"))
        return NULL;
    g->beams = b_dim(b, y, 1); /* of one name, now that it has one */
    struct value *whole[] = {b_mul(b, b_dim(b, y, 0), g->beams), rest}; /* of no elements -1 could be any number */
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "allowzero", 1);
    return b_op(b, OP_reshape, (struct value *[]){y, b_concat(b, whole, 2, 0)}, 2, &a);
}

struct value *generation_logits(struct generation *g, struct value *all)
{
    struct onnx_node *n = g->n;
    int rank;
    if (!b_rank(n, all, "the decoder's logits", &rank))
        return NULL;
    if (rank != 3) {
        NODE_ERROR(n, "the decoder's logits have rank %d, expected 3", rank);
        return NULL;
    }
    return b_cast(n->b, b_squeeze(n->b, b_slice(n->b, all, -1, INT64_MAX, 1), column, 1), DT_F32);
}
