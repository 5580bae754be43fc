/*
 * Encoders of text generation (generation.h), as T5 has one: a subgraph that makes the keys and values that each layer
 * of the decoder looks at, and does the decoder's own first turn, on one token.
 */
#include "frontend/onnx/generation.h"
#include "frontend/onnx/ops.h"

#include <string.h>

enum { ENCODER_INPUTS = 3, FIRST_KEYS = 2 }; /* of its results: logits, states, keys and values */

/* Padding is hidden at the beginning only. */
static struct value *mask_of(struct generation *g)
{
    struct builder *b = g->n->b;
    struct value *ids = g->n->in[0];
    struct value *tokens = b_cast(b, b_2(b, OP_ne, ids, b_scalar(b, DT_I32, (double)g->pad)), DT_I32);
    struct value *sum = b_2(b, OP_cumsum, tokens, b_scalar(b, DT_I64, 1));
    return b_cast(b, b_2(b, OP_gt, sum, b_scalar(b, DT_I32, 0)), DT_I32);
}

/* Whether both subgraphs are made as ONNX Runtime wants them. */
static bool check_graphs(struct onnx_node *n, const struct subgraph *encoder, const struct subgraph *decoder)
{
    int keys = (int)encoder->graph->n_output - FIRST_KEYS, others = (int)decoder->graph->n_input - 1 - keys;
    if (encoder->graph->n_input != ENCODER_INPUTS || keys < 4 || keys % 4)
        return NODE_ERROR(n, "the encoder has %zu inputs and %zu outputs, expected tokens, a mask and the decoder's "
                             "first token, and logits, states and four keys or values of each layer",
                          encoder->graph->n_input, encoder->graph->n_output);
    if ((int)decoder->graph->n_output != 1 + keys / 2 || others < 1 || others > 3)
        return NODE_ERROR(n, "the decoder has %zu inputs and %zu outputs, expected a token, the encoder's tokens or "
                             "not, a mask, states or not, and the encoder's %d keys and values, and logits and %d keys "
                             "and values",
                          decoder->graph->n_input, decoder->graph->n_output, keys, keys / 2);
    return subgraph_input_dim(decoder, 0, 1, 2) == 1 ||
           NODE_ERROR(n, "the decoder's first input is not declared with 2 dimensions, of which the second is 1");
}

bool generation_encode(struct generation *g, struct value *attention_mask)
{
    struct onnx_node *n = g->n;
    struct builder *b = n->b;
    struct subgraph encoder, decoder;
    int64_t token = attr_int(&n->attrs, "decoder_start_token_id", -1);
    if (!node_subgraph(n, "encoder", &encoder) || !node_subgraph(n, "decoder", &decoder) ||
        !check_graphs(n, &encoder, &decoder))
        return false;
    if (token < 0)
        return NODE_ERROR(n, "attribute 'decoder_start_token_id' is %lld, expected 0 or more", (long long)token);
    struct value *shape = b_concat(b, (struct value *[]){b_dim(b, n->in[0], 0), b_i64(b, 1)}, 2, 0);
    struct value *args[] = {n->in[0], attention_mask ? attention_mask : mask_of(g), NULL};
    args[2] = b_2(b, OP_expand, b_scalar(b, DT_I32, (double)token), shape);
    int count = (int)encoder.graph->n_output, own = (count - FIRST_KEYS) / 2;
    struct value **made = ARENA_ARRAY(&b->g->arena, struct value *, 2 * count + 3);
    if (diag_failed(b->d) || !import_inline(n, &encoder, args, ENCODER_INPUTS, made, count))
        return false;
    struct value *logits = generation_logits(g, made[0]);
    g->ids = generation_rows(g, args[2]);
    g->logits = logits ? generation_rows(g, logits) : NULL;
    for (int i = 1; i < count; i++)
        made[i] = generation_rows(g, made[i]);
    g->row_axis = 0, g->growing_axis = 2;
    g->past = made + FIRST_KEYS, g->npast = own;
    g->fixed = made + count;
    const int others = (int)decoder.graph->n_input - 1 - 2 * own;
    const char *second = decoder.graph->input[1]->name;
    const bool tokens = others == 3 || (others == 2 && second && !strcmp(second, "encoder_input_ids"));
    if (tokens)
        g->fixed[g->nfixed++] = generation_rows(g, n->in[0]);
    g->fixed[g->nfixed++] = generation_rows(g, args[1]);
    if (others == 2 + tokens)
        g->fixed[g->nfixed++] = made[1];
    g->nbefore = g->nfixed;
    for (int i = 0; i < own; i++)
        g->fixed[g->nfixed++] = made[FIRST_KEYS + own + i];
    return !diag_failed(b->d);
}
