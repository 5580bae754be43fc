/*
 * Optimizer steps (ai.onnx.preview.training): arithmetic on groups of tensors. Operands are the
 * learning rate, the step count, then all parameters, all gradients and all states; results are the
 * new parameters and the new states.
 */
#include "frontend/onnx/ops.h"

/* Number of parameters, when the operands behind the first two are `kinds` lists of them. */
static bool group_size(struct onnx_node *n, int kinds, int *count)
{
    *count = (n->nin - 2) / kinds;
    if (n->nin < 2 + kinds || (n->nin - 2) % kinds)
        return NODE_ERROR(n, "%d inputs, expected 2 and a multiple of %d", n->nin, kinds);
    for (int i = 0; i < n->nin; i++)
        if (!n->in[i])
            return NODE_ERROR(n, "input %d is left out, this operator needs it", i);
    return true;
}

static struct value *times(struct onnx_node *n, struct value *x, double factor)
{
    return factor == 1 ? x : b_mul(n->b, x, b_like(n->b, x, factor));
}

/* The gradient with the L2 penalty's share. */
static struct value *regularised(struct onnx_node *n, struct value *x, struct value *gradient)
{
    double norm = attr_float(&n->attrs, "norm_coefficient", 0);
    return norm == 0 ? gradient : b_add(n->b, times(n, x, norm), gradient);
}

static void give(struct onnx_node *n, int i, struct value *v)
{
    if (i < n->nout)
        n->out[i] = v;
}

/* `later` from the second step on, `first` at step 0. */
static struct value *by_step(struct onnx_node *n, struct value *later, struct value *first)
{
    struct value *started = b_2(n->b, OP_gt, n->in[1], b_like(n->b, n->in[1], 0));
    return b_select(n->b, started, later, first);
}

bool lower_adagrad(struct onnx_node *n)
{
    int count;
    if (!group_size(n, 3, &count))
        return false;
    struct value *rate = n->in[0], *one = b_like(n->b, rate, 1);
    struct value *steps = b_cast(n->b, n->in[1], b_dtype(rate));
    double decay = attr_float(&n->attrs, "decay_factor", 0);
    rate = b_div(n->b, rate, b_add(n->b, one, b_mul(n->b, steps, b_like(n->b, rate, decay))));
    for (int i = 0; i < count; i++) {
        struct value *x = n->in[2 + i], *h = n->in[2 + 2 * count + i];
        struct value *g = regularised(n, x, n->in[2 + count + i]);
        struct value *sum = b_add(n->b, h, b_mul(n->b, g, g));
        struct value *epsilon = b_like(n->b, x, attr_float(&n->attrs, "epsilon", 1e-6f));
        struct value *adaptive = b_add(n->b, b_1(n->b, OP_sqrt, sum), epsilon);
        give(n, i, b_sub(n->b, x, b_div(n->b, b_mul(n->b, rate, g), adaptive)));
        give(n, count + i, sum);
    }
    return !diag_failed(n->b->d);
}

bool lower_momentum(struct onnx_node *n)
{
    int count;
    bool nesterov = attr_is(&n->attrs, "mode", "nesterov");
    double alpha = attr_float(&n->attrs, "alpha", 0), beta = attr_float(&n->attrs, "beta", 0);
    if (!group_size(n, 3, &count))
        return false;
    if (!nesterov && !attr_is(&n->attrs, "mode", "standard"))
        return NODE_ERROR(n, "attribute 'mode' is neither 'standard' nor 'nesterov'");
    struct value *rate = n->in[0];
    for (int i = 0; i < count; i++) {
        struct value *x = n->in[2 + i], *v = n->in[2 + 2 * count + i];
        struct value *g = regularised(n, x, n->in[2 + count + i]);
        struct value *fresh = b_mul(n->b, g, by_step(n, b_like(n->b, x, beta), b_like(n->b, x, 1)));
        struct value *velocity = b_add(n->b, times(n, v, alpha), fresh);
        struct value *step = nesterov ? b_add(n->b, g, times(n, velocity, alpha)) : velocity;
        give(n, i, b_sub(n->b, x, b_mul(n->b, rate, step)));
        give(n, count + i, velocity);
    }
    return !diag_failed(n->b->d);
}

/* rate * sqrt(1 - beta^t) / (1 - alpha^t) after the first step. */
static struct value *adam_rate(struct onnx_node *n, double alpha, double beta)
{
    struct value *rate = n->in[0], *one = b_like(n->b, rate, 1);
    struct value *t = b_cast(n->b, n->in[1], b_dtype(rate));
    struct value *first = b_sub(n->b, one, b_2(n->b, OP_pow, b_like(n->b, rate, alpha), t));
    struct value *second = b_sub(n->b, one, b_2(n->b, OP_pow, b_like(n->b, rate, beta), t));
    return by_step(n, b_div(n->b, b_mul(n->b, rate, b_1(n->b, OP_sqrt, second)), first), rate);
}

bool lower_adam(struct onnx_node *n)
{
    int count;
    double alpha = attr_float(&n->attrs, "alpha", 0.9f),
           beta = attr_float(&n->attrs, "beta", 0.999f);
    double post = attr_float(&n->attrs, "norm_coefficient_post", 0);
    if (!group_size(n, 4, &count))
        return false;
    struct value *rate = adam_rate(n, alpha, beta);
    for (int i = 0; i < count; i++) {
        struct value *x = n->in[2 + i], *v = n->in[2 + 2 * count + i],
                     *h = n->in[2 + 3 * count + i];
        struct value *g = regularised(n, x, n->in[2 + count + i]);
        struct value *mean = times(n, v, alpha), *square = times(n, h, beta);
        mean = b_add(n->b, mean, times(n, g, 1 - alpha));
        square = b_add(n->b, square, times(n, b_mul(n->b, g, g), 1 - beta));
        struct value *epsilon = b_like(n->b, x, attr_float(&n->attrs, "epsilon", 1e-6f));
        struct value *root = b_add(n->b, b_1(n->b, OP_sqrt, square), epsilon);
        struct value *moved = b_sub(n->b, x, b_div(n->b, b_mul(n->b, rate, mean), root));
        give(n, i, times(n, moved, 1 - post));
        give(n, count + i, mean);
        give(n, 2 * count + i, square);
    }
    return !diag_failed(n->b->d);
}
