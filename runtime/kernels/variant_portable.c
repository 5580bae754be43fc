#define VARIANT portable
#include "runtime/kernels/variant.inc"
