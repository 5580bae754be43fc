#include "runtime/exec/thread.h"

enum { STACK_BYTES = 1 << 20 };

bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    pthread_attr_t a;
    if (pthread_attr_init(&a))
        return false;
    bool ok = !pthread_attr_setstacksize(&a, STACK_BYTES) && !pthread_create(thread, &a, run, arg);
    pthread_attr_destroy(&a);
    return ok;
}
