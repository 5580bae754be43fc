#ifdef __AVX512VNNI__
#define VARIANT avx512vnni
#include "runtime/kernels/variant.inc"
#endif
