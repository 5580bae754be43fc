/*
 * Kernels whose results are the same bits in every variant: integers, conversions by value, sums in
 * double, one rounding after the other. Plain routines of operators use them too.
 * A family of kernels, compiled once for each variant that has its own; see variants.h.
 */
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#if LANES == 4 /* compiled for any CPU, as dtype.c is: the loops are there */
#define CONVERT_VALUES
#endif
#include "neff/core/convert.inc"
#include "runtime/kernels/complex.inc"
#define REAL        float
#define TYPED(name) name##_f32
#include "runtime/kernels/fourier.inc"
#undef REAL
#undef TYPED
#define REAL        double
#define TYPED(name) name##_f64
#include "runtime/kernels/fourier.inc"
#include "runtime/kernels/integers.inc"
#include "runtime/kernels/panel_f64.inc"
#include "runtime/kernels/running.inc"
#include "runtime/kernels/threefry.inc"
#include "runtime/kernels/truncate.inc"

void KERNEL_FAMILY(exact, VARIANT)(struct kernel_table *t)
{
    set_integers(t);
    set_running(t);
    SET_USED(panel_f64, panel_f64)
    SET_USED(threefry, threefry)
    SET_USED(complex_abs, complex_abs)
    SET_USED(complex_fold, complex_fold)
    SET_USED(complex_part, complex_part)
    SET_USED(complex_pair, complex_pair)
    SET_USED(complex_multiply, complex_multiply)
    WHEN_USED(KERNEL_fourier_step, t->fourier_step[FOURIER_F32] = fourier_step_f32;
              t->fourier_step[FOURIER_F64] = fourier_step_f64;)
#ifdef CONVERT_VALUES
    for (int to = 0; to < PLAIN_TYPES; to++)
        for (int from = 0; from < PLAIN_TYPES; from++)
            t->cast[to][from] = dtype_converter(to, from);
#else
#define SET_CAST(to, T, to_class, from, F, from_class)                                             \
    WHEN_USED(CAST_##to##_##from, t->cast[DT_##to][DT_##from] = convert_##to##_from_##from;)
    CONVERT_PAIRS(SET_CAST)
#endif
    TRUNCATED_TYPES(SET_TRUNCATE)
    SET_TRUNCATE(I64, int64_t)
}
