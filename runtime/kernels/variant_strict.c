/* IEEE operations alone, one rounding each, in the order of four lanes: the same bits on every CPU. */
#define STRICT_ISA 1
#define VARIANT    strict
#include "runtime/kernels/variant.inc"
