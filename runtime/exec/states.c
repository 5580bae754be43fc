/*
 * States: an output that is an input with more behind it, both in one memory (see context_bind_state).
 *
 * Kernels walk over both with steps made of the capacity, so nothing moves while the length grows; the copy of the past
 * finds itself where it is to go and does nothing.
 */
#include "neff/base/memory.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static int64_t product(const int64_t *dims, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= dims[i];
    return n;
}

/* Between a dense tensor and the state's memory, which has room behind its rows. */
static void move_rows(const struct tensor *memory, int axis, const struct tensor *t, char *dense, bool gather)
{
    int64_t blocks = product(t->dims, 0, axis), inner = product(t->dims, axis + 1, t->rank);
    size_t row = (size_t)(t->dims[axis] * inner) * dtype_bytes(t->dtype);
    size_t wide = (size_t)(memory->dims[axis] * inner) * dtype_bytes(t->dtype);
    if (!row)
        return;
    for (int64_t i = 0; i < blocks; i++) {
        char *at = (char *)memory->data + (size_t)i * wide;
        if (gather)
            memcpy(dense + (size_t)i * row, at, row);
        else
            memmove(at, dense + (size_t)i * row, row); /* the caller may hand back what xrt_output showed */
    }
}

/* ---- binding ---- */

static int find_slot(const int32_t *list, int n, int slot)
{
    for (int i = 0; i < n; i++)
        if (list[i] == slot)
            return i;
    return -1;
}

static int find_state(const struct program *p, int input, int output)
{
    const struct program_region *r = &p->regions[0];
    for (int i = 0; i < p->nstates; i++)
        if (p->states[i].input == r->params[input] && p->states[i].output == r->results[output])
            return i;
    return -1;
}

static bool refuse(const struct program *p, int input, int output, struct diag *d)
{
    const struct program_region *r = &p->regions[0];
    int end;
    const char *x = p->slots[r->params[input]].name, *y = p->output_names[output];
    const struct program_state *s = state_of_slot(p, r->params[input], &end);
    int partner = s ? find_slot(r->results, r->nresults, s->output) : -1;
    if (partner >= 0)
        return fail(d, "output '%s' is not what input '%s' grows into: that is '%s'", y, x, p->output_names[partner]);
    return fail(d,
                "output '%s' is not known to be input '%s' with more behind it (a concatenation of the two that only "
                "attention reads): it cannot stay in place",
                y, x);
}

static bool check_capacity(const struct program *p, const struct program_state *s, int64_t capacity, const char *name,
                           struct diag *d)
{
    dim_t length = p->slots[s->output].type.dims[s->axis];
    if (capacity < 1 || capacity >= INT32_MAX)
        return fail(d, "a capacity of %lld for output '%s', expected 1 to %d", (long long)capacity, name,
                    INT32_MAX - 1);
    if (dim_is_const(length) && capacity < length && !state_is_update(p, s))
        return fail(d, "a capacity of %lld for output '%s', which has %lld along axis %d", (long long)capacity, name,
                    (long long)length, s->axis);
    return true;
}

/* The call that appends to the state knows it. */
static void tell_call(struct context *c, int i, int64_t capacity)
{
    const struct program *p = c->m->p;
    const struct program_state *s = &p->states[i];
    c->states[i].cache = (struct op_cache){.capacity = capacity};
    for (int k = 0; k < p->ncalls && s->axis == 2 && !state_is_update(p, s); k++) {
        const struct call *call = &p->calls[k];
        if (call->op == OP_cache_append && call->in[0] == s->input && call->out[0] == s->output)
            c->calls[k].cache = &c->states[i].cache;
    }
}

bool context_bind_state(struct context *c, int input, int output, int64_t capacity, struct diag *d)
{
    const struct program *p = c->m->p;
    const struct program_region *r = &p->regions[0];
    if (input < 0 || input >= r->nparams)
        return fail(d, "input %d of a model that has %d", input, r->nparams);
    if (output < 0 || output >= r->nresults)
        return fail(d, "output %d of a model that has %d", output, r->nresults);
    int i = find_state(p, input, output);
    if (i < 0)
        return refuse(p, input, output, d);
    if (!check_capacity(p, &p->states[i], capacity, p->output_names[output], d))
        return false;
    if (c->output[output].memory)
        return fail(d, "output '%s' is written to the caller's memory: it cannot stay in the state's",
                    p->output_names[output]);
    if (!c->states) {
        c->states = calloc((size_t)p->nstates, sizeof *c->states);
        c->capacities = calloc((size_t)p->nstates, sizeof *c->capacities);
    }
    if (!c->states || !c->capacities)
        return fail_memory(d, "out of memory");
    if (c->states[i].memory.data)
        return fail(d, "output '%s' is bound, and its state is in use", p->output_names[output]);
    c->states[i].input = input, c->states[i].output = output, c->states[i].given = true;
    c->states[i].memory.kind = VK_NONE;
    c->capacities[i] = capacity;
    tell_call(c, i, capacity);
    forget_plans(c);
    return true;
}

struct bound_state *state_of_output(const struct context *c, int output)
{
    for (int i = 0; c->states && i < c->m->p->nstates; i++)
        if (c->capacities[i] && c->states[i].output == output)
            return &c->states[i];
    return NULL;
}

void states_input_set(struct context *c, int input)
{
    for (int i = 0; c->states && i < c->m->p->nstates; i++)
        if (c->capacities[i] && c->states[i].input == input)
            c->states[i].given = true;
}

void states_free(struct context *c)
{
    for (int i = 0; c->states && i < c->m->p->nstates; i++)
        large_free(c->states[i].memory.data, c->states[i].room);
    free(c->states);
    free(c->capacities);
}

/* ---- runs ---- */

/* Whether the memory has the dims of this run, which are left in dims. */
static bool has_room(struct context *c, int i, int64_t *dims)
{
    struct bound_state *s = &c->states[i];
    const struct program_state *of = &c->m->p->states[i];
    const struct tensor *type = &c->now->types[of->output];
    bool update = state_is_update(c->m->p, of);
    bool same = s->memory.kind == VK_TENSOR;
    for (int k = 0; k < type->rank; k++) {
        dims[k] = k == of->axis && !update ? c->capacities[i] : type->dims[k];
        same &= s->memory.dims[k] == dims[k];
    }
    return same;
}

/* As many whole huge pages as hold the dims, if half of one does not; false: more than can be. */
static bool room_for(int dtype, int rank, const int64_t *dims, size_t *room)
{
    size_t bytes = dtype_bytes(dtype);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(bytes, (size_t)dims[i], &bytes) || bytes > SIZE_MAX / 4)
            return false;
    *room = bytes > LARGE_PAGE / 2 ? (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE : bytes ? bytes : 1;
    return true;
}

/* Memory for the dims of this run, in huge pages; *old is left with what there was, since the input may lie there. */
static bool reserve(struct context *c, int i, const int64_t *dims, struct bound_state *old, struct diag *d)
{
    struct bound_state *s = &c->states[i];
    const struct tensor *type = &c->now->types[c->m->p->states[i].output];
    struct tensor made = tensor_view(type->dtype, type->rank, dims, NULL);
    size_t bytes = SIZE_MAX, room = 0;
    if (room_for(type->dtype, type->rank, dims, &bytes) && !limits_bytes(c, "a state needs", tensor_bytes(&made), d))
        return false;
    if (bytes == SIZE_MAX || !(made.data = large_alloc(bytes, &room)))
        return fail_memory(d, "out of memory for a state of %s", tensor_type_text(&made, (char[256]){0}, 256));
    *old = *s;
    s->memory = made;
    s->room = room;
    s->length = s->cache.written = 0;
    c->placed = false;
    return true;
}

/* The memory gets what the input was set to. */
static bool take_input(struct context *c, int i, struct diag *d)
{
    struct bound_state *s = &c->states[i];
    struct tensor *x = &c->input[s->input];
    struct bound_state old = {.room = 0};
    int axis = c->m->p->states[i].axis;
    int64_t dims[MAX_RANK];
    if (!has_room(c, i, dims) && !reserve(c, i, dims, &old, d))
        return false;
    bool has_data = x->data || x->dims[axis] <= s->length || !tensor_count(x);
    if (x->data && x->data != s->memory.data)
        move_rows(&s->memory, axis, x, x->data, false);
    s->cache.written = x->dims[axis] > s->cache.written ? x->dims[axis] : s->cache.written;
    large_free(old.memory.data, old.room);
    if (!has_data)
        return fail(d, "input '%s' has no data, and its state holds %lld elements along axis %d, not %lld",
                    c->m->p->slots[c->m->p->states[i].input].name, (long long)s->length, axis,
                    (long long)x->dims[axis]);
    x->data = s->memory.data;
    s->length = x->dims[axis];
    s->given = false;
    return true;
}

bool states_begin(struct context *c, struct diag *d)
{
    for (int i = 0; c->states && i < c->m->p->nstates; i++) {
        if (c->capacities[i] && c->states[i].given && !take_input(c, i, d))
            return false;
    }
    return true;
}

void states_end(struct context *c)
{
    for (int i = 0; c->states && i < c->m->p->nstates; i++) {
        struct bound_state *s = &c->states[i];
        if (!c->capacities[i])
            continue;
        const struct tensor *y = &c->slots[c->m->p->states[i].output];
        s->result = tensor_view(y->dtype, y->rank, y->dims, s->memory.data);
        c->input[s->input] = s->result;
        s->length = y->dims[c->m->p->states[i].axis];
        s->gathered = false;
    }
}

const struct tensor *state_output(const struct context *c, struct bound_state *s)
{
    struct output *o = &c->output[s->output];
    const struct tensor *y = &s->result;
    int axis = c->m->p->states[s - c->states].axis;
    struct diag ignored = {0};
    if (y->kind != VK_TENSOR) /* bound since the last run */
        return &o->result;
    if (!s->gathered && (product(y->dims, 0, axis) == 1 || y->dims[axis] == s->memory.dims[axis])) {
        o->result = *y;
    } else if (!s->gathered) {
        if (!tensor_alloc_dirty(&o->own, y->dtype, y->rank, y->dims, &ignored))
            return NULL;
        move_rows(&s->memory, axis, y, o->own.data, true);
        o->result = o->own;
    }
    o->result.owned = false;
    s->gathered = true;
    return &o->result;
}
