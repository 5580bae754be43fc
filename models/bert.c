/* BERT base ("BERT: Pre-training of Deep Bidirectional Transformers", Devlin et al. 2018), as
 * Hugging Face's implementation exports: norms after the branches, everything in primitives. */
#include "models/builders.h"
#include "models/layers.h"

#include <math.h>

struct bert_sizes {
    int width, heads, hidden, layers, vocabulary, positions;
    struct dim sequence;
};

static const char *embeddings(struct onnx_model *m, const struct bert_sizes *s, const char *ids,
                              const char *types)
{
    size_t mark = scope_enter(m, "embeddings");
    struct fill unit = FILL(NORMAL, 0, 0.6f);
    const char *word = weight(m, "word_embeddings.weight", unit, 2, DIMS(s->vocabulary, s->width));
    const char *place =
        weight(m, "position_embeddings.weight", unit, 2, DIMS(s->positions, s->width));
    const char *type = weight(m, "token_type_embeddings.weight", unit, 2, DIMS(2, s->width));
    const char *all = weight(m, "position_ids", FILL(RANGE, 0, 0), 2, DIMS(1, s->positions));
    const char *here = slice(m, all, 1, FIXED(0), extent_of(m, ids, 1, s->sequence));
    const char *x = binary(m, "Gather", word, ids);
    x = binary(m, "Add", x, binary(m, "Gather", type, types));
    x = binary(m, "Add", x, binary(m, "Gather", place, here));
    x = layer_norm_primitives(m, "LayerNorm", x, s->width);
    scope_leave(m, mark);
    return x;
}

/* 0 where a token counts, the lowest float where it is padding; N x 1 x 1 x sequence. */
static const char *additive_mask(struct onnx_model *m, const char *x)
{
    x = binary(m, "Unsqueeze", x, constant_ints(m, 1, DIMS(1)));
    x = binary(m, "Unsqueeze", x, constant_ints(m, 1, DIMS(2)));
    x = emit(m, "Cast", INPUTS(x), ATTRIBUTES(INT("to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)));
    x = binary(m, "Sub", constant_float(m, 1), x);
    return binary(m, "Mul", x, constant_float(m, -3.4028235e38f));
}

/*
 * Gains: scores with a deviation of about 2.5 let heads look at few tokens, and branches smaller
 * than what they are added to keep the tokens of a sequence apart, as they are after training.
 */
static const float sharp = 1.6f, branch = 0.5f;

/* N x sequence x width to N x heads x sequence x head, or with the last two exchanged. */
static const char *heads(struct onnx_model *m, const struct bert_sizes *s, const char *name, const char *x,
                         float gain, const int64_t *order)
{
    const char *y = linear(m, name, x, s->sequence.size, s->width, s->width, gain);
    struct extent batch = extent_of(m, y, 0, BATCH), sequence = extent_of(m, y, 1, s->sequence);
    y = reshape(m, y, EXTENTS(batch, sequence, FIXED(s->heads), FIXED(s->width / s->heads)));
    return transpose(m, y, 4, order);
}

static const char *attention(struct onnx_model *m, const struct bert_sizes *s, const char *x,
                             const char *mask)
{
    size_t mark = scope_enter(m, "attention.self");
    const char *q = heads(m, s, "query", x, sharp, DIMS(0, 2, 1, 3));
    const char *k = heads(m, s, "key", x, sharp, DIMS(0, 2, 3, 1));
    const char *v = heads(m, s, "value", x, 1, DIMS(0, 2, 1, 3));
    const char *root = constant_float(m, sqrtf((float)(s->width / s->heads)));
    const char *scores = binary(m, "Div", binary(m, "MatMul", q, k), root);
    scores = binary(m, "Add", scores, mask);
    const char *share = emit(m, "Softmax", INPUTS(scores), ATTRIBUTES(INT("axis", -1)));
    const char *y = transpose(m, binary(m, "MatMul", share, v), 4, DIMS(0, 2, 1, 3));
    struct extent batch = extent_of(m, y, 0, BATCH), sequence = extent_of(m, y, 1, s->sequence);
    y = reshape(m, y, EXTENTS(batch, sequence, FIXED(s->width)));
    m->macs += 2 * s->sequence.size * s->sequence.size * s->width;
    scope_leave(m, mark);
    return y;
}

static const char *layer(struct onnx_model *m, const struct bert_sizes *s, const char *x, const char *mask)
{
    int64_t rows = s->sequence.size;
    const char *y = attention(m, s, x, mask);
    y = linear(m, "attention.output.dense", y, rows, s->width, s->width, branch);
    x = layer_norm_primitives(m, "attention.output.LayerNorm", binary(m, "Add", y, x), s->width);
    y = gelu_erf(m, linear(m, "intermediate.dense", x, rows, s->width, s->hidden, 1));
    y = linear(m, "output.dense", y, rows, s->hidden, s->width, branch);
    return layer_norm_primitives(m, "output.LayerNorm", binary(m, "Add", y, x), s->width);
}

void bert_base(struct onnx_model *m)
{
    struct bert_sizes s = m->tiny ? (struct bert_sizes){32, 4, 128, 3, 101, 40, {"sequence", 16, 11}}
                             : (struct bert_sizes){768, 12, 3072, 12, 30522, 512, {"sequence", 128, 77}};
    const struct dim shape[] = {BATCH, s.sequence};
    struct fill words = FILL(TOKENS, (float)s.vocabulary, 0), pair = FILL(TOKENS, 2, 0);
    struct fill ones = FILL(SAME, 1, 0);
    const char *ids = model_input(m, "input_ids", words, 2, shape);
    const char *mask = additive_mask(m, model_input(m, "attention_mask", ones, 2, shape));
    const char *x = embeddings(m, &s, ids, model_input(m, "token_type_ids", pair, 2, shape));
    for (int i = 0; i < s.layers; i++) {
        size_t mark = scope_enter(m, "encoder.layer.%d", i);
        x = layer(m, &s, x, mask);
        scope_leave(m, mark);
    }
    size_t mark = scope_enter(m, "pooler");
    const char *first =
        emit(m, "Gather", INPUTS(x, constant_int(m, 0)), ATTRIBUTES(INT("axis", 1)));
    const char *pooled =
        emit(m, "Tanh", INPUTS(linear_gemm(m, "dense", first, s.width, s.width, 1)), NULL);
    scope_leave(m, mark);
    model_output(m, "last_hidden_state", x, 3, (struct dim[]){BATCH, s.sequence, SIZE(s.width)});
    model_output(m, "pooler_output", pooled, 2, (struct dim[]){BATCH, SIZE(s.width)});
}
