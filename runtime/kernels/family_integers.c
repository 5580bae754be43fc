/*
 * Kernels of quantised numbers: matrix tiles and depthwise convolutions of u8 by s8, whose sums are
 * exact, and the rounding of sums to 8 bits.
 * A family of kernels, compiled once for each variant that has its own; see variants.h.
 */
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#define SMALL_BLOCKS 0 /* rows of tiles of 8-bit numbers are blocks of any height */
#include "runtime/kernels/gemm.inc"
#include "runtime/kernels/requantize.inc"
#include "runtime/kernels/gemm_u8s8.inc"
#include "runtime/kernels/depthwise_integer.inc"
#include "runtime/kernels/weight_integers.inc"

void KERNEL_FAMILY(integers, VARIANT)(struct kernel_table *t)
{
    SET_USED(gemm_u8s8, gemm_u8s8)
    SET_USED(depthwise_integer, depthwise_integer)
    SET_USED(weight_only_rounded, weight_only_rounded)
}
