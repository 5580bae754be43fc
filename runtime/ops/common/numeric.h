/*
 * What the plain routines of contractions, windows and normalisations share: whole operands as
 * double, a plain matrix product, and the arithmetic of sliding windows.
 *
 * Operands are loaded to double once, results rounded once, so that one routine serves all dtypes
 * and the order of every sum is fixed.
 */
#ifndef RUNTIME_OPS_NUMERIC_H
#define RUNTIME_OPS_NUMERIC_H

#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/ops.h"

/*
 * Memory of one call, freed together when its body returns: eval_x(c) is with_work(c, x), and x(c,
 * w) takes what it needs from w. All takers return NULL after a failure (the message is in the
 * call's diag).
 */
struct work {
    struct diag *d;
    struct work_block *blocks;
    struct work_block **spares; /* op_env */
};
bool with_work(struct op_call *c, bool (*body)(struct op_call *c, struct work *w));
/* The routine of an operator is that body with memory of its own; most bodies have the operator's name. */
#define EVAL_AS_WORK(operator, body)                                                                                   \
    bool eval_##operator(struct op_call *c)                                                                            \
    {                                                                                                                  \
        return with_work(c, body);                                                                                     \
    }
#define EVAL_WITH_WORK(operator) EVAL_AS_WORK(operator, operator)
void *work_take(struct work *w, int64_t n, size_t size); /* n items, zeroed */
#define WORK(w, T, n) ((T *)work_take((w), (n), sizeof(T)))
/* All elements of a tensor. */
double *work_doubles(struct work *w, const struct tensor *t);
int64_t *work_ints(struct work *w, const struct tensor *t);
double _Complex *work_complexes(struct work *w, const struct tensor *t);
/* Of an optional operand: false only after a failure; *out NULL when it is left out. */
bool work_optional(struct op_call *c, struct work *w, int i, double **out);
/* The nearest number that an integer type holds; NaN gives 0. */
double clamp_to_type(int dtype, double x);
/* A sum of integer products at the scale of the result, rounded half to even: in f32, scales
 * multiplied first, so that tile programs and other implementations agree to the bit. */
double requantized(double sum, float x_scale, float w_scale, float y_scale);
/* Stores all elements of result i. */
void call_store(struct op_call *c, int i, const double *v);

static inline void *element(const struct tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * dtype_bytes(t->dtype);
}
/* Moves index[0..rank) to the next place in row-major order; false after the last. */
bool next_index(int64_t *index, const int64_t *dims, int rank);
/* offsets[i]: where element i of the broadcast shape dims lies in t (numpy rules); NULL and a message
 * when t does not broadcast to it. */
int64_t *broadcast_offsets(struct work *w, const struct tensor *t, const int64_t *dims, int rank);

/* y (m,n) = a (m,k) b (k,n), all dense and row-major, summed in order of k. */
void multiply_f64(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *y);
void multiply_i64(int64_t m, int64_t n, int64_t k, const int64_t *a, const int64_t *b,
                  int64_t *y); /* wraps */
/* n doubles become the integers that they are, in their place. */
void f64_to_i64(void *y, int64_t n);
/* Of matrices that are not small products in f64 are faster, */
bool f64_is_faster(int64_t m, int64_t n, int64_t k);
/* and those of integers are exact in it, if sums of k are whole numbers that it holds. */
bool f64_is_exact(int dtype_a, int dtype_b, int64_t k);

enum { PANEL = F64_PANEL, PANEL_ROWS = F64_ROWS };
/* acc[r][j] = sum over i < k of a[r * stride + i] * b[i][j], r < PANEL_ROWS (rows past `rows`
 * repeat the last). */
void panel_f64(const double *a, int64_t stride, int rows, int64_t k, const double *b,
               double acc[PANEL_ROWS][PANEL]);

/* A shape as outer x n x inner around one axis. */
struct around {
    int64_t outer, n, inner;
};
struct around around_axis(const struct tensor *t, int from,
                          int to); /* n: product of dims [from, to) */

/*
 * A sliding window over the spatial dims. The caller fills n, in and kernel; window_make adds the
 * rest from the attributes strides, dilations, lhs_dilation, pads, auto_pad. Dims may be symbolic
 * with a table t.
 */
struct window {
    int n;
    dim_t in[MAX_RANK], kernel[MAX_RANK];
    dim_t stride[MAX_RANK], dilation[MAX_RANK], lhs_dilation[MAX_RANK];
    dim_t begin[MAX_RANK], end[MAX_RANK]; /* padding; negative crops */
    dim_t out[MAX_RANK];
    int short_of; /* a dim in which the window is larger than the padded image: out is 0 there; -1: none */
};
bool window_make(struct window *w, struct dim_table *t, const struct attrs *as, struct diag *d,
                 bool ceil_mode);
/* Along spatial dim i: elements that a window spans, and those of the image with its padding. */
dim_t window_extent(const struct window *w, struct dim_table *t, int i);
dim_t window_padded(const struct window *w, struct dim_table *t, int i);
/* Fails where the window is larger than the image. */
bool window_has_room(const struct window *w, struct dim_table *t, struct diag *d);
/* Along each dim with steps of least_stride or more the padded image has a whole window, unless the operator may
 * have an empty result; a window of one element has its place in every image. */
bool require_windows(struct infer *f, const struct window *w, int64_t least_stride, bool channels_last);
int64_t window_taps(const struct window *w);
int64_t window_inputs(const struct window *w);  /* input positions */
int64_t window_outputs(const struct window *w); /* output positions */
enum { WINDOW_PAD = -1, WINDOW_OUTSIDE = -2 };
/*
 * at[tap * count + p]: the input position (row-major over spatial dims) that tap sees from output
 * position first + p; WINDOW_PAD in padding and dilation gaps, WINDOW_OUTSIDE beyond the padding
 * (ceil_mode).
 */
void window_positions(const struct window *w, int64_t first, int64_t count, int64_t *at);

/* Images of N,C,spatial... or N,spatial...,C: element = n * image + c * channel + position * pixel.
 */
struct image {
    int64_t n, channels, positions;
    int64_t image, channel, pixel;
};
struct image image_of(const struct tensor *t, bool channels_last);
static inline int channel_axis(int rank, bool channels_last)
{
    return channels_last ? rank - 1 : 1;
}
static inline int spatial_axis(int i, bool channels_last)
{
    return channels_last ? i + 1 : i + 2;
}

/* ---- shape rules ---- */
/* Operand i, when it is there, is a list of n values: a bias, scales. */
bool infer_vector(struct infer *f, int i, dim_t n);
/* Result i has operand j's type. */
bool infer_same(struct infer *f, int i, int j);
/* All shapes unknown: result i with that dtype and unknown rank. */
static inline bool infer_any(struct infer *f, int i, int dtype)
{
    return infer_out(f, i, dtype, RANK_UNKNOWN, NULL);
}
static inline bool rank_known(const struct infer *f, int i)
{
    return has_input(f, i) && f->in[i].rank != RANK_UNKNOWN;
}

#endif
