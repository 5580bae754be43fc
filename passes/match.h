/*
 * Questions about values that several rewriting passes ask.
 */
#ifndef PASSES_MATCH_H
#define PASSES_MATCH_H

#include "passes/pass.h"

#include <string.h>

/* The node that computes v when it is of that operator, else NULL. */
static inline struct node *made_by(const struct value *v, enum op op)
{
    return v && v->def && v->def->op == op ? v->def : NULL;
}

enum { MAX_ELEMENTWISE = 3 }; /* operands of the elementwise operators that passes rewrite */

/* Two types of known rank have the same dims. */
static inline bool same_dims(const struct type *a, const struct type *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

/* A tensor of known rank. */
static inline bool is_tensor(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR && v->type.rank >= 0;
}

/* A tensor of known rank of u8 or s8. */
static inline bool is_8bit(const struct value *v)
{
    return is_tensor(v) && (v->type.dtype == DT_U8 || v->type.dtype == DT_I8);
}

/* A tensor in FP32, of known rank or not. */
static inline bool is_f32(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR && v->type.dtype == DT_F32;
}

/* A constant of one element. */
static inline bool single_constant(const struct value *v)
{
    return is_tensor(v) && v->constant && tensor_count(v->constant) == 1;
}

/* A tensor of one i32 or i64, of any rank. */
bool is_one_integer(const struct value *v);

/* Whether v is a constant whose elements are all the same number; the number then. */
bool constant_number(const struct value *v, double *out);
/* The same, close to `expected` up to the rounding of v's type. */
bool constant_is(const struct value *v, double expected);
/* Both are tensors of one known type. */
bool same_type(const struct value *a, const struct value *b);
/* Axes of a reduction or norm as a sorted list of at most MAX_RANK; -1 when not known. keepdims as
 * well. */
int reduction_axes(const struct node *n, int *axes);

#endif
