/*
 * Between bind_kernel.c and stream.c: elementwise instructions that run together.
 */
#ifndef RUNTIME_EXEC_STREAM_H
#define RUNTIME_EXEC_STREAM_H

#include "runtime/exec/bind_kernel.h"

/* The bound instruction may be one of several. */
bool stream_takes(const struct bound_insn *i);
/* Instructions from .. to - 1 of the kernel, all such: those on the same elements become one each. */
void stream_insns(struct binder *b, int from, int to);

#endif
