/*
 * Weights packed at compile time in the layout that the matrix kernels read (neff/pack.h).
 */
#ifndef BACKEND_WEIGHTS_H
#define BACKEND_WEIGHTS_H

#include "backend/kernel.h"
#include "neff/pack.h"

struct packed_weights {
    int slot; /* constant slot, 1-D */
    struct pack_shape shape;
    int dtype;                      /* of the stored elements */
    int64_t width;                  /* outs in a stored row */
    int64_t group_step, block_step; /* elements */
};

enum pack_type pack_type_of(int dtype);

/*
 * Packs a constant f32, bf16, f16 or s8 weight: element (group, k, out) at the given steps. f16 is
 * widened to f32, exactly.
 */
struct packed_weights pack_constant(struct lowering *l, const struct tensor *w, int64_t groups,
                                    int64_t k, int64_t outs, const struct pack_source *steps,
                                    const char *name);

/* Memory for packed weights, aligned, owned by the graph. Ends the process when there is none, like
 * an arena. */
void *packed_memory(struct lowering *l, size_t bytes);

/* The stationary operand: block `var_block` of outs, (batch dims from `groups`..., k, outs). Pushes
 * (k, outs) only; the caller pushes batch dims before. */
struct ap weights_start(struct lowering *l, const struct packed_weights *w, int var_block);
void weights_finish(const struct packed_weights *w, struct ap *a, int var_block);

/* The weights have been packed; unless something else reads the constant, its memory is not needed
 * any more. */
void release_weights(struct lowering *l, struct value *v);

#endif
