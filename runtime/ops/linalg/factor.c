/* Triangular factors, tridiagonal solutions and permutations, in double. */
#include "runtime/ops/linalg/linalg.h"

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

/* By elimination with exchanges of neighbouring rows. dl[i], d[i], du[i]: row i's elements left of,
 * on and right of the diagonal; dl[0] and du[r-1] are not part of it. */
bool own_gtsv(struct linalg_call *c)
{
    int64_t n = c->r, sides = c->s;
    double complex *dl = c->out[0], *d = c->out[1], *du = c->out[2], *b = c->out[3],
                   *info = c->out[4], *second = WORK(c->w, double complex, n);
    if (!second)
        return false;
    for (int i = 0; i < 4; i++)
        memcpy(c->out[i], c->in[i], sizeof *d * (size_t)c->in_count[i]);
    for (int64_t i = 0; i + 1 < n; i++) {
        if (size_of(d[i]) < size_of(dl[i + 1])) { /* exchange rows i and i + 1 */
            double complex t = d[i];
            d[i] = dl[i + 1], dl[i + 1] = t;
            t = du[i], du[i] = d[i + 1], d[i + 1] = t;
            second[i] = i + 2 < n ? du[i + 1] : 0;
            if (i + 2 < n)
                du[i + 1] = 0;
            for (int64_t q = 0; q < sides; q++)
                t = b[i + q * n], b[i + q * n] = b[i + 1 + q * n], b[i + 1 + q * n] = t;
        }
        if (d[i] == 0) {
            info[0] = (double)(i + 1);
            return true;
        }
        double complex f = dl[i + 1] / d[i];
        d[i + 1] -= f * du[i];
        if (i + 2 < n)
            du[i + 1] -= f * second[i];
        for (int64_t q = 0; q < sides; q++)
            b[i + 1 + q * n] -= f * b[i + q * n];
    }
    if (n > 0 && d[n - 1] == 0) {
        info[0] = (double)n;
        return true;
    }
    for (int64_t q = 0; q < sides; q++)
        for (int64_t i = n - 1; i >= 0; i--) {
            double complex x = b[i + q * n];
            if (i + 1 < n)
                x -= du[i] * b[i + 1 + q * n];
            if (i + 2 < n)
                x -= second[i] * b[i + 2 + q * n];
            b[i + q * n] = x / d[i];
        }
    return true;
}
