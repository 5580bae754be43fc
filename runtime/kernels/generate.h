/*
 * Matrix kernels in machine code for one shape each, made by libxsmm's generator.
 *
 * The generator alone is used: libxsmm's dispatch keeps a registry of its own, 11 MB and some
 * milliseconds at first use. Code is kept, and shared by shape, until the process ends.
 */
#ifndef RUNTIME_KERNELS_GENERATE_H
#define RUNTIME_KERNELS_GENERATE_H

#include "runtime/kernels/gemm.h"

/* The batch-reduce kernel of a tile, over `k` of its k; add: to C, otherwise overwriting it. NULL
 * when there is none for this CPU, or no memory. Takes a lock. */
void (*gemm_generate(const struct gemm_tile *t, int k, bool add))(void);

#endif
