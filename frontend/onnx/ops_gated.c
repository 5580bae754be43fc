/*
 * Operators of com.microsoft in models that mix attention with recurrences: gates, normalisations of parts of a row,
 * streams of branches, linear attention. Gates and normalisations of 16-bit types compute in f32 and round where the
 * schema says.
 */
#include "frontend/onnx/ops.h"

/* Input i, if there is one, has the rank and the first dims of input 0: all but `less`. */
static bool as_first(struct onnx_node *n, int i, const char *name, int less)
{
    int rank, own;
    if (!b_in(n, i))
        return true;
    if (!b_rank(n, n->in[0], "the first input", &rank) || !b_rank(n, n->in[i], name, &own))
        return false;
    if (own != rank)
        return NODE_ERROR(n, "%s has rank %d, expected %d, that of the first input", name, own, rank);
    const char *what = arena_printf(&n->b->g->arena, "sizes of %s and of the first input", name);
    for (int k = 0; k < rank - less; k++)
        if (!b_require(n->b, GUARD_EQUAL, n->in[i]->type.dims[k], n->in[0]->type.dims[k], what))
            return false;
    return true;
}

/* Input i has rank 1, and a size of which the last dim of input 0 is a multiple, or (kind) to which it is equal. */
static bool is_row(struct onnx_node *n, int i, const char *name, enum guard_kind kind)
{
    int rank, own;
    if (!b_rank(n, n->in[0], "the first input", &rank) || !b_rank(n, n->in[i], name, &own))
        return false;
    if (rank < 1 || own != 1)
        return NODE_ERROR(n, "%s has rank %d and the first input rank %d, expected 1, and 1 or more", name, own, rank);
    return b_require(n->b, kind, n->in[0]->type.dims[rank - 1], n->in[i]->type.dims[0],
                     arena_printf(&n->b->g->arena, "sizes of the last dimension and of %s", name));
}

static struct value *f32(struct onnx_node *n, struct value *x)
{
    return b_cast(n->b, x, DT_F32);
}

/* x * sigmoid(x) of x scaled by the second input, or by alpha; the scaled value is rounded. */
bool lower_scaled_silu(struct onnx_node *n)
{
    int rank = 0;
    struct value *scale = b_in(n, 1), *x = n->in[0];
    if (scale && !b_rank(n, scale, "'scale'", &rank))
        return false;
    if (rank)
        return NODE_ERROR(n, "'scale' has rank %d, expected a scalar", rank);
    scale = scale ? f32(n, scale) : b_scalar(n->b, DT_F32, attr_float(&n->attrs, "alpha", 1));
    struct value *scaled = b_cast(n->b, b_mul(n->b, f32(n, x), scale), b_dtype(x));
    return b_done(n, b_mul(n->b, scaled, b_1(n->b, OP_sigmoid, scaled)));
}

/* The gate of each row (...,1): sigmoid of `rows` (...,K) times the weight (K,1), each rounded. */
static struct value *projected_gate(struct onnx_node *n, struct value *rows, struct value *weight)
{
    int rank, dtype = b_dtype(rows);
    if (!b_rank(n, weight, "'gate_weight'", &rank))
        return NULL;
    if (rank != 2) {
        NODE_ERROR(n, "'gate_weight' has rank %d, expected 2", rank);
        return NULL;
    }
    rows = f32(n, rows), weight = f32(n, weight);
    return b_1(n->b, OP_sigmoid, b_cast(n->b, b_2(n->b, OP_matmul, rows, weight), dtype));
}

/* x + y * gate, which is one for each row. */
bool lower_gated_add(struct onnx_node *n)
{
    struct value *gate = n->in[2], *weight = b_in(n, 3);
    if (!as_first(n, 1, "'Y'", 0) || !as_first(n, 2, "'gate'", 1))
        return false;
    if (n->in[0]->type.rank < 1)
        return NODE_ERROR(n, "'X' is a scalar, expected rank 1 or more");
    gate = weight ? projected_gate(n, gate, weight) : gate;
    if (!gate || !b_require(n->b, GUARD_EQUAL, gate->type.dims[gate->type.rank - 1], 1, "last dimension of the gate"))
        return false;
    return b_done(n, b_add(n->b, n->in[0], b_mul(n->b, n->in[1], gate)));
}

/* x (...,N) as (...,groups,size): one of the two is given, as a list of one. */
static struct value *groups_apart(struct onnx_node *n, struct value *x, struct value *groups, struct value *size)
{
    struct attrs leading = {0}, zeros = {0};
    struct value *other = b_div(n->b, b_dim(n->b, x, -1), groups ? groups : size);
    attr_set_int(&n->b->g->arena, &leading, "end", -1);
    attr_set_int(&n->b->g->arena, &zeros, "allowzero", 1);
    struct value *shape[] = {b_op(n->b, OP_shape, &x, 1, &leading), groups ? groups : other, size ? size : other};
    return b_op(n->b, OP_reshape, (struct value *[]){x, b_concat(n->b, shape, 3, 0)}, 2, &zeros);
}

static struct value *rms_norm(struct onnx_node *n, struct value *x, struct value *scale)
{
    struct attrs a = {0};
    attr_set_float(&n->b->g->arena, &a, "epsilon", attr_float(&n->attrs, "epsilon", 1e-5f));
    x = f32(n, x), scale = f32(n, scale);
    return b_op(n->b, OP_rms_norm, (struct value *[]){x, scale}, 2, &a);
}

/* Each run of as many elements as the scale has is normalised, then multiplied by its activated gate. */
bool lower_gated_rms_norm(struct onnx_node *n)
{
    struct value *x = n->in[0], *scale = n->in[1], *gate = f32(n, n->in[2]);
    struct str activation = attr_str(&n->attrs, "activation", "silu");
    bool sigmoid = attr_is(&n->attrs, "activation", "sigmoid");
    if (!sigmoid && attr_find(&n->attrs, "activation") && !attr_is(&n->attrs, "activation", "silu") &&
        !attr_is(&n->attrs, "activation", "swish"))
        return NODE_ERROR(n, "attribute 'activation' is '%.*s', expected silu, swish or sigmoid", (int)activation.n,
                          activation.p);
    if (!as_first(n, 2, "'gate'", 0) || !is_row(n, 1, "'scale'", GUARD_MULTIPLE))
        return false;
    if (scale->type.dims[0] == 0)
        return NODE_ERROR(n, "'scale' is empty, expected 1 element or more");
    bool whole = x->type.dims[x->type.rank - 1] == scale->type.dims[0];
    struct value *parts = whole ? x : groups_apart(n, x, NULL, b_dim(n->b, scale, 0));
    struct value *y = rms_norm(n, parts, scale);
    y = whole ? y : b_reshape_as(n->b, y, x);
    y = b_mul(n->b, y, b_1(n->b, sigmoid ? OP_sigmoid : OP_silu, gate));
    return b_done(n, b_cast(n->b, y, b_dtype(x)));
}

/* The scale of one branch (H) as it is, of all branches (C,H) or (C*H) as (C,H). */
static struct value *branch_scale(struct onnx_node *n, struct value *scale, struct value *x)
{
    int rank;
    const dim_t *dims = &x->type.dims[x->type.rank - 2];
    if (!b_rank(n, scale, "'scale'", &rank))
        return NULL;
    if (rank != 1 && rank != 2) {
        NODE_ERROR(n, "'scale' has rank %d, expected 1 or 2", rank);
        return NULL;
    }
    dim_t size = scale->type.dims[rank - 1];
    if (rank == 1)
        return b_require(n->b, GUARD_MULTIPLE, size, dims[1], "sizes of 'scale' and of a branch")
                   ? groups_apart(n, scale, NULL, b_dim(n->b, x, -1))
                   : NULL;
    return b_require(n->b, GUARD_EQUAL, scale->type.dims[0], dims[0], "branches of 'scale' and of 'X'") &&
                   b_require(n->b, GUARD_EQUAL, size, dims[1], "sizes of a branch of 'scale' and of 'X'")
               ? scale
               : NULL;
}

/* Branches (...,C,H), or (...,C*H) with their number as an attribute, are normalised one by one. */
bool lower_branchwise_rms_norm(struct onnx_node *n)
{
    int rank;
    int64_t branches = attr_int(&n->attrs, "num_branches", 0);
    struct value *x = n->in[0], *parts = x, *scale = b_in(n, 1);
    if (!b_rank(n, x, "'X'", &rank))
        return false;
    if (branches < 0 || branches > INT32_MAX || rank < (branches ? 1 : 2))
        return NODE_ERROR(n, "'X' of rank %d with 'num_branches' %lld, expected rank 2, or 1 with branches, at least",
                          rank, (long long)branches);
    if (branches) {
        if (!b_require(n->b, GUARD_MULTIPLE, x->type.dims[rank - 1], branches, "the last dimension and 'num_branches'"))
            return false;
        parts = groups_apart(n, x, b_i64(n->b, branches), NULL);
    }
    scale = scale && parts ? branch_scale(n, scale, parts) : b_scalar(n->b, DT_F32, 1);
    struct value *y = b_cast(n->b, rms_norm(n, parts, scale), b_dtype(x));
    return b_done(n, branches ? b_reshape_as(n->b, y, x) : y);
}

/* decay_scale * softplus(a + dt_bias), and sigmoid(b). */
bool lower_linear_attention_gate(struct onnx_node *n)
{
    struct value *a = n->in[0], *b = b_in(n, 3);
    if (!is_row(n, 1, "'dt_bias'", GUARD_EQUAL) || !is_row(n, 2, "'decay_scale'", GUARD_EQUAL) ||
        !as_first(n, 3, "'b'", 0))
        return false;
    if (n->nout > 1 && n->wanted[1] && !b)
        return NODE_ERROR(n, "input 'b' is left out, output 'beta' needs it");
    struct value *decay = b_1(n->b, OP_softplus, b_add(n->b, f32(n, a), n->in[1]));
    if (n->nout > 1 && b)
        n->out[1] = b_1(n->b, OP_sigmoid, b);
    return b_done(n, b_cast(n->b, b_mul(n->b, decay, n->in[2]), b_dtype(a)));
}

/* ---- streams: several branches (...,C,H) that a layer reads as one and writes to ---- */

/* Operand 0 as (...,C,H), whichever form it has; NULL after a failure. */
static struct value *streams_apart(struct onnx_node *n, int *rank)
{
    int64_t branches = attr_int(&n->attrs, "num_branches", 0);
    struct value *x = n->in[0];
    if (!b_rank(n, x, "'streams'", rank))
        return NULL;
    if (branches < 0 || branches > INT32_MAX || *rank < (branches ? 1 : 2)) {
        NODE_ERROR(n, "'streams' of rank %d with 'num_branches' %lld, expected rank 2, or 1 with branches, at least",
                   *rank, (long long)branches);
        return NULL;
    }
    if (branches && !b_require(n->b, GUARD_MULTIPLE, x->type.dims[*rank - 1], branches,
                               "the last dimension and 'num_branches'"))
        return NULL;
    *rank += branches ? 1 : 0;
    return branches ? groups_apart(n, x, b_i64(n->b, branches), NULL) : x;
}

/* Input i fits the first dims of the streams x: all but `less`. */
static bool leads_as(struct onnx_node *n, int i, const char *name, const struct value *x, int less, int own)
{
    int rank;
    if (!b_rank(n, n->in[i], name, &rank))
        return false;
    if (rank != own)
        return NODE_ERROR(n, "%s has rank %d, expected %d", name, rank, own);
    for (int k = 0; k < x->type.rank - less; k++)
        if (!b_require(n->b, GUARD_EQUAL, n->in[i]->type.dims[k], x->type.dims[k],
                       arena_printf(&n->b->g->arena, "dimension %d of %s", k, name)))
            return false;
    return true;
}

/* The gates of the streams x, (...,C) or (...,C,1) or (...,C,H), as the latter; `flat`: (...,C*H) too. */
static struct value *stream_gates(struct onnx_node *n, int i, const char *name, struct value *x, bool flat)
{
    static const int64_t back[] = {-1};
    int rank, whole = x->type.rank;
    struct value *gate = n->in[i];
    const dim_t *dims = &x->type.dims[whole - 2];
    if (!b_rank(n, gate, name, &rank))
        return NULL;
    if (rank == whole)
        return leads_as(n, i, name, x, 1, whole) &&
                       b_require(n->b, GUARD_EXPAND, gate->type.dims[rank - 1], dims[1],
                                 arena_printf(&n->b->g->arena, "features of %s and of the streams", name))
                   ? f32(n, gate)
                   : NULL;
    if (!leads_as(n, i, name, x, 2, whole - 1))
        return NULL;
    dim_t own = gate->type.dims[rank - 1];
    const char *what = arena_printf(&n->b->g->arena, "branches of %s and of the streams", name);
    if (!flat || own == dims[0])
        return b_require(n->b, GUARD_EQUAL, own, dims[0], what) ? b_unsqueeze(n->b, f32(n, gate), back, 1) : NULL;
    if (!b_require(n->b, GUARD_MULTIPLE, own, dims[0], what) ||
        !b_require(n->b, GUARD_EXPAND, dim_floordiv(&n->b->g->dims, own, dims[0]), dims[1], what))
        return NULL;
    gate = f32(n, gate);
    return groups_apart(n, gate, b_dim(n->b, x, -2), NULL);
}

/* The streams times their gates, summed. */
bool lower_hyper_connection_pre_mix(struct onnx_node *n)
{
    static const int64_t branch[] = {-2};
    int rank;
    double scale = attr_float(&n->attrs, "reduction_scale", 1);
    struct value *x = streams_apart(n, &rank);
    struct value *gate = x ? stream_gates(n, 1, "'pre_mix'", x, attr_int(&n->attrs, "num_branches", 0) > 0) : NULL;
    if (!gate)
        return false;
    struct value *y = b_reduce(n->b, OP_reduce_sum, b_mul(n->b, f32(n, x), gate), branch, 1, false);
    y = scale == 1 ? y : b_mul(n->b, y, b_scalar(n->b, DT_F32, scale));
    return b_done(n, b_cast(n->b, y, b_dtype(x)));
}

/* The streams, mixed by a matrix (...,C,C) if there is one, plus what a layer made, times its gates. */
bool lower_hyper_connection_post_mix(struct onnx_node *n)
{
    static const int64_t branch[] = {-2};
    int rank;
    struct value *x = streams_apart(n, &rank), *mixed;
    struct value *gate = x ? stream_gates(n, 2, "'post_mix'", x, false) : NULL;
    if (!gate || !leads_as(n, 1, "'block_output'", x, 2, rank - 1))
        return false;
    const dim_t *dims = &x->type.dims[rank - 2];
    if (!b_require(n->b, GUARD_EQUAL, n->in[1]->type.dims[rank - 2], dims[1], "features of 'block_output'"))
        return false;
    mixed = f32(n, x);
    if (b_in(n, 3)) {
        if (!leads_as(n, 3, "'stream_mix'", x, 1, rank) ||
            !b_require(n->b, GUARD_EQUAL, n->in[3]->type.dims[rank - 1], dims[0], "columns of 'stream_mix'"))
            return false;
        int64_t order[MAX_RANK];
        for (int i = 0; i < rank; i++)
            order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
        mixed = b_2(n->b, OP_matmul, b_transpose(n->b, f32(n, n->in[3]), order, rank), mixed);
    }
    struct value *more = b_mul(n->b, gate, b_unsqueeze(n->b, f32(n, n->in[1]), branch, 1));
    struct value *y = b_cast(n->b, b_add(n->b, mixed, more), b_dtype(x));
    return b_done(n, y->type.rank == n->in[0]->type.rank ? y : b_reshape_as(n->b, y, n->in[0]));
}

/* RMS of the last dim to 1, times the scale. */
static struct value *scaled_rows(struct onnx_node *n, struct value *x, struct value *scale)
{
    struct value *y = rms_norm(n, x, b_scalar(n->b, DT_F32, 1));
    return b_mul(n->b, y, f32(n, scale));
}

/* value (B,S,H) for each branch, times a gate by how key and query (B,S,C,H) agree; the same normalised. */
bool lower_engram_gate(struct onnx_node *n)
{
    static const int64_t last[] = {-1}, branch[] = {2};
    int rank, dtype = b_dtype(n->in[0]);
    if (!b_rank(n, n->in[0], "'key'", &rank))
        return false;
    if (rank != 4)
        return NODE_ERROR(n, "'key' has rank %d, expected 4", rank);
    const dim_t *k = n->in[0]->type.dims, value[] = {k[0], k[1], k[3]};
    if (!b_has_dims(n, 1, "'query'", k, 4) || !b_has_dims(n, 2, "'value'", value, 3) ||
        !b_has_dims(n, 3, "'key_norm_scale'", k + 2, 2) || !b_has_dims(n, 4, "'query_norm_scale'", k + 2, 2) ||
        !b_has_dims(n, 5, "'conv_norm_scale'", k + 2, 2))
        return false;
    bool normed = n->nout > 1 && n->wanted[1];
    if (normed && !b_in(n, 5))
        return NODE_ERROR(n, "input 'conv_norm_scale' is left out, output 'gated_value_normed' needs it");
    struct value *key = scaled_rows(n, n->in[0], n->in[3]);
    struct value *agree = b_mul(n->b, key, scaled_rows(n, n->in[1], n->in[4]));
    struct value *width = b_cast(n->b, b_dim(n->b, n->in[0], 3), DT_F32);
    struct value *dot = b_reduce(n->b, OP_reduce_sum, agree, last, 1, true);
    dot = b_mul(n->b, dot, b_1(n->b, OP_rsqrt, width));
    struct value *size = b_2(n->b, OP_max, b_1(n->b, OP_abs, dot), b_scalar(n->b, DT_F32, 1e-6f));
    struct value *root = b_1(n->b, OP_sqrt, size);
    struct value *gate = b_1(n->b, OP_sigmoid, b_mul(n->b, b_1(n->b, OP_sign, dot), root));
    struct value *y = b_mul(n->b, gate, b_unsqueeze(n->b, f32(n, n->in[2]), branch, 1));
    if (normed)
        n->out[1] = b_cast(n->b, scaled_rows(n, y, n->in[5]), dtype);
    return b_done(n, b_cast(n->b, y, dtype));
}

/* ---- what the standard has since operator set 27, with more attributes ---- */

/* The first two dims of x as they are, the others in the shape of a list. */
static struct value *reshape_steps(struct onnx_node *n, struct value *x, struct value *shape)
{
    struct attrs leading = {0}, zeros = {0};
    attr_set_int(&n->b->g->arena, &leading, "end", 2);
    attr_set_int(&n->b->g->arena, &zeros, "allowzero", 1);
    struct value *whole[] = {b_op(n->b, OP_shape, &x, 1, &leading), shape};
    return b_op(n->b, OP_reshape, (struct value *[]){x, b_concat(n->b, whole, 2, 0)}, 2, &zeros);
}

/* Each head of x (B,T,heads*D) `times` times, one behind the other. */
static struct value *repeat_heads(struct onnx_node *n, struct value *x, int64_t heads, int64_t times)
{
    static const int64_t behind[] = {3};
    struct value *apart = b_unsqueeze(n->b, groups_apart(n, x, b_i64(n->b, heads), NULL), behind, 1);
    struct value *count = b_i64s(n->b, (int64_t[]){1, 1, 1, times, 1}, 5);
    struct value *width = b_mul(n->b, b_dim(n->b, x, -1), b_i64(n->b, times));
    return reshape_steps(n, b_2(n->b, OP_expand, apart, count), width);
}

/* As ONNX's LinearAttention, and there may be more heads of keys than of queries: each query then serves several. */
bool lower_linear_attention_contrib(struct onnx_node *n)
{
    static const char *const own[] = {"state_window", NULL};
    int64_t qh = attr_int(&n->attrs, "q_num_heads", 0), kvh = attr_int(&n->attrs, "kv_num_heads", 0);
    int rank;
    if (!b_has_default(n, "state_window", 0) || !b_rank(n, n->in[0], "'query'", &rank))
        return false;
    if (qh < 1 || kvh < 1 || qh > INT32_MAX || kvh > INT32_MAX || (qh % kvh && kvh % qh))
        return NODE_ERROR(n, "q_num_heads is %lld and kv_num_heads %lld, expected one to be a multiple of the other",
                          (long long)qh, (long long)kvh);
    if (rank != 3)
        return NODE_ERROR(n, "'query' has rank %d, expected 3", rank);
    if (!b_require(n->b, GUARD_MULTIPLE, n->in[0]->type.dims[2], qh, "columns of 'query' and q_num_heads"))
        return false;
    struct attrs a = b_attrs_without(n, own);
    if (qh < kvh) {
        n->in[0] = repeat_heads(n, n->in[0], qh, kvh / qh);
        attr_set_int(&n->b->g->arena, &a, "q_num_heads", kvh);
    }
    struct node *made = b_node(n->b, OP_linear_attention, n->in, n->nin, 2, &a);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}

/* x (B,C,L) or, with channels last, (B,L,d1,...,dn), w (C,1,k), bias (C), past as x: C is the product of d1 to dn. */
static bool causal_conv_fits(struct onnx_node *n, bool last, int64_t dilation)
{
    int rank, w_rank;
    struct dim_table *t = &n->b->g->dims;
    if (!b_rank(n, n->in[0], "'input'", &rank) || !b_rank(n, n->in[1], "'weight'", &w_rank))
        return false;
    if (rank < 3 || (!last && rank != 3) || w_rank != 3)
        return NODE_ERROR(n, "'input' has rank %d and 'weight' rank %d, expected 3%s and 3", rank, w_rank,
                          last ? " or more" : "");
    const dim_t *x = n->in[0]->type.dims, *w = n->in[1]->type.dims;
    dim_t channels = last ? 1 : x[1], past = dim_mul(t, dim_sub(t, w[2], 1), dilation), state[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        state[i] = i == (last ? 1 : 2) ? past : x[i];
        channels = last && i >= 2 ? dim_mul(t, channels, x[i]) : channels;
    }
    return b_require(n->b, GUARD_AT_MAX, 1, w[2], "the kernel") &&
           b_has_dims(n, 1, "'weight'", (dim_t[]){channels, 1, w[2]}, 3) && b_has_dims(n, 2, "'bias'", &channels, 1) &&
           b_has_dims(n, 3, "'past_state'", state, rank);
}

/* With a dilation: a convolution of the state and x, one behind the other (B,C,L). */
static bool dilated_conv(struct onnx_node *n, struct value **in, int64_t dilation, struct value **out)
{
    static const int64_t zero[] = {0, 0};
    struct attrs a = {0};
    dim_t channels = in[1]->type.dims[0];
    if (!dim_is_const(channels))
        return NODE_ERROR(n, "the number of channels is not known, and a dilation needs it");
    attr_set_int(&n->b->g->arena, &a, "group", channels);
    attr_set_ints(&n->b->g->arena, &a, "dilations", &dilation, 1);
    attr_set_ints(&n->b->g->arena, &a, "pads", zero, 2);
    struct value *taps = b_sub(n->b, b_dim(n->b, in[1], 2), b_i64(n->b, 1));
    struct value *length = b_mul(n->b, taps, b_i64(n->b, dilation)), *past = in[3];
    if (!past) {
        struct value *shape[] = {b_dim(n->b, in[0], 0), b_dim(n->b, in[0], 1), length};
        past = b_2(n->b, OP_expand, b_like(n->b, in[0], 0), b_concat(n->b, shape, 3, 0));
    }
    struct value *all = b_concat(n->b, (struct value *[]){past, in[0]}, 2, 2), *axis = b_i64(n->b, 2);
    struct value *end = b_dim(n->b, all, 2), *from = b_dim(n->b, in[0], 2);
    out[0] = b_op(n->b, OP_conv, (struct value *[]){all, in[1], in[2]}, in[2] ? 3 : 2, &a);
    if (attr_find(&n->attrs, "activation") && !attr_is(&n->attrs, "activation", "none"))
        out[0] = b_1(n->b, OP_silu, out[0]);
    out[1] = b_op(n->b, OP_slice, (struct value *[]){all, from, end, axis}, 4, NULL);
    return !diag_failed(n->b->d);
}

/* As ONNX's CausalConvWithState, with a dilation, and with channels last. */
bool lower_causal_conv_contrib(struct onnx_node *n)
{
    static const char *const activations[] = {"none", "silu", "swish", NULL};
    static const int64_t order[] = {0, 2, 1};
    bool last = attr_int(&n->attrs, "channels_last", 0) != 0;
    int64_t dilation = attr_int(&n->attrs, "dilation", 1);
    struct value *x = n->in[0], *in[] = {x, n->in[1], b_in(n, 2), b_in(n, 3)}, *out[2];
    struct attrs a = {0}, rest = {0};
    if (!b_has_default(n, "ndim", 1) || !b_has_default(n, "state_window", 0) || !b_has_default(n, "state_length", 0) ||
        !b_has_default(n, "input_channels", 0) || !b_has_default(n, "input_channel_offset", 0) ||
        !b_has_default(n, "state_channels_last", -1) || !b_has_default(n, "state_update_capacity", 0) ||
        !b_is_one_of(n, "activation", activations))
        return false;
    if (dilation < 1 || dilation > INT32_MAX)
        return NODE_ERROR(n, "attribute 'dilation' is %lld, expected 1 to %d", (long long)dilation, INT32_MAX);
    if (!causal_conv_fits(n, last, dilation))
        return false;
    for (int i = 0; last && i < 4; i += 3)
        if (in[i]) {
            struct value *channels = b_dim(n->b, in[1], 0);
            in[i] = b_transpose(n->b, reshape_steps(n, in[i], channels), order, 3);
        }
    struct str activation = attr_str(&n->attrs, "activation", "none");
    attr_set_str(&n->b->g->arena, &a, "activation", arena_strndup(&n->b->g->arena, activation.p, activation.n));
    if (dilation > 1) {
        if (!dilated_conv(n, in, dilation, out))
            return false;
    } else {
        struct node *made = b_node(n->b, OP_causal_conv, in, in[3] ? 4 : in[2] ? 3 : 2, 2, &a);
        if (!made)
            return false;
        out[0] = made->out[0], out[1] = made->out[1];
    }
    attr_set_int(&n->b->g->arena, &rest, "start", 2);
    for (int i = 0; i < n->nout && i < 2; i++) {
        n->out[i] = out[i];
        if (last) {
            struct value *shape = b_op(n->b, OP_shape, &x, 1, &rest);
            n->out[i] = reshape_steps(n, b_transpose(n->b, out[i], order, 3), shape);
        }
    }
    return !diag_failed(n->b->d);
}
