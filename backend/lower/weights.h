/*
 * Weights in the layout that the matrix kernels read (neff/isa/pack.h): packed when compiling, or, when
 * they are computed, by a kernel at the start of every run.
 */
#ifndef BACKEND_WEIGHTS_H
#define BACKEND_WEIGHTS_H

#include "backend/lower/kernels.h"
#include "backend/lower/lazy_constants.h"
#include "backend/lower/strided.h"
#include "neff/isa/pack.h"

struct packed_weights {
    int slot; /* 1-D when packed */
    struct pack_shape shape;
    int dtype;                      /* of the stored elements */
    bool in_place;                  /* computed weights that lie well enough; not packed */
    int64_t width;                  /* output channels in a stored row; of a block when in place */
    int64_t pitch;                  /* elements from one k to the next */
    int64_t group_step, block_step; /* elements */
};

enum pack_type pack_type_of(int dtype);

/*
 * A constant weight, f32, bf16, f16 or s8: element (group, k, out) lies at the given steps of the
 * data, or where `gather` finds it: that writes `out_channels` output channels from `first` on as (group, k,
 * out_channels), in the constant's type. f16 is widened to f32, exactly.
 */
struct weight_source {
    const struct value *constant;
    struct pack_source steps;
    void (*gather)(const void *layout, const struct tensor *w, int64_t first, int64_t out_channels,
                   void *to);
    bool rounds;         /* f32 to bf16 */
    const void *layout;  /* in the graph's arena */
    size_t layout_bytes; /* of a layout without padding: equal bytes gather alike; 0: not compared */
};

/*
 * Packed when the archive is written. The constant may consist of several parts, each packed as a
 * weight of its own, of `out_channels` output channels; out o of part p is out p * out_channels + o of the source.
 */
struct packed_weights pack_constant(struct lowering *l, const struct weight_source *w,
                                    int64_t groups, int64_t k, int64_t out_channels, int64_t parts,
                                    const char *name);

/* The same of data in the layout of neff/isa/pack.h that `m` makes, block of output channels by block. */
struct packed_weights packed_constant(struct lowering *l, struct lazy_constant *m,
                                      const struct value *constant, const struct pack_shape *shape,
                                      int64_t parts, const char *name);

/*
 * Computed weights of a convolution, (output channels, in_group, taps...), as `w` says they lie: read in place
 * when the output channels are neighbours, otherwise packed by a kernel of its own. Element (tap, in, out) of
 * the result, with every tap a group of the pack; `group` parts of the output channels are packed as weights
 * of their own, part p at p * block_step. f32, or bf16 with an even in_group.
 */
struct packed_weights pack_computed(struct lowering *l, const struct node *n,
                                    const struct strided *w, int dtype, int64_t group);
bool pack_computed_possible(int dtype, int64_t in_group);

/* The stationary operand: block `var_block` of output channels, (batch dims from `groups`..., k, out_channels). Pushes
 * (k, out_channels) only; the caller pushes batch dims before. */
struct ap weights_start(struct program *p, const struct packed_weights *w, int var_block);
void weights_finish(struct program *p, const struct packed_weights *w, struct ap *a,
                    int var_block);

#endif
