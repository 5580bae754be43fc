/*
 * Fourier transforms of lines of any length, in double.
 */
#ifndef RUNTIME_OPS_FOURIER_H
#define RUNTIME_OPS_FOURIER_H

#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/common/numeric.h"

/* What transforms of one length share; not for several threads at a time. */
struct fourier;

/* Of n > 0 numbers; sign -1: forward, 1: backward, not divided by n. NULL after a failure. */
struct fourier *fourier_plan(struct work *w, int64_t n, int sign);
/* out[k] = sum over j of x[j] e^(sign 2 pi i jk / n). */
void fourier_line(const struct fourier *f, const double complex *x, double complex *out);

#endif
