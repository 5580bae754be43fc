/*
 * The loops of quick_short.h, one for each operation of quick.def.
 */
#include "runtime/exec/quick_short.h"

#include <math.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

typedef float part_4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float part_8 __attribute__((vector_size(32), aligned(4), may_alias));
#define SPLAT_4(x) ((part_4){x, x, x, x})
#define SPLAT_8(x) ((part_8){x, x, x, x, x, x, x, x})

#define OPERAND(name, k)                                                                           \
    char *const name = op->p[k];                                                                   \
    const int64_t name##_step = op->row->step[k];
#define OPERANDS_1 OPERAND(to, QUICK_TO) OPERAND(a, QUICK_A)
#define OPERANDS_2 OPERANDS_1 OPERAND(b, QUICK_B)
#define OPERANDS_3 OPERANDS_2 OPERAND(c, QUICK_C)
/* Element i of an operand; so many from there on, or one element so many times. */
#define AT(T, name) ((T *)name)[i * name##_step]
#define PART_4(name) (name##_step ? *(const part_4 *)&AT(quick_f32, name) : SPLAT_4(*(quick_f32 *)name))
#define PART_8(name) (name##_step ? *(const part_8 *)&AT(quick_f32, name) : SPLAT_8(*(quick_f32 *)name))

#define SHORT_ROW(target, name, operands, first, ...)                                              \
    target static bool name(struct context *context, const struct quick_op *op, struct diag *d)    \
    {                                                                                              \
        const int64_t n = op->row->n;                                                              \
        int64_t i = 0;                                                                             \
        operands                                                                                   \
        (void)context, (void)d;                                                                    \
        first                                                                                      \
        for (; i < n; i++) {                                                                       \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return true;                                                                               \
    }

#define QUICK_BINARY(name, dtype, o, T, R, result)                                                 \
    SHORT_ROW(, short_##name, OPERANDS_2, , const T x = AT(T, a), y = AT(T, b); AT(R, to) = (R)(result);)
#define QUICK_CONVERT(name, to_type, from_type, T, R, result)                                      \
    SHORT_ROW(, short_##name, OPERANDS_1, , const T x = AT(T, a); AT(R, to) = (R)(result);)
#include "runtime/exec/quick.def"

/* Elements of so many bytes are moved whatever they are. */
#define MOVES(X) X(1, quick_u8) X(4, quick_u32) X(8, quick_u64)
#define MOVE_ROWS(bytes, T)                                                                        \
    SHORT_ROW(, short_copy_##bytes, OPERANDS_1, , AT(T, to) = AT(T, a);)                                 \
    SHORT_ROW(, short_choose_##bytes, OPERANDS_3, , AT(T, to) = AT(quick_u8, c) ? AT(T, a) : AT(T, b);)
MOVES(MOVE_ROWS)

struct short_row {
    uint16_t code;
    quick_row_fn run;
};

#define QUICK_TARGET
#define QUICK_FMA(x, y, z)   ((x) * (y) + (z))
#define QUICK_FMA_8(x, y, z) ((x) * (y) + (z))
#define QUICK_FMA_4(x, y, z) ((x) * (y) + (z))
#define SHORT(name)          rounding_##name
#include "runtime/exec/quick_short.inc"

#if defined __x86_64__
#define QUICK_TARGET         __attribute__((target("avx,fma")))
#define QUICK_FMA_8(x, y, z) (part_8) _mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z))
#define QUICK_FMA_4(x, y, z) (part_4) _mm_fmadd_ps((__m128)(x), (__m128)(y), (__m128)(z))
#else
#define QUICK_TARGET
#endif
#define QUICK_FMA   fmaf
#define SHORT(name) fused_##name
#include "runtime/exec/quick_short.inc"

quick_row_fn quick_short_row(uint16_t code, bool fused)
{
    static const quick_row_fn rows[QUICK_end] = {
#define QUICK_BINARY(name, dtype, o, T, R, result)            [QUICK_##name] = short_##name,
#define QUICK_CONVERT(name, to_type, from_type, T, R, result) [QUICK_##name] = short_##name,
#include "runtime/exec/quick.def"
#define MOVE_NAMES(bytes, T) [QUICK_copy_##bytes] = short_copy_##bytes, [QUICK_choose_##bytes] = short_choose_##bytes,
        MOVES(MOVE_NAMES)
    };
    const struct short_row *r = fused ? fused_rows : rounding_rows;
    for (size_t n = 0; n < sizeof fused_rows / sizeof *fused_rows; n++)
        if (r[n].code == code)
            return r[n].run;
    return code < QUICK_end ? rows[code] : NULL;
}
