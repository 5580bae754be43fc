/*
 * Tokens of several requests, packed one behind the other: an operand (B+1) says where each begins. Operators work on
 * rows (B,longest,...) that are filled up, from which the tokens are taken again.
 */
#ifndef FRONTEND_ONNX_RAGGED_H
#define FRONTEND_ONNX_RAGGED_H

#include "frontend/onnx/build.h"

struct ragged {
    struct onnx_node *n;
    struct value *tokens, *longest; /* how many there are, and in the longest request: lists of one */
    struct value *batch;            /* requests, a list of one */
    struct value *starts, *lengths; /* (B) */
    struct value *from;             /* (B,longest): which token; valid: whether there is one */
    struct value *valid;
};

/* Of operand i (B+1) and x (tokens,...). */
bool read_ragged(struct ragged *r, struct onnx_node *n, int i, struct value *x);
/* x (tokens,...) as (B,longest,...), 0 where there is no token. */
struct value *filled_up(const struct ragged *r, struct value *x);
/* The tokens of rows (B,longest,width). */
struct value *taken(const struct ragged *r, struct value *rows);

#endif
