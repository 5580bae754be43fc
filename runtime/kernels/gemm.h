/*
 * Matrix tiles: what one matmul instruction of the Tensor engine does.
 *
 *     C[rows][columns] (+)= sum over b of A_b[rows][k] * W_b[k][columns]
 *
 * A's rows are row-major with a pitch: a row may be a token, a pixel, or a pixel of a strided
 * convolution. W is packed (neff/isa/pack.h): [k][w_pitch] f32, [k/2][w_pitch][2] bf16,
 * [k/4][w_pitch][4] s8, k rounded up, zero padded. C is f32, or s32 for int8.
 *
 * The batch b runs over K blocks and filter taps: up to three nested levels of (count, strides). A
 * tile is prepared once for its shape, then run:
 *
 *     struct gemm_tile t = {.type = GEMM_F32, .rows = 28, .columns = 64, .k = 64, .a_pitch = 256,
 * ...}; struct gemm g; gemm_prepare(&g, &t, kernels_get()->lanes); gemm_run(&g, kernels_get(), a, w, c);
 * any thread, any number of times
 *
 * Nothing to free. Reads stay inside A's k columns and W's packed block; writes inside C's
 * columns.
 *
 * Weights come from memory block after block. Kernels prefetch the next block while they
 * multiply by this one, evenly over their work: prefetched at once, as a panel's first rows would,
 * it comes at memory's rate while nothing is computed.
 *
 * Sums over k and b run in order, in f32, per element of C: the bits depend on the shape of the
 * instruction and the variant, never on which rows share a tile.
 */
#ifndef RUNTIME_KERNELS_GEMM_H
#define RUNTIME_KERNELS_GEMM_H

#include "runtime/kernels/kernels.h"

enum gemm_type { GEMM_F32, GEMM_BF16, GEMM_U8S8 };
enum { GEMM_LEVELS = 3, GEMM_ADDRESSES = 64 }; /* batch entries handed to a kernel at a time, at most */

struct gemm_level {
    int64_t count;          /* 0 as 1 */
    int64_t a_step, w_step; /* elements of A and of packed W between consecutive b */
};

struct gemm_tile { /* without padding: see runtime/exec/state.h */
    enum gemm_type type;
    int rows, columns, k;
    int64_t a_pitch, c_pitch; /* elements between rows */
    int w_pitch;              /* in a packed row of W: at least columns, a multiple of 16 */
    int accumulate;           /* add to C, otherwise overwrite */
    struct gemm_level batch[GEMM_LEVELS]; /* outermost first */
    int64_t streams;                      /* W lies in memory, and what follows it is wanted next */
};

/*
 * What follows a product, block by block while the sums are in registers: each step takes the
 * values of the one before, the first the sums. Operands and results lie as C does, one element per
 * out; an operand's pitch may be 0, one row for all.
 */
enum gemm_step_kind {
    STEP_ADD,        /* the operand */
    STEP_MULTIPLY,   /* by the operand */
    STEP_RELU,       /* larger of 0 and x, as the activation of that name */
    STEP_CLIP,       /* to p[0] .. p[1] */
    STEP_ACTIVATION, /* a function of the kernel table */
    STEP_STORE,      /* f32; values stay */
    STEP_STORE_BF16, /* rounded; values stay */
    STEP_STORE_F16,
    STEP_ROUND,          /* to a type of 16 bits, as if stored and read again */
    STEP_ADD_SHORT,      /* the operand, of such a type */
    STEP_MULTIPLY_SHORT, /* by it */
};
struct gemm_step {
    enum gemm_step_kind kind;
    bool f16;            /* the last three: that type is f16, not bf16 */
    const void *operand; /* of f32 but for the last two */
    void *result;
    int64_t pitch; /* elements between rows of the operand or result */
    void (*activation)(float *x, size_t n, const float *p);
    float p[2];
};

/* A prepared tile, for any table of kernels with vectors of that length. Plain data: copy freely. */
struct gemm {
    struct gemm_tile tile;
    int k, pieces; /* of one kernel call; calls for the k of the tile */
};

/* Asserts that the tile is well formed (the loader has checked it). lanes: of the table. */
void gemm_prepare(struct gemm *g, const struct gemm_tile *t, int lanes);
/* The same without pieces of k. */
void gemm_prepare_whole(struct gemm *g, const struct gemm_tile *t);

void gemm_run(const struct gemm *g, const struct kernel_table *kernels, const void *a,
              const void *w, void *c);

/* Up to where a thread has prefetched weights; NULL at first. */
struct gemm_prefetch {
    const char *fetched;
};
struct gemm_operands {
    const void *a, *w;
    void *c;
    const struct gemm_step *steps; /* the last of which stores; C holds sums in between when they run in pieces */
    int nsteps;                    /* 0: sums are stored to C */
    struct gemm_prefetch *prefetch; /* of a tile that streams; or NULL */
};
void gemm_run_with(const struct gemm *g, const struct kernel_table *kernels, const struct gemm_operands *x);

/*
 * Sums of u8 x s8 products stored as 8-bit numbers. Rows may lie in bands: row r is number r %
 * width of band r / width; pitches lead from row to row, `band`s from band to band. In elements.
 */
struct gemm_quantized {
    struct requantize as;
    const int32_t *bias; /* what sums start from, one per out */
    uint8_t *y;
    const uint8_t *other; /* where the requantisation adds one */
    int64_t y_pitch, other_pitch, a_band, y_band, other_band;
    int width;
};

/* What a variant's own kernel is given: one contiguous list of batch addresses. */
struct gemm_block {
    const void *const *a, *const *w;
    void *c;
    int count, rows, columns, k, w_pitch;
    int64_t a_pitch, c_pitch;
    bool accumulate;
    bool resume;              /* sums go on from what C holds, instead of from 0 */
    int first_row, first_out; /* where in C, and operands of steps; A and W begin with the block */
    const struct gemm_step *steps; /* instead of storing to C */
    int nsteps;
    const struct gemm_quantized *quantized; /* u8s8: where sums go instead of c; or NULL */
    const char *next, *next_end;            /* memory to prefetch meanwhile; or NULL */
};

/* W is a part of the columns of a wider matrix. Short vectors copy panels of it in pieces of k where that pays, and
 * take it as a whole elsewhere. */
static inline bool gemm_is_part(int w_pitch, int columns)
{
    return w_pitch >= 2 * columns;
}

/* Sets `next` to what follows the block's weights, as far as it has not been prefetched and comes in
 * the time of the block. line: the kernels' stream_line, or 0. */
void gemm_plan_prefetch(struct gemm_block *b, enum gemm_type type, int line, struct gemm_prefetch *prefetch);

#endif
