/*
 * Weights in the layout that the matrix kernels read (neff/pack.h): packed when compiling, or, when
 * they are computed, by a kernel at the start of every run.
 */
#ifndef BACKEND_WEIGHTS_H
#define BACKEND_WEIGHTS_H

#include "backend/kernel.h"
#include "backend/strided.h"
#include "neff/pack.h"

struct packed_weights {
    int slot; /* 1-D when packed */
    struct pack_shape shape;
    int dtype;                      /* of the stored elements */
    bool in_place;                  /* computed weights that lie well enough; not packed */
    int64_t width;                  /* outs in a stored row; of a block when in place */
    int64_t pitch;                  /* elements from one k to the next */
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

/* The same of data that has been packed, in packed_memory(). */
struct packed_weights packed_constant(struct lowering *l, const struct pack_shape *shape, void *data,
                                      const char *name);

/*
 * Computed weights of a convolution, (outs, in_group, taps...), as `w` says they lie: read in place
 * when the outs are neighbours, otherwise packed by a kernel of its own. Element (tap, in, out) of
 * the result, with every tap a group of the pack; `group` parts of the outs are packed as weights
 * of their own, part p at p * block_step. f32, or bf16 with an even in_group.
 */
struct packed_weights pack_computed(struct lowering *l, const struct node *n,
                                    const struct strided *w, int dtype, int64_t group);
bool pack_computed_possible(int dtype, int64_t in_group);

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
