/* The avx512vnni variant on CPUs without VNNI; see emulated.h. */
#include "test/unit/emulated.h"

#if KERNELS_X86
#ifndef __AVX512VNNI__
#define __AVX512VNNI__ 1
#endif
#define _mm512_dpbusd_epi32       emulated_dpbusd
#define kernel_variant_avx512vnni emulated_variant
#include "runtime/kernels/variant_avx512vnni.c"

int main(void)
{
    return emulation_runs() ? check_emulated(emulated_variant, false) : 0;
}
#else
int main(void)
{
    return 0;
}
#endif
