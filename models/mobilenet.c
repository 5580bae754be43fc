/*
 * Networks of inverted residuals: a 1x1 convolution widens, a depthwise one looks around, a gate
 * may weigh channels, a 1x1 convolution narrows without an activation. One row is one block.
 * MobileNetV2 (Sandler et al. 2018), MobileNetV3 large (Howard et al. 2019), EfficientNet-B0 (Tan
 * and Le 2019), with torchvision's numbers.
 */
#include "models/builders.h"
#include "models/layers.h"

/* An activation and the gain that restores unit variance: 1 / sqrt(E[f(x)^2]) for normal x. */
struct mobile_activation {
    const char *(*apply)(struct onnx_model *m, const char *x);
    float gain;
};

static const char *relu6(struct onnx_model *m, const char *x)
{
    return clip(m, x, 0, 6);
}

static const char *hard_sigmoid(struct onnx_model *m, const char *x)
{
    return emit(m, "HardSigmoid", INPUTS(x), ATTRIBUTES(FLOAT("alpha", 1.0f / 6)));
}

static const char *sigmoid(struct onnx_model *m, const char *x)
{
    return emit(m, "Sigmoid", INPUTS(x), NULL);
}

static const struct mobile_activation use_relu6 = {relu6, 1.6f}, use_relu = {relu, 1.6f},
                               use_silu = {silu, 1.85f}, use_hard_swish = {hard_swish, 1.85f};

struct mobile_block {
    int kernel, stride;
    int expanded; /* channels in the middle */
    int channels; /* of the output */
    int squeezed; /* channels inside the gate, 0: no gate */
    const struct mobile_activation *activation;
    bool widens, residual; /* set by features() */
};

/* How a network spells the gate. */
struct gate {
    const struct mobile_activation *activation;
    const char *(*weigh)(struct onnx_model *m, const char *x);
};

static int scaled(const struct onnx_model *m, int channels)
{
    return !m->tiny ? channels : channels < 64 ? 8 : channels / 8;
}

static struct model_image conv_bn(struct onnx_model *m, const char *name, struct model_image x, struct convolution c,
                            const struct mobile_activation *a, float scale)
{
    size_t mark = scope_enter(m, "%s", name);
    x = batch_norm(m, "1", conv(m, "0", x, c), scale);
    if (a)
        x.value = a->apply(m, x.value);
    scope_leave(m, mark);
    return x;
}

static struct model_image excite(struct onnx_model *m, struct model_image x, int squeezed, const struct gate *gate)
{
    size_t mark = scope_enter(m, "se");
    struct convolution down = {squeezed, 1, 1, .bias = true, .gain = 1};
    struct convolution up = {x.channels, 1, 1, .bias = true, .gain = 1};
    struct model_image s = conv(m, "fc1", global_average(m, x), down);
    s = conv(m, "fc2", image_of(s, gate->activation->apply(m, s.value)), up);
    x.value = binary(m, "Mul", gate->weigh(m, s.value), x.value);
    scope_leave(m, mark);
    return x;
}

/* `gain_in` is 1 for an input of unit variance, an activation's gain after that activation. */
static struct model_image inverted_residual(struct onnx_model *m, struct model_image in, const struct mobile_block *b,
                                      const struct gate *gate, float gain_in)
{
    const struct mobile_activation *a = b->activation;
    struct model_image x = in;
    if (b->widens) {
        x = conv_bn(m, "expand", x, (struct convolution){b->expanded, 1, 1, .gain = gain_in}, a, 1);
        gain_in = a->gain;
    }
    x = conv_bn(
        m, "depthwise", x,
        (struct convolution){b->expanded, b->kernel, b->stride, b->expanded, .gain = gain_in}, a,
        1);
    if (b->squeezed)
        x = excite(m, x, b->squeezed, gate);
    x = conv_bn(
        m, "project", x,
        (struct convolution){b->channels, 1, 1, .gain = b->squeezed ? 1.6f * a->gain : a->gain},
        NULL, b->residual ? 0.4f : 1);
    if (b->residual)
        x.value = binary(m, "Add", in.value, x.value);
    return x;
}

struct network {
    int stem;
    const struct mobile_activation *activation; /* of the stem and the head */
    struct gate gate;
};

static struct model_image features(struct onnx_model *m, const struct network *n, int count,
                             const struct mobile_block *blocks, int head)
{
    int side = m->tiny ? 64 : 224;
    struct model_image x = {.channels = 3, .height = side, .width = side};
    x.value = model_input(m, "input", FILL(IMAGE, (float)side, 0), 4,
                          (struct dim[]){BATCH, SIZE(3), SIZE(side), SIZE(side)});
    x = conv_bn(m, "features.0", x, (struct convolution){scaled(m, n->stem), 3, 2, .gain = 1},
                n->activation, 1);
    for (int i = 0, in = n->stem; i < count; in = blocks[i++].channels) {
        struct mobile_block b = blocks[i];
        b.widens = b.expanded != in;
        b.residual = b.stride == 1 && b.channels == in;
        b.expanded = scaled(m, b.expanded);
        b.channels = scaled(m, b.channels);
        b.squeezed = b.squeezed ? scaled(m, b.squeezed) : 0;
        size_t mark = scope_enter(m, "features.%d", i + 1);
        x = inverted_residual(m, x, &b, &n->gate, i == 0 ? n->activation->gain : 1);
        scope_leave(m, mark);
    }
    size_t mark = scope_enter(m, "features");
    x = conv_bn(m, "head", x, (struct convolution){scaled(m, head), 1, 1, .gain = 1}, n->activation,
                1);
    scope_leave(m, mark);
    return x;
}

static void classify(struct onnx_model *m, const char *x, int channels)
{
    int classes = m->tiny ? 10 : 1000;
    const char *y = linear_gemm(m, "classifier", x, channels, classes, 2);
    model_output(m, "output", y, 2, (struct dim[]){BATCH, SIZE(classes)});
}

static const char *flatten(struct onnx_model *m, struct model_image x)
{
    return emit(m, "Flatten", INPUTS(global_average(m, x).value), ATTRIBUTES(INT("axis", 1)));
}

/* t, channels, repeats and stride of the paper's table 2 become one row per block. */
void mobilenet_v2(struct onnx_model *m)
{
    static const int stages[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    struct mobile_block blocks[17];
    int count = 0, channels = 32;
    for (int s = 0; s < 7; s++)
        for (int i = 0; i < stages[s][2]; i++) {
            blocks[count++] = (struct mobile_block){3,
                                             i ? 1 : stages[s][3],
                                             channels * stages[s][0],
                                             stages[s][1],
                                             0,
                                             &use_relu6,
                                             false,
                                             false};
            channels = stages[s][1];
        }
    struct network n = {32, &use_relu6, {0}};
    struct model_image x = features(m, &n, count, blocks, 1280);
    const char *mean = emit(m, "ReduceMean", INPUTS(x.value),
                            ATTRIBUTES(INTS("axes", 2, 2, 3), INT("keepdims", 0)));
    classify(m, mean, x.channels);
}

void mobilenet_v3(struct onnx_model *m)
{
    const struct mobile_activation *re = &use_relu, *hs = &use_hard_swish;
    const struct mobile_block blocks[] = {{3, 1, 16, 16, 0, re, 0, 0},     {3, 2, 64, 24, 0, re, 0, 0},
                                   {3, 1, 72, 24, 0, re, 0, 0},     {5, 2, 72, 40, 24, re, 0, 0},
                                   {5, 1, 120, 40, 32, re, 0, 0},   {5, 1, 120, 40, 32, re, 0, 0},
                                   {3, 2, 240, 80, 0, hs, 0, 0},    {3, 1, 200, 80, 0, hs, 0, 0},
                                   {3, 1, 184, 80, 0, hs, 0, 0},    {3, 1, 184, 80, 0, hs, 0, 0},
                                   {3, 1, 480, 112, 120, hs, 0, 0}, {3, 1, 672, 112, 168, hs, 0, 0},
                                   {5, 2, 672, 160, 168, hs, 0, 0}, {5, 1, 960, 160, 240, hs, 0, 0},
                                   {5, 1, 960, 160, 240, hs, 0, 0}};
    struct network n = {16, hs, {&use_relu, hard_sigmoid}};
    struct model_image x = features(m, &n, (int)(sizeof blocks / sizeof *blocks), blocks, 960);
    const char *y = linear_gemm(m, "pre_classifier", flatten(m, x), x.channels, scaled(m, 1280), 2);
    classify(m, hard_swish(m, y), scaled(m, 1280));
}

void efficientnet_b0(struct onnx_model *m)
{
    /* widening, kernel, stride, channels, repeats */
    static const int stages[][5] = {{1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},
                                    {6, 3, 2, 80, 3}, {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4},
                                    {6, 3, 1, 320, 1}};
    struct mobile_block blocks[16];
    int count = 0, channels = 32;
    for (int s = 0; s < 7; s++)
        for (int i = 0; i < stages[s][4]; i++) {
            blocks[count++] = (struct mobile_block){stages[s][1],
                                             i ? 1 : stages[s][2],
                                             channels * stages[s][0],
                                             stages[s][3],
                                             channels / 4,
                                             &use_silu,
                                             false,
                                             false};
            channels = stages[s][3];
        }
    struct network n = {32, &use_silu, {&use_silu, sigmoid}};
    struct model_image x = features(m, &n, count, blocks, 1280);
    classify(m, flatten(m, x), x.channels);
}
