/*
 * What this machine can do, measured by the kernels that run models: what profiles compare with.
 *
 * All rates are those of `threads` threads together, and what a busy machine gave at that moment.
 * Measuring takes some 40 ms and 64 MB.
 */
#ifndef RUNTIME_EXEC_RATES_H
#define RUNTIME_EXEC_RATES_H

#include "runtime/kernels/gemm.h"

enum { RATE_TYPES = GEMM_U8S8 + 1 };

struct machine_rates {
    int threads;
    double gflops[RATE_TYPES]; /* per enum gemm_type: a product of 64 rows in cache */
    double memory, cache;      /* GB/s read: 64 MB, and a quarter of a megabyte by each thread */
};

/* False when there is no memory or no thread for it. */
bool rates_measure(struct machine_rates *r, int threads);

#endif
