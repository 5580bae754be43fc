/* Calls in a context's own memory. */
#ifndef RUNTIME_STANDALONE_GUARDED_H
#define RUNTIME_STANDALONE_GUARDED_H

#include "neff/base/diag.h"

struct heap;

/* call(arg), whose memory comes from h; false with a message where that is too small. */
bool guarded(struct heap *h, struct diag *d, bool (*call)(void *arg), void *arg);

#endif
