/*
 * Several elementwise operations in turn, block by block: what the kernel `stream` of the table takes. An operation
 * makes place `to` of places a, b and c. A place moves on by so many bytes an element; 0: it is the same memory for
 * every block, with room for one. A result lies where an operand does, or apart from it.
 */
#ifndef RUNTIME_KERNELS_STREAM_H
#define RUNTIME_KERNELS_STREAM_H

#include "runtime/kernels/kernels.h"

/* A block is short: loads of the next operations begin while one computes. */
enum { STREAM_BLOCK = 64, STREAM_PLACES = 32, STREAM_OPS = 48 };

#define STREAM_OPERATIONS                                                                          \
    STREAM_TERNARY(multiply_add) /* a * b + c, one rounding in fma variants */                     \
    STREAM_BINARY(add)                                                                             \
    STREAM_BINARY(sub)                                                                             \
    STREAM_BINARY(rsub)                                                                            \
    STREAM_BINARY(mul)                                                                             \
    STREAM_BINARY(div)                                                                             \
    STREAM_BINARY(rdiv)                                                                            \
    STREAM_BINARY(max)                                                                             \
    STREAM_BINARY(min)                                                                             \
    STREAM_UNARY(copy)                                                                             \
    STREAM_UNARY(relu)                                                                             \
    STREAM_UNARY(clip)                                                                             \
    STREAM_UNARY(sqrt)                                                                             \
    STREAM_UNARY(reciprocal)                                                                       \
    STREAM_UNARY(abs)                                                                              \
    STREAM_UNARY(neg)                                                                              \
    STREAM_UNARY(square)
#define STREAM_UNARY(name)   STREAM_##name,
#define STREAM_BINARY(name)  STREAM_##name,
#define STREAM_TERNARY(name) STREAM_##name,
enum stream_code { STREAM_OPERATIONS STREAM_CODES };
#undef STREAM_UNARY
#undef STREAM_BINARY
#undef STREAM_TERNARY

struct stream_op {
    uint8_t code, to, a, b, c;
    float p[2]; /* parameters of activations */
};

struct stream_run {
    const struct stream_op *ops;
    size_t count, block; /* elements of a block */
    const uint8_t *move; /* of each place */
};

#endif
