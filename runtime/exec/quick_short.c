/*
 * The loops of quick_short.h, one for each operation of quick.def.
 */
#include "runtime/exec/quick_short.h"

#include <math.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

typedef float part_4 __attribute__((vector_size(16), aligned(4), may_alias));
#define SPLAT_4(x) ((part_4){x, x, x, x})

#define STEP_OF(name) name##_step
#define SHORT_OPERAND(name, k)                                                                     \
    char *const name = op->p[k];                                                                   \
    const int64_t STEP_OF(name) = op->row->step[k];
#define SHORT_OPERANDS_1 SHORT_OPERAND(to, QUICK_TO) SHORT_OPERAND(a, QUICK_A)
#define SHORT_OPERANDS_2 SHORT_OPERANDS_1 SHORT_OPERAND(b, QUICK_B)
#define SHORT_OPERANDS_3 SHORT_OPERANDS_2 SHORT_OPERAND(c, QUICK_C)
/* Element i of an operand; four from there on, or one element four times. */
#define ELEMENT(T, name) ((T *)name)[i * STEP_OF(name)]
#define PART_4(name) (STEP_OF(name) ? *(const part_4 *)&ELEMENT(quick_f32, name) : SPLAT_4(*(quick_f32 *)name))

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

/* Dense results are computed four at a time. */
#define IS_PART(name) ((uint64_t)STEP_OF(name) <= 1)
#define PARTS(dense, ...)                                                                          \
    if (STEP_OF(to) == 1 && (dense))                                                               \
        for (; i + 4 <= n; i += 4) {                                                               \
            __VA_ARGS__                                                                            \
        }
#define TO_PART *(part_4 *)&ELEMENT(quick_f32, to)

#define QUICK_FLOATS(name, o, result)                                                              \
    SHORT_ROW(, short_##name, SHORT_OPERANDS_2,                                                    \
              PARTS(IS_PART(a) && IS_PART(b), const part_4 x = PART_4(a), y = PART_4(b);           \
                    TO_PART = (result);),                                                          \
              const quick_f32 x = ELEMENT(quick_f32, a), y = ELEMENT(quick_f32, b);                \
              ELEMENT(quick_f32, to) = (result);)
#define QUICK_BINARY(name, dtype, o, T, R, result)                                                 \
    SHORT_ROW(, short_##name, SHORT_OPERANDS_2, , const T x = ELEMENT(T, a), y = ELEMENT(T, b);    \
              ELEMENT(R, to) = (R)(result);)
#define QUICK_CONVERT(name, to_type, from_type, T, R, result)                                      \
    SHORT_ROW(, short_##name, SHORT_OPERANDS_1, , const T x = ELEMENT(T, a); ELEMENT(R, to) = (R)(result);)
#include "runtime/exec/quick.def"

#define SHORT_MOVE_ROWS(bytes, T)                                                                  \
    SHORT_ROW(, short_copy_##bytes, SHORT_OPERANDS_1, , ELEMENT(T, to) = ELEMENT(T, a);)           \
    SHORT_ROW(, short_choose_##bytes, SHORT_OPERANDS_3, ,                                          \
              ELEMENT(T, to) = ELEMENT(quick_u8, c) ? ELEMENT(T, a) : ELEMENT(T, b);)
QUICK_MOVES(SHORT_MOVE_ROWS)

#define ROUNDING_FMA(x, y, z) ((x) * (y) + (z))
#define FMA_PARTS(fma_4)                                                                           \
    PARTS(IS_PART(a) && IS_PART(b) && IS_PART(c), TO_PART = fma_4(PART_4(a), PART_4(b), PART_4(c));)
#define MULTIPLY_ADD(target, name, parts, fma)                                                     \
    SHORT_ROW(target, name, SHORT_OPERANDS_3, parts,                                               \
              ELEMENT(quick_f32, to) =                                                             \
                  fma(ELEMENT(quick_f32, a), ELEMENT(quick_f32, b), ELEMENT(quick_f32, c));)
MULTIPLY_ADD(, short_multiply_add, FMA_PARTS(ROUNDING_FMA), ROUNDING_FMA)

#if defined __x86_64__
#define FUSED_TARGET     __attribute__((target("avx,fma")))
#define FUSED_4(x, y, z) (part_4) _mm_fmadd_ps((__m128)(x), (__m128)(y), (__m128)(z))
#define FUSED_PARTS      FMA_PARTS(FUSED_4)
#else
#define FUSED_TARGET
#define FUSED_PARTS
#endif
MULTIPLY_ADD(FUSED_TARGET, short_fused_multiply_add, FUSED_PARTS, fmaf)

quick_row_fn quick_short_row(uint16_t code, bool fused)
{
    static const quick_row_fn rows[QUICK_end] = {
#define QUICK_BINARY(name, dtype, o, T, R, result)            [QUICK_##name] = short_##name,
#define QUICK_CONVERT(name, to_type, from_type, T, R, result) [QUICK_##name] = short_##name,
#include "runtime/exec/quick.def"
#define SHORT_MOVE_NAMES(bytes, T)                                                                 \
    [QUICK_copy_##bytes] = short_copy_##bytes, [QUICK_choose_##bytes] = short_choose_##bytes,
        QUICK_MOVES(SHORT_MOVE_NAMES)
        [QUICK_multiply_add] = short_multiply_add,
    };
    return code == QUICK_multiply_add && fused ? short_fused_multiply_add : code < QUICK_end ? rows[code] : NULL;
}
