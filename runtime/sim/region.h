/* The bytes that a pattern touches. */
#ifndef RUNTIME_SIM_REGION_H
#define RUNTIME_SIM_REGION_H

#include "runtime/sim/numbers.h"

/* Runs of contiguous bytes: one at `low`, then count[i] of them, or of what is further in, every step[i] bytes. */
struct byte_runs {
    int64_t low, high; /* [low, high): empty where there are none */
    int64_t run;
    int rank; /* dims by falling steps */
    int64_t step[MAX_AP_RANK], count[MAX_AP_RANK];
    int64_t extent[MAX_AP_RANK + 1]; /* bytes from the first to the last of what dims i and on cover */
};

struct byte_runs region_of(const struct number_ap *a, const int64_t *vars);
/* All there is: what is found only when running. */
struct byte_runs region_anywhere(void);
bool regions_equal(const struct byte_runs *a, const struct byte_runs *b);
/* Whether they have a byte in common; true where that would take long to find out. */
bool regions_meet(const struct byte_runs *a, const struct byte_runs *b);

#endif
