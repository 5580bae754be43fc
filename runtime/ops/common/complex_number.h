/*
 * <complex.h>, with CMPLX where the C library leaves it out for compilers that it does not know
 * (clang).
 */
#ifndef RUNTIME_OPS_COMPLEX_NUMBER_H
#define RUNTIME_OPS_COMPLEX_NUMBER_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#endif
