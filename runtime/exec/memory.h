/*
 * Large blocks: the arena of planned slots, lanes' tiles.
 */
#ifndef RUNTIME_EXEC_MEMORY_H
#define RUNTIME_EXEC_MEMORY_H

#include <stddef.h>

/* Asks for huge pages where the system has them and the block is large. */
void prefer_huge_pages(void *p, size_t bytes);
/* `bytes` rounded up to whole pages (huge ones when large), aligned to them; NULL when the
 * machine has less. Freed by free. */
void *large_alloc(size_t bytes, size_t *got);
/* Has all pages of such a block in place, so that no later write waits for one. */
void large_touch(void *p, size_t bytes);

#endif
