/*
 * The public library: kernels by names, run with xrt; models from files and memory.
 */
#include "frontend/xcc.h"
#include "runtime/xrt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DIMS(...)                                                                                  \
    (int64_t[])                                                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static struct xcc_operand all(const char *name, int object, int64_t rows, int64_t columns)
{
    return (struct xcc_operand){
        .name = name, .object = object, .rank = 2, .dim = {{columns, rows}, {1, columns}}};
}

static bool copy(struct xcc_kernel *k, struct xcc_operand dst, struct xcc_operand src)
{
    struct xcc_operand o[] = {dst, src};
    o[0].name = "dst", o[1].name = "src";
    return xcc_emit(k, &(struct xcc_instruction){"dma_copy", .noperands = 2, .operands = o});
}

static bool binary(struct xcc_kernel *k, const char *op, struct xcc_operand dst,
                   struct xcc_operand a, struct xcc_operand b)
{
    struct xcc_operand o[] = {dst, a, b};
    struct xcc_function f = {"op", op};
    o[0].name = "dst", o[1].name = "a", o[2].name = "b";
    return xcc_emit(k, &(struct xcc_instruction){"tensor_tensor", .noperands = 3, .operands = o,
                                                 .nfunctions = 1, .functions = &f});
}

/* Runs a finished kernel on f32 tensors; result r goes to out[r]. */
static void run(struct xcc_kernel *k, int nin, float *const *in, int64_t rows, int64_t columns,
                int nout, float *const *out)
{
    struct xcc_bytes archive;
    if (!xcc_kernel_finish(k, &archive))
        fail_msg("%s", xcc_error());
    struct xrt_model *m = xrt_open_memory(archive.data, archive.size);
    struct xrt_context *c = m ? xrt_context_new(m, 1) : NULL;
    if (!c)
        fail_msg("%s", xrt_error());
    for (int i = 0; i < nin; i++)
        assert_true(
            xrt_set_input(c, i,
                          &(struct xrt_tensor){
                              .dtype = "f32", .rank = 2, .dims = {rows, columns}, .data = in[i]}));
    if (!xrt_run(c))
        fail_msg("%s", xrt_error());
    for (int i = 0; i < nout; i++) {
        struct xrt_tensor y;
        assert_true(xrt_output(c, i, &y));
        memcpy(out[i], y.data, (size_t)(rows * columns) * sizeof(float));
    }
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

static void fill(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)(i % 97) - 40;
}

static void test_twice(void **state)
{
    enum { P = 128, N = 64 };
    static float x[P * N], y[P * N];
    static const char *const targets[] = {"cpu", "trn1"};
    fill(x, P * N);
    for (int t = 0; t < 2; t++) {
        struct xcc_kernel *k = xcc_kernel_new("twice", targets[t]);
        int in = xcc_input(k, "x", "f32", 2, DIMS(P, N));
        int out = xcc_output(k, "y", "f32", 2, DIMS(P, N));
        int s = xcc_tile(k, "sbuf", "s", "f32", P, N, -1);
        assert_true(copy(k, all("", s, P, N), all("", in, P, N)));
        assert_true(binary(k, "add", all("", s, P, N), all("", s, P, N), all("", s, P, N)));
        assert_true(copy(k, all("", out, P, N), all("", s, P, N)));
        run(k, 1, (float *[]){x}, P, N, 1, (float *[]){y});
        for (int i = 0; i < P * N; i++)
            assert_true(y[i] == 2 * x[i]);
        assert_non_null(strstr(xcc_kernel_text(k), "tensor_tensor"));
        xcc_kernel_free(k);
    }
}

/* A grid of 4 programs by a loop of 2, 100 columns in tiles of 64: the last is cut. */
static void test_grid_loop_clip(void **state)
{
    enum { R = 256, P = 64, N = 100, W = 64 };
    static float x[R * N], y[R * N];
    fill(x, R * N);
    struct xcc_kernel *k = xcc_kernel_new("tiles", "cpu");
    int in = xcc_input(k, "x", "f32", 2, DIMS(R, N));
    int out = xcc_output(k, "y", "f32", 2, DIMS(R, N));
    assert_true(xcc_grid(k, 1, DIMS(R / P)));
    int loop = xcc_loop(k, 2);
    assert_int_equal(loop, 1);
    int s = xcc_tile(k, "sbuf", "s", "f32", P, W, -1);
    struct xcc_operand hbm = {.object = in,
                              .rank = 2,
                              .coef = {P * N, W},
                              .dim = {{N, P}, {1, W}},
                              .nclips = 1,
                              .clip = {{1, loop, W, N}}},
                       tile = all("", s, P, W);
    tile.nclips = 1;
    tile.clip[0] = hbm.clip[0];
    assert_true(copy(k, tile, hbm));
    assert_true(binary(k, "mul", tile, tile, tile));
    hbm.object = out;
    assert_true(copy(k, hbm, tile));
    assert_true(xcc_end(k));
    run(k, 1, (float *[]){x}, R, N, 1, (float *[]){y});
    for (int i = 0; i < R * N; i++)
        assert_true(y[i] == x[i] * x[i]);
    xcc_kernel_free(k);
}

static void test_rollback(void **state)
{
    enum { P = 4, N = 8 };
    float x[P * N], y[P * N];
    fill(x, P * N);
    struct xcc_kernel *k = xcc_kernel_new("back", "cpu");
    int in = xcc_input(k, "x", "f32", 2, DIMS(P, N));
    int64_t mark = xcc_mark(k);
    int loop = xcc_loop(k, 3);
    int s = xcc_tile(k, "sbuf", "s", "f32", P, N, -1);
    assert_true(copy(k, all("", s, P, N), all("", in, P, N)));
    assert_false(copy(k, all("", s, P, N), all("", in, P, N + 1)));
    assert_true(loop == 0 && xcc_rollback(k, mark));
    int out = xcc_internal(k, NULL, "f32", 2, DIMS(P, N));
    assert_int_equal(out, in + 1);
    assert_true(binary(k, "sub", all("", out, P, N), all("", in, P, N), all("", in, P, N)));
    assert_true(xcc_result(k, out, "result"));
    run(k, 1, (float *[]){x}, P, N, 1, (float *[]){y});
    for (int i = 0; i < P * N; i++)
        assert_true(y[i] == 0);
    assert_null(strstr(xcc_kernel_text(k), "loop"));
    xcc_kernel_free(k);
}

static void test_in_place(void **state)
{
    enum { P = 4, N = 8 };
    float x[P * N], y[P * N], z[P * N];
    fill(x, P * N);
    struct xcc_kernel *k = xcc_kernel_new("in_place", "cpu");
    int in = xcc_input(k, "x", "f32", 2, DIMS(P, N));
    assert_false(xcc_is_written(k, in));
    struct xcc_operand half = all("", in, P / 2, N);
    assert_true(binary(k, "add", half, half, half));
    assert_true(xcc_is_written(k, in));
    assert_true(xcc_result(k, in, "x_out"));
    run(k, 1, (float *[]){x}, P, N, 1, (float *[]){y});
    memcpy(z, x, sizeof z);
    for (int i = 0; i < P * N; i++)
        assert_true(y[i] == (i < P * N / 2 ? 2 : 1) * z[i]);
    xcc_kernel_free(k);
}

static void says(bool ok, const char *what)
{
    assert_false(ok);
    if (!strstr(xcc_error(), what))
        fail_msg("says '%s', expected '%s'", xcc_error(), what);
}

static void test_messages(void **state)
{
    struct xcc_kernel *k = xcc_kernel_new("wrong", "cpu");
    says(xcc_kernel_new("k", "trn9") != NULL, "unknown target 'trn9'");
    says(xcc_tile(k, "dram", "t", "f32", 1, 1, -1) >= 0, "memory 'dram', expected sbuf or psum");
    assert_true(xcc_rollback(k, xcc_mark(k)));
    int in = xcc_input(k, "x", "f32", 2, DIMS(4, 8));
    int out = xcc_output(k, "y", "f32", 2, DIMS(4, 8));
    struct xcc_operand o[] = {all("dst", out, 4, 8), all("source", in, 4, 8)};
    struct xcc_instruction i = {"dma_copy", .noperands = 2, .operands = o};
    xcc_at(k, "kernel.py", 12, "nl.load");
    says(xcc_emit(k, &i), "kernel.py:12: dma_copy: no operand 'source', it has: dst src");
    i.noperands = 1;
    says(xcc_emit(k, &i), "kernel.py:12: dma_copy: src is missing");
    i.name = "dma_paste";
    says(xcc_emit(k, &i), "there is no instruction 'dma_paste'");
    says(copy(k, all("", out, 4, 8), all("", in, 5, 8)),
         "dma_copy: operand 'src' covers elements 0 to 39 of 'x', f32[4,8], which has 32");
    struct xcc_operand var = all("", in, 4, 8);
    var.coef[0] = 8;
    says(copy(k, all("", out, 4, 8), var), "src: variable 0 is not open here");
    struct xcc_bytes b;
    says(xcc_kernel_finish(k, &b), "no operand 'source'"); /* the first one */
    assert_true(xcc_rollback(k, xcc_mark(k)));
    says(xcc_kernel_finish(k, &b), "output 'y' is never written");
    xcc_kernel_free(k);
}

/* A product whose result is copied onto what it was made of. */
static void test_product_in_place(void **state)
{
    enum { N = 128 };
    static float x[2][N * N], y[N * N];
    fill(x[0], N * N), fill(x[1], N * N);
    struct xcc_kernel *k = xcc_kernel_new("product", "cpu");
    int a = xcc_input(k, "a", "f32", 2, DIMS(N, N)), b = xcc_input(k, "b", "f32", 2, DIMS(N, N)),
        out = xcc_output(k, "y", "f32", 2, DIMS(N, N)),
        s = xcc_tile(k, "sbuf", "s", "f32", N, N, -1),
        t = xcc_tile(k, "sbuf", "t", "f32", N, N, -1),
        p = xcc_tile(k, "psum", "p", "f32", N, N, -1);
    assert_true(copy(k, all("", s, N, N), all("", a, N, N)));
    assert_true(copy(k, all("", t, N, N), all("", b, N, N)));
    struct xcc_operand o[] = {all("dst", p, N, N), all("stationary", t, N, N),
                              all("moving", s, N, N)},
                       onto[] = {all("dst", t, N, N), all("src", p, N, N)};
    assert_true(
        xcc_emit(k, &(struct xcc_instruction){.name = "nc_matmul", .noperands = 3, .operands = o}));
    assert_true(xcc_emit(
        k, &(struct xcc_instruction){.name = "tensor_copy", .noperands = 2, .operands = onto}));
    assert_true(copy(k, all("", out, N, N), all("", t, N, N)));
    run(k, 2, (float *[]){x[0], x[1]}, N, N, 1, (float *[]){y});
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0; /* of small integers: exact */
            for (int n = 0; n < N; n++)
                sum += x[0][i * N + n] * x[1][n * N + j];
            assert_true(y[i * N + j] == sum);
        }
    xcc_kernel_free(k);
}

static int tiles_in(const char *text)
{
    int n = 0;
    for (; (text = strstr(text, "\n  tile ")); text++)
        n++;
    return n;
}

/* Tiles that live one after the other share memory, where there is no room for all of them; each is
 * written by a loop, piece by piece. */
static void test_many_tiles(void **state)
{
    enum { P = 128, N = 4 * 4096, MANY = 6 };
    static const char *const targets[] = {"cpu", "trn1"};
    for (int t = 0; t < 2; t++) {
        struct xcc_kernel *k = xcc_kernel_new("many", targets[t]);
        int in = xcc_input(k, "x", "f32", 2, DIMS(P, N)),
            out = xcc_output(k, "y", "f32", 2, DIMS(P, N));
        int outer = xcc_loop(k, 3);
        for (int i = 0; i < MANY; i++) {
            int tile = xcc_tile(k, "sbuf", "piece", "f32", P, N, -1), loop = xcc_loop(k, 4);
            struct xcc_operand from = all("", in, P, N), to = all("", tile, P, N);
            from.dim[1].count = to.dim[1].count = N / 4;
            from.coef[loop] = to.coef[loop] = N / 4;
            assert_true(copy(k, to, from) && xcc_end(k));
            assert_true(copy(k, all("", out, P, N), all("", tile, P, N)));
        }
        assert_true(outer == 0 && xcc_end(k));
        const char *text = xcc_kernel_text(k);
        if (!text)
            fail_msg("%s", xcc_error());
        assert_true(t == 1 || tiles_in(text) == 1); /* on a chip by addresses, otherwise one tile */
        xcc_kernel_free(k);
    }
}

/* A kernel that needs more than there is says what is alive. */
static void test_no_room(void **state)
{
    enum { P = 128, N = 16384 };
    struct xcc_kernel *k = xcc_kernel_new("large", "trn1");
    int in = xcc_input(k, "x", "f32", 2, DIMS(P, N)),
        out = xcc_output(k, "y", "f32", 2, DIMS(P, N)), tile[3];
    static const char *const names[] = {"left", "middle", "right"};
    for (int i = 0; i < 3; i++) {
        tile[i] = xcc_tile(k, "sbuf", names[i], "f32", P, N, -1);
        assert_true(copy(k, all("", tile[i], P, N), all("", in, P, N)));
    }
    assert_true(
        binary(k, "add", all("", tile[0], P, N), all("", tile[1], P, N), all("", tile[2], P, N)));
    assert_true(copy(k, all("", out, P, N), all("", tile[0], P, N)));
    struct xcc_bytes b;
    says(xcc_kernel_finish(k, &b),
         "no room in sbuf: 3 tiles live together need 196608 bytes of each "
         "partition, trn1 has 180224: right 65536, left 65536, middle "
         "65536");
    xcc_kernel_free(k);
}

static void test_table(void **state)
{
    struct xcc_instruction_info info;
    bool matmul = false, add = false;
    for (int i = 0; i < xcc_instruction_count(); i++) {
        assert_true(xcc_instruction_get(i, &info));
        matmul |= !strcmp(info.name, "nc_matmul") && !strcmp(info.engine, "pe") &&
                  !strncmp(info.operands, "dst:u stationary:r moving:r", 27);
    }
    assert_false(xcc_instruction_get(xcc_instruction_count(), &info));
    for (int i = 0; i < xcc_function_count(); i++)
        add |= !strcmp(xcc_function_name(i), "add");
    assert_true(matmul && add && !xcc_function_name(xcc_function_count()));
    assert_true(xcc_dtype_size("bf16") == 2 && xcc_dtype_size("q7") == 0);
}

static void test_models(void **state)
{
    const char *path = "models/digits/digits.onnx";
    struct xcc_bytes a, b;
    FILE *f = fopen(path, "rb");
    static char bytes[1 << 20];
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    assert_true(n > 0 && n < sizeof bytes && fclose(f) == 0);
    assert_true(xcc_compile(path, "--auto-cast 'none' --shape image=2,1,28,28", &a, NULL, NULL));
    if (!xcc_compile_memory(bytes, n, path, "--auto-cast none --shape image=2,1,28,28", &b, NULL,
                            NULL))
        fail_msg("%s", xcc_error());
    assert_true(a.size == b.size && !memcmp(a.data, b.data, a.size));
    struct xrt_model *m = xrt_open_memory(a.data, a.size);
    assert_true(m && xrt_input_info(m, 0)->dims[0] == 2);
    xrt_close(m);
    xcc_bytes_free(&a);
    xcc_bytes_free(&b);
    says(xcc_compile(path, "--auto-cast some", &a, NULL, NULL), "--auto-cast takes");
    says(xcc_compile(path, "-o x", &a, NULL, NULL), "options:");
    says(xcc_compile("missing.onnx", NULL, &a, NULL, NULL), "missing.onnx: cannot open");
    says(xcc_compile_memory(bytes, n / 2, "half.onnx", NULL, &a, NULL, NULL), "half.onnx: ");
}

/* A file without a name, which is closed as soon as it is open; descriptors that are none. */
static void test_descriptor(void **state)
{
    (void)state;
    struct xcc_bytes a;
    assert_true(xcc_compile("models/digits/digits.onnx", "--auto-cast none", &a, NULL, NULL));
    FILE *f = tmpfile();
    assert_true(f && fwrite(a.data, 1, a.size, f) == a.size && fflush(f) == 0);
    struct xrt_model *m = xrt_open_fd(fileno(f), NULL);
    fclose(f);
    if (!m)
        fail_msg("%s", xrt_error());
    struct xrt_context *c = xrt_context_new(m, 1);
    static float pixels[28 * 28];
    struct xrt_tensor x = {.dtype = "f32", .rank = 4, .dims = {1, 1, 28, 28}, .data = pixels}, y;
    assert_true(c && xrt_set_input(c, 0, &x) && xrt_run(c) && xrt_output(c, 0, &y));
    assert_int_equal(y.dims[1], 10);
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&a);

    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_null(xrt_open_fd(ends[0], NULL));
    assert_non_null(strstr(xrt_error(), "not a regular file"));
    close(ends[0]), close(ends[1]);
    assert_null(xrt_open_fd(-1, NULL));
    assert_non_null(strstr(xrt_error(), "descriptor -1: expected that of an open file"));
    f = tmpfile();
    assert_true(f && fputs("not an archive", f) >= 0 && fflush(f) == 0);
    assert_null(xrt_open_fd(fileno(f), NULL));
    assert_non_null(strstr(xrt_error(), "descriptor"));
    fclose(f);
}

/* Of a tile and of a tensor half is written and all is read: told before the kernel is finished, unless the author said
 * that the tile's rest is of no interest. */
static void test_unwritten(void **state)
{
    enum { P = 4, N = 8 };
    const char *where;
    for (int partial = 0; partial < 2; partial++) {
        struct xcc_kernel *k = xcc_kernel_new("half", "cpu");
        int in = xcc_input(k, "x", "f32", 2, DIMS(P, N)), own = xcc_internal(k, "own", "f32", 2, DIMS(P, N)),
            out = xcc_output(k, "y", "f32", 2, DIMS(P, N)), s = xcc_tile(k, "sbuf", "s", "f32", P, N, -1);
        struct xcc_operand from = all("", in, P, N), half = all("", s, P, N);
        from.dim[1].count = half.dim[1].count = N / 2;
        assert_true(!partial || xcc_tile_is_partial(k, s));
        assert_true(copy(k, half, from) && xcc_at(k, "k.py", 7, "store"));
        assert_true(copy(k, all("", out, P, N), all("", s, P, N)));
        half.object = own;
        assert_true(copy(k, half, from) && xcc_at(k, "k.py", 9, "load"));
        assert_true(copy(k, all("", s, P, N), all("", own, P, N)));
        assert_int_equal(xcc_kernel_unwritten(k, &where), partial ? own : s);
        assert_string_equal(where, partial ? "k.py:9" : "k.py:7");
        xcc_kernel_free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_grid_loop_clip),
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_many_tiles),
        cmocka_unit_test(test_product_in_place),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_unwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
