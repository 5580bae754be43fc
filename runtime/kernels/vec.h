/*
 * Vectors of the width a variant is compiled for, by GCC's vector extensions; compiled once per
 * variant and private to it. LANES f32 per vector: 16 with AVX-512, 8 with AVX2, 4 elsewhere
 * (SSE2, NEON), and in the strict variant. Intrinsics stand only where the extensions have no word
 * for the instruction.
 */
#ifndef RUNTIME_KERNELS_VEC_H
#define RUNTIME_KERNELS_VEC_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Which instructions there are the build says (STRICT_ISA, WITH_...), not the compiler's own macros: flags of the
 * user's, -march=native, may allow more than a variant is for. */
#if defined __SSE2__
#include <immintrin.h>
#elif defined __aarch64__ && !defined STRICT_ISA
#define HAS_NEON 1
#include <arm_neon.h>
#endif
#ifndef HAS_NEON
#define HAS_NEON 0
#endif

/* Compiled for size: fewer forms of one loop, the same bits. */
#ifdef __OPTIMIZE_SIZE__
#define SMALL_CODE 1
#else
#define SMALL_CODE 0
#endif

#if defined STRICT_ISA
#define LANES   4
#define HAS_FMA 0
#elif defined WITH_AVX512
#define LANES   16
#define HAS_FMA 1
#elif defined WITH_AVX2
#define LANES   8
#define HAS_FMA 1
#else
#define LANES   4
#define HAS_FMA HAS_NEON
#endif

#define INLINE static inline __attribute__((always_inline, unused))
/* One piece of code, not one for each set of constant arguments. */
#ifdef __clang__
#define ONE_COPY static __attribute__((noinline, unused))
#else
#define ONE_COPY static __attribute__((noinline, noclone, unused))
#endif

/* Conditions on x, unless it is a constant, are asked for in every turn of a loop: compilers would make a copy of the
 * loop for each answer. */
#define ASK_EACH_TURN(x)                                                                           \
    do {                                                                                           \
        if (!__builtin_constant_p(x))                                                              \
            __asm__ volatile("" : "+r"(x));                                                        \
    } while (0)

/* Loops over a constant number of registers. */
#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined __OPTIMIZE__
#define UNROLL _Pragma("GCC unroll 32")
#else
#define UNROLL /* gcc -O0 warns of it before loops of two conditions */
#endif

typedef float vf __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * LANES), may_alias));
typedef uint32_t vu __attribute__((vector_size(4 * LANES), may_alias));
typedef float vf_at __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
typedef uint32_t vu_at __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
typedef int32_t vi_at __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
typedef uint16_t vu16 __attribute__((vector_size(2 * LANES), may_alias));
typedef uint16_t vu16_at __attribute__((vector_size(2 * LANES), aligned(1), may_alias));
typedef int16_t vi16 __attribute__((vector_size(2 * LANES), may_alias));
typedef uint8_t vu8 __attribute__((vector_size(LANES), may_alias));
typedef uint8_t vu8_at __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef int8_t vi8 __attribute__((vector_size(LANES), may_alias));
typedef int8_t vi8_at __attribute__((vector_size(LANES), aligned(1), may_alias));

INLINE vf splat(float x)
{
    return x - (vf){0};
}
INLINE vi splati(int32_t x)
{
    return x - (vi){0};
}
INLINE vu splatu(uint32_t x)
{
    return x - (vu){0};
}
/* Sums of integers wrap, as the instructions that add products do. */
INLINE vi add_wrapping(vi a, vi b)
{
    return (vi)((vu)a + (vu)b);
}

INLINE vf load(const float *p)
{
    return *(const vf_at *)p;
}
INLINE void store(float *p, vf v)
{
    *(vf_at *)p = v;
}

/* The first n lanes, 0 <= n < LANES; the others are zero, and not touched in memory. */
#if LANES == 16
INLINE __mmask16 mask_of(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}
INLINE vf load_part(const float *p, size_t n)
{
    return (vf)_mm512_maskz_loadu_ps(mask_of(n), p);
}
INLINE void store_part(float *p, vf v, size_t n)
{
    _mm512_mask_storeu_ps(p, mask_of(n), (__m512)v);
}
#elif LANES == 8
static const int32_t part_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
INLINE __m256i mask_of(size_t n)
{
    return _mm256_loadu_si256((const void *)(part_masks + 8 - n));
}
INLINE vf load_part(const float *p, size_t n)
{
    return (vf)_mm256_maskload_ps(p, mask_of(n));
}
INLINE void store_part(float *p, vf v, size_t n)
{
    _mm256_maskstore_ps(p, mask_of(n), (__m256)v);
}
#elif defined __SSE2__
/* By halves: a loop over single lanes is longer, and these stand at the end of every row. */
INLINE vf load_part(const float *p, size_t n)
{
    __m128 pair = _mm_setzero_ps(), one = _mm_setzero_ps();
    if (n & 2)
        pair = _mm_loadl_pi(pair, (const __m64 *)p);
    if (n & 1)
        one = _mm_load_ss(p + (n & 2));
    return (vf)(n & 2 ? _mm_movelh_ps(pair, one) : one);
}
INLINE void store_part(float *p, vf v, size_t n)
{
    __m128 last = (__m128)v;
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, last);
        last = _mm_movehl_ps(last, last);
    }
    if (n & 1)
        _mm_store_ss(p + (n & 2), last);
}
#elif HAS_NEON
INLINE vf load_part(const float *p, size_t n)
{
    float32x2_t pair = vdup_n_f32(0), one = pair;
    if (n & 2)
        pair = vld1_f32(p);
    if (n & 1)
        one = vld1_lane_f32(p + (n & 2), one, 0);
    return (vf)(n & 2 ? vcombine_f32(pair, one) : vcombine_f32(one, pair));
}
INLINE void store_part(float *p, vf v, size_t n)
{
    float32x2_t last = vget_low_f32((float32x4_t)v);
    if (n & 2) {
        vst1_f32(p, last);
        last = vget_high_f32((float32x4_t)v);
    }
    if (n & 1)
        vst1_lane_f32(p + (n & 2), last, 0);
}
#else
INLINE vf load_part(const float *p, size_t n)
{
    vf v = {0};
    for (size_t i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}
INLINE void store_part(float *p, vf v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = v[i];
}
#endif
INLINE vf load_n(const float *p, size_t n)
{
    return n >= LANES ? load(p) : load_part(p, n);
}
INLINE void store_n(float *p, vf v, size_t n)
{
    if (n >= LANES)
        store(p, v);
    else
        store_part(p, v, n);
}

/* a where the mask is set, all bits of a lane alike, b elsewhere. */
INLINE vf choose(vi mask, vf a, vf b)
{
#if LANES == 8
    return (vf)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (vf)((mask & (vi)a) | (~mask & (vi)b));
#endif
}
/* Whether some lane is set, where that is asked for all at once; elsewhere each lane is asked. */
INLINE bool may_have(vi mask)
{
#if HAS_NEON
    return vmaxvq_u32((uint32x4_t)mask) != 0;
#elif LANES == 8
    return _mm256_movemask_ps((__m256)mask) != 0;
#elif LANES == 4 && defined __SSE2__
    return _mm_movemask_ps((__m128)mask) != 0;
#else
    return true;
#endif
}
INLINE vf absolute(vf x)
{
    return (vf)((vi)x & 0x7fffffff);
}
INLINE vf with_sign_of(vf x, vf sign)
{
    return (vf)(((vi)x & 0x7fffffff) | ((vi)sign & (vi)splatu(0x80000000u)));
}

/* a * b + c: one rounding where HAS_FMA, two elsewhere. */
INLINE vf madd(vf a, vf b, vf c)
{
#if LANES == 16
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif LANES == 8
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif HAS_NEON
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

INLINE vf square_root(vf x)
{
#if LANES == 16
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif LANES == 8
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined __SSE2__
    return (vf)_mm_sqrt_ps((__m128)x);
#elif HAS_NEON
    return (vf)vsqrtq_f32((float32x4_t)x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

/* Lanes of a, then b, by number, where that is an instruction or three. */
#if LANES == 16
#define HAS_LANES_AT 1
INLINE vf lanes_at(vf a, vf b, vi at)
{
    return (vf)_mm512_permutex2var_ps((__m512)a, (__m512i)at, (__m512)b);
}
#elif LANES == 8
#define HAS_LANES_AT 1
INLINE vf lanes_at(vf a, vf b, vi at)
{
    __m256 low = _mm256_permutevar8x32_ps((__m256)a, (__m256i)at),
           high = _mm256_permutevar8x32_ps((__m256)b, (__m256i)at);
    return (vf)_mm256_blendv_ps(low, high, (__m256)(at << 28));
}
#else
#define HAS_LANES_AT 0
INLINE vf lanes_at(vf a, vf b, vi at)
{
    return a;
}
#endif

/* Lanes 0, 2, 4... or 1, 3, 5... of a and then of b; and back: a0 b0 a1 b1..., the lower half of
 * both or the upper. */
#if LANES == 16
#define LANES_FROM(a, b, first, step, other)                                                       \
    lanes_at(a, b,                                                                                 \
             (vi)_mm512_setr_epi32(first, other, first + step, other + step, first + 2 * step,     \
                                   other + 2 * step, first + 3 * step, other + 3 * step,           \
                                   first + 4 * step, other + 4 * step, first + 5 * step,           \
                                   other + 5 * step, first + 6 * step, other + 6 * step,           \
                                   first + 7 * step, other + 7 * step))
INLINE vf even_lanes(vf a, vf b)
{
    return LANES_FROM(a, b, 0, 4, 2);
}
INLINE vf odd_lanes(vf a, vf b)
{
    return LANES_FROM(a, b, 1, 4, 3);
}
INLINE vf joined_low(vf a, vf b) { return LANES_FROM(a, b, 0, 1, 16); }
INLINE vf joined_high(vf a, vf b) { return LANES_FROM(a, b, 8, 1, 24); }
#undef LANES_FROM
#elif LANES == 8
INLINE vf even_lanes(vf a, vf b)
{
    __m256d mixed = (__m256d)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
    return (vf)_mm256_permute4x64_pd(mixed, 0xd8);
}
INLINE vf odd_lanes(vf a, vf b)
{
    __m256d mixed = (__m256d)_mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd);
    return (vf)_mm256_permute4x64_pd(mixed, 0xd8);
}
INLINE vf joined_low(vf a, vf b)
{
    return (vf)_mm256_permute2f128_ps(_mm256_unpacklo_ps((__m256)a, (__m256)b),
                                      _mm256_unpackhi_ps((__m256)a, (__m256)b), 0x20);
}
INLINE vf joined_high(vf a, vf b)
{
    return (vf)_mm256_permute2f128_ps(_mm256_unpacklo_ps((__m256)a, (__m256)b),
                                      _mm256_unpackhi_ps((__m256)a, (__m256)b), 0x31);
}
#else
#if defined __clang__
#define LANES_FROM(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define LANES_FROM(a, b, i, j, k, l) __builtin_shuffle(a, b, (vi){i, j, k, l})
#endif
INLINE vf even_lanes(vf a, vf b) { return LANES_FROM(a, b, 0, 2, 4, 6); }
INLINE vf odd_lanes(vf a, vf b) { return LANES_FROM(a, b, 1, 3, 5, 7); }
INLINE vf joined_low(vf a, vf b) { return LANES_FROM(a, b, 0, 4, 1, 5); }
INLINE vf joined_high(vf a, vf b) { return LANES_FROM(a, b, 2, 6, 3, 7); }
#undef LANES_FROM
#endif

/* The larger of a and b; b when either is NaN. */
INLINE vf larger(vf a, vf b)
{
#if LANES == 16
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif LANES == 8
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined __SSE2__
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return choose(a > b, a, b);
#endif
}
INLINE vf smaller(vf a, vf b)
{
#if LANES == 16
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif LANES == 8
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined __SSE2__
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return choose(a < b, a, b);
#endif
}
INLINE vf clip_to(vf x, vf low, vf high) { return smaller(high, larger(low, x)); }
/* NaN if either is NaN. */
#if HAS_NEON /* whose instruction takes 0 for larger than -0, where the others take the second operand */
INLINE vf maximum(vf a, vf b)
{
    return choose(a == b, b, (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b));
}
INLINE vf minimum(vf a, vf b)
{
    return choose(a == b, b, (vf)vminq_f32((float32x4_t)a, (float32x4_t)b));
}
#else
INLINE vf maximum(vf a, vf b)
{
    return choose(a != a, a, larger(a, b));
}
INLINE vf minimum(vf a, vf b)
{
    return choose(a != a, a, smaller(a, b));
}
#endif
/* Negative numbers as 0; -0 and NaN stay. */
INLINE vf positive_part(vf x)
{
#if HAS_NEON
    return (vf)((vi)x & ~(x < 0.0f));
#else
    return larger(splat(0.0f), x);
#endif
}

/* Nearest integer, half to even, as a float; keeps the sign of zero. */
INLINE vf round_even(vf x)
{
#if LANES == 16
    return (vf)_mm512_roundscale_ps((__m512)x, 0);
#elif LANES == 8
    return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif HAS_NEON
    return (vf)vrndnq_f32((float32x4_t)x);
#else
    vf a = absolute(x);
    vf r = (a + 8388608.0f) - 8388608.0f;
    return choose(a < 8388608.0f, with_sign_of(r, x), x);
#endif
}
#if HAS_NEON
INLINE vf floor_of(vf x) { return (vf)vrndmq_f32((float32x4_t)x); }
INLINE vf ceil_of(vf x) { return (vf)vrndpq_f32((float32x4_t)x); }
#else
INLINE vf floor_of(vf x)
{
    vf r = round_even(x);
    vf lower = r - 1.0f;
    return choose(r > x, lower, r);
}
INLINE vf ceil_of(vf x)
{
    vf r = round_even(x);
    return with_sign_of(choose(r < x, r + 1.0f, r), x);
}
#endif

INLINE vf convert_to_float(vi x)
{
    return __builtin_convertvector(x, vf);
}
/* Of values inside int32. */
INLINE vi convert_to_int(vf x)
{
    return __builtin_convertvector(x, vi);
}

/* Clipped to low..high and rounded; NaN is 0. Both bounds must be exact in f32. */
INLINE vi to_int(vf x, float low, float high)
{
#if HAS_NEON
    vi y = (vi)vcvtnq_s32_f32((float32x4_t)x); /* it saturates */
    return (vi)vmaxq_s32(vminq_s32((int32x4_t)y, vdupq_n_s32((int32_t)high)), vdupq_n_s32((int32_t)low));
#else
    vf c = larger(splat(low), smaller(splat(high), x));
    return convert_to_int(choose(x != x, splat(0.0f), round_even(c)));
#endif
}

/* bf16 and f16 as the low half of each lane. */
INLINE vf from_bf16(vu x)
{
    return (vf)(x << 16);
}
/* Rounded to bf16 in the upper half of each lane; the lower is not to be read. Of no NaN: */
INLINE vu number_rounded_up(vf x)
{
    vu u = (vu)x;
    return u + 0x7fffu + ((u >> 16) & 1);
}
INLINE vu rounded_up(vf x)
{
    vu quiet = (vu)x | 0x400000, y = number_rounded_up(x);
#if LANES == 16
    __mmask16 nan = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    return (vu)_mm512_mask_mov_epi32((__m512i)y, nan, (__m512i)quiet);
#elif LANES == 8
    __m256 nan = _mm256_cmp_ps((__m256)x, (__m256)x, _CMP_UNORD_Q);
    return (vu)_mm256_blendv_ps((__m256)y, (__m256)quiet, nan);
#else
    return (vu)choose(x != x, (vf)quiet, (vf)y);
#endif
}
INLINE vu to_bf16(vf x)
{
    return rounded_up(x) >> 16;
}
#if HAS_NEON
INLINE vf load_bf16(const uint16_t *p)
{
    return (vf)vshll_n_u16(vld1_u16(p), 16);
}
#else
INLINE vu load_u16(const uint16_t *p);
INLINE vf load_bf16(const uint16_t *p)
{
    return from_bf16(load_u16(p));
}
#endif
/* LANES narrow integers in memory, widened; the compilers' own widening goes element by element. */
#if LANES == 16
INLINE vu load_u16(const uint16_t *p)
{
    return (vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
}
INLINE vi load_u8(const uint8_t *p)
{
    return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}
INLINE vi load_s8(const int8_t *p)
{
    return (vi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p));
}
/* The low 16 or 8 bits of every lane. */
INLINE void store_u16(uint16_t *p, vu x)
{
    _mm256_storeu_si256((void *)p, _mm512_cvtepi32_epi16((__m512i)x));
}
INLINE void store_u8(void *p, vi x)
{
    _mm_storeu_si128(p, _mm512_cvtepi32_epi8((__m512i)x));
}
/* Four vectors rounded, plus zero, saturated: packing interleaves their quarters, a last
 * permutation puts them in order. */
INLINE __m512i pack_rounded(const __m512i *whole, __m512i zero, bool is_signed)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero);
    __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero);
    __m512i bytes = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    return _mm512_permutexvar_epi32(order, bytes);
}
#elif LANES == 8
INLINE vu load_u16(const uint16_t *p)
{
    return (vu)_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p));
}
INLINE vi load_u8(const uint8_t *p)
{
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
}
INLINE vi load_s8(const int8_t *p)
{
    return (vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p));
}
INLINE __m128i low_16_bits(vi x)
{
    __m256i y = (__m256i)(x & 0xffff);
    return _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
}
INLINE void store_u16(uint16_t *p, vu x)
{
    _mm_storeu_si128((void *)p, low_16_bits((vi)x));
}
INLINE void store_u8(void *p, vi x)
{
    __m128i y = low_16_bits(x & 0xff);
    _mm_storel_epi64(p, _mm_packus_epi16(y, y));
}
/* Two vectors rounded half to even, plus zero, saturated to 16 bits: lanes 0 to 3 of a and of b, and
 * then 4 to 7. Of numbers below 2^31; NaN is the least. */
INLINE __m256i round_to_words(vf a, vf b, int zero)
{
    __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32((__m256)a), _mm256_cvtps_epi32((__m256)b));
    return _mm256_adds_epi16(words, _mm256_set1_epi16((short)zero));
}
/* Four vectors so, in their order, saturated to 8 bits. */
INLINE __m256i round_to_bytes(const vf *x, int zero, bool is_signed)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i low = round_to_words(x[0], x[1], zero), high = round_to_words(x[2], x[3], zero);
    __m256i bytes = is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    return _mm256_permutevar8x32_epi32(bytes, order);
}
/* The first n of 32 bytes. */
INLINE void store_bytes(uint8_t *p, __m256i bytes, size_t n)
{
    if (n >= 32) {
        _mm256_storeu_si256((void *)p, bytes);
        return;
    }
    __m128i rest = _mm256_castsi256_si128(bytes);
    if (n & 16) {
        _mm_storeu_si128((void *)p, rest);
        rest = _mm256_extracti128_si256(bytes, 1), p += 16;
    }
    uint64_t word = (uint64_t)_mm_cvtsi128_si64(rest);
    if (n & 8) {
        memcpy(p, &word, 8);
        word = (uint64_t)_mm_extract_epi64(rest, 1), p += 8;
    }
    for (n &= 7; n; n--, word >>= 8)
        *p++ = (uint8_t)word;
}
#elif HAS_NEON
INLINE vu load_u16(const uint16_t *p)
{
    return (vu)vmovl_u16(vld1_u16(p));
}
INLINE uint8x8_t four_bytes(const void *p)
{
    uint32_t x;
    memcpy(&x, p, 4);
    return vcreate_u8(x);
}
INLINE vi load_u8(const uint8_t *p)
{
    return (vi)vmovl_u16(vget_low_u16(vmovl_u8(four_bytes(p))));
}
INLINE vi load_s8(const int8_t *p)
{
    return (vi)vmovl_s16(vget_low_s16(vmovl_s8((int8x8_t)four_bytes(p))));
}
INLINE void store_u16(uint16_t *p, vu x)
{
    vst1_u16(p, vmovn_u32((uint32x4_t)x));
}
INLINE void store_u8(void *p, vi x)
{
    uint16x4_t halves = vmovn_u32((uint32x4_t)x);
    uint32_t y = vget_lane_u32((uint32x2_t)vmovn_u16(vcombine_u16(halves, halves)), 0);
    memcpy(p, &y, 4);
}
#else
INLINE vu load_u16(const uint16_t *p)
{
    return __builtin_convertvector(*(const vu16_at *)p, vu);
}
INLINE vi load_u8(const uint8_t *p)
{
    return __builtin_convertvector(*(const vu8_at *)p, vi);
}
INLINE vi load_s8(const int8_t *p)
{
    return __builtin_convertvector(*(const vi8_at *)p, vi);
}
INLINE void store_u16(uint16_t *p, vu x)
{
    *(vu16_at *)p = __builtin_convertvector(x, vu16);
}
INLINE void store_u8(void *p, vi x)
{
    *(vu8_at *)p = __builtin_convertvector(x & 0xff, vu8);
}
#endif
#if LANES == 16
/* Two vectors as to_bf16 has them, one behind the other. */
static const uint16_t odd_words[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                       23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                       45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
INLINE __m512i rounded_pair(vf a, vf b)
{
    __m512i odd = _mm512_loadu_si512(odd_words);
    return _mm512_permutex2var_epi16((__m512i)rounded_up(a), odd, (__m512i)rounded_up(b));
}
#endif
#if LANES == 8
INLINE void store_bf16(uint16_t *p, vf x)
{
    __m256i y = (__m256i)((vi)rounded_up(x) >> 16); /* with their sign: it saturates to signed */
    _mm_storeu_si128((void *)p, _mm_packs_epi32(_mm256_castsi256_si128(y),
                                                _mm256_extracti128_si256(y, 1)));
}
INLINE void store_rounded_pair(uint16_t *p, vu a, vu b)
{
    __m256i y = _mm256_packs_epi32((__m256i)((vi)a >> 16), (__m256i)((vi)b >> 16));
    _mm256_storeu_si256((void *)p, _mm256_permute4x64_epi64(y, 0xd8));
}
#elif LANES == 4 && defined __SSE2__
INLINE void store_bf16(uint16_t *p, vf x)
{
    __m128i y = (__m128i)((vi)rounded_up(x) >> 16);
    _mm_storel_epi64((void *)p, _mm_packs_epi32(y, y));
}
INLINE void store_rounded_pair(uint16_t *p, vu a, vu b)
{
    _mm_storeu_si128((void *)p,
                     _mm_packs_epi32((__m128i)((vi)a >> 16), (__m128i)((vi)b >> 16)));
}
#elif HAS_NEON
INLINE void store_bf16(uint16_t *p, vf x)
{
    vst1_u16(p, vshrn_n_u32((uint32x4_t)rounded_up(x), 16));
}
INLINE void store_rounded_pair(uint16_t *p, vu a, vu b)
{
    vst1q_u16(p, vuzp2q_u16((uint16x8_t)a, (uint16x8_t)b));
}
#else
INLINE void store_bf16(uint16_t *p, vf x)
{
    store_u16(p, to_bf16(x));
}
INLINE void store_rounded_pair(uint16_t *p, vu a, vu b)
{
    store_u16(p, a >> 16);
    store_u16(p + LANES, b >> 16);
}
#endif
INLINE void store_bf16_pair(uint16_t *p, vf a, vf b)
{
    store_rounded_pair(p, rounded_up(a), rounded_up(b));
}
/* Rounded to bf16: the first n lanes. */
INLINE void store_bf16_part(uint16_t *p, vf x, size_t n)
{
    uint16_t whole[LANES];
    store_u16(whole, to_bf16(x));
    memcpy(p, whole, 2 * n);
}
/* The instruction makes numbers below the least normal one 0, as those that multiply bf16 read
 * them. */
INLINE void store_bf16_n(uint16_t *p, vf x, size_t n)
{
#ifdef WITH_AVX512BF16
    __m256i y = (__m256i)_mm512_cvtneps_pbh((__m512)x);
    if (n >= LANES)
        _mm256_storeu_si256((void *)p, y);
    else
        _mm256_mask_storeu_epi16(p, mask_of(n), y);
#else
    if (n >= LANES)
        store_bf16(p, x);
    else
        store_bf16_part(p, x, n);
#endif
}
INLINE vu load_u16_part(const uint16_t *p, size_t n)
{
    uint16_t t[LANES] = {0};
    memcpy(t, p, n * sizeof *p);
    return load_u16(t);
}

/* ---- f16 ---- */

INLINE vu f16_bits(vf x)
{
    vu sign = ((vu)x >> 16) & 0x8000;
    vu a = (vu)x & 0x7fffffff;
    vu normal = (a + 0xfff + ((a >> 13) & 1) - (112u << 23)) >> 13;
    vu subnormal = (vu)((vf)a + 0.5f) - 0x3f000000;
    vu nan = 0x7e00 | ((a >> 13) & 0x3ff);
    vu is_small = (vu)(a < 0x38800000u), is_large = (vu)(a >= 0x477ff000u);
    vu is_nan = (vu)(x != x);
    vu y = (is_small & subnormal) | (~is_small & normal);
    y = (is_large & 0x7c00) | (~is_large & y);
    y = (is_nan & nan) | (~is_nan & y);
    return sign | y;
}

INLINE vf f16_value(vu h)
{
    vu sign = (h & 0x8000) << 16, a = (h & 0x7fff) << 13;
    vu scaled = (vu)((vf)a * 0x1p112f);
    vu special = (vu)((h & 0x7fff) >= 0x7c00u);
    vu quiet = (vu)((h & 0x7fff) > 0x7c00u) & 0x400000;
    vu y = (special & (a | 0x7f800000u | quiet)) | (~special & scaled);
    return (vf)(sign | y);
}

INLINE void store_f16(uint16_t *y, vf x)
{
#if LANES == 16
    _mm256_storeu_si256((void *)y, _mm512_cvtps_ph((__m512)x, 0));
#elif LANES == 8
    _mm_storeu_si128((void *)y, _mm256_cvtps_ph((__m256)x, 0));
#elif HAS_NEON
    vst1_u16(y, (uint16x4_t)vcvt_f16_f32((float32x4_t)x));
#else
    store_u16(y, f16_bits(x));
#endif
}
INLINE vf load_f16(const uint16_t *x)
{
#if LANES == 16
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)x));
#elif LANES == 8
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const void *)x));
#elif HAS_NEON
    return (vf)vcvt_f32_f16((float16x4_t)vld1_u16(x));
#else
    return f16_value(load_u16(x));
#endif
}

#endif
