/*
 * bench_kernels [gemm|rows|depthwise|rate|memory]: rates of the kernels on this CPU, one thread.
 * `rate` prints one line per element type: the best rate of a product of 64 rows, for scripts/bench
 * to compare models with. `memory`: the rate at which one and two threads read memory, and that of
 * one row times weights that are not in cache, in turns.
 *
 * Of matrix tiles the best of some turns is shown, in GFLOP/s; W and A of one tile stay in cache, as in a blocked
 * product.
 */
#include "neff/base/clock.h"
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *filled(size_t bytes)
{
    uint8_t *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    for (size_t i = 0; i < bytes; i++)
        p[i] = i % 4 == 3 ? 0x3c : i % 2 ? 0x3c : (uint8_t)i; /* small positive floats */
    return p;
}

/* Seconds for one run of g, from a burst of about 2 ms. */
static double time_tile(const struct gemm *g, const void *a, const void *w, void *c, double flops)
{
    int runs = (int)(2e-3 * 60e9 / flops) + 1;
    double start = seconds_now();
    for (int i = 0; i < runs; i++)
        gemm_run(g, kernels_get(), a, w, c);
    return (seconds_now() - start) / runs;
}

static void bench_gemm(enum gemm_type type, const char *name)
{
    static const int rows[] = {1, 7, 14, 28, 56, 64, 128}, ks[] = {64, 256, 576, 1024, 2304};
    const struct kernel_table *t = kernels_get();
    printf("%s, 64 columns, %s: GFLOP/s\nrows     ", name, t->name);
    for (int k = 0; k < 5; k++)
        printf("k = %-6d", ks[k]);
    printf("\n");
    void *a = filled(4 * 128 * 2304), *w = filled(4 * 64 * 2304), *c = filled(4 * 128 * 64);
    for (int r = 0; r < 7; r++) {
        printf("%4d ", rows[r]);
        for (int k = 0; k < 5; k++) {
            struct gemm_tile tile = {
                type, rows[r], 64, 64, ks[k], 64, 64, false, {{0}, {0}, {ks[k] / 64, 64, 64 * 64}},
                false};
            struct gemm g;
            gemm_prepare(&g, &tile, t->lanes);
            double flops = 2.0 * rows[r] * 64 * ks[k], seconds = 1;
            for (int i = 0; i < 10; i++) {
                double s = time_tile(&g, a, w, c, flops);
                seconds = s < seconds ? s : seconds;
            }
            printf("  %8.1f", flops / seconds * 1e-9);
        }
        printf("\n");
    }
    free(a), free(w), free(c);
}

static void bench_rate(enum gemm_type type, const char *name)
{
    enum { ROWS = 64, K = 1024, TURNS = 40 };
    struct gemm_tile tile = {
        type, ROWS, 64, 64, K, 64, 64, false, {{0}, {0}, {K / 64, 64, 64 * 64}}, false};
    void *a = filled(4 * ROWS * K), *w = filled(4 * 64 * K), *c = filled(4 * ROWS * 64);
    struct gemm g;
    gemm_prepare(&g, &tile, kernels_get()->lanes);
    double flops = 2.0 * ROWS * 64 * K, seconds = 1;
    for (int i = 0; i < TURNS; i++) {
        double s = time_tile(&g, a, w, c, flops);
        seconds = s < seconds ? s : seconds;
    }
    printf("%s %.1f\n", name, flops / seconds * 1e-9);
    free(a), free(w), free(c);
}

static void bench_rows(void)
{
    enum { N = 4096 };
    static const char *const names[] = {
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high) #name,
#include "runtime/kernels/kernels.def"
    };
    const struct kernel_table *t = kernels_get();
    float *x = filled(4 * N), *y = filled(4 * N), p[2] = {0.5f, 0.5f};
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 200) / 20.0f - 4.9f;
    printf("activations, %s, rows of %d in cache: ns per element\n", t->name, N);
    for (int a = 0; a < ACTIVATION_COUNT; a++) {
        double best = 1;
        for (int i = 0; i < 20; i++) {
            double start = seconds_now();
            for (int j = 0; j < 20; j++)
                t->activation[a]((struct out_row){y, 1}, (struct in_row){x, 1},
                                 (struct in_row){0, 0}, (struct in_row){0, 0}, N, p);
            double s = (seconds_now() - start) / 20;
            best = s < best ? s : best;
        }
        printf("  %-18s %6.3f\n", names[a], best * 1e9 / N);
    }
    free(x), free(y);
}

static void bench_depthwise(void)
{
    static const int cases[][4] = {{3, 1, 112, 32}, {3, 2, 112, 96}, {3, 1, 56, 144},
                                   {3, 1, 14, 576}, {5, 1, 28, 240}, {5, 2, 28, 240},
                                   {5, 1, 14, 672}, {3, 1, 7, 960},  {7, 1, 56, 96},
                                   {7, 1, 56, 24},  {7, 1, 14, 384}, {9, 1, 32, 768}};
    const struct kernel_table *t = kernels_get();
    printf("depthwise, %s: GFLOP/s f32 input, bf16 input\n", t->name);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int kernel = cases[i][0], stride = cases[i][1], width = cases[i][2], channels = cases[i][3];
        int out_width = (width + 2 * (kernel / 2) - kernel) / stride + 1;
        void *x = filled(4 * (size_t)(kernel * width * channels));
        float *w = filled(4 * (size_t)(kernel * kernel * channels)),
              *y = filled(4 * (size_t)(out_width * channels));
        printf("  %dx%d stride %d width %3d channels %3d:", kernel, kernel, stride, width,
               channels);
        for (int bf16 = 0; bf16 < 2; bf16++) {
            const void *rows[9];
            for (int r = 0; r < kernel; r++)
                rows[r] = (char *)x + (size_t)(r * width * channels) * (bf16 ? 2 : 4);
            struct depthwise_row d = {rows,
                                      channels,
                                      width,
                                      kernel,
                                      kernel,
                                      stride,
                                      1,
                                      kernel / 2,
                                      channels,
                                      0,
                                      out_width,
                                      bf16,
                                      w,
                                      channels,
                                      y,
                                      channels,
                                      {w, ACTIVATION_relu, {0}},
                                      false};
            double best = 1, flops = 2.0 * kernel * kernel * out_width * channels;
            for (int j = 0; j < 20; j++) {
                double start = seconds_now();
                for (int n = 0; n < 50; n++)
                    t->depthwise(&d);
                double s = (seconds_now() - start) / 50;
                best = s < best ? s : best;
            }
            printf(" %6.1f", flops / best * 1e-9);
        }
        printf("\n");
        free(x), free(w), free(y);
    }
}

/* ---- memory ---- */

enum { MEMORY_K = 2048, MEMORY_COLUMNS = 4096, MEMORY_BYTES = 4 * MEMORY_K * MEMORY_COLUMNS * 8 };

struct reading {
    const float *at;
    size_t n;
    float max;
};

/* Reads all of it: the greatest element. */
static void *read_all(void *arg)
{
    struct reading *r = arg;
    enum { ROW = 16384 };
    for (size_t i = 0; i + ROW <= r->n; i += ROW) {
        float m = kernels_get()->reduce[REDUCE_max]((struct in_row){r->at + i, 1}, ROW);
        r->max = m > r->max ? m : r->max;
    }
    return NULL;
}

static double time_reading(const void *p, size_t bytes, int threads)
{
    pthread_t id;
    struct reading part[2];
    size_t n = bytes / sizeof(float) / (size_t)threads;
    double start = seconds_now();
    for (int i = 0; i < threads; i++)
        part[i] = (struct reading){(const float *)p + (size_t)i * n, n, 0};
    bool started = threads > 1 && pthread_create(&id, NULL, read_all, &part[1]) == 0;
    read_all(&part[0]);
    if (threads > 1 && !started)
        read_all(&part[1]);
    if (started)
        pthread_join(id, NULL);
    return seconds_now() - start;
}

/* All of the memory as weights of the type, row after row of products. */
static double time_one_row(enum gemm_type type, const void *x, const void *w, float *y)
{
    static const size_t sizes[] = {[GEMM_F32] = 4, [GEMM_BF16] = 2, [GEMM_U8S8] = 1};
    struct gemm_tile tile = {type, 1,  64,    MEMORY_K,        MEMORY_K,
                             64,   64, false, {{0}, {0}, {0}}, false};
    struct gemm g;
    gemm_prepare(&g, &tile, kernels_get()->lanes);
    size_t block = sizes[type] * MEMORY_K * 64;
    double start = seconds_now();
    for (size_t at = 0; at + block <= MEMORY_BYTES; at += block)
        gemm_run(&g, kernels_get(), x, (const char *)w + at, y);
    return seconds_now() - start;
}

static double time_weight_only(int bits, int block, bool bf16, const void *x, const void *w,
                               float *y)
{
    static float work[2 * MEMORY_K];
    struct pack_quantized shape = {MEMORY_K, 64, block, bits, false};
    size_t bytes = pack_quantized_size(&shape);
    double start = seconds_now();
    for (size_t at = 0; at + bytes <= MEMORY_BYTES; at += bytes) {
        struct weight_only_row row = {
            .x = x, .packed = (const char *)w + at, .y = y, .k = MEMORY_K, .columns = 64, .block = block,
            .bits = bits, .centre = 8, .bf16 = bf16, .work = work};
        kernels_get()->weight_only(&row);
    }
    return seconds_now() - start;
}

static void bench_memory(void)
{
    enum { TURNS = 8, KINDS = 9 };
    static const char *const names[KINDS] = {
        "read, one thread",      "read, two threads",      "one row, f32",
        "one row, bf16",         "one row, u8 x s8",       "one row, 8 bits by 32",
        "one row, 4 bits by 32", "one row, 4 bits by 128", "bf16, 4 bits by 32"};
    void *w = filled(MEMORY_BYTES), *x = filled(4 * MEMORY_K);
    float y[64];
    double best[KINDS];
    for (int t = 0; t < TURNS; t++)
        for (int i = 0; i < KINDS; i++) {
            double s = i < 2   ? time_reading(w, MEMORY_BYTES, i + 1)
                       : i < 5 ? time_one_row((enum gemm_type)(i - 2), x, w, y)
                       : i < 6 ? time_weight_only(8, 32, false, x, w, y)
                               : time_weight_only(4, i == 7 ? 128 : 32, i == 8, x, w, y);
            best[i] = t == 0 || s < best[i] ? s : best[i];
        }
    printf("memory, %s, %d MB, best of %d: GB/s, and the share of the best reading\n",
           kernels_get()->name, MEMORY_BYTES >> 20, TURNS);
    for (int i = 0; i < KINDS; i++)
        printf("  %-24s %6.1f  %3.0f%%\n", names[i], MEMORY_BYTES / best[i] * 1e-9,
               100 * (best[0] < best[1] ? best[0] : best[1]) / best[i]);
    free(w), free(x);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!*what || !strcmp(what, "gemm")) {
        bench_gemm(GEMM_F32, "f32");
        bench_gemm(GEMM_BF16, "bf16");
        bench_gemm(GEMM_U8S8, "u8 x s8");
    }
    if (!strcmp(what, "rate")) {
        bench_rate(GEMM_F32, "f32");
        bench_rate(GEMM_BF16, "bf16");
        bench_rate(GEMM_U8S8, "u8s8");
    }
    if (!*what || !strcmp(what, "rows"))
        bench_rows();
    if (!*what || !strcmp(what, "depthwise"))
        bench_depthwise();
    if (!strcmp(what, "memory"))
        bench_memory();
    return 0;
}
