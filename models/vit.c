/* ViT-B/16 ("An Image is Worth 16x16 Words", Dosovitskiy et al. 2020): norms before the branches,
 * LayerNormalization as one op, query, key and value from one packed product. */
#include "models/builders.h"
#include "models/layers.h"

#include <math.h>

struct vit_sizes {
    int width, heads, hidden, layers;
    int64_t tokens;
    struct extent batch;
};

static const float branch = 0.3f; /* gain of each branch's last product */

static const char *attention(struct onnx_model *m, const struct vit_sizes *s, const char *x)
{
    size_t mark = scope_enter(m, "attn");
    int width = s->width, head = width / s->heads;
    struct extent batch = s->batch, tokens = FIXED(s->tokens);
    const char *qkv = linear(m, "qkv", x, s->tokens, width, 3 * width, 1);
    qkv = reshape(m, qkv, EXTENTS(batch, tokens, FIXED(3), FIXED(s->heads), FIXED(head)));
    qkv = transpose(m, qkv, 5, DIMS(2, 0, 3, 1, 4));
    const char *part[3];
    emit_many(m, "Split", INPUTS(qkv, constant_ints(m, 3, DIMS(1, 1, 1))),
              ATTRIBUTES(INT("axis", 0)), 3, part);
    for (int i = 0; i < 3; i++)
        part[i] = binary(m, "Squeeze", part[i], constant_ints(m, 1, DIMS(0)));
    const char *scale = constant_float(m, 1 / sqrtf((float)head));
    const char *key = transpose(m, part[1], 4, DIMS(0, 1, 3, 2));
    const char *scores = binary(m, "MatMul", binary(m, "Mul", part[0], scale), key);
    const char *share = emit(m, "Softmax", INPUTS(scores), ATTRIBUTES(INT("axis", -1)));
    const char *y = transpose(m, binary(m, "MatMul", share, part[2]), 4, DIMS(0, 2, 1, 3));
    y = reshape(m, y, EXTENTS(batch, tokens, FIXED(width)));
    m->macs += 2 * s->tokens * s->tokens * width;
    y = linear(m, "proj", y, s->tokens, width, width, 2 * branch);
    scope_leave(m, mark);
    return y;
}

static const char *perceptron(struct onnx_model *m, const struct vit_sizes *s, const char *x)
{
    size_t mark = scope_enter(m, "mlp");
    x = gelu_erf(m, linear(m, "fc1", x, s->tokens, s->width, s->hidden, 1));
    x = linear(m, "fc2", x, s->tokens, s->hidden, s->width, 1.5f * branch);
    scope_leave(m, mark);
    return x;
}

static const char *patches(struct onnx_model *m, struct vit_sizes *s, int side)
{
    struct model_image x = {.channels = 3, .height = side, .width = side};
    x.value = model_input(m, "input", FILL(IMAGE, (float)side, 0), 4,
                          (struct dim[]){BATCH, SIZE(3), SIZE(side), SIZE(side)});
    s->batch = extent_of(m, x.value, 0, BATCH);
    x = conv_patches(m, "patch_embed.proj", x, s->width, 16);
    int64_t count = x.height * x.width;
    s->tokens = count + 1;
    const char *y = reshape(m, x.value, EXTENTS(s->batch, FIXED(s->width), FIXED(count)));
    y = transpose(m, y, 3, DIMS(0, 2, 1));
    struct fill unit = FILL(NORMAL, 0, 0.5f);
    const char *token = weight(m, "cls_token", unit, 3, DIMS(1, 1, s->width));
    struct extent shape[] = {s->batch, FIXED(1), FIXED(s->width)};
    token = binary(m, "Expand", token, extent_vector(m, 3, shape));
    y = emit(m, "Concat", INPUTS(token, y), ATTRIBUTES(INT("axis", 1)));
    return binary(m, "Add", y, weight(m, "pos_embed", unit, 3, DIMS(1, s->tokens, s->width)));
}

void vit_b_16(struct onnx_model *m)
{
    struct vit_sizes s = {.width = 768, .heads = 12, .hidden = 3072, .layers = 12};
    if (m->tiny)
        s = (struct vit_sizes){.width = 32, .heads = 4, .hidden = 128, .layers = 3};
    int classes = m->tiny ? 10 : 1000;
    const char *x = patches(m, &s, m->tiny ? 64 : 224);
    for (int i = 0; i < s.layers; i++) {
        size_t mark = scope_enter(m, "blocks.%d", i);
        x = binary(m, "Add", x, attention(m, &s, layer_norm(m, "norm1", x, s.width)));
        x = binary(m, "Add", x, perceptron(m, &s, layer_norm(m, "norm2", x, s.width)));
        scope_leave(m, mark);
    }
    x = layer_norm(m, "norm", x, s.width);
    x = emit(m, "Gather", INPUTS(x, constant_int(m, 0)), ATTRIBUTES(INT("axis", 1)));
    x = linear_gemm(m, "head", x, s.width, classes, 2);
    model_output(m, "output", x, 2, (struct dim[]){BATCH, SIZE(classes)});
}
