/*
 * Recurrent layers, what their two forms share: the node in plain terms, and where its tensors lie.
 * What has the usual functions is one instruction; what that does not take is composed of
 * general ones.
 */
#ifndef BACKEND_RECURRENT_H
#define BACKEND_RECURRENT_H

#include "backend/lower/kernels.h"
#include "neff/isa/recurrence.h"

enum { BATCH_TILE = 16, MAX_FUNCTIONS = 3, MAX_STATES = 2 };

struct cell {
    enum op op;
    int gates, states;
    enum op functions[MAX_FUNCTIONS]; /* unless the node names others */
};

/* Where a tensor of states or results lies: steps of time, direction and batch; the hidden dim is
 * dense. */
struct sequence_place {
    int slot; /* -1: not there */
    dim_t time, direction, batch, start;
};

struct recurrent {
    const struct cell *cell;
    const struct node *n;
    struct value *x, *lengths;
    const struct tensor *w, *r, *bias, *peepholes;
    enum op function[MAX_FUNCTIONS];
    int64_t directions, hidden, inputs, width; /* width: gates * hidden */
    bool reverse, by_batch, reset_after, round_state;
    const double *state_scales; /* for each direction; NULL: ones */
    dim_t steps, batch;
    struct sequence_place y, initial[MAX_STATES], last[MAX_STATES];

    /* Of the composed form. */
    struct sequence_place projected, mask;
    int reset_bias; /* slot (direction, hidden) or -1 */
    struct sequence_place peephole; /* (direction, in or out or forget, hidden), if there are any */
};

static inline bool recurrent_result_wanted(const struct recurrent *v, int result)
{
    return result < v->n->nout && v->n->out[result]->uses;
}

/* With general instructions. Fills in what is its own. */
void compose_recurrence(struct lowering *l, struct recurrent *v);

#endif
