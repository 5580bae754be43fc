#include "runtime/exec/integer.h"

#include "runtime/ops/elementwise.h"

#include <string.h>

/* Sums wrap: they are made of unsigned numbers of at least the width of int. */
#define INTEGER_TYPES(X)                                                                           \
    X(DT_BOOL, uint8_t, uint32_t)                                                                  \
    X(DT_I8, int8_t, uint32_t)                                                                     \
    X(DT_U8, uint8_t, uint32_t)                                                                    \
    X(DT_I16, int16_t, uint32_t)                                                                   \
    X(DT_U16, uint16_t, uint32_t)                                                                  \
    X(DT_I32, int32_t, uint32_t)                                                                   \
    X(DT_U32, uint32_t, uint32_t)                                                                  \
    X(DT_I64, int64_t, uint64_t)                                                                   \
    X(DT_U64, uint64_t, uint64_t)

/* Function, type of the result (T: that of the operands), and its value of a and b. Unsigned
 * numbers are never negative: a comparison there is always false. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#define INTEGER_FUNCTIONS(X, id, T, U)                                                             \
    X(add, id, T, T, (T)((U)a + (U)b))                                                             \
    X(sub, id, T, T, (T)((U)a - (U)b))                                                             \
    X(mul, id, T, T, (T)((U)a * (U)b))                                                             \
    X(max, id, T, T, a > b ? a : b)                                                                \
    X(min, id, T, T, a < b ? a : b)                                                                \
    X(and, id, T, T, (T)(a & b))                                                                   \
    X(or, id, T, T, (T)(a | b))                                                                    \
    X(xor, id, T, T, (T)(a ^ b))                                                                   \
    X(neg, id, T, T, (T)(0 - (U)a))                                                                \
    X(abs, id, T, T, (T)(((U)a ^ sign_##id(a)) - sign_##id(a)))                                    \
    X(bitnot, id, T, T, (T) ~(U)a)                                                                 \
    X(not, id, T, T, (T)(a == 0))                                                                  \
    X(eq, id, T, uint8_t, a == b)                                                                  \
    X(ne, id, T, uint8_t, a != b)                                                                  \
    X(lt, id, T, uint8_t, a < b)                                                                   \
    X(le, id, T, uint8_t, a <= b)                                                                  \
    X(gt, id, T, uint8_t, a > b)                                                                   \
    X(ge, id, T, uint8_t, a >= b)

/* All ones for negative numbers, without a branch. */
#define SIGN(id, T, U)                                                                             \
    static inline U sign_##id(T a)                                                                 \
    {                                                                                              \
        return (U)0 - (U)(a < 0);                                                                  \
    }
INTEGER_TYPES(SIGN)

#define LOOP(T, R, zstep, xstep, ystep, value)                                                     \
    for (int64_t i = 0; i < n; i++) {                                                              \
        T a = x[i * (xstep)], b = y[i * (ystep)];                                                  \
        (void)a, (void)b;                                                                          \
        z[i * (zstep)] = value;                                                                    \
    }

/* Results in the memory of an operand are those of the same elements. */
#define DEFINE(name, id, T, R, value)                                                              \
    static void name##_##id(void *pz, int64_t zs, const void *px, int64_t xs, const void *py,      \
                            int64_t ys, int64_t n)                                                 \
    {                                                                                              \
        R *z = pz;                                                                                 \
        const T *x = px, *y = py;                                                                  \
        if (zs == 1 && xs == 1 && ys == 1)                                                         \
            LOOP(T, R, 1, 1, 1, value)                                                             \
        else if (zs == 1 && xs == 1 && ys == 0 && n) {                                             \
            T once = *y;                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                      \
                T a = x[i], b = once;                                                              \
                (void)a, (void)b;                                                                  \
                z[i] = value;                                                                      \
            }                                                                                      \
        } else if (zs == 1 && xs == 0 && ys == 1 && n) {                                           \
            T once = *x;                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                      \
                T a = once, b = y[i];                                                              \
                (void)a, (void)b;                                                                  \
                z[i] = value;                                                                      \
            }                                                                                      \
        } else                                                                                     \
            LOOP(T, R, zs, xs, ys, value)                                                          \
    }
#define DEFINE_ALL(id, T, U) INTEGER_FUNCTIONS(DEFINE, id, T, U)
INTEGER_TYPES(DEFINE_ALL)

static const struct {
    uint16_t op;
    uint8_t dtype;
    bool compares;
    integer_run run;
} runs[] = {
#define ROW(name, id, T, R, value)                                                                 \
    {OP_##name, id, OP_##name >= OP_eq && OP_##name <= OP_ge, name##_##id},
#define ROWS(id, T, U) INTEGER_FUNCTIONS(ROW, id, T, U)
    INTEGER_TYPES(ROWS)};

bool integer_find(struct integer_function *f, const struct bound_insn *i, struct diag *d)
{
    enum op op = (enum op)i->func[0];
    int x = i->o[1].dtype, z = i->o[0].dtype;
    f->run = NULL;
    f->row = ew_row(op);
    if (!f->row || !(dtype_class(x) == DTC_SINT ? (void *)f->row->sn : (void *)f->row->un))
        return fail(d, "operator '%s' is no function of an engine on %s", op_name(op),
                    dtype_name(x));
    bool booleans = x == DT_BOOL && !(f->row->kinds & KB);
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++)
        if (runs[r].op == op && runs[r].dtype == x && i->o[2].dtype == x && !booleans &&
            z == (runs[r].compares ? DT_BOOL : x))
            f->run = runs[r].run;
    return true;
}

void integer_row(const struct integer_function *f, const struct bound_insn *i, char *const *p,
                 int64_t n)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t zs = o[0].step[last], xs = o[1].step[last], ys = o[2].step[last];
    if (f->run) {
        f->run(p[0], zs, p[1], xs, p[2], ys, n);
        return;
    }
    int64_t x[CHUNK], y[CHUNK], z[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        for (int64_t k = 0; k < m; k++) {
            x[k] = dtype_load_i64(o[1].dtype, p[1] + (at + k) * xs * o[1].size, 0);
            y[k] = dtype_load_i64(o[2].dtype, p[2] + (at + k) * ys * o[2].size, 0);
        }
        if (dtype_class(o[1].dtype) == DTC_SINT)
            f->row->sn(x, y, z, m);
        else
            f->row->un((const uint64_t *)x, (const uint64_t *)y, (uint64_t *)z, m);
        for (int64_t k = 0; k < m; k++)
            dtype_store_i64(o[0].dtype, p[0] + (at + k) * zs * o[0].size, 0, z[k]);
    }
}

#define CHOOSE(T)                                                                                  \
    for (int64_t k = 0; k < n; k++)                                                                \
        ((T *)p[0])[k * zs] =                                                                      \
            p[1][k * ws] ? ((const T *)p[2])[k * as] : ((const T *)p[3])[k * bs];                  \
    return

void choose_row(const struct bound_insn *i, char *const *p, int64_t n)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t zs = o[0].step[last], ws = o[1].step[last], as = o[2].step[last], bs = o[3].step[last];
    switch (o[0].size) {
    case 1:
        CHOOSE(uint8_t);
    case 2:
        CHOOSE(uint16_t);
    case 4:
        CHOOSE(uint32_t);
    case 8:
        CHOOSE(uint64_t);
    }
    for (int64_t k = 0; k < n; k++)
        memcpy(p[0] + k * zs * o[0].size,
               p[1][k * ws] ? p[2] + k * as * o[2].size : p[3] + k * bs * o[3].size,
               (size_t)o[0].size);
}
