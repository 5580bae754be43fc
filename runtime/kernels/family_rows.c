/*
 * Kernels over rows of elements: conversions, elementwise functions of few instructions, reductions,
 * softmax and norms, copies and transposes. A family of kernels, compiled once for each variant that has its own; see
 * variants.h.
 */
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#include <float.h>

#ifdef __OPTIMIZE_SIZE__ /* loops over registers stay loops; those of products do not: family_products.c */
#undef UNROLL
#define UNROLL
#endif

#include "runtime/kernels/math.inc"
#include "runtime/kernels/functions.inc"
#include "runtime/kernels/rows.inc"
#include "runtime/kernels/compare.inc"
#include "runtime/kernels/convert.inc"
#include "runtime/kernels/copy.inc"
#include "runtime/kernels/transpose.inc"
#include "runtime/kernels/tiles.inc"
#define MAP                         map_tile
#define MAP_OR                      map_tile_or
#define KERNEL_BINARY               DEFINE_BINARY
#define KERNEL_LONG_BINARY(name)
#define KERNEL_ACTIVATION           DEFINE_ACTIVATION
#define KERNEL_LONG_ACTIVATION(...)
#include "runtime/kernels/kernels.def"
#include "runtime/kernels/affine.inc"
#include "runtime/kernels/stream.inc"
#include "runtime/kernels/fold.inc"
#include "runtime/kernels/reduce.inc"
#include "runtime/kernels/short_rows.inc"
#include "runtime/kernels/softmax.inc"

void KERNEL_FAMILY(rows, VARIANT)(struct kernel_table *t)
{
    SET_USED(lanes, LANES)
    SET_USED(fma, HAS_FMA)
#define KERNEL_CONVERT(name, to, from)                                                             \
    WHEN_USED(CONVERT_##name, t->convert[CONVERT_##name] = convert_##name;)
#define KERNEL_COMPARE(name, operator)                                                             \
    WHEN_USED(COMPARE_##name, t->compare[COMPARE_##name] = compare_##name;)
#define KERNEL_LONG_BINARY(name)
#define KERNEL_LONG_ACTIVATION(...)
#define KERNEL_BINARY(name)                                                                        \
    WHEN_USED(BINARY_##name, if (USED(FUNCTION_ROWS)) t->binary[BINARY_##name] = binary_##name;    \
              t->binary_tile[BINARY_##name] = binary_tile_##name;)
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high)                                 \
    WHEN_USED(ACTIVATION_##name, if (USED(FUNCTION_ROWS)) t->activation[ACTIVATION_##name] = activation_##name; \
              t->activation_tile[ACTIVATION_##name] = activation_tile_##name;)                     \
    WHEN_USED(ACTIVATE_##name, t->activate[ACTIVATION_##name] = activate_##name;)
#define KERNEL_REDUCE(name, start, step)                                                           \
    WHEN_USED(REDUCE_##name, t->reduce[REDUCE_##name] = reduce_##name;)                            \
    WHEN_USED(REDUCE_ROWS_##name, t->reduce_rows[REDUCE_##name] = reduce_rows_##name;              \
              t->reduce_columns[REDUCE_##name] = reduce_columns_##name;)
#include "runtime/kernels/kernels.def"
    SET_USED(copy, copy_row)
    SET_USED(copy_streamed, copy_streamed)
    SET_USED(transpose, transpose)
    SET_USED(interleave, interleave)
    SET_USED(select, select_row)
    SET_USED(multiply_add, multiply_add)
    SET_USED(affine, affine)
    SET_USED(stream, stream)
    SET_USED(dot, dot)
    SET_USED(exp_sum, exp_sum)
    SET_USED(mean_variance, mean_variance)
    SET_USED(argmax, argmax)
    SET_USED(argmin, argmin)
    SET_USED(softmax, softmax)
    SET_USED(softmax_rows, softmax_rows)
    SET_USED(softmax_across, softmax_across)
    SET_USED(log_softmax, log_softmax)
    SET_USED(softmax_block, softmax_block)
    SET_USED(layer_norm, layer_norm)
    SET_USED(rms_norm, rms_norm)
}
