/*
 * What the runtime asks of a system, where there is none: one thread, no clock, memory from the
 * context's heap, no profile.
 */
#include "neff/base/allocator.h"
#include "neff/base/memory.h"
#include "neff/isa/machine.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/state.h"

/* ---- memory ---- */

size_t memory_total(void)
{
    return SIZE_MAX;
}

void memory_in_large_pages(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

void pages_ahead(void *p, size_t bytes)
{
    (void)p, (void)bytes;
}

void *large_space(size_t bytes)
{
    return mem_calloc(bytes, 1);
}

void large_free(void *p, size_t bytes)
{
    (void)bytes;
    mem_free(p);
}

void *large_room(size_t bytes, size_t *got)
{
    void *p = large_space(bytes);
    *got = p ? bytes : 0;
    return p;
}

void *large_alloc(size_t bytes, size_t *got)
{
    return large_room(bytes, got);
}

/* ---- threads ---- */

struct pool *pool_new(int workers)
{
    (void)workers;
    return NULL;
}

struct pool *pool_of(const struct parallel *by)
{
    (void)by;
    return NULL;
}

void pool_free(struct pool *p)
{
    (void)p;
}

void pool_run(struct pool *p, int workers, void (*job)(void *arg, int worker), void *arg)
{
    (void)p;
    for (int i = 0; i < workers; i++)
        job(arg, i);
}

int physical_cores(void)
{
    return 1;
}

bool engine_threads_selected(void)
{
    return false;
}

bool launch_engines(struct context *c, const struct bound_kernel *k, struct diag *d)
{
    (void)c, (void)k;
    return fail(d, "engines have no threads here");
}

/* ---- limits: the program that calls has its own ---- */

const char *stop_now(const struct stop *s)
{
    (void)s;
    return NULL;
}

void limits_start(struct context *c)
{
    (void)c;
}

bool limits_step(struct context *c, struct diag *d)
{
    (void)c, (void)d;
    return true;
}

bool limits_steps(struct context *c, int64_t n, struct diag *d)
{
    (void)c, (void)n, (void)d;
    return true;
}

void limits_end(struct context *c)
{
    (void)c;
}

bool limits_time(const struct context *c, struct diag *d)
{
    (void)c, (void)d;
    return true;
}

bool limits_bytes(const struct context *c, const char *what, size_t bytes, struct diag *d)
{
    (void)c, (void)what, (void)bytes, (void)d;
    return true;
}

/* ---- profiles ---- */

double profile_now(const struct profile *p)
{
    (void)p;
    return 0;
}

void profile_launch(struct profile *p, const struct program *program, const struct bound_kernel *k,
                    double start)
{
    (void)p, (void)program, (void)k, (void)start;
}

void profile_call(struct profile *p, const struct program *program, const struct call *call,
                  const struct op_call *with, double start)
{
    (void)p, (void)program, (void)call, (void)with, (void)start;
}

void profile_run(struct profile *p, const struct program *program, double start)
{
    (void)p, (void)program, (void)start;
}

void warm_up(struct context *c)
{
    (void)c;
}

/* ---- the machine: programs for others are not compiled into C ---- */

const struct machine *machine_find(const char *name)
{
    static const struct machine cpu = {.name = "cpu"};
    (void)name;
    return &cpu;
}
