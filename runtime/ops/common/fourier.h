/*
 * Fourier transforms of lines of any length, in double.
 */
#ifndef RUNTIME_OPS_FOURIER_H
#define RUNTIME_OPS_FOURIER_H

#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/kernels/kernels.h"

/* What transforms of one length share; not for several threads at a time. */
struct fourier;

/* Of n > 0 numbers; sign -1: forward, 1: backward, not divided by n. Up to `lines` lines are transformed together, as
 * many as a cache holds. NULL after a failure. */
struct fourier *fourier_plan(struct work *w, int64_t n, int64_t lines, int sign);

/* How many lines go together, and where: number j of line l at [j * count + l], where count are transformed. */
struct fourier_lines {
    int64_t max;
    double *re, *im;
};
struct fourier_lines *fourier_lines(struct fourier *f);

/* In the place of each line x: out[k] = sum over j of x[j] e^(sign 2 pi i jk / n). re and im may change places. */
void fourier_transform(struct fourier *f, int64_t count);

/* Lines of n real numbers, n even, are transformed as n / 2 complex ones: number 2 j of a line is re of number j,
 * number 2 j + 1 is im. fourier_real makes result k, 0 to n / 2, from what fourier_transform leaves. */
struct fourier *fourier_plan_real(struct work *w, int64_t n, int64_t lines, int sign);
double complex fourier_real(const struct fourier *f, int64_t count, int64_t line, int64_t k);

/* The same of one line. */
void fourier_line(struct fourier *f, const double complex *x, double complex *out);

/*
 * What transforms in FP32 use too (fourier_f32.h). A length's next factor, 4 where it divides it; and a step for each
 * factor of n, for `lines` lines that lie side by side. s says where they are (re, im, pitch), where the first step's
 * results go, and of the roots the length, turns and sign. Those of the second step go to re, im, and so in turn; the
 * last ones are at s->re, s->im.
 */
int64_t fourier_radix(int64_t n);
int64_t fourier_max_radix(int64_t n); /* of all of them */
void fourier_steps(enum fourier_type type, struct fourier_step *s, int64_t n, int64_t lines, void *re, void *im);

#endif
