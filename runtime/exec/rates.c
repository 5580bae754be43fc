#include "runtime/exec/rates.h"

#include "neff/base/clock.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/pool.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 64, K = 512, TILE_BYTES = 4 * COLUMNS * K };
enum { MEMORY_BYTES = 64 << 20, CACHE_BYTES = 256 << 10, ROW = 16384 /* elements */ };

struct rate_job {
    struct pool *pool;
    int workers, repeat; /* how often each worker does its part */
    struct gemm gemm;
    char *memory;
    size_t bytes; /* of the part of a worker; parts are `pitch` bytes apart */
    size_t pitch;
};

/* Seconds of the fastest of some turns by all workers. */
static double fastest(struct rate_job *j, void (*work)(void *job, int worker), int turns)
{
    double min = 0;
    for (int i = 0; i < turns; i++) {
        double start = seconds_now();
        if (j->pool)
            pool_run(j->pool, j->workers, work, j);
        else
            work(j, 0);
        double seconds = seconds_now() - start;
        min = i == 0 || seconds < min ? seconds : min;
    }
    return min;
}

static void multiply(void *arg, int worker)
{
    const struct rate_job *j = arg;
    char *at = j->memory + (size_t)worker * j->pitch;
    for (int i = 0; i < j->repeat; i++)
        gemm_run(&j->gemm, kernels_get(), at, at + TILE_BYTES, at + 2 * TILE_BYTES);
    kernels_release(kernels_get());
}

static void fill(void *arg, int worker)
{
    const struct rate_job *j = arg;
    memset(j->memory + (size_t)worker * j->pitch, 0x3c, j->bytes);
}

static void read_part(void *arg, int worker)
{
    const struct rate_job *j = arg;
    const struct kernel_table *k = kernels_get();
    const float *at = (const float *)(j->memory + (size_t)worker * j->pitch);
    for (int i = 0; i < j->repeat; i++)
        for (size_t n = 0; n + ROW <= j->bytes / sizeof *at; n += ROW)
            k->reduce[REDUCE_sum]((struct in_row){at + n, 1}, ROW);
}

/* Bursts of about a millisecond. */
static double product_rate(struct rate_job *j, enum gemm_type type)
{
    const struct gemm_tile tile = {type, ROWS, COLUMNS, K, K, COLUMNS, COLUMNS, false, {{0}, {0}, {0}},
                                   false};
    gemm_prepare(&j->gemm, &tile, kernels_get()->lanes);
    j->repeat = 1;
    double once = fastest(j, multiply, 3);
    j->repeat = once < 1e-3 ? (int)(1e-3 / (once + 1e-9)) + 1 : 1;
    double flops = 2.0 * ROWS * COLUMNS * K * j->repeat * j->workers;
    return flops / fastest(j, multiply, 6) * 1e-9;
}

static double reading_rate(struct rate_job *j, size_t bytes, int repeat)
{
    j->bytes = bytes;
    j->repeat = repeat;
    return (double)bytes * repeat * j->workers / fastest(j, read_part, 4) * 1e-9;
}

bool rates_measure(struct machine_rates *r, int threads)
{
    size_t part = MEMORY_BYTES / (size_t)threads / CACHE_BYTES * CACHE_BYTES, got;
    if (part < 4 * TILE_BYTES)
        part = 4 * TILE_BYTES;
    struct rate_job j = {.workers = threads, .repeat = 1, .bytes = part, .pitch = part};
    *r = (struct machine_rates){.threads = threads};
    j.memory = large_alloc(part * (size_t)threads, &got);
    j.pool = threads > 1 ? pool_new(threads) : NULL;
    bool ok = j.memory && (j.pool || threads == 1);
    if (ok) {
        fastest(&j, fill, 1);
        for (int type = 0; type < RATE_TYPES; type++)
            r->gflops[type] = product_rate(&j, (enum gemm_type)type);
        r->memory = reading_rate(&j, part, 1);
        r->cache = reading_rate(&j, CACHE_BYTES, 8);
    }
    pool_free(j.pool);
    large_free(j.memory, got);
    return ok;
}
