#include "models/layers.h"

#include <math.h>

/*
 * Batch norms of a trained network take away the mean that rectified inputs have in common; with
 * random weights this does most of it. Without, every picture gives nearly the same output; with
 * all of it, small differences grow from layer to layer as they do not in trained networks.
 */
static const float centring = 0.9f;

static struct fill filter(int depth, int k, float gain)
{
    int fan_in = depth * k * k;
    struct fill f = FILL(NORMAL, 0, gain / sqrtf((float)fan_in));
    if (depth > 1)
        f.kind = FILL_CENTRED, f.a = centring, f.row = fan_in;
    return f;
}

static struct fill normal(float fan_in, float gain)
{
    return FILL(NORMAL, 0, gain / sqrtf(fan_in));
}

static struct fill bias_fill(void)
{
    return FILL(NORMAL, 0, 0.05f);
}

struct model_image image_of(struct model_image x, const char *value)
{
    x.value = value;
    return x;
}

static struct model_image convolve(struct onnx_model *m, const char *name, struct model_image x,
                             struct convolution c, int pad)
{
    size_t mark = scope_enter(m, "%s", name);
    int groups = c.groups ? c.groups : 1, k = c.kernel, depth = x.channels / groups;
    const char *w = weight(m, "weight", filter(depth, k, c.gain), 4, DIMS(c.channels, depth, k, k));
    const char *b = c.bias ? weight(m, "bias", bias_fill(), 1, DIMS(c.channels)) : NULL;
    struct model_image y = {.channels = c.channels,
                      .height = (x.height + 2 * pad - k) / c.stride + 1,
                      .width = (x.width + 2 * pad - k) / c.stride + 1};
    y.value = emit(m, "Conv", INPUTS(x.value, w, b),
                   ATTRIBUTES(INTS("dilations", 2, 1, 1), INT("group", groups),
                              INTS("kernel_shape", 2, k, k), INTS("pads", 4, pad, pad, pad, pad),
                              INTS("strides", 2, c.stride, c.stride)));
    m->macs += (int64_t)y.channels * y.height * y.width * depth * k * k;
    scope_leave(m, mark);
    return y;
}

struct model_image conv(struct onnx_model *m, const char *name, struct model_image x, struct convolution c)
{
    return convolve(m, name, x, c, c.kernel / 2);
}

struct model_image conv_patches(struct onnx_model *m, const char *name, struct model_image x, int channels,
                          int patch)
{
    struct convolution c = {channels, patch, patch, .bias = true, .gain = 1};
    return convolve(m, name, x, c, 0);
}

struct model_image batch_norm(struct onnx_model *m, const char *name, struct model_image x, float scale)
{
    size_t mark = scope_enter(m, "%s", name);
    int64_t n = x.channels;
    const char *gamma = weight(m, "weight", FILL(UNIFORM, 0.8f * scale, 1.2f * scale), 1, &n);
    const char *beta = weight(m, "bias", FILL(NORMAL, 0, 0.05f * scale), 1, &n);
    const char *mean = weight(m, "running_mean", FILL(NORMAL, 0, 0.05f), 1, &n);
    const char *var = weight(m, "running_var", FILL(UNIFORM, 0.7f, 1.3f), 1, &n);
    x.value = emit(m, "BatchNormalization", INPUTS(x.value, gamma, beta, mean, var),
                   ATTRIBUTES(FLOAT("epsilon", 1e-5f), FLOAT("momentum", 0.9f)));
    scope_leave(m, mark);
    return x;
}

struct model_image global_average(struct onnx_model *m, struct model_image x)
{
    return (struct model_image){emit(m, "GlobalAveragePool", INPUTS(x.value), NULL), x.channels, 1, 1};
}

const char *relu(struct onnx_model *m, const char *x)
{
    return emit(m, "Relu", INPUTS(x), NULL);
}

const char *clip(struct onnx_model *m, const char *x, float low, float high)
{
    const char *from = constant_float(m, low), *to = constant_float(m, high);
    return emit(m, "Clip", INPUTS(x, from, to), NULL);
}

const char *binary(struct onnx_model *m, const char *op, const char *a, const char *b)
{
    return emit(m, op, INPUTS(a, b), NULL);
}

static const char *with_constant(struct onnx_model *m, const char *op, const char *x, float c)
{
    return binary(m, op, x, constant_float(m, c));
}

const char *silu(struct onnx_model *m, const char *x)
{
    return binary(m, "Mul", x, emit(m, "Sigmoid", INPUTS(x), NULL));
}

const char *hard_swish(struct onnx_model *m, const char *x)
{
    const char *gate = clip(m, with_constant(m, "Add", x, 3), 0, 6);
    return with_constant(m, "Div", binary(m, "Mul", x, gate), 6);
}

const char *gelu_erf(struct onnx_model *m, const char *x)
{
    const char *e = emit(m, "Erf", INPUTS(with_constant(m, "Div", x, sqrtf(2.0f))), NULL);
    const char *product = binary(m, "Mul", x, with_constant(m, "Add", e, 1));
    return with_constant(m, "Mul", product, 0.5f);
}

const char *gelu_tanh(struct onnx_model *m, const char *x)
{
    const char *half = with_constant(m, "Mul", x, 0.5f);
    const char *cube = with_constant(m, "Mul", with_constant(m, "Pow", x, 3), 0.044715f);
    const char *inner = with_constant(m, "Mul", binary(m, "Add", x, cube), 0.7978846f);
    const char *t = with_constant(m, "Add", emit(m, "Tanh", INPUTS(inner), NULL), 1);
    return binary(m, "Mul", half, t);
}

const char *transpose(struct onnx_model *m, const char *x, int rank, const int64_t *order)
{
    struct attribute perm = {.name = "perm", .kind = ATTRIBUTE_INTS, .count = rank};
    for (int i = 0; i < rank; i++)
        perm.ints[i] = order[i];
    return emit(m, "Transpose", INPUTS(x), (const struct attribute[]){perm, {.name = NULL}});
}

const char *linear_gemm(struct onnx_model *m, const char *name, const char *x, int in, int out,
                        float gain)
{
    size_t mark = scope_enter(m, "%s", name);
    const char *w = weight(m, "weight", normal((float)in, gain), 2, DIMS(out, in));
    const char *b = weight(m, "bias", bias_fill(), 1, DIMS(out));
    const char *y = emit(m, "Gemm", INPUTS(x, w, b),
                         ATTRIBUTES(FLOAT("alpha", 1), FLOAT("beta", 1), INT("transB", 1)));
    m->macs += (int64_t)in * out;
    scope_leave(m, mark);
    return y;
}

const char *linear(struct onnx_model *m, const char *name, const char *x, int64_t rows, int in, int out,
                   float gain)
{
    size_t mark = scope_enter(m, "%s", name);
    const char *w = weight(m, "weight_transposed", normal((float)in, gain), 2, DIMS(in, out));
    const char *b = weight(m, "bias", bias_fill(), 1, DIMS(out));
    const char *y = binary(m, "Add", b, binary(m, "MatMul", x, w));
    m->macs += rows * in * out;
    scope_leave(m, mark);
    return y;
}

static void norm_weights(struct onnx_model *m, int width, const char **gamma, const char **beta)
{
    *gamma = weight(m, "weight", FILL(UNIFORM, 0.8f, 1.2f), 1, DIMS(width));
    *beta = weight(m, "bias", bias_fill(), 1, DIMS(width));
}

const char *layer_norm_primitives(struct onnx_model *m, const char *name, const char *x, int width)
{
    size_t mark = scope_enter(m, "%s", name);
    const char *gamma, *beta;
    norm_weights(m, width, &gamma, &beta);
    const struct attribute *last = ATTRIBUTES(INTS("axes", 1, -1), INT("keepdims", 1));
    const char *centred = binary(m, "Sub", x, emit(m, "ReduceMean", INPUTS(x), last));
    const char *square = with_constant(m, "Pow", centred, 2);
    const char *variance = emit(m, "ReduceMean", INPUTS(square), last);
    const char *root = emit(m, "Sqrt", INPUTS(with_constant(m, "Add", variance, 1e-12f)), NULL);
    const char *scaled = binary(m, "Mul", binary(m, "Div", centred, root), gamma);
    const char *y = binary(m, "Add", scaled, beta);
    scope_leave(m, mark);
    return y;
}

const char *layer_norm(struct onnx_model *m, const char *name, const char *x, int width)
{
    size_t mark = scope_enter(m, "%s", name);
    const char *gamma, *beta;
    norm_weights(m, width, &gamma, &beta);
    const char *y = emit(m, "LayerNormalization", INPUTS(x, gamma, beta),
                         ATTRIBUTES(INT("axis", -1), FLOAT("epsilon", 1e-5f)));
    scope_leave(m, mark);
    return y;
}

struct extent extent_of(struct onnx_model *m, const char *x, int axis, struct dim d)
{
    if (m->fixed || !d.symbol)
        return FIXED(d.size);
    const char *shape = emit(m, "Shape", INPUTS(x), NULL);
    const char *index = constant_int(m, axis);
    return (struct extent){d.size,
                           emit(m, "Gather", INPUTS(shape, index), ATTRIBUTES(INT("axis", 0)))};
}

const char *extent_scalar(struct onnx_model *m, struct extent e)
{
    return e.scalar ? e.scalar : constant_int(m, e.size);
}

const char *extent_vector(struct onnx_model *m, int n, const struct extent *e)
{
    const char *parts[MAX_RANK + 1] = {0};
    int64_t sizes[MAX_RANK];
    bool known = true;
    for (int i = 0; i < n; i++) {
        sizes[i] = e[i].size;
        known &= !e[i].scalar;
    }
    if (known)
        return constant_ints(m, n, sizes);
    for (int i = 0; i < n; i++)
        parts[i] = e[i].scalar ? binary(m, "Unsqueeze", e[i].scalar, constant_ints(m, 1, DIMS(0)))
                               : constant_ints(m, 1, &e[i].size);
    return n == 1 ? parts[0] : emit(m, "Concat", parts, ATTRIBUTES(INT("axis", 0)));
}

const char *reshape(struct onnx_model *m, const char *x, int n, const struct extent *e)
{
    return binary(m, "Reshape", x, extent_vector(m, n, e));
}

const char *slice(struct onnx_model *m, const char *x, int axis, struct extent from, struct extent to)
{
    const char *start = extent_vector(m, 1, &from), *end = extent_vector(m, 1, &to);
    const char *axes = constant_ints(m, 1, DIMS(axis)), *step = constant_ints(m, 1, DIMS(1));
    return emit(m, "Slice", INPUTS(x, start, end, axes, step), NULL);
}
