/* Triangular solutions and Cholesky factors in halves (dense.h). */
#include "runtime/ops/common/dense.h"
#include "runtime/kernels/kernels.h"

void dense_solve(int parts, const double *t, int64_t t_pitch, int64_t n, bool lower, bool unit, double *b,
                 int64_t b_pitch, int64_t cols)
{
    int64_t diagonal = (t_pitch + 1) * parts, line = b_pitch * parts;
    enum { LINES = 4 }; /* one by one */
    if (n > LINES) {
        int64_t h = n > DENSE_BLOCK ? dense_half(n) : LINES;
        int64_t first = lower ? 0 : h, other = lower ? h : 0, size = lower ? h : n - h;
        dense_solve(parts, t + first * diagonal, t_pitch, size, lower, unit, b + first * line, b_pitch, cols);
        dense_take_product(parts, b + other * line, b_pitch, t + (other * t_pitch + first) * parts, t_pitch,
                           b + first * line, b_pitch, n - size, cols, size);
        dense_solve(parts, t + other * diagonal, t_pitch, n - size, lower, unit, b + other * line, b_pitch, cols);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t i = lower ? k : n - 1 - k, first = lower ? 0 : i + 1;
        dense_take_product(parts, b + i * line, b_pitch, t + (i * t_pitch + first) * parts, t_pitch, b + first * line,
                           b_pitch, 1, cols, k);
        if (!unit)
            dense_divide(parts, b + i * line, dense_get(parts, t + i * diagonal), cols);
    }
}

int64_t dense_cholesky(int parts, double *a, int64_t pitch, int64_t n, bool stops)
{
    if (n <= DENSE_BLOCK)
        return dense_cholesky_block(parts, a, pitch, n, stops);
    int64_t h = dense_half(n), rest = n - h;
    double *low = a + h * pitch * parts, *up = a + h * parts;
    int64_t wrong = dense_cholesky(parts, a, pitch, h, stops);
    if (wrong && stops)
        return wrong;
    dense_transpose(parts, up, pitch, low, pitch, rest, h, true);
    dense_solve(parts, a, pitch, h, true, false, up, pitch, rest);
    dense_transpose(parts, low, pitch, up, pitch, h, rest, true);
    for (int64_t i = 0; i < rest; i += F64_PANEL) { /* the half that counts */
        int64_t rows = rest - i < F64_PANEL ? rest - i : F64_PANEL;
        dense_take_product(parts, low + (h + i * pitch) * parts, pitch, low + i * pitch * parts, pitch, up, pitch, rows,
                           i + rows, h);
    }
    int64_t below = dense_cholesky(parts, low + h * parts, pitch, rest, stops);
    return wrong || !below ? wrong : h + below;
}
