/*
 * Walking several arrays in step: the loop nest of broadcasting and of moving elements about.
 *
 *     struct walk w;
 *     walk_dims(&w, rank, dims, noperands);      then fill w.stride[k][i], in elements
 *     for (walk_start(&w); !w.done; walk_next(&w))
 *         w.count elements at w.offset[k], w.offset[k] + w.step[k], ...
 *
 * walk_start merges dims that all operands step through evenly, so that runs are long.
 */
#ifndef RUNTIME_OPS_WALK_H
#define RUNTIME_OPS_WALK_H

#include "neff/core/tensor.h"

enum { WALK_OPERANDS = 4 };

struct walk {
    int rank, noperands;
    bool done;
    int64_t dims[MAX_RANK], at[MAX_RANK];
    int64_t stride[WALK_OPERANDS][MAX_RANK];
    int64_t offset[WALK_OPERANDS], step[WALK_OPERANDS], count;
};

/* Strides of operand 0.. are set as if all were dense arrays of these dims. */
void walk_dims(struct walk *w, int rank, const int64_t *dims, int noperands);
/* Operand k is a dense array of shape (rank, dims) that broadcasts (numpy rules) to the walk's
 * dims. */
void walk_broadcast(struct walk *w, int k, int rank, const int64_t *dims);
void walk_start(struct walk *w);
void walk_next(struct walk *w);

/* Strides of a dense array, in elements. */
void dense_strides(int rank, const int64_t *dims, int64_t *strides);
/* Copies count elements of `bytes` bytes; steps in elements. */
void copy_run(void *dst, int64_t dst_step, const void *src, int64_t src_step, int64_t count,
              size_t bytes);
/* Every one of count elements of `bytes` bytes is *value. */
void fill_run(void *dst, const void *value, int64_t count, size_t bytes);
/* Operands 0 (destination) and 1 (source) of a walk whose strides are set. */
void walk_copy(struct walk *w, void *dst, const void *src, size_t bytes);

#endif
