/*
 * Rows of a few elements as operations of quick.h: a loop over them costs less than the call of a
 * kernel that computes many at a time. Each has the bits of the kernel that it stands for.
 */
#ifndef RUNTIME_EXEC_QUICK_SHORT_H
#define RUNTIME_EXEC_QUICK_SHORT_H

#include "runtime/exec/quick.h"

enum { QUICK_SHORT = 16 }; /* elements; longer rows are faster by their kernel */

/* What computes rows with the operation that a single number has by this code; NULL: none. */
quick_row_fn quick_short_row(uint16_t code, bool fused);

#endif
