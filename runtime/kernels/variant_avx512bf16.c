/* The avx512 variant with the integer and bf16 dot products of a newer CPU. */
#ifdef __AVX512BF16__
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#include <pthread.h>

#include "runtime/kernels/gemm.inc"
#include "runtime/kernels/gemm_bf16.inc"
#include "runtime/kernels/gemm_u8s8.inc"

static struct kernel_table own_table;

static void fill(void)
{
    own_table = *kernel_variant_avx512();
    own_table.name = "avx512bf16";
    own_table.gemm_bf16 = gemm_bf16;
    own_table.gemm_u8s8 = gemm_u8s8;
}

const struct kernel_table *kernel_variant_avx512bf16(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &own_table;
}
#endif
