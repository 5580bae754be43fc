/*
 * The kernels of a program for one model: those that it uses, for the instruction sets that were
 * asked for; the best that this CPU has.
 */
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/variants.h"

#include <stdatomic.h>

#define UNUSED __attribute__((unused)) /* by programs for other instruction sets */

#if KERNELS_X86
#include <cpuid.h>

/* What the system saves of the registers; whether AVX, or AVX-512, is among it. */
static bool saves(unsigned mask)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & mask) == mask;
}

static bool has(unsigned leaf, unsigned sub, int reg, unsigned bits)
{
    unsigned r[4];
    return __get_cpuid_count(leaf, sub, &r[0], &r[1], &r[2], &r[3]) && (r[reg] & bits) == bits;
}

enum { EAX, EBX, ECX, EDX };
UNUSED static bool runs_avx2(void)
{
    return has(1, 0, ECX, 1u << 27 | 1u << 12 | 1u << 29) && saves(6) && has(7, 0, EBX, 1u << 5);
}
UNUSED static bool runs_avx512(void) /* f, dq, bw, vl */
{
    return runs_avx2() && saves(0xe6) && has(7, 0, EBX, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31);
}
UNUSED static bool runs_avx512vnni(void)
{
    return runs_avx512() && has(7, 0, ECX, 1u << 11);
}
UNUSED static bool runs_avx512bf16(void)
{
    return runs_avx512vnni() && has(7, 1, EAX, 1u << 5);
}
/* The system saves the registers of AMX, and lets this process use them. */
UNUSED static bool runs_amx(void)
{
#if defined __linux__ && defined __x86_64__
    long result, call = 158, request = 0x1023, tiles = 18; /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA) */
    if (!runs_avx512vnni() || !has(7, 1, EAX, 1u << 5) || !saves(3u << 17) ||
        !has(7, 0, EDX, 1u << 22 | 1u << 24 | 1u << 25))
        return false;
    __asm__ volatile("syscall" : "=a"(result) : "a"(call), "D"(request), "S"(tiles) : "rcx", "r11", "memory");
    return result == 0;
#else
    return false;
#endif
}
/* As runtime/kernels/kernels.c: the bf16 kernels lose to those below them on Intel's cores. */
static bool slow_bf16(void)
{
    unsigned r[4];
    return __get_cpuid(0, &r[0], &r[1], &r[2], &r[3]) && r[EBX] == signature_INTEL_ebx;
}
#else
static bool slow_bf16(void)
{
    return false;
}
#endif
UNUSED static bool runs_portable(void)
{
    return true;
}
UNUSED static bool runs_strict(void)
{
    return true;
}
#if KERNELS_NEON
UNUSED static bool runs_neon(void)
{
    return true;
}
UNUSED static bool runs_neondot(void)
{
    return neon_has_dots();
}
UNUSED static bool runs_neonbf16(void)
{
    return neon_has_dots() && neon_has_bf16();
}
#endif

#define KERNEL_VARIANT(id, built, base, dots, integer_dots, exact_base, unit, rate)                            \
    WHEN(built, WHEN_USED(                                                                         \
                    ISA_##id, struct kernel_table KERNEL_TABLE(id);                                \
                    WHEN_USED(TABLE_##base, struct kernel_table KERNEL_TABLE(base);)               \
                    static void fill_##id(struct kernel_table *t) {                                \
                        t->name = #id, t->bf16_rate = rate;                                        \
                        KERNEL_FAMILY(rows, base)(t);                                              \
                        WHEN_USED(FAMILY_functions, KERNEL_FAMILY(functions, base)(t);)            \
                        WHEN_USED(FAMILY_images, KERNEL_FAMILY(images, base)(t);                   \
                                  KERNEL_FAMILY(images, dots)(t);)                                 \
                        WHEN_USED(FAMILY_products, KERNEL_FAMILY(products, base)(t);               \
                                  KERNEL_FAMILY(products, dots)(t);)                               \
                        WHEN_USED(FAMILY_integers, KERNEL_FAMILY(integers, integer_dots)(t);)      \
                        WHEN_USED(FAMILY_exact, KERNEL_FAMILY(exact, exact_base)(t);)              \
                        WHEN_USED(FAMILY_matrix_unit, KERNEL_FAMILY(matrix_unit, unit)(t);)        \
                    }))
#include "runtime/kernels/kernels.def"

static const struct variant {
    struct kernel_table *table;
    bool (*runs)(void);
    void (*fill)(struct kernel_table *t); /* with instructions of the variant */
    struct kernel_table *below;           /* where kernels of the variant below find others; or NULL */
} variants[] = {
#define KERNEL_VARIANT(name, built, base, dots, integer_dots, exact_base, unit, rate)                          \
    WHEN(built,                                                                                    \
         WHEN_USED(ISA_##name, {&KERNEL_TABLE(name), runs_##name, fill_##name,                     \
                                WHEN_USED(TABLE_##base, &KERNEL_TABLE(base), ) }, ))
#include "runtime/kernels/kernels.def"
    {NULL, NULL, NULL, NULL}};

static bool has_dot_of_bf16(const struct variant *v)
{
#if KERNELS_X86
    return v->runs == runs_avx512bf16;
#else
    return false;
#endif
}

/* Any number of threads may come here first: they write the same. */
const struct kernel_table *kernels_get(void)
{
    static _Atomic(const struct kernel_table *) current;
    const struct kernel_table *t = atomic_load_explicit(&current, memory_order_acquire);
    if (t)
        return t;
    for (const struct variant *v = variants; v->table; v++)
        if (v->runs() && !(t && t->lanes == 16 && has_dot_of_bf16(v) && slow_bf16())) {
            v->fill(v->table);
            if (v->below)
                v->fill(v->below);
            t = v->table;
        }
    atomic_store_explicit(&current, t, memory_order_release);
    return t;
}
