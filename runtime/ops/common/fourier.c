/*
 * A line of n = p m numbers is p lines of m, every p-th of it, each transformed; then p results at
 * a time come from p of theirs. Lengths with a large prime factor are a convolution of a power of
 * two (Bluestein): with c[k] = e^(sign i pi k^2 / n),
 *
 *   out[k] = c[k] * sum over j of (x[j] c[j]) conj(c[k - j])
 */
#include "runtime/ops/common/fourier.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

enum { MAX_FACTOR = 64 };

struct fourier {
    int64_t n;
    double complex *turns;        /* turns[j]: the root to the power of j */
    double complex *chirp;        /* c; NULL: n has small factors */
    struct fourier *there, *back; /* of the convolution's length */
    double complex *filter;       /* conj(c), transformed, over that length */
    double complex *a, *b;
};

/* Without the detour over infinities that C's product takes. */
static inline double complex times(double complex x, double complex y)
{
    return CMPLX(creal(x) * creal(y) - cimag(x) * cimag(y),
                 creal(x) * cimag(y) + cimag(x) * creal(y));
}

static int64_t min_factor(int64_t n)
{
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

static int64_t largest_factor(int64_t n)
{
    int64_t p = 1;
    for (; n > 1; n /= p)
        p = min_factor(n);
    return p;
}

static double complex turn(double half_turns)
{
    return CMPLX(cos(pi * half_turns), sin(pi * half_turns));
}

/* c, and the transform of its conjugate around 0. */
static bool plan_chirp(struct work *w, struct fourier *f, int sign)
{
    int64_t n = f->n, size = 1;
    while (size < 2 * n - 1)
        size *= 2;
    f->chirp = WORK(w, double complex, n);
    f->filter = WORK(w, double complex, size);
    f->a = WORK(w, double complex, size);
    f->b = WORK(w, double complex, size);
    f->there = fourier_plan(w, size, -1);
    f->back = fourier_plan(w, size, 1);
    if (!f->chirp || !f->filter || !f->a || !f->b || !f->there || !f->back)
        return false;
    for (int64_t k = 0; k < size; k++)
        f->a[k] = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t square = (uint64_t)((unsigned __int128)k * (uint64_t)k % (uint64_t)(2 * n));
        f->chirp[k] = turn(sign * (double)square / (double)n);
        f->a[k] = conj(f->chirp[k]);
        f->a[k ? size - k : 0] = f->a[k];
    }
    fourier_line(f->there, f->a, f->filter);
    return true;
}

struct fourier *fourier_plan(struct work *w, int64_t n, int sign)
{
    struct fourier *f = WORK(w, struct fourier, 1);
    if (!f)
        return NULL;
    *f = (struct fourier){.n = n};
    if (largest_factor(n) > MAX_FACTOR)
        return plan_chirp(w, f, sign) ? f : NULL;
    f->turns = WORK(w, double complex, n);
    for (int64_t j = 0; f->turns && j < n; j++)
        f->turns[j] = turn(sign * 2 * (double)j / (double)n);
    return f->turns ? f : NULL;
}

/* Of n numbers, a divisor of the plan's. */
static void transform(const struct fourier *f, const double complex *x, int64_t stride, int64_t n,
                      double complex *out)
{
    double complex part[MAX_FACTOR];
    int64_t p = min_factor(n), m = n / p, step = f->n / n;
    if (n == 1) {
        *out = *x;
        return;
    }
    for (int64_t r = 0; r < p; r++)
        transform(f, x + r * stride, p * stride, m, out + r * m);
    for (int64_t k = 0; k < m; k++) {
        if (p == 2) {
            double complex odd = times(out[m + k], f->turns[k * step]);
            out[m + k] = out[k] - odd;
            out[k] += odd;
            continue;
        }
        for (int64_t r = 0; r < p; r++)
            part[r] = out[r * m + k];
        for (int64_t to = k; to < n; to += m) {
            double complex sum = part[0];
            for (int64_t r = 1, at = to; r < p; r++, at = (at + to) % n)
                sum += times(part[r], f->turns[at * step]);
            out[to] = sum;
        }
    }
}

void fourier_line(const struct fourier *f, const double complex *x, double complex *out)
{
    if (!f->chirp) {
        transform(f, x, 1, f->n, out);
        return;
    }
    int64_t size = f->there->n;
    for (int64_t k = 0; k < size; k++)
        f->a[k] = k < f->n ? times(x[k], f->chirp[k]) : 0;
    fourier_line(f->there, f->a, f->b);
    for (int64_t k = 0; k < size; k++)
        f->b[k] = times(f->b[k], f->filter[k]);
    fourier_line(f->back, f->b, f->a);
    for (int64_t k = 0; k < f->n; k++)
        out[k] = times(f->a[k], f->chirp[k]) / (double)size;
}
