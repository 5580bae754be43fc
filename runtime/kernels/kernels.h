/*
 * Row kernels: what the Vector and Scalar engines do to one row of a tile.
 *
 * A row is n elements, `step` elements apart: 1 contiguous, 0 one value broadcast, anything else
 * strided (negative allowed). Floats are computed in f32; other stored types pass through the
 * conversions. Output and input may be the same row (same address and step) but not overlap
 * otherwise. Rows need the alignment of their element only. Nothing is read or written past a row.
 *
 * The same kernels exist for several instruction sets, in one table each; kernels_get() is the best
 * this CPU has. All variants do the same arithmetic in the same order (reductions always run in 32
 * interleaved partial results, folded pairwise), except that `fma` variants fuse multiply-adds and
 * `portable` does not (it gives the same bits on every CPU, also by the name of `strict`), that
 * avx512 takes exponentials from a table, that avx512bf16 multiplies bf16 pairs with the
 * hardware's rounding (and is not chosen on CPUs of Intel's, where that is slower), and that amx does so with a unit
 * for matrices, in pairs of terms. Results never depend on the thread, on alignment or on what was computed before.
 *
 * Nothing here fails or allocates. Matrix tiles: gemm.h. What exists: kernels.def.
 */
#ifndef RUNTIME_KERNELS_KERNELS_H
#define RUNTIME_KERNELS_KERNELS_H

#include "neff/core/dtype.h"
#include "neff/isa/planes.h"
#include "neff/isa/recurrence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_CONVERT(name, to, from) CONVERT_##name,
enum kernel_convert {
#include "runtime/kernels/kernels.def"
    CONVERT_COUNT
};
#define KERNEL_BINARY(name) BINARY_##name,
enum kernel_binary {
#include "runtime/kernels/kernels.def"
    BINARY_COUNT
};
#define KERNEL_COMPARE(name, operator) COMPARE_##name,
enum kernel_compare {
#include "runtime/kernels/kernels.def"
    COMPARE_COUNT
};
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high) ACTIVATION_##name,
enum kernel_activation {
#include "runtime/kernels/kernels.def"
    ACTIVATION_COUNT
};
#define KERNEL_REDUCE(name, start, step) REDUCE_##name,
enum kernel_reduce {
#include "runtime/kernels/kernels.def"
    REDUCE_COUNT
};

#define KERNEL_INTEGER(name) INTEGER_##name,
#define KERNEL_SHIFT(name)   INTEGER_##name,
enum kernel_integer {
#include "runtime/kernels/kernels.def"
    INTEGER_COUNT
};
/* Types whose memory is a C type, by their numbers as dtypes. */
enum { PLAIN_TYPES = DT_U64 + 1 };
enum { RUNNING_LINES = 1024 };
/* Rows and columns of a product of doubles. */
enum { F64_ROWS = 4, F64_PANEL = 32 };

/* n integers of one type z[i] = f(x[i], y[i]); steps in elements. Results in the memory of an
 * operand are those of the same elements. */
typedef void (*integer_fn)(void *z, ptrdiff_t zs, const void *x, ptrdiff_t xs, const void *y,
                           ptrdiff_t ys, size_t n);
typedef void (*cast_fn)(void *y, const void *x, size_t n);

struct in_row {
    const float *at;
    ptrdiff_t step; /* elements */
};
struct out_row {
    float *at;
    ptrdiff_t step; /* elements, not 0 */
};

/* Rows of a tile: row r starts r * pitch elements on. step is 0 or 1. */
struct in_tile {
    const float *at;
    ptrdiff_t step, pitch;
};
struct out_tile { /* f32 or bf16, contiguous along a row */
    void *at;
    ptrdiff_t pitch;
    bool bf16;
};

/*
 * A tile of rows x n numbers of one type made from one of another: v = x * scale + bias (one
 * rounding in fma variants), (x - bias) * scale, or x / scale. f32 results are v, 8-bit ones v
 * rounded half to even, plus zero, saturated; NaN is least. Operands are contiguous along a row. A
 * missing scale is 1, a missing bias -0 or 0; in the last two forms they are one number for all.
 */
enum tile_type { TILE_F32, TILE_I32, TILE_U8, TILE_I8 };
static inline int tile_type_of(int dtype) /* -1: none */
{
    return dtype == DT_F32   ? TILE_F32
           : dtype == DT_I32 ? TILE_I32
           : dtype == DT_U8  ? TILE_U8
           : dtype == DT_I8  ? TILE_I8
                             : -1;
}
enum affine_form { AFFINE_SCALE_ADD, AFFINE_SHIFT_SCALE, AFFINE_DIVIDE };
struct affine_tile {
    const void *x;
    void *y;
    ptrdiff_t x_pitch, y_pitch;    /* elements between rows */
    enum tile_type x_type, y_type; /* y is not TILE_I32 */
    enum affine_form form;
    struct in_tile scale, bias;
    int zero; /* within -32768..32767 */
    size_t rows, n;
};

/*
 * 8-bit numbers made of s32 sums: round(sum * scale + shift) + zero, saturated; fma variants round
 * the product and sum once. Where another 8-bit operand is added, that is an inner number x, and
 * the result is round(x * factor + (other * other_factor + offset)) + zero, saturated again;
 * other_first: x and other change places. Numbers to be rounded must be within +-2^30.
 */
struct requantize {
    const float *scale, *shift;    /* one per out */
    bool is_signed, adds;          /* results are s8, otherwise u8; there is another operand */
    bool sum_signed, other_signed; /* the inner number is s8; the other operand */
    bool other_first;
    int zero, sum_zero; /* within -128..255 */
    float factor, other_factor, offset;
};

/* What follows an accumulation before it is stored: y = activation(x + bias). */
struct channel_epilogue {
    const float *bias; /* one per channel, or NULL */
    enum kernel_activation activation;
    float p[2]; /* the activation's parameters */
};

/* Whether image kernels apply it to sums in registers; others follow on the stored row. */
static inline bool activation_in_registers(enum kernel_activation f)
{
    return f == ACTIVATION_copy || f == ACTIVATION_relu || f == ACTIVATION_clip;
}

/*
 * One output row of a depthwise convolution, channels last: output pixel j in first..first+pixels-1
 *     out[j - first][c] = epilogue(sum over y, x of
 *         rows[y][j * stride - pad + x * dilation][c] * weights[y][x][c])
 * where taps outside the input are zero.
 */
struct depthwise_row {
    const void *const
        *rows;            /* kernel_height input rows, at pixel 0; NULL above or below the image */
    ptrdiff_t pixel_step; /* elements between input pixels, at least channels */
    int width;            /* input pixels in a row */
    int kernel_height, kernel_width, stride, dilation, pad;
    int channels, first, pixels;
    bool bf16;            /* input elements are bf16, otherwise f32; weights are f32 either way */
    const float *weights; /* [kernel_height][kernel_width][weight_step], the first `channels` */
    ptrdiff_t weight_step;
    void *out;          /* output pixel `first` */
    ptrdiff_t out_step; /* elements between output pixels */
    struct channel_epilogue epilogue;
    bool out_bf16; /* results are rounded to bf16 */
};

/*
 * The same of u8 images by s8 weights: s32 sums, exact, or 8-bit numbers made of them. Places
 * outside read the row `outside`. At most 16 filter rows and 256 places.
 */
struct depthwise_integer_row {
    const uint8_t *const *rows; /* kernel_height input rows, at pixel 0; NULL outside the image */
    ptrdiff_t pixel_step;
    int width, kernel_height, kernel_width, stride, dilation, pad, channels, pixels;
    const uint8_t *outside; /* `channels` bytes, all the same */
    const int8_t *weights;  /* [kernel_width][kernel_height / 4, rounded up][channels][4 rows] */
    const int32_t *bias;    /* one per channel, or NULL */
    const struct requantize *as; /* without another operand; NULL: sums are stored */
    int32_t *sums;
    uint8_t *bytes;
    ptrdiff_t out_step; /* elements between output pixels */
};

/*
 * One block of columns of a softmax whose weights multiply something: y = exp(score - largest), a
 * score being x * scale + bias. A row's state is the largest score so far, and the sum of the
 * weights. Where a block after the first (`more`) has a larger score, that sum and the row of
 * `sums` are scaled to it; the first block only writes the state, and does not touch `sum`.
 */
struct softmax_block {
    struct in_tile x, bias; /* x contiguous along a row; bias.at NULL is 0 */
    struct out_tile y;
    float scale;
    size_t rows, n, sums;
    float *state, *sum;
    ptrdiff_t state_pitch, sum_pitch;
    bool more;
};

/*
 * Weight-only quantised product of one row: y[o] = sum over k of x[k] * (q[k][o] - zero) * scale,
 * scale and zero constant over blocks of `block` k; without stored zero points zero is `centre`.
 * Layouts: neff/isa/pack.h (weight-only).
 */
struct weight_only_row {
    const void *x; /* k elements, f32 or bf16 */
    const void *packed;
    float *y;                 /* columns elements */
    int k, columns, block, bits; /* bits: 8 or 4 */
    bool zeros;               /* zero points are stored */
    float centre;
    bool bf16;   /* x is */
    float *work; /* weight_only_work() floats; of each of WEIGHT_ONLY_ROWS rounded rows */
    /* Of weight_only_rounded, 0 as one row and all columns: rows, elements between them, columns that are stored. */
    int rows;
    ptrdiff_t x_pitch, y_pitch;
    int stored;
};
enum { WEIGHT_ONLY_ROWS = 4 }; /* that share what is unpacked */
static inline int weight_only_blocks(int k, int block)
{
    return (k + block - 1) / block;
}
/* Of a block, as the row is prepared. */
static inline int weight_only_terms(int block)
{
    return (block + 15) / 16 * 16;
}
static inline int64_t weight_only_work(int k, int block)
{
    return weight_only_blocks(k, block) * (int64_t)(1 + weight_only_terms(block));
}

/*
 * A step of a recurrent cell for rows of a batch. With sum[g] = sum over k of
 * h[k] * weights[.., k, g] and in[g] = x[g] + bias[g]:
 *     LSTM (4 gates: in, out, forget, cell)   c = c * s(forget) + s(in) * tanh(cell)
 *                                             next = s(out) * tanh(c)
 *     GRU (3 gates: update, reset, next)      n = tanh(in[next] + s(reset) * (sum[next] + bias[3]))
 *                                             next = (h - n) * s(update) + n
 *     RNN (1 gate)                            next = tanh(gate)
 * where a gate without a formula of its own is in + sum, and s the sigmoid; with peepholes, in and forget
 * of an LSTM add theirs times the old c, out times the new one. Hidden unit j has its
 * weights in part j / RECURRENT_UNITS, [k][gate][j % RECURRENT_UNITS], zeros beyond `hidden`; of an RNN in
 * part j / RNN_UNITS, [k][j % RNN_UNITS].
 */
struct recurrent_step {
    int gates, rows, hidden;
    const void *weights;
    ptrdiff_t part_bytes;
    const float *x, *bias; /* [rows][gates][hidden]; [4][hidden] */
    const float *h;        /* [rows], h_pitch apart */
    float *c, *next, *y;   /* c: of an LSTM; y: a copy of next, or NULL */
    ptrdiff_t h_pitch, c_pitch, next_pitch, y_pitch;
    bool bf16; /* weights are, in the pairs of neff/isa/pack.h: [k / 2][gate][unit][2] */
    bool back; /* the last part first: it is still in the first-level cache */
    const float *factors; /* [rows]: what an LSTM's sums are multiplied by; NULL: ones */
    const float *peepholes; /* [3][hidden], of an LSTM's in, out and forget; NULL: none */
};

/*
 * A step of a Fourier transform of `length` = groups * radix * (some) numbers, of floats or doubles. Operand j of group
 * p is `width` places side by side, from [(j * groups + p) * pitch] on; result k is at [(p * radix + k) * width],
 *
 *     turns[p * k * turn_step] * sum over j of turns[j * k * length / radix] * operand j
 *
 * by place. turns: pairs of real and imaginary part, the powers of a root of unity e^(sign 2 pi i / length).
 */
enum fourier_type { FOURIER_F32, FOURIER_F64, FOURIER_TYPES };

struct fourier_step {
    const void *re, *im;
    void *to_re, *to_im;
    const void *turns;
    double sign;
    size_t length, radix, groups, width, pitch, turn_step;
};

/*
 * n numbers of a complex line from those of the transform of a real one, or back (ops/common/fourier_f32.c): with a
 * number x, the conjugate y of its mirrored one, and a turn v, (x + y + sign * i * v * (x - y)) * factor. `along`:
 * numbers of one line, the mirrored ones go backward; else the same number of n lines.
 */
struct complex_fold {
    const float *re, *im, *mirrored_re, *mirrored_im, *turn_re, *turn_im;
    float *to_re, *to_im;
    float sign, factor;
    size_t n;
    bool along;
};

/* Absolute values whose squares are normal floats. */
#define COMPLEX_ABS_MIN 1e-18f
#define COMPLEX_ABS_MAX 1e18f

/*
 * One row of a picture between two: pixel x is, of the blend rows[0] * weight[0] + rows[1] *
 * weight[1], element at[0][x] * column_weight[0][x] + element at[1][x] * column_weight[1][x], and
 * the channels behind them. weight[1] 0: rows[0] alone, and weight[0] is 1.
 */
struct resize_row {
    const float *rows[2];
    float weight[2];
    const int32_t *at[2];          /* rising along the row; NULL: pixels are those of the blend */
    const float *column_weight[2]; /* one per pixel */
    size_t width, pixels, channels; /* width: elements of rows that at[] reaches */
    float *y;
    ptrdiff_t y_step; /* elements between pixels of y */
    float *work;      /* width elements, where a pixel has one channel */
};

/*
 * Pooling of a picture of one channel. Pixel x of row y sees rows first + y * stride_h + t * dilation_h, t < kernel_h,
 * and of those places x * stride_w - pad + t * dilation_w, t < kernel_w, as far as they are inside. The mean divides by
 * counts[x] times the rows that are inside, or by counts[x] * kernel_h.
 */
struct pool_plane {
    const float *x;
    ptrdiff_t x_pitch; /* elements between rows; pixels are neighbours */
    size_t height, width;
    ptrdiff_t first;
    ptrdiff_t stride_h, dilation_h;
    int kernel_h, kernel_w, stride_w, dilation_w, pad;
    size_t rows, pixels; /* of the result */
    float *y;
    ptrdiff_t y_pitch;
    float *work; /* work_rows (POOL_ROWS at most), and one more, of work_pitch = pool_work_pitch() elements */
    size_t work_rows, work_pitch;
    bool max, count_pad;
    const float *counts; /* places of the window that count along the row, at least 1 */
};
enum { POOL_ROWS = 32, POOL_COLUMNS = 1024, POOL_STRIDE = 5 /* of longer ones, pixels are fetched one by one */ };
static inline int64_t pool_work_pitch(int64_t width, int taps, int stride, int dilation, int pad, int64_t pixels)
{
    enum { MAX_LANES = 16 };
    int64_t seen = (pixels + MAX_LANES - 1) / MAX_LANES * MAX_LANES * stride + (int64_t)(taps - 1) * dilation,
            folded = pad + (width + MAX_LANES - 1) / MAX_LANES * MAX_LANES;
    int64_t whole = MAX_LANES * (int64_t)stride;
    return ((seen > folded ? seen : folded) + whole - 1) / whole * whole;
}

/*
 * Convolution of groups of planes, channels first: of each group, pixel x of row y of result o is
 *     epilogue(sum over planes p, t < kernel_h, s < kernel_w of weights[o][p][t][s] *
 *         plane p at row + y * stride_h + t * dilation_h, column + x * stride_w + s * dilation_w)
 * where places outside the image are zero. Groups follow each other in x, weights, y and the bias.
 */
struct plane_conv {
    const float *x;
    ptrdiff_t x_plane, x_pitch; /* elements between planes, between rows; pixels are neighbours */
    int64_t height, width, row, column;
    int planes, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    size_t groups, results, rows, pixels; /* results of a group */
    const float *weights;
    float *y;
    ptrdiff_t y_plane, y_pitch;
    float *work; /* plane_conv_work() elements */
    struct channel_epilogue epilogue;
};

struct stream_run;  /* stream.h */

/* Products C = A W of f32, the next of them so many elements further on. Rows are dense. */
struct small_products {
    float *c;
    const float *a, *w;
    ptrdiff_t c_next, a_next, w_next, c_pitch, a_pitch, w_pitch;
    int rows, columns, k;
};
struct gemm_block; /* gemm.h */

enum { SHORT_ROW = 32 };

struct kernel_table {
    const char *name;
    int lanes;     /* f32 in a vector */
    int bf16_rate; /* of products, in percent of the rate of f32: struct step of neff/isa/program.h */
    bool fma;

    void (*convert[CONVERT_COUNT])(void *y, ptrdiff_t y_step, const void *x, ptrdiff_t x_step,
                                   size_t n);
    /* Elements of any size in bytes; steps in bytes. Strings of bytes, no conversion. */
    void (*copy)(void *y, ptrdiff_t y_step, const void *x, ptrdiff_t x_step, size_t n, size_t size);
    /* n bytes that nobody reads soon: around the caches where there are instructions for it. */
    void (*copy_streamed)(void *y, const void *x, size_t n);
    /* y[j][i] = x[i][j] for rows i, cols j; elements of 1, 2, 4 or 8 bytes; pitches in elements. */
    void (*transpose)(void *y, ptrdiff_t y_pitch, const void *x, ptrdiff_t x_pitch, size_t rows,
                      size_t cols, size_t size);
    /* y[2 i] = a[i], y[2 i + 1] = b[i] for i < n, elements of 2 bytes; b NULL: zeros. */
    void (*interleave)(uint16_t *y, const uint16_t *a, const uint16_t *b, size_t n);

    /* By dtype; NULL where there is none. Comparisons give bytes. */
    integer_fn integer[INTEGER_COUNT][PLAIN_TYPES];
    /* [to][from]: n neighbours, as dtype_convert does without `saturate`. y may be x where elements
     * have one size. */
    cast_fn cast[PLAIN_TYPES][PLAIN_TYPES];
    /* n pairs of words become what Threefry-2x32 makes of them, with 3 keys; y may be x. */
    void (*threefry)(uint32_t *ya, uint32_t *yb, const uint32_t *xa, const uint32_t *xb,
                     const uint32_t *key, size_t n);
    /* Running sums, or products, of `lines` <= RUNNING_LINES neighbouring lines, whose n elements
     * lie `step` apart; those of f32 are double until they are stored. `exclusive`: each without
     * its own element. */
    void (*running[PLAIN_TYPES])(void *z, const void *x, size_t n, ptrdiff_t step, size_t lines,
                                 bool product, bool exclusive);
    /* y[r * y_pitch + j] = (+ its old value where `more`) sum over i < k, in order, of
     * a[r * a_pitch + i] * b[i][j], for r < rows <= F64_ROWS and j < F64_PANEL. */
    void (*panel_f64)(double *y, ptrdiff_t y_pitch, const double *a, ptrdiff_t a_pitch, size_t rows,
                      const double (*b)[F64_PANEL], size_t k, bool more);

    void (*fourier_step[FOURIER_TYPES])(const struct fourier_step *f);
    /* y: absolute values of n pairs of real and imaginary part; false: some are out of COMPLEX_ABS_MIN to
     * COMPLEX_ABS_MAX, or no numbers, and are to be computed otherwise. */
    bool (*complex_abs)(float *y, const float *x, size_t n);
    void (*complex_fold)(const struct complex_fold *f);
    /* n pairs from their parts times a factor, and back. */
    void (*complex_pair)(float *pairs, const float *re, const float *im, size_t n, float factor);
    void (*complex_part)(float *re, float *im, const float *pairs, size_t n);
    /* (re, im) *= (co, si), complex. */
    void (*complex_multiply)(float *re, float *im, const float *co, const float *si, size_t n);

    void (*binary[BINARY_COUNT])(struct out_row y, struct in_row a, struct in_row b, size_t n);
    /* y: bytes of 0 or 1, y_step apart. */
    void (*compare[COMPARE_COUNT])(uint8_t *y, ptrdiff_t y_step, struct in_row a, struct in_row b,
                                   size_t n);
    /* y = which ? a : b */
    void (*select)(struct out_row y, const uint8_t *which, ptrdiff_t which_step, struct in_row a,
                   struct in_row b, size_t n);
    /* y = x * scale + bias, one rounding in fma variants. */
    void (*multiply_add)(struct out_row y, struct in_row x, struct in_row scale, struct in_row bias,
                         size_t n);
    /* y = f(x * scale + bias). scale.at == NULL is 1, bias.at == NULL is 0; p as in kernels.def. */
    void (*activation[ACTIVATION_COUNT])(struct out_row y, struct in_row x, struct in_row scale,
                                         struct in_row bias, size_t n, const float *p);

    /* The same on tiles of rows x n. */
    void (*binary_tile[BINARY_COUNT])(struct out_tile y, struct in_tile a, struct in_tile b,
                                      size_t rows, size_t n);
    void (*activation_tile[ACTIVATION_COUNT])(struct out_tile y, struct in_tile x,
                                              struct in_tile scale, struct in_tile bias,
                                              size_t rows, size_t n, const float *p);
    /* x = f(x), n a multiple of `lanes`: for sums on their way from registers to memory. */
    void (*activate[ACTIVATION_COUNT])(float *x, size_t n, const float *p);

    void (*affine)(const struct affine_tile *t);

    /* Operations on rows of n elements of places that begin at `start`. */
    void (*stream)(const struct stream_run *s, char *const *start, size_t rows, size_t n);

    float (*reduce[REDUCE_COUNT])(struct in_row x, size_t n);
    /* y[r] = the same of each of many rows of n neighbours, `pitch` apart. */
    void (*reduce_rows[REDUCE_COUNT])(float *y, const float *x, ptrdiff_t pitch, size_t rows,
                                      size_t n);
    /* accumulator[j] = step(accumulator[j], x[i * pitch + j]) over rows i in order. */
    void (*reduce_columns[REDUCE_COUNT])(float *accumulator, const float *x, ptrdiff_t pitch,
                                         size_t rows, size_t n);
    /* y[r * y_step] = (+ its old value where `accumulate`) sum over i < n of a[r * a_step + i] *
     * w[i] */
    void (*dot)(float *y, ptrdiff_t y_step, const float *a, ptrdiff_t a_step, const float *w,
                size_t rows, size_t n, bool accumulate);
    void (*small_products)(const struct small_products *p, size_t count);
    /* y = exp(x - shift); returns the sum of y. */
    float (*exp_sum)(struct out_row y, struct in_row x, float shift, size_t n);
    /* Two passes; variance divides by n. */
    void (*mean_variance)(struct in_row x, size_t n, float *mean, float *variance);
    /* Index of the first largest or smallest element; the first NaN if there is one. n > 0. */
    size_t (*argmax)(struct in_row x, size_t n);
    size_t (*argmin)(struct in_row x, size_t n);

    void (*softmax)(struct out_row y, struct in_row x, size_t n);
    /* softmax of factor * x, or its logarithm, in each of many rows of n neighbours; y may be x. Rows of at most
     * SHORT_ROW elements need no other kernel. */
    void (*softmax_rows)(float *y, ptrdiff_t y_pitch, const float *x, ptrdiff_t x_pitch,
                         size_t rows, size_t n, float factor, bool logarithm);
    /* The same where rows are neighbours of each other and their elements lie `step` apart. */
    void (*softmax_across)(float *y, ptrdiff_t y_step, const float *x, ptrdiff_t x_step,
                           size_t rows, size_t n, float factor, bool logarithm);
    void (*log_softmax)(struct out_row y, struct in_row x, size_t n);
    void (*softmax_block)(const struct softmax_block *b);
    /* y = (x - mean) / sqrt(variance + eps) * gamma + beta; gamma, beta may have at == NULL. */
    void (*layer_norm)(struct out_row y, struct in_row x, struct in_row gamma, struct in_row beta,
                       size_t n, float eps);
    /* y = x / sqrt(mean of x^2 + eps) * gamma */
    void (*rms_norm)(struct out_row y, struct in_row x, struct in_row gamma, size_t n, float eps);

    /* y[c] = max, or scale * sum, over the `count` rows of `channels` that taps point to. */
    void (*pool_max)(float *y, const float *const *taps, size_t count, size_t channels);
    void (*pool_sum)(float *y, const float *const *taps, size_t count, size_t channels,
                     float scale);
    /* The greatest u8, or s8, of count > 0 rows. */
    void (*pool_max_bytes)(uint8_t *y, const uint8_t *const *taps, size_t count, size_t channels,
                           bool is_signed);
    void (*pool_plane)(const struct pool_plane *r);
    void (*resize_linear)(const struct resize_row *r);
    void (*plane_conv)(const struct plane_conv *r);
    void (*depthwise)(const struct depthwise_row *d);
    void (*depthwise_integer)(const struct depthwise_integer_row *d);

    /*
     * Winograd F(size x size, 3x3), size 2 or 4 (winograd.inc). Input: the (size + 2)^2 pixels of a
     * patch, row by row, become as many planes, plane_step elements apart, of `channels` each, f32
     * or rounded to bf16.
     * Output: the planes become size x size pixels, of which the first `rows` x `cols` are stored,
     * through the epilogue.
     */
    void (*winograd_input)(void *y, ptrdiff_t plane_step, bool bf16, const float *const *pixels,
                           size_t channels, int size);
    void (*winograd_output)(float *y, ptrdiff_t row_step, ptrdiff_t pixel_step, const float *x,
                            ptrdiff_t plane_step, size_t channels, int size, int rows, int cols,
                            const struct channel_epilogue *e);

    void (*weight_only)(const struct weight_only_row *w);
    /* The same of rows rounded to 8 bits by blocks of at most WEIGHT_ONLY_ROUNDED_BLOCK (weight_only_scale). */
    void (*weight_only_rounded)(const struct weight_only_row *w);
    /* Weights k0 .. k0 + n - 1 of the first block of columns as f32 [n][pack_width(columns)]; x, y and
     * work are not used. */
    void (*weight_only_unpack)(const struct weight_only_row *w, int k0, int n, float *to);

    void (*recurrent)(const struct recurrent_step *s); /* next is not h */

    /* Used by gemm.h. */
    void (*gemm_f32)(const struct gemm_block *g);
    void (*gemm_bf16)(const struct gemm_block *g);
    void (*gemm_u8s8)(const struct gemm_block *g);
    /* Bytes that come from memory while seven rows of 16 or 8 bits are multiplied by one of weights; 0: as f32. */
    int stream_line;
    /* Gives back what products have set up in this thread, after a launch; the next one sets it up again. Or NULL. */
    void (*release)(void);
};

/*
 * The table in use: the best for this CPU, or what the environment's XCC_KERNELS names.
 * Thread-safe.
 */
const struct kernel_table *kernels_get(void);

/* Makes kernels_get() return the named variant from now on (NULL: the best). False, and no change,
   when it is unknown or this CPU cannot run it. For tests; not while kernels run. */
bool kernels_select(const char *name);

/* The named variant, or NULL when unknown, not built or not runnable here. */
const struct kernel_table *kernels_find(const char *name);

/* NULL where there is none, and for equal types. */
static inline cast_fn kernels_cast(const struct kernel_table *t, int to, int from)
{
    return to < PLAIN_TYPES && from < PLAIN_TYPES && to != from ? t->cast[to][from] : NULL;
}
static inline integer_fn kernels_integer(const struct kernel_table *t, enum kernel_integer f,
                                         int dtype)
{
    return dtype < PLAIN_TYPES ? t->integer[f][dtype] : NULL;
}

static inline void kernels_release(const struct kernel_table *t)
{
    if (t->release)
        t->release();
}

/* y = epilogue(x) for one contiguous row, in place. */
static inline void epilogue_row(const struct kernel_table *t, const struct channel_epilogue *e, float *y,
                                size_t n)
{
    t->activation[e->activation]((struct out_row){y, 1}, (struct in_row){y, 1},
                                 (struct in_row){0, 0}, (struct in_row){e->bias, 1}, n, e->p);
}

#endif
