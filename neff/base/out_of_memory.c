#include "neff/base/arena.h"
#include "neff/base/recover.h"

/* In a file of its own: programs for one model have another (runtime/standalone/alone). */
void arena_out_of_memory(size_t size)
{
    recovery_out_of_memory(size);
}
