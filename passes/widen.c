/*
 * pass widen: what multiplies, sums or compares operands of 16 bits (f16, bf16) computes in FP32 and is rounded once,
 * when it is stored.
 *
 * That is what these operators mean: their sums are not those of a type of 16 bits. Spelled out, they are the operators
 * that later passes and the tile programs know, between casts that fusion makes part of what comes before and after.
 * Products of bf16, and on chips of f16, take their operands as they are: the Tensor engine multiplies them exactly,
 * and weights keep their size. All others have their operands and constants widened, which is exact. After pass
 * compose, which recognises what is written in one type; requires inferred types.
 */
#include "passes/decompose_parts.h"
#include "passes/rewrite.h"

struct widener {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    struct casts casts; /* to f32 */
};

static const enum op widened[] = {
    OP_matmul,     OP_gemm,          OP_conv,       OP_conv_transpose,   OP_deform_conv, OP_causal_conv,
    OP_lstm,       OP_gru,           OP_rnn,        OP_rotary_embedding, OP_batch_norm,  OP_instance_norm,
    OP_group_norm, OP_lp_norm,       OP_lrn,        OP_max_pool,         OP_lp_pool,     OP_average_pool,
    OP_resize,     OP_grid_sample,   OP_roi_align,  OP_reduce_sum,       OP_reduce_mean, OP_reduce_sum_square,
    OP_reduce_max, OP_reduce_min,    OP_reduce_l1,  OP_reduce_l2,        OP_reduce_log_sum_exp,
    OP_cumsum,     OP_argmax,        OP_argmin,     OP_where,            OP_softmax,     OP_log_softmax,
    OP_hardmax,    OP_cast,          OP_topk,       OP_quantize_linear,  OP_dequantize_linear,
};

static bool is_widened(enum op op)
{
    for (size_t i = 0; i < sizeof widened / sizeof *widened; i++)
        if (widened[i] == op)
            return true;
    return false;
}

/* One scale that is known, as tile programs take it, or another operator. */
static bool has_known_scale(const struct node *n)
{
    const bool quantizes = n->op == OP_quantize_linear;
    return (!quantizes && n->op != OP_dequantize_linear) ||
           (n->in[1]->constant && tensor_count(n->in[1]->constant) == 1 && !attr_find(&n->attrs, "precision"));
}

/*
 * In FP32 the product of an integer of 8 bits and a short scale is exact, so that it is rounded once. The quotient of
 * two short floats is rounded to their type before it is rounded to an integer: quotient_in_steps.
 */
static bool is_exact_quantization(const struct node *n)
{
    const int x = n->in[0]->type.dtype, y = n->out[0]->type.dtype;
    if (n->op == OP_quantize_linear)
        return !dtype_is_float(y) && dtype_is_short_float(x) &&
               (n->in[1]->type.dtype == x || n->in[1]->type.dtype == DT_F32);
    if (n->op == OP_dequantize_linear)
        return !n->in[0]->constant && dtype_is_int(x) && dtype_info(x)->bits <= 8 && n->in[1]->type.dtype == y;
    return true;
}

/* From floats of 16 bits to other floats there are kernels. */
static bool is_cast_of_floats(const struct node *n)
{
    return n->op == OP_cast && dtype_is_float(n->out[0]->type.dtype);
}

static bool is_short(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR && dtype_is_short_float(v->type.dtype);
}

static bool has_short_operands(const struct node *n)
{
    bool any = false;
    for (int i = 0; i < n->nin; i++)
        any |= is_short(n->in[i]);
    return any;
}

static bool is_gemm(const struct node *n)
{
    return n->op == OP_gemm && n->in[0]->type.rank == 2 && n->in[1]->type.rank == 2;
}

/* The Tensor engine multiplies the operands as they are stored. On the CPU, convolutions may have a faster way in FP32
 * (Winograd's method), which pass autocast knows; with --auto-cast all it has run. */
static bool multiplies_as_stored(const struct widener *w, const struct node *n)
{
    const bool convolves = n->op == OP_conv || n->op == OP_conv_transpose;
    if (n->op != OP_matmul && !is_gemm(n) && !(convolves && (w->o->strict_target || w->o->auto_cast == CAST_ALL)))
        return false;
    if (convolves && ((n->nin > 2 && n->in[2] && !n->in[2]->constant) || attr_int(&n->attrs, "group", 1) > 1))
        return false;
    return n->in[0]->type.dtype == n->in[1]->type.dtype &&
           (n->in[0]->type.dtype == DT_BF16 || w->o->strict_target);
}

/* Weights of a recurrent layer's state that are whole numbers are stored short, and exact. */
static bool stays_short(const struct node *n, int i)
{
    return n->op == OP_lstm && i == 2 && n->in[i]->constant && attr_find(&n->attrs, "state_scales");
}

static struct value *widen_constant(struct widener *w, struct value *v)
{
    const struct tensor *t = v->constant;
    struct value *made = constant_unwritten(w->g, DT_F32, t->rank, t->dims, v->name, w->d);
    if (made)
        dtype_convert(DT_F32, made->constant->data, t->dtype, t->data, (size_t)tensor_count(t), false);
    return made;
}

static bool widen_operand(struct widener *w, struct node *n, int i)
{
    struct value *v = n->in[i];
    if (!*cast_of(&w->casts, w->g, v)) {
        struct value *made = v->constant ? widen_constant(w, v) : cast_at_source(v, DT_F32, w->d);
        if (!made)
            return false;
        *cast_of(&w->casts, w->g, v) = made;
    }
    node_set_input(n, i, *cast_of(&w->casts, w->g, v));
    if (v->constant && !v->uses)
        constant_release(w->g, v);
    return true;
}

/* Readers get the result in the type that it had. */
static bool round_result(struct widener *w, struct node *n, struct value *v, int dtype)
{
    struct builder b = builder_before(n->next, w->d);
    if (v->type.dtype == dtype)
        return true;
    struct value *stored = b_cast(&b, v, dtype);
    if (!stored)
        return false;
    stored->name = v->name;
    v->name = NULL;
    value_replace(v, stored);
    node_set_input(stored->def, 0, v);
    return true;
}

/* What is quantised becomes x / scale in their type, and the scale 1. */
static bool quotient_in_steps(struct widener *w, struct node *n, int dtype)
{
    struct builder b = builder_before(n, w->d);
    struct value *one = constant_floats(w->g, DT_F32, 0, NULL, (double[]){1}, NULL);
    struct value *quotient = b_div(&b, n->in[0], n->in[1]);
    struct value *rounded = b_cast(&b, b_cast(&b, quotient, dtype), DT_F32);
    if (!rounded)
        return false;
    node_set_input(n, 0, rounded);
    node_set_input(n, 1, one);
    return true;
}

static bool visit(struct node *n, void *user)
{
    enum { MAX_RESULTS = 3 };
    struct widener *w = user;
    int stored[MAX_RESULTS]; /* type of a result that is rounded, or -1 */
    if (!is_widened(n->op) || !has_short_operands(n) || n->nout > MAX_RESULTS || is_cast_of_floats(n) ||
        !has_known_scale(n) || !is_exact_quantization(n))
        return true;
    const int scale = n->op == OP_quantize_linear ? n->in[1]->type.dtype : DT_F32;
    for (int i = 0; i < n->nout; i++)
        stored[i] = is_short(n->out[i]) ? n->out[i]->type.dtype : -1;
    const bool as_stored = multiplies_as_stored(w, n);
    for (int i = as_stored ? 2 : 0; i < n->nin; i++)
        if (is_short(n->in[i]) && !stays_short(n, i) && !widen_operand(w, n, i))
            return false;
    why(w->o, n, "widen", "computed in FP32 and rounded once, to the type of its operands");
    if (is_gemm(n)) {
        struct value *y = gemm_parts(n, w->d);
        struct builder b = builder_before(n, w->d);
        return node_replace(n, b_cast(&b, y, stored[0]));
    }
    if (scale != DT_F32 && !quotient_in_steps(w, n, scale))
        return false;
    if (n->op == OP_dequantize_linear && attr_find(&n->attrs, "output_dtype"))
        attr_set_int(&w->g->arena, &n->attrs, "output_dtype", DT_F32);
    if (as_stored)
        attr_set_int(&w->g->arena, &n->attrs, "out_dtype", DT_F32);
    if (!infer_node(w->g, n, w->d))
        return false;
    for (int i = 0; i < n->nout; i++)
        if (stored[i] >= 0 && n->out[i]->uses && !round_result(w, n, n->out[i], stored[i]))
            return false;
    return true;
}

bool pass_widen(struct graph *g, const struct options *o, struct diag *d)
{
    struct widener w = {.g = g, .o = o, .d = d};
    return for_each_node(g->main, visit, &w);
}
