/*
 * States: inputs that come back as an output with more behind them, as the caches of decoders do.
 *
 * What reads or writes the two walks with steps of its own, so these can have room between their rows, and the runtime
 * can let both lie in one memory: then the output is the input and what is new.
 */
#ifndef BACKEND_STATES_H
#define BACKEND_STATES_H

#include "backend/lower/lower.h"

struct grown {
    struct value *input, *output;
    int axis;
    dim_t pitch[2]; /* of input, output */
};

/* After plan_graph: outputs that are a concatenation of an input and something else, or a cache with rows behind those
 * of an input, where only kernels that walk with steps read the two. */
void find_states(struct lowering *l);
/* Steps of v, whose place along a state's axis may be wider than it is. */
void value_steps(struct lowering *l, const struct value *v, dim_t *steps);
/* The state's input or output that v shows with dims of 1 inserted, or is; NULL: none. */
struct value *state_shown(struct lowering *l, struct value *v);
/* When all is lowered: the program's list, and outputs that are an input with parts written over. */
void note_states(struct lowering *l);

#endif
