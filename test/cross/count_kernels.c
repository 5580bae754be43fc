/*
 * count_kernels SET...: runs kernels of each set of instructions once between two marks for count_instructions.c, on
 * rows and tiles as models have them, and says on a line each which they were and how many elements, or
 * multiplications, they computed:  SET KERNEL NUMBER. On machines other than aarch64 the marks are nothing.
 */
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __aarch64__
#define MARK() __asm__ volatile("hint #126" ::: "memory")
#else
#define MARK() __asm__ volatile("" ::: "memory")
#endif

enum { N = 4093, ROWS = 12, COLUMNS = 64, K = 256, SIDE = 28, CHANNELS = 96 }; /* a row that ends within a vector */
static const struct kernel_table *t;
static float *x, *y, *z, p[2] = {0.25f, 0.5f};

#define COUNT(kernel, number, ...)                                                                 \
    do {                                                                                           \
        MARK();                                                                                    \
        __VA_ARGS__;                                                                               \
        MARK();                                                                                    \
        printf("%s %s %d\n", t->name, kernel, (int)(number));                                       \
    } while (0)

static float *filled(size_t n)
{
    float *f = aligned_alloc(64, (4 * n + 63) / 64 * 64);
    for (size_t i = 0; f && i < n; i++)
        f[i] = (float)(i % 200) / 50.0f - 1.97f;
    if (!f)
        exit(1);
    return f;
}

static struct in_row in(const float *at, ptrdiff_t step) { return (struct in_row){at, step}; }
static struct out_row out(void) { return (struct out_row){y, 1}; }

static void count_rows(void)
{
#define KERNEL_BINARY(name)                                                                        \
    COUNT("tensor_tensor." #name, N, t->binary[BINARY_##name](out(), in(x, 1), in(z, 1), N));      \
    COUNT("tensor_scalar." #name, N, t->binary[BINARY_##name](out(), in(x, 1), in(z, 0), N));
#define KERNEL_ACTIVATION(name, ...)                                                               \
    COUNT("activation." #name, N,                                                                  \
          t->activation[ACTIVATION_##name](out(), in(x, 1), in(NULL, 0), in(NULL, 0), N, p));
#define KERNEL_CONVERT(name, to, from) COUNT("convert." #name, N, t->convert[CONVERT_##name](y, 1, x, 1, N));
#define KERNEL_REDUCE(name, start, step)                                                           \
    COUNT("reduce." #name, N, *y = t->reduce[REDUCE_##name](in(x, 1), N));                         \
    COUNT("reduce_rows." #name, 16 * 60, t->reduce_rows[REDUCE_##name](y, x, 61, 16, 60));         \
    COUNT("reduce_columns." #name, 16 * 62, t->reduce_columns[REDUCE_##name](y, x, 62, 16, 62));
#include "runtime/kernels/kernels.def"
    COUNT("compare.lt", N, t->compare[COMPARE_lt]((uint8_t *)y, 1, in(x, 1), in(z, 1), N));
    COUNT("select", N, t->select(out(), (const uint8_t *)x, 1, in(x, 1), in(z, 1), N));
    COUNT("multiply_add", N, t->multiply_add(out(), in(x, 1), in(z, 1), in(z, 0), N));
    COUNT("softmax", N, t->softmax(out(), in(x, 1), N));
    COUNT("softmax_rows.128", 8 * 128, t->softmax_rows(y, 128, x, 128, 8, 128, 0.125f, false));
    COUNT("softmax_rows.10", 64 * 10, t->softmax_rows(y, 10, x, 10, 64, 10, 1.0f, false));
    COUNT("log_softmax", N, t->log_softmax(out(), in(x, 1), N));
    COUNT("layer_norm", N, t->layer_norm(out(), in(x, 1), in(z, 1), in(z, 1), N, 1e-5f));
    COUNT("rms_norm", N, t->rms_norm(out(), in(x, 1), in(z, 1), N, 1e-5f));
    COUNT("argmax", N, y[0] = (float)t->argmax(in(x, 1), N));
    COUNT("dot", 16 * 60, t->dot(y, 1, x, 60, z, 16, 60, false));
    COUNT("transpose.f32", 30 * 32, t->transpose(y, 30, x, 32, 30, 32, 4));
}

static void count_products(void)
{
    static const struct {
        const char *name;
        enum gemm_type type;
        int rows;
    } products[] = {{"product.f32", GEMM_F32, ROWS},  {"product.bf16", GEMM_BF16, ROWS},
                    {"product.u8s8", GEMM_U8S8, ROWS}, {"product.f32.1row", GEMM_F32, 1},
                    {"product.bf16.1row", GEMM_BF16, 1}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct gemm_tile tile = {.type = products[i].type, .rows = products[i].rows, .columns = COLUMNS, .k = K,
                                 .a_pitch = K, .c_pitch = COLUMNS, .w_pitch = COLUMNS};
        struct gemm g;
        gemm_prepare(&g, &tile, t->lanes);
        COUNT(products[i].name, tile.rows * COLUMNS * K, gemm_run(&g, t, x, z, y));
    }
}

static void count_images(void)
{
    static const int shapes[][2] = {{3, 1}, {3, 2}, {5, 1}, {5, 2}};
    static char name[32];
    const void *rows[5];
    for (int i = 0; i < 5; i++)
        rows[i] = x + i * SIDE * CHANNELS;
    const float *const *taps = (const float *const *)rows;
    for (int i = 0; i < 4; i++) {
        int side = shapes[i][0], pixels = SIDE / shapes[i][1];
        struct depthwise_row d = {.rows = rows, .pixel_step = CHANNELS, .width = SIDE, .kernel_height = side,
                                  .kernel_width = side, .stride = shapes[i][1], .dilation = 1, .pad = side / 2,
                                  .channels = CHANNELS, .pixels = pixels, .weights = z, .weight_step = CHANNELS,
                                  .out = y, .out_step = CHANNELS, .epilogue = {z, ACTIVATION_relu, {0}}};
        snprintf(name, sizeof name, "depthwise.%dx%d.%d", side, side, shapes[i][1]);
        COUNT(name, side * side * pixels * CHANNELS, t->depthwise(&d));
    }
    COUNT("pool_max", 5 * CHANNELS, t->pool_max(y, taps, 5, CHANNELS));
    COUNT("pool_sum", 5 * CHANNELS, t->pool_sum(y, taps, 5, CHANNELS, 0.2f));
}

int main(int argc, char **argv)
{
    const size_t room = 5 * SIDE * CHANNELS + K * COLUMNS;
    x = filled(room), y = filled(room), z = filled(room);
    for (int i = 1; i < argc; i++) {
        t = kernels_find(argv[i]);
        if (!t) {
            fprintf(stderr, "count_kernels: no set '%s' here\n", argv[i]);
            return 1;
        }
        count_rows();
        count_products();
        count_images();
    }
    free(x), free(y), free(z);
    return 0;
}
