/*
 * Several elementwise operations in turn, block by block: what the kernel `stream` of the table takes. An operation
 * makes place `to` of places a, b and c. A place moves on by so many bytes an element: 4, or 1 for booleans; 0: it is
 * the same memory for every block, with room for one. A result lies where an operand does, or apart from it.
 * Elements are words: floats, integers, and masks, which comparisons make, all bits of a word or none.
 */
#ifndef RUNTIME_KERNELS_STREAM_H
#define RUNTIME_KERNELS_STREAM_H

#include "runtime/kernels/kernels.h"

/* The longest block of a variant. A block is a few vectors: what an operation makes stays in registers for the next. */
enum { STREAM_BLOCK = 128, STREAM_PLACES = 32, STREAM_OPS = 48 };
/* Blocks of a variant with vectors of so many lanes are a multiple of it. */
static inline int stream_unit(int lanes)
{
    return lanes > 4 ? 8 * lanes : 16;
}

#define STREAM_OPERATIONS                                                                          \
    STREAM_TERNARY(multiply_add) /* a * b + c, one rounding in fma variants */                     \
    STREAM_TERNARY(select)       /* b where mask a is set, else c */                               \
    STREAM_WORD(eq_f32)                                                                            \
    STREAM_WORD(ne_f32)                                                                            \
    STREAM_WORD(lt_f32)                                                                            \
    STREAM_WORD(le_f32)                                                                            \
    STREAM_WORD(gt_f32)                                                                            \
    STREAM_WORD(ge_f32)                                                                            \
    STREAM_WORD(eq_i32)                                                                            \
    STREAM_WORD(ne_i32)                                                                            \
    STREAM_WORD(lt_i32)                                                                            \
    STREAM_WORD(le_i32)                                                                            \
    STREAM_WORD(gt_i32)                                                                            \
    STREAM_WORD(ge_i32)                                                                            \
    STREAM_WORD(and_i32) /* of masks too */                                                        \
    STREAM_WORD(or_i32)                                                                            \
    STREAM_WORD(xor_i32)                                                                           \
    STREAM_WORD(add_i32)                                                                           \
    STREAM_WORD(sub_i32)                                                                           \
    STREAM_WORD(mul_i32)                                                                           \
    STREAM_WORD(max_i32)                                                                           \
    STREAM_WORD(min_i32)                                                                           \
    STREAM_WORD(wrap_index_i32)                                                                    \
    STREAM_BYTES(mask) /* of a boolean in memory */                                                \
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
    STREAM_UNARY(leaky_relu)                                                                       \
    STREAM_UNARY(hard_sigmoid)                                                                     \
    STREAM_UNARY(sign)                                                                             \
    STREAM_UNARY(sqrt)                                                                             \
    STREAM_UNARY(reciprocal)                                                                       \
    STREAM_UNARY(abs)                                                                              \
    STREAM_UNARY(neg)                                                                              \
    STREAM_UNARY(square)
#define STREAM_UNARY(name)   STREAM_##name,
#define STREAM_BINARY(name)  STREAM_##name,
#define STREAM_TERNARY(name) STREAM_##name,
#define STREAM_WORD(name)    STREAM_##name,
#define STREAM_BYTES(name)   STREAM_##name,
enum stream_code { STREAM_OPERATIONS STREAM_CODES };
#undef STREAM_UNARY
#undef STREAM_BINARY
#undef STREAM_TERNARY
#undef STREAM_WORD
#undef STREAM_BYTES

/* Which operand is what the operation before has made, and is not loaded. ONE: the operands behind it are one value
 * each for all blocks. */
enum stream_last { STREAM_LOADS, STREAM_LAST_A, STREAM_LAST_A_ONE, STREAM_LAST_C, STREAM_LASTS };

struct stream_op {
    uint8_t code, to, a, b, c;
    uint8_t last; /* enum stream_last; C of three operands only, none of bytes */
    bool keep;    /* the result is stored: others read it than the next operation's `last` */
    float p[2];   /* parameters of activations */
};

struct stream_run {
    const struct stream_op *ops;
    size_t count, places;
    const uint8_t *move; /* of each place; masks are stored as booleans where it is 1 */
    const int64_t *row;  /* bytes between rows of each place; 0 where it does not move from element to element */
    bool again;          /* no result lies where an operand does: elements may be computed twice */
};

/* Whether rows of n elements are neighbours, or the same for all rows and of words. */
static inline bool stream_joins(const struct stream_run *r, size_t n)
{
    for (size_t k = 0; k < r->places; k++)
        if (r->move[k] && r->row[k] != (int64_t)(n * r->move[k]) && (r->row[k] || r->move[k] == 1))
            return false;
    return true;
}

#endif
