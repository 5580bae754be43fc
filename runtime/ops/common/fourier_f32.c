/*
 * Lines that lie side by side are transformed together, a step for each factor (runtime/kernels/fourier.inc). A long
 * line of n = a b numbers lies in memory as b lines of a numbers side by side: with w = e^(sign 2 pi i / n),
 *
 *   out[k + a m] = sum over j < b of w^(a j m) (w^(j k) sum over i < a of w^(b i k) x[b i + j])
 *
 * are transforms of those, a factor for each number, and transforms of the transposed. Real lines of an even number n
 * are complex ones of half the length.
 */
#include "runtime/ops/common/fourier_f32.h"
#include "runtime/ops/common/fourier.h"

#include <math.h>

enum {
    MAX_FACTOR = 7,
    MAX_LENGTH = 1 << 22,
    MIN_LONG = 256,      /* numbers of a line that is divided */
    MIN_PART = 16,       /* of its parts: a vector */
    MAX_LINES = 16,      /* short rows that are transposed and transformed together */
    MAX_NUMBERS = 16384, /* of lines side by side */
    APART = 32,          /* numbers between arrays: of a length that is a power of two, all would lie in one set */
};

/* Real and imaginary parts: number k of line l at [k * pitch + l]. */
struct planes {
    float *re, *im;
    int64_t pitch;
};

struct roots {
    int64_t n;
    float *turns; /* e^(sign 2 pi i j / n), in pairs */
};

struct fourier_f32 {
    enum fourier_kind kind;
    int64_t m; /* numbers of the complex line that is transformed */
    int sign;
    struct roots a, b;    /* b.n 1: the line is not divided */
    struct planes middle; /* w^(j k) at [k * b.n + j] */
    struct planes turns;  /* e^(sign pi i k / m), k < m; of real lines */
    int64_t lines;        /* how many go together */
    struct planes place[3];
    float *pairs; /* short rows, transposed: line l of their number i at [i * lines + l] */
};

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int steps_of(int64_t n)
{
    int steps = 0;
    for (; n > 1; n /= fourier_radix(n))
        steps++;
    return steps;
}

bool fourier_f32_admits(int64_t n, enum fourier_kind kind)
{
    return n >= 4 && n <= MAX_LENGTH && (kind == FOURIER_COMPLEX || n % 2 == 0) && fourier_max_radix(n) <= MAX_FACTOR;
}

/* ---- plans ---- */

/* The lines that a long one is divided into: the fewest steps, then the nearest to as many as each has numbers. */
static int64_t divide(int64_t n)
{
    int64_t best = 1;
    int fewest = 0;
    for (int64_t b = MIN_PART; n >= MIN_LONG && b * b <= n; b++) {
        int steps = n % b ? 0 : steps_of(b) + steps_of(n / b);
        if (steps && (!fewest || steps <= fewest))
            best = b, fewest = steps;
    }
    return best;
}

static void turn(double *co, double *si, int sign, int64_t j, int64_t n)
{
    const double angle = 2 * 3.14159265358979323846 * (double)j / (double)n;
    *co = cos(angle), *si = sign * sin(angle);
}

static bool plan_roots(struct work *w, struct roots *r, int64_t n, int sign)
{
    *r = (struct roots){n, WORK(w, float, 2 * n)};
    for (int64_t j = 0; r->turns && j < n; j++) {
        double co, si;
        turn(&co, &si, sign, j, n);
        r->turns[2 * j] = (float)co, r->turns[2 * j + 1] = (float)si;
    }
    return r->turns != NULL;
}

static bool plan_planes(struct work *w, struct planes *p, int64_t n)
{
    float *at = WORK(w, float, 2 * n + APART);
    *p = (struct planes){.re = at, .im = at ? at + n + APART : NULL, .pitch = 1};
    return at != NULL;
}

/* Powers of v = e^(sign 2 pi i / n), a row from the row before, in double. `raised`: v^(j r) at column j of row r, else
 * v^(j + r * columns). */
static bool plan_powers(struct work *w, struct planes *p, int64_t rows, int64_t columns, int64_t n, int sign,
                        bool raised)
{
    double *v = WORK(w, double, 4 * columns);
    if (!v || !plan_planes(w, p, rows * columns))
        return false;
    double *re = v, *im = v + columns, *by_re = im + columns, *by_im = by_re + columns;
    for (int64_t j = 0; j < columns; j++) {
        turn(&re[j], &im[j], sign, raised ? 0 : j, n);
        turn(&by_re[j], &by_im[j], sign, raised ? j : columns, n);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < columns; j++) {
            const double x = re[j], y = im[j];
            p->re[r * columns + j] = (float)x, p->im[r * columns + j] = (float)y;
            re[j] = x * by_re[j] - y * by_im[j], im[j] = x * by_im[j] + y * by_re[j];
        }
    return true;
}

/* For all lines that go together; a real one has a number more. */
static bool plan_places(struct work *w, struct fourier_f32 *f)
{
    for (int i = 0; i < 3; i++)
        if (!plan_planes(w, &f->place[i], (f->m + 1) * f->lines))
            return false;
    return true;
}

struct fourier_f32 *fourier_f32_plan(struct work *w, int64_t n, int sign, enum fourier_kind kind)
{
    enum { COLUMNS = 64 };
    struct fourier_f32 *f = WORK(w, struct fourier_f32, 1);
    if (!f)
        return NULL;
    const int64_t m = kind == FOURIER_COMPLEX ? n : n / 2, b = divide(m);
    *f = (struct fourier_f32){.kind = kind, .m = m, .sign = sign, .lines = b > 1 ? 1 : MAX_LINES};
    const bool planned =
        plan_roots(w, &f->a, m / b, sign) && plan_roots(w, &f->b, b, sign) &&
        (b == 1 || plan_powers(w, &f->middle, m / b, b, m, sign, true)) &&
        (kind == FOURIER_COMPLEX || plan_powers(w, &f->turns, m / COLUMNS + 1, COLUMNS, n, sign, false)) &&
        plan_places(w, f) && (f->pairs = WORK(w, float, b > 1 ? 1 : 2 * (m + 1) * f->lines));
    return planned ? f : NULL;
}

struct fourier_f32 *fourier_f32_plan_across(struct work *w, int64_t n, int sign, int64_t lines)
{
    struct fourier_f32 *f = WORK(w, struct fourier_f32, 1);
    if (!f)
        return NULL;
    const int64_t max = MAX_NUMBERS / n > MAX_LINES ? MAX_NUMBERS / n : MAX_LINES, times = (lines + max - 1) / max;
    *f = (struct fourier_f32){.m = n, .sign = sign, .lines = (lines + times - 1) / times, .b.n = 1};
    return plan_roots(w, &f->a, n, sign) && plan_places(w, f) ? f : NULL;
}

/* ---- transforms ---- */

/* Lines side by side, which are in neither of two places; the result is in one of these. */
static struct planes steps(const struct roots *r, int sign, struct planes x, int64_t lines, const struct planes *places)
{
    struct fourier_step s = {.re = x.re, .im = x.im, .to_re = places[0].re, .to_im = places[0].im, .turns = r->turns,
                             .sign = sign, .length = (size_t)r->n, .pitch = (size_t)x.pitch};
    fourier_steps(FOURIER_F32, &s, r->n, lines, places[1].re, places[1].im);
    x = s.re == places[1].re ? places[1] : places[0];
    x.pitch = lines;
    return x;
}

/* x: `count` lines, not in the first two places; a long line in the third. The result is in one of the first two. */
static struct planes transform(const struct fourier_f32 *f, struct planes x, int64_t count)
{
    const int64_t a = f->a.n, b = f->b.n;
    if (b == 1)
        return steps(&f->a, f->sign, x, count, f->place);
    x.pitch = b;
    struct planes z = steps(&f->a, f->sign, x, b, f->place), t = f->place[2];
    kernels_get()->complex_multiply(z.re, z.im, f->middle.re, f->middle.im, (size_t)(a * b));
    kernels_get()->transpose(t.re, a, z.re, b, (size_t)a, (size_t)b, sizeof(float));
    kernels_get()->transpose(t.im, a, z.im, b, (size_t)a, (size_t)b, sizeof(float));
    t.pitch = a;
    z = steps(&f->b, f->sign, t, a, f->place);
    z.pitch = 1;
    return z;
}

/* ---- real lines ---- */

static struct planes number(struct planes p, int64_t k)
{
    return (struct planes){p.re + k * p.pitch, p.im + k * p.pitch, p.pitch};
}

/*
 * Of a complex line Z of m numbers and the transform X of the real line that lies in memory as Z's own origin, with
 * v = e^(sign pi i / m), k > 0:
 *
 *   2 X[k] = Z[k] + conj(Z[m - k]) - i v^k (Z[k] - conj(Z[m - k]))
 *   2 Z[k] = X[k] + conj(X[m - k]) + i v^k (X[k] - conj(X[m - k])), backward
 *
 * Numbers 1 to m - 1 of one from the other: of a long line together, of short lines each of all lines.
 */
static void fold(const struct fourier_f32 *f, struct planes from, struct planes to, int64_t count, float sign,
                 float factor)
{
    const int64_t m = f->m;
    const bool along = f->lines == 1;
    for (int64_t k = 1; k < (along ? at_most(m, 2) : m); k++) {
        const struct planes x = number(from, k), mirrored = number(from, m - k), v = number(f->turns, k);
        const struct planes y = number(to, k);
        kernels_get()->complex_fold(&(struct complex_fold){
            .re = x.re, .im = x.im, .mirrored_re = mirrored.re, .mirrored_im = mirrored.im,
            .turn_re = v.re, .turn_im = v.im, .to_re = y.re, .to_im = y.im,
            .sign = sign, .factor = factor, .n = (size_t)(along ? m - 1 : count), .along = along});
    }
}

/* X, to number m, from Z. */
static void to_spectrum(const struct fourier_f32 *f, struct planes z, struct planes x, int64_t count, float factor)
{
    const struct planes last = number(x, f->m);
    for (int64_t l = 0; l < count; l++) {
        const float re = z.re[l], im = z.im[l];
        x.re[l] = (re + im) * factor, last.re[l] = (re - im) * factor;
        x.im[l] = last.im[l] = 0;
    }
    fold(f, z, x, count, -1, factor / 2);
}

/* Twice Z from X, whose first and last numbers are real. */
static void from_spectrum(const struct fourier_f32 *f, struct planes x, struct planes z, int64_t count)
{
    for (int64_t l = 0; l < count; l++) {
        const float first = x.re[l], last = number(x, f->m).re[l];
        z.re[l] = first + last, z.im[l] = first - last;
    }
    fold(f, x, z, count, 1, 1);
}

/* ---- lines in memory ---- */

/* A line in parts, in the third place. */
static void long_row(struct fourier_f32 *f, const float *x, float *y, float factor)
{
    struct planes in = f->place[2];
    const struct kernel_table *k = kernels_get();
    const size_t m = (size_t)f->m;
    if (f->kind == FOURIER_TO_REAL) {
        k->complex_part(f->place[0].re, f->place[0].im, x, m + 1);
        from_spectrum(f, f->place[0], in, 1);
    } else {
        k->complex_part(in.re, in.im, x, m);
    }
    const struct planes z = transform(f, in, 1);
    if (f->kind == FOURIER_FROM_REAL) {
        to_spectrum(f, z, in, 1, factor);
        k->complex_pair(y, in.re, in.im, m + 1, 1);
    } else {
        k->complex_pair(y, z.re, z.im, m, factor);
    }
}

/* Rows turned, so that they lie side by side. */
static void short_rows(struct fourier_f32 *f, const float *x, int64_t x_row, float *y, int64_t y_row, int64_t count,
                       float factor)
{
    const struct planes turned = {f->pairs, f->pairs + count, 2 * count};
    struct planes in = turned;
    kernels_get()->transpose(f->pairs, count, x, x_row, (size_t)count, (size_t)x_row, sizeof *x);
    if (f->kind == FOURIER_TO_REAL) {
        in = f->place[2];
        in.pitch = count;
        from_spectrum(f, turned, in, count);
    }
    const struct planes z = transform(f, in, count);
    if (f->kind == FOURIER_FROM_REAL)
        to_spectrum(f, z, turned, count, factor);
    for (int64_t k = 0; f->kind != FOURIER_FROM_REAL && k < f->m; k++)
        for (int64_t l = 0; l < count; l++) {
            turned.re[k * turned.pitch + l] = z.re[k * count + l] * factor;
            turned.im[k * turned.pitch + l] = z.im[k * count + l] * factor;
        }
    kernels_get()->transpose(y, y_row, f->pairs, count, (size_t)y_row, (size_t)count, sizeof *y);
}

void fourier_f32_rows(struct fourier_f32 *f, const float *x, float *y, int64_t rows, double factor)
{
    const int64_t x_row = 2 * (f->m + (f->kind == FOURIER_TO_REAL));
    const int64_t y_row = 2 * (f->m + (f->kind == FOURIER_FROM_REAL));
    for (int64_t r = 0, count; r < rows; r += count, x += count * x_row, y += count * y_row) {
        count = at_most(f->lines, rows - r);
        if (f->lines == 1)
            long_row(f, x, y, (float)factor);
        else
            short_rows(f, x, x_row, y, y_row, count, (float)factor);
    }
}

void fourier_f32_across(struct fourier_f32 *f, float *x, int64_t lines, double factor)
{
    const struct kernel_table *k = kernels_get();
    struct planes in = f->place[2];
    for (int64_t at = 0, count; at < lines; at += count) {
        count = in.pitch = at_most(f->lines, lines - at);
        for (int64_t i = 0; i < f->m; i++)
            k->complex_part(in.re + i * count, in.im + i * count, x + 2 * (i * lines + at), (size_t)count);
        const struct planes z = transform(f, in, count);
        for (int64_t i = 0; i < f->m; i++)
            k->complex_pair(x + 2 * (i * lines + at), z.re + i * count, z.im + i * count, (size_t)count, (float)factor);
    }
}
