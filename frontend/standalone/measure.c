/*
 * How much memory a context needs: the model is opened and run once as the C program will do it, in
 * a heap that notes the most that was in use.
 */
#include "frontend/standalone/sets.h"
#include "frontend/standalone/standalone.h"

#include "runtime/exec/exec.h"
#include "runtime/kernels/kernels.h"
#include "runtime/standalone/standalone.h"

#include <string.h>
#include <sys/mman.h>

enum { SPARE = 4096, SPARE_PART = 16 }; /* and a sixteenth more: other CPUs' kernels */

struct reserved_memory {
    void *memory;
    size_t size;
};

/* Address space, of which what is touched becomes memory. */
static bool reserve(struct reserved_memory *s, struct diag *d)
{
    for (s->size = (size_t)1 << 38; s->size >= (size_t)1 << 20; s->size /= 2) {
        s->memory = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (s->memory != MAP_FAILED)
            return true;
    }
    return fail_memory(d, "out of memory");
}

static int64_t values_of(const struct package *k, int i, int64_t otherwise)
{
    const struct program *p = k->p;
    for (int s = 0, n = 0; s < p->dims.nsymbols; s++)
        if (!p->dims.symbols[s].runtime && n++ == i)
            return pinned_value(p, s, otherwise);
    return otherwise;
}

/* Sizes as large as stated, or where these do not go together, others that do. */
static bool bind(struct package *k, struct standalone *s)
{
    static const struct {
        int64_t batch, length;
    } sizes[] = {{MAX_BATCH, MAX_LENGTH}, {1, MAX_LENGTH}, {1, 512}, {1, 1024},
                 {1, 4096},                 {1, 16384},       {1, 1}};
    int64_t *values = ARENA_ARRAY(&k->arena, int64_t, k->nopen + 1);
    if (k->nopen == 0)
        return true;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        for (int i = 0; i < k->nopen; i++) {
            int64_t want = k->open[i].batch ? sizes[n].batch : sizes[n].length;
            if (k->open[i].limit && k->open[i].limit < want)
                want = k->open[i].limit;
            values[i] = k->open[i].max = values_of(k, i, want);
        }
        if (standalone_bind(s, values) == 0)
            return true;
    }
    return false;
}

/* A run on zeros; models that refuse them have still laid out their memory. */
static void run_once(struct package *k, struct standalone *s, const int64_t *values)
{
    const struct program *p = k->p;
    const struct program_region *r = &p->regions[0];
    const void **inputs = ARENA_ARRAY(&k->arena, const void *, r->nparams + 1);
    void **outputs = ARENA_ARRAY(&k->arena, void *, r->nresults + 1);
    for (int i = 0; i < r->nparams; i++) {
        const struct type *t = &p->slots[r->params[i]].type;
        size_t bytes = dtype_bytes(t->dtype);
        for (int j = 0; j < t->rank; j++)
            bytes *= (size_t)dim_eval(&p->dims, values, t->dims[j]);
        inputs[i] = arena_alloc(&k->arena, bytes + 1);
    }
    standalone_run(s, inputs, outputs);
    for (int i = 0; i < r->nresults; i++) {
        size_t bytes = k->room[i] ? standalone_output_bytes(s, i) : 0;
        k->room[i] = bytes > k->room[i] ? bytes : k->room[i];
    }
}

static bool measure_one(struct package *k, const struct reserved_memory *space, struct diag *d)
{
    struct standalone_model model = {k->code, k->code_size, k->constants, NULL};
    struct standalone *s = standalone_init(&model, space->memory, space->size);
    if (!s || !bind(k, s))
        return fail(d, "%s", standalone_error(s));
    int64_t *values = ARENA_ARRAY(&k->arena, int64_t, k->p->dims.nsymbols + 1);
    for (int i = 0, n = 0; i < k->p->dims.nsymbols; i++)
        values[i] = k->p->dims.symbols[i].runtime ? DIM_NOT_BOUND : k->open[n++].max;
    run_once(k, s, values);
    size_t used = standalone_used(s);
    k->context_size = used > k->context_size ? used : k->context_size;
    madvise(space->memory, space->size, MADV_DONTNEED);
    return true;
}

bool measure_context(struct package *k, struct diag *d)
{
    struct reserved_memory space;
    if (!reserve(&space, d))
        return false;
    bool ok = true, any = false;
    for (int i = 0; ok && i < nkernel_sets; i++) {
        char word[32] = " ";
        strcat(strcat(word, kernel_sets[i].name), " ");
        if (!strstr(k->isa, word) || !kernels_select(kernel_sets[i].name))
            continue;
        any = true;
        ok = measure_one(k, &space, d);
    }
    kernels_select(NULL);
    ok = ok && (any || measure_one(k, &space, d));
    munmap(space.memory, space.size);
    k->context_size += k->context_size / SPARE_PART + SPARE;
    if (k->dynamic)
        k->context_size *= 2;
    return ok;
}
