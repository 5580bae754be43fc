#include "runtime/standalone/standalone.h"

#include "neff/base/allocator.h"
#include "neff/base/heap.h"
#include "neff/isa/codec.h"
#include "neff/isa/program_code.h"
#include "runtime/exec/state.h"
#include "runtime/standalone/guarded.h"

#include <stdlib.h>
#include <string.h>

struct standalone {
    const struct standalone_model *is;
    struct heap heap;
    char *memory; /* the caller's */
    struct program *p;
    struct context *c;
    bool bound, open; /* open: it has dimensions to be set */
    struct diag d;
};

/* What the parts of a call have in common. */
struct call_of {
    struct standalone *s;
    const int64_t *symbols;
    const void *const *inputs;
    void *const *outputs;
};

static _Thread_local char no_context[160];

/* ---- opening ---- */

static bool has_open_dims(const struct program *p)
{
    for (int i = 0; i < p->dims.nsymbols; i++)
        if (!p->dims.symbols[i].runtime)
            return true;
    return false;
}

/* Everything in the heap, from the start. */
static bool open_model(struct standalone *s)
{
    char *from = s->memory;
    heap_make(&s->heap, from, (size_t)(s->heap.end - from));
    s->c = NULL;
    s->bound = false;
    s->p = program_new();
    if (!s->p)
        return fail(&s->d, "the memory is too small");
    struct codec c =
        codec_reader("program", s->is->program, s->is->program_size, &s->p->arena, &s->d);
    code_whole_program(&c, s->p, NULL, s->is->constants);
    struct model *m = c.failed ? NULL : model_new(s->p, &s->d);
    if (m)
        s->c = context_make(m, 1, NULL, &s->d);
    s->open = has_open_dims(s->p);
    return s->c != NULL;
}

/* Inputs of these dimensions, without data. */
static bool bind(struct standalone *s, const int64_t *symbols)
{
    const struct program *p = s->p;
    const struct program_region *r = &p->regions[0];
    int64_t *values = s->c->symbols;
    for (int i = 0; i < p->dims.nsymbols; i++)
        values[i] = p->dims.symbols[i].runtime ? DIM_NOT_BOUND : *symbols++;
    for (int i = 0; i < r->nparams; i++) {
        const struct type *t = &p->slots[r->params[i]].type;
        int64_t dims[MAX_RANK];
        for (int j = 0; j < t->rank; j++) {
            dims[j] = dim_eval(&p->dims, values, t->dims[j]);
            if (dims[j] < 0)
                return fail(&s->d, "dimension %d of input '%s' is %lld", j,
                            p->slots[r->params[i]].name, (long long)dims[j]);
        }
        s->c->input[i] = tensor_view(t->dtype, t->rank, dims, NULL);
    }
    s->bound = bind_inputs(s->c, &s->d);
    return s->bound;
}

static bool init(void *arg)
{
    struct standalone *s = ((struct call_of *)arg)->s;
    return open_model(s) && (s->open || bind(s, NULL));
}

struct standalone *standalone_init(const struct standalone_model *model, void *memory, size_t size)
{
    size_t skip = (HEAP_ALIGN - (uintptr_t)memory % HEAP_ALIGN) % HEAP_ALIGN;
    struct standalone *s = (struct standalone *)((char *)memory + skip);
    no_context[0] = 0;
    if (!kernels_get()) {
        strcpy(no_context, "this processor has none of the instruction sets it was compiled for");
        return NULL;
    }
    if (!memory || size < skip + sizeof *s) {
        strcpy(no_context, "the memory is too small");
        return NULL;
    }
    *s = (struct standalone){.is = model, .memory = (char *)(s + 1)};
    s->heap.end = (char *)memory + size;
    if (guarded(&s->heap, &s->d, init, &(struct call_of){.s = s}))
        return s;
    strncpy(no_context, s->d.text, sizeof no_context - 1);
    return NULL;
}

static bool bind_again(void *arg)
{
    const struct call_of *call = arg;
    return open_model(call->s) && bind(call->s, call->symbols);
}

int standalone_bind(struct standalone *s, const int64_t *symbols)
{
    diag_clear(&s->d);
    s->bound = s->bound && !s->open;
    return s->open &&
           !guarded(&s->heap, &s->d, bind_again, &(struct call_of){.s = s, .symbols = symbols});
}

/* ---- running ---- */

static bool aligned(const void *p)
{
    enum { OUTPUT_ALIGN = 16 };
    return (uintptr_t)p % OUTPUT_ALIGN == 0;
}

/* Bytes of an output that follow from the inputs; 0: only running tells. */
static size_t planned_bytes(const struct standalone *s, int i)
{
    const struct tensor *t = &s->c->now->types[s->p->regions[0].results[i]];
    return t->kind == VK_TENSOR ? tensor_bytes(t) : 0;
}

size_t standalone_output_bytes(const struct standalone *s, int i)
{
    if (!s->bound || i < 0 || i >= s->p->regions[0].nresults)
        return 0;
    size_t planned = planned_bytes(s, i);
    const struct tensor *t = context_output(s->c, i);
    return planned || !t || t->kind != VK_TENSOR ? planned : tensor_bytes(t);
}

int standalone_output_dims(const struct standalone *s, int i, int64_t *dims)
{
    const struct tensor *t = s->bound ? context_output(s->c, i) : NULL;
    if (!t || t->kind != VK_TENSOR)
        return -1;
    memcpy(dims, t->dims, sizeof *dims * (size_t)t->rank);
    return t->rank;
}

static bool set_operands(const struct call_of *call)
{
    struct standalone *s = call->s;
    const struct program_region *r = &s->p->regions[0];
    for (int i = 0; i < r->nparams; i++) {
        struct tensor t = s->c->input[i];
        t.data = (void *)call->inputs[i];
        if (!t.data && tensor_count(&t))
            return fail(&s->d, "input '%s' is NULL", s->p->slots[r->params[i]].name);
        if (!context_set_input(s->c, i, &t, &s->d))
            return false;
    }
    for (int i = 0; i < r->nresults; i++) {
        size_t bytes = planned_bytes(s, i);
        void *to = bytes && aligned(call->outputs[i]) ? call->outputs[i] : NULL;
        if (s->c->output[i].memory != to && !context_set_output(s->c, i, to, bytes, &s->d))
            return false;
    }
    return true;
}

/* Copies output i, whose size may be a surprise. */
static bool give(struct standalone *s, int i, const struct tensor *t, void *to)
{
    size_t room = s->is->room && s->is->room[i] ? s->is->room[i] : planned_bytes(s, i);
    if (t->kind != VK_TENSOR || tensor_bytes(t) > room)
        return fail(&s->d, "output '%s' has %zu bytes, its caller has memory for %zu",
                    s->p->output_names[i], t->kind == VK_TENSOR ? tensor_bytes(t) : (size_t)0,
                    room);
    memcpy(to, t->data, tensor_bytes(t));
    return true;
}

static bool run(void *arg)
{
    const struct call_of *call = arg;
    struct standalone *s = call->s;
    if (!s->bound)
        return fail(&s->d, "its dimensions are not set");
    if (!set_operands(call) || !context_run(s->c, &s->d))
        return false;
    for (int i = 0; i < s->p->regions[0].nresults; i++) {
        const struct tensor *t = context_output(s->c, i);
        if (call->outputs[i] && t->data != call->outputs[i] && !give(s, i, t, call->outputs[i]))
            return false;
    }
    return true;
}

int standalone_run(struct standalone *s, const void *const *inputs, void *const *outputs)
{
    diag_clear(&s->d);
    struct call_of call = {.s = s, .inputs = inputs, .outputs = outputs};
    return !guarded(&s->heap, &s->d, run, &call);
}

const char *standalone_error(const struct standalone *s)
{
    return s ? s->d.text : no_context;
}

size_t standalone_used(const struct standalone *s)
{
    return HEAP_ALIGN + (size_t)(s->heap.start - (char *)s) + s->heap.peak + HEAP_ALIGN;
}
