#ifdef __AVX2__
#define VARIANT avx2
#include "runtime/kernels/variant.inc"
#endif
