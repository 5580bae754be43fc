#include "frontend/onnx/ml.h"

#include <string.h>

struct value *ml_floats(struct onnx_node *n, const double *v, int rank, const int64_t *dims)
{
    int64_t count = dims_product(dims, 0, rank);
    float *list = ARENA_ARRAY(&n->b->g->arena, float, count ? count : 1);
    for (int64_t i = 0; i < count; i++)
        list[i] = (float)v[i];
    return diag_failed(n->b->d) ? NULL : constant_copy(n->b->g, DT_F32, rank, dims, list, NULL);
}

struct value *ml_float_list(struct onnx_node *n, const char *attribute, double otherwise)
{
    int count;
    const double *v = attr_floats(&n->attrs, attribute, &count);
    if (!v || count == 0)
        return b_scalar(n->b, DT_F32, otherwise);
    return ml_floats(n, v, 1, (int64_t[]){count});
}

struct value *ml_strings(struct onnx_node *n, const struct str *v, int count)
{
    struct tensor *t = ARENA_NEW(&n->b->g->arena, struct tensor);
    *t = tensor_view(DT_STR, 1, (int64_t[]){count}, (void *)v);
    return b_tensor(n->b, t);
}

struct value *ml_labels(struct onnx_node *n, const char *ints, const char *strings, int *count)
{
    int nints, nstrs;
    const int64_t *i = attr_ints(&n->attrs, ints, &nints);
    const struct str *s = attr_strs(&n->attrs, strings, &nstrs);
    *count = nints ? nints : nstrs;
    return nints ? b_i64s(n->b, i, nints) : nstrs ? ml_strings(n, s, nstrs) : NULL;
}

struct value *ml_product(struct onnx_node *n, struct value *x, struct value *w, bool transposed)
{
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "trans_b", transposed);
    return b_op(n->b, OP_matmul, (struct value *[]){x, w}, 2, &a);
}

struct value *ml_operand(struct onnx_node *n, struct value *x)
{
    return b_dtype(x) == DT_F64 ? x : b_cast(n->b, x, DT_F32);
}

static const struct {
    const char *name;
    enum ml_transform transform;
} transforms[] = {{"NONE", ML_NONE},
                  {"SOFTMAX", ML_SOFTMAX},
                  {"LOGISTIC", ML_LOGISTIC},
                  {"PROBIT", ML_PROBIT},
                  {"SOFTMAX_ZERO", ML_SOFTMAX_ZERO}};

bool ml_transform_read(struct onnx_node *n, enum ml_transform *t)
{
    const struct attr *a = attr_find(&n->attrs, "post_transform");
    *t = ML_NONE;
    if (!a)
        return true;
    if (a->kind == ATTR_INT && a->i >= 0 && a->i <= ML_PROBIT) {
        *t = (enum ml_transform)a->i;
        return true;
    }
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++)
        if (attr_is(&n->attrs, "post_transform", transforms[i].name)) {
            *t = transforms[i].transform;
            return true;
        }
    return NODE_ERROR(n, "attribute 'post_transform' is none of the known transforms");
}

/* Softmax over the elements that are not zero; those stay zero. */
static struct value *softmax_zero(struct onnx_node *n, struct value *x)
{
    static const int64_t last[] = {-1};
    struct value *max = b_reduce(n->b, OP_reduce_max, x, last, 1, true);
    struct value *tiny = b_2(n->b, OP_le, b_1(n->b, OP_abs, x), b_like(n->b, x, 1e-7));
    struct value *small = b_mul(n->b, x, b_1(n->b, OP_exp, b_1(n->b, OP_neg, max)));
    struct value *large = b_1(n->b, OP_exp, b_sub(n->b, x, max));
    struct value *e = b_select(n->b, tiny, small, large);
    struct value *kept =
        b_select(n->b, tiny, b_like(n->b, x, 0), large);
    return b_div(n->b, e, b_reduce(n->b, OP_reduce_sum, kept, last, 1, true));
}

/* sqrt(2) erfinv(2x - 1), by the closed form of Winitzki (2008) with a = 0.147, as is usual for
 * this operator. */
static struct value *probit(struct onnx_node *n, struct value *x)
{
    struct value *y = b_sub(n->b, b_mul(n->b, x, b_like(n->b, x, 2)), b_like(n->b, x, 1));
    struct value *one = b_like(n->b, x, 1);
    struct value *below = b_sub(n->b, one, y), *above = b_add(n->b, one, y);
    struct value *l = b_1(n->b, OP_log, b_mul(n->b, below, above));
    struct value *v = b_mul(n->b, l, b_like(n->b, x, 0.5));
    v = b_add(n->b, b_like(n->b, x, 2 / (3.14159265358979 * 0.147)), v);
    struct value *square = b_mul(n->b, v, v);
    struct value *under = b_sub(n->b, square, b_mul(n->b, l, b_like(n->b, x, 1 / 0.147)));
    struct value *size = b_1(n->b, OP_sqrt, b_sub(n->b, b_1(n->b, OP_sqrt, under), v));
    return b_mul(n->b, b_mul(n->b, b_1(n->b, OP_sign, y), size), b_like(n->b, x, 1.41421356));
}

struct value *ml_transform(struct onnx_node *n, enum ml_transform t, struct value *scores)
{
    switch (t) {
    case ML_SOFTMAX:
        return b_1(n->b, OP_softmax, scores);
    case ML_LOGISTIC:
        return b_1(n->b, OP_sigmoid, scores);
    case ML_SOFTMAX_ZERO:
        return softmax_zero(n, scores);
    case ML_PROBIT:
        return probit(n, scores);
    default:
        return scores;
    }
}

struct value *ml_both_scores(struct onnx_node *n, enum ml_transform t, struct value *s,
                             bool complement)
{
    bool minus = !complement || t == ML_LOGISTIC;
    struct value *other = minus ? b_1(n->b, OP_neg, s) : b_sub(n->b, b_like(n->b, s, 1), s);
    struct value *both = b_concat(n->b, (struct value *[]){other, s}, 2, 1);
    return t == ML_LOGISTIC || t == ML_PROBIT ? ml_transform(n, t, both) : both;
}

struct value *ml_choose(struct onnx_node *n, struct value *labels, struct value *condition)
{
    return b_gather(n->b, labels, b_cast(n->b, condition, DT_I64), 0);
}

struct value *ml_best(struct onnx_node *n, struct value *labels, struct value *scores)
{
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    attr_set_int(&n->b->g->arena, &a, "keepdims", 0);
    return b_gather(n->b, labels, b_op(n->b, OP_argmax, &scores, 1, &a), 0);
}
