/*
 * Launching kernels: the grid's instances in contiguous ranges, one per worker, so that a worker finds
 * in its cache what it wrote in the kernel before. A worker that is done takes from the end of
 * another's range: cores are not equally fast, and instances not equally long.
 *
 * Which worker runs an instance is a matter of time; what an instance computes does not depend on it.
 * Engines of one instance run in the order of the merged stream.
 */
#include "runtime/exec/engine.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/plant.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one worker ---- */

/* Between turns of loops, now and then: false when the worker is to give up. */
static bool goes_on(struct worker *me)
{
    enum { LOOK_EACH = 1024 };
    if (++me->turns % LOOK_EACH)
        return true;
    const char *why = stop_now(me->stop);
    if (why)
        worker_fail(me, why);
    return !atomic_load_explicit(me->error, memory_order_relaxed);
}

static void run_instance(struct worker *me, const struct bound_kernel *k)
{
    int64_t left[MAX_VARS];
    int depth = 0;
    for (int pc = 0; pc < k->ninsns; pc++) {
        const struct bound_insn *i = &k->insns[pc];
        if (i->run) {
            i->run(me, i);
            plant(me, k, pc, 1 + i->skip);
            pc += i->skip;
        } else if (i->op == INSN_loop) {
            int64_t count = number_value(&i->imm[IMM(loop, count)], me->vars);
            me->vars[i->imm[IMM(loop, var)].base] = 0;
            if (count > 0)
                left[depth++] = count;
            else
                pc = i->match;
        } else if (--left[depth - 1] > 0) {
            if (!goes_on(me))
                return;
            me->vars[k->insns[i->match].imm[IMM(loop, var)].base]++;
            pc = i->match;
        } else {
            depth--;
        }
    }
}

static void run_range(struct worker *me, const struct bound_kernel *k, int64_t from, int64_t to)
{
    if (k->run_many) {
        k->run_many(me, k, from, to);
        plant(me, k, 0, 1);
        return;
    }
    int64_t rest = from;
    for (int g = k->ngrid - 1; g >= 0; g--) {
        me->vars[g] = rest % k->grid[g];
        rest /= k->grid[g];
    }
    for (int64_t n = from; n < to; n++) {
        run_instance(me, k);
        if (!goes_on(me) || atomic_load_explicit(me->error, memory_order_relaxed))
            return;
        for (int g = k->ngrid - 1; g >= 0 && ++me->vars[g] == k->grid[g]; g--)
            me->vars[g] = 0;
    }
}

/* Instances from .. to - 1, in the same way. */
static void launch_range(struct worker *me, const struct bound_kernel *k, int64_t from, int64_t to)
{
    run_range(me, k, from, to);
    kernels_release(me->k);
}

void launch_one(struct worker *me, const struct bound_kernel *k)
{
    for (int g = 0; g < k->ngrid; g++)
        me->vars[g] = 0;
    run_instance(me, k);
    kernels_release(me->k);
}

/* ---- all workers ---- */

/* Fewer nanoseconds of work than it takes to wake a worker are done by the caller alone. */
enum { ALONE_NS = 4000, FLOPS_PER_NS = 50, BYTES_PER_NS = 8 };

static int workers_for(int threads, const struct bound_kernel *k)
{
    if (threads == 1 || k->instances == 1 || k->in_order ||
        k->flops / FLOPS_PER_NS + k->work_bytes / BYTES_PER_NS < ALONE_NS)
        return 1;
    return k->instances < threads ? (int)k->instances : threads;
}

/*
 * What a worker has left is in its `share`: chunks first..end - 1 of the kernel's instances, as
 * first << 32 | end.
 */
enum { CHUNKS = 64 }; /* of a worker, at most */

struct launch_work {
    struct worker *all;
    const struct bound_kernel *k;
    int workers;
    int64_t chunk; /* instances of one */
};

/* The first chunk of a share, or its last; -1 when nothing is left. */
static int64_t take(atomic_uint_fast64_t *share, bool first)
{
    uint_fast64_t now = atomic_load_explicit(share, memory_order_relaxed), next;
    do {
        if (now >> 32 >= (now & UINT32_MAX))
            return -1;
        next = first ? now + (1ull << 32) : now - 1;
    } while (!atomic_compare_exchange_weak_explicit(share, &now, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return (int64_t)(first ? now >> 32 : next & UINT32_MAX);
}

static void run_worker(void *arg, int worker)
{
    struct launch_work *w = arg;
    const struct bound_kernel *k = w->k;
    struct worker *workers = w->all, *own = &workers[worker];
    for (int i = 0; i < w->workers; i++)
        for (int64_t n; (n = take(&workers[(worker + i) % w->workers].share, i == 0)) >= 0;) {
            int64_t from = n * w->chunk, to = from + w->chunk;
            launch_range(own, k, from, to < k->instances ? to : k->instances);
            if (atomic_load_explicit(own->error, memory_order_relaxed))
                return;
        }
}

static void run_shared(struct worker *all, int workers, const struct parallel *by,
                       const struct bound_kernel *k)
{
    int64_t chunk = 1 + (k->instances - 1) / ((int64_t)workers * CHUNKS);
    int64_t chunks = (k->instances + chunk - 1) / chunk;
    for (int i = 0; i < workers; i++)
        atomic_store_explicit(&all[i].share,
                              (uint64_t)(chunks * i / workers) << 32 |
                                  (uint64_t)(chunks * (i + 1) / workers),
                              memory_order_relaxed);
    by->run(by->user, workers, run_worker, &(struct launch_work){all, k, workers, chunk});
}

void launch_on(struct worker *all, int threads, const struct parallel *by,
               const struct bound_kernel *k, _Atomic(const char *) *error)
{
    int workers = workers_for(threads, k);
    for (int i = 0; i < workers; i++)
        all[i].error = error;
    if (workers == 1)
        launch_range(all, k, 0, k->instances);
    else
        run_shared(all, workers, by, k);
}

static void run_in_pool(void *pool, int n, void (*job)(void *arg, int i), void *arg)
{
    pool_run(pool, n, job, arg);
}

bool launch(struct context *c, const struct bound_kernel *k, struct diag *d)
{
    plant_log(c->m->p, k);
    _Atomic(const char *) error = NULL;
    if (k->instances == 0)
        return true;
    if (c->m->engine_threads)
        return launch_engines(c, k, d);
    launch_on(c->workers, c->threads, &(struct parallel){run_in_pool, c->pool}, k, &error);
    const char *text = atomic_load(&error);
    if (text)
        return fail(d, "%s", text);
    return true;
}

enum { LINE = 64, GUARD = 4096, MODEST = 64 << 20 }; /* no machine's on-chip memory is larger */

/* Bytes of a worker with so many of tiles and scratch. */
static size_t worker_need(size_t tiles, size_t scratch)
{
    return (tiles + scratch + GUARD - 1) / GUARD * GUARD + GUARD;
}

bool workers_reserve(struct context *c, int64_t tile_bytes, int64_t scratch_bytes, struct diag *d)
{
    if (tile_bytes > INT64_MAX / 4096 || scratch_bytes > INT64_MAX / 4096)
        return fail(d, "a kernel's tiles need %lld bytes and its routines %lld, more than any machine has",
                    (long long)tile_bytes, (long long)scratch_bytes);
    size_t tiles = ((size_t)tile_bytes + LINE - 1) / LINE * LINE, scratch = (size_t)scratch_bytes;
    tiles = tiles > c->tile_bytes ? tiles : c->tile_bytes; /* kernels bound before keep the room they were promised */
    scratch = scratch > c->scratch_bytes ? scratch : c->scratch_bytes;
    size_t need = worker_need(tiles, scratch);
    if (need > MODEST && !limits_bytes(c, "tiles of its kernels need", need * (size_t)c->threads, d))
        return false;
    if (need > c->worker_bytes) {
        size_t room = c->guessed && need <= MODEST ? 4 * need : need; /* other shapes may ask for more */
        large_free(c->worker_memory, c->worker_bytes * (size_t)c->threads);
        c->worker_bytes = c->worker_ready = 0;
        size_t all;
        c->worker_memory =
            __builtin_mul_overflow(room, (size_t)c->threads, &all) ? NULL : large_space(all);
        if (!c->worker_memory)
            return fail_memory(d, "out of memory: %zu bytes of tiles for each of %d threads", need,
                               c->threads);
        c->worker_bytes = room;
    }
    c->tile_bytes = tiles;
    c->scratch_bytes = scratch;
    for (int i = 0; i < c->threads; i++) {
        c->workers[i].tiles = c->worker_memory + (size_t)i * c->worker_bytes;
        c->workers[i].scratch = c->workers[i].tiles + c->tile_bytes;
    }
    return true;
}

void workers_ahead(struct context *c)
{
    size_t need = worker_need(c->tile_bytes, c->scratch_bytes);
    if (need <= c->worker_ready || need > MODEST) /* more comes as it is touched */
        return;
    bool all = need == c->worker_bytes && !c->worker_ready;
    for (int i = 0; i < c->threads && !all; i++)
        pages_ahead(c->worker_memory + (size_t)i * c->worker_bytes + c->worker_ready, need - c->worker_ready);
    if (all)
        pages_ahead(c->worker_memory, need * (size_t)c->threads);
    c->worker_ready = need;
}

bool workers_start(struct context *c, struct diag *d)
{
    c->workers = calloc((size_t)c->threads, sizeof *c->workers);
    if (!c->workers)
        return fail_memory(d, "out of memory");
    for (int i = 0; i < c->threads; i++) {
        c->workers[i].hbm = c->address;
        c->workers[i].stop = &c->stop;
        c->workers[i].k = kernels_get();
    }
    if (c->threads > 1)
        c->pool = c->by ? pool_of(c->by) : pool_new(c->threads);
    if (c->pool || c->threads == 1)
        return true;
    return c->by ? fail_memory(d, "out of memory")
                 : fail_memory(d, "out of memory, or of threads: cannot start %d threads", c->threads);
}

void workers_stop(struct context *c)
{
    pool_free(c->pool);
    large_free(c->worker_memory, c->worker_bytes * (size_t)c->threads);
    free(c->workers);
}
