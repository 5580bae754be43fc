/* The avx512bf16 variant on CPUs without those instructions; see emulated.h. */
#include "test/unit/emulated.h"

/* vdpbf16ps: both products of a lane added to it, the odd one first. */
static __m512 emulated_dpbf16(__m512 sums, __m512bh a, __m512bh b)
{
    float s[16];
    uint16_t x[32], y[32];
    memcpy(s, &sums, 64), memcpy(x, &a, 64), memcpy(y, &b, 64);
    for (int i = 31; i >= 0; i--) {
        uint32_t u = (uint32_t)x[i] << 16, v = (uint32_t)y[i] << 16;
        float p, q;
        memcpy(&p, &u, 4), memcpy(&q, &v, 4);
        s[i / 2] += p * q;
    }
    memcpy(&sums, s, 64);
    return sums;
}

static __m256 emulated_dpbf16_half(__m256 sums, __m256bh a, __m256bh b)
{
    __m512bh x = {0}, y = {0};
    memcpy(&x, &a, 32), memcpy(&y, &b, 32);
    return _mm512_castps512_ps256(emulated_dpbf16(_mm512_castps256_ps512(sums), x, y));
}

typedef float sums_of_16 __attribute__((vector_size(64), may_alias));
static sums_of_16 emulated_dpbf16_memory(const uint16_t *x, __m512i w, sums_of_16 sums)
{
    int pair;
    memcpy(&pair, x, sizeof pair);
    return (sums_of_16)emulated_dpbf16((__m512)sums, (__m512bh)w,
                                       (__m512bh)_mm512_set1_epi32(pair));
}

/* vcvtne2ps2bf16: b, then a, rounded to nearest even. */
static __m512bh emulated_cvtne2ps(__m512 a, __m512 b)
{
    uint32_t u[32];
    uint16_t y[32];
    __m512bh rounded;
    memcpy(u, &b, 64), memcpy(u + 16, &a, 64);
    for (int i = 0; i < 32; i++)
        y[i] = (uint16_t)((u[i] + 0x7fff + (u[i] >> 16 & 1)) >> 16);
    memcpy(&rounded, y, 64);
    return rounded;
}

static __m256bh emulated_cvtneps(__m512 x)
{
    __m512bh y = emulated_cvtne2ps(x, x);
    __m256bh half;
    memcpy(&half, &y, 32);
    return half;
}

#define WITH_AVX512BF16 1
#define _mm512_dpbf16_ps    emulated_dpbf16
#define _mm256_dpbf16_ps    emulated_dpbf16_half
#define _mm512_cvtne2ps_pbh emulated_cvtne2ps
#define _mm512_cvtneps_pbh  emulated_cvtneps
#define DPBF16_MEMORY       emulated_dpbf16_memory
#define VARIANT             emulated
#include "runtime/kernels/family_products.c"

/* Not part of main: what keeps this function's variables apart uses the instructions too. */
static __attribute__((noinline)) int check(void)
{
    struct kernel_table t = {.name = "avx512bf16"};
    kernel_products_emulated(&t);
    return check_emulated(&t, true);
}

int main(void)
{
    return emulation_runs() ? check() : 0;
}
