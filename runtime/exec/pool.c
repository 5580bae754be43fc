#define _GNU_SOURCE /* CPU sets, sched_getcpu */
#include "runtime/exec/pool.h"

#include "neff/base/allocator.h"
#include "runtime/exec/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { SPIN_NS = 100000, TURNS = 64 }; /* the clock is read every TURNS turns */

struct pool_thread {
    struct pool *pool;
    int worker;
    pthread_t thread;
    atomic_int cpu; /* where it ran last; -1: not yet */
};

struct pool {
    struct parallel by; /* the caller's threads; then it has none of its own */
    int workers, started;
    struct pool_thread *threads; /* of worker 1 and on */
    atomic_int caller_cpu;
    void (*job)(void *arg, int worker);
    void *arg;
    struct heap *heap;                  /* the calling thread's */
    int active;                         /* workers of the job */
    _Alignas(64) atomic_uint round;     /* number of the latest job */
    _Alignas(64) atomic_int unfinished; /* threads that have not done it */
    _Alignas(64) atomic_int sleepers;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static inline void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static long long clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Until there is a job after `seen`. */
static unsigned wait_for_job(struct pool *p, unsigned seen)
{
    long long until = clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < TURNS; i++) {
            unsigned round = atomic_load_explicit(&p->round, memory_order_acquire);
            if (round != seen)
                return round;
            relax();
        }
    } while (clock_ns() < until);
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->round) == seen)
        pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return atomic_load_explicit(&p->round, memory_order_acquire);
}

/* The CPU of a worker. */
static int worker_cpu(struct pool *p, int worker)
{
    return atomic_load_explicit(worker ? &p->threads[worker - 1].cpu : &p->caller_cpu,
                                memory_order_relaxed);
}

/*
 * Schedulers wake a thread beside the one that woke it, and leave two that spin in turns on one CPU
 * there for whole seconds. A thread that finds itself on the CPU of a worker before it moves away, by
 * allowing itself the other CPUs only for a moment.
 */
static void leave_shared_cpu(struct pool_thread *w)
{
#if defined __linux__
    int here = sched_getcpu();
    bool shared = false;
    for (int i = 0; i < w->worker; i++)
        shared |= worker_cpu(w->pool, i) == here;
    if (shared && here >= 0) {
        cpu_set_t allowed, others;
        if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed))
            return;
        others = allowed;
        for (int i = 0, cpu; i < w->worker; i++)
            if ((cpu = worker_cpu(w->pool, i)) >= 0)
                CPU_CLR(cpu, &others);
        if (CPU_COUNT(&others) && !pthread_setaffinity_np(pthread_self(), sizeof others, &others))
            pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
        here = sched_getcpu();
    }
    atomic_store_explicit(&w->cpu, here, memory_order_relaxed);
#endif
}

/* One worker's part, in a thread that is not the calling one. */
static void run_there(void *arg, int worker)
{
    struct pool *p = arg;
    struct heap *before = mem_use(p->heap);
    p->job(p->arg, worker);
    mem_use(before);
}

static void *work(void *arg)
{
    struct pool_thread *w = arg;
    struct pool *p = w->pool;
    for (unsigned seen = 0;;) {
        seen = wait_for_job(p, seen);
        if (atomic_load(&p->stop))
            return NULL;
        if (w->worker < p->active) {
            leave_shared_cpu(w);
            run_there(p, w->worker);
        }
        atomic_fetch_sub_explicit(&p->unfinished, 1, memory_order_release);
    }
}

/* Sleepers are counted under the lock before they look at the round, so that none is missed. */
static void announce(struct pool *p)
{
    atomic_fetch_add(&p->round, 1);
    if (atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void pool_run(struct pool *p, int workers, void (*job)(void *arg, int worker), void *arg)
{
    p->job = job;
    p->arg = arg;
    p->heap = mem_heap();
    p->active = workers;
    if (p->by.run) {
        p->by.run(p->by.user, workers, run_there, p);
        return;
    }
#if defined __linux__
    atomic_store_explicit(&p->caller_cpu, sched_getcpu(), memory_order_relaxed);
#endif
    atomic_store(&p->unfinished, p->started);
    announce(p);
    job(arg, 0);
    for (long long until = 0; atomic_load_explicit(&p->unfinished, memory_order_acquire) > 0;) {
        for (int i = 0; i < TURNS && atomic_load_explicit(&p->unfinished, memory_order_acquire) > 0;
             i++)
            relax();
        long long now = clock_ns();
        if (!until)
            until = now + SPIN_NS;
        if (now > until)
            sched_yield(); /* fewer cores than threads */
    }
}

struct pool *pool_of(const struct parallel *by)
{
    struct pool *p = pool_new(1);
    if (p)
        p->by = *by;
    return p;
}

struct pool *pool_new(int workers)
{
    struct pool *p = aligned_alloc(64, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct pool){.workers = workers};
    p->threads = calloc((size_t)workers, sizeof *p->threads);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    bool ok = p->threads != NULL;
    for (int i = 1; ok && i < workers; i++) {
        struct pool_thread *w = &p->threads[p->started];
        *w = (struct pool_thread){.pool = p, .worker = i, .cpu = -1};
        ok = thread_start(&w->thread, work, w);
        p->started += ok;
    }
    if (ok)
        return p;
    pool_free(p);
    return NULL;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    atomic_store(&p->stop, true);
    announce(p);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->threads[i].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p->threads);
    free(p);
}
