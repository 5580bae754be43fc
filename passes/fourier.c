/*
 * pass fourier: transforms of short lines as products with constant matrices, which the Tensor
 * engine multiplies faster than anything halves them. Requires inferred types.
 *
 *   stft   convolution of the signal, one channel for each part of a number, with the windowed
 *          turns of each bin; channels last, so that its results are the bins' parts in order
 *   dft    matrix product of lines of interleaved parts
 *
 * Operands are kept in FP32 whatever products are cast to: spectra span more orders of magnitude
 * than the digits of a short type. Transforms of floats of 16 bits are computed in FP32 and rounded once.
 */
#include "passes/rewrite.h"

#include <math.h>
#include <string.h>

enum { MAX_ELEMENTS = 1 << 21 }; /* of a matrix */

struct transform {
    int64_t length;              /* of the transform */
    int64_t in, out;             /* numbers of a line that are there; that are wanted */
    int64_t parts_in, parts_out; /* 1 real, 2 complex */
    double sign, factor;
    bool mirror;          /* the second half of a line is the conjugate of the first */
    const double *window; /* of `length`; NULL: none */
};

/* What is 0 but for the rounding of pi. */
static double exact_zero(double x)
{
    return fabs(x) < 1e-15 ? 0 : x;
}

/*
 * The matrix of t: how much part p of number j adds to part q of result k, at
 * [(j * parts_in + p) * row + (k * parts_out + q) * column].
 */
static double *matrix(struct graph *g, const struct transform *t, int64_t row, int64_t column)
{
    int64_t n = t->length, rows = t->in * t->parts_in, columns = t->out * t->parts_out;
    double *m = ARENA_ARRAY(&g->arena, double, (size_t)(rows * columns));
    double *co = ARENA_ARRAY(&g->arena, double, (size_t)n);
    double *si = ARENA_ARRAY(&g->arena, double, (size_t)n);
    memset(m, 0, sizeof *m * (size_t)(rows * columns));
    for (int64_t i = 0; i < n; i++) {
        double angle = t->sign * 6.283185307179586477 * (double)i / (double)n;
        co[i] = t->factor * exact_zero(cos(angle)), si[i] = t->factor * exact_zero(sin(angle));
    }
    for (int64_t i = 0; i < n; i++) {
        bool conjugate = t->mirror && i > n / 2, real = t->mirror && (i == 0 || 2 * i == n);
        int64_t j = conjugate ? n - i : i;
        double w = t->window ? t->window[i] : 1, imaginary = real ? 0 : conjugate ? -w : w;
        for (int64_t k = 0; k < t->out && j < t->in; k++) {
            double c = co[i * k % n], s = si[i * k % n];
            double *at = m + j * t->parts_in * row + k * t->parts_out * column;
            at[0] += w * c;
            if (t->parts_out > 1)
                at[column] += w * s;
            if (t->parts_in > 1)
                at[row] -= imaginary * s;
            if (t->parts_in > 1 && t->parts_out > 1)
                at[row + column] += imaginary * c;
        }
    }
    return m;
}

static bool small(const struct transform *t)
{
    return t->length > 0 && t->in > 0 && t->out > 0 && t->length <= MAX_ELEMENTS &&
           t->in * t->parts_in <= MAX_ELEMENTS / (t->out * t->parts_out);
}

static bool is_parts(dim_t d)
{
    return d == 1 || d == 2;
}

/* An integer operand that is known; `otherwise` when it is absent. */
static bool known_number(const struct node *n, int i, int64_t otherwise, int64_t *v)
{
    const struct value *x = i < n->nin ? n->in[i] : NULL;
    *v = otherwise;
    if (!x)
        return true;
    if (x->constant && tensor_count(x->constant) == 1)
        *v = tensor_i64(x->constant, 0);
    else if (x->content.n == 1 && dim_is_const(x->content.v[0]))
        *v = x->content.v[0];
    else
        return false;
    return true;
}

/* x with its last dims replaced by the given ones; the first `kept` stay. */
static struct value *reshape(struct node *at, struct value *x, int kept, int64_t first, int64_t second,
                             struct diag *d)
{
    struct builder b = builder_before(at, d);
    int64_t dims[MAX_RANK] = {0};
    dims[kept] = first, dims[kept + 1] = second;
    return b_reshape_to(&b, x, dims, kept + (second ? 2 : 1));
}

/* x in the given type, which may be its own. */
static struct value *in_type(struct node *at, struct value *x, int dtype, struct diag *d)
{
    struct builder b = builder_before(at, d);
    return !x || x->type.dtype == dtype ? x : b_cast(&b, x, dtype);
}

/* ---- stft ---- */

static bool windowed(const struct node *n, const struct transform *t)
{
    const struct value *w = n->nin > 2 ? n->in[2] : NULL;
    return !w || (w->constant && tensor_count(w->constant) == t->length);
}

static bool stft(struct graph *g, struct node *n, const struct options *o, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    int64_t step, whole = x->rank > 1 && dim_is_const(x->dims[1]) ? x->dims[1] : -1;
    if (!dtype_is_engine_float(x->dtype) || (x->rank != 2 && x->rank != 3) || y->rank != 4 ||
        !known_number(n, 1, 0, &step) || step < 1 || !dim_is_const(y->dims[2]))
        return true;
    if (n->nin > 2 && n->in[2] && n->in[2]->constant)
        whole = tensor_count(n->in[2]->constant);
    struct transform t = {.out = y->dims[2], .parts_in = x->rank == 3 ? x->dims[2] : 1};
    t.parts_out = 2, t.sign = -1, t.factor = 1;
    if (!is_parts(t.parts_in) || !known_number(n, 3, whole, &t.length))
        return true;
    t.in = t.length;
    if (!small(&t) || !windowed(n, &t))
        return true;
    if (n->nin > 2 && n->in[2])
        t.window = constant_doubles(g, n->in[2]);
    int64_t out_channels = t.out * t.parts_out, dims[3] = {out_channels, t.parts_in, t.length};
    double *turns = matrix(g, &t, 1, t.length * t.parts_in);
    double *weights = ARENA_ARRAY(&g->arena, double, (size_t)(out_channels * t.parts_in * t.length));
    for (int64_t k = 0; k < out_channels; k++) /* channels outside, as weights of convolutions are */
        for (int64_t p = 0; p < t.parts_in; p++)
            for (int64_t j = 0; j < t.length; j++)
                weights[(k * t.parts_in + p) * t.length + j] =
                    turns[k * t.length * t.parts_in + j * t.parts_in + p];
    struct attrs as = {0};
    attr_set_ints(&g->arena, &as, "strides", &step, 1);
    attr_set_int(&g->arena, &as, "channels_last", 1);
    attr_set_int(&g->arena, &as, "keep_fp32", 1);
    struct value *wide = in_type(n, n->in[0], DT_F32, d);
    struct value *signal = x->rank == 3 ? wide : reshape(n, wide, 2, 1, 0, d);
    struct value *in[] = {signal, constant_floats(g, DT_F32, 3, dims, weights, NULL)};
    struct value *bins = signal ? b_op(&b, OP_conv, in, 2, &as) : NULL;
    why(o, n, "fourier.stft", "a convolution with the windowed turns of %lld bins",
        (long long)t.out);
    return node_replace(n, in_type(n, reshape(n, bins, 2, t.out, t.parts_out, d), y->dtype, d));
}

/* ---- dft ---- */

/* The permutation that swaps the axis and the last dim but one. */
static struct value *swapped(struct node *at, struct value *x, int64_t axis, int rank,
                             struct diag *d)
{
    struct builder b = builder_before(at, d);
    int64_t perm[MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 2 : i == rank - 2 ? axis : i;
    return axis == rank - 2 ? x : b_permute(&b, x, perm);
}

static bool dft(struct graph *g, struct node *n, const struct options *o, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    bool inverse = attr_int(&n->attrs, "inverse", 0) != 0;
    int rank = x->rank;
    int64_t axis, length;
    if (!dtype_is_engine_float(x->dtype) || rank < 2 || y->rank != rank ||
        !known_number(n, 2, attr_int(&n->attrs, "axis", -2), &axis))
        return true;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank - 2 || !dim_is_const(x->dims[axis]) ||
        !dim_is_const(y->dims[axis]) || !is_parts(x->dims[rank - 1]))
        return true;
    struct transform t = {.in = x->dims[axis],
                          .out = y->dims[axis],
                          .parts_in = x->dims[rank - 1],
                          .parts_out = y->dims[rank - 1],
                          .sign = inverse ? 1 : -1};
    t.mirror = inverse && attr_int(&n->attrs, "onesided", 0);
    if (!known_number(n, 1, t.mirror ? t.out : t.in, &length))
        return true;
    t.length = t.mirror ? t.out : length;
    if (!small(&t))
        return true;
    t.factor = inverse ? 1 / (double)t.length : 1;
    int64_t dims[2] = {t.in * t.parts_in, t.out * t.parts_out};
    struct value *m = constant_floats(g, DT_F32, 2, dims, matrix(g, &t, dims[1], 1), NULL);
    struct value *wide = in_type(n, n->in[0], DT_F32, d), *lines = wide ? swapped(n, wide, axis, rank, d) : NULL;
    lines = rank > 2 ? reshape(n, lines, rank - 2, dims[0], 0, d)
                     : reshape(n, lines, 0, 1, dims[0], d); /* a row */
    struct attrs as = {0};
    attr_set_int(&g->arena, &as, "keep_fp32", 1);
    struct value *in[] = {lines, m};
    struct value *bins = lines ? b_op(&b, OP_matmul, in, 2, &as) : NULL;
    bins = reshape(n, bins, rank - 2, t.out, t.parts_out, d);
    why(o, n, "fourier.dft", "a product with a matrix of turns");
    return node_replace(n, bins ? in_type(n, swapped(n, bins, axis, rank, d), y->dtype, d) : NULL);
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *w = user;
    return n->op == OP_stft  ? stft(w->g, n, w->o, w->d)
           : n->op == OP_dft ? dft(w->g, n, w->o, w->d)
                             : true;
}

bool pass_fourier(struct graph *g, const struct options *o, struct diag *d)
{
    return for_each_node(g->main, visit, &(struct rewriter){g, o, d});
}
