/*
 * The variants of the kernels, for the chooser (kernels.c) and for the files that define them.
 *
 * A variant is a set of instructions to compile for; a family, family_NAME.c, is some kernels of
 * the table. The build compiles each family for each variant, with VARIANT defined as its name; a
 * variant whose instructions only make some families better takes the others from its base
 * (kernels.def). A family's function fills in its part of a table and does not check that the CPU
 * can run it.
 */
#ifndef RUNTIME_KERNELS_VARIANTS_H
#define RUNTIME_KERNELS_VARIANTS_H

#include "neff/base/use.h"
#include "runtime/kernels/kernels.h"

#ifndef KERNELS_X86 /* the build defines it */
#define KERNELS_X86 0
#endif
#ifndef KERNELS_AVX512 /* a build may leave them out: XCC_NO_AVX512 */
#define KERNELS_AVX512 KERNELS_X86
#endif
#if defined __aarch64__
#define KERNELS_NEON 1
#else
#define KERNELS_NEON 0
#endif

#if KERNELS_NEON
#if defined __linux__
#include <sys/auxv.h>
static inline bool neon_has(unsigned long list, unsigned long bit)
{
    return (getauxval(list) & bit) != 0;
}
#else
static inline bool neon_has(unsigned long list, unsigned long bit)
{
    (void)list, (void)bit;
    return false;
}
#endif
/* As Linux numbers them (AT_HWCAP, AT_HWCAP2): products of four pairs of 8-bit numbers, of two pairs of bf16. */
static inline bool neon_has_dots(void)
{
    return neon_has(16, 1ul << 20);
}
static inline bool neon_has_bf16(void)
{
    return neon_has(26, 1ul << 14);
}
#endif

/* KERNEL_VARIANT's `built` column is 0 or 1 after expansion. */
#define WHEN_0(...)
#define WHEN_1(...)       __VA_ARGS__
#define WHEN_(built, ...) WHEN_##built(__VA_ARGS__)
#define WHEN(built, ...)  WHEN_(built, __VA_ARGS__)

#define KERNEL_TABLE_(variant)          kernel_table_##variant
#define KERNEL_TABLE(variant)           KERNEL_TABLE_(variant)
#define KERNEL_FAMILY_(family, variant) kernel_##family##_##variant
#define KERNEL_FAMILY(family, variant)  KERNEL_FAMILY_(family, variant)

/* In a family's function: sets a kernel of table t, unless the program that this build is for does
 * without it (neff/base/use.h). */
#define SET_USED(member, kernel) WHEN_USED(KERNEL_##member, t->member = kernel;)

#define KERNEL_VARIANT(name, built, base, dots, integer_dots, exact_base, unit, rate)                          \
    WHEN(built, extern struct kernel_table KERNEL_TABLE(name);                                     \
         void KERNEL_FAMILY(rows, name)(struct kernel_table *);                                    \
         void KERNEL_FAMILY(functions, name)(struct kernel_table *);                               \
         void KERNEL_FAMILY(images, name)(struct kernel_table *);                                  \
         void KERNEL_FAMILY(products, name)(struct kernel_table *);                                \
         void KERNEL_FAMILY(integers, name)(struct kernel_table *);                                \
         void KERNEL_FAMILY(exact, name)(struct kernel_table *);                                   \
         void KERNEL_FAMILY(depthwise_f32, name)(const struct depthwise_row *, bool wide);         \
         void KERNEL_FAMILY(depthwise_bf16, name)(const struct depthwise_row *, bool wide);)
#include "runtime/kernels/kernels.def"

/* What units for matrices put over the kernels of a table. */
static inline void kernel_matrix_unit_none(struct kernel_table *t)
{
    (void)t;
}
void kernel_matrix_unit_amx(struct kernel_table *t);

#endif
