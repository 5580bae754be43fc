/*
 * pass decompose: layers into their parts, so that later passes see few forms. Requires inferred
 * types.
 *
 *   conv with bias           conv, add
 *   gemm                     matmul, mul, add
 *   rnn, gru, lstm           operands of unknown rank get the shape that the layer demands
 *   batch_norm               folded into the weights of the convolution before it, else mul, add
 *   decompose_parts.h        others
 *
 * Arithmetic on constants is done here, in double, rounded once.
 */
#include "passes/decompose_parts.h"
#include "passes/match.h"

#include <math.h>

static bool channels_last(const struct node *n)
{
    return attr_int(&n->attrs, "channels_last", 0) != 0;
}

/* ---- batch normalisation ---- */

struct affine_channels { /* y = x * scale + shift */
    double *scale, *shift;
    int64_t n;
};

static bool normalisation(struct graph *g, const struct node *n, struct affine_channels *a)
{
    for (int i = 1; i < 5; i++)
        if (!n->in[i] || !n->in[i]->constant || !dtype_is_float(n->in[i]->type.dtype) ||
            tensor_count(n->in[i]->constant) != tensor_count(n->in[1]->constant))
            return false;
    a->n = tensor_count(n->in[1]->constant);
    a->scale = constant_doubles(g, n->in[1]);
    a->shift = constant_doubles(g, n->in[2]);
    const double *mean = constant_doubles(g, n->in[3]), *variance = constant_doubles(g, n->in[4]);
    double epsilon = attr_float(&n->attrs, "epsilon", 1e-5);
    for (int64_t i = 0; i < a->n; i++) {
        a->scale[i] /= sqrt(variance[i] + epsilon);
        a->shift[i] -= mean[i] * a->scale[i];
    }
    return true;
}

/* The convolution whose only reader is n, with constant weights of a->n output channels. */
static struct node *foldable_conv(const struct node *n, const struct affine_channels *a)
{
    struct node *c = n->in[0]->def;
    if (!c || c->op != OP_conv || !value_has_one_use(n->in[0]) || !is_f32(c->in[1]) ||
        !c->in[1]->constant || c->parent != n->parent || c->in[1]->constant->dims[0] != a->n)
        return NULL;
    if (c->nin > 2 && c->in[2] && !(c->in[2]->constant && is_f32(c->in[2])))
        return NULL;
    return c;
}

static bool fold_into_conv(struct graph *g, struct node *n, struct node *conv,
                           struct affine_channels *a, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct value *w = constant_scaled(g, conv->in[1], 0, a->scale);
    if (conv->nin > 2 && conv->in[2]) {
        const double *bias = constant_doubles(g, conv->in[2]);
        for (int64_t i = 0; i < a->n; i++)
            a->shift[i] += bias[i] * a->scale[i];
        node_set_input(conv, 2, NULL);
    }
    if (!w)
        return fail_memory(d, "out of memory");
    struct value *old = conv->in[1];
    node_set_input(conv, 1, w);
    if (!old->uses)
        constant_release(g, old);
    conv->out[0]->name = NULL; /* no longer the model's value */
    struct value *shift =
        constant_channels(g, a->shift, a->n, n->in[0]->type.rank, channels_last(conv), NULL);
    return node_replace(n, b_add(&b, n->in[0], shift));
}

static bool split_batch_norm(struct graph *g, struct node *n, const struct options *o,
                             struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct affine_channels a;
    if (!is_f32(n->in[0]) || n->in[0]->type.rank < 2 || attr_int(&n->attrs, "axis", 1) != 1 ||
        !normalisation(g, n, &a))
        return true;
    struct node *conv = foldable_conv(n, &a);
    if (conv) {
        why(o, n, "decompose.batch-norm", "folded into the weights of the convolution before it");
        return fold_into_conv(g, n, conv, &a, d);
    }
    int rank = n->in[0]->type.rank;
    struct value *x =
        b_mul(&b, n->in[0], constant_channels(g, a.scale, a.n, rank, false, NULL));
    return node_replace(
        n, b_add(&b, x, constant_channels(g, a.shift, a.n, rank, false, NULL)));
}

/* ---- bias ---- */

static bool split_bias(struct graph *g, struct node *n, struct diag *d)
{
    if (n->nin < 3 || !n->in[2] || !n->in[2]->constant || !is_f32(n->in[2]) || !is_f32(n->out[0]) ||
        n->in[0]->type.rank < 3)
        return true;
    int64_t channels = tensor_count(n->in[2]->constant);
    struct value *bias = constant_channels(g, constant_doubles(g, n->in[2]), channels,
                                          n->in[0]->type.rank, channels_last(n), n->in[2]->name);
    node_set_input(n, 2, NULL);
    struct node *after = node_new(g, OP_add, (struct value *[]){NULL, bias}, 2, 1, n->name);
    after->source = n->source;
    value_replace(n->out[0], after->out[0]);
    after->out[0]->name = n->out[0]->name;
    n->out[0]->name = NULL; /* no longer the model's value */
    node_set_input(after, 0, n->out[0]);
    node_insert_after(n, after);
    return infer_node(g, after, d);
}

/* ---- gemm ---- */

static bool split_gemm(struct node *n, struct diag *d)
{
    if (!is_f32(n->in[0]) || n->in[0]->type.rank != 2 || n->in[1]->type.rank != 2)
        return true;
    return node_replace(n, gemm_parts(n, d));
}

/* ---- recurrent layers ---- */

/* The operand as a tensor of rank 3: 0 keeps a dim. Changes nothing about operands that the layer
 * accepts. */
static bool demand_rank(struct graph *g, struct node *n, int operand, const int64_t *dims,
                        struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct value *x = operand < n->nin ? n->in[operand] : NULL;
    if (!x || x->type.kind != VK_TENSOR || x->type.rank >= 0)
        return true;
    x = b_reshape_to(&b, x, dims, 3);
    if (x)
        node_set_input(n, operand, x);
    return x != NULL;
}

static bool demand_ranks(struct graph *g, struct node *n, struct diag *d)
{
    const struct value *w = n->in[1];
    int64_t hidden = attr_int(&n->attrs, "hidden_size", 0);
    int64_t directions = attr_is(&n->attrs, "direction", "bidirectional") ? 2 : 1;
    bool by_batch = attr_int(&n->attrs, "layout", 0) != 0;
    if (n->in[0]->type.rank >= 0 || !w || !w->constant || w->type.rank != 3 || hidden < 1)
        return true;
    if (!demand_rank(g, n, 0, (int64_t[]){0, 0, w->constant->dims[2]}, d))
        return false;
    int64_t state[] = {by_batch ? 0 : directions, by_batch ? directions : 0, hidden};
    return demand_rank(g, n, 5, state, d) && (n->op != OP_lstm || demand_rank(g, n, 6, state, d)) &&
           infer_types(g, d);
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *s = user;
    struct graph *g = n->parent->graph;
    if (n->op == OP_batch_norm)
        return split_batch_norm(g, n, s->o, s->d);
    if (n->op == OP_gemm)
        return split_gemm(n, s->d);
    if (n->op == OP_rnn || n->op == OP_gru || n->op == OP_lstm)
        return demand_ranks(g, n, s->d);
    struct value *parts;
    return decompose_parts(n, &parts, s->d) && (!parts || node_replace(n, parts));
}

static bool visit_bias(struct node *n, void *user)
{
    struct rewriter *s = user;
    return n->op == OP_conv || n->op == OP_conv_transpose ? split_bias(n->parent->graph, n, s->d)
                                                          : true;
}

bool pass_decompose(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter s = {g, o, d};
    return for_each_node(g->main, visit, &s) && for_each_node(g->main, visit_bias, &s);
}
