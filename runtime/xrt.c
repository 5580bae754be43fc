#include "runtime/xrt.h"

#include "neff/archive/archive.h"
#include "neff/base/allocator.h"
#include "neff/base/heap.h"
#include "runtime/custom/custom.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/pool.h"
#include "neff/base/file.h"
#include "neff/base/recover.h"
#include "runtime/exec/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct xrt_model {
    struct model *model;
    struct arena arena;
    struct xrt_info *inputs, *outputs;
};

struct xrt_context {
    struct xrt_model *m;
    struct context *context;
    struct profile *profile;
    struct arena *lent, *given; /* containers: per input, as set; per output, as handed out */
    bool lost;                  /* memory ran out in a call: it is no longer what it should be */
    bool has_heap;              /* its memory is the caller's */
    bool has_threads;           /* of its own */
    struct heap heap;
    struct heap_source source;
};

static _Thread_local struct diag last;

static struct diag *fresh(void)
{
    diag_clear(&last);
    return &last;
}

static bool out_of_memory(struct xrt_context *c)
{
    if (c)
        c->lost = true;
    return fail_memory(fresh(), "out of memory");
}

static bool is_lost(const struct xrt_context *c)
{
    if (c->lost)
        fail_memory(fresh(), "out of memory in an earlier call; make another context");
    return c->lost;
}

const char *xrt_error(void)
{
    return last.text;
}

static void describe(struct xrt_model *m, const char *name, const struct type *t,
                     struct xrt_info *out)
{
    const struct program *p = model_program(m->model);
    struct type given = type_given(&p->dims, t);
    *out =
        (struct xrt_info){.name = name ? name : "", .dtype = dtype_name(t->dtype), .rank = t->rank};
    t = &given;
    out->text = type_text(&p->dims, &m->arena, t);
    if (t->kind != VK_TENSOR)
        out->rank = -1;
    for (int i = 0; i < out->rank; i++) {
        bool constant = dim_is_const(t->dims[i]);
        out->dims[i] = constant ? t->dims[i] : -1;
        out->symbols[i] = constant ? NULL : dim_text(&p->dims, &m->arena, t->dims[i]);
        out->sizes[i] = out->dims[i];
    }
}

/* What inputs made up are to be like, with these sizes. */
static void describe_values(struct xrt_model *m, const struct slot *s, const int64_t *symbols, struct xrt_info *out)
{
    const struct program *p = model_program(m->model);
    out->has_range = s->has_range, out->low = s->low, out->high = dim_eval(&p->dims, symbols, s->high);
    out->high_symbol = dim_is_const(s->high) ? NULL : dim_text(&p->dims, &m->arena, s->high);
    out->donated = s->donated;
    for (int i = 0; i < out->rank; i++)
        out->sizes[i] = dim_eval(&p->dims, symbols, s->type.dims[i]);
}

static void describe_states(struct xrt_model *m)
{
    const struct program *p = model_program(m->model);
    const struct program_region *r = &p->regions[0];
    for (int s = 0; s < p->nstates; s++)
        for (int i = 0; i < r->nparams; i++)
            for (int o = 0; o < r->nresults && r->params[i] == p->states[s].input; o++)
                if (r->results[o] == p->states[s].output)
                    m->outputs[o].grows_from = i + 1, m->outputs[o].axis = p->states[s].axis;
}

/* Code that the program calls, as far as the caller allows it. */
static bool bind_code(struct program *p, const struct xrt_options *o, struct diag *d)
{
    if (o && o->size < sizeof *o)
        return fail(d, "xrt_options.size is %zu, expected sizeof(struct xrt_options), %zu", o->size,
                    sizeof *o);
    struct custom_permission may = {.allow_code = o && o->flags & XRT_ALLOW_CODE};
    if (o)
        may.files = o->custom_ops, may.nfiles = o->ncustom_ops;
    return custom_bind(p, &may, d);
}

static struct xrt_model *make_model(struct neff_file *f, const struct xrt_options *o,
                                    struct diag *d)
{
    struct program *p = neff_program(f, true, d);
    if (!p) { /* it would have closed the file */
        neff_close(f);
        free(f);
        return NULL;
    }
    struct xrt_model *m = calloc(1, sizeof *m);
    if (!m || !bind_code(p, o, d)) {
        program_free(p);
        free(m);
        fail_memory(d, "out of memory"); /* the first failure is kept */
        return NULL;
    }
    m->model = model_new(p, d);
    if (!m->model) {
        free(m);
        return NULL;
    }
    if (o && o->flags & XRT_GUARD_OPERANDS)
        model_guard_operands(m->model);
    const struct program_region *r = &p->regions[0];
    m->inputs = ARENA_ARRAY(&m->arena, struct xrt_info, r->nparams + 1);
    m->outputs = ARENA_ARRAY(&m->arena, struct xrt_info, r->nresults + 1);
    int64_t *symbols = ARENA_ARRAY(&m->arena, int64_t, p->dims.nsymbols + 1);
    sample_sizes(p, symbols);
    for (int i = 0; i < r->nparams; i++) {
        const struct slot *s = &p->slots[r->params[i]];
        describe(m, s->name, &s->type, &m->inputs[i]);
        describe_values(m, s, symbols, &m->inputs[i]);
    }
    for (int i = 0; i < r->nresults; i++)
        describe(m, p->output_names[i], &p->slots[r->results[i]].type, &m->outputs[i]);
    describe_states(m);
    return m;
}

/* fd: of the open file, for which `path` stands in messages; -1: the file of that path. */
static struct xrt_model *open_path(const char *path, int fd, const struct xrt_options *o)
{
    struct diag *d = fresh();
    struct neff_file *f = calloc(1, sizeof *f);
    if (!f) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    if (fd < 0 ? !neff_open(f, path, d) : !neff_open_file(f, fd, path, d)) {
        free(f);
        return NULL;
    }
    struct xrt_model *m = make_model(f, o, d);
    if (!m)
        fail_in(d, "%s", path);
    return m;
}

static struct xrt_model *open_bytes(const void *data, size_t size, const struct xrt_options *o)
{
    struct diag *d = fresh();
    struct neff_file *f = calloc(1, sizeof *f);
    if (!f) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    if (!neff_open_memory(f, data, size, "archive in memory", d)) {
        free(f);
        return NULL;
    }
    return make_model(f, o, d);
}

static struct xrt_model *open_recovered(const char *path, int fd, const struct xrt_options *o)
{
    struct recovery r;
    if (RECOVERED(r)) {
        out_of_memory(NULL);
        fail_in(&last, "%s", path);
        return NULL;
    }
    struct xrt_model *m = open_path(path, fd, o);
    recovery_end(&r);
    return m;
}

struct xrt_model *xrt_open_with(const char *path, const struct xrt_options *o)
{
    return open_recovered(path, -1, o);
}

struct xrt_model *xrt_open_fd(int fd, const struct xrt_options *o)
{
    char name[32];
    snprintf(name, sizeof name, "descriptor %d", fd);
    if (fd >= 0)
        return open_recovered(name, fd, o);
    fail(fresh(), "%s: expected that of an open file", name);
    return NULL;
}

struct xrt_model *xrt_open_memory_with(const void *data, size_t size, const struct xrt_options *o)
{
    struct recovery r;
    if (RECOVERED(r))
        return out_of_memory(NULL), NULL;
    struct xrt_model *m = open_bytes(data, size, o);
    recovery_end(&r);
    return m;
}

struct xrt_model *xrt_open(const char *path)
{
    return xrt_open_with(path, NULL);
}

struct xrt_model *xrt_open_memory(const void *data, size_t size)
{
    return xrt_open_memory_with(data, size, NULL);
}

void xrt_close(struct xrt_model *m)
{
    if (!m)
        return;
    model_free(m->model);
    arena_free(&m->arena);
    free(m);
}

int xrt_input_count(const struct xrt_model *m)
{
    return model_program(m->model)->regions[0].nparams;
}

int xrt_output_count(const struct xrt_model *m)
{
    return model_program(m->model)->regions[0].nresults;
}

const struct xrt_info *xrt_input_info(const struct xrt_model *m, int i)
{
    return i >= 0 && i < xrt_input_count(m) ? &m->inputs[i] : NULL;
}

const struct xrt_info *xrt_output_info(const struct xrt_model *m, int i)
{
    return i >= 0 && i < xrt_output_count(m) ? &m->outputs[i] : NULL;
}

/* ---- contexts ---- */

/* Where the context's memory is from, while a call of it works. */
static struct heap *heap_of(struct xrt_context *c)
{
    return c->has_heap ? &c->heap : NULL;
}

/* call(c, arg) with the context's memory. */
static bool in_context(struct xrt_context *c, bool (*call)(struct xrt_context *c, void *arg),
                       void *arg)
{
    struct recovery r;
    if (is_lost(c))
        return false;
    struct heap *before = mem_use(heap_of(c));
    bool ok = false;
    if (RECOVERED(r)) {
        out_of_memory(c);
    } else {
        ok = call(c, arg);
        recovery_end(&r);
    }
    mem_use(before);
    return ok;
}

static bool fill_context(struct xrt_context *c, void *arg)
{
    const struct xrt_context_options *o = arg;
    struct diag *d = fresh();
    const struct parallel by = {o->parallel, o->parallel_user};
    c->lent = calloc((size_t)xrt_input_count(c->m) + 1, sizeof *c->lent);
    c->given = calloc((size_t)xrt_output_count(c->m) + 1, sizeof *c->given);
    if (c->lent && c->given)
        c->context = context_new_by(c->m->model, o->threads, by.run ? &by : NULL, d);
    return c->context || fail_memory(d, "out of memory"); /* the first failure is kept */
}

/* The context itself, at the start of its memory. */
static struct xrt_context *place_context(const struct xrt_context_options *o)
{
    struct xrt_context *c = NULL;
    struct heap_source source = {0};
    if (o->memory) {
        size_t skip = (HEAP_ALIGN - (uintptr_t)o->memory % HEAP_ALIGN) % HEAP_ALIGN;
        if (o->memory_size >= skip + sizeof *c)
            c = (struct xrt_context *)((char *)o->memory + skip);
    } else if (o->allocator) {
        source = (struct heap_source){o->allocator->allocate, o->allocator->release,
                                      o->allocator->user};
        c = source.allocate(source.user, sizeof *c, HEAP_ALIGN);
    } else {
        c = malloc(sizeof *c);
    }
    if (!c)
        return NULL;
    *c = (struct xrt_context){.has_heap = o->memory || o->allocator, .source = source};
    if (o->memory)
        heap_make(&c->heap, c + 1, (size_t)((char *)o->memory + o->memory_size - (char *)(c + 1)));
    else if (o->allocator)
        c->heap.source = &c->source;
    return c;
}

static bool check_options(const struct xrt_context_options *o, struct diag *d)
{
    if (o->size < sizeof *o)
        return fail(d,
                    "xrt_context_options.size is %zu, expected sizeof(struct "
                    "xrt_context_options), %zu",
                    o->size, sizeof *o);
    if (o->memory && o->allocator)
        return fail(d, "xrt_context_options has memory and an allocator, expected one of them");
    if (o->allocator && (!o->allocator->allocate || !o->allocator->release))
        return fail(d, "xrt_allocator lacks a function");
    return true;
}

struct xrt_context *xrt_context_new_with(struct xrt_model *m, const struct xrt_context_options *o)
{
    struct diag *d = fresh();
    if (!check_options(o, d))
        return NULL;
    struct xrt_context *c = place_context(o);
    if (!c) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    c->m = m;
    c->has_threads = !o->parallel && o->threads != 1;
    if (in_context(c, fill_context, (void *)o))
        return c;
    xrt_context_free(c);
    return NULL;
}

struct xrt_context *xrt_context_new(struct xrt_model *m, int threads)
{
    return xrt_context_new_with(
        m, &(struct xrt_context_options){.size = sizeof(struct xrt_context_options),
                                         .threads = threads});
}

/* Addresses for a context that nobody knows the size of: pages come when they are written. */
static void *reserve(size_t *size)
{
    for (*size = (size_t)1 << 38; *size > 1 << 20; *size /= 2) {
        void *p = mmap(NULL, *size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED)
            return p;
    }
    return NULL;
}

size_t xrt_context_size(struct xrt_model *m, const struct xrt_context_options *o)
{
    enum { RUNNING = 1 << 16 }; /* what the first run may add to its preparation, and a sixteenth */
    size_t size, needs = 0;
    void *memory = reserve(&size);
    if (!memory) {
        fail_memory(fresh(), "out of memory");
        return 0;
    }
    struct xrt_context_options with = *o;
    with.memory = memory, with.memory_size = size, with.allocator = NULL;
    struct xrt_context *c = xrt_context_new_with(m, &with);
    if (c) {
        needs = (size_t)(c->heap.start - (char *)memory) + c->heap.peak + HEAP_ALIGN;
        needs += needs / 16 + RUNNING;
        xrt_context_free(c);
    }
    munmap(memory, size);
    return needs;
}

/* What the context has, but for itself. */
static void empty_context(struct xrt_context *c)
{
    struct heap *before = mem_use(heap_of(c));
    if (c->context)
        context_free(c->context);
    profile_free(c->profile);
    for (int i = 0; c->lent && i < xrt_input_count(c->m); i++)
        arena_free(&c->lent[i]);
    for (int i = 0; c->given && i < xrt_output_count(c->m); i++)
        arena_free(&c->given[i]);
    free(c->lent);
    free(c->given);
    mem_use(before);
}

void xrt_context_free(struct xrt_context *c)
{
    if (!c)
        return;
    if (!c->lost)
        empty_context(c);
    else if (!c->has_heap || c->has_threads) /* what it has of a call cut short is not known */
        return;
    mem_give_back(&c->heap);
    if (c->source.release)
        c->source.release(c->source.user, c, sizeof *c);
    else if (!c->has_heap)
        free(c);
}

int xrt_threads(const struct xrt_context *c)
{
    return context_threads(c->context);
}

/* t as the library has tensors; its memory is borrowed. */
static bool borrow(const struct xrt_tensor *t, struct tensor *out, struct diag *d)
{
    enum dtype dtype = t->dtype ? dtype_from_name(t->dtype) : DT_NONE;
    if (dtype == DT_NONE)
        return fail(d, "unknown element type '%s'", t->dtype ? t->dtype : "");
    if (t->rank < 0 || t->rank > XRT_MAX_RANK)
        return fail(d, "a tensor of rank %d, at most %d", t->rank, XRT_MAX_RANK);
    for (int k = 0; k < t->rank; k++)
        if (t->dims[k] < 0)
            return fail(d, "dimension %d is %lld", k, (long long)t->dims[k]);
    *out = tensor_view(dtype, t->rank, t->dims, t->data);
    return true;
}

bool xrt_set_input(struct xrt_context *c, int i, const struct xrt_tensor *t)
{
    struct tensor v;
    return borrow(t, &v, fresh()) && context_set_input(c->context, i, &v, &last);
}

bool xrt_set_output(struct xrt_context *c, int i, void *memory, size_t bytes)
{
    return context_set_output(c->context, i, memory, bytes, fresh());
}

struct binding_of_state {
    int input, output;
    int64_t capacity;
};

static bool bind_state(struct xrt_context *c, void *arg)
{
    const struct binding_of_state *b = arg;
    return context_bind_state(c->context, b->input, b->output, b->capacity, fresh());
}

bool xrt_bind_state(struct xrt_context *c, int input, int output, int64_t capacity)
{
    struct binding_of_state b = {input, output, capacity};
    return in_context(c, bind_state, &b);
}

static bool run(struct xrt_context *c, void *arg)
{
    return context_run(c->context, fresh());
}

bool xrt_run(struct xrt_context *c)
{
    return in_context(c, run, NULL);
}

void xrt_set_limits(struct xrt_context *c, const struct xrt_limits *l)
{
    context_set_limits(c->context, &(struct run_limits){l->steps, l->bytes, l->seconds});
}

void xrt_cancel(struct xrt_context *c)
{
    context_cancel(c->context);
}

static const struct tensor *find_output(const struct xrt_context *c, int i, struct diag *d)
{
    struct heap *before = mem_use(heap_of((struct xrt_context *)c)); /* a state's copy is made when it is asked for */
    const struct tensor *t = context_output(c->context, i);
    mem_use(before);
    if (!t)
        fail(d, "there is no output %d: the last run did not succeed, or the model has fewer", i);
    return t;
}

static struct xrt_tensor lend(const struct tensor *t)
{
    struct xrt_tensor out = {.dtype = dtype_name(t->dtype), .rank = t->rank, .data = t->data};
    memcpy(out.dims, t->dims, sizeof *t->dims * (size_t)t->rank);
    return out;
}

bool xrt_output(const struct xrt_context *c, int i, struct xrt_tensor *out)
{
    struct diag *d = fresh();
    const struct tensor *t = find_output(c, i, d);
    if (!t)
        return false;
    if (t->kind != VK_TENSOR)
        return fail(d, "output %d is no tensor: xrt_value gives it", i);
    *out = lend(t);
    return true;
}

/* ---- containers ---- */

enum { MAX_NESTING = 8, MAX_ITEMS = 1 << 24 };

/* A map's values, where they are one tensor, as operators have them: a sequence of scalars. */
static bool borrow_columns(struct arena *a, struct tensor *map, struct diag *d)
{
    struct tensor *keys = &map->items[0], *values = &map->items[1], all = *values;
    int64_t n = all.kind == VK_TENSOR ? tensor_count(&all) : all.nitems;
    if (keys->kind != VK_TENSOR || tensor_count(keys) != n || n > MAX_ITEMS)
        return fail(d, "the keys and the values of a map are of different numbers");
    map->dtype = keys->dtype;
    if (all.kind != VK_TENSOR)
        return true;
    *values = (struct tensor){.kind = VK_SEQUENCE, .dtype = all.dtype, .nitems = n};
    values->items = ARENA_ARRAY(a, struct tensor, n + 1);
    for (int64_t k = 0; k < n; k++)
        values->items[k] =
            tensor_view(all.dtype, 0, NULL, (char *)all.data + (size_t)k * dtype_bytes(all.dtype));
    return true;
}

static bool borrow_value(struct arena *a, const struct xrt_value *v, int depth, struct tensor *out,
                         struct diag *d)
{
    static const uint8_t kinds[] = {VK_TENSOR, VK_SEQUENCE, VK_OPTIONAL, VK_MAP};
    if (v->kind < XRT_TENSOR || v->kind > XRT_MAP || depth > MAX_NESTING)
        return fail(d, "a value of kind %d, %d deep", v->kind, depth);
    if (v->kind == XRT_TENSOR)
        return borrow(&v->tensor, out, d);
    if (v->count < 0 || v->count > MAX_ITEMS || (v->kind == XRT_OPTIONAL && v->count > 1) ||
        (v->kind == XRT_MAP && v->count != 2))
        return fail(d, "a container of %lld items", (long long)v->count);
    *out = (struct tensor){.kind = kinds[v->kind], .nitems = v->count};
    out->items = ARENA_ARRAY(a, struct tensor, v->count + 1);
    for (int64_t k = 0; k < v->count; k++)
        if (!borrow_value(a, &v->items[k], depth + 1, &out->items[k], d))
            return false;
    for (int64_t k = 0; k < v->count && v->kind == XRT_SEQUENCE; k++)
        if (out->items[k].kind == VK_TENSOR)
            out->dtype = out->items[k].dtype;
    return v->kind != XRT_MAP || borrow_columns(a, out, d);
}

struct numbered { /* an input or output */
    int i;
    const struct xrt_value *in;
    struct xrt_value *out;
};

static bool set_value(struct xrt_context *c, void *arg)
{
    const struct numbered *n = arg;
    struct diag *d = fresh();
    struct tensor t;
    if (n->i < 0 || n->i >= xrt_input_count(c->m))
        return fail(d, "input %d of a model that has %d", n->i, xrt_input_count(c->m));
    arena_free(&c->lent[n->i]);
    return borrow_value(&c->lent[n->i], n->in, 0, &t, d) &&
           context_set_input(c->context, n->i, &t, d);
}

bool xrt_set_value(struct xrt_context *c, int i, const struct xrt_value *v)
{
    return in_context(c, set_value, &(struct numbered){.i = i, .in = v});
}

static void lend_value(struct arena *a, const struct tensor *t, struct xrt_value *out)
{
    if (t->kind == VK_TENSOR) {
        *out = (struct xrt_value){.kind = XRT_TENSOR, .tensor = lend(t)};
        return;
    }
    struct xrt_value *items = ARENA_ARRAY(a, struct xrt_value, t->nitems + 1);
    int64_t n = 0;
    for (int64_t k = 0; k < t->nitems; k++)
        if (t->items[k].kind != VK_NONE) /* an optional without a value */
            lend_value(a, &t->items[k], &items[n++]);
    *out = (struct xrt_value){.kind = t->kind == VK_SEQUENCE ? XRT_SEQUENCE
                                      : t->kind == VK_MAP    ? XRT_MAP
                                                             : XRT_OPTIONAL,
                              .count = n,
                              .items = items};
}

static bool give_value(struct xrt_context *c, void *arg)
{
    const struct numbered *n = arg;
    const struct tensor *t = find_output(c, n->i, fresh());
    if (!t)
        return false;
    arena_free(&c->given[n->i]);
    lend_value(&c->given[n->i], t, n->out);
    return true;
}

bool xrt_value(struct xrt_context *c, int i, struct xrt_value *out)
{
    return in_context(c, give_value, &(struct numbered){.i = i, .out = out});
}

/* The format follows the name: a table for people, events for a trace viewer. */
static bool write_profile(const struct xrt_context *c, const char *path, struct diag *d)
{
    size_t n = strlen(path);
    struct out_file out;
    struct machine_rates rates;
    if (n < 4 || strcmp(path + n - 4, ".txt"))
        return profile_write(c->profile, path, d);
    if (!rates_measure(&rates, xrt_threads(c)))
        return fail_memory(d, "out of memory: cannot measure the machine's rates");
    if (!out_open(&out, path, d))
        return false;
    profile_print(c->profile, &rates, out.f);
    return out_commit(&out, d);
}

static bool profile(struct xrt_context *c, void *arg)
{
    const char *path = arg;
    struct diag *d = fresh();
    bool ok = true;
    if (path) {
        ok = c->profile ? write_profile(c, path, d) : fail(d, "no profile was started");
        context_set_profile(c->context, NULL);
        profile_free(c->profile);
        c->profile = NULL;
        return ok;
    }
    if (!c->profile)
        c->profile = profile_new();
    if (!c->profile)
        return fail_memory(d, "out of memory");
    context_set_profile(c->context, c->profile);
    return true;
}

bool xrt_profile(struct xrt_context *c, const char *path)
{
    return in_context(c, profile, (void *)path);
}

size_t xrt_dtype_size(const char *dtype)
{
    enum dtype t = dtype_from_name(dtype);
    return t == DT_NONE ? 0 : dtype_bytes(t);
}
