/*
 * Kernels whose results are the same bits in every variant, against the operators' plain functions
 * on 64 bits, conversions of one element, and sums in plain loops.
 */
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/elementwise.h"
#include "test/unit/kernel_test.h"

static const int integer_types[] = {DT_BOOL, DT_I8,  DT_U8,  DT_I16, DT_U16,
                                    DT_I32,  DT_U32, DT_I64, DT_U64};
enum { INTEGER_TYPES = sizeof integer_types / sizeof *integer_types };
static const size_t lengths[] = {0, 1, 3, 8, 15, 16, 33, 64, 255, 256, 257, 600};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static uint64_t random_bits(void)
{
    uint64_t high = next_random();
    return high << 32 | next_random();
}

/* Numbers of any width, and those at the ends of the types and of what doubles hold. `moderate`:
 * none beyond 40 bits. */
static int64_t random_integer(bool moderate)
{
    static const int64_t special[] = {0,          -1,        1,         2,         -2,
                                      INT8_MIN,   INT8_MAX,  INT16_MIN, INT32_MIN, INT32_MAX,
                                      UINT32_MAX, INT64_MIN, INT64_MAX, 1LL << 50, -(1LL << 50),
                                      1LL << 51,  3,         -3,        1LL << 53, (1LL << 50) - 1};
    uint32_t kind = next_random() % 8;
    int64_t v = kind < 3 ? special[next_random() % (sizeof special / sizeof *special)]
                         : (int64_t)random_bits() >> next_random() % 64;
    return moderate ? v >> 24 : v;
}

static void fill_integers(int dtype, void *p, size_t n, bool moderate)
{
    for (size_t i = 0; i < n; i++)
        dtype_store_i64(dtype, p, i, random_integer(moderate));
}

/* ---- elementwise functions ---- */

static int64_t shifted(int f, int dtype, int64_t a, int64_t b)
{
    int bits = dtype_info(dtype)->bits;
    uint64_t mask = UINT64_MAX >> (64 - bits), by = (uint64_t)b & mask;
    bool past = by >= (uint64_t)bits;
    if (f == INTEGER_shift_left)
        return past ? 0 : (int64_t)((uint64_t)a << by);
    if (f == INTEGER_shift_right)
        return past ? 0 : (int64_t)(((uint64_t)a & mask) >> by);
    bool negative = dtype_class(dtype) == DTC_SINT && a < 0;
    uint64_t sign = negative ? UINT64_MAX : 0;
    return (int64_t)(past      ? sign
                     : by == 0 ? (uint64_t)a
                               : ((uint64_t)a & mask) >> by | sign << (bits - (int)by));
}

static const int op_of[INTEGER_COUNT] = {
#define KERNEL_INTEGER(name) [INTEGER_##name] = OP_##name,
#define KERNEL_SHIFT(name)   [INTEGER_##name] = -1,
#include "runtime/kernels/kernels.def"
};

static int64_t integer_reference(int f, int dtype, int64_t a, int64_t b)
{
    int64_t z = 0;
    if (op_of[f] < 0)
        return shifted(f, dtype, a, b);
    const struct ew_row *row = ew_row((enum op)op_of[f]);
    if (dtype_class(dtype) == DTC_SINT)
        row->sn(&a, &b, &z, 1);
    else
        row->un((const uint64_t *)&a, (const uint64_t *)&b, (uint64_t *)&z, 1);
    return z;
}

static bool admits(int f, int dtype)
{
    const struct ew_row *row = op_of[f] < 0 ? NULL : ew_row((enum op)op_of[f]);
    if (!table->integer[f][dtype])
        return false;
    if (dtype == DT_BOOL)
        return row && row->kinds & KB;
    return !row || (dtype_class(dtype) == DTC_SINT ? row->sn != NULL : row->un != NULL);
}

static void check_integers(int f, int dtype, size_t n, ptrdiff_t zs, ptrdiff_t xs, ptrdiff_t ys,
                           bool moderate, bool in_place)
{
    bool compares = f >= INTEGER_eq && f <= INTEGER_ge;
    int to = compares ? DT_U8 : dtype;
    size_t size = dtype_bytes(dtype), to_size = dtype_bytes(to);
    size_t nx = xs ? n * (size_t)xs : 1, ny = ys ? n * (size_t)ys : 1, nz = n * (size_t)zs;
    char *x = malloc(nx * size + 1), *y = malloc(ny * size + 1), *z = malloc(nz * to_size + 1);
    fill_integers(dtype, x, nx, moderate);
    fill_integers(dtype, y, ny, moderate);
    memset(z, 0x5a, nz * to_size);
    if (in_place)
        memcpy(z, x, n * size);
    table->integer[f][dtype](z, zs, in_place ? z : x, xs, y, ys, n);
    for (size_t i = 0; i < nz; i++) {
        int64_t want = 0, gap = 0x5a5a5a5a5a5a5a5a;
        size_t at = i / (size_t)zs;
        int64_t a = dtype_load_i64(dtype, x, at * (size_t)xs),
                b = dtype_load_i64(dtype, y, at * (size_t)ys);
        dtype_store_i64(to, &want, 0, integer_reference(f, dtype, a, b));
        if (memcmp(z + i * to_size, i % (size_t)zs ? &gap : &want, to_size))
            fail_msg("%s: function %d of %s at %zu of %zu: %lld, %lld give %lld", table->name, f,
                     dtype_name(dtype), i, n, (long long)a, (long long)b,
                     (long long)dtype_load_i64(to, z, i));
    }
    free(x), free(y), free(z);
}

static void test_integers(void **state)
{
    for (int f = 0; f < INTEGER_COUNT; f++)
        for (int d = 0; d < INTEGER_TYPES; d++)
            for (int l = 0; l < LENGTHS && admits(f, integer_types[d]); l++) {
                bool same_size = f < INTEGER_eq || f > INTEGER_ge || d < 3;
                for (int moderate = 0; moderate < 2; moderate++) {
                    int t = integer_types[d];
                    size_t n = lengths[l];
                    check_integers(f, t, n, 1, 1, 1, moderate, false);
                    check_integers(f, t, n, 1, 1, 1, moderate, same_size);
                    check_integers(f, t, n, 1, 1, 0, moderate, false);
                    check_integers(f, t, n, 1, 0, 1, moderate, false);
                    check_integers(f, t, n, 1, 0, 0, moderate, false);
                    check_integers(f, t, n, 2, 3, 1, moderate, false);
                }
            }
}

/* Every pair of 8 bits, and quotients next to whole numbers. */
static void test_quotients(void **state)
{
    for (int d = 1; d < 3; d++)
        for (int b = 0; b < 256; b++) {
            uint8_t x[256], z[256], y = (uint8_t)b;
            int t = integer_types[d];
            for (int a = 0; a < 256; a++)
                x[a] = (uint8_t)a;
            for (int f = INTEGER_div; f <= INTEGER_mod; f++) {
                table->integer[f][t](z, 1, x, 1, &y, 0, 256);
                for (size_t a = 0; a < 256; a++) {
                    int64_t va = dtype_load_i64(t, x, a), vb = dtype_load_i64(t, &y, 0);
                    assert_int_equal(z[a], (uint8_t)integer_reference(f, t, va, vb));
                }
            }
        }
    static const int wide[] = {DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};
    for (size_t d = 0; d < sizeof wide / sizeof *wide; d++)
        for (int turn = 0; turn < 200; turn++) {
            enum { N = 64 };
            TENSOR(int64_t, x, N);
            TENSOR(int64_t, y, N);
            TENSOR(int64_t, z, N);
            int bits = dtype_info(wide[d])->bits < 51 ? dtype_info(wide[d])->bits : 50;
            for (size_t i = 0; i < N; i++) {
                int64_t b =
                    (int64_t)(random_bits() >> (64 - bits) >> next_random() % (uint32_t)bits);
                int64_t max = b ? (int64_t)(((UINT64_C(1) << bits) - 1) / (uint64_t)b) : 1;
                int64_t q = max - (int64_t)(next_random() % 4);
                dtype_store_i64(wide[d], y, i, b);
                dtype_store_i64(wide[d], x, i, q * b - (int64_t)(next_random() % 3) + 1);
            }
            for (int f = INTEGER_div; f <= INTEGER_mod; f++) {
                table->integer[f][wide[d]](z, 1, x, 1, y, 1, N);
                for (size_t i = 0; i < N; i++) {
                    int64_t a = dtype_load_i64(wide[d], x, i), b = dtype_load_i64(wide[d], y, i),
                            want;
                    dtype_store_i64(wide[d], &want, 0, integer_reference(f, wide[d], a, b));
                    assert_int_equal(dtype_load_i64(wide[d], z, i),
                                     dtype_load_i64(wide[d], &want, 0));
                }
            }
        }
}

/* ---- conversions ---- */

static double random_float(void)
{
    static const double special[] = {NAN,
                                     INFINITY,
                                     -INFINITY,
                                     0,
                                     -0.0,
                                     0.5,
                                     -0.99,
                                     127.5,
                                     128,
                                     -128.9,
                                     255.9,
                                     256,
                                     0x1p15,
                                     -0x1p15,
                                     0x1p31,
                                     -0x1p31,
                                     2147483520,
                                     0x1p32,
                                     0x1p63,
                                     -0x1p63,
                                     0x1p64,
                                     0x1p100,
                                     -0x1p100,
                                     1e-40,
                                     65535.5,
                                     65536,
                                     -1,
                                     0x1.fffffep30,
                                     0x1.fffffffffffffp62};
    if (next_random() % 3 == 0)
        return special[next_random() % (sizeof special / sizeof *special)];
    return ldexp(uniform(-1, 1), (int)(next_random() % 70));
}

static void convert_one(int to, void *y, int from, const void *x, size_t i)
{
    int64_t v;
    if (dtype_is_float(from)) {
        dtype_store_f64(to, y, i, dtype_load_f64(from, x, i));
        return;
    }
    v = dtype_load_i64(from, x, i);
    if (to == DT_F32)
        ((float *)y)[i] = from == DT_U64 ? (float)(uint64_t)v : (float)v;
    else if (to == DT_F64)
        ((double *)y)[i] = from == DT_U64 ? (double)(uint64_t)v : (double)v;
    else
        dtype_store_i64(to, y, i, v);
}

static bool same_value(int dtype, const void *a, const void *b)
{
    double x = dtype_load_f64(dtype, a, 0), y = dtype_load_f64(dtype, b, 0);
    return !memcmp(a, b, dtype_bytes(dtype)) || (x != x && y != y);
}

static void check_cast(int to, int from, size_t n)
{
    size_t to_size = dtype_bytes(to), size = dtype_bytes(from);
    char *x = malloc(n * size + 1), *y = malloc(n * to_size + 1), *want = malloc(n * to_size + 1);
    for (size_t i = 0; i < n; i++)
        if (dtype_is_float(from))
            dtype_store_f64(from, x, i, random_float());
        else
            dtype_store_i64(from, x, i, random_integer(false));
    for (size_t i = 0; i < n; i++)
        convert_one(to, want, from, x, i);
    table->cast[to][from](y, x, n);
    for (int in_place = 0; in_place < (size == to_size ? 2 : 1); in_place++) {
        if (in_place)
            table->cast[to][from](x, x, n);
        for (size_t i = 0; i < n; i++)
            if (!same_value(to, (in_place ? x : y) + i * to_size, want + i * to_size))
                fail_msg("%s: %s from %s, element %zu of %zu", table->name, dtype_name(to),
                         dtype_name(from), i, n);
    }
    free(x), free(y), free(want);
}

static void test_casts(void **state)
{
    static const int types[] = {DT_BOOL, DT_I8,  DT_U8,  DT_I16, DT_U16, DT_I32,
                                DT_U32,  DT_I64, DT_U64, DT_F32, DT_F64};
    enum { TYPES = sizeof types / sizeof *types };
    for (int to = 0; to < TYPES; to++)
        for (int from = 0; from < TYPES; from++)
            for (int l = 0; l < LENGTHS; l++)
                check_cast(types[to], types[from], lengths[l]);
}

/* ---- running sums ---- */

static void check_running(size_t n, size_t lines, bool product, bool exclusive, bool backwards)
{
    size_t pitch = lines + 3, count = n * pitch, first = backwards ? (n - 1) * pitch : 0;
    ptrdiff_t step = backwards ? -(ptrdiff_t)pitch : (ptrdiff_t)pitch;
    float *x = random_row(count), *z = calloc(count, sizeof *z);
    int64_t *xi = malloc(count * sizeof *xi), *zi = calloc(count, sizeof *zi);
    fill_integers(DT_I64, xi, count, false);
    table->running[DT_F32](z + first, x + first, n, step, lines, product, exclusive);
    table->running[DT_I64](zi + first, xi + first, n, step, lines, product, exclusive);
    for (size_t j = 0; j < pitch; j++) {
        double sum = product;
        uint64_t whole = product;
        for (size_t k = 0; k < n; k++) {
            size_t at = first + (size_t)(step * (ptrdiff_t)k) + j;
            double before = sum;
            uint64_t whole_before = whole;
            sum = product ? sum * x[at] : sum + x[at];
            whole = product ? whole * (uint64_t)xi[at] : whole + (uint64_t)xi[at];
            float want = j < lines ? (float)(exclusive ? before : sum) : 0;
            assert_int_equal(bits_of(z[at]), bits_of(want));
            assert_int_equal(zi[at], j < lines ? exclusive ? whole_before : whole : 0);
        }
    }
    free(x), free(z), free(xi), free(zi);
}

static void test_running(void **state)
{
    static const size_t many[] = {1, 2, 7, 16, 35, RUNNING_LINES};
    for (size_t n = 1; n < 12; n++)
        for (size_t l = 0; l < sizeof many / sizeof *many; l++)
            for (int way = 0; way < 8; way++)
                check_running(n, many[l], way & 1, way & 2, way & 4);
}

/* ---- products of doubles ---- */

static void test_panel(void **state)
{
    enum { K = 70, PITCH = 75, OUT = 40 };
    static double b[K][F64_PANEL], want[F64_ROWS][OUT];
    TENSOR(double, a, F64_ROWS * PITCH);
    TENSOR(double, y, F64_ROWS * OUT);
    for (size_t i = 0; i < F64_ROWS * PITCH; i++)
        a[i] = uniform(-1, 1) / 3;
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < F64_PANEL; j++)
            b[i][j] = uniform(-1, 1) / 3;
    for (size_t rows = 1; rows <= F64_ROWS; rows++)
        for (size_t k = 0; k <= K; k += 7)
            for (int more = 0; more < 2; more++) {
                for (size_t r = 0; r < F64_ROWS; r++)
                    for (size_t j = 0; j < OUT; j++) {
                        double sum = y[r * OUT + j] = uniform(-1, 1) / 3;
                        bool counts = r < rows && j < F64_PANEL;
                        sum = counts && !more ? 0 : sum;
                        for (size_t i = 0; i < k && counts; i++)
                            sum += a[r * PITCH + i] * b[i][j];
                        want[r][j] = sum;
                    }
                table->panel_f64(y, OUT, a, PITCH, rows, (const double(*)[F64_PANEL])b, k, more);
                assert_memory_equal(y, want, sizeof want);
            }
}

/* ---- Threefry ---- */

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void plain_threefry(uint32_t *a, uint32_t *b, const uint32_t *key)
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    for (uint32_t turn = 0; turn < 5; turn++) {
        for (int i = 0; i < 4; i++) {
            *a += *b;
            *b = rotate(*b, rotations[turn % 2][i]) ^ *a;
        }
        *a += key[turn % 3];
        *b += key[(turn + 1) % 3] + turn + 1;
    }
}

/* The published vectors: counter, key, result. */
static const uint32_t published[][6] = {
    {0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xc4923a9c, 0x483df7a0}};

static void test_threefry(void **state)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const uint32_t *p = published[i], key[] = {p[3], 0x1bd11bda ^ p[2] ^ p[3], p[2]};
        uint32_t a = p[0] + p[2], b = p[1] + p[3];
        table->threefry(&a, &b, &a, &b, key, 1);
        assert_int_equal(a, p[4]);
        assert_int_equal(b, p[5]);
    }
    for (int l = 0; l < LENGTHS; l++) {
        size_t n = lengths[l], bytes = (n + 1) * sizeof(uint32_t);
        uint32_t key[] = {next_random(), next_random(), next_random()};
        uint32_t *x = malloc(bytes), *y = malloc(bytes), *a = malloc(bytes), *b = malloc(bytes);
        for (size_t i = 0; i <= n; i++)
            x[i] = a[i] = next_random(), y[i] = b[i] = next_random();
        table->threefry(a, b, x, y, key, n);
        assert_true(a[n] == x[n] && b[n] == y[n]);
        for (size_t i = 0; i < n; i++) {
            plain_threefry(&x[i], &y[i], key);
            assert_true(a[i] == x[i] && b[i] == y[i]);
        }
        free(x), free(y), free(a), free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_quotients),
        cmocka_unit_test(test_casts), cmocka_unit_test(test_running), cmocka_unit_test(test_panel),
        cmocka_unit_test(test_threefry)};
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
