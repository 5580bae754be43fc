/*
 * Operators of com.microsoft in models that mix attention with recurrences: gates, and normalisations of parts of a
 * row. Those of 16-bit types compute in f32 and round where the schema says.
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
