/*
 * Kernels over rows of elements: conversions, elementwise, reductions, softmax and norms, copies
 * and transposes. A family of kernels, compiled once for each variant that has its own; see
 * variants.h.
 */
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#include <float.h>

#include "runtime/kernels/math.inc"
#include "runtime/kernels/functions.inc"
#include "runtime/kernels/rows.inc"
#include "runtime/kernels/convert.inc"
#include "runtime/kernels/copy.inc"
#include "runtime/kernels/transpose.inc"
#include "runtime/kernels/tiles.inc"
#include "runtime/kernels/affine.inc"
#include "runtime/kernels/fold.inc"
#include "runtime/kernels/reduce.inc"
#include "runtime/kernels/short_rows.inc"
#include "runtime/kernels/softmax.inc"

void KERNEL_FAMILY(rows, VARIANT)(struct kernel_table *t)
{
    t->lanes = LANES;
    t->fma = HAS_FMA;
#define KERNEL_CONVERT(name, to, from) t->convert[CONVERT_##name] = convert_##name;
#define KERNEL_COMPARE(name, operator) t->compare[COMPARE_##name] = compare_##name;
#define KERNEL_BINARY(name)                                                                        \
    t->binary[BINARY_##name] = binary_##name;                                                      \
    t->binary_tile[BINARY_##name] = binary_tile_##name;
#define KERNEL_ACTIVATION(name, parameters, ulp, floor, low, high)                                 \
    t->activation[ACTIVATION_##name] = activation_##name;                                          \
    t->activation_tile[ACTIVATION_##name] = activation_tile_##name;                                \
    t->activate[ACTIVATION_##name] = activate_##name;
#define KERNEL_REDUCE(name, start, step)                                                           \
    t->reduce[REDUCE_##name] = reduce_##name;                                                      \
    t->reduce_rows[REDUCE_##name] = reduce_rows_##name;                                            \
    t->reduce_columns[REDUCE_##name] = reduce_columns_##name;
#include "runtime/kernels/kernels.def"
    t->copy = copy_row;
    t->copy_streamed = copy_streamed;
    t->transpose = transpose;
    t->interleave = interleave;
    t->select = select_row;
    t->multiply_add = multiply_add;
    t->affine = affine;
    t->dot = dot;
    t->exp_sum = exp_sum;
    t->mean_variance = mean_variance;
    t->argmax = argmax;
    t->argmin = argmin;
    t->softmax = softmax;
    t->softmax_rows = softmax_rows;
    t->softmax_across = softmax_across;
    t->log_softmax = log_softmax;
    t->softmax_block = softmax_block;
    t->layer_norm = layer_norm;
    t->rms_norm = rms_norm;
}
