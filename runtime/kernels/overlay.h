/*
 * Kernels of one variant laid over those of another: avx512bf16 has products, depthwise convolutions
 * and Winograd transforms of bf16 of its own, and all else of avx512; neonbf16 has products of bf16.
 *
 * OVERLAY: this is compiled for the variant on top, which has the kernels of bf16 alone. OVERLAID:
 * for the one below, in a program that uses it only so.
 */
#ifndef RUNTIME_KERNELS_OVERLAY_H
#define RUNTIME_KERNELS_OVERLAY_H

#include "neff/base/use.h"

#if defined WITH_AVX512BF16 || defined WITH_NEON_BF16
#define OVERLAY  1
#define OVERLAID 0
#pragma GCC diagnostic ignored "-Wunused-function"
#elif LANES == 16 && !USED(ISA_avx512) && !USED(ISA_avx512vnni)
#define OVERLAY  0
#define OVERLAID 1
#pragma GCC diagnostic ignored "-Wunused-function"
#else
#define OVERLAY  0
#define OVERLAID 0
#endif
/* Nothing but products of matrices. */
#if defined WITH_NEON_BF16
#define OVERLAY_PRODUCTS 1
#else
#define OVERLAY_PRODUCTS 0
#endif

#endif
