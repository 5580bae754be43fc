/*
 * Large blocks: the arena of planned slots, workers' tiles.
 */
#ifndef RUNTIME_EXEC_MEMORY_H
#define RUNTIME_EXEC_MEMORY_H

#include <stddef.h>

/*
 * The pages of a block that is about to be written, huge ones where the system has them and the
 * block is large: all at once, so that no write waits for one.
 */
void pages_ahead(void *p, size_t bytes);
/* `bytes` zeros, aligned to pages (to huge ones when large), whose pages come when they are touched
 * or asked for; NULL when the machine has less. */
void *large_space(size_t bytes);
/* The same, `bytes` rounded up so that a little more fits later. *got is 0 after a failure. */
void *large_room(size_t bytes, size_t *got);
/* The same with its pages. */
void *large_alloc(size_t bytes, size_t *got);
/* With the size asked for, or *got. NULL is allowed. */
void large_free(void *p, size_t bytes);

#endif
