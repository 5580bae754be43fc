/*
 * Elementwise nodes on integers and booleans that the Vector engine computes exactly, as the
 * operators' plain routines do. Only machines with the extensions have integers of every width:
 * strict targets run these nodes as calls.
 */
#ifndef PASSES_IR_INTEGER_H
#define PASSES_IR_INTEGER_H

#include "passes/ir/ir.h"

/* Whether n is a function of one or two operands, a choice (`where`) or a conversion of integers or
 * booleans, with one result. Conversions may give f32. Requires inferred types. */
bool is_integer_elementwise(const struct node *n);
/* Whether n shows words of 32 bits, floats or integers, as the other type. */
bool is_word_bitcast(const struct node *n);
/* Whether n rounds FP32 to 8 bits by one scale and one zero point, which may be computed when the model runs. */
bool is_quantized_by_one(const struct node *n);

#endif
