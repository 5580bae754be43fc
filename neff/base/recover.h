/*
 * Out of memory in the middle of a call of a library. Arenas never return NULL; in a thread that is
 * inside such a call, running out leads back to its beginning, which fails with a message:
 *
 *     struct recovery r;
 *     if (RECOVERED(r))
 *         return fail_memory(d, "out of memory");
 *     bool ok = work();
 *     recovery_end(&r);
 *
 * What the call held by then is lost, not given back; objects that it was changing are not to be used
 * again. Calls may be nested. In a thread outside of any, which a program's own must be, the process
 * ends with a message and status 1, its temporary files removed.
 */
#ifndef NEFF_BASE_RECOVER_H
#define NEFF_BASE_RECOVER_H

#include <setjmp.h>
#include <stddef.h>

struct recovery {
    jmp_buf at;
    struct recovery *outer;
};

void recovery_begin(struct recovery *r);
void recovery_end(struct recovery *r);
#define RECOVERED(r) (recovery_begin(&(r)), setjmp((r).at) != 0)

_Noreturn void recovery_out_of_memory(size_t bytes);

#endif
