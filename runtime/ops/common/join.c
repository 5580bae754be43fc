#include "runtime/ops/common/join.h"

#include "runtime/kernels/kernels.h"

/* y = value of a, what is there, and b, what is joined. */
#define JOIN_LOOP(ys, xs, T, value)                                                                \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const T a = y[i * (ys)], b = x[i * (xs)];                                                  \
        y[i * (ys)] = value;                                                                       \
    }
/* Of words, neighbours apart: vectors are made of them. */
#define JOIN(name, T, value)                                                                       \
    static void name(void *to, int64_t ys, const void *from, int64_t xs, int64_t n)                \
    {                                                                                              \
        T *y = to;                                                                                 \
        const T *x = from;                                                                         \
        if (sizeof(T) == 4 && ys == 1 && xs == 1)                                                  \
            JOIN_LOOP(1, 1, T, value)                                                              \
        else                                                                                       \
            JOIN_LOOP(ys, xs, T, value)                                                            \
    }
JOIN(join_add_f32, float, a + b)
JOIN(join_add_f64, double, a + b)
JOIN(join_add_32, uint32_t, a + b)
JOIN(join_add_64, uint64_t, a + b)
JOIN(join_mul_f32, float, a *b)
JOIN(join_mul_f64, double, a *b)
JOIN(join_mul_32, uint32_t, a *b)
JOIN(join_max_f32, float, JOINED_MAX(a, b))
JOIN(join_max_f64, double, JOINED_MAX(a, b))
JOIN(join_max_i32, int32_t, a > b ? a : b)
JOIN(join_max_u32, uint32_t, a > b ? a : b)
JOIN(join_min_f32, float, JOINED_MIN(a, b))
JOIN(join_min_f64, double, JOINED_MIN(a, b))
JOIN(join_min_i32, int32_t, a < b ? a : b)
JOIN(join_min_u32, uint32_t, a < b ? a : b)

/* By way of f32, in which the sum of two is rounded as it would have been at once. */
static __attribute__((noinline)) void add_short(void *to, int64_t ys, const void *from, int64_t xs, int64_t n,
                                                enum kernel_convert widen, enum kernel_convert round)
{
    enum { CHUNK = 64 };
    const struct kernel_table *k = kernels_get();
    uint16_t *y = to;
    const uint16_t *x = from;
    float a[CHUNK], b[CHUNK];
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t some = n - i < CHUNK ? n - i : CHUNK;
        k->convert[widen](a, 1, y + i * ys, ys, (size_t)some);
        k->convert[widen](b, 1, x + i * xs, xs, (size_t)some);
        join_add_f32(a, 1, b, 1, some);
        k->convert[round](y + i * ys, ys, a, 1, (size_t)some);
    }
}

static void join_add_f16(void *to, int64_t ys, const void *from, int64_t xs, int64_t n)
{
    add_short(to, ys, from, xs, n, CONVERT_f32_from_f16, CONVERT_f16_from_f32);
}

static void join_add_bf16(void *to, int64_t ys, const void *from, int64_t xs, int64_t n)
{
    add_short(to, ys, from, xs, n, CONVERT_f32_from_bf16, CONVERT_bf16_from_f32);
}

static const struct {
    enum op op;
    int dtype;
    join_fn *join;
} joins[] = {
    {OP_add, DT_F32, join_add_f32}, {OP_add, DT_F64, join_add_f64}, {OP_add, DT_I32, join_add_32},
    {OP_add, DT_U32, join_add_32},  {OP_add, DT_I64, join_add_64},  {OP_add, DT_U64, join_add_64},
    {OP_add, DT_F16, join_add_f16}, {OP_add, DT_BF16, join_add_bf16},
    {OP_mul, DT_F32, join_mul_f32}, {OP_mul, DT_F64, join_mul_f64}, {OP_mul, DT_I32, join_mul_32},
    {OP_mul, DT_U32, join_mul_32},
    {OP_max, DT_F32, join_max_f32}, {OP_max, DT_F64, join_max_f64}, {OP_max, DT_I32, join_max_i32},
    {OP_max, DT_U32, join_max_u32},
    {OP_min, DT_F32, join_min_f32}, {OP_min, DT_F64, join_min_f64}, {OP_min, DT_I32, join_min_i32},
    {OP_min, DT_U32, join_min_u32},
};

join_fn *join_of(enum op op, int dtype)
{
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (joins[i].op == op && joins[i].dtype == dtype)
            return joins[i].join;
    return NULL;
}

join_columns_fn *join_columns_of(enum op op, int dtype, int64_t n)
{
    static const struct {
        enum op op;
        enum kernel_reduce f;
        int64_t from; /* rows that are worth a call */
    } rows[] = {{OP_add, REDUCE_sum, 32}, {OP_max, REDUCE_max, 8}, {OP_min, REDUCE_min, 8}};
    for (size_t i = 0; dtype == DT_F32 && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op && n >= rows[i].from)
            return kernels_get()->reduce_columns[rows[i].f];
    return NULL;
}
