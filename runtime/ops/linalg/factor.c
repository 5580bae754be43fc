/* Triangular factors, tridiagonal solutions and permutations, in double. */
#include "runtime/ops/linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Cholesky ---- */

/* Element (i, j) of the lower factor. When the upper half is kept it lies at (j, i), conjugate: the
 * same sums give it. */
static double complex *place(double complex *a, int64_t n, bool lower, int64_t i, int64_t j)
{
    return lower ? &a[i + j * n] : &a[j + i * n];
}

bool own_potrf(struct linalg_call *c)
{
    double complex *a = c->out[0], *info = c->out[1];
    int64_t n = c->n;
    bool lower = linalg_job(c, "uplo", 'L') == 'L';
    memcpy(a, c->in[0], sizeof *a * (size_t)(n * n));
    for (int64_t j = 0; j < n; j++) {
        double d = creal(*place(a, n, lower, j, j));
        for (int64_t p = 0; p < j; p++) {
            double complex v = *place(a, n, lower, j, p);
            d -= creal(v * conj(v));
        }
        if (!(d > 0)) { /* NaN too */
            info[0] = (double)(j + 1);
            return true;
        }
        d = sqrt(d);
        *place(a, n, lower, j, j) = d;
        for (int64_t i = j + 1; i < n; i++) {
            double complex s = *place(a, n, lower, i, j);
            for (int64_t p = 0; p < j; p++) {
                double complex x = *place(a, n, lower, i, p), y = *place(a, n, lower, j, p);
                s -= x * conj(y);
            }
            *place(a, n, lower, i, j) = s / d;
        }
    }
    return true;
}

/* ---- L U ---- */

/* What LAPACK compares: |re| + |im|. */
static double size_of(double complex x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

bool own_getrf(struct linalg_call *c)
{
    double complex *a = c->out[0], *pivots = c->out[1], *info = c->out[2];
    int64_t m = c->m, n = c->n;
    memcpy(a, c->in[0], sizeof *a * (size_t)(m * n));
    for (int64_t j = 0; j < c->k; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < m; i++)
            if (size_of(a[i + j * m]) > size_of(a[best + j * m]))
                best = i;
        pivots[j] = (double)(best + 1);
        if (a[best + j * m] == 0) {
            if (info[0] == 0)
                info[0] = (double)(j + 1);
            continue;
        }
        for (int64_t q = 0; best != j && q < n; q++) {
            double complex swap = a[j + q * m];
            a[j + q * m] = a[best + q * m];
            a[best + q * m] = swap;
        }
        for (int64_t i = j + 1; i < m; i++)
            a[i + j * m] /= a[j + j * m];
        for (int64_t q = j + 1; q < n; q++)
            for (int64_t i = j + 1; i < m; i++)
                a[i + q * m] -= a[i + j * m] * a[j + q * m];
    }
    return true;
}

bool own_pivots(struct linalg_call *c)
{
    const double complex *pivots = c->in[0];
    double complex *to = c->out[0];
    memcpy(to, c->in[1], sizeof *to * (size_t)c->in_count[1]);
    for (int64_t i = 0; i < c->in_count[0]; i++) {
        double p = creal(pivots[i]);
        if (!(p >= 0 && p < (double)c->in_count[1]) || i >= c->in_count[1])
            return fail(c->w->d, "row exchange %lld is with row %g of %lld", (long long)i, p,
                        (long long)c->in_count[1]);
        double complex swap = to[i];
        to[i] = to[(int64_t)p];
        to[(int64_t)p] = swap;
    }
    return true;
}

/* ---- tridiagonal systems ---- */

/* dl[i], d[i], du[i]: row i's elements left of, on and right of the diagonal; dl[0] and du[n-1] are not
 * part of it. Elimination fills second[i], right of du[i]. */
struct tridiagonal {
    int64_t n, sides;
    double complex *dl, *d, *du, *second, *b;
};

static void exchange(double complex *x, double complex *y)
{
    double complex t = *x;
    *x = *y, *y = t;
}

/* Exchanges rows i and i + 1 where that gives the larger pivot, then eliminates below it. */
static void eliminate(struct tridiagonal *t, int64_t i)
{
    bool third = i + 2 < t->n;
    if (size_of(t->d[i]) < size_of(t->dl[i + 1])) {
        exchange(&t->d[i], &t->dl[i + 1]);
        exchange(&t->du[i], &t->d[i + 1]);
        t->second[i] = third ? t->du[i + 1] : 0;
        if (third)
            t->du[i + 1] = 0;
        for (int64_t q = 0; q < t->sides; q++)
            exchange(&t->b[i + q * t->n], &t->b[i + 1 + q * t->n]);
    }
    if (t->d[i] == 0) /* so is what is below it */
        return;
    double complex f = t->dl[i + 1] / t->d[i];
    t->d[i + 1] -= f * t->du[i];
    if (third)
        t->du[i + 1] -= f * t->second[i];
    for (int64_t q = 0; q < t->sides; q++)
        t->b[i + 1 + q * t->n] -= f * t->b[i + q * t->n];
}

static void substitute_back(struct tridiagonal *t)
{
    for (int64_t q = 0; q < t->sides; q++)
        for (int64_t i = t->n - 1; i >= 0; i--) {
            double complex x = t->b[i + q * t->n];
            if (i + 1 < t->n)
                x -= t->du[i] * t->b[i + 1 + q * t->n];
            if (i + 2 < t->n)
                x -= t->second[i] * t->b[i + 2 + q * t->n];
            t->b[i + q * t->n] = x / t->d[i];
        }
}

/* By elimination with exchanges of neighbouring rows. */
bool own_gtsv(struct linalg_call *c)
{
    struct tridiagonal t = {c->r,      c->s,      c->out[0],
                            c->out[1], c->out[2], WORK(c->w, double complex, c->r),
                            c->out[3]};
    double complex *info = c->out[4];
    if (!t.second)
        return false;
    for (int i = 0; i < 4; i++)
        memcpy(c->out[i], c->in[i], sizeof *t.d * (size_t)c->in_count[i]);
    for (int64_t i = 0; i < t.n; i++) {
        if (i + 1 < t.n)
            eliminate(&t, i);
        if (t.d[i] == 0) {
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
    struct tridiagonal t = {.n = c->r, .sides = c->s, .b = c->out[0]};
    double complex **copy[] = {&t.dl, &t.d, &t.du}, **all[] = {&t.d, &t.du, &t.second};
    for (int i = 0; i < 3; i++) {
        if (!(*copy[i] = WORK(c->w, double complex, t.n + 1)))
            return false;
        memcpy(*copy[i], c->in[i], sizeof *t.d * (size_t)c->in_count[i]);
    }
    if (!(t.second = WORK(c->w, double complex, t.n + 1)))
        return false;
    memcpy(t.b, c->in[3], sizeof *t.b * (size_t)c->in_count[3]);
    if (t.n > 0)
        t.du[t.n - 1] = 0;
    for (int64_t i = 0; i + 1 < t.n; i++)
        eliminate(&t, i);
    double largest = 0;
    for (int i = 0; i < 3; i++)
        for (int64_t k = 0; k < t.n; k++)
            largest = fmax(largest, cabs((*all[i])[k]));
    bool wide = c->dtype == DT_F64 || c->dtype == DT_C128;
    double min = largest > 0 ? (wide ? DBL_EPSILON : FLT_EPSILON) * largest
                   : wide      ? DBL_MIN
                               : FLT_MIN;
    for (int64_t k = 0; k < t.n; k++)
        if (cabs(t.d[k]) < min)
            t.d[k] = creal(t.d[k]) < 0 ? -min : min;
    substitute_back(&t);
    return true;
}
