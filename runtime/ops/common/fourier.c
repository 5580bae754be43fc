/*
 * A line of n numbers is transformed by a step for each of its factors (runtime/kernels/fourier.inc); lines that lie
 * side by side, together. Lengths with a large prime factor are a convolution of a power of two (Bluestein): with
 * c[k] = e^(sign i pi k^2 / n),
 *
 *   out[k] = c[k] * sum over j of (x[j] c[j]) conj(c[k - j])
 *
 * n real numbers, n even, are n / 2 complex ones, whose transform Z holds those of the even and of the odd places, both
 * symmetric:
 *
 *   2 even[k] = Z[k] + conj(Z[n / 2 - k]), 2 i odd[k] = Z[k] - conj(Z[n / 2 - k])
 *   out[k] = even[k] + e^(sign 2 pi i k / n) odd[k]
 */
#include "runtime/ops/common/fourier.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

enum {
    MAX_FACTOR = 64,
    MAX_LINES = 8,       /* together: rows a power of two apart meet in a few places of a cache */
    MAX_NUMBERS = 16384, /* of lines that are transformed together: in two places, half a megabyte */
    APART = 128,         /* numbers between arrays: of a length that is a power of two, all would lie in one set */
};

struct fourier {
    int64_t n;
    int sign;
    struct fourier_lines lines;
    double *to_re, *to_im;        /* what a step makes of lines.re, lines.im */
    int64_t circle;               /* how many turns: n, or 2 n in a plan for as many real numbers */
    double *turns;                /* the root to the power of j: turns[2 j] + i turns[2 j + 1] */
    double complex *chirp;        /* c; NULL: n has small factors */
    struct fourier *there, *back; /* of the convolution's length */
    double complex *filter;       /* conj(c), transformed, over that length */
};

/* Without the detour over infinities that C's product takes. */
static inline double complex times(double complex x, double complex y)
{
    return CMPLX(creal(x) * creal(y) - cimag(x) * cimag(y),
                 creal(x) * cimag(y) + cimag(x) * creal(y));
}

int64_t fourier_radix(int64_t n)
{
    if (n % 4 == 0)
        return 4;
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

int64_t fourier_max_radix(int64_t n)
{
    int64_t max = 1, p;
    for (; n > 1; n /= p) {
        p = fourier_radix(n);
        max = p > max ? p : max;
    }
    return max;
}

void fourier_steps(enum fourier_type type, struct fourier_step *s, int64_t n, int64_t lines, void *re, void *im)
{
    for (int64_t left = n; left > 1; left /= (int64_t)s->radix) {
        s->radix = (size_t)fourier_radix(left);
        s->groups = (size_t)left / s->radix;
        s->width = (size_t)(n / left * lines);
        s->pitch = left == n ? s->pitch : s->width;
        s->turn_step = s->length / (size_t)left;
        kernels_get()->fourier_step[type](s);
        void *to_re = re, *to_im = im;
        s->re = re = s->to_re, s->im = im = s->to_im;
        s->to_re = to_re, s->to_im = to_im;
    }
}

static double complex turn(double half_turns)
{
    return CMPLX(cos(pi * half_turns), sin(pi * half_turns));
}

/* c, and the transform of its conjugate around 0. */
static bool plan_chirp(struct work *w, struct fourier *f)
{
    int64_t n = f->n, size = 1;
    while (size < 2 * n - 1)
        size *= 2;
    f->chirp = WORK(w, double complex, n);
    f->filter = WORK(w, double complex, size);
    f->there = fourier_plan(w, size, f->lines.max, -1);
    f->back = fourier_plan(w, size, f->lines.max, 1);
    if (!f->chirp || !f->filter || !f->there || !f->back)
        return false;
    f->lines.max = f->there->lines.max;
    struct fourier_lines *a = &f->there->lines;
    for (int64_t k = 0; k < size; k++)
        a->re[k] = a->im[k] = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t square = (uint64_t)((unsigned __int128)k * (uint64_t)k % (uint64_t)(2 * n));
        f->chirp[k] = turn(f->sign * (double)square / (double)n);
        int64_t mirrored = k ? size - k : 0;
        a->re[k] = a->re[mirrored] = creal(f->chirp[k]);
        a->im[k] = a->im[mirrored] = -cimag(f->chirp[k]);
    }
    fourier_transform(f->there, 1);
    for (int64_t k = 0; k < size; k++)
        f->filter[k] = CMPLX(a->re[k] / (double)size, a->im[k] / (double)size);
    return true;
}

static void put_turn(double *turns, int64_t j, double co, double si)
{
    turns[2 * j] = co, turns[2 * j + 1] = si;
}

/* Sines and cosines of an eighth of the circle where four divides n, of a quarter where two does, else of half of it;
 * the others are mirrored. */
static void fill_turns(double *t, int64_t n, int sign)
{
    int64_t computed = n % 4 == 0 ? n / 8 : n % 2 == 0 ? n / 4 : n / 2, j = 0;
    for (; j <= computed; j++) {
        double complex v = turn(2 * (double)j / (double)n);
        put_turn(t, j, creal(v), cimag(v));
    }
    for (; n % 4 == 0 && j <= n / 4; j++)
        put_turn(t, j, t[2 * (n / 4 - j) + 1], t[2 * (n / 4 - j)]);
    for (; n % 2 == 0 && j <= n / 2; j++)
        put_turn(t, j, -t[2 * (n / 2 - j)], t[2 * (n / 2 - j) + 1]);
    for (; j < n; j++)
        put_turn(t, j, t[2 * (n - j)], -t[2 * (n - j) + 1]);
    for (j = 0; sign < 0 && j < n; j++)
        t[2 * j + 1] = -t[2 * j + 1];
}

static struct fourier *plan(struct work *w, int64_t n, int64_t lines, int sign, int64_t circle)
{
    struct fourier *f = WORK(w, struct fourier, 1);
    if (!f)
        return NULL;
    int64_t max = lines < MAX_LINES ? lines : MAX_LINES;
    if (max > MAX_NUMBERS / n)
        max = MAX_NUMBERS / n;
    *f = (struct fourier){.n = n, .sign = sign, .circle = circle, .lines.max = max > 1 ? max : 1};
    if (fourier_max_radix(n) > MAX_FACTOR && !plan_chirp(w, f))
        return NULL;
    int64_t size = n * f->lines.max + APART;
    double *numbers = WORK(w, double, (f->chirp ? 2 : 4) * size);
    if (!numbers)
        return NULL;
    f->lines.re = numbers, f->lines.im = numbers + size;
    if (!f->chirp)
        f->to_re = numbers + 2 * size, f->to_im = numbers + 3 * size;
    else if (circle == n) /* its steps are those of other plans */
        return f;
    f->turns = WORK(w, double, 2 * circle);
    if (!f->turns)
        return NULL;
    fill_turns(f->turns, circle, sign);
    return f;
}

struct fourier *fourier_plan(struct work *w, int64_t n, int64_t lines, int sign)
{
    return plan(w, n, lines, sign, n);
}

struct fourier *fourier_plan_real(struct work *w, int64_t n, int64_t lines, int sign)
{
    return plan(w, n / 2, lines, sign, n);
}

struct fourier_lines *fourier_lines(struct fourier *f)
{
    return &f->lines;
}

double complex fourier_real(const struct fourier *f, int64_t count, int64_t line, int64_t k)
{
    const int64_t a = (k < f->n ? k : 0) * count + line, b = (k ? f->n - k : 0) * count + line;
    const double *re = f->lines.re, *im = f->lines.im, co = f->turns[2 * k], si = f->turns[2 * k + 1];
    double even_re = re[a] + re[b], even_im = im[a] - im[b], odd_re = im[a] + im[b], odd_im = re[b] - re[a];
    return CMPLX((even_re + (co * odd_re - si * odd_im)) / 2, (even_im + (co * odd_im + si * odd_re)) / 2);
}

/* Numbers times c, and zeros up to the length of the convolution; those times the filter; and their first n times c. */
static void convolve(struct fourier *f, int64_t count)
{
    const struct fourier_lines *x = &f->lines, *a = &f->there->lines, *b = &f->back->lines;
    for (int64_t i = 0; i < f->there->n * count; i++) {
        double complex v = i < f->n * count ? times(CMPLX(x->re[i], x->im[i]), f->chirp[i / count]) : 0;
        a->re[i] = creal(v), a->im[i] = cimag(v);
    }
    fourier_transform(f->there, count);
    for (int64_t i = 0; i < f->there->n * count; i++) {
        double complex v = times(CMPLX(a->re[i], a->im[i]), f->filter[i / count]);
        b->re[i] = creal(v), b->im[i] = cimag(v);
    }
    fourier_transform(f->back, count);
    for (int64_t i = 0; i < f->n * count; i++) {
        double complex v = times(CMPLX(b->re[i], b->im[i]), f->chirp[i / count]);
        x->re[i] = creal(v), x->im[i] = cimag(v);
    }
}

/* Lines of two numbers: a sum and a difference. A step would multiply by 1 + 0i, which makes NaN of an infinity. */
static void transform_pairs(struct fourier *f, int64_t count)
{
    double *re = f->lines.re, *im = f->lines.im;
    for (int64_t i = 0; i < count; i++) {
        double first_re = re[i], first_im = im[i];
        re[i] += re[count + i], im[i] += im[count + i];
        re[count + i] = first_re - re[count + i], im[count + i] = first_im - im[count + i];
    }
}

void fourier_transform(struct fourier *f, int64_t count)
{
    if (f->chirp || f->n == 2) {
        (f->chirp ? convolve : transform_pairs)(f, count);
        return;
    }
    struct fourier_step s = {.re = f->lines.re, .im = f->lines.im, .to_re = f->to_re, .to_im = f->to_im,
                             .turns = f->turns, .sign = f->sign, .length = (size_t)f->circle, .pitch = (size_t)count};
    fourier_steps(FOURIER_F64, &s, f->n, count, f->lines.re, f->lines.im);
    if (s.re == f->to_re) {
        double *re = f->lines.re, *im = f->lines.im;
        f->lines.re = f->to_re, f->lines.im = f->to_im;
        f->to_re = re, f->to_im = im;
    }
}

void fourier_line(struct fourier *f, const double complex *x, double complex *out)
{
    for (int64_t k = 0; k < f->n; k++)
        f->lines.re[k] = creal(x[k]), f->lines.im[k] = cimag(x[k]);
    fourier_transform(f, 1);
    for (int64_t k = 0; k < f->n; k++)
        out[k] = CMPLX(f->lines.re[k], f->lines.im[k]);
}
