/*
 * Fourier transforms of lines of floats, in FP32: complex numbers are pairs of real and imaginary part. Lengths whose
 * factors are small; others are transformed in double (fourier.h).
 */
#ifndef RUNTIME_OPS_FOURIER_F32_H
#define RUNTIME_OPS_FOURIER_F32_H

#include "runtime/ops/common/numeric.h"

/* What lines of n numbers are: complex; real, of which the result has the first n / 2 + 1 numbers; or the first
 * n / 2 + 1 numbers of a symmetric line, whose result is real. */
enum fourier_kind { FOURIER_COMPLEX, FOURIER_FROM_REAL, FOURIER_TO_REAL };

/* What transforms of one length share; not for several threads at a time. */
struct fourier_f32;

bool fourier_f32_admits(int64_t n, enum fourier_kind kind);
/* For n that are admitted. sign -1: forward, 1: backward. NULL after a failure. */
struct fourier_f32 *fourier_f32_plan(struct work *w, int64_t n, int sign, enum fourier_kind kind);
/* For `lines` complex lines of n numbers that lie side by side. */
struct fourier_f32 *fourier_f32_plan_across(struct work *w, int64_t n, int sign, int64_t lines);

/* out[k] = factor * sum over j of x[j] e^(sign 2 pi i jk / n), for each of `rows` lines one after the other. */
void fourier_f32_rows(struct fourier_f32 *f, const float *x, float *y, int64_t rows, double factor);
/* The same of lines side by side, in their place: number j of line l is the pair at [j * lines + l]. */
void fourier_f32_across(struct fourier_f32 *f, float *x, int64_t lines, double factor);

#endif
