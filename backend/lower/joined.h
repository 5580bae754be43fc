/*
 * Strict targets: nodes that the kernel of a product computes besides, so that rows are loaded and turned once, and
 * results go on without a way through HBM.
 *
 *   products of the same rows by other constant matrices: query, key and value
 *   the normalisation of a product's rows, with what follows it
 *
 * They run where the first product stands, so that what they read has to be there.
 */
#ifndef BACKEND_JOINED_H
#define BACKEND_JOINED_H

#include "backend/lower/lower.h"

/* Once all products are decided: the node's chain (decision.next). */
void decide_joined(struct lowering *l, struct node *n);

/*
 * A product of rows whose result is the rows of one other product alone: that takes them by columns, and the Tensor
 * engine would have to turn them. Where nothing else but numbers per column goes into the result, it is computed and
 * stored turned.
 */
enum { MIN_TURNED_ROWS = 32 };
void decide_turned(struct lowering *l, struct node *n);

#endif
