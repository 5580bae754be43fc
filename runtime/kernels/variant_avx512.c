#ifdef __AVX512F__
#define VARIANT avx512
#include "runtime/kernels/variant.inc"
#endif
