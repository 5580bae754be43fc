/*
 * Instructions of whole rows and through indices, by their names through xcc.h, against what their
 * rows of isa.def say, exactly.
 */
#include "frontend/xcc.h"
#include "neff/core/dtype.h"
#include "runtime/xrt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A number of an instruction, as an initialiser. */
#define NUM(name_, base_) {.name = (name_), .base = (base_)}

/* ---- a kernel of one instruction on tensors ---- */

enum { MAX_OPERANDS = 6, MAX_CONSTANTS = 8 };

struct tensor_of {
    const char *operand, *dtype;
    int64_t rows, columns;
    void *data;   /* read, or NULL */
    void *result; /* written */
};

struct insn_bench {
    const char *name;
    struct tensor_of t[MAX_OPERANDS];
    struct xcc_number number[MAX_CONSTANTS];
    struct xcc_real real[MAX_CONSTANTS];
    struct xcc_function function[3];
};

static struct xcc_operand whole(const struct tensor_of *t, int object)
{
    return (struct xcc_operand){.name = t->operand,
                                .object = object,
                                .rank = 2,
                                .dim = {{t->columns, t->rows}, {1, t->columns}}};
}

static bool place(struct xcc_kernel *k, const struct insn_bench *b, struct xcc_instruction *in,
                  struct xcc_operand *o)
{
    for (int n = 0; n < MAX_OPERANDS && b->t[n].operand; n++, in->noperands++) {
        const struct tensor_of *t = &b->t[n];
        int64_t dims[] = {t->rows, t->columns};
        int object = t->data ? xcc_input(k, t->operand, t->dtype, 2, dims)
                             : xcc_output(k, t->operand, t->dtype, 2, dims);
        if (object < 0)
            return false;
        if (t->data && t->result)
            xcc_result(k, object, t->operand);
        o[n] = whole(t, object);
    }
    return true;
}

/* The kernel's archive; false: it is refused. */
static bool build(const struct insn_bench *b, struct xcc_bytes *archive)
{
    struct xcc_kernel *k = xcc_kernel_new(b->name, "cpu");
    struct xcc_operand o[MAX_OPERANDS];
    struct xcc_instruction in = {.name = b->name,
                                 .operands = o,
                                 .numbers = b->number,
                                 .reals = b->real,
                                 .functions = b->function};
    while (in.nnumbers < MAX_CONSTANTS && b->number[in.nnumbers].name)
        in.nnumbers++;
    while (in.nreals < MAX_CONSTANTS && b->real[in.nreals].name)
        in.nreals++;
    while (in.nfunctions < 3 && b->function[in.nfunctions].name)
        in.nfunctions++;
    bool ok = place(k, b, &in, o) && xcc_emit(k, &in) && xcc_kernel_finish(k, archive);
    xcc_kernel_free(k);
    return ok;
}

/* Runs it; the reason when it fails. */
static const char *try(const struct insn_bench *b)
{
    struct xcc_bytes archive;
    if (!build(b, &archive))
        return xcc_error();
    struct xrt_model *m = xrt_open_memory(archive.data, archive.size);
    struct xrt_context *c = m ? xrt_context_new(m, 1) : NULL;
    int in = 0, out = 0;
    const char *why = c ? NULL : xrt_error();
    for (int n = 0; !why && n < MAX_OPERANDS && b->t[n].operand; n++) {
        const struct tensor_of *t = &b->t[n];
        struct xrt_tensor x = {
            .dtype = t->dtype, .rank = 2, .dims = {t->rows, t->columns}, .data = t->data};
        if (t->data && !xrt_set_input(c, in++, &x))
            why = xrt_error();
    }
    if (!why && !xrt_run(c))
        why = xrt_error();
    for (int n = 0; !why && n < MAX_OPERANDS && b->t[n].operand; n++) {
        const struct tensor_of *t = &b->t[n];
        struct xrt_tensor y;
        if (!t->result && t->data)
            continue;
        assert_true(xrt_output(c, out++, &y));
        memcpy(t->result, y.data, (size_t)(t->rows * t->columns) * xrt_dtype_size(t->dtype));
    }
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
    return why;
}

static void run(const struct insn_bench *b)
{
    const char *why = try(b);
    if (why)
        fail_msg("%s: %s", b->name, why);
}

static void refused(const struct insn_bench *b, const char *what)
{
    const char *why = try(b);
    if (!why || !strstr(why, what))
        fail_msg("%s: says '%s', expected '%s'", b->name, why ? why : "nothing", what);
}

#define WRITE(operand, type, rows, columns, to)                                                    \
    {                                                                                              \
        operand, type, rows, columns, NULL, to                                                     \
    }
#define READ(operand, type, rows, columns, from)                                                   \
    {                                                                                              \
        operand, type, rows, columns, from, NULL                                                   \
    }
#define UPDATE(operand, type, rows, columns, from, to)                                             \
    {                                                                                              \
        operand, type, rows, columns, from, to                                                     \
    }

static uint32_t state = 1;

static float draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)(state >> 8 & 0xffff) / 4096 - 8;
}

static void fill(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = draw();
}

static void same_floats(const char *what, const float *y, const float *z, int n)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&y[i], &z[i], sizeof *y) && !(y[i] == z[i]) && !(isnan(y[i]) && isnan(z[i])))
            fail_msg("%s: element %d is %.9g, expected %.9g", what, i, y[i], z[i]);
}

/* ---- tensor_alu ---- */

enum { P = 5, N = 700 };

static void test_alu_vectors(void **test)
{
    static float x[P * N], y[P * N], z[P * N], t[P * N], a[P], sums[P], s[P];
    fill(x, P * N), fill(t, P * N), fill(a, P);
    struct insn_bench b = {"tensor_alu",
                      .t = {WRITE("dst", "f32", P, N, y), READ("src", "f32", P, N, x),
                            READ("a", "f32", P, 1, a), READ("b", "f32", P, N, t),
                            WRITE("reduced", "f32", P, 1, sums)},
                      .number = {NUM("reverse0", 1)},
                      .function = {{"op0", "sub"}, {"op1", "max"}, {"reduce", "max"}}};
    for (int i = 0; i < P * N; i++) {
        z[i] = fmaxf(a[i / N] - x[i], t[i]);
        s[i / N] = i % N == 0 || z[i] > s[i / N] ? z[i] : s[i / N];
    }
    run(&b);
    same_floats("dst", y, z, P * N);
    same_floats("reduced", sums, s, P);
    b.t[4].operand = NULL; /* without a reduction; one number instead of a tensor */
    b.t[3] = (struct tensor_of){0};
    b.real[0] = (struct xcc_real){"scalar1", 0.5};
    b.function[2].name = NULL;
    for (int i = 0; i < P * N; i++)
        z[i] = fmaxf(a[i / N] - x[i], 0.5f);
    run(&b);
    same_floats("dst", y, z, P * N);
}

/* One rounding: 1 + 2^-9 is no bf16, its double less 2 is. */
static void test_alu_rounds_once(void **test)
{
    float x[4] = {0x1p-9f, 3, -1, 0.25f}, one[1] = {1}, two[1] = {-1};
    uint16_t y[4];
    struct insn_bench b = {"tensor_alu",
                      .t = {WRITE("dst", "bf16", 1, 4, y), READ("src", "f32", 1, 4, x),
                            READ("a", "f32", 1, 1, one), READ("b", "f32", 1, 1, two)},
                      .function = {{"op0", "add"}, {"op1", "add"}}};
    run(&b);
    for (int i = 0; i < 4; i++)
        assert_true(bf16_to_f32(y[i]) == x[i]);
}

/* A zero point that is no byte is added to what is rounded, step by step. */
static void test_alu_shifts(void **test)
{
    float x[4] = {1.25f, -3.75f, 5, 100}, scale[1] = {2.5f}, zero[1] = {0.5f}, y[4];
    struct insn_bench b = {"tensor_alu",
                      .t = {WRITE("dst", "f32", 1, 4, y), READ("src", "f32", 1, 4, x),
                            READ("a", "f32", 1, 1, scale), READ("b", "f32", 1, 1, zero)},
                      .function = {{"op0", "div"}, {"op1", "round_shift"}}};
    run(&b);
    same_floats("dst", y, (float[]){0.5f, -1.5f, 2.5f, 40.5f}, 4); /* halves to even */
}

static void test_alu_bits(void **test)
{
    uint32_t x[6] = {0, 1, 0x80000000u, 0xffffffffu, 0x7f800001u, 12345}, y[6], mask = 0x7f800001u;
    struct insn_bench b = {"tensor_alu",
                      .t = {WRITE("dst", "u32", 1, 6, y), READ("src", "u32", 1, 6, x),
                            READ("a", "u32", 1, 1, &mask)},
                      .real = {{"scalar1", 3}}, .function = {{"op0", "and"}, {"op1", "shr"}}};
    run(&b);
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == (x[i] & mask) >> 3);
    b.t[0].dtype = b.t[1].dtype = b.t[2].dtype = "i32"; /* keeps the sign */
    run(&b);
    for (int i = 0; i < 6; i++)
        assert_true((int32_t)y[i] == (int32_t)(x[i] & mask) >> 3);
    b.function[0].function = "logical_and", b.function[1].function = "shl";
    run(&b);
    for (int i = 0; i < 6; i++)
        assert_true(y[i] == (x[i] ? 8u : 0u));
    b.t[1].dtype = "f32";
    refused(&b, "operand 'src' is of f32, operations of bits take integers");
}

static void test_reductions(void **test)
{
    uint32_t x[2 * 3] = {0xf0f0, 0xff00, 0x0ff0, 1, 2, 4}, y[2], more[2] = {8, 8};
    static const char *const functions[] = {"and", "or", "xor", "logical_and"};
    static const uint32_t expected[][2] = {{0x0000, 0}, {0xfff0, 7}, {0x0000, 7}, {1, 1}};
    for (int f = 0; f < 4; f++) {
        struct insn_bench b = {
            "tensor_reduce", .t = {WRITE("dst", "u32", 2, 1, y), READ("src", "u32", 2, 3, x)},
            .number = {NUM("axes", 1)}, .real = {{"scale", 1}}, .function = {{"op", functions[f]}}};
        run(&b);
        for (int r = 0; r < 2; r++)
            assert_true(y[r] == expected[f][r]);
    }
    struct insn_bench b = {"tensor_reduce",
                      .t = {UPDATE("dst", "u32", 2, 1, more, y), READ("src", "u32", 2, 3, x)},
                      .number = {NUM("axes", 1), NUM("accumulate", 1)}, .real = {{"scale", 1}},
                      .function = {{"op", "or"}}};
    run(&b);
    assert_true(y[0] == 0xfff8 && y[1] == 15);
    float v[3] = {-3, 2, 1}, max[1];
    struct insn_bench floats = {
        "tensor_reduce", .t = {WRITE("dst", "f32", 1, 1, max), READ("src", "f32", 1, 3, v)},
        .number = {NUM("axes", 1)}, .real = {{"scale", -1}}, .function = {{"op", "abs_max"}}};
    run(&floats);
    assert_true(max[0] == -3);
    floats.function[0].function = "xor";
    refused(&floats, "operator 'xor' does not reduce f32");
}

static void test_wide_predicates(void **test)
{
    static const char *const types[] = {"f32", "u16", "i32", "u8"};
    float yes[P * N], no[P * N], y[P * N];
    static union {
        float f[P * N];
        uint16_t h[P * N];
        int32_t i[P * N];
        uint8_t b[P * N];
    } which;
    fill(yes, P * N), fill(no, P * N);
    for (int t = 0; t < 4; t++) {
        struct insn_bench b = {"select", .t = {WRITE("dst", "f32", P, N, y),
                                          READ("predicate", types[t], P, N, &which),
                                          READ("a", "f32", P, N, yes), READ("b", "f32", P, N, no)}};
        for (int i = 0; i < P * N; i++) {
            bool is = i % 7 < 3;
            if (t == 0)
                which.f[i] = is ? 0.25f : 0;
            else if (t == 1)
                which.h[i] = is ? 256 : 0;
            else if (t == 2)
                which.i[i] = is ? 1 << 30 : 0;
            else
                which.b[i] = is;
        }
        run(&b);
        for (int i = 0; i < P * N; i++)
            assert_true(y[i] == (i % 7 < 3 ? yes[i] : no[i]));
    }
}

/* ---- tensor_scan ---- */

static void test_scan(void **test)
{
    enum { ROWS = 11 };
    static float a[ROWS * N], c[ROWS * N], y[ROWS * N], z[ROWS * N];
    float initial[ROWS], last[ROWS], end[ROWS];
    fill(a, ROWS * N), fill(c, ROWS * N), fill(initial, ROWS);
    for (int i = 0; i < ROWS * N; i++)
        a[i] /= 8;
    struct insn_bench b = {"tensor_scan",
                      .t = {WRITE("dst", "f32", ROWS, N, y), READ("a", "f32", ROWS, N, a),
                            READ("b", "f32", ROWS, N, c), READ("initial", "f32", ROWS, 1, initial),
                            WRITE("last", "f32", ROWS, 1, last)},
                      .function = {{"op0", "mul"}, {"op1", "add"}}};
    for (int r = 0; r < ROWS; r++) {
        float v = initial[r];
        for (int i = r * N; i < (r + 1) * N; i++)
            z[i] = v = a[i] * v + c[i];
        end[r] = v;
    }
    run(&b);
    same_floats("multiply and add", y, z, ROWS * N);
    same_floats("last", last, end, ROWS);

    b.t[3] = (struct tensor_of){0}; /* cumulative maximum of sums, from a number on */
    b.number[0] = (struct xcc_number){.name = "cumulative", .base = 1};
    b.real[0] = (struct xcc_real){"start", 2};
    b.function[0].function = "add", b.function[1].function = "max";
    for (int r = 0; r < ROWS; r++) {
        float v = 2;
        for (int i = r * N; i < (r + 1) * N; i++)
            z[i] = v = fmaxf(a[i] + c[i], v);
    }
    run(&b);
    same_floats("cumulative", y, z, ROWS * N);

    b.number[0] = (struct xcc_number){.name = "reverse0", .base = 1}; /* r = (r - a) max b */
    b.function[0].function = "sub";
    for (int r = 0; r < ROWS; r++) {
        float v = 2;
        for (int i = r * N; i < (r + 1) * N; i++)
            z[i] = v = fmaxf(v - a[i], c[i]);
    }
    run(&b);
    same_floats("reverse", y, z, ROWS * N);
}

/* ---- patterns ---- */

static void test_iota(void **test)
{
    int32_t y[P * 9];
    float f[P * 9];
    struct insn_bench b = {"iota_pattern", .t = {WRITE("dst", "i32", P, 9, y)},
                      .number = {NUM("base", 1 << 30), NUM("step4", -100), NUM("step5", 7)}};
    run(&b);
    for (int i = 0; i < P * 9; i++)
        assert_int_equal(y[i], (1 << 30) - 100 * (i / 9) + 7 * (i % 9));
    b.t[0].dtype = "f32", b.t[0].result = f;
    run(&b);
    for (int i = 0; i < P * 9; i++)
        assert_true(f[i] == (float)y[i]);
}

static void test_predicate(void **test)
{
    static const char *const compare[] = {"ge", "gt", "le", "lt", "eq", "ne"};
    float x[P * 9], y[P * 9];
    fill(x, P * 9);
    for (int c = 0; c < 6; c++) {
        struct insn_bench b = {"affine_predicate",
                          .t = {WRITE("dst", "f32", P, 9, y), READ("src", "f32", P, 9, x)},
                          .number = {NUM("base", -3), NUM("step4", 2), NUM("step5", -1)},
                          .real = {{"fill", -9984}}, .function = {{"compare", compare[c]}}};
        run(&b);
        for (int i = 0; i < P * 9; i++) {
            int v = -3 + 2 * (i / 9) - i % 9;
            bool holds[] = {v >= 0, v > 0, v <= 0, v < 0, v == 0, v != 0};
            assert_true(y[i] == (holds[c] ? x[i] : -9984));
        }
    }
}

static void test_range_select(void **test)
{
    static float x[P * N], y[P * N], z[P * N];
    float low[P], high[P], max[P], s[P];
    fill(x, P * N);
    for (int r = 0; r < P; r++)
        low[r] = (float)(100 + 30 * r), high[r] = (float)(400 - r), s[r] = -INFINITY;
    struct insn_bench b = {"range_select",
                      .t = {WRITE("dst", "f32", P, N, y), READ("src", "f32", P, N, x),
                            READ("bound0", "f32", P, 1, low), READ("bound1", "f32", P, 1, high),
                            WRITE("reduced", "f32", P, 1, max)},
                      .number = {NUM("start", 50)}, .real = {{"fill", -3.4028234663852886e38}},
                      .function = {{"op0", "ge"}, {"op1", "lt"}}};
    for (int i = 0; i < P * N; i++) {
        float j = (float)(50 + i % N);
        z[i] = j >= low[i / N] && j < high[i / N] ? x[i] : -3.4028234663852886e38f;
        s[i / N] = fmaxf(s[i / N], z[i]);
    }
    run(&b);
    same_floats("dst", y, z, P * N);
    same_floats("reduced", max, s, P);
    uint16_t rounded[P * N]; /* the fill becomes -inf */
    b.t[0].dtype = "bf16", b.t[0].result = rounded;
    run(&b);
    assert_true(bf16_to_f32(rounded[0]) == -INFINITY);
    same_floats("reduced", max, s, P);
}

/* ---- eights ---- */

static void test_eights(void **test)
{
    enum { ROWS = 2, LONG = 16 };
    float x[ROWS * LONG] = {5, 1, 5, 7, -2, 7, 7, 0, 3, 3, 4, 9, -8, 2, 6, 1,
                            0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 1, 0,  0, 0, 0},
                   top[ROWS * 8], y[ROWS * LONG];
    uint32_t at[ROWS * 8], index[ROWS * 8];
    struct insn_bench b = {"max8",
                      .t = {WRITE("dst", "f32", ROWS, 8, top), READ("src", "f32", ROWS, LONG, x)}};
    static const float expected[ROWS * 8] = {9, 7, 7, 7, 6, 5, 5, 4, 1, 0, 0, 0, 0, 0, 0, 0};
    run(&b);
    same_floats("max8", top, expected, ROWS * 8);

    top[7] = 100; /* not there */
    struct insn_bench find = {"nc_find_index8",
                         .t = {WRITE("dst", "u32", ROWS, 8, at), READ("src", "f32", ROWS, LONG, x),
                               READ("values", "f32", ROWS, 8, top)}};
    static const uint32_t places[ROWS * 8] = {11, 3, 5, 6, 14, 0, 2, UINT32_MAX,
                                              11, 0, 1, 2, 3,  4, 5, 6};
    run(&find);
    assert_memory_equal(at, places, sizeof at);

    struct insn_bench replace = {
        "nc_match_replace8",
        .t = {WRITE("dst", "f32", ROWS, LONG, y), READ("src", "f32", ROWS, LONG, x),
              READ("values", "f32", ROWS, 8, top), WRITE("index", "u32", ROWS, 8, index)},
        .real = {{"value", -1000}}};
    run(&replace);
    assert_memory_equal(index, places, sizeof index);
    for (int k = 0; k < 16; k++)
        if (places[k] != UINT32_MAX)
            x[k / 8 * LONG + (int)places[k]] = -1000;
    same_floats("nc_match_replace8", y, x, ROWS * LONG);
    b.t[0].columns = 7;
    refused(&b, "max8: operand 'dst' has 7 elements in a row, expected 8");
}

static void test_statistics(void **test)
{
    float x[2 * 7] = {1, 10, 2, 20, 3, 30, 6, 4, 4, 4, 4, 4, 4, 4}, y[2 * 6], z[2 * 2];
    struct insn_bench stats = {"bn_stats6",
                          .t = {WRITE("dst", "f32", 2, 6, y), READ("src", "f32", 2, 7, x)}};
    static const float expected[] = {4, 3, 14, 3, 20, 200, 4, 4, 0, 3, 4, 0};
    run(&stats);
    same_floats("bn_stats6", y, expected, 12);
    struct insn_bench aggregate = {"bn_aggr",
                              .t = {WRITE("dst", "f32", 2, 2, z), READ("src", "f32", 2, 6, y)}};
    run(&aggregate);
    double mean = 72.0 / 7, variance = 0;
    for (int i = 0; i < 7; i++)
        variance += (x[i] - mean) * (x[i] - mean) / 7;
    assert_true(fabs(z[0] - mean) < 1e-5 && fabs(z[1] - variance) < 1e-4);
    assert_true(z[2] == 4 && z[3] == 0);
    aggregate.t[1].columns = 5, aggregate.t[1].data = x;
    refused(&aggregate, "rows of 5 numbers, expected 3 for each set");
}

static void test_sequence_bounds(void **test)
{
    float x[8] = {0, 1, 1, 0, 0, 2, 2, 2};
    int32_t from[8], to[8];
    static const int32_t starts[] = {8, 1, 1, 8, 8, 5, 5, 5}, ends[] = {-1, 3, 3, -1, -1, 8, 8, 8};
    struct insn_bench b = {"sequence_bounds",
                      .t = {WRITE("starts", "i32", 1, 8, from), WRITE("ends", "i32", 1, 8, to),
                            READ("src", "f32", 1, 8, x)}};
    run(&b);
    assert_memory_equal(from, starts, sizeof from);
    assert_memory_equal(to, ends, sizeof to);
}

/* ---- random ---- */

static void test_random(void **test)
{
    enum { MANY = 20000 };
    static float x[MANY], y[MANY], again[MANY];
    static uint32_t bits[MANY];
    double sum = 0, squares = 0;
    struct insn_bench b = {"random", .t = {WRITE("dst", "f32", 4, MANY / 4, x)}, .number = {NUM("seed", 7)},
                      .real = {{"low", -1}, {"high", 3}}};
    run(&b);
    for (int i = 0; i < MANY; i++) {
        assert_true(x[i] >= -1 && x[i] < 3);
        sum += x[i], squares += x[i] * x[i];
    }
    assert_true(fabs(sum / MANY - 1) < 0.05 && fabs(squares / MANY - 1 - 16.0 / 12) < 0.1);
    b.t[0].result = again;
    run(&b);
    assert_memory_equal(x, again, sizeof x);
    b.number[0].base = 8;
    run(&b);
    assert_memory_not_equal(x, again, sizeof x);
    b.t[0].dtype = "u32", b.t[0].result = bits;
    run(&b);
    int ones = 0;
    for (int i = 0; i < MANY; i++)
        ones += __builtin_popcount(bits[i]);
    assert_true(ones > 15.9 * MANY && ones < 16.1 * MANY);

    float rates[4] = {0, 0.25f, 0.75f, 1};
    struct insn_bench drop = {"dropout", .t = {WRITE("dst", "f32", 4, MANY / 4, y),
                                          READ("src", "f32", 4, MANY / 4, x),
                                          READ("probability", "f32", 4, 1, rates)}};
    run(&drop);
    for (int r = 0; r < 4; r++) {
        int zeros = 0;
        for (int i = r * MANY / 4; i < (r + 1) * MANY / 4; i++) {
            assert_true(y[i] == 0 || y[i] == x[i]);
            zeros += y[i] == 0;
        }
        assert_true(fabs(zeros / (MANY / 4.0) - rates[r]) < 0.03);
    }
}

/* ---- indices ---- */

enum { TABLE = 10, INDICES = 4, WIDE = 6 };

/* Rows of a table; the table's pattern repeats one row, which the index moves. */
static struct xcc_kernel *indirect_kernel(bool scatters, bool skips, struct xcc_bytes *archive)
{
    struct xcc_kernel *k = xcc_kernel_new("indirect", "cpu");
    int t = xcc_input(k, "table", "f32", 2, (int64_t[]){TABLE, WIDE}),
        x = xcc_input(k, "index", "i32", 2, (int64_t[]){INDICES, 1}),
        r = xcc_input(k, "rows", "f32", 2, (int64_t[]){INDICES, WIDE});
    struct xcc_operand o[] = {{"dst", r, 2, .dim = {{WIDE, INDICES}, {1, WIDE}}},
                              {"src", t, 2, .dim = {{0, INDICES}, {1, WIDE}}},
                              {"index", x, 2, .dim = {{1, INDICES}, {1, 1}}}};
    if (scatters)
        o[0].name = "src", o[1].name = "dst";
    struct xcc_number n[] = {{.name = "stride", .base = WIDE},
                             {.name = "limit", .base = TABLE},
                             {.name = "skip", .base = skips}};
    struct xcc_function add = {"combine", "add"};
    struct xcc_instruction in = {.name = scatters ? "scatter" : "gather",
                                 .noperands = 3,
                                 .operands = o,
                                 .nnumbers = 3,
                                 .numbers = n,
                                 .nfunctions = scatters,
                                 .functions = &add};
    if (!xcc_emit(k, &in) || !xcc_result(k, scatters ? t : r, "out") ||
        !xcc_kernel_finish(k, archive))
        fail_msg("%s", xcc_error());
    return k;
}

static void test_gather_scatter(void **test)
{
    float table[TABLE * WIDE], y[INDICES * WIDE], out[TABLE * WIDE];
    int32_t index[INDICES] = {3, 9, 0, 3};
    fill(table, TABLE * WIDE);
    for (int pass = 0; pass < 4; pass++) {
        bool scatters = pass >= 2, bad = pass & 1;
        struct xcc_bytes archive;
        struct xcc_kernel *k = indirect_kernel(scatters, scatters && bad, &archive);
        index[1] = bad ? TABLE : 9;
        struct xrt_model *m = xrt_open_memory(archive.data, archive.size);
        struct xrt_context *c = xrt_context_new(m, 1);
        fill(y, INDICES * WIDE);
        struct xrt_tensor set[] = {{"f32", 2, {TABLE, WIDE}, table},
                                   {"i32", 2, {INDICES, 1}, index},
                                   {"f32", 2, {INDICES, WIDE}, y}},
                          result;
        for (int i = 0; i < 3; i++)
            assert_true(xrt_set_input(c, i, &set[i]));
        if (bad && !scatters) {
            assert_false(xrt_run(c));
            assert_non_null(
                strstr(xrt_error(), "index 60 is out of bounds for axis 0 with size 60"));
        } else {
            assert_true(xrt_run(c) && xrt_output(c, 0, &result));
            memcpy(out, table, sizeof out);
            for (int i = 0; i < INDICES; i++)
                for (int j = 0; j < WIDE; j++)
                    if (scatters && index[i] < TABLE)
                        out[index[i] * WIDE + j] += y[i * WIDE + j];
                    else if (!scatters)
                        y[i * WIDE + j] = table[index[i] * WIDE + j];
            same_floats("rows", result.data, scatters ? out : y, scatters ? TABLE * WIDE : INDICES * WIDE);
        }
        xrt_context_free(c);
        xrt_close(m);
        xcc_bytes_free(&archive);
        xcc_kernel_free(k);
    }
}

/* A limit past the tensor's end is refused before anything runs. */
static void test_indirect_bounds(void **test)
{
    for (int limit = 4; limit <= 5; limit++) {
        struct xcc_kernel *k = xcc_kernel_new("far", "cpu");
        int t = xcc_input(k, "table", "f32", 2, (int64_t[]){4, 8}),
            x = xcc_input(k, "index", "i32", 1, (int64_t[]){1}),
            y = xcc_output(k, "y", "f32", 1, (int64_t[]){8});
        struct xcc_operand o[] = {{"dst", y, 1, .dim = {{1, 8}}},
                                  {"src", t, 1, .dim = {{1, 8}}},
                                  {"index", x, 1, .dim = {{1, 1}}}};
        struct xcc_number n[] = {{.name = "stride", .base = 8}, {.name = "limit", .base = limit}};
        bool ok = xcc_emit(
            k, &(struct xcc_instruction){
                   .name = "gather", .noperands = 3, .operands = o, .nnumbers = 2, .numbers = n});
        assert_true(ok == (limit == 4));
        if (!ok)
            assert_non_null(strstr(xcc_error(), "gather: operand 'src' covers elements 0 to 39 of "
                                                "'table', f32[4,8], which has 32"));
        xcc_kernel_free(k);
    }
}

static void test_accumulate(void **test)
{
    float x[P * N], y[P * N], z[P * N];
    int32_t i[4] = {1, 2, INT32_MAX, -5}, j[4] = {10, 20, 1, 7}, s[4];
    fill(x, P * N), fill(y, P * N);
    struct insn_bench b = {"dma_accumulate",
                      .t = {UPDATE("dst", "f32", P, N, y, z), READ("src", "f32", P, N, x)},
                      .function = {{"op", "add"}}};
    run(&b);
    for (int n = 0; n < P * N; n++)
        assert_true(z[n] == y[n] + x[n]);
    struct insn_bench integers = {"dma_accumulate",
                             .t = {UPDATE("dst", "i32", 1, 4, i, s), READ("src", "i32", 1, 4, j)},
                             .function = {{"op", "add"}}};
    run(&integers);
    for (int n = 0; n < 4; n++)
        assert_int_equal(s[n], (int32_t)((uint32_t)i[n] + (uint32_t)j[n]));
    b.function[0].function = "exp";
    refused(&b, "operator 'exp' has one operand, expected two");
}

/* Programs of a grid that add to one place: the same bits with any number of threads. */
static void test_accumulate_in_order(void **test)
{
    enum { PROGRAMS = 64, W = 4096 };
    static float x[PROGRAMS * W], zero[W], y[2][W];
    fill(x, PROGRAMS * W);
    for (int i = 0; i < PROGRAMS * W; i++)
        x[i] *= 1e-3f * (float)(i % 7919);
    struct xcc_kernel *k = xcc_kernel_new("sum", "cpu");
    int in = xcc_input(k, "x", "f32", 2, (int64_t[]){PROGRAMS, W}),
        sum = xcc_input(k, "sum", "f32", 1, (int64_t[]){W});
    assert_true(xcc_grid(k, 1, (int64_t[]){PROGRAMS}));
    struct xcc_operand o[] = {{"dst", sum, 1, .dim = {{1, W}}},
                              {"src", in, 1, .coef = {W}, .dim = {{1, W}}}};
    struct xcc_function add = {"op", "add"};
    struct xcc_bytes archive;
    assert_true(xcc_emit(k, &(struct xcc_instruction){.name = "dma_accumulate",
                                                      .noperands = 2,
                                                      .operands = o,
                                                      .nfunctions = 1,
                                                      .functions = &add}));
    assert_true(xcc_result(k, sum, "y") && xcc_kernel_finish(k, &archive));
    struct xrt_model *m = xrt_open_memory(archive.data, archive.size);
    for (int threads = 1; threads <= 4; threads += 3) {
        struct xrt_context *c = xrt_context_new(m, threads);
        struct xrt_tensor set[] = {{"f32", 2, {PROGRAMS, W}, x}, {"f32", 1, {W}, zero}}, result;
        assert_true(xrt_set_input(c, 0, &set[0]) && xrt_set_input(c, 1, &set[1]));
        assert_true(xrt_run(c) && xrt_output(c, 0, &result));
        memcpy(y[threads > 1], result.data, sizeof *y);
        xrt_context_free(c);
    }
    assert_memory_equal(y[0], y[1], sizeof *y);
    xrt_close(m);
    xcc_bytes_free(&archive);
    xcc_kernel_free(k);
}

/* A tile of f32 whose bytes are looked at, on a chip too. */
static void test_bytes_of_a_tile(void **test)
{
    enum { ROWS = 4, W = 3 };
    static const char *const targets[] = {"cpu", "trn1"};
    float x[ROWS * W];
    fill(x, ROWS * W);
    for (int t = 0; t < 2; t++) {
        struct xcc_kernel *k = xcc_kernel_new("bytes", targets[t]);
        int in = xcc_input(k, "x", "f32", 2, (int64_t[]){ROWS, W}),
            out = xcc_output(k, "y", "u8", 2, (int64_t[]){ROWS, 4 * W}),
            tile = xcc_tile(k, "sbuf", "t", "f32", ROWS, W, -1);
        struct xcc_operand load[] = {{"dst", tile, 2, .dim = {{W, ROWS}, {1, W}}},
                                     {"src", in, 2, .dim = {{W, ROWS}, {1, W}}}},
                           store[] = {{"dst", out, 2, .dim = {{4 * W, ROWS}, {1, 4 * W}}},
                                      {"src", tile, 2, "u8", .dim = {{4 * W, ROWS}, {1, 4 * W}}}};
        struct xcc_instruction copy = {.name = "dma_copy", .noperands = 2, .operands = load};
        struct xcc_bytes archive;
        assert_true(xcc_emit(k, &copy));
        copy.operands = store;
        if (!xcc_emit(k, &copy) || !xcc_kernel_finish(k, &archive))
            fail_msg("%s", xcc_error());
        struct xrt_model *m = xrt_open_memory(archive.data, archive.size);
        struct xrt_context *c = xrt_context_new(m, 1);
        struct xrt_tensor set = {"f32", 2, {ROWS, W}, x}, y;
        assert_true(xrt_set_input(c, 0, &set) && xrt_run(c) && xrt_output(c, 0, &y));
        assert_memory_equal(y.data, x, sizeof x);
        xrt_context_free(c);
        xrt_close(m);
        xcc_bytes_free(&archive);
        xcc_kernel_free(k);
    }
}

static void test_local_gather(void **test)
{
    enum { G = 32, W = 12, K = 2, VALID = 20, E = 2 };
    float x[G * W], y[G * VALID * E];
    uint16_t index[G * K];
    fill(x, G * W);
    for (int n = 0; n < G * K; n++)
        index[n] = (uint16_t)(n * 7 % (W - 1));
    struct insn_bench b = {"local_gather",
                      .t = {WRITE("dst", "f32", G, VALID * E, y), READ("src", "f32", G, W, x),
                            READ("index", "u16", G, K, index)},
                      .number = {NUM("elements", E), NUM("valid", VALID)}};
    run(&b);
    for (int p = 0; p < G; p++)
        for (int n = 0; n < VALID; n++)
            for (int e = 0; e < E; e++) {
                int at = index[(p / 16 * 16 + n % 16) * K + n / 16];
                assert_true(y[(p * VALID + n) * E + e] == x[p * W + at + e]);
            }
    index[0] = W;
    refused(&b, "local_gather: an index is out of bounds of its row");
    int64_t wide[G * K] = {INT64_MAX}; /* with the elements behind it, less than 0 */
    b.t[2] = (struct tensor_of)READ("index", "i64", G, K, wide);
    refused(&b, "local_gather: an index is out of bounds of its row");
}

static void test_shuffle(void **test)
{
    enum { ROWS = 64, W = 5 };
    float x[ROWS * W], y[ROWS * W], z[ROWS * W];
    fill(x, ROWS * W);
    struct insn_bench b = {"nc_stream_shuffle",
                      .t = {UPDATE("dst", "f32", ROWS, W, z, y), READ("src", "f32", ROWS, W, x)}};
    static const char *const names[] = {"mask0", "mask1", "mask2", "mask3",
                                        "mask4", "mask5", "mask6"};
    int mask[32];
    fill(z, ROWS * W);
    for (int n = 0; n < 7; n++)
        b.number[n].name = names[n];
    for (int n = 0; n < 32; n++) {
        mask[n] = n % 5 == 0 ? 255 : (n * 11 + 3) % 32;
        b.number[n / 5].base |= (int64_t)mask[n] << n % 5 * 8;
    }
    run(&b);
    for (int n = 0; n < ROWS * W; n++) {
        int r = n / W, from = mask[r % 32];
        assert_true(y[n] == (from == 255 ? z[n] : x[(r / 32 * 32 + from) * W + n % W]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alu_vectors),
        cmocka_unit_test(test_alu_rounds_once),
        cmocka_unit_test(test_alu_shifts), cmocka_unit_test(test_alu_bits),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_wide_predicates),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_iota),
        cmocka_unit_test(test_predicate),
        cmocka_unit_test(test_range_select),
        cmocka_unit_test(test_eights),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_sequence_bounds),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_gather_scatter),
        cmocka_unit_test(test_indirect_bounds),
        cmocka_unit_test(test_accumulate),
        cmocka_unit_test(test_accumulate_in_order),
        cmocka_unit_test(test_local_gather),
        cmocka_unit_test(test_bytes_of_a_tile),
        cmocka_unit_test(test_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
