/*
 * Routines that have loops in the element's own type, against the operators' definitions element by
 * element: all types, lengths around the blocks of the loops, ties, NaN.
 */
#include "test/unit/op_test.h"

#include <math.h>
#include <stdlib.h>

enum { LIMIT = 40000 };
static const int numbers[] = {DT_I8,  DT_U8,  DT_I16, DT_U16, DT_I32, DT_U32,
                              DT_I64, DT_U64, DT_F32, DT_F64, DT_F16, DT_BF16};
enum { NUMBERS = sizeof numbers / sizeof *numbers };
static const int64_t shapes[][3] = {{2, 1, 1},    {3, 7, 1},  {1, 32, 1},  {2, 33, 1},
                                    {1, 100, 1},  {1, 5, 3},  {2, 9, 130}, {1, 3, 513},
                                    {2, 2, 1030}, {1, 64, 2}, {1, 300, 8},
                                    {150, 8, 1},  {70, 16, 1}, {90, 17, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Small integers with many ties; every so often NaN or infinity where there is one. */
static void fill(double *v, int64_t n, int dtype, uint32_t seed, bool odd)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = draw(&seed);
        v[i] = (double)(r % 9) - (dtype_class(dtype) == DTC_UINT ? 0 : 4);
        if (odd && dtype_is_float(dtype) && r % 64 < 3)
            v[i] = r % 64 == 0 ? NAN : r % 64 == 1 ? INFINITY : -INFINITY;
    }
}

static void start(struct op_test *t, int dtype, const int64_t *dims, int axis, bool odd)
{
    static double v[LIMIT];
    op_test_clear(t);
    fill(v, dims[0] * dims[1] * dims[2], dtype, (uint32_t)(dims[1] * 7 + dims[2] + dtype), odd);
    op_test_in(t, dtype, 3, dims, v);
    attr_set_int(&t->arena, &t->attrs, "axis", axis);
}

static void run(struct op_test *t, enum op op)
{
    if (!op_test_run(t, op, 1))
        fail_msg("%s: %s", op_name(op), t->d.text);
}

/* ---- argmax, argmin ---- */

static int64_t extreme(const struct tensor *x, int64_t first, int64_t n, int64_t step, bool max,
                       bool last)
{
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++) {
        double a = tensor_f64(x, first + k * step), b = tensor_f64(x, first + best * step);
        bool more = isnan(b) ? isnan(a) && last : isnan(a) ? true : a == b ? last : (a > b) == max;
        best = more ? k : best;
    }
    return best;
}

static void test_extremes(void **state)
{
    struct op_test t = {0};
    for (int d = 0; d < NUMBERS; d++)
        for (int s = 0; s < SHAPES; s++)
            for (int way = 0; way < 8; way++) {
                const int64_t *dims = shapes[s];
                start(&t, numbers[d], dims, 1, way & 4);
                attr_set_int(&t.arena, &t.attrs, "select_last_index", way & 1);
                run(&t, way & 2 ? OP_argmax : OP_argmin);
                for (int64_t i = 0; i < dims[0] * dims[2]; i++) {
                    int64_t first = i / dims[2] * dims[1] * dims[2] + i % dims[2];
                    int64_t want = extreme(&t.in[0], first, dims[1], dims[2], way & 2, way & 1);
                    if (tensor_i64(&t.out[0], i) != want)
                        fail_msg("%s, shape %d, way %d: line %lld gives %lld, expected %lld",
                                 dtype_name(numbers[d]), s, way, (long long)i,
                                 (long long)tensor_i64(&t.out[0], i), (long long)want);
                }
            }
    op_test_clear(&t);
}

/* ---- hardmax: one where the first largest is; NaN is no larger, unless it comes first ---- */

static void test_hardmax(void **state)
{
    struct op_test t = {0};
    for (int d = 0; d < NUMBERS; d++)
        for (int s = 0; s < SHAPES && dtype_is_float(numbers[d]); s++)
            for (int axis = 1; axis < 3; axis++) {
                const int64_t *dims = shapes[s];
                int64_t step = axis == 1 ? dims[2] : 1, n = dims[axis];
                start(&t, numbers[d], dims, axis, true);
                run(&t, OP_hardmax);
                for (int64_t i = 0; i < dims[0] * dims[1] * dims[2]; i++) {
                    int64_t place = i / step % n, first = i - place * step, best = 0;
                    for (int64_t k = 1; k < n; k++)
                        if (tensor_f64(&t.in[0], first + k * step) >
                            tensor_f64(&t.in[0], first + best * step))
                            best = k;
                    assert_true(tensor_f64(&t.out[0], i) == (place == best));
                }
            }
    op_test_clear(&t);
}

/* ---- matmul of doubles: sums in order ---- */

static void test_product(void **state)
{
    static const int64_t sizes[][3] = {{1, 1, 1},    {3, 31, 63}, {4, 32, 64}, {5, 33, 65},
                                       {9, 70, 130}, {2, 64, 0},  {0, 3, 4},   {8, 96, 128}};
    static double v[LIMIT];
    struct op_test t = {0};
    uint32_t seed = 5;
    for (size_t i = 0; i < LIMIT; i++)
        v[i] = (double)draw(&seed) / 3e6 - 2;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        op_test_clear(&t);
        op_test_in(&t, DT_F64, DIMS(m, k), v);
        op_test_in(&t, DT_F64, DIMS(k, n), v + 77);
        run(&t, OP_matmul);
        for (int64_t i = 0; i < m * n; i++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += v[i / n * k + l] * v[77 + l * n + i % n];
            assert_true(((double *)t.out[0].data)[i] == sum);
        }
    }
    op_test_clear(&t);
}

/* ---- products of integers: large ones in f64 where it holds the sums, and all alike ---- */

static void check_integers(struct op_test *t, enum op op, int b_type, int64_t m, int64_t n, int64_t k)
{
    int dtype = t->out[0].dtype;
    for (int64_t i = 0; i < 2 * m * n; i++) {
        uint64_t sum = 0, batch = (uint64_t)(i / (m * n));
        for (int64_t l = 0; l < k; l++) {
            int64_t x = tensor_i64(&t->in[0], (int64_t)batch * m * k + i % (m * n) / n * k + l);
            int64_t y = tensor_i64(&t->in[1], (int64_t)batch * k * n + l * n + i % n);
            sum += (uint64_t)x * (uint64_t)y;
        }
        uint64_t got = (uint64_t)tensor_i64(&t->out[0], i);
        uint64_t mask = dtype_bytes(dtype) == 8 ? UINT64_MAX : (1ull << 8 * dtype_bytes(dtype)) - 1;
        if ((got & mask) != (sum & mask))
            fail_msg("%s of %s and %s, %lld x %lld x %lld: element %lld", op_name(op), dtype_name(t->in[0].dtype),
                     dtype_name(b_type), (long long)m, (long long)n, (long long)k, (long long)i);
    }
}

static void test_integer_products(void **state)
{
    enum { VALUES = 12000 };
    static const int types[][3] = {{DT_I8, DT_I8, DT_I32},   {DT_U8, DT_I8, DT_I8},    {DT_I16, DT_U16, DT_I64},
                                   {DT_I32, DT_I8, DT_I32},  {DT_U32, DT_U32, DT_U32}, {DT_I64, DT_I64, DT_I64}};
    static const int64_t sizes[][3] = {{16, 16, 16}, {33, 17, 65}, {3, 5, 40}, {20, 40, 3}, {64, 1, 20}};
    static double v[VALUES];
    struct op_test t = {0};
    uint32_t seed = 9;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
            for (size_t e = 0; e < VALUES; e++) /* small, and where products wrap */
                v[e] = (double)(draw(&seed) % 128) * (types[i][0] == DT_U32 ? 32000000 : 1);
            op_test_clear(&t);
            op_test_in(&t, types[i][0], DIMS(2, m, k), v);
            op_test_in(&t, types[i][1], DIMS(2, k, n), v + 999);
            attr_set_int(&t.arena, &t.attrs, "dtype", types[i][2]);
            run(&t, OP_dot);
            check_integers(&t, OP_dot, types[i][1], m, n, k);
            memset(&t.attrs, 0, sizeof t.attrs);
            if (types[i][0] != types[i][1])
                continue;
            run(&t, OP_matmul);
            check_integers(&t, OP_matmul, types[i][1], m, n, k);
        }
    op_test_clear(&t);
}

/* ---- cumsum, cumprod ---- */

static void test_running(void **state)
{
    struct op_test t = {0};
    for (int d = 0; d < NUMBERS; d++)
        for (int s = 0; s < SHAPES; s++)
            for (int way = 0; way < 8; way++) {
                const int64_t *dims = shapes[s];
                int dtype = numbers[d];
                bool product = way & 1, exclusive = way & 2, reverse = way & 4;
                if (dtype == DT_F16 || dtype == DT_BF16 || (product && dtype_is_float(dtype)))
                    continue; /* sums of these are rounded */
                start(&t, dtype, dims, 0, false);
                op_test_in(&t, DT_I64, SCALAR, (double[]){1});
                attr_set_int(&t.arena, &t.attrs, "exclusive", exclusive);
                attr_set_int(&t.arena, &t.attrs, "reverse", reverse);
                run(&t, product ? OP_cumprod : OP_cumsum);
                for (int64_t i = 0; i < dims[0] * dims[2]; i++) {
                    uint64_t sum = product;
                    for (int64_t k = 0; k < dims[1]; k++) {
                        int64_t at =
                            (i / dims[2] * dims[1] + (reverse ? dims[1] - 1 - k : k)) * dims[2] +
                            i % dims[2];
                        uint64_t before = sum, x = (uint64_t)tensor_i64(&t.in[0], at), want;
                        sum = product ? sum * x : sum + x;
                        dtype_store_i64(dtype, &want, 0, (int64_t)(exclusive ? before : sum));
                        assert_memory_equal((char *)t.out[0].data + (size_t)at * dtype_bytes(dtype),
                                            &want, dtype_bytes(dtype));
                    }
                }
            }
    op_test_clear(&t);
}

/* ---- reductions of integers ---- */

static uint64_t reduced(enum op op, uint64_t a, uint64_t x, bool is_signed)
{
    bool above = is_signed ? (int64_t)x > (int64_t)a : x > a;
    switch (op) {
    case OP_reduce_sum: return a + x;
    case OP_reduce_prod: return a * x;
    case OP_reduce_max: return above ? x : a;
    default: return above ? a : x;
    }
}

/* Which of the three dims are reduced: bits of `axes`. */
static void check_reduction(struct op_test *t, enum op op, int axes)
{
    const struct tensor *x = &t->in[0];
    int64_t kept[3], n = tensor_count(x);
    bool some[LIMIT] = {false};
    uint64_t want[LIMIT];
    for (int i = 0; i < 3; i++)
        kept[i] = axes >> i & 1 ? 1 : x->dims[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t at[3] = {i / (x->dims[1] * x->dims[2]), i / x->dims[2] % x->dims[1], i % x->dims[2]}, to = 0;
        uint64_t v = (uint64_t)tensor_i64(x, i);
        for (int k = 0; k < 3; k++)
            to = to * kept[k] + (axes >> k & 1 ? 0 : at[k]);
        want[to] = some[to] ? reduced(op, want[to], v, dtype_class(x->dtype) == DTC_SINT) : v;
        some[to] = true;
    }
    for (int64_t i = 0; i < tensor_count(&t->out[0]); i++) {
        uint64_t w;
        dtype_store_i64(x->dtype, &w, 0, (int64_t)want[i]);
        if (memcmp((char *)t->out[0].data + (size_t)i * dtype_bytes(x->dtype), &w, dtype_bytes(x->dtype)))
            fail_msg("%s of %s, axes %d: result %lld is %lld", op_name(op), dtype_name(x->dtype), axes, (long long)i,
                     (long long)tensor_i64(&t->out[0], i));
    }
}

static void test_integer_reductions(void **state)
{
    static const enum op ops[] = {OP_reduce_sum, OP_reduce_prod, OP_reduce_max, OP_reduce_min};
    static const int64_t long_rows[][3] = {{1, 1, 2500}, {3, 2, 1025}, {2, 5, 24}, {4, 40, 3}};
    struct op_test t = {0};
    for (int d = 0; d < NUMBERS; d++)
        for (int s = 0; s < SHAPES + 4; s++)
            for (int way = 0; way < 4 * 7; way++) {
                const int64_t *dims = s < SHAPES ? shapes[s] : long_rows[s - SHAPES];
                int axes = way / 4 + 1, count = 0;
                double which[3];
                if (dtype_is_float(numbers[d]))
                    continue;
                start(&t, numbers[d], dims, 0, false);
                for (int i = 0; i < 3; i++)
                    if (axes >> i & 1)
                        which[count++] = i;
                op_test_in(&t, DT_I64, 1, (int64_t[]){count}, which);
                run(&t, ops[way % 4]);
                check_reduction(&t, ops[way % 4], axes);
            }
    op_test_clear(&t);
}

/* Of booleans, any byte but 0 is true. */
static void test_boolean_reductions(void **state)
{
    struct op_test t = {0};
    for (int64_t n = 1; n < 70; n++)
        for (int64_t odd = -1; odd < n; odd += 3)
            for (int all = 0; all < 2; all++) {
                double v[70] = {0};
                op_test_clear(&t);
                op_test_in(&t, DT_BOOL, 1, &n, v);
                memset(t.in[0].data, all ? 2 : 0, (size_t)n);
                if (odd >= 0)
                    ((uint8_t *)t.in[0].data)[odd] = all ? 0 : 4;
                run(&t, all ? OP_reduce_min : OP_reduce_max);
                assert_int_equal(*(uint8_t *)t.out[0].data, all ? odd < 0 : odd >= 0);
            }
    op_test_clear(&t);
}

/* ---- updates that are joined with what is there ---- */

static double joined(int way, double a, double b)
{
    return way == 0 ? a + b : way == 1 ? a * b : isnan(a) ? a : isnan(b) ? b : (way == 2 ? a > b : a < b) ? a : b;
}

static void test_joined_updates(void **state)
{
    static const char *const names[] = {"add", "mul", "max", "min"};
    static const int64_t dims[2] = {3, 40}, some[2] = {3, 90};
    struct op_test t = {0};
    for (int d = 0; d < NUMBERS; d++)
        for (int way = 0; way < 4; way++) {
            double v[120], u[270], at[270], want[120];
            uint32_t seed = 5;
            op_test_clear(&t);
            fill(v, 120, numbers[d], 3, true);
            fill(u, 270, numbers[d], 4, true);
            for (int i = 0; i < 270; i++)
                at[i] = draw(&seed) % 40;
            op_test_in(&t, numbers[d], 2, dims, v);
            op_test_in(&t, DT_I32, 2, some, at);
            op_test_in(&t, numbers[d], 2, some, u);
            attr_set_int(&t.arena, &t.attrs, "axis", 1);
            attr_set_str(&t.arena, &t.attrs, "reduction", names[way]);
            memcpy(want, v, sizeof want);
            for (int i = 0; i < 270; i++) {
                double *to = &want[i / 90 * 40 + (int)at[i]];
                uint64_t stored = 0;
                if (dtype_is_float(numbers[d]))
                    dtype_store_f64(numbers[d], &stored, 0, joined(way, *to, u[i]));
                else
                    dtype_store_i64(numbers[d], &stored, 0, (int64_t)joined(way, *to, u[i]));
                *to = dtype_load_f64(numbers[d], &stored, 0);
            }
            run(&t, OP_scatter_elements);
            for (int i = 0; i < 120; i++) {
                double got = tensor_f64(&t.out[0], i);
                if (!(got == want[i] || (isnan(got) && isnan(want[i]))))
                    fail_msg("%s of %s: element %d is %g, expected %g", names[way], dtype_name(numbers[d]), i, got,
                             want[i]);
            }
        }
    op_test_clear(&t);
}

/* ---- gather, gather_elements, scatter_elements ---- */

static const int moved[] = {DT_U8, DT_I16, DT_F32, DT_I64, DT_C128};
static const int index_types[] = {DT_I32, DT_I64, DT_I16};
enum {
    MOVED = sizeof moved / sizeof *moved,
    INDEX_TYPES = sizeof index_types / sizeof *index_types
};

static void index_operand(struct op_test *t, int dtype, size_t rank, const int64_t *dims, int64_t n)
{
    static double v[LIMIT];
    uint32_t seed = 77;
    int64_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    for (int64_t i = 0; i < count; i++)
        v[i] = (double)(draw(&seed) % (uint32_t)(2 * n)) - (double)n;
    op_test_in(t, dtype, rank, dims, v);
}

static int64_t index_at(const struct tensor *t, int64_t i, int64_t n)
{
    int64_t v = tensor_i64(t, i);
    return v < 0 ? v + n : v;
}

static void same_element(const struct tensor *a, int64_t i, const struct tensor *b, int64_t j)
{
    size_t bytes = dtype_bytes(a->dtype);
    assert_memory_equal((char *)a->data + (size_t)i * bytes, (char *)b->data + (size_t)j * bytes,
                        bytes);
}

static void test_gathers(void **state)
{
    struct op_test t = {0};
    for (int d = 0; d < MOVED; d++)
        for (int s = 0; s < SHAPES; s++)
            for (int k = 0; k < INDEX_TYPES; k++) {
                const int64_t *dims = shapes[s], n = dims[1];
                start(&t, moved[d], dims, 1, false);
                index_operand(&t, index_types[k], 3, dims, n);
                run(&t, OP_gather_elements);
                for (int64_t i = 0; i < dims[0] * n * dims[2]; i++)
                    same_element(&t.out[0], i, &t.in[0],
                                 (i / (n * dims[2]) * n + index_at(&t.in[1], i, n)) * dims[2] +
                                     i % dims[2]);
                start(&t, moved[d], dims, 1, false);
                index_operand(&t, index_types[k], 1, &n, n);
                run(&t, OP_gather);
                for (int64_t i = 0; i < dims[0] * n * dims[2]; i++)
                    same_element(&t.out[0], i, &t.in[0],
                                 (i / (n * dims[2]) * n + index_at(&t.in[1], i / dims[2] % n, n)) *
                                         dims[2] +
                                     i % dims[2]);
            }
    op_test_clear(&t);
}

static void test_indices_outside(void **state)
{
    static const int64_t wrong[] = {3, -4, INT64_MAX, INT64_MIN};
    static const enum op ops[] = {OP_gather, OP_gather_elements};
    struct op_test t = {0};
    for (int w = 0; w < 4; w++)
        for (int o = 0; o < 2; o++) {
            start(&t, DT_F32, (int64_t[]){2, 3, 1}, 1, false);
            index_operand(&t, DT_I64, o ? 3 : 1, (int64_t[]){2, 3, 1}, 3);
            ((int64_t *)t.in[1].data)[1] = wrong[w];
            assert_false(op_test_run(&t, ops[o], 1));
            assert_non_null(strstr(t.d.text, "out of range"));
        }
    op_test_clear(&t);
}

/* ---- trilu, pad, nonzero, unique ---- */

static void test_trilu(void **state)
{
    struct op_test t = {0};
    for (int d = 0; d < MOVED; d++)
        for (int k = -9; k <= 9; k++)
            for (int upper = 0; upper < 2; upper++) {
                const int64_t dims[3] = {2, 5, 7};
                start(&t, moved[d], dims, 0, false);
                op_test_in(&t, DT_I64, SCALAR, (double[]){k});
                attr_set_int(&t.arena, &t.attrs, "upper", upper);
                run(&t, OP_trilu);
                for (int64_t i = 0; i < 70; i++) {
                    int64_t row = i / 7 % 5, column = i % 7;
                    if (upper ? column >= row + k : column <= row + k)
                        same_element(&t.out[0], i, &t.in[0], i);
                    else
                        assert_true(tensor_f64(&t.out[0], i) == 0);
                }
            }
    op_test_clear(&t);
}

static int64_t pad_source(const char *mode, int64_t i, int64_t n)
{
    if (!strcmp(mode, "edge"))
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (!strcmp(mode, "wrap"))
        return (i + 8 * n) % n;
    if (!strcmp(mode, "reflect"))
        return n == 1 ? 0 : labs((i + 8 * (n - 1) + n - 1) % (2 * (n - 1)) - (n - 1));
    return i < 0 || i >= n ? -1 : i;
}

static void test_pads(void **state)
{
    static const char *const modes[] = {"constant", "edge", "wrap", "reflect"};
    static const double amounts[][4] = {
        {0, 0, 0, 0}, {1, 2, 3, 4}, {0, 5, 0, 1}, {2, 0, 1, 0}, {0, -1, 0, -2}};
    struct op_test t = {0};
    for (int d = 0; d < MOVED; d++)
        for (int m = 0; m < 4; m++)
            for (int a = 0; a < 5; a++) {
                const double *p = amounts[a];
                start(&t, moved[d], (int64_t[]){1, 4, 9}, 0, false);
                op_test_in(&t, DT_I64, DIMS(6), (double[]){0, p[0], p[1], 0, p[2], p[3]});
                attr_set_str(&t.arena, &t.attrs, "mode", modes[m]);
                run(&t, OP_pad);
                int64_t rows = t.out[0].dims[1], columns = t.out[0].dims[2];
                /* negative amounts crop before others repeat */
                int64_t cut = p[1] < 0 ? 1 : 0, kept = 9 - cut + (p[3] < 0 ? (int64_t)p[3] : 0);
                for (int64_t i = 0; i < rows * columns; i++) {
                    int64_t y = pad_source(modes[m], i / columns - (int64_t)p[0], 4);
                    int64_t x =
                        pad_source(modes[m], i % columns - (p[1] > 0 ? (int64_t)p[1] : 0), kept);
                    if (y < 0 || x < 0)
                        assert_true(tensor_f64(&t.out[0], i) == 0);
                    else
                        same_element(&t.out[0], i, &t.in[0], y * 9 + x + cut);
                }
            }
    op_test_clear(&t);
}

static void test_nonzero(void **state)
{
    static const int types[] = {DT_BOOL, DT_I8, DT_F32, DT_F16, DT_I64, DT_C64};
    struct op_test t = {0};
    for (int d = 0; d < 6; d++)
        for (int s = 0; s < SHAPES; s++) {
            const int64_t *dims = shapes[s], n = dims[0] * dims[1] * dims[2];
            int64_t at = 0;
            start(&t, types[d], dims, 0, false);
            run(&t, OP_nonzero);
            int64_t count = t.out[0].dims[1];
            for (int64_t i = 0; i < n; i++) {
                if (tensor_f64(&t.in[0], i) == 0)
                    continue;
                assert_int_equal(tensor_i64(&t.out[0], at), i / (dims[1] * dims[2]));
                assert_int_equal(tensor_i64(&t.out[0], count + at), i / dims[2] % dims[1]);
                assert_int_equal(tensor_i64(&t.out[0], 2 * count + at), i % dims[2]);
                at++;
            }
            assert_int_equal(at, count);
        }
    op_test_clear(&t);
}

static void test_unique(void **state)
{
    struct op_test t = {0};
    for (int d = 0; d < NUMBERS; d++)
        for (int sorted = 0; sorted < 2; sorted++) {
            const int64_t dims[3] = {1, 500, 1};
            op_test_clear(&t);
            start(&t, numbers[d], dims, 0, true);
            memset(&t.attrs, 0, sizeof t.attrs);
            attr_set_int(&t.arena, &t.attrs, "sorted", sorted);
            if (!op_test_run(&t, OP_unique, 4))
                fail_msg("%s", t.d.text);
            int64_t n = tensor_count(&t.out[0]), counted = 0;
            for (int64_t i = 0; i < n; i++) {
                int64_t first = tensor_i64(&t.out[1], i);
                double v = tensor_f64(&t.out[0], i);
                same_element(&t.out[0], i, &t.in[0], first);
                counted += tensor_i64(&t.out[3], i);
                if (i && sorted)
                    assert_true(tensor_f64(&t.out[0], i - 1) < v || isnan(v));
                if (i && !sorted)
                    assert_true(tensor_i64(&t.out[1], i - 1) < first);
                for (int64_t k = 0; k < first; k++) {
                    double w = tensor_f64(&t.in[0], k);
                    assert_false(w == v || (isnan(w) && isnan(v)));
                }
            }
            assert_int_equal(counted, 500);
            for (int64_t i = 0; i < 500; i++) {
                double v = tensor_f64(&t.in[0], i),
                       w = tensor_f64(&t.out[0], tensor_i64(&t.out[2], i));
                assert_true(v == w || (isnan(v) && isnan(w)));
            }
        }
    op_test_clear(&t);
}

/* ---- shifts, tests of floats ---- */

static void test_shifts(void **state)
{
    static const int types[] = {DT_U8, DT_U16, DT_U32, DT_U64};
    struct op_test t = {0};
    for (int d = 0; d < 4; d++)
        for (int left = 0; left < 2; left++) {
            int64_t n = 201;
            int bits = dtype_info(types[d])->bits;
            double v[201];
            op_test_clear(&t);
            for (int64_t i = 0; i < n; i++)
                v[i] = (double)(i * 37);
            op_test_in(&t, types[d], 1, &n, v);
            for (int64_t i = 0; i < n; i++)
                v[i] = (double)(i % 70);
            op_test_in(&t, types[d], 1, &n, v);
            attr_set_str(&t.arena, &t.attrs, "direction", left ? "LEFT" : "RIGHT");
            run(&t, OP_bit_shift);
            for (int64_t i = 0; i < n; i++) {
                uint64_t x = (uint64_t)tensor_i64(&t.in[0], i), by = (uint64_t)(i % 70), want = 0;
                if (by < (uint64_t)bits)
                    want = left ? x << by : x >> by;
                dtype_store_i64(types[d], &want, 0, (int64_t)want);
                assert_memory_equal((char *)t.out[0].data + (size_t)i * dtype_bytes(types[d]),
                                    &want, dtype_bytes(types[d]));
            }
        }
    op_test_clear(&t);
}

static void test_float_tests(void **state)
{
    static const int types[] = {DT_F32, DT_F64, DT_F16};
    struct op_test t = {0};
    for (int d = 0; d < 3; d++)
        for (int way = 0; way < 5; way++) {
            const int64_t dims[3] = {1, 300, 1};
            enum op op = way == 0 ? OP_is_nan : way == 1 ? OP_is_finite : OP_is_inf;
            start(&t, types[d], dims, 0, true);
            memset(&t.attrs, 0, sizeof t.attrs);
            attr_set_int(&t.arena, &t.attrs, "detect_negative", way != 3);
            attr_set_int(&t.arena, &t.attrs, "detect_positive", way != 4);
            run(&t, op);
            for (int64_t i = 0; i < 300; i++) {
                double x = tensor_f64(&t.in[0], i);
                bool want = way == 0   ? isnan(x)
                            : way == 1 ? isfinite(x)
                                       : isinf(x) && (x < 0 ? way != 3 : way != 4);
                assert_int_equal(((uint8_t *)t.out[0].data)[i], want);
            }
        }
    op_test_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_hardmax),
        cmocka_unit_test(test_product),  cmocka_unit_test(test_running),
        cmocka_unit_test(test_integer_products),
        cmocka_unit_test(test_integer_reductions), cmocka_unit_test(test_boolean_reductions),
        cmocka_unit_test(test_joined_updates),
        cmocka_unit_test(test_gathers),  cmocka_unit_test(test_indices_outside),
        cmocka_unit_test(test_trilu),    cmocka_unit_test(test_pads),
        cmocka_unit_test(test_nonzero),  cmocka_unit_test(test_unique),
        cmocka_unit_test(test_shifts),   cmocka_unit_test(test_float_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
