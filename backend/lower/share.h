/*
 * Values of control flow that share one slot: what a loop carries is its parameter, its operand and
 * its result at once, and an update in part is written into its operand's memory.
 */
#ifndef BACKEND_SHARE_H
#define BACKEND_SHARE_H

#include "backend/lower/lower.h"

/*
 * Before the regions of a while are lowered: gives its parameters slots of fixed places where every
 * carried value has a layout that the inputs determine. A slot is that of the operand where nothing
 * reads the operand later, and that of the result.
 */
void share_loop(struct lowering *l, struct node *n);
/* Before the branches of an if are lowered: a result that every branch makes from the same value,
 * by updates or by leaving it, gets that value's slot where nothing reads the value later; another
 * one is computed where it belongs. */
void share_branches(struct lowering *l, struct node *n);
/* Before an operator that updates operand 0 is lowered as a call: its result gets the operand's
 * slot where nothing reads the operand later. */
void share_update(struct lowering *l, struct node *n);
/* Whether the node's one result is operand 0 with parts written over. */
bool updates_operand(const struct node *n);

#endif
