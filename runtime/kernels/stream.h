/*
 * Several elementwise operations in turn, block by block: what the kernel `stream` of the table takes. An operation
 * makes place `to` of places a, b and c. A place moves on by so many bytes an element; 0: it is the same memory for
 * every block, with room for one. A result lies where an operand does, or apart from it.
 */
#ifndef RUNTIME_KERNELS_STREAM_H
#define RUNTIME_KERNELS_STREAM_H

#include "runtime/kernels/kernels.h"

/* The longest block of a variant. A block is a few vectors: what an operation makes stays in registers for the next. */
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

/* Which operand is what the operation before has made, and is not loaded. */
enum stream_last { STREAM_LOADS, STREAM_LAST_A, STREAM_LAST_C, STREAM_LASTS };

struct stream_op {
    uint8_t code, to, a, b, c;
    uint8_t last; /* enum stream_last; C of three operands only */
    bool keep;    /* the result is stored: others read it than the next operation's `last` */
    float p[2];   /* parameters of activations */
};

struct stream_run {
    const struct stream_op *ops;
    size_t count, places;
    const uint8_t *move; /* of each place */
};

#endif
