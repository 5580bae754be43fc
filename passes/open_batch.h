/*
 * How a batch that is a number becomes a symbol: what pass open_batch (open_batch.c) knows, and how it changes operands
 * that have the number in them (open_operands.c).
 */
#ifndef PASSES_OPEN_BATCH_H
#define PASSES_OPEN_BATCH_H

#include "passes/separable.h"

struct opening {
    struct separable s;
    int64_t batch;       /* what s.batch stands for */
    const dim_t *number; /* by symbol, of nsymbols: the batch for s.symbol, DIM_NOT_BOUND for others */
    int nsymbols;
    const struct type *types; /* by the values' numbers: with the number */
    struct opened_operand { /* to be put back where the batch stays a number */
        struct node *node;
        int operand;
        struct value *was;
    } *changes;
    int nchanges, changes_cap;
    struct node **made;
    int nmade, made_cap;
};

/* Operands of n, whose other ones are inferred and placed with the symbol, and whose results have the types of before,
 * become those for any batch. False: there is no way known. */
bool open_operands(struct opening *o, struct node *n);

#endif
