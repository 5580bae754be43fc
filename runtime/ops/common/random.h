/*
 * Random numbers: xoshiro256++ (Blackman and Vigna, 2018), its state filled by splitmix64 from the
 * seed. The same seed gives the same numbers on every machine.
 */
#ifndef RUNTIME_OPS_RANDOM_H
#define RUNTIME_OPS_RANDOM_H

#include "runtime/ops/common/ops.h"

struct random {
    uint64_t s[4];
};

void random_seed(struct random *r, uint64_t seed);
uint64_t random_bits(struct random *r);
double random_unit(struct random *r); /* in [0, 1), 53 bits */

/* The generator of a call: from the attribute `seed`, else the state that lives in its environment.
 */
struct random call_random(const struct op_call *c);
/* Gives the state back to the environment when there was no seed. */
void call_random_done(struct op_call *c, const struct random *r);

#endif
