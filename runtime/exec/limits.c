/*
 * Limits of a run: steps, memory, time, and a caller that does not want to wait any longer.
 */
#include "runtime/exec/state.h"

#include "neff/base/clock.h"

void context_set_limits(struct context *c, const struct run_limits *l)
{
    c->limits = *l;
    c->now = NULL; /* the next run looks at what its plan needs */
}

void context_cancel(struct context *c)
{
    atomic_store_explicit(&c->stop.cancelled, true, memory_order_relaxed);
}

const char *stop_now(const struct stop *s)
{
    if (atomic_load_explicit(&s->cancelled, memory_order_relaxed))
        return "the run was cancelled";
    if (s->deadline > 0 && seconds_now() > s->deadline)
        return "the run takes longer than its limit";
    return NULL;
}

void limits_start(struct context *c)
{
    c->steps_left = c->limits.steps > 0 ? c->limits.steps : INT64_MAX;
    c->env.max_bytes = c->limits.bytes;
    c->stop.deadline = c->limits.seconds > 0 ? seconds_now() + c->limits.seconds : 0;
}

void limits_end(struct context *c)
{
    atomic_store_explicit(&c->stop.cancelled, false, memory_order_relaxed);
}

bool limits_step(struct context *c, struct diag *d)
{
    return limits_steps(c, 1, d);
}

bool limits_steps(struct context *c, int64_t n, struct diag *d)
{
    enum { LOOK_EACH = 16 }; /* steps: a look at the clock takes as long as a small kernel */
    if (c->limits.steps > 0 && c->steps_left < n)
        return fail(d, "the run takes more than %lld steps, its limit: a loop that does not end?",
                    (long long)c->limits.steps);
    c->steps_left -= c->limits.steps > 0 ? n : 1;
    if (atomic_load_explicit(&c->stop.cancelled, memory_order_relaxed) ||
        c->steps_left % LOOK_EACH < n) {
        const char *why = stop_now(&c->stop);
        return !why || fail(d, "%s", why);
    }
    return true;
}

/* At the end of a run too short for a look at the clock on the way. */
bool limits_time(const struct context *c, struct diag *d)
{
    const char *why = c->stop.deadline > 0 ? stop_now(&c->stop) : NULL;
    return !why || fail(d, "%s", why);
}

bool limits_bytes(const struct context *c, const char *what, size_t bytes, struct diag *d)
{
    if (c->limits.bytes <= 0 || bytes <= (size_t)c->limits.bytes)
        return true;
    return fail(d, "%s %zu bytes for these input shapes, the limit is %lld", what, bytes,
                (long long)c->limits.bytes);
}
