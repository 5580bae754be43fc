/*
 * Matrix tiles of floats and products of one row, weights packed (neff/isa/pack.h).
 * A family of kernels, compiled once for each variant that has its own; see variants.h.
 */
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"
#include "runtime/kernels/overlay.h"

#include "runtime/kernels/gemm.inc"
#include "runtime/kernels/gemm_f32.inc"
#include "runtime/kernels/gemm_bf16.inc"
#include "runtime/kernels/gemm_panels.inc"
#include "runtime/kernels/gemm_row.inc"
#include "runtime/kernels/weight_only.inc"
#include "runtime/kernels/math.inc"
#include "runtime/kernels/recurrent.inc"
#include "runtime/kernels/small_products.inc"

void KERNEL_FAMILY(products, VARIANT)(struct kernel_table *t)
{
#if !OVERLAY
    SET_USED(weight_only_unpack, weight_only_unpack)
    SET_USED(recurrent, recurrent)
    SET_USED(small_products, small_products)
    SET_USED(gemm_f32, gemm_or_row_f32)
#endif
#if !OVERLAID && !OVERLAY_PRODUCTS
    SET_USED(weight_only, weight_only)
#endif
#if !OVERLAID
    SET_USED(gemm_bf16, gemm_or_row_bf16)
#endif
}
