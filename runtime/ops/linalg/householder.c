/*
 * Elementary reflectors H = I - tau v v*, v[0] = 1, in double. v and tau are chosen as LAPACK does:
 * H* x = (beta, 0, ...) with a real beta of the other sign than x[0]'s real part.
 */
#include "runtime/ops/linalg/linalg.h"

#include <math.h>
#include <string.h>

/* x[0..n) becomes beta and the rest of v; returns tau. */
static double complex reflector(double complex *x, int64_t n)
{
    double rest = 0;
    for (int64_t i = 1; i < n; i++)
        rest = hypot(rest, cabs(x[i]));
    double complex alpha = n > 0 ? x[0] : 0;
    if (rest == 0 && cimag(alpha) == 0)
        return 0;
    double beta = -copysign(hypot(cabs(alpha), rest), creal(alpha));
    double complex scale = 1 / (alpha - beta);
    for (int64_t i = 1; i < n; i++)
        x[i] *= scale;
    x[0] = beta;
    return (beta - alpha) / beta;
}

/* y[0..n) becomes (I - tau v v*) y; v[0] counts as 1, elements of y are `step` apart. */
static void reflect(const double complex *v, double complex tau, int64_t n, double complex *y,
                    int64_t step)
{
    double complex dot = y[0];
    for (int64_t i = 1; i < n; i++)
        dot += conj(v[i]) * y[i * step];
    dot *= tau;
    y[0] -= dot;
    for (int64_t i = 1; i < n; i++)
        y[i * step] -= dot * v[i];
}

/* y* becomes y* (I - tau v v*): a row. */
static void reflect_row(const double complex *v, double complex tau, int64_t n, double complex *y,
                        int64_t step)
{
    double complex dot = y[0];
    for (int64_t i = 1; i < n; i++)
        dot += y[i * step] * v[i];
    dot *= tau;
    y[0] -= dot;
    for (int64_t i = 1; i < n; i++)
        y[i * step] -= dot * conj(v[i]);
}

bool own_geqrf(struct linalg_call *c)
{
    int64_t m = c->m, n = c->n;
    double complex *a = c->out[0], *tau = c->out[1];
    memcpy(a, c->in[0], sizeof *a * (size_t)(m * n));
    for (int64_t j = 0; j < c->k; j++) {
        double complex *v = a + j + j * m;
        tau[j] = reflector(v, m - j);
        for (int64_t q = j + 1; q < n; q++)
            reflect(v, conj(tau[j]), m - j, a + j + q * m, 1);
    }
    return true;
}

bool own_orgqr(struct linalg_call *c)
{
    int64_t m = c->m, n = c->n, count = c->in_count[1];
    const double complex *a = c->in[0], *tau = c->in[1];
    double complex *q = c->out[0];
    for (int64_t j = 0; j < n && j < m; j++)
        q[j + j * m] = 1;
    for (int64_t i = (count < c->k ? count : c->k) - 1; i >= 0; i--)
        for (int64_t j = 0; j < n; j++)
            reflect(a + i + i * m, tau[i], m - i, q + i + j * m, 1);
    return true;
}

/* The reflectors are columns of a matrix of m rows: as many as the side of c they meet. */
bool own_ormqr(struct linalg_call *c)
{
    bool left = linalg_job(c, "left", 1) != 0, adjoint = linalg_job(c, "transpose", 0) != 0;
    int64_t count = c->in_count[1] < c->k ? c->in_count[1] : c->k, rows = c->r, cols = c->s;
    const double complex *a = c->in[0], *tau = c->in[1];
    double complex *y = c->out[0];
    if (c->m != (left ? rows : cols))
        return fail(c->w->d, "reflectors of %lld elements do not fit a matrix of %lld x %lld",
                    (long long)c->m, (long long)rows, (long long)cols);
    memcpy(y, c->in[2], sizeof *y * (size_t)(rows * cols));
    for (int64_t i = 0; i < count; i++) {
        int64_t j = left == adjoint ? i : count - 1 - i;
        const double complex *v = a + j + j * c->m;
        double complex t = adjoint ? conj(tau[j]) : tau[j];
        for (int64_t q = 0; left && q < cols; q++)
            reflect(v, t, c->m - j, y + j + q * rows, 1);
        for (int64_t p = 0; !left && p < rows; p++)
            reflect_row(v, t, c->m - j, y + p + j * rows, rows);
    }
    return true;
}

bool own_gehrd(struct linalg_call *c)
{
    int64_t n = c->n;
    double complex *a = c->out[0], *tau = c->out[1];
    memcpy(a, c->in[0], sizeof *a * (size_t)(n * n));
    for (int64_t j = 0; j + 1 < n; j++) {
        double complex *v = a + j + 1 + j * n;
        int64_t length = n - j - 1;
        tau[j] = reflector(v, length);
        for (int64_t p = 0; p < n; p++)
            reflect_row(v, tau[j], length, a + p + (j + 1) * n, n);
        for (int64_t q = j + 1; q < n; q++)
            reflect(v, conj(tau[j]), length, a + j + 1 + q * n, 1);
    }
    return true;
}
