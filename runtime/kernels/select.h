/*
 * The variant of the kernels for one thread.
 */
#ifndef RUNTIME_KERNELS_SELECT_H
#define RUNTIME_KERNELS_SELECT_H

#include <stdbool.h>

/* kernels_get() returns the named variant in this thread, whatever else is selected; NULL: no more.
 * Contexts keep the variant of the thread that makes and runs them. False: it cannot run here. */
bool kernels_select_here(const char *name);

#endif
