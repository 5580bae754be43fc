#include "runtime/ops/common/extremes.h"

#include "neff/base/use.h"
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/typed.h"

#include <string.h>

/*
 * In the element's own type: of a line of neighbours first the extreme is found, then where it lies; of many
 * lines side by side some are compared at a time. Always for the greatest: elements are read through an order, by
 * which the least of floats are the greatest of their negatives, and integers, signed or not, are signed ones of their
 * width with some bits turned over.
 */
enum { WIDTH = 32, LINES = 512 };
#define READ_FLOAT(x, turn)   ((x) * (turn)) /* by 1 or -1 */
#define READ_INTEGER(x, turn) ((x) ^ (turn))
#define ARG(id, T, READ)                                                                                               \
    static __attribute__((noinline)) int64_t find_##id(const T *x, int64_t n, T v, bool nan, bool last)                \
    {                                                                                                                  \
        for (int64_t at = 0; at < n; at += WIDTH) {                                                                    \
            int64_t m = n - at < WIDTH ? n - at : WIDTH, from = last ? n - at - m : at;                                \
            unsigned any = 0;                                                                                          \
            for (int64_t j = 0; j < m; j++)                                                                            \
                any |= nan ? x[from + j] != x[from + j] : x[from + j] == v;                                            \
            for (int64_t j = 0; any && j < m; j++) {                                                                   \
                int64_t k = from + (last ? m - 1 - j : j);                                                             \
                if (nan ? x[k] != x[k] : x[k] == v)                                                                    \
                    return k;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static int64_t line_##id(const T *x, int64_t n, T turn, bool last)                                                 \
    {                                                                                                                  \
        T best[WIDTH];                                                                                                 \
        unsigned nan = 0;                                                                                              \
        int64_t at = 0;                                                                                                \
        for (int j = 0; j < WIDTH; j++)                                                                                \
            best[j] = READ(x[0], turn);                                                                                \
        for (; at + WIDTH <= n; at += WIDTH)                                                                           \
            for (int j = 0; j < WIDTH; j++) {                                                                          \
                T v = READ(x[at + j], turn);                                                                           \
                nan |= v != v;                                                                                         \
                best[j] = v > best[j] ? v : best[j];                                                                   \
            }                                                                                                          \
        for (; at < n; at++) {                                                                                         \
            T v = READ(x[at], turn);                                                                                   \
            nan |= v != v;                                                                                             \
            best[0] = v > best[0] ? v : best[0];                                                                       \
        }                                                                                                              \
        for (int j = 1; j < WIDTH; j++)                                                                                \
            best[0] = best[j] > best[0] ? best[j] : best[0];                                                           \
        return find_##id(x, n, READ(best[0], turn), nan, last);                                                        \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void lines_##id(const T *x, int64_t n, int64_t step, int64_t lines,   \
                                                                 T turn, bool last, int64_t *z)                        \
    {                                                                                                                  \
        T best[LINES];                                                                                                 \
        int32_t place[LINES];                                                                                          \
        for (int64_t j = 0; j < lines; j++)                                                                            \
            best[j] = READ(x[j], turn), place[j] = 0;                                                                  \
        for (int32_t k = 1; k < n; k++)                                                                                \
            for (int64_t j = 0; j < lines; j++) {                                                                      \
                T v = READ(x[k * step + j], turn), b = best[j];                                                        \
                bool more = (v > b) | (last & (v == b)) | ((v != v) & (last | (b == b)));                              \
                best[j] = more ? v : b;                                                                                \
                place[j] = more ? k : place[j];                                                                        \
            }                                                                                                          \
        for (int64_t j = 0; j < lines; j++)                                                                            \
            z[j] = place[j];                                                                                           \
    }                                                                                                                  \
    static void arg_##id(const T *x, int64_t outer, int64_t n, int64_t inner, T turn, bool last, int64_t *z)           \
    {                                                                                                                  \
        for (int64_t o = 0; o < outer; o++, x += n * inner, z += inner) {                                              \
            if (inner == 1)                                                                                            \
                z[0] = line_##id(x, n, turn, last);                                                                    \
            for (int64_t i = 0; inner > 1 && i < inner; i += LINES) {                                                  \
                int64_t lines = inner - i < LINES ? inner - i : LINES;                                                 \
                if ((id) == DT_F32 && !last) /* most of them */                                                        \
                    lines_##id(x + i, n, inner, lines, turn, false, z + i);                                            \
                else                                                                                                   \
                    lines_##id(x + i, n, inner, lines, turn, last, z + i);                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define ARG_FLOAT(id, T)  ARG(id, T, READ_FLOAT)
#define ARG_SIGNED(id, T) ARG(id, T, READ_INTEGER)
TYPED_FLOATS(ARG_FLOAT)
TYPED_SIGNED(ARG_SIGNED)

/* Lines of neighbours in f32 by the kernel; short ones, a call of which costs more than they do, turned to columns. */
enum { SHORT = 16, TURNED = 64 };
static void extremes_f32(const float *x, struct lines l, bool max, int64_t *z)
{
    const struct kernel_table *k = kernels_get();
    float block[SHORT * TURNED];
    for (int64_t o = 0, m; o < l.outer; o += m) {
        m = l.outer - o < TURNED ? l.outer - o : TURNED;
        if (l.n <= SHORT && m >= SHORT) {
            k->transpose(block, TURNED, x + o * l.n, l.n, (size_t)m, (size_t)l.n, sizeof *x);
            lines_DT_F32(block, l.n, TURNED, m, max ? 1 : -1, false, z + o);
            continue;
        }
        for (int64_t r = o; r < o + m; r++) {
            struct in_row line = {x + r * l.n, 1};
            z[r] = (int64_t)(max ? k->argmax(line, (size_t)l.n) : k->argmin(line, (size_t)l.n));
        }
    }
}

bool extreme_places(const struct tensor *x, int64_t first, struct lines l, bool max, bool last, int64_t *z)
{
    const void *from = (const char *)x->data + (size_t)first * dtype_bytes(x->dtype);
    if (l.n < 1 || l.n > INT32_MAX)
        return false;
    if (l.n == 1) {
        memset(z, 0, (size_t)(l.outer * l.inner) * sizeof *z);
        return true;
    }
    if (x->dtype == DT_F32 && l.inner == 1 && !last) {
        extremes_f32(from, l, max, z);
        return true;
    }
    switch (x->dtype) {
#define RUN(id, run, T, turn)                                                                                          \
    case id:                                                                                                           \
        if (!USED(ARG_##id))                                                                                           \
            return false;                                                                                              \
        arg_##run(from, l.outer, l.n, l.inner, (T)(turn), last, z);                                                    \
        return true;
#define RUN_FLOAT(id, T)  RUN(id, id, T, max ? 1 : -1)
#define RUN_SIGNED(id, T) RUN(id, id, T, max ? 0 : -1)
        TYPED_FLOATS(RUN_FLOAT)
        TYPED_SIGNED(RUN_SIGNED)
        RUN(DT_U8, DT_I8, int8_t, max ? INT8_MIN : INT8_MAX)
        RUN(DT_U16, DT_I16, int16_t, max ? INT16_MIN : INT16_MAX)
        RUN(DT_U32, DT_I32, int32_t, max ? INT32_MIN : INT32_MAX)
        RUN(DT_U64, DT_I64, int64_t, max ? INT64_MIN : INT64_MAX)
    }
    return false;
}
