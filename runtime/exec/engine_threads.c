/*
 * Engines as threads: each engine's stream of an instance runs by itself and waits for semaphores,
 * as on the machine. It is slow; it shows, with ThreadSanitizer or a deadlock, a program whose
 * semaphores do not order what must be ordered. Products do not do the instructions after them
 * (exec_steps.c) then, for those belong to other engines.
 */
#include "runtime/exec/state.h"
#include "runtime/exec/thread.h"

#include <stdlib.h>
#include <string.h>

static bool wanted;

void engine_threads_select(bool on)
{
    wanted = on;
}

bool engine_threads_selected(void)
{
    return wanted;
}

struct crew {
    struct context *c;
    const struct bound_kernel *k;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t *semaphore;   /* values, of the instance that runs */
    int64_t instance;     /* that one; k->instances or more: none is left */
    int arrived;          /* engines that are done with it */
    int64_t signals;      /* so far, in all */
    int waiting;          /* engines that wait for a semaphore and have seen all of them */
    bool stopped;         /* all shall end */
    _Atomic(const char *) *error;
};

struct member {
    struct crew *crew;
    enum engine engine;
    struct worker *worker;
};

static const char deadlock[] = "deadlock: every engine waits for a semaphore or is done";

/* With the lock held. */
static void stop(struct crew *w, const char *why)
{
    const char *none = NULL;
    if (why)
        atomic_compare_exchange_strong(w->error, &none, why);
    w->stopped = true;
    pthread_cond_broadcast(&w->changed);
}

static bool wait_for(struct crew *w, const struct worker *me, const struct insn *insn,
                     const struct number *values)
{
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < insn->nwaits && !w->stopped; i++) {
        int64_t min = number_value(&values[i], me->vars);
        while (!w->stopped && w->semaphore[insn->wait[i].semaphore] < min) {
            int64_t seen = w->signals;
            if (++w->waiting + w->arrived == ENGINE_COUNT)
                stop(w, deadlock);
            while (!w->stopped && w->signals == seen)
                pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    bool go = !w->stopped;
    pthread_mutex_unlock(&w->lock);
    return go;
}

static void signal_after(struct crew *w, const struct insn *insn)
{
    if (insn->signal[0] < 0 && insn->signal[1] < 0)
        return;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < 2; i++)
        if (insn->signal[i] >= 0)
            w->semaphore[insn->signal[i]]++;
    w->signals++;
    w->waiting = 0; /* they look again */
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* The stream of one engine: its instructions, and every loop. */
static bool run_stream(const struct member *m)
{
    const struct bound_kernel *k = m->crew->k;
    struct worker *me = m->worker;
    int64_t left[MAX_VARS];
    int depth = 0;
    for (int pc = 0; pc < k->ninsns; pc++) {
        const struct bound_insn *i = &k->insns[pc];
        const struct insn *insn = &k->kernel->insns[pc];
        if (i->op == INSN_loop) {
            int64_t count = number_value(&i->imm[IMM(loop, count)], me->vars);
            me->vars[i->imm[IMM(loop, var)].base] = 0;
            if (count > 0)
                left[depth++] = count;
            else
                pc = i->match;
        } else if (i->op == INSN_end) {
            if (--left[depth - 1] > 0) {
                me->vars[k->insns[i->match].imm[IMM(loop, var)].base]++;
                pc = i->match;
            } else {
                depth--;
            }
        } else if (insn->engine == m->engine) {
            if (insn->nwaits && !wait_for(m->crew, me, insn, k->waits[pc]))
                return false;
            i->run(me, i);
            signal_after(m->crew, insn);
        }
    }
    return true;
}

/* All engines are done with the instance before one begins the next. */
static bool meet(struct crew *w)
{
    pthread_mutex_lock(&w->lock);
    int64_t now = w->instance;
    if (++w->arrived == ENGINE_COUNT) {
        w->arrived = 0;
        w->instance++;
        memset(w->semaphore, 0, sizeof *w->semaphore * (size_t)(w->k->kernel->nsemaphores + 1));
        if (atomic_load(w->error))
            stop(w, NULL);
        pthread_cond_broadcast(&w->changed);
    } else if (w->waiting + w->arrived == ENGINE_COUNT) {
        stop(w, deadlock);
    }
    while (!w->stopped && w->instance == now)
        pthread_cond_wait(&w->changed, &w->lock);
    bool go = !w->stopped && w->instance < w->k->instances;
    pthread_mutex_unlock(&w->lock);
    return go;
}

static void *run_engine(void *arg)
{
    const struct member *m = arg;
    const struct bound_kernel *k = m->crew->k;
    int64_t n = 0;
    do {
        int64_t rest = n++;
        for (int g = k->ngrid - 1; g >= 0; g--) {
            m->worker->vars[g] = rest % k->grid[g];
            rest /= k->grid[g];
        }
    } while (run_stream(m) && meet(m->crew));
    return NULL;
}

bool launch_engines(struct context *c, const struct bound_kernel *k, struct diag *d)
{
    _Atomic(const char *) error = NULL;
    struct crew w = {.c = c, .k = k, .error = &error};
    struct member member[ENGINE_COUNT];
    pthread_t thread[ENGINE_COUNT];
    w.semaphore = calloc((size_t)k->kernel->nsemaphores + 1, sizeof *w.semaphore);
    if (!w.semaphore)
        return fail_memory(d, "out of memory");
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    int started = 0;
    for (int e = 0; e < ENGINE_COUNT; e++) {
        struct worker *me = &c->workers[e];
        me->error = &error;
        me->tiles = c->workers[0].tiles; /* one instance: one on-chip memory */
        member[e] = (struct member){&w, (enum engine)e, me};
    }
    while (started < ENGINE_COUNT && thread_start(&thread[started], run_engine, &member[started]))
        started++;
    if (started < ENGINE_COUNT) {
        pthread_mutex_lock(&w.lock);
        stop(&w, "cannot start a thread for each engine");
        pthread_mutex_unlock(&w.lock);
    }
    for (int e = 0; e < started; e++)
        pthread_join(thread[e], NULL);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    free(w.semaphore);
    const char *text = atomic_load(&error);
    return !text || fail(d, "%s", text);
}
