/* Lines and products of dense matrices (dense.h). */
#include "runtime/ops/common/dense.h"
#include "runtime/ops/common/numeric.h"

#include <float.h>
#include <string.h>

typedef double complex number;

/* ---- lines ---- */

static void take_complex(number *restrict y, const number *restrict x, number f, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] -= dense_times(f, x[i]);
}

static void take_real(double *restrict y, const double *restrict x, double f, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] -= f * x[i];
}

void dense_take(int parts, double *y, const double *x, number f, int64_t n)
{
    if (parts > 1)
        take_complex((number *)y, (const number *)x, f, n);
    else
        take_real(y, x, creal(f), n);
}

void dense_scale(int parts, double *x, number f, int64_t n)
{
    for (int64_t i = 0; parts > 1 && i < n; i++)
        ((number *)x)[i] = dense_times(((number *)x)[i], f);
    for (int64_t i = 0; parts == 1 && i < n; i++)
        x[i] *= creal(f);
}

void dense_divide(int parts, double *x, number f, int64_t n)
{
    double square = creal(f) * creal(f) + cimag(f) * cimag(f);
    if (parts > 1 && square > DBL_MIN / DBL_EPSILON && square < DBL_MAX * DBL_EPSILON) {
        dense_scale(parts, x, conj(f), n);
        for (int64_t i = 0; i < 2 * n; i++)
            x[i] /= square;
        return;
    }
    for (int64_t i = 0; parts > 1 && i < n; i++)
        ((number *)x)[i] /= f;
    for (int64_t i = 0; parts == 1 && i < n; i++)
        x[i] /= creal(f);
}

void dense_exchange(int parts, double *x, double *y, int64_t n)
{
    for (int64_t i = 0; i < n * parts; i++) {
        double t = x[i];
        x[i] = y[i], y[i] = t;
    }
}

static double real_dot(const double *x, const double *y, int64_t n)
{
    typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
    enum { PAIRS = 8 };
    pair sum[PAIRS] = {{0}};
    double rest = 0;
    int64_t i = 0;
    for (; i + 2 * PAIRS <= n; i += 2 * PAIRS)
        for (int p = 0; p < PAIRS; p++)
            sum[p] += *(const pair *)(x + i + 2 * p) * *(const pair *)(y + i + 2 * p);
    for (; i < n; i++)
        rest += x[i] * y[i];
    for (int p = 1; p < PAIRS; p++)
        sum[0] += sum[p];
    return sum[0][0] + sum[0][1] + rest;
}

number dense_dot(int parts, const double *x, const double *y, int64_t n, bool conjugate)
{
    if (parts == 1)
        return real_dot(x, y, n);
    double rr = 0, ii = 0, ri = 0, ir = 0;
    for (int64_t i = 0; i < 2 * n; i += 2) {
        rr += x[i] * y[i];
        ii += x[i + 1] * y[i + 1];
        ri += x[i] * y[i + 1];
        ir += x[i + 1] * y[i];
    }
    return conjugate ? CMPLX(rr + ii, ri - ir) : CMPLX(rr - ii, ri + ir);
}

/* ---- matrices ---- */

void dense_transpose(int parts, double *y, int64_t y_pitch, const double *x, int64_t x_pitch, int64_t rows,
                     int64_t cols, bool conjugate)
{
    for (int64_t first = 0; first < rows; first += DENSE_BLOCK) { /* as many lines as a cache holds */
        int64_t end = first + DENSE_BLOCK < rows ? first + DENSE_BLOCK : rows;
        for (int64_t j = 0; j < cols; j++) {
            for (int64_t i = first; parts == 1 && i < end; i++)
                y[j * y_pitch + i] = x[i * x_pitch + j];
            for (int64_t i = first; parts > 1 && i < end; i++) {
                number v = ((const number *)x)[i * x_pitch + j];
                ((number *)y)[j * y_pitch + i] = conjugate ? conj(v) : v;
            }
        }
    }
}

enum { DEPTH = 64 }; /* rows of a panel, which stay in cache with rows of the first matrix */

/* Rows of -b. A complex number of the first matrix is there as its two parts, and so is what they are multiplied by:
 * -b, and -i b. */
static void load_panel(double (*panel)[F64_PANEL], int parts, const double *b, int64_t pitch, int64_t width,
                       int64_t depth)
{
    for (int64_t i = 0; i < depth; i++) {
        const double *from = b + i / parts * pitch;
        if (i % parts)
            for (int64_t j = 0; j < width; j += 2)
                panel[i][j] = from[j + 1], panel[i][j + 1] = -from[j];
        else
            for (int64_t j = 0; j < width; j++)
                panel[i][j] = -from[j];
        for (int64_t j = width; j < F64_PANEL; j++)
            panel[i][j] = 0;
    }
}

/* All in doubles: y (rows, n), a (rows, k). */
static void take_panels(int parts, double *y, int64_t y_pitch, const double *a, int64_t a_pitch, const double *b,
                        int64_t b_pitch, int64_t rows, int64_t n, int64_t k)
{
    double panel[DEPTH][F64_PANEL], part[F64_ROWS][F64_PANEL];
    const struct kernel_table *t = kernels_get();
    for (int64_t j = 0; j < n; j += F64_PANEL)
        for (int64_t p = 0; p < k; p += DEPTH) {
            int64_t width = n - j < F64_PANEL ? n - j : F64_PANEL, depth = k - p < DEPTH ? k - p : DEPTH;
            bool whole = width == F64_PANEL;
            load_panel(panel, parts, b + p / parts * b_pitch + j, b_pitch, width, depth);
            for (int64_t i = 0; i < rows; i += F64_ROWS) {
                int64_t some = rows - i < F64_ROWS ? rows - i : F64_ROWS;
                double *to = y + i * y_pitch + j;
                for (int64_t r = 0; r < some && !whole; r++)
                    memcpy(part[r], to + r * y_pitch, (size_t)width * sizeof *y);
                t->panel_f64(whole ? to : part[0], whole ? y_pitch : F64_PANEL, a + i * a_pitch + p, a_pitch,
                             (size_t)some, (const double(*)[F64_PANEL])panel, (size_t)depth, true);
                for (int64_t r = 0; r < some && !whole; r++)
                    memcpy(to + r * y_pitch, part[r], (size_t)width * sizeof *y);
            }
        }
}

void dense_take_product(int parts, double *y, int64_t y_pitch, const double *a, int64_t a_pitch, const double *b,
                        int64_t b_pitch, int64_t rows, int64_t cols, int64_t k)
{
    enum { WIDE = 12 };
    y_pitch *= parts, a_pitch *= parts;
    if (rows >= F64_ROWS && k >= F64_ROWS && cols * parts >= WIDE) {
        take_panels(parts, y, y_pitch, a, a_pitch, b, b_pitch * parts, rows, cols * parts, k * parts);
        return;
    }
    for (int64_t i = 0; i < rows; i++, y += y_pitch, a += a_pitch)
        if (cols == 1 && b_pitch == 1)
            dense_put(parts, y, dense_get(parts, y) - dense_dot(parts, a, b, k, false));
        else
            for (int64_t p = 0; p < k; p++)
                dense_take(parts, y, b + p * b_pitch * parts, dense_get(parts, a + p * parts), cols);
}
