/*
 * Mixtures of experts of com.microsoft: each row is sent to the k experts of its largest logits, and the results are
 * summed by weights. Every expert works on its own rows only, which are told while running. And the router that makes
 * such logits.
 */
#include "frontend/onnx/ops.h"

#include <math.h>

struct expert_layer {
    struct value *weight;       /* (experts, columns, K), for QMoE bytes that are not unpacked yet */
    struct value *bias;         /* (experts, columns) or NULL */
    struct value *scale, *zero; /* of QMoE: (experts, columns, blocks); zero NULL: the middle */
    int bits;                   /* 0: the weight is as it is */
    int64_t block;              /* 0: one for all of K */
};

struct experts {
    struct onnx_node *n;
    struct expert_layer fc1, fc2, fc3; /* fc3.weight NULL: fc1 has its columns too, or there are none */
    int64_t count, k;
    bool gated; /* swiglu */
};

static const char *const activations[] = {"relu", "gelu", "silu", "swiglu", "identity", NULL};

/* ---- which rows go where ---- */

/* The k largest of each row of x (T,experts), of equal ones those behind first; their places. */
static struct value *choose(struct onnx_node *n, struct value *x, int64_t experts, int64_t k, struct value **values)
{
    struct attrs axis = {0};
    const int64_t last = 1;
    attr_set_ints(&n->b->g->arena, &axis, "axes", &last, 1);
    struct value *turned = b_op(n->b, OP_reverse, &x, 1, &axis);
    struct node *top = b_node(n->b, OP_topk, (struct value *[]){turned, b_i64(n->b, k)}, 2, 2, NULL);
    if (!top)
        return NULL;
    *values = top->out[0];
    return b_sub(n->b, b_scalar(n->b, DT_I64, (double)(experts - 1)), top->out[1]);
}

static struct value *softmax_rows(struct onnx_node *n, struct value *x)
{
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    return b_op(n->b, OP_softmax, &x, 1, &a);
}

static struct value *pick(struct onnx_node *n, struct value *x, struct value *places)
{
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    return b_op(n->b, OP_gather_elements, (struct value *[]){x, places}, 2, &a);
}

/* `values` at `places` of rows as long as those of `model`, `rest` elsewhere. */
static struct value *spread(struct onnx_node *n, struct value *model, struct value *places, struct value *values,
                            double rest)
{
    struct attrs a = {0};
    attr_set_int(&n->b->g->arena, &a, "axis", 1);
    struct value *plain = b_2(n->b, OP_expand, b_like(n->b, values, rest), b_shape(n->b, model));
    return b_op(n->b, OP_scatter_elements, (struct value *[]){plain, places, values}, 3, &a);
}

/* What the result of each expert counts in each row, (T,experts); 0 where it is not chosen. */
static struct value *shares(const struct experts *e, bool quantized)
{
    static const int64_t row[] = {1};
    struct onnx_node *n = e->n;
    struct value *logits = b_cast(n->b, n->in[1], DT_F32), *values, *given = quantized ? b_in(n, 14) : NULL;
    struct value *places = choose(n, logits, e->count, e->k, &values), *share;
    bool normalized = attr_int(&n->attrs, "normalize_routing_weights", 0) != 0;
    if (!places)
        return NULL;
    if (given) {
        share = pick(n, b_cast(n->b, given, DT_F32), places);
        share = normalized ? b_div(n->b, share, b_reduce(n->b, OP_reduce_sum, share, row, 1, true)) : share;
    } else if (quantized || normalized) {
        share = softmax_rows(n, values);
    } else {
        share = pick(n, softmax_rows(n, logits), places);
    }
    return spread(n, logits, places, share, 0);
}

/* ---- one expert ---- */

static struct value *of_expert(struct onnx_node *n, struct value *all, int64_t i)
{
    return all ? b_gather(n->b, all, b_scalar(n->b, DT_I64, (double)i), 0) : NULL;
}

/* (columns,K): of bytes one value a byte, at once where they are constants. */
static struct value *weight_of(struct onnx_node *n, const struct expert_layer *l, int64_t i)
{
    const struct tensor *t = b_constant(l->weight);
    if (!l->bits || !t)
        return l->bits ? values_of_bytes(n, of_expert(n, l->weight, i), 2, l->bits) : of_expert(n, l->weight, i);
    int64_t rows = t->dims[1], bytes = t->dims[2];
    const uint8_t *mine = (const uint8_t *)t->data + i * rows * bytes;
    return rows_of_bytes(n, mine, l->bits, rows, bytes, bytes * 8 / l->bits);
}

/* rows (R,K) times the expert's weights, plus its bias. */
static struct value *project(struct onnx_node *n, const struct expert_layer *l, struct value *rows, int64_t i)
{
    struct attrs a = {0};
    struct arena *arena = &n->b->g->arena;
    struct value *w = weight_of(n, l, i), *bias = of_expert(n, l->bias, i), *y;
    attr_set_int(arena, &a, "trans_b", 1);
    if (l->bits) {
        struct value *zero = of_expert(n, l->zero, i);
        attr_set_int(arena, &a, "block_size", l->block);
        attr_set_float(arena, &a, "zero_point", 1 << (l->bits - 1));
        struct value *in[] = {rows, w, b_cast(n->b, of_expert(n, l->scale, i), DT_F32),
                              zero ? b_cast(n->b, zero, DT_F32) : NULL};
        y = b_op(n->b, OP_weight_only_matmul, in, zero ? 4 : 3, &a);
    } else {
        y = b_op(n->b, OP_matmul, (struct value *[]){rows, b_cast(n->b, w, DT_F32)}, 2, &a);
    }
    return bias ? b_add(n->b, y, b_cast(n->b, bias, DT_F32)) : y;
}

/* Columns from, from + 2, ... */
static struct value *every_second(struct onnx_node *n, struct value *x, int64_t from)
{
    struct value *in[] = {x, b_i64(n->b, from), b_i64(n->b, INT64_MAX), b_i64(n->b, 1), b_i64(n->b, 2)};
    return b_op(n->b, OP_slice, in, 5, NULL);
}

/* g * sigmoid(alpha * g) * (l + beta), of clamped g and l. */
static struct value *swiglu(struct onnx_node *n, struct value *g, struct value *l)
{
    struct attrs a = {0};
    double limit = attr_float(&n->attrs, "swiglu_limit", INFINITY), beta = attr_float(&n->attrs, "activation_beta", 0);
    attr_set_float(&n->b->g->arena, &a, "alpha", attr_float(&n->attrs, "activation_alpha", 1));
    if (limit < INFINITY) {
        g = b_2(n->b, OP_min, g, b_like(n->b, g, limit));
        l = b_2(n->b, OP_max, b_2(n->b, OP_min, l, b_like(n->b, l, limit)), b_like(n->b, l, -limit));
    }
    g = b_op(n->b, OP_swish, &g, 1, &a);
    return b_mul(n->b, g, beta != 0 ? b_add(n->b, l, b_like(n->b, l, beta)) : l);
}

static struct value *activate(const struct experts *e, struct value *h, struct value *rows, int64_t i)
{
    struct onnx_node *n = e->n;
    if (e->gated && e->fc3.weight)
        return swiglu(n, h, project(n, &e->fc3, rows, i));
    if (e->gated && attr_int(&n->attrs, "swiglu_fusion", 0) == 1) {
        struct value *gate = every_second(n, h, 0);
        return swiglu(n, gate, every_second(n, h, 1));
    }
    if (e->gated) {
        struct value *half = b_div(n->b, b_dim(n->b, h, 1), b_i64(n->b, 2)), *zero = b_i64(n->b, 0);
        struct value *axis = b_i64(n->b, 1), *first[] = {h, zero, half, axis};
        struct value *second[] = {h, half, b_i64(n->b, INT64_MAX), axis};
        struct value *gate = b_op(n->b, OP_slice, first, 4, NULL);
        return swiglu(n, gate, b_op(n->b, OP_slice, second, 4, NULL));
    }
    if (attr_is(&n->attrs, "activation_type", "identity"))
        return h;
    return b_1(n->b, attr_is(&n->attrs, "activation_type", "gelu")   ? OP_gelu_tanh
                     : attr_is(&n->attrs, "activation_type", "silu") ? OP_silu
                                                                     : OP_relu, h);
}

/* The sum over experts, each of its rows. */
static bool mix(const struct experts *e, bool quantized)
{
    static const int64_t front[] = {0}, back[] = {1}, swapped[] = {1, 0};
    struct onnx_node *n = e->n;
    struct attrs add = {0};
    struct value *x = n->in[0], *share = shares(e, quantized);
    if (!share)
        return false;
    attr_set_str(&n->b->g->arena, &add, "reduction", "add");
    struct value *rows = b_cast(n->b, x, DT_F32), *width = b_dim(n->b, x, -1);
    if (x->type.rank == 3)
        rows = b_reshape(n->b, rows, b_concat(n->b, (struct value *[]){b_dim(n->b, share, 0), width}, 2, 0));
    struct value *of = b_transpose(n->b, share, swapped, 2);
    struct value *sum = b_2(n->b, OP_expand, b_scalar(n->b, DT_F32, 0), b_shape(n->b, rows));
    for (int64_t i = 0; i < e->count && !diag_failed(n->b->d); i++) {
        struct value *mine = of_expert(n, of, i);
        struct value *places = b_squeeze(n->b, b_1(n->b, OP_nonzero, mine), front, 1);
        struct value *some = b_gather(n->b, rows, places, 0);
        struct value *y = project(n, &e->fc2, activate(e, project(n, &e->fc1, some, i), some, i), i);
        y = b_mul(n->b, y, b_unsqueeze(n->b, b_gather(n->b, mine, places, 0), back, 1));
        sum = b_op(n->b, OP_scatter_nd, (struct value *[]){sum, b_unsqueeze(n->b, places, back, 1), y}, 3, &add);
    }
    sum = x->type.rank == 3 ? b_reshape_as(n->b, sum, x) : sum;
    return b_done(n, b_cast(n->b, sum, b_dtype(x)));
}

/* ---- what the operators have in common ---- */

/* x (T,H) or (B,S,H), logits (T,experts); the number of experts, which is to be known. */
static bool read_experts(struct experts *e, struct onnx_node *n)
{
    int rank, logits;
    int64_t fusion = attr_int(&n->attrs, "swiglu_fusion", 0);
    double limit = attr_float(&n->attrs, "swiglu_limit", INFINITY);
    *e = (struct experts){.n = n, .k = attr_int(&n->attrs, "k", 1)};
    e->gated = attr_is(&n->attrs, "activation_type", "swiglu");
    if (!b_is_one_of(n, "activation_type", activations) || !b_has_default(n, "use_sparse_mixer", 0) ||
        !b_has_default(n, "swiglu_limit_after_activation", 0) || !b_rank(n, n->in[0], "'input'", &rank) ||
        !b_rank(n, n->in[1], "'router_probs'", &logits))
        return false;
    if ((rank != 2 && rank != 3) || logits != 2)
        return NODE_ERROR(n, "'input' has rank %d and 'router_probs' rank %d, expected 2 or 3, and 2", rank, logits);
    const dim_t *x = n->in[0]->type.dims, *p = n->in[1]->type.dims;
    dim_t stored = n->in[2]->type.rank == 3 ? n->in[2]->type.dims[0] : p[1];
    e->count = dim_is_const(p[1]) ? p[1] : stored;
    if (!dim_is_const(e->count))
        return NODE_ERROR(n, "the number of experts is not known; give the shape of 'router_probs' with --shape");
    if (!b_require(n->b, GUARD_EQUAL, p[1], e->count, "columns of 'router_probs' and experts"))
        return false;
    if (e->k < 1 || e->k > e->count)
        return NODE_ERROR(n, "attribute 'k' is %lld, expected 1 to %lld, the number of experts", (long long)e->k,
                          (long long)e->count);
    if (e->gated && (fusion < 0 || fusion > 2))
        return NODE_ERROR(n, "attribute 'swiglu_fusion' is %lld, expected 0, 1 or 2", (long long)fusion);
    if (!(limit >= 0))
        return NODE_ERROR(n, "attribute 'swiglu_limit' is %g, expected 0 or more", limit);
    dim_t rows = rank == 3 ? dim_mul(&n->b->g->dims, x[0], x[1]) : x[0];
    return b_require(n->b, GUARD_EQUAL, p[0], rows, "rows of 'router_probs' and of 'input'");
}

/* Which inputs a layer has. */
struct layer_inputs {
    const char *name;
    int weight, bias, scale, zero;
};

/* Input i of rank 3 and its bias fit (experts, columns, K). */
static bool layer_fits(const struct experts *e, const struct layer_inputs *in, dim_t columns, dim_t k)
{
    struct onnx_node *n = e->n;
    const char *what = arena_printf(&n->b->g->arena, "'%s_experts_weights'", in->name);
    const char *bias = arena_printf(&n->b->g->arena, "'%s_experts_bias'", in->name);
    dim_t dims[] = {e->count, columns, k};
    return b_has_dims(n, in->weight, what, dims, 3) && b_has_dims(n, in->bias, bias, dims, 2);
}

/* Columns of fc1: those of the hidden layer, twice where the gate and what it gates stand in one. */
static bool hidden_columns(const struct experts *e, dim_t *columns, dim_t *hidden)
{
    int rank;
    struct onnx_node *n = e->n;
    bool twice = e->gated && !e->fc3.weight;
    if (!b_rank(n, n->in[2], "'fc1_experts_weights'", &rank))
        return false;
    if (rank != 3)
        return NODE_ERROR(n, "'fc1_experts_weights' has rank %d, expected 3", rank);
    *columns = n->in[2]->type.dims[1];
    *hidden = twice ? dim_floordiv(&n->b->g->dims, *columns, 2) : *columns;
    return !twice || b_require(n->b, GUARD_MULTIPLE, *columns, 2, "rows of 'fc1_experts_weights', gates and values");
}

/* fc3 is there exactly where swiglu takes the gate and what it gates from two products. */
static bool has_third(struct onnx_node *n, const struct experts *e, struct value *weight)
{
    bool wanted = e->gated && attr_int(&n->attrs, "swiglu_fusion", 0) == 0;
    return (weight != NULL) == wanted ||
           NODE_ERROR(n, "%s", wanted ? "'fc3_experts_weights' is left out, swiglu with swiglu_fusion 0 needs it"
                                      : "'fc3_experts_weights' is given, only swiglu with swiglu_fusion 0 has it");
}

bool lower_moe(struct onnx_node *n)
{
    static const struct layer_inputs fc1 = {"fc1", 2, 3, -1, -1}, fc2 = {"fc2", 4, 5, -1, -1},
                                     fc3 = {"fc3", 6, 7, -1, -1};
    struct experts e;
    dim_t columns, hidden;
    if (!read_experts(&e, n) || !has_third(n, &e, b_in(n, 6)))
        return false;
    if (!b_in(n, 4))
        return NODE_ERROR(n, "'fc2_experts_weights' is left out");
    e.fc1 = (struct expert_layer){n->in[2], b_in(n, 3), NULL, NULL, 0, 0};
    e.fc2 = (struct expert_layer){n->in[4], b_in(n, 5), NULL, NULL, 0, 0};
    e.fc3 = (struct expert_layer){b_in(n, 6), b_in(n, 7), NULL, NULL, 0, 0};
    dim_t width = n->in[0]->type.dims[n->in[0]->type.rank - 1];
    return hidden_columns(&e, &columns, &hidden) && layer_fits(&e, &fc1, columns, width) &&
           layer_fits(&e, &fc2, width, hidden) && layer_fits(&e, &fc3, hidden, width) && mix(&e, false);
}

/* ---- QMoE ---- */

/* Bits of a layer's weights: its own attribute, else that of all. */
static int bits_of(struct onnx_node *n, const char *layer)
{
    int64_t all = attr_int(&n->attrs, "expert_weight_bits", 4);
    int64_t bits = attr_int(&n->attrs, arena_printf(&n->b->g->arena, "%s_expert_weight_bits", layer), all);
    if (bits == 2 || bits == 4 || bits == 8)
        return (int)bits;
    NODE_ERROR(n, "weights of '%s' have %lld bits, expected 2, 4 or 8", layer, (long long)bits);
    return 0;
}

/* Zero points of bytes as one value a byte, (experts, columns, blocks). */
static struct value *zero_points(struct onnx_node *n, struct value *bytes, struct value *scale, int bits, bool blocked)
{
    int rank;
    if (!b_rank(n, bytes, "a zero point", &rank))
        return NULL;
    if (rank != 2 + blocked) {
        NODE_ERROR(n, "zero points have rank %d, expected %d", rank, 2 + blocked);
        return NULL;
    }
    struct value *all = values_of_bytes(n, bytes, rank, bits), *axis = b_i64(n->b, rank - 1);
    struct value *count = b_dim(n->b, scale, blocked ? 2 : 1), *zero = b_i64(n->b, 0);
    all = b_op(n->b, OP_slice, (struct value *[]){all, zero, count, axis}, 4, NULL);
    return blocked ? all : b_reshape_as(n->b, all, scale);
}

/* A layer of `columns` by k; the inputs' shapes are checked. */
static bool quantized_layer(const struct experts *e, const struct layer_inputs *in, dim_t columns, dim_t k,
                            struct expert_layer *l)
{
    static const int64_t back[] = {2};
    struct onnx_node *n = e->n;
    struct dim_table *t = &n->b->g->dims;
    int64_t block = attr_int(&n->attrs, "block_size", 0);
    bool blocked = block > 0;
    int bits = bits_of(n, in->name);
    if (!b_in(n, in->weight))
        return true;
    if (!bits)
        return false;
    if (!b_in(n, in->scale))
        return NODE_ERROR(n, "'%s_scales' is left out", in->name);
    if (blocked && (block < 16 || block > INT32_MAX || (block & (block - 1))))
        return NODE_ERROR(n, "attribute 'block_size' is %lld, expected a power of two, 16 or more", (long long)block);
    if (blocked && !b_require(n->b, GUARD_MULTIPLE, k, block, "columns of weights and 'block_size'"))
        return false;
    dim_t scales[] = {e->count, columns, blocked ? dim_floordiv(t, k, block) : 1};
    if (!b_require(n->b, GUARD_MULTIPLE, k, 8 / bits, "columns of weights and the values of a byte") ||
        !layer_fits(e, in, columns, dim_floordiv(t, k, 8 / bits)) ||
        !b_has_dims(n, in->scale, arena_printf(&n->b->g->arena, "'%s_scales'", in->name), scales, blocked ? 3 : 2))
        return false;
    struct value *scale = n->in[in->scale], *zero = b_in(n, in->zero);
    scale = blocked ? scale : b_unsqueeze(n->b, scale, back, 1);
    if (zero && !(zero = zero_points(n, zero, n->in[in->scale], bits, blocked)))
        return false;
    zero = zero && !blocked ? b_unsqueeze(n->b, zero, back, 1) : zero;
    *l = (struct expert_layer){n->in[in->weight], b_in(n, in->bias), scale, zero, bits, blocked ? block : 0};
    return true;
}

bool lower_qmoe(struct onnx_node *n)
{
    static const struct layer_inputs fc1 = {"fc1", 2, 4, 3, 11}, fc2 = {"fc2", 5, 7, 6, 12},
                                     fc3 = {"fc3", 8, 10, 9, 13};
    static const char *const kinds[] = {"int", NULL};
    struct experts e;
    dim_t columns, hidden, *tokens = n->in[1]->type.dims;
    if (!b_is_one_of(n, "quant_type", kinds) || !read_experts(&e, n) || !has_third(n, &e, b_in(n, 8)) ||
        !b_has_dims(n, 14, "'router_weights'", tokens, 2))
        return false;
    if (!b_in(n, 5))
        return NODE_ERROR(n, "'fc2_experts_weights' is left out");
    if (e.gated && !b_in(n, 8) && bits_of(n, "fc1") != bits_of(n, "fc3"))
        return NODE_ERROR(n, "fc1 and fc3 have %d and %d bits, expected as many, since they are one weight",
                          bits_of(n, "fc1"), bits_of(n, "fc3"));
    for (int i = 15; i < n->nin; i++)
        if (n->in[i])
            return NODE_ERROR(n, "input %d is given, which weights of 'quant_type' int do not have", i);
    e.fc3.weight = b_in(n, 8);
    dim_t width = n->in[0]->type.dims[n->in[0]->type.rank - 1];
    return hidden_columns(&e, &columns, &hidden) && quantized_layer(&e, &fc1, columns, width, &e.fc1) &&
           quantized_layer(&e, &fc2, width, hidden, &e.fc2) && quantized_layer(&e, &fc3, hidden, width, &e.fc3) &&
           mix(&e, true);
}

/* ---- MoEGroupRouter ---- */

struct router {
    struct onnx_node *n;
    int64_t experts, groups, group_topk, topk_group, top_k;
};

/* The places of the k largest along the last dim, of equal ones those before first. */
static struct node *largest(struct onnx_node *n, struct value *x, int64_t k)
{
    return b_node(n->b, OP_topk, (struct value *[]){x, b_i64(n->b, k)}, 2, 2, NULL);
}

/* scores (T,experts), -inf in groups other than the best: those whose best scores have the largest sums. */
static struct value *best_groups(const struct router *r, struct value *scores)
{
    static const int64_t last[] = {2};
    struct onnx_node *n = r->n;
    int64_t size = r->experts / r->groups, apart[] = {0, r->groups, size};
    if (r->topk_group == r->groups)
        return scores;
    struct value *grouped = b_reshape_to(n->b, scores, apart, 3);
    struct node *top = largest(n, grouped, r->group_topk < size ? r->group_topk : size);
    struct value *sums = top ? b_reduce(n->b, OP_reduce_sum, top->out[0], last, 1, false) : NULL;
    struct node *best = sums ? largest(n, sums, r->topk_group) : NULL;
    if (!best)
        return NULL;
    struct value *ones = b_2(n->b, OP_expand, b_scalar(n->b, DT_F32, 1), b_shape(n->b, best->out[1]));
    struct value *chosen = b_unsqueeze(n->b, spread(n, sums, best->out[1], ones, 0), last, 1);
    struct value *kept = b_2(n->b, OP_ne, chosen, b_scalar(n->b, DT_F32, 0));
    return b_reshape_as(n->b, b_select(n->b, kept, grouped, b_scalar(n->b, DT_F32, -INFINITY)), scores);
}

/* log(weight) of the top_k experts, the sentinel for the others. */
static bool route(const struct router *r, struct value *scores, struct value *weights)
{
    struct onnx_node *n = r->n;
    double sentinel = attr_float(&n->attrs, "router_sentinel", -10000);
    int64_t active = r->topk_group * (r->experts / r->groups);
    struct value *open = best_groups(r, scores);
    struct node *top = open ? largest(n, open, r->top_k < active ? r->top_k : active) : NULL;
    if (!top)
        return false;
    struct value *floor = b_scalar(n->b, DT_F32, 1e-20f);
    struct value *logs = b_1(n->b, OP_log, b_2(n->b, OP_max, pick(n, weights, top->out[1]), floor));
    return b_done(n, b_cast(n->b, spread(n, scores, top->out[1], logs, sentinel), b_dtype(n->in[0])));
}

/* Logits (...,experts), or rows (T,width) and the projection (experts,width): (T,experts). */
static struct value *router_logits(struct onnx_node *n, int64_t experts)
{
    struct attrs a = {0};
    struct value *x = b_cast(n->b, n->in[0], DT_F32);
    if (b_in(n, 2)) {
        attr_set_int(&n->b->g->arena, &a, "trans_b", 1);
        return b_op(n->b, OP_matmul, (struct value *[]){x, b_cast(n->b, n->in[2], DT_F32)}, 2, &a);
    }
    return x->type.rank == 2 ? x : b_reshape_to(n->b, x, (int64_t[]){-1, experts}, 2);
}

static bool router_outputs(const struct router *r, bool *full)
{
    struct onnx_node *n = r->n;
    bool wanted[3] = {false};
    for (int i = 0; i < n->nout && i < 3; i++)
        wanted[i] = n->wanted[i];
    *full = wanted[1] || wanted[2];
    if (wanted[1] != wanted[2] || wanted[0] == *full)
        return NODE_ERROR(n, "outputs %s, expected router_probs alone, or selection_scores and router_weights",
                          wanted[0] && *full ? "of both kinds" : "of one kind that go together are left out");
    if (*full && (r->groups != 1 || r->topk_group != 1))
        return NODE_ERROR(n, "attributes n_group %lld and topk_group %lld, selection_scores needs 1 and 1",
                          (long long)r->groups, (long long)r->topk_group);
    return *full || !b_in(n, 2) || NODE_ERROR(n, "'projection_weight' is given, which only selection_scores has");
}

bool lower_moe_group_router(struct onnx_node *n)
{
    int rank, bias;
    struct router r = {n, 0, attr_int(&n->attrs, "n_group", 1), attr_int(&n->attrs, "group_topk", 2),
                       attr_int(&n->attrs, "topk_group", 1), attr_int(&n->attrs, "top_k", 0)};
    bool full;
    if (!b_rank(n, n->in[0], "'logits'", &rank) || !b_rank(n, n->in[1], "'expert_bias'", &bias) ||
        !router_outputs(&r, &full))
        return false;
    bool projected = b_in(n, 2) != NULL;
    if (rank < 2 || (projected && rank != 2) || bias != 1)
        return NODE_ERROR(n, "'logits' has rank %d and 'expert_bias' rank %d, expected 2%s and 1", rank, bias,
                          projected ? "" : " or more,");
    const dim_t *x = n->in[0]->type.dims;
    dim_t count = n->in[1]->type.dims[0], last = x[rank - 1];
    if (projected ? !b_has_dims(n, 2, "'projection_weight'", (dim_t[]){count, last}, 2)
                  : !b_require(n->b, GUARD_EQUAL, last, count, "experts of 'logits' and of 'expert_bias'"))
        return false;
    r.experts = dim_is_const(count) ? count : last;
    if (!dim_is_const(r.experts))
        return NODE_ERROR(n, "the number of experts is not known; give the shape of 'logits' with --shape");
    if (r.groups < 1 || r.experts % r.groups || r.topk_group < 1 || r.topk_group > r.groups || r.group_topk < 1 ||
        r.top_k < 1 || r.top_k > r.experts)
        return NODE_ERROR(n, "attributes n_group %lld, topk_group %lld, group_topk %lld, top_k %lld do not fit %lld "
                             "experts", (long long)r.groups, (long long)r.topk_group, (long long)r.group_topk,
                          (long long)r.top_k, (long long)r.experts);
    struct value *weights = b_1(n->b, OP_sigmoid, router_logits(n, r.experts));
    struct value *scores = b_add(n->b, weights, n->in[1]);
    if (!full)
        return route(&r, scores, weights);
    n->out[1] = scores, n->out[2] = weights;
    return !diag_failed(n->b->d);
}
