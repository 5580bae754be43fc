/*
 * Running an executable. Contexts are kept: each runs one call at a time, so there are as many as
 * calls have been under way at once.
 */
#include "frontend/pjrt/plugin.h"

#include <stdlib.h>

struct xrt_context *context_take(struct pjrt_executable *e)
{
    pthread_mutex_lock(&e->lock);
    struct idle_context *i = e->idle;
    if (i)
        e->idle = i->next;
    pthread_mutex_unlock(&e->lock);
    struct xrt_context *c = i ? i->context : xrt_context_new(e->model, e->threads);
    free(i);
    if (c)
        xrt_set_limits(c, &(struct xrt_limits){0}); /* programs may run as long as they like */
    return c;
}

void context_give(struct pjrt_executable *e, struct xrt_context *c)
{
    struct idle_context *i = c ? malloc(sizeof *i) : NULL;
    if (!i) {
        xrt_context_free(c);
        return;
    }
    pthread_mutex_lock(&e->lock);
    *i = (struct idle_context){e->idle, c};
    e->idle = i;
    pthread_mutex_unlock(&e->lock);
}

/* One call: its inputs' and outputs' storage. */
struct execute_call {
    struct pjrt_executable *executable;
    const struct pjrt_execute_options *options;
    struct xrt_context *context;
    struct pjrt_storage **in, **out;
};

/* A token orders programs, which run one after another anyway: it has no content. JAX makes the first one of each kind
 * of effect from an array of no elements. */
static bool take_token(struct xrt_context *c, int i, const struct pjrt_buffer *b)
{
    static char nothing[PJRT_ALIGN];
    struct xrt_tensor t = {.dtype = "bool", .rank = 1, .dims = {0}, .data = nothing};
    return !b->size && xrt_set_input(c, i, &t);
}

static struct pjrt_error *take_inputs(struct execute_call *c, struct pjrt_buffer *const *args)
{
    for (int i = 0; i < c->executable->ninputs; i++) {
        struct pjrt_buffer *b = args[i];
        c->in[i] = buffer_storage(b, false);
        if (!c->in[i])
            return pjrt_fail(PJRT_INVALID_ARGUMENT, "argument %d has been deleted or donated", i);
        if (c->executable->input_types[i] == PJRT_TOKEN) {
            if (!take_token(c->context, i, b))
                return pjrt_fail(PJRT_INVALID_ARGUMENT, "argument %d is an array of %zu bytes, expected a token", i,
                                 b->size);
            continue;
        }
        if (!type_name(b->type))
            return pjrt_fail(PJRT_INVALID_ARGUMENT, "argument %d is a token, expected an array", i);
        struct xrt_tensor t = {.dtype = type_name(b->type), .rank = b->rank, .data = c->in[i]->data};
        for (int d = 0; d < b->rank; d++)
            t.dims[d] = b->dims[d];
        if (!xrt_set_input(c->context, i, &t))
            return pjrt_fail(PJRT_INVALID_ARGUMENT, "%s", xrt_error());
    }
    return NULL;
}

static struct pjrt_error *make_outputs(struct execute_call *c)
{
    for (int i = 0; i < c->executable->noutputs; i++) {
        size_t bytes = c->executable->output_bytes[i];
        c->out[i] = storage_new(bytes);
        if (!c->out[i])
            return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", bytes);
        if (!xrt_set_output(c->context, i, c->out[i]->data, bytes))
            return pjrt_fail(PJRT_INTERNAL, "%s", xrt_error());
    }
    return NULL;
}

static bool is_kept(const struct pjrt_execute_options *o, int input)
{
    for (size_t k = 0; o && k < o->num_non_donatable_input_indices; k++)
        if (o->non_donatable_input_indices[k] == input)
            return true;
    return false;
}

/* Donated arguments are gone after a run. One that is given twice could not have two uses. */
static struct pjrt_error *check_donations(const struct execute_call *c, struct pjrt_buffer *const *args)
{
    const struct pjrt_executable *e = c->executable;
    for (int i = 0; i < e->ninputs; i++)
        for (int k = 0; e->donated[i] && !is_kept(c->options, i) && k < e->ninputs; k++)
            if (k != i && args[k] == args[i])
                return pjrt_fail(PJRT_INVALID_ARGUMENT,
                                 "argument %d is donated, but it is argument %d too", i, k);
    return NULL;
}

static void donate(const struct execute_call *c, struct pjrt_buffer *const *args)
{
    for (int i = 0; i < c->executable->ninputs; i++)
        if (c->executable->donated[i] && !is_kept(c->options, i))
            storage_release(buffer_storage(args[i], true));
}

/* The outputs' buffers; the storage is theirs then. */
static struct pjrt_error *give_outputs(struct execute_call *c, struct pjrt_buffer **out)
{
    const struct pjrt_executable *e = c->executable;
    const int64_t *dims = e->output_dims;
    for (int i = 0; i < e->noutputs; i++) {
        out[i] = buffer_new(e->client, e->output_types[i], (int)e->output_ranks[i], dims, c->out[i]);
        c->out[i] = NULL;
        dims += e->output_ranks[i];
        if (out[i])
            continue;
        while (i-- > 0) {
            pjrt_Buffer_Destroy(&(struct args_Buffer_Destroy){.buffer = out[i]});
            out[i] = NULL;
        }
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
    }
    return NULL;
}

static struct pjrt_error *run(struct execute_call *c, struct pjrt_buffer *const *args,
                              struct pjrt_buffer **out)
{
    struct pjrt_executable *e = c->executable;
    struct pjrt_error *failed = check_donations(c, args);
    if (failed)
        return failed;
    c->context = context_take(e);
    if (!c->context)
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "%s", xrt_error());
    failed = take_inputs(c, args);
    if (!failed)
        failed = make_outputs(c);
    if (!failed && !xrt_run(c->context))
        failed = pjrt_fail(PJRT_INTERNAL, "%s", xrt_error());
    context_give(e, c->context);
    if (!failed)
        failed = give_outputs(c, out);
    if (!failed)
        donate(c, args);
    return failed;
}

struct pjrt_error *pjrt_LoadedExecutable_Execute(struct args_LoadedExecutable_Execute *a)
{
    struct pjrt_executable *e = a->executable->executable;
    if (atomic_load(&a->executable->deleted))
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "the executable has been deleted");
    if (a->num_devices != 1)
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "arguments for %zu devices; xcc has one",
                         a->num_devices);
    if (a->num_args != (size_t)e->ninputs)
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "%zu arguments, expected %d", a->num_args,
                         e->ninputs);
    size_t n = (size_t)e->ninputs + (size_t)e->noutputs;
    struct pjrt_storage **storage = calloc(n + 1, sizeof(struct pjrt_storage *));
    if (!storage)
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
    struct execute_call c = {
        .executable = e, .options = a->options, .in = storage, .out = storage + e->ninputs};
    struct pjrt_error *failed =
        run(&c, e->ninputs ? a->argument_lists[0] : NULL, e->noutputs ? a->output_lists[0] : NULL);
    for (size_t i = 0; i < n; i++)
        storage_release(storage[i]);
    free(storage);
    if (!failed && a->device_complete_events)
        a->device_complete_events[0] = pjrt_done();
    return failed;
}
