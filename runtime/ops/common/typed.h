/*
 * Element types whose memory is a C type, for loops in the type itself: X(dtype, C type).
 */
#ifndef RUNTIME_OPS_TYPED_H
#define RUNTIME_OPS_TYPED_H

#include <stdint.h>

#define TYPED_SIGNED(X)                                                                            \
    X(DT_I8, int8_t)                                                                               \
    X(DT_I16, int16_t)                                                                             \
    X(DT_I32, int32_t)                                                                             \
    X(DT_I64, int64_t)
#define TYPED_UNSIGNED(X)                                                                          \
    X(DT_U8, uint8_t)                                                                              \
    X(DT_U16, uint16_t)                                                                            \
    X(DT_U32, uint32_t)                                                                            \
    X(DT_U64, uint64_t)
#define TYPED_FLOATS(X)                                                                            \
    X(DT_F32, float)                                                                               \
    X(DT_F64, double)

/* Elements that are only moved: X(bytes, C type). */
#define TYPED_SIZES(X)                                                                             \
    X(1, uint8_t)                                                                                  \
    X(2, uint16_t)                                                                                 \
    X(4, uint32_t)                                                                                 \
    X(8, uint64_t)

#endif
