#ifdef __AVX512BF16__
#define VARIANT avx512bf16
#include "runtime/kernels/variant.inc"
#endif
