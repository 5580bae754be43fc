/*
 * Kernels for instructions that this CPU lacks: the source of a family, its few intrinsics
 * replaced by plain C that computes what the instruction is documented to compute, against sums in
 * double. Needs AVX-512 all the same; says so and passes where there is none.
 *
 * A test includes this, defines emulated intrinsics and includes the family's source; then calls
 * check_emulated() with the table that it fills.
 */
#ifndef TEST_UNIT_EMULATED_H
#define TEST_UNIT_EMULATED_H

#define WITH_AVX2   1 /* by the flags of the tests */
#define WITH_AVX512 1
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/variants.h"
#include "test/unit/guarded.h"

#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t emulated_state = 2463534242u;
static uint32_t emulated_random(void)
{
    emulated_state ^= emulated_state << 13;
    emulated_state ^= emulated_state >> 17;
    return emulated_state ^= emulated_state << 5;
}

struct emulated_case {
    int rows, columns, k, batch;
    bool bf16, accumulate;
};

/* Element i of a matrix and its value. bf16: small integers, so that every sum is exact. */
static double emulated_element(void *to, size_t i, bool bf16, bool is_signed)
{
    uint32_t r = emulated_random();
    if (bf16) {
        float x = (float)((int)(r % 33) - 16);
        uint32_t u;
        memcpy(&u, &x, 4);
        ((uint16_t *)to)[i] = (uint16_t)(u >> 16);
        return x;
    }
    uint8_t byte = r % 8 ? (uint8_t)(r >> 8) : is_signed ? 0x80 : 0xff;
    ((uint8_t *)to)[i] = byte;
    return is_signed ? (int8_t)byte : byte;
}

/* bf16: sums stored rounded; y holds those that are added to. The number of wrong elements. */
static int emulated_rounded(const struct gemm_block *g, const struct kernel_table *t,
                            const float *y)
{
    size_t count = (size_t)g->rows * (size_t)g->c_pitch;
    float *sums = malloc(count * 4);
    uint16_t *rounded = malloc(count * 2);
    const struct gemm_step stores[] = {
        {.kind = STEP_STORE, .result = sums, .pitch = g->c_pitch},
        {.kind = STEP_STORE_BF16, .result = rounded, .pitch = g->c_pitch}};
    memset(rounded, 0xff, count * 2);
    struct gemm_block with = *g;
    with.steps = stores, with.nsteps = 2;
    t->gemm_bf16(&with);
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        bool inside = (int64_t)i % g->c_pitch < g->columns;
        uint32_t u = 0;
        memcpy(&u, &sums[i], inside ? 4 : 0);
        uint16_t expected = inside ? (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16) : 0xffff;
        wrong += rounded[i] != expected || (inside && sums[i] != y[i]);
    }
    free(sums), free(rounded);
    return wrong;
}

/* The number of wrong elements. */
static int emulated_run(const struct emulated_case *c, const struct kernel_table *t)
{
    enum { GAP = 3 };
    size_t size = c->bf16 ? 2 : 1, pitch = (size_t)(c->k + GAP), c_pitch = (size_t)c->columns + 2;
    size_t na = (size_t)(c->batch * c->rows) * pitch, nw = (size_t)(c->batch * c->k * c->columns);
    struct pack_shape shape = {c->bf16 ? PACK_BF16 : PACK_S8, c->batch, c->k, c->columns};
    void *a = malloc(na * size), *w = malloc(nw * size), *packed = malloc(pack_size(&shape) + 64);
    double *av = malloc(na * sizeof *av), *wv = malloc(nw * sizeof *wv);
    float *y = malloc((size_t)c->rows * c_pitch * 4);
    for (size_t i = 0; i < na; i++)
        av[i] = emulated_element(a, i, c->bf16, false);
    for (size_t i = 0; i < nw; i++)
        wv[i] = emulated_element(w, i, c->bf16, true);
    struct pack_source from = {w, (int64_t)c->k * c->columns, c->columns, 1};
    pack_weights(packed, &shape, &from);
    for (size_t i = 0; i < (size_t)c->rows * c_pitch; i++) {
        if (c->bf16)
            y[i] = 100;
        else
            ((int32_t *)(void *)y)[i] = 100;
    }
    const void *as[4], *ws[4];
    for (int b = 0; b < c->batch; b++) {
        as[b] = (char *)a + (size_t)(b * c->rows) * pitch * size;
        ws[b] = (char *)packed + (size_t)pack_offset(&shape, 0, b) * size;
    }
    struct gemm_block g = {.a = as,
                           .w = ws,
                           .c = y,
                           .count = c->batch,
                           .rows = c->rows,
                           .columns = c->columns,
                           .k = c->k,
                           .w_pitch = pack_width(c->columns),
                           .a_pitch = (int64_t)pitch,
                           .c_pitch = (int64_t)c_pitch,
                           .accumulate = c->accumulate};
    (c->bf16 ? t->gemm_bf16 : t->gemm_u8s8)(&g);
    int wrong = 0;
    for (int r = 0; r < c->rows; r++)
        for (size_t o = 0; o < c_pitch; o++) {
            double e = c->accumulate || o >= (size_t)c->columns ? 100 : 0;
            for (int b = 0; b < c->batch && o < (size_t)c->columns; b++)
                for (int k = 0; k < c->k; k++)
                    e += av[(size_t)(b * c->rows + r) * pitch + (size_t)k] *
                         wv[(size_t)(b * c->k + k) * (size_t)c->columns + o];
            size_t at = (size_t)r * c_pitch + o;
            wrong += (c->bf16 ? y[at] : ((int32_t *)(void *)y)[at]) != e;
        }
    if (c->bf16 && !c->accumulate)
        wrong += emulated_rounded(&g, t, y);
    free(a), free(w), free(packed), free(av), free(wv), free(y);
    return wrong;
}

static int check_emulated(const struct kernel_table *t, bool bf16)
{
    static const int rows[] = {1, 2, 5, 6, 7, 14}, columns[] = {1, 16, 17, 40, 64},
                     ks[] = {1, 2, 3, 4, 7, 64, 67, 130};
    int cases = 0, wrong = 0;
    for (int r = 0; r < 6; r++)
        for (int o = 0; o < 5; o++)
            for (int k = 0; k < 8; k++, cases++) {
                struct emulated_case c = {rows[r], columns[o], ks[k], 1 + cases % 3, bf16, cases % 2};
                int n = emulated_run(&c, t);
                if (n)
                    printf("rows %d columns %d k %d batch %d: %d elements are wrong\n", c.rows, c.columns,
                           c.k, c.batch, n);
                wrong += n;
            }
    printf("%s: %d cases, %d elements wrong\n", t->name, cases, wrong);
    return wrong != 0;
}

static bool emulation_runs(void)
{
    bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!runs)
        printf("skipped: this CPU has no AVX-512\n");
    return runs;
}

/* The family as the test compiles it. */
void kernel_products_emulated(struct kernel_table *t);
void kernel_integers_emulated(struct kernel_table *t);

#endif
