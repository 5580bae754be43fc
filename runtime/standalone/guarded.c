/* In a process with other memory, where arenas end it for want of some; alone/guarded.c otherwise.
 */
#include "runtime/standalone/guarded.h"

#include "neff/base/allocator.h"

bool guarded(struct heap *h, struct diag *d, bool (*call)(void *arg), void *arg)
{
    struct heap *before = mem_use(h);
    bool ok = call(arg);
    mem_use(before);
    return ok || fail(d, "the memory is too small"); /* the first failure is kept */
}
