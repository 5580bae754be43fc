/*
 * The bias and activation that instructions on images apply to their result before they store it.
 */
#ifndef BACKEND_TAIL_H
#define BACKEND_TAIL_H

#include "backend/lower/expression.h"

struct tail {
    struct value *bias; /* one per channel, or NULL */
    enum op f;          /* OP_identity: none */
    float a, b;         /* its parameters */
    int taken;          /* nodes of the group that the instruction does, the first one included */
};

/* What follows the group's first node, as far as depthwise_conv takes it: a rounding to bf16 too. Channels are the last
 * dim. */
struct tail depthwise_tail(struct lowering *l, const struct group *g, int64_t channels);
/* The same of winograd_output: a bias, and functions that cost next to nothing by small blocks. */
struct tail winograd_tail(struct lowering *l, const struct group *g, int64_t channels);
/* The same of plane_conv: channels are dim 1. */
struct tail planes_tail(struct lowering *l, const struct group *g, int64_t channels);

#endif
