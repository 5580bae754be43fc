/*
 * Inputs made up from a seed: the same on every machine.
 */
#ifndef RUNTIME_IO_RANDOM_H
#define RUNTIME_IO_RANDOM_H

#include "neff/core/tensor.h"

struct value_range { /* of integers, as far as the model tells */
    bool known;
    int64_t low, high;
};

/* Floats in -1..1, 0 or 1 for booleans, integers in their range: where it is not known, bytes of
 * any value, others from 0 to 9. Strings stay empty. */
void random_fill(struct tensor *t, const struct value_range *r, uint64_t seed);

/* The same, but floats change slowly along every axis longer than LONG_AXIS, as sounds and images do:
 * white noise has no low frequencies to speak of, and sums of it no digits to lose. The largest is 1.
 */
enum { LONG_AXIS = 9 };
void smooth_fill(struct tensor *t, const struct value_range *r, uint64_t seed);

/* The same, but floats are constant in boxes of all sizes, from -2 to 2: edges and plains. */
void steps_fill(struct tensor *t, const struct value_range *r, uint64_t seed);

#endif
