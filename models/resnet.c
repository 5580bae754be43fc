/* ResNet-50 as torchvision has it: bottlenecks of 1x1, 3x3 (with the stride) and 1x1 convolutions
 * ("Deep Residual Learning for Image Recognition", He et al. 2015; stride placed as in v1.5). */
#include "models/builders.h"
#include "models/layers.h"

static const float he = 1.55f; /* a little below sqrt 2: batch norm statistics add some variance */

static struct model_image conv_bn(struct onnx_model *m, const char *conv_name, const char *bn_name,
                            struct model_image x, int channels, int kernel, int stride, float scale)
{
    x = conv(
        m, conv_name, x,
        (struct convolution){.channels = channels, .kernel = kernel, .stride = stride, .gain = he});
    return batch_norm(m, bn_name, x, scale);
}

static struct model_image bottleneck(struct onnx_model *m, struct model_image x, int width, int stride)
{
    struct model_image y = conv_bn(m, "conv1", "bn1", x, width, 1, 1, 1);
    y = conv_bn(m, "conv2", "bn2", image_of(y, relu(m, y.value)), width, 3, stride, 1);
    y = conv_bn(m, "conv3", "bn3", image_of(y, relu(m, y.value)), 4 * width, 1, 1, 0.4f);
    if (stride != 1 || x.channels != 4 * width)
        x = conv_bn(m, "downsample.0", "downsample.1", x, 4 * width, 1, stride, 1);
    return image_of(y, relu(m, binary(m, "Add", y.value, x.value)));
}

void resnet50(struct onnx_model *m)
{
    static const int repeats[] = {3, 4, 6, 3};
    int base = m->tiny ? 4 : 64, side = m->tiny ? 64 : 224, classes = m->tiny ? 10 : 1000;
    struct model_image x = {.channels = 3, .height = side, .width = side};
    x.value = model_input(m, "input", FILL(IMAGE, (float)side, 0), 4,
                          (struct dim[]){BATCH, SIZE(3), SIZE(side), SIZE(side)});
    x = conv_bn(m, "conv1", "bn1", x, base, 7, 2, 1);
    x.value = emit(m, "MaxPool", INPUTS(relu(m, x.value)),
                   ATTRIBUTES(INT("ceil_mode", 0), INTS("kernel_shape", 2, 3, 3),
                              INTS("pads", 4, 1, 1, 1, 1), INTS("strides", 2, 2, 2)));
    x.height = x.width = side / 4;
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < repeats[stage]; i++) {
            size_t mark = scope_enter(m, "layer%d.%d", stage + 1, i);
            x = bottleneck(m, x, base << stage, stage > 0 && i == 0 ? 2 : 1);
            scope_leave(m, mark);
        }
    x = global_average(m, x);
    const char *flat = emit(m, "Flatten", INPUTS(x.value), ATTRIBUTES(INT("axis", 1)));
    const char *y = linear_gemm(m, "fc", flat, x.channels, classes, 2);
    model_output(m, "output", y, 2, (struct dim[]){BATCH, SIZE(classes)});
}
