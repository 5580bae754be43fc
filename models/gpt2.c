/*
 * GPT-2 small ("Language Models are Unsupervised Multitask Learners", Radford et al. 2019), as
 * Hugging Face's implementation exports: linear layers as Reshape, Gemm, Reshape; a causal mask
 * sliced from a square buffer; logits from the transposed token embedding.
 *
 * gpt2_decode takes one new token, the keys and values of `past` earlier ones, and returns logits
 * and the keys and values with the new token's appended.
 */
#include "models/builders.h"
#include "models/layers.h"

#include <math.h>
#include <stdio.h>

enum { MAX_LAYERS = 12 };

struct gpt2_sizes {
    int width, heads, layers, vocabulary, positions;
    struct dim queries; /* tokens given */
    struct dim past;    /* tokens whose keys and values are given; symbol NULL and size 0: none */
    struct dim keys;    /* queries + past */
};

/* What the layers share. */
struct gpt2_decoder {
    struct gpt2_sizes s;
    bool cached;
    const char *causal; /* 1 x 1 x positions x positions */
    const char *past_key[MAX_LAYERS], *past_value[MAX_LAYERS], *key[MAX_LAYERS], *value[MAX_LAYERS];
    const char *padding; /* additive mask over keys, or NULL */
};

static const float branch = 0.1f; /* size of each branch beside embeddings of that size */

/* Linear layer with the weight stored in x out, on rows flattened from all leading dimensions. */
static const char *conv1d(struct onnx_model *m, const struct gpt2_decoder *t, const char *name, const char *x,
                          int in, int out, float gain)
{
    size_t mark = scope_enter(m, "%s", name);
    struct fill fill = FILL(NORMAL, 0, gain / sqrtf((float)in)), small = FILL(NORMAL, 0, 0.02f);
    const char *w = weight(m, "weight", fill, 2, DIMS(in, out));
    const char *b = weight(m, "bias", small, 1, DIMS(out));
    struct extent batch = extent_of(m, x, 0, BATCH), rows = extent_of(m, x, 1, t->s.queries);
    const char *flat = reshape(m, x, EXTENTS(FIXED(-1), FIXED(in)));
    const char *y =
        emit(m, "Gemm", INPUTS(flat, w, b), ATTRIBUTES(FLOAT("alpha", 1), FLOAT("beta", 1)));
    y = reshape(m, y, EXTENTS(batch, rows, FIXED(out)));
    m->macs += t->s.queries.size * in * out;
    scope_leave(m, mark);
    return y;
}

static const char *split_heads(struct onnx_model *m, const struct gpt2_decoder *t, const char *x)
{
    struct extent batch = extent_of(m, x, 0, BATCH), rows = extent_of(m, x, 1, t->s.queries);
    int heads = t->s.heads;
    x = reshape(m, x, EXTENTS(batch, rows, FIXED(heads), FIXED(t->s.width / heads)));
    return transpose(m, x, 4, DIMS(0, 2, 1, 3));
}

/* Rows past .. past + queries - 1 and columns 0 .. keys - 1 of the causal buffer select scores. */
static const char *mask_scores(struct onnx_model *m, const struct gpt2_decoder *t, const char *scores,
                               const char *q, const char *k)
{
    struct extent keys = extent_of(m, k, 2, t->s.keys), queries = extent_of(m, q, 2, t->s.queries);
    struct extent past = FIXED(t->s.keys.size - t->s.queries.size);
    if (keys.scalar)
        past.scalar = binary(m, "Sub", keys.scalar, extent_scalar(m, queries));
    const char *allowed = slice(m, slice(m, t->causal, 2, past, keys), 3, FIXED(0), keys);
    scores = emit(m, "Where", INPUTS(allowed, scores, constant_float(m, -3.4028235e38f)), NULL);
    return t->padding ? binary(m, "Add", scores, t->padding) : scores;
}

static const char *attention(struct onnx_model *m, struct gpt2_decoder *t, int layer, const char *x)
{
    size_t mark = scope_enter(m, "attn");
    int width = t->s.width;
    const char *qkv = conv1d(m, t, "c_attn", x, width, 3 * width, 1), *part[3];
    emit_many(m, "Split", INPUTS(qkv, constant_ints(m, 3, DIMS(width, width, width))),
              ATTRIBUTES(INT("axis", 2)), 3, part);
    const char *q = split_heads(m, t, part[0]), *k = split_heads(m, t, part[1]);
    const char *v = split_heads(m, t, part[2]);
    if (t->cached) {
        const struct attribute *tokens = ATTRIBUTES(INT("axis", -2));
        k = t->key[layer] = emit(m, "Concat", INPUTS(t->past_key[layer], k), tokens);
        v = t->value[layer] = emit(m, "Concat", INPUTS(t->past_value[layer], v), tokens);
    }
    const char *root = constant_float(m, sqrtf((float)(width / t->s.heads)));
    const char *scores = binary(m, "MatMul", q, transpose(m, k, 4, DIMS(0, 1, 3, 2)));
    scores = mask_scores(m, t, binary(m, "Div", scores, root), q, k);
    const char *share = emit(m, "Softmax", INPUTS(scores), ATTRIBUTES(INT("axis", -1)));
    const char *y = transpose(m, binary(m, "MatMul", share, v), 4, DIMS(0, 2, 1, 3));
    struct extent batch = extent_of(m, y, 0, BATCH), rows = extent_of(m, y, 1, t->s.queries);
    y = reshape(m, y, EXTENTS(batch, rows, FIXED(width)));
    m->macs += 2 * t->s.queries.size * t->s.keys.size * width;
    y = conv1d(m, t, "c_proj", y, width, width, 2 * branch);
    scope_leave(m, mark);
    return y;
}

static const char *perceptron(struct onnx_model *m, const struct gpt2_decoder *t, const char *x)
{
    size_t mark = scope_enter(m, "mlp");
    int width = t->s.width;
    x = gelu_tanh(m, conv1d(m, t, "c_fc", x, width, 4 * width, 1));
    x = conv1d(m, t, "c_proj", x, 4 * width, width, 1.5f * branch);
    scope_leave(m, mark);
    return x;
}

/* Positions past, past + 1, ... as 1 x queries. */
static const char *positions(struct onnx_model *m, const struct gpt2_decoder *t, const char *ids)
{
    struct extent from = FIXED(t->s.keys.size - t->s.queries.size), to = FIXED(t->s.keys.size);
    if (t->cached)
        from = extent_of(m, t->past_key[0], 2, t->s.past);
    if (from.scalar)
        to.scalar = binary(m, "Add", from.scalar, constant_int(m, t->s.queries.size));
    else if (!t->cached)
        to = extent_of(m, ids, 1, t->s.queries);
    const char *start = extent_scalar(m, from), *end = extent_scalar(m, to);
    const char *range = emit(m, "Range", INPUTS(start, end, constant_int(m, 1)), NULL);
    return binary(m, "Unsqueeze", range, constant_ints(m, 1, DIMS(0)));
}

static void inputs_of_the_past(struct onnx_model *m, struct gpt2_decoder *t)
{
    const struct gpt2_sizes *s = &t->s;
    const struct dim shape[] = {BATCH, SIZE(s->heads), s->past, SIZE(s->width / s->heads)};
    struct fill unit = FILL(NORMAL, 0, 1);
    char name[64];
    for (int i = 0; i < s->layers; i++) {
        snprintf(name, sizeof name, "past_key_values.%d.key", i);
        t->past_key[i] = model_input(m, name, unit, 4, shape);
        snprintf(name, sizeof name, "past_key_values.%d.value", i);
        t->past_value[i] = model_input(m, name, unit, 4, shape);
    }
    const char *mask =
        model_input(m, "attention_mask", FILL(SAME, 1, 0), 2, (struct dim[]){BATCH, s->keys});
    mask = binary(m, "Unsqueeze", mask, constant_ints(m, 1, DIMS(1)));
    mask = binary(m, "Unsqueeze", mask, constant_ints(m, 1, DIMS(2)));
    mask =
        emit(m, "Cast", INPUTS(mask), ATTRIBUTES(INT("to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)));
    mask = binary(m, "Sub", constant_float(m, 1), mask);
    t->padding = binary(m, "Mul", mask, constant_float(m, -3.4028235e38f));
}

static void outputs_with_the_past(struct onnx_model *m, const struct gpt2_decoder *t)
{
    const struct gpt2_sizes *s = &t->s;
    const struct dim shape[] = {BATCH, SIZE(s->heads), s->keys, SIZE(s->width / s->heads)};
    char name[64];
    for (int i = 0; i < s->layers; i++) {
        snprintf(name, sizeof name, "present.%d.key", i);
        model_output(m, name, t->key[i], 4, shape);
        snprintf(name, sizeof name, "present.%d.value", i);
        model_output(m, name, t->value[i], 4, shape);
    }
}

static void build(struct onnx_model *m, struct gpt2_decoder *t)
{
    const struct gpt2_sizes *s = &t->s;
    int width = s->width;
    const char *ids = model_input(m, "input_ids", FILL(TOKENS, (float)s->vocabulary, 0), 2,
                                  (struct dim[]){BATCH, s->queries});
    if (t->cached)
        inputs_of_the_past(m, t);
    size_t top = scope_enter(m, "transformer");
    struct fill unit = FILL(NORMAL, 0, branch), square = FILL(CAUSAL, (float)s->positions, 0);
    const char *word = weight(m, "wte.weight", unit, 2, DIMS(s->vocabulary, width));
    const char *place = weight(m, "wpe.weight", unit, 2, DIMS(s->positions, width));
    t->causal = weight(m, "h.0.attn.bias", square, 4, DIMS(1, 1, s->positions, s->positions));
    const char *x = binary(m, "Gather", word, ids);
    x = binary(m, "Add", x, binary(m, "Gather", place, positions(m, t, ids)));
    for (int i = 0; i < s->layers; i++) {
        size_t mark = scope_enter(m, "h.%d", i);
        x = binary(m, "Add", attention(m, t, i, layer_norm(m, "ln_1", x, width)), x);
        x = binary(m, "Add", x, perceptron(m, t, layer_norm(m, "ln_2", x, width)));
        scope_leave(m, mark);
    }
    x = layer_norm(m, "ln_f", x, width);
    scope_leave(m, top);
    const char *logits = binary(m, "MatMul", x, transpose(m, word, 2, DIMS(1, 0)));
    m->macs += s->queries.size * width * s->vocabulary;
    model_output(m, "logits", logits, 3, (struct dim[]){BATCH, s->queries, SIZE(s->vocabulary)});
    if (t->cached)
        outputs_with_the_past(m, t);
}

static const struct gpt2_sizes small = {
    .width = 768, .heads = 12, .layers = 12, .vocabulary = 50257, .positions = 1024};
static const struct gpt2_sizes tiny = {
    .width = 32, .heads = 4, .layers = 3, .vocabulary = 103, .positions = 40};

void gpt2(struct onnx_model *m)
{
    struct gpt2_decoder t = {.s = m->tiny ? tiny : small};
    t.s.queries = t.s.keys =
        m->tiny ? (struct dim){"sequence", 16, 11} : (struct dim){"sequence", 128, 77};
    build(m, &t);
}

void gpt2_decode(struct onnx_model *m)
{
    struct gpt2_decoder t = {.s = m->tiny ? tiny : small, .cached = true};
    int64_t past = m->tiny ? 15 : 512, other = m->tiny ? 7 : 40;
    m->seed = "gpt2"; /* the same weights: one continues what the other begins */
    t.s.queries = SIZE(1);
    t.s.past = (struct dim){"past_sequence_length", past, other};
    t.s.keys = (struct dim){"past_sequence_length + 1", past + 1, other + 1};
    build(m, &t);
}
