/*
 * Keys and values of attention: one tensor, or the parts of a concatenation, read where they lie.
 *
 * A decoder gives attention one query, the keys and values of the past, and those of the new token
 * behind them. The concatenation needs no kernel of its own then: each instance reads the parts of
 * its head and, when the whole is an output, writes them there while the caches hold them.
 */
#ifndef BACKEND_ATTENTION_H
#define BACKEND_ATTENTION_H

#include "backend/lower/strided.h"

enum { MOST_PARTS = 4 };

struct attended {
    int nparts;
    struct strided part[MOST_PARTS];
    dim_t at[MOST_PARTS];              /* its first key */
    dim_t steps[MOST_PARTS][MAX_RANK]; /* of the batch dims */
    struct value *whole;               /* to be written, or NULL */
};

/* An attention that is taken: all scores of an instance are one row: one query, in FP32. */
bool attention_is_row(struct lowering *l, const struct node *n);
/* A concatenation of keys or values: attention reads the parts, and writes the whole where others need it. */
bool read_in_parts(struct lowering *l, const struct node *n);
/* Keys (operand 1) or values (2). */
struct attended attended_operand(struct lowering *l, const struct node *n, int operand);
/* Writes the whole; vars: the grid's variable of each batch dim, -1 where that is 1. */
void attended_append(struct lowering *l, struct kernel_builder *k, const struct attended *o, int nbatch,
                     const int *vars);

#endif
