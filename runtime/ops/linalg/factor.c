/* Triangular factors, tridiagonal solutions and permutations, in double. */
#include "runtime/ops/common/dense.h"
#include "runtime/ops/linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Cholesky ---- */

/* The half `uplo` of a matrix becomes the factor in it, the other one stays as it was. */
bool own_potrf(struct linalg_call *c)
{
    int parts = c->parts;
    double *a = c->out[0], *info = c->out[1], *low = linalg_scratch(c, c->n * c->n);
    int64_t n = c->n;
    bool lower = linalg_job(c, "uplo", 'L') == 'L';
    if (!low)
        return false;
    linalg_overwrite(c, 0, 0);
    if (lower)
        memcpy(low, a, linalg_bytes(c, n * n));
    else
        dense_transpose(parts, low, n, a, n, n, n, true);
    info[0] = (double)dense_cholesky(parts, low, n, n, true);
    for (int64_t i = 0; i < n; i++)
        if (lower)
            memcpy(a + i * n * parts, low + i * n * parts, linalg_bytes(c, i + 1));
        else
            dense_transpose(parts, a + i * parts, n, low + i * n * parts, n, 1, i + 1, true);
    return true;
}

/* ---- L U ---- */

/* What the factor's columns [first, end) leave of the columns up to `last`. */
static void eliminate_columns(struct linalg_call *c, int64_t first, int64_t end, int64_t last)
{
    int64_t n = c->n, count = end - first;
    double *a = (double *)c->out[0] + first * (n + 1) * c->parts, *right = a + count * c->parts,
           *below = a + count * n * c->parts;
    dense_solve(c->parts, a, n, count, true, true, right, n, last - end);
    dense_take_product(c->parts, below + count * c->parts, n, below, n, right, n, c->m - end, last - end, count);
}

static void factor(struct linalg_call *c, int64_t first, int64_t end)
{
    double *info = c->out[2];
    if (end - first <= DENSE_BLOCK) {
        int64_t wrong = dense_factor_columns(c->parts, c->out[0], c->n, c->m, first, end, c->out[1]);
        if (info[0] == 0)
            info[0] = (double)wrong;
        return;
    }
    int64_t middle = first + dense_half(end - first);
    factor(c, first, middle);
    eliminate_columns(c, first, middle, end);
    factor(c, middle, end);
}

bool own_getrf(struct linalg_call *c)
{
    linalg_overwrite(c, 0, 0);
    factor(c, 0, c->k);
    if (c->k < c->n)
        eliminate_columns(c, 0, c->k, c->n);
    return true;
}

bool own_pivots(struct linalg_call *c)
{
    const double *pivots = c->in[0];
    double *to = c->out[0];
    linalg_overwrite(c, 0, 1);
    for (int64_t i = 0; i < c->in_count[0]; i++) {
        double p = pivots[i * c->parts];
        if (!(p >= 0 && p < (double)c->in_count[1]) || i >= c->in_count[1])
            return fail(c->w->d, "row exchange %lld is with row %g of %lld", (long long)i, p,
                        (long long)c->in_count[1]);
        dense_exchange(c->parts, to + i * c->parts, to + (int64_t)p * c->parts, 1);
    }
    return true;
}

/* ---- tridiagonal systems ---- */

/* dl[i], d[i], du[i]: row i's elements left of, on and right of the diagonal; dl[0] and du[n-1] are not
 * part of it. Elimination fills second[i], right of du[i]. */
struct tridiagonal {
    int64_t n, sides;
    int parts;
    double *dl, *d, *du, *second, *b;
};

static bool is_zero(double complex x)
{
    return creal(x) == 0 && cimag(x) == 0;
}

/* What LAPACK compares. */
static double size_of(double complex x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

/* Exchanges rows i and i + 1 where that gives the larger pivot, then eliminates below it. */
static void eliminate(struct tridiagonal *t, int64_t i)
{
    bool third = i + 2 < t->n;
    int parts = t->parts;
    double *row = t->b + i * t->sides * parts, *next = row + t->sides * parts;
    double *d = t->d + i * parts, *du = t->du + i * parts, *second = t->second + i * parts;
    double *left = t->dl + (i + 1) * parts;
    dense_put(parts, second, 0);
    if (size_of(dense_get(parts, d)) < size_of(dense_get(parts, left))) {
        dense_exchange(parts, d, left, 1);
        dense_exchange(parts, du, d + parts, 1);
        if (third)
            dense_exchange(parts, second, du + parts, 1);
        dense_exchange(parts, row, next, t->sides);
    }
    if (is_zero(dense_get(parts, d))) /* so is what is below it */
        return;
    double complex f = dense_get(parts, left) / dense_get(parts, d);
    dense_take(parts, d + parts, du, f, 1);
    if (third)
        dense_take(parts, du + parts, second, f, 1);
    dense_take(parts, next, row, f, t->sides);
}

static void substitute_back(struct tridiagonal *t)
{
    int parts = t->parts;
    for (int64_t i = t->n - 1, line = t->sides * parts; i >= 0; i--) {
        double *row = t->b + i * line;
        if (i + 1 < t->n)
            dense_take(parts, row, row + line, dense_get(parts, t->du + i * parts), t->sides);
        if (i + 2 < t->n)
            dense_take(parts, row, row + 2 * line, dense_get(parts, t->second + i * parts), t->sides);
        dense_divide(parts, row, dense_get(parts, t->d + i * parts), t->sides);
    }
}

/* By elimination with exchanges of neighbouring rows. */
bool own_gtsv(struct linalg_call *c)
{
    double *info = c->out[4], *second = linalg_scratch(c, c->r);
    struct tridiagonal t = {c->r, c->s, c->parts, c->out[0], c->out[1], c->out[2], second, c->out[3]};
    if (!second)
        return false;
    for (int i = 0; i < 4; i++)
        linalg_overwrite(c, i, i);
    for (int64_t i = 0; i < t.n; i++) {
        if (i + 1 < t.n)
            eliminate(&t, i);
        if (is_zero(dense_get(t.parts, t.d + i * t.parts))) {
            info[0] = (double)(i + 1);
            return true;
        }
    }
    substitute_back(&t);
    return true;
}

/* The same; pivots that are small against the largest element of the triangular factor become as large
 * as rounding errors of it, so that there always is a finite solution. */
bool own_gtsv_perturbed(struct linalg_call *c)
{
    int64_t n = c->r, size = (n + 1) * c->parts;
    double *all = linalg_scratch(c, 4 * (n + 1));
    struct tridiagonal t = {n, c->s, c->parts, all, all + size, all + 2 * size, all + 3 * size, c->out[0]};
    if (!all)
        return false;
    for (int i = 0; i < 3; i++)
        memcpy(all + i * size, c->in[i], linalg_bytes(c, n));
    memset(t.second, 0, linalg_bytes(c, n));
    linalg_overwrite(c, 0, 3);
    if (n > 0)
        dense_put(t.parts, t.du + (n - 1) * t.parts, 0);
    for (int64_t i = 0; i + 1 < n; i++)
        eliminate(&t, i);
    double largest = 0;
    for (int64_t k = 0; k < 3 * (n + 1); k++) /* of d, du and second, each with one element more */
        if (k % (n + 1) < n)
            largest = fmax(largest, cabs(dense_get(t.parts, t.d + k * t.parts)));
    bool wide = c->dtype == DT_F64 || c->dtype == DT_C128;
    double min = largest > 0 ? (wide ? DBL_EPSILON : FLT_EPSILON) * largest
                   : wide      ? DBL_MIN
                               : FLT_MIN;
    for (int64_t k = 0; k < n; k++) {
        double complex d = dense_get(t.parts, t.d + k * t.parts);
        if (cabs(d) < min)
            dense_put(t.parts, t.d + k * t.parts, creal(d) < 0 ? -min : min);
    }
    substitute_back(&t);
    return true;
}
