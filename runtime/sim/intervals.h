/*
 * A line of bytes cut into intervals, each with a state: which bytes had something done to them,
 * and what.
 */
#ifndef RUNTIME_SIM_INTERVALS_H
#define RUNTIME_SIM_INTERVALS_H

#include "neff/base/arena.h"

#include <stdint.h>

struct intervals {
    struct arena *arena; /* given by the user, who frees it */
    struct interval *root, *spare;
    uint32_t random;
};

/* The new state of bytes [low, high), all of which had `state` (NULL: at the beginning). */
typedef const void *intervals_change(void *with, const void *state, int64_t low, int64_t high);

/* Changes the states of bytes [low, high), from the lowest on. Neighbours that get the same state, as
 * a pointer, become one interval. Time: the logarithm of all intervals, and those that it covers. */
void intervals_apply(struct intervals *m, int64_t low, int64_t high, intervals_change *change,
                     void *with);

#endif
