/*
 * Layers as PyTorch's exporter writes them, with weights scaled so that a signal of unit variance
 * keeps about unit variance. `gain` multiplies the standard deviation 1 / sqrt(fan in).
 */
#ifndef MODELS_LAYERS_H
#define MODELS_LAYERS_H

#include "models/model.h"

/* --- images: N x channels x height x width --- */

struct model_image {
    const char *value;
    int channels, height, width;
};

struct convolution {
    int channels; /* of the output */
    int kernel, stride;
    int groups; /* 0 means 1 */
    bool bias;
    float gain;
};
/* Square kernel, padded by kernel / 2 (rounded down) on every side. */
struct model_image conv(struct onnx_model *m, const char *name, struct model_image x, struct convolution c);
/* Convolution without padding, kernel = stride = `patch`, with bias. */
struct model_image conv_patches(struct onnx_model *m, const char *name, struct model_image x, int channels,
                          int patch);
/* Batch normalisation for inference; its scale is drawn around `scale`. */
struct model_image batch_norm(struct onnx_model *m, const char *name, struct model_image x, float scale);
struct model_image global_average(struct onnx_model *m, struct model_image x);
struct model_image image_of(struct model_image x, const char *value); /* same dimensions, another value */

/* --- any shape --- */

const char *relu(struct onnx_model *m, const char *x);
const char *clip(struct onnx_model *m, const char *x, float low, float high);
const char *silu(struct onnx_model *m, const char *x);  /* x * Sigmoid(x) */
const char *hard_swish(struct onnx_model *m, const char *x); /* x * Clip(x + 3, 0, 6) / 6 */
const char *gelu_erf(struct onnx_model *m, const char *x); /* x / sqrt 2, Erf, + 1, products */
const char *gelu_tanh(struct onnx_model *m, const char *x); /* GPT-2's, with Pow(x, 3) */
const char *binary(struct onnx_model *m, const char *op, const char *a, const char *b);
const char *transpose(struct onnx_model *m, const char *x, int rank, const int64_t *order);

/* Gemm(transB = 1) on rank 2, as nn.Linear there. */
const char *linear_gemm(struct onnx_model *m, const char *name, const char *x, int in, int out,
                        float gain);
/* Add(bias, MatMul(x, w)), as nn.Linear on rank 3 and more. `rows` counts the rows of x. */
const char *linear(struct onnx_model *m, const char *name, const char *x, int64_t rows, int in, int out,
                   float gain);

/* Layer normalisation over the last dimension: as nine primitives, or as one op (opset 17). */
const char *layer_norm_primitives(struct onnx_model *m, const char *name, const char *x, int width);
const char *layer_norm(struct onnx_model *m, const char *name, const char *x, int width);

/* --- shapes --- */

/* A size known now, or computed at run time as an int64 scalar. */
struct extent {
    int64_t size;
    const char *scalar; /* NULL: `size` is it */
};
#define FIXED(n) ((struct extent){(n), NULL})
/* Dimension `axis` of x, whose declaration is `d`: Shape and Gather unless it is fixed. */
struct extent extent_of(struct onnx_model *m, const char *x, int axis, struct dim d);
/* int64 scalar or vector with these values. */
const char *extent_scalar(struct onnx_model *m, struct extent e);
const char *extent_vector(struct onnx_model *m, int n, const struct extent *e);
const char *reshape(struct onnx_model *m, const char *x, int n, const struct extent *e);
#define EXTENTS(...)                                                                               \
    (int)(sizeof((struct extent[]){__VA_ARGS__}) / sizeof(struct extent)), (const struct extent[]) \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
/* Elements from .. to - 1 along one axis. */
const char *slice(struct onnx_model *m, const char *x, int axis, struct extent from, struct extent to);

/* Symbols used by all models, with the sizes of the two test data sets. */
#define BATCH   ((struct dim){"batch", 1, 2})
#define SIZE(n) ((struct dim){NULL, (n), (n)})

#endif
