/*
 * What a 3x3 convolution of stride 1 costs on the `cpu` machine, directly and by Winograd's method
 * F(size x size, 3x3): pass autocast decides by it in which type operands are stored, the backend
 * how they are multiplied.
 */
#ifndef NEFF_CONV_COST_H
#define NEFF_CONV_COST_H

#include "neff/isa/machine.h"

struct conv_size {
    double high, wide; /* output pixels; where they are not known, those of supposed images */
    int64_t channels, out_channels;
};
/* An image of which only running tells the size: its side, and at most so many pixels a side within a network. */
#define CONV_SUPPOSED_IMAGE 320
#define CONV_SUPPOSED_SIDE  56

struct conv_way {
    int size;  /* of a tile, 2 or 4; 0: a direct sum */
    bool bf16; /* operands of the products, sums in f32 either way */
};

/*
 * The cheapest way; a direct sum unless another is clearly ahead. `bf16`: operands of products may
 * be rounded. Planes of F(4x4) are not: that deviates from the exact sum five times as much, while
 * those of F(2x2) do so less than twice (test_winograd).
 */
struct conv_way conv_best_way(const struct machine *m, const struct conv_size *c, bool bf16);
/*
 * The least rate of bf16 products, in percent of that of f32 (struct step of neff/isa/program.h), at which
 * a direct sum of bf16 takes less time than way w does; 0: none within MAX_BF16_RATE.
 */
int conv_direct_from(const struct machine *m, const struct conv_size *c, struct conv_way w);
/* Weights of it, with the columns that fill up the last vector. */
double conv_weight_bytes(const struct conv_size *c, struct conv_way w);

#endif
