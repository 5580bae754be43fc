/*
 * Worker threads of one context.
 *
 * Workers wait for the next job by spinning for some microseconds, since kernels follow each other
 * closely, and sleep after that. One job at a time, from one thread.
 */
#ifndef RUNTIME_EXEC_POOL_H
#define RUNTIME_EXEC_POOL_H

struct pool;

/* Threads of the caller's: job(arg, i) for each i below n, in any order and side by side; returns when
 * all are done. */
struct parallel {
    void (*run)(void *user, int n, void (*job)(void *arg, int i), void *arg);
    void *user;
};

/* `workers` threads, the calling one included; NULL when threads cannot be started. */
struct pool *pool_new(int workers);
/* The same of the caller's threads; *by is copied. */
struct pool *pool_of(const struct parallel *by);
void pool_free(struct pool *p);
/* Runs job(arg, worker) for workers 0..workers-1, worker 0 on the calling thread, and returns when all are
 * done. They allocate where the calling thread does (neff/base/allocator.h). */
void pool_run(struct pool *p, int workers, void (*job)(void *arg, int worker), void *arg);

#endif
