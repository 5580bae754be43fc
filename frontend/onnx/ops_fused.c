/*
 * Operators of com.microsoft that exporters and optimisers leave in models: products, activations
 * and normalisations fused by hand. They are taken apart; what is worth fusing is fused again
 * later.
 */
#include "frontend/onnx/ops.h"

#include <string.h>

/* ---- activations ---- */

/* A bias is one for each element of the last dimension: neither is repeated. */
static bool bias_fits(struct onnx_node *n, const struct value *bias)
{
    const struct type *x = &n->in[0]->type;
    return !bias || bias->type.rank < 1 || x->rank < 1 ||
           b_require(n->b, GUARD_EQUAL, bias->type.dims[bias->type.rank - 1], x->dims[x->rank - 1],
                     "sizes of the bias and of the last dimension");
}

bool lower_fast_gelu(struct onnx_node *n)
{
    struct value *bias = b_in(n, 1);
    if (!bias_fits(n, bias))
        return false;
    return b_done(n, b_1(n->b, OP_gelu_tanh, bias ? b_add(n->b, n->in[0], bias) : n->in[0]));
}

bool lower_bias_gelu(struct onnx_node *n)
{
    struct value *bias = b_in(n, 1);
    if (!bias_fits(n, bias))
        return false;
    return b_done(n, b_1(n->b, OP_gelu, bias ? b_add(n->b, n->in[0], bias) : n->in[0]));
}

bool lower_quick_gelu(struct onnx_node *n)
{
    struct attrs a = {0};
    attr_set_float(&n->b->g->arena, &a, "alpha", attr_float(&n->attrs, "alpha", 1.702f));
    return b_done(n, b_op(n->b, OP_swish, n->in, 1, &a));
}

/* The first half of the last dim times gelu of the second. */
bool lower_bias_split_gelu(struct onnx_node *n)
{
    int rank;
    struct attrs a = {0};
    struct value *x = b_add(n->b, n->in[0], n->in[1]);
    attr_set_int(&n->b->g->arena, &a, "axis", -1);
    attr_set_int(&n->b->g->arena, &a, "num_outputs", 2);
    attr_set_int(&n->b->g->arena, &a, "equal", 1);
    if (!b_rank(n, x, "the operand", &rank))
        return false;
    struct node *halves = b_node(n->b, OP_split, &x, 1, 2, &a);
    return halves && b_done(n, b_mul(n->b, halves->out[0], b_1(n->b, OP_gelu, halves->out[1])));
}

static const struct {
    const char *name;
    enum op op;
    const char *params[2]; /* attributes of the operator, in the order of the list */
} activations[] = {
    {"Relu", OP_relu, {NULL}},
    {"Tanh", OP_tanh, {NULL}},
    {"Sigmoid", OP_sigmoid, {NULL}},
    {"Softplus", OP_softplus, {NULL}},
    {"Softsign", OP_softsign, {NULL}},
    {"Gelu", OP_gelu, {NULL}},
    {"LeakyRelu", OP_leaky_relu, {"alpha"}},
    {"Elu", OP_elu, {"alpha"}},
    {"Selu", OP_selu, {"alpha", "gamma"}},
    {"Celu", OP_celu, {"alpha"}},
    {"ThresholdedRelu", OP_thresholded_relu, {"alpha"}},
    {"HardSigmoid", OP_hard_sigmoid, {"alpha", "beta"}},
};

/* Applies the activation that the node names, with parameters in the order that its list has. */
static struct value *activate(struct onnx_node *n, struct value *y, const double *params, int count)
{
    struct str name = attr_str(&n->attrs, "activation", "");
    struct attrs a = {0};
    if (!name.n)
        return y;
    if (attr_is(&n->attrs, "activation", "Clip")) {
        if (count < 2) {
            NODE_ERROR(n, "Clip has %d parameters, expected 2", count);
            return NULL;
        }
        return b_op(n->b, OP_clip,
                    (struct value *[]){y, b_like(n->b, y, params[0]), b_like(n->b, y, params[1])}, 3,
                    NULL);
    }
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        if (!attr_is(&n->attrs, "activation", activations[i].name))
            continue;
        for (int k = 0; k < 2 && k < count && activations[i].params[k]; k++)
            attr_set_float(&n->b->g->arena, &a, activations[i].params[k], params[k]);
        return b_op(n->b, activations[i].op, &y, 1, &a);
    }
    NODE_ERROR(n, "activation '%.*s' is not known", (int)name.n, name.p);
    return NULL;
}

/* ---- products ---- */

/* The first dim in front of the last: (d0, d1, ..., k) as (d1, ..., d0, k). */
static struct value *batch_inside(struct onnx_node *n, struct value *x, const char *attribute)
{
    int64_t perm[MAX_RANK];
    int rank;
    if (!attr_int(&n->attrs, attribute, 0))
        return x;
    if (!b_rank(n, x, "an operand with its batch transposed", &rank))
        return NULL;
    for (int i = 0; i < rank; i++)
        perm[i] = i == rank - 1 ? i : i == rank - 2 ? 0 : i + 1;
    return rank > 2 ? b_transpose(n->b, x, perm, rank) : x;
}

static struct value *fused_product(struct onnx_node *n)
{
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    struct value *in[] = {batch_inside(n, n->in[0], "transBatchA"),
                          batch_inside(n, n->in[1], "transBatchB")};
    attr_set_int(arena, &a, "trans_a", attr_int(&n->attrs, "transA", 0));
    attr_set_int(arena, &a, "trans_b", attr_int(&n->attrs, "transB", 0));
    attr_set_float(arena, &a, "alpha", attr_float(&n->attrs, "alpha", 1));
    return b_op(n->b, OP_matmul, in, 2, &a);
}

bool lower_fused_matmul(struct onnx_node *n)
{
    return b_done(n, fused_product(n));
}

/* The activation with its parameters in attributes of their own. */
static struct value *activate_named(struct onnx_node *n, struct value *y)
{
    static const char *const names[] = {"activation_alpha", "activation_beta", "activation_gamma"};
    double params[3];
    int count = 0;
    for (int i = 0; i < 3; i++)
        if (attr_find(&n->attrs, names[i]))
            params[count++] = attr_float(&n->attrs, names[i], 0);
    return activate(n, y, params, count);
}

bool lower_fused_gemm(struct onnx_node *n)
{
    static const char *const own[] = {"activation", "activation_alpha", "activation_beta",
                                      "activation_gamma", NULL};
    struct attrs a = b_attrs_without(n, own);
    return b_done(n, activate_named(n, b_op(n->b, OP_gemm, n->in, n->nin, &a)));
}

/* A softmax along activation_axis is what DirectML adds to the activations of FusedGemm. */
bool lower_fused_matmul_activation(struct onnx_node *n)
{
    struct attrs a = {0};
    if (!attr_is(&n->attrs, "activation", "Softmax"))
        return b_done(n, activate_named(n, fused_product(n)));
    struct value *y = fused_product(n);
    attr_set_int(&n->b->g->arena, &a, "axis", attr_int(&n->attrs, "activation_axis", -1));
    return b_done(n, b_op(n->b, OP_softmax, &y, 1, &a));
}

/* X, W, bias? */
bool lower_gemm_fast_gelu(struct onnx_node *n)
{
    struct value *y = b_2(n->b, OP_matmul, n->in[0], n->in[1]);
    return b_done(n, b_1(n->b, OP_gelu_tanh, b_in(n, 2) ? b_add(n->b, y, n->in[2]) : y));
}

bool lower_bias_add(struct onnx_node *n)
{
    return b_done(n, b_add(n->b, b_add(n->b, n->in[0], n->in[1]), n->in[2]));
}

/* Over all dims from the axis on; the bias broadcasts as its own shape says. */
bool lower_bias_softmax(struct onnx_node *n)
{
    int rank, axis;
    struct attrs a = {0};
    struct value *x = b_add(n->b, n->in[0], n->in[1]);
    if (!b_rank(n, x, "the data", &rank) || !b_axis(n, attr_int(&n->attrs, "axis", 1), rank, &axis))
        return false;
    struct value *rows = axis == rank - 1 ? x : b_flatten(n->b, x, axis);
    attr_set_int(&n->b->g->arena, &a, "axis", -1);
    rows = b_op(n->b, OP_softmax, &rows, 1, &a);
    return b_done(n, axis == rank - 1 ? rows : b_reshape_as(n->b, rows, x));
}

/* x, w, bias?, z?: z is added before the activation. */
bool lower_fused_conv(struct onnx_node *n)
{
    static const char *const own[] = {"activation", "activation_params", NULL};
    int count;
    const double *params = attr_floats(&n->attrs, "activation_params", &count);
    struct attrs a = b_attrs_without(n, own);
    struct value *y = b_op(n->b, OP_conv, n->in, b_in(n, 2) ? 3 : 2, &a);
    return b_done(n, activate(n, b_in(n, 3) ? b_add(n->b, y, n->in[3]) : y, params, count));
}

bool lower_nhwc_conv(struct onnx_node *n)
{
    attr_set_int(&n->b->g->arena, &n->attrs, "channels_last", 1);
    return b_done(n, b_op(n->b, OP_conv, n->in, n->nin, &n->attrs));
}

/* ---- normalisations ---- */

/* 1 / sqrt(mean of squares + epsilon) of each row. */
static struct value *inverse_rms(struct onnx_node *n, struct value *x, double epsilon)
{
    static const int64_t last[] = {-1};
    struct value *mean = b_reduce(n->b, OP_reduce_mean, b_mul(n->b, x, x), last, 1, true);
    return b_1(n->b, OP_reciprocal, b_1(n->b, OP_sqrt, b_add(n->b, mean, b_like(n->b, x, epsilon))));
}

/* Rows and scale of two types are normalised in the wider one, or FP32; results are of the scale's type. */
static void widen_operands(struct onnx_node *n, struct value **in, int nin)
{
    int x = b_dtype(in[0]), scale = b_dtype(in[1]);
    if (x == scale)
        return;
    for (int i = 0; i < nin; i++)
        in[i] = b_cast(n->b, in[i], x == DT_F64 || scale == DT_F64 ? DT_F64 : DT_F32);
}

/* ONNX Runtime's operator, older than ONNX's, takes rows and scale of two types. */
bool lower_layer_norm(struct onnx_node *n)
{
    int result = b_dtype(n->in[1]);
    widen_operands(n, n->in, n->nin);
    struct node *made = b_node(n->b, OP_layer_norm, n->in, n->nin, 3, &n->attrs);
    for (int i = 0; made && i < 3 && i < n->nout; i++)
        n->out[i] = i ? made->out[i] : b_cast(n->b, made->out[0], result);
    return made && !diag_failed(n->b->d);
}

bool lower_simplified_layer_norm(struct onnx_node *n)
{
    struct attrs a = {0};
    int result = b_dtype(n->in[1]);
    widen_operands(n, n->in, 2);
    struct value *x = n->in[0];
    double epsilon = attr_float(&n->attrs, "epsilon", 1e-5f);
    int64_t axis = attr_int(&n->attrs, "axis", -1);
    attr_set_int(&n->b->g->arena, &a, "axis", axis);
    attr_set_float(&n->b->g->arena, &a, "epsilon", epsilon);
    if (n->nout > 1 && n->wanted[1]) {
        if (axis != -1)
            return NODE_ERROR(n, "the second output is supported for the last axis only");
        n->out[1] = inverse_rms(n, x, epsilon);
    }
    return b_done(n, b_cast(n->b, b_op(n->b, OP_rms_norm, n->in, 2, &a), result));
}

/* What is skipped may lack the batch, or have one for all; nothing else is repeated. */
static bool skip_fits(struct onnx_node *n)
{
    const struct type *x = &n->in[0]->type, *skip = &n->in[1]->type;
    for (int i = 1; i <= 2 && i <= x->rank && i <= skip->rank; i++)
        if (!b_require(n->b, GUARD_EQUAL, skip->dims[skip->rank - i], x->dims[x->rank - i],
                       "sizes of 'input' and 'skip' in one of the last two dimensions"))
            return false;
    return skip->rank < 3 || x->rank < 3 ||
           b_require(n->b, GUARD_EXPAND, skip->dims[0], x->dims[0], "batches of 'skip' and 'input'");
}

/* The sum of x, skip and bias, which is also result 3. */
static struct value *skip_sum(struct onnx_node *n, int bias)
{
    if (!skip_fits(n))
        return NULL;
    struct value *sum = b_add(n->b, n->in[0], n->in[1]);
    if (b_in(n, bias))
        sum = b_add(n->b, sum, n->in[bias]);
    if (n->nout > 3)
        n->out[3] = sum;
    return sum;
}

bool lower_skip_layer_norm(struct onnx_node *n)
{
    struct attrs a = {0};
    struct value *in[] = {skip_sum(n, 4), b_in(n, 2), b_in(n, 3)};
    if (!in[0])
        return false;
    attr_set_float(&n->b->g->arena, &a, "epsilon", attr_float(&n->attrs, "epsilon", 1e-12f));
    struct node *made = b_node(n->b, OP_layer_norm, in, in[2] ? 3 : 2, 3, &a);
    for (int i = 0; made && i < 3 && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}

bool lower_skip_simplified_layer_norm(struct onnx_node *n)
{
    struct attrs a = {0};
    struct value *in[] = {skip_sum(n, 3), b_in(n, 2)};
    if (!in[0])
        return false;
    double epsilon = attr_float(&n->attrs, "epsilon", 1e-12f);
    if (n->nout > 1 && n->wanted[1])
        return NODE_ERROR(n, "output 1 (a mean) is not supported; export for inference");
    if (n->nout > 2 && n->wanted[2])
        n->out[2] = inverse_rms(n, in[0], epsilon);
    attr_set_float(&n->b->g->arena, &a, "epsilon", epsilon);
    return b_done(n, b_op(n->b, OP_rms_norm, in, 2, &a));
}

/* Images; channels last unless said otherwise. */
static struct value *group_norm(struct onnx_node *n, struct value *x)
{
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    attr_set_int(arena, &a, "num_groups", attr_int(&n->attrs, "groups", 1));
    attr_set_float(arena, &a, "epsilon", attr_float(&n->attrs, "epsilon", 1e-5f));
    attr_set_int(arena, &a, "channels_last", attr_int(&n->attrs, "channels_last", 1));
    struct value *scale = b_cast(n->b, n->in[1], b_dtype(x)), *bias = b_cast(n->b, n->in[2], b_dtype(x));
    struct value *y = b_op(n->b, OP_group_norm, (struct value *[]){x, scale, bias}, 3, &a);
    return attr_int(&n->attrs, "activation", 0) ? b_1(n->b, OP_silu, y) : y;
}

bool lower_group_norm_contrib(struct onnx_node *n)
{
    return b_done(n, group_norm(n, n->in[0]));
}

/* The skip may be one value for each image and channel; a bias has one for each channel. */
bool lower_skip_group_norm(struct onnx_node *n)
{
    static const int64_t inner[] = {1, 2}, outer[] = {2, 3};
    bool last = attr_int(&n->attrs, "channels_last", 1);
    struct value *skip = n->in[3], *bias = b_in(n, 4);
    if (skip && skip->type.rank == 2)
        skip = b_unsqueeze(n->b, skip, last ? inner : outer, 2);
    if (bias && !last)
        bias = b_unsqueeze(n->b, bias, inner, 2);
    struct value *sum = b_add(n->b, n->in[0], skip);
    sum = bias ? b_add(n->b, sum, bias) : sum;
    if (n->nout > 1)
        n->out[1] = sum;
    return b_done(n, group_norm(n, sum));
}

/* Words, positions and segments looked up, added and normalised. */
bool lower_embed_layer_norm(struct onnx_node *n)
{
    static const int64_t second[] = {1}, front[] = {0};
    struct value *ids = n->in[0], *segments = b_in(n, 1), *positions = b_in(n, 8),
                 *mask = b_in(n, 7);
    struct value *sum = b_gather(n->b, n->in[2], ids, 0);
    struct attrs a = {0};
    struct value *place =
        positions ? b_gather(n->b, n->in[3], positions, 0)
                  : b_op(n->b, OP_slice,
                         (struct value *[]){n->in[3], b_i64(n->b, 0), b_dim(n->b, ids, 1), b_i64(n->b, 0)},
                         4, NULL);
    sum = b_add(n->b, sum, positions ? place : b_unsqueeze(n->b, place, front, 1));
    if (segments && b_in(n, 4))
        sum = b_add(n->b, sum, b_gather(n->b, n->in[4], segments, 0));
    attr_set_float(&n->b->g->arena, &a, "epsilon", attr_float(&n->attrs, "epsilon", 1e-12f));
    n->out[0] = b_op(n->b, OP_layer_norm, (struct value *[]){sum, n->in[5], n->in[6]}, 3, &a);
    if (n->nout > 1 && n->wanted[1])
        n->out[1] = mask ? b_reduce(n->b, OP_reduce_sum, mask, second, 1, false)
                         : b_2(n->b, OP_expand, b_scalar(n->b, DT_I32, 0), b_dim(n->b, ids, 0));
    if (n->nout > 2)
        n->out[2] = sum;
    return !diag_failed(n->b->d);
}

/* Tables, scale and bias of 8 bits, whose scales follow from input 8 on and zero points from 13 on. */
bool lower_q_embed_layer_norm(struct onnx_node *n)
{
    static const char *const names[] = {"word_embedding", "position_embedding", "segment_embedding", "gamma", "beta"};
    struct value *plain[7] = {NULL}, **given = n->in;
    int ids;
    if (!b_rank(n, n->in[0], "'input_ids'", &ids))
        return false;
    if (ids != 2)
        return NODE_ERROR(n, "'input_ids' has rank %d, expected 2", ids);
    bool segments = b_in(n, 1) != NULL;
    if (segments != (b_in(n, 4) != NULL) || !b_has_dims(n, 1, "'segment_ids'", n->in[0]->type.dims, 2))
        return diag_failed(n->b->d) ? false : NODE_ERROR(n, "one of 'segment_ids' and 'segment_embedding' is left out");
    if (!b_has_dims(n, 7, "'mask'", n->in[0]->type.dims, 2))
        return false;
    for (int i = 0; i < 5; i++) {
        struct value *in[] = {b_in(n, 2 + i), b_in(n, 8 + i), b_in(n, 13 + i)};
        bool all = in[0] && in[1] && in[2];
        if (!all && (i != 2 || in[0] || in[1] || in[2]))
            return NODE_ERROR(n, "'%s', its scale or its zero point is left out", names[i]);
        plain[2 + i] = all ? b_op(n->b, OP_dequantize_linear, in, 3, NULL) : NULL;
    }
    plain[0] = n->in[0], plain[1] = b_in(n, 1);
    struct value *in[9] = {plain[0], plain[1], plain[2], plain[3], plain[4], plain[5], plain[6], b_in(n, 7), NULL};
    int count = n->nin;
    n->in = in, n->nin = 9;
    bool ok = lower_embed_layer_norm(n);
    n->in = given, n->nin = count;
    return ok;
}

/* ---- what the standard has under another domain ---- */

bool lower_pad_contrib(struct onnx_node *n)
{
    return b_done(n, b_op(n->b, OP_pad, n->in, n->nin, &n->attrs));
}
bool lower_gather_nd_contrib(struct onnx_node *n)
{
    return b_done(n, b_op(n->b, OP_gather_nd, n->in, 2, &n->attrs));
}

/* Euclidean distances of rows: (m,k), (n,k) to (m,n). */
bool lower_cdist(struct onnx_node *n)
{
    bool square = attr_is(&n->attrs, "metric", "sqeuclidean");
    if (!square && attr_find(&n->attrs, "metric") && !attr_is(&n->attrs, "metric", "euclidean"))
        return NODE_ERROR(n, "attribute 'metric' is none of euclidean, sqeuclidean");
    int64_t middle = 1, first = 0, last = 2;
    struct value *off = b_unsqueeze(n->b, n->in[0], &middle, 1);
    off = b_sub(n->b, off, b_unsqueeze(n->b, n->in[1], &first, 1));
    struct value *y = b_reduce(n->b, OP_reduce_sum, b_mul(n->b, off, off), &last, 1, false);
    return b_done(n, square ? y : b_1(n->b, OP_sqrt, y));
}

/* Strings of tokens; missing ones are padded. */
bool lower_tokenizer(struct onnx_node *n)
{
    if (!attr_find(&n->attrs, "tokenexp") && !attr_find(&n->attrs, "separators"))
        return NODE_ERROR(n, "has neither 'tokenexp' nor 'separators'");
    if (attr_int(&n->attrs, "mincharnum", 1) < 1)
        return NODE_ERROR(n, "attribute 'mincharnum' is less than 1");
    struct node *split = b_node(n->b, OP_string_split, n->in, 1, 2, &n->attrs);
    return b_done(n, split ? split->out[0] : NULL);
}

/* ---- CropAndResize ---- */

/* Places (regions, count) along one dim whose last place is `max`; the region spans columns from
 * and to. */
static struct value *crop_places(struct onnx_node *n, struct value *rois, int from, int64_t count,
                                 struct value *max)
{
    struct value *start = b_mul(n->b, b_slice(n->b, rois, from, from + 1, 1), max);
    struct value *end = b_mul(n->b, b_slice(n->b, rois, from + 2, from + 3, 1), max);
    float *steps = ARENA_ARRAY(&n->b->g->arena, float, count);
    for (int64_t i = 0; i < count; i++)
        steps[i] = count > 1 ? (float)i / (float)(count - 1) : 0.5f;
    struct value *t = constant_copy(n->b->g, DT_F32, 1, &count, steps, NULL);
    return b_add(n->b, start, b_mul(n->b, b_sub(n->b, end, start), t));
}

static struct value *within(struct onnx_node *n, struct value *x, struct value *max)
{
    struct value *positive = b_2(n->b, OP_ge, x, b_like(n->b, x, 0));
    return b_2(n->b, OP_and, positive, b_2(n->b, OP_le, x, max));
}

/* -1 to 1 over the places. */
static struct value *normalised(struct onnx_node *n, struct value *x, struct value *max)
{
    struct value *half = b_mul(n->b, b_2(n->b, OP_max, max, b_like(n->b, max, 1)), b_like(n->b, max, 0.5));
    return b_sub(n->b, b_div(n->b, x, half), b_like(n->b, x, 1));
}

/*
 * x (N,C,H,W), regions (R,4) as y1, x1, y2, x2 from 0 to 1, image of each, size. Points outside the
 * image get a constant.
 */
bool lower_crop_and_resize(struct onnx_node *n)
{
    static const int64_t last[] = {-1}, middle[] = {1};
    const struct tensor *size = b_constant(n->in[3]);
    struct attrs a = {0};
    if (!size || tensor_count(size) != 2 || tensor_i64(size, 0) < 1 || tensor_i64(size, 1) < 1 ||
        tensor_i64(size, 0) > 65536 || tensor_i64(size, 1) > 65536)
        return NODE_ERROR(n, "the crop size must be a constant of two numbers, 1 to 65536");
    struct value *x = b_gather(n->b, n->in[0], n->in[2], 0), *rois = n->in[1], *places[2], *max[2],
                 *grid[2], *in[2];
    int64_t counts[] = {tensor_i64(size, 0), tensor_i64(size, 1)};
    for (int i = 0; i < 2; i++) { /* rows, columns */
        max[i] = b_sub(n->b, b_cast(n->b, b_dim(n->b, n->in[0], 2 + i), DT_F32), b_scalar(n->b, DT_F32, 1));
        places[i] = crop_places(n, rois, i, counts[i], max[i]);
        in[i] = b_unsqueeze(n->b, within(n, places[i], max[i]), i ? middle : last, 1);
        grid[i] = b_unsqueeze(n->b, normalised(n, places[i], max[i]), i ? middle : last, 1);
    }
    struct value *inside = b_2(n->b, OP_and, in[0], in[1]), *shape = b_shape(n->b, inside), *both[2];
    for (int i = 0; i < 2; i++)
        both[i] = b_unsqueeze(n->b, b_2(n->b, OP_expand, grid[1 - i], shape), last, 1);
    attr_set_int(&n->b->g->arena, &a, "align_corners", 1);
    attr_set_str(&n->b->g->arena, &a, "padding_mode", "border");
    attr_set_str(&n->b->g->arena, &a, "mode",
                 attr_is(&n->attrs, "mode", "nearest") ? "nearest" : "linear");
    struct value *y =
        b_op(n->b, OP_grid_sample, (struct value *[]){x, b_concat(n->b, both, 2, 3)}, 2, &a);
    struct value *outside = b_like(n->b, y, attr_float(&n->attrs, "extrapolation_value", 0));
    return b_done(n,
                  b_select(n->b, b_unsqueeze(n->b, inside, middle, 1), y, outside));
}
