/*
 * Matrix tiles: what one matmul instruction of the Tensor engine does.
 *
 *     C[rows][outs] (+)= sum over b of A_b[rows][k] * W_b[k][outs]
 *
 * A's rows are row-major with a pitch: a row may be a token, a pixel, or a pixel of a strided
 * convolution. W is packed (neff/pack.h): [k][w_pitch] f32, [k/2][w_pitch][2] bf16,
 * [k/4][w_pitch][4] s8, k rounded up, zero padded. C is f32, or s32 for int8.
 *
 * The batch b runs over K blocks and filter taps: up to three nested levels of (count, strides), or
 * a list of addresses given at run time. A tile is prepared once for its shape, then run:
 *
 *     struct gemm_tile t = {.type = GEMM_F32, .rows = 28, .outs = 64, .k = 64, .a_pitch = 256,
 * ...}; struct gemm g; gemm_prepare(&g, &t, kernels_get()); gemm_run(&g, a, w, c); any thread, any
 * number of times
 *
 * gemm_prepare may generate code (libxsmm) and takes a lock; gemm_run does neither. Nothing to
 * free: generated code is kept and shared by shape until the process ends. Reads stay inside A's k
 * columns and W's packed block; writes inside C's outs columns.
 *
 * Sums over k and b run in order, in f32, per element of C: the bits depend on the shape of the
 * instruction and the variant, never on which rows share a tile.
 */
#ifndef RUNTIME_KERNELS_GEMM_H
#define RUNTIME_KERNELS_GEMM_H

#include "runtime/kernels/kernels.h"

enum gemm_type { GEMM_F32, GEMM_BF16, GEMM_U8S8 };
enum { GEMM_LEVELS = 3 };

struct gemm_level {
    int count;              /* 0 as 1 */
    int64_t a_step, w_step; /* elements of A and of packed W between consecutive b */
};

struct gemm_tile {
    enum gemm_type type;
    int rows, outs, k;
    int64_t a_pitch, c_pitch; /* elements between rows */
    int w_pitch;              /* outs in a packed row of W, at least outs, a multiple of 16 */
    bool accumulate;          /* add to C, otherwise overwrite */
    struct gemm_level batch[GEMM_LEVELS]; /* outermost first */
};

/* A prepared tile. Plain data: copy freely. */
struct gemm {
    struct gemm_tile tile;
    const struct kernel_table *kernels;
    void (*own)(const struct gemm_block *g);
    void (*generated)(void);      /* libxsmm's kernel, or NULL */
    void (*generated_more)(void); /* the same, adding to C: for batches run in pieces */
    int k, pieces;                /* of one kernel call; calls for the k of the tile */
};

/* Asserts that the tile is well formed (the loader has checked it). */
void gemm_prepare(struct gemm *g, const struct gemm_tile *t, const struct kernel_table *kernels);
/* The same without libxsmm. */
void gemm_prepare_own(struct gemm *g, const struct gemm_tile *t,
                      const struct kernel_table *kernels);

void gemm_run(const struct gemm *g, const void *a, const void *w, void *c);
/* The batch given as `count` pairs of addresses instead; tile.batch is not used. */
void gemm_run_addresses(const struct gemm *g, const void *const *a, const void *const *w, int count,
                        void *c);

/* What a variant's own kernel is given: one contiguous list of batch addresses. */
struct gemm_block {
    const void *const *a, *const *w;
    void *c;
    int count, rows, outs, k, w_pitch;
    int64_t a_pitch, c_pitch;
    bool accumulate;
};

#endif
