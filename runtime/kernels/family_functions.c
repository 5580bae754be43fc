/*
 * Kernels over rows of elements: functions whose code is long (kernels.def), each in one form.
 * A family of kernels, compiled once for each variant that has its own; see variants.h.
 */
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#include <float.h>

#include "runtime/kernels/math.inc"
#include "runtime/kernels/functions.inc"
#include "runtime/kernels/rows.inc"
#include "runtime/kernels/tiles.inc"
#define MAP map_long
#define MAP_OR map_long_or
#define KERNEL_BINARY(name)
#define KERNEL_LONG_BINARY DEFINE_BINARY
#define KERNEL_ACTIVATION(...)
#define KERNEL_LONG_ACTIVATION DEFINE_ACTIVATION
#include "runtime/kernels/kernels.def"

void KERNEL_FAMILY(functions, VARIANT)(struct kernel_table *t)
{
#define KERNEL_BINARY(name)
#define KERNEL_LONG_BINARY(name)                                                                   \
    WHEN_USED(BINARY_##name, if (USED(FUNCTION_ROWS)) t->binary[BINARY_##name] = binary_##name;    \
              t->binary_tile[BINARY_##name] = binary_tile_##name;)
#define KERNEL_ACTIVATION(...)
#define KERNEL_LONG_ACTIVATION(name, parameters, ulp, floor, low, high)                            \
    WHEN_USED(ACTIVATION_##name, if (USED(FUNCTION_ROWS)) t->activation[ACTIVATION_##name] = activation_##name; \
              t->activation_tile[ACTIVATION_##name] = activation_tile_##name;)                     \
    WHEN_USED(ACTIVATE_##name, t->activate[ACTIVATION_##name] = activate_##name;)
#include "runtime/kernels/kernels.def"
}
