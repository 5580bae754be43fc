/* The avx512vnni variant on CPUs without VNNI; see emulated.h. */
#include "test/unit/emulated.h"

#if KERNELS_X86
#ifndef __AVX512VNNI__
#define __AVX512VNNI__ 1
#endif
#define _mm512_dpbusd_epi32       emulated_dpbusd
#define VARIANT emulated
#include "runtime/kernels/family_products.c"

int main(void)
{
    if (!emulation_runs())
        return 0;
    struct kernel_table t = {.name = "avx512vnni"};
    kernel_products_emulated(&t);
    return check_emulated(&t, false);
}
#else
int main(void)
{
    return 0;
}
#endif
