/*
 * The tables of all variants built, for the chooser (kernels.c); each function is defined by the
 * variant's own file and does not check that the CPU can run it.
 */
#ifndef RUNTIME_KERNELS_VARIANTS_H
#define RUNTIME_KERNELS_VARIANTS_H

#include "runtime/kernels/kernels.h"

#ifndef KERNELS_X86 /* the build defines it */
#define KERNELS_X86 0
#endif

/* KERNEL_VARIANT's `built` column is 0 or 1 after expansion. */
#define WHEN_0(...)
#define WHEN_1(...)       __VA_ARGS__
#define WHEN_(built, ...) WHEN_##built(__VA_ARGS__)
#define WHEN(built, ...)  WHEN_(built, __VA_ARGS__)

#define KERNEL_VARIANT(name, built, lanes, fma)                                                    \
    WHEN(built, const struct kernel_table *kernel_variant_##name(void);)
#include "runtime/kernels/kernels.def"

#endif
