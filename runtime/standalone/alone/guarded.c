/*
 * Running out of memory where there is none but the context's: the call ends there.
 */
#include "runtime/standalone/guarded.h"

#include "neff/base/allocator.h"
#include "neff/base/arena.h"
#include "neff/base/heap.h"

#if defined __wasm__ /* has no setjmp of its own */
#define setjmp(place)         0
#define longjmp(place, value) __builtin_trap()
#define jmp_buf int
#else
#include <setjmp.h>
#endif

static _Thread_local jmp_buf *way_out;
static _Thread_local size_t wanted;

void arena_out_of_memory(size_t size)
{
    wanted = size;
    longjmp(*way_out, 1);
}

bool guarded(struct heap *h, struct diag *d, bool (*call)(void *arg), void *arg)
{
    jmp_buf here;
    volatile bool ok = false;
    wanted = 0;
    way_out = &here;
    mem_use(h);
    if (!setjmp(here))
        ok = call(arg);
    mem_use(NULL);
    return ok || fail(d, "the memory is too small");
}
