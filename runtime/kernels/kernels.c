#include "runtime/kernels/kernels.h"
#include "runtime/kernels/select.h"
#include "runtime/kernels/variants.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if KERNELS_X86
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static bool runs_strict(void)
{
    return true;
}
static bool runs_portable(void)
{
    return true;
}
#if KERNELS_NEON /* every aarch64 has it */
static bool runs_neon(void)
{
    return true;
}
static bool runs_neondot(void)
{
    return neon_has_dots();
}
static bool runs_neonbf16(void)
{
    return neon_has_dots() && neon_has_bf16();
}
#endif
#if KERNELS_X86
static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif
#if KERNELS_AVX512
static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
static bool runs_avx512vnni(void)
{
    return runs_avx512() && __builtin_cpu_supports("avx512vnni");
}
static bool runs_avx512bf16(void)
{
    return runs_avx512vnni() && __builtin_cpu_supports("avx512bf16");
}
/* The processor has AMX, with bf16 and 8-bit numbers; the system saves its registers, and lets this process use it. */
static bool runs_amx(void)
{
    enum { LEAF = 7, BF16_TILE_INT8 = 1 << 22 | 1 << 24 | 1 << 25, SAVED = 3 << 17 };
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, d, low, high;
    if (!runs_avx512vnni() || !__builtin_cpu_supports("avx512bf16") || !__get_cpuid_count(LEAF, 0, &a, &b, &c, &d) ||
        (d & BF16_TILE_INT8) != BF16_TILE_INT8)
        return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & SAVED) == SAVED && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
/*
 * Whether products by the instruction of bf16 are slower than those of FP32 are by the kernels without it, which widen
 * numbers as they go. Intel's cores begin one in two cycles (a Sapphire Rapids: 89 GFLOP/s, 145 without it, 159 in
 * FP32), a Zen 4 two. Told from the maker, not from a clock: the choice decides bits.
 */
static bool slow_bf16(void)
{
    return __builtin_cpu_is("intel");
}
#endif

#define KERNEL_VARIANT(id, built, base, dots, integer_dots, exact_base, unit, rate)                            \
    WHEN(                                                                                          \
        built, struct kernel_table KERNEL_TABLE(id) = {.name = #id, .bf16_rate = rate};                               \
        static void fill_##id(struct kernel_table *t) {                                            \
            KERNEL_FAMILY(rows, base)(t);                                                          \
            KERNEL_FAMILY(functions, base)(t);                                                     \
            KERNEL_FAMILY(images, base)(t);                                                        \
            KERNEL_FAMILY(images, dots)(t);                                                        \
            KERNEL_FAMILY(products, base)(t);                                                      \
            KERNEL_FAMILY(products, dots)(t);                                                      \
            KERNEL_FAMILY(integers, integer_dots)(t);                                              \
            KERNEL_FAMILY(exact, exact_base)(t);                                                   \
            KERNEL_FAMILY(matrix_unit, unit)(t);                                                   \
        })
#include "runtime/kernels/kernels.def"

static const struct variant {
    struct kernel_table *table;
    bool (*runs)(void);
    void (*fill)(struct kernel_table *t); /* with instructions of the variant */
} variants[] = {
#define KERNEL_VARIANT(name, built, base, dots, integer_dots, exact_base, unit, rate)                          \
    WHEN(built, {&KERNEL_TABLE(name), runs_##name, fill_##name}, )
#include "runtime/kernels/kernels.def"
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static void fill_tables(void)
{
    for (int i = 0; i < VARIANTS; i++)
        if (variants[i].runs())
            variants[i].fill(variants[i].table);
}
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static _Atomic(const struct kernel_table *) current;
static _Thread_local const struct kernel_table *here;

const struct kernel_table *kernels_find(const char *name)
{
    pthread_once(&filled, fill_tables);
    for (int i = 0; i < VARIANTS; i++)
        if (!strcmp(variants[i].table->name, name))
            return variants[i].runs() ? variants[i].table : NULL;
    return NULL;
}

/* Runs, but not as well as those before it. */
static bool passed_over(const struct variant *v)
{
#if KERNELS_AVX512
    return v->runs == runs_avx512bf16 && slow_bf16();
#else
    return false;
#endif
}

static const struct kernel_table *best(void)
{
    pthread_once(&filled, fill_tables);
    int i = VARIANTS - 1;
    while (i > 0 && (!variants[i].runs() || passed_over(&variants[i])))
        i--;
    return variants[i].table;
}

const struct kernel_table *kernels_get(void)
{
    if (here)
        return here;
    const struct kernel_table *t = atomic_load_explicit(&current, memory_order_acquire);
    if (t)
        return t;
    const char *wanted = getenv("XCC_KERNELS");
    t = wanted ? kernels_find(wanted) : NULL;
    if (!t)
        t = best();
    atomic_store_explicit(&current, t, memory_order_release);
    return t;
}

bool kernels_select(const char *name)
{
    const struct kernel_table *t = name ? kernels_find(name) : best();
    if (t)
        atomic_store_explicit(&current, t, memory_order_release);
    return t != NULL;
}

bool kernels_select_here(const char *name)
{
    const struct kernel_table *t = name ? kernels_find(name) : NULL;
    if (t || !name)
        here = t;
    return t || !name;
}
