/*
 * Elementary reflectors H = I - tau v v*, v[0] = 1, in double. v and tau are chosen as LAPACK does:
 * H* x = (beta, 0, ...) with a real beta of the other sign than x[0]'s real part.
 */
#include "runtime/ops/common/dense.h"
#include "runtime/ops/linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The length of a line. */
static double length_of(int parts, const double *x, int64_t n)
{
    double square = creal(dense_dot(parts, x, x, n, true)), length = 0;
    if (square > DBL_MIN / (DBL_EPSILON * DBL_EPSILON) && square < DBL_MAX * DBL_EPSILON)
        return sqrt(square); /* which has lost nothing to overflow or underflow */
    for (int64_t i = 0; i < n * parts; i++)
        length = hypot(length, x[i]);
    return length;
}

/* x[0..n) becomes beta and the rest of v; tau. */
static void reflector(int parts, double *x, int64_t n, double *tau)
{
    double complex alpha = n > 0 ? dense_get(parts, x) : 0;
    double rest = n > 1 ? length_of(parts, x + parts, n - 1) : 0;
    dense_put(parts, tau, 0);
    if (rest == 0 && cimag(alpha) == 0)
        return;
    double beta = -copysign(hypot(cabs(alpha), rest), creal(alpha));
    dense_scale(parts, x + parts, 1 / (alpha - beta), n - 1);
    dense_put(parts, x, beta);
    dense_put(parts, tau, (beta - alpha) / beta);
}

/* y[0..n) becomes (I - tau* v v*) y; v[0] counts as 1. */
static void reflect(int parts, const double *v, const double *tau, int64_t n, double *y)
{
    double complex first = dense_get(parts, y), factor = conj(dense_get(parts, tau));
    factor = dense_times(factor, first + dense_dot(parts, v + parts, y + parts, n - 1, true));
    dense_put(parts, y, first - factor);
    dense_take(parts, y + parts, v + parts, factor, n - 1);
}

enum { TOGETHER = 16 }; /* reflectors that are applied as one */

/* Some of neighbouring columns, of matrices of m rows; they meet rows from `first` on. */
struct reflectors {
    int parts;
    int64_t m, first, count;
    double *lines;   /* v*, [TOGETHER][m], from row `first` on */
    double *columns; /* v, [m][TOGETHER] */
    double *between; /* -v* v, [TOGETHER][TOGETHER] */
    double *x;       /* [TOGETHER][cols] */
};

/* Memory for them and for `cols` columns of what they meet, and `more` elements; false after a failure. */
static bool take_reflectors(struct linalg_call *c, struct reflectors *r, int64_t m, int64_t cols, int64_t more)
{
    int64_t part = TOGETHER * m * c->parts;
    double *all = linalg_scratch(c, TOGETHER * (2 * m + TOGETHER + cols) + more), *columns = all + part;
    double *between = columns + part;
    *r = (struct reflectors){c->parts, m, 0, 0, all, columns, between, between + TOGETHER * TOGETHER * c->parts};
    return all != NULL;
}

/* From columns of a matrix, at most as many as there are up to `end`. */
static void load_lines(struct reflectors *r, const double *a, int64_t pitch, int64_t first, int64_t end)
{
    r->first = first;
    r->count = end - first < TOGETHER ? end - first : TOGETHER;
    dense_transpose(r->parts, r->lines, r->m, a + first * (pitch + 1) * r->parts, pitch, r->m - first, r->count, false);
}

/* From lines that hold v, 1 left out. */
static void make_reflectors(struct reflectors *r)
{
    int64_t length = r->m - r->first;
    for (int64_t j = 0; j < r->count; j++) {
        double *line = r->lines + j * r->m * r->parts;
        memset(line, 0, (size_t)(j * r->parts) * sizeof *line);
        dense_put(r->parts, line + j * r->parts, 1);
        for (int64_t i = 1; r->parts > 1 && i < 2 * length; i += 2)
            line[i] = -line[i];
    }
    dense_transpose(r->parts, r->columns, TOGETHER, r->lines, r->m, r->count, length, true);
    memset(r->between, 0, (size_t)(TOGETHER * TOGETHER * r->parts) * sizeof *r->between);
    dense_take_product(r->parts, r->between, TOGETHER, r->lines, r->m, r->columns, TOGETHER, r->count, r->count,
                       length);
}

/*
 * y (m, cols) becomes H1 H2 ... y, or, `adjoint`, ... H2* H1* y. With V the reflectors and X = V* y, each row of X
 * loses what the reflectors before it take, and y loses V X.
 */
static void apply(struct reflectors *r, const double *tau, bool adjoint, double *y, int64_t pitch, int64_t cols)
{
    int parts = r->parts;
    int64_t length = r->m - r->first;
    y += r->first * pitch * parts;
    memset(r->x, 0, (size_t)(r->count * cols * parts) * sizeof *y);
    dense_take_product(parts, r->x, cols, r->lines, r->m, y, pitch, r->count, cols, length);
    for (int64_t k = 0; k < r->count; k++) {
        int64_t j = adjoint ? k : r->count - 1 - k;
        double complex factor = dense_get(parts, tau + (r->first + j) * parts);
        double *row = r->x + j * cols * parts;
        for (int64_t i = 0; i < k; i++) {
            int64_t p = adjoint ? i : r->count - 1 - i;
            double complex met = dense_get(parts, r->between + (j * TOGETHER + p) * parts);
            dense_take(parts, row, r->x + p * cols * parts, met, cols);
        }
        dense_scale(parts, row, -(adjoint ? conj(factor) : factor), cols);
    }
    dense_take_product(parts, y, pitch, r->columns, TOGETHER, r->x, cols, length, cols, r->count);
}

bool own_geqrf(struct linalg_call *c)
{
    int64_t m = c->m, n = c->n, line = (m + 1) * c->parts;
    double *a = c->out[0], *tau = c->out[1];
    struct reflectors r;
    if (!take_reflectors(c, &r, m, n, 0))
        return false;
    linalg_overwrite(c, 0, 0);
    for (int64_t first = 0; first < c->k; first += TOGETHER) {
        load_lines(&r, a, n, first, c->k);
        for (int64_t j = 0; j < r.count; j++) {
            double *v = r.lines + j * line, *factor = tau + (first + j) * c->parts;
            reflector(c->parts, v, m - first - j, factor);
            for (int64_t q = 1; q < r.count - j; q++)
                reflect(c->parts, v, factor, m - first - j, v + q * m * c->parts);
        }
        int64_t end = first + r.count;
        dense_transpose(c->parts, a + first * (n + 1) * c->parts, n, r.lines, m, r.count, m - first, false);
        if (end < n) {
            make_reflectors(&r);
            apply(&r, tau, true, a + end * c->parts, n, n - end);
        }
    }
    return true;
}

/* Reflectors that are operand i's columns, with their factors behind it. `square`: what they meet is 0 left of their
 * own columns. */
static void apply_all(struct linalg_call *c, struct reflectors *r, bool adjoint, double *y, int64_t cols, bool square)
{
    int64_t all = c->in_count[1] < c->k ? c->in_count[1] : c->k, blocks = (all + TOGETHER - 1) / TOGETHER;
    for (int64_t i = 0; i < blocks; i++) {
        int64_t first = (adjoint ? i : blocks - 1 - i) * TOGETHER, left = square ? first : 0;
        load_lines(r, c->in[0], c->n, first, all);
        make_reflectors(r);
        apply(r, c->in[1], adjoint, y + left * c->parts, cols, cols - left);
    }
}

bool own_orgqr(struct linalg_call *c)
{
    struct reflectors r;
    if (!take_reflectors(c, &r, c->m, c->n, 0))
        return false;
    for (int64_t j = 0; j < c->k; j++)
        ((double *)c->out[0])[j * (c->n + 1) * c->parts] = 1;
    apply_all(c, &r, false, c->out[0], c->n, true);
    return true;
}

/* The reflectors are columns of a matrix of m rows: as many as the side of c they meet. From the right they are the
 * adjoint of their product from the left. */
bool own_ormqr(struct linalg_call *c)
{
    bool left = linalg_job(c, "left", 1) != 0, adjoint = (linalg_job(c, "transpose", 0) != 0) == left;
    int64_t m = c->m, cols = left ? c->s : c->r;
    struct reflectors r;
    if (m != (left ? c->r : c->s))
        return fail(c->w->d, "reflectors of %lld elements do not fit a matrix of %lld x %lld",
                    (long long)m, (long long)c->r, (long long)c->s);
    if (!take_reflectors(c, &r, m, cols, left ? 0 : m * cols))
        return false;
    double *y = left ? c->out[0] : r.x + TOGETHER * cols * c->parts;
    if (left)
        linalg_overwrite(c, 0, 2);
    else
        dense_transpose(c->parts, y, cols, c->in[2], m, cols, m, true);
    apply_all(c, &r, adjoint, y, cols, false);
    if (!left)
        dense_transpose(c->parts, c->out[0], m, y, cols, m, cols, true);
    return true;
}

bool own_gehrd(struct linalg_call *c)
{
    int parts = c->parts;
    int64_t n = c->n, line = n * parts;
    double *v = linalg_scratch(c, 3 * n), *adjoint = v + line, *w = adjoint + line, *tau = c->out[1];
    if (!v)
        return false;
    linalg_overwrite(c, 0, 0);
    for (int64_t j = 0; j + 1 < n; j++) {
        int64_t length = n - j - 1;
        double *below = (double *)c->out[0] + (j + 1) * line + j * parts, *right = below + parts;
        dense_transpose(parts, v, n, below, n, length, 1, false);
        reflector(parts, v, length, tau + j * parts);
        dense_transpose(parts, below, n, v, n, 1, length, false);
        dense_put(parts, v, 1);
        dense_transpose(parts, adjoint, 1, v, 1, length, 1, true);
        double complex factor = dense_get(parts, tau + j * parts);
        for (int64_t i = -j - 1; i < length; i++) { /* rows y become y - tau (y v) v* */
            double complex dot = dense_dot(parts, v, right + i * line, length, false);
            dense_take(parts, right + i * line, adjoint, dense_times(factor, dot), length);
        }
        memset(w, 0, linalg_bytes(c, length));
        for (int64_t i = 0; i < length; i++)
            dense_take(parts, w, right + i * line, -dense_get(parts, adjoint + i * parts), length);
        for (int64_t i = 0; i < length; i++) /* w is v* a */
            dense_take(parts, right + i * line, w, dense_times(conj(factor), dense_get(parts, v + i * parts)), length);
    }
    return true;
}
