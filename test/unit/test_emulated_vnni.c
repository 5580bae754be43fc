/* The avx512vnni variant on CPUs without VNNI; see emulated.h. */
#include "test/unit/emulated.h"

/* vpdpbusd: four products of a u8 and an s8 added to each lane, wrapping. */
static __m512i emulated_dpbusd(__m512i sums, __m512i a, __m512i w)
{
    uint32_t s[16];
    uint8_t x[64];
    int8_t y[64];
    memcpy(s, &sums, 64), memcpy(x, &a, 64), memcpy(y, &w, 64);
    for (int i = 0; i < 64; i++)
        s[i / 4] += (uint32_t)(x[i] * y[i]);
    memcpy(&sums, s, 64);
    return sums;
}

#define WITH_AVX512VNNI 1
#define _mm512_dpbusd_epi32 emulated_dpbusd
#define VARIANT             emulated
#include "runtime/kernels/family_integers.c"

/* Not part of main: what keeps this function's variables apart uses the instructions too. */
static __attribute__((noinline)) int check(void)
{
    struct kernel_table t = {.name = "avx512vnni"};
    kernel_integers_emulated(&t);
    return check_emulated(&t, false);
}

int main(void)
{
    return emulation_runs() ? check() : 0;
}
