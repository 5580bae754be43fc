#include "runtime/standalone/planned.h"

#include <string.h>

enum { PLAN_ALIGN = 64, WORKER_GUARD = 4096, OUTPUT_ALIGN = 16 };

struct planned {
    const struct plan *p;
    char **address; /* of each slot */
    char *arena;
    const char *constants;
    struct worker *workers;
    int threads, max; /* workers in use; workers there are */
    struct parallel by;
    struct stop stop;
    bool ran;
    char error[120];
};

static _Thread_local const char *no_context = "";

/* ---- the image ---- */

static uint64_t number(const uint8_t **at)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
}

static uint64_t signed_number(uint64_t v)
{
    return v & 1 ? ~(v >> 1) : v >> 1;
}

static uint64_t *put_other(uint64_t *to, uint64_t v, const uint8_t **at, const exec_fn *functions)
{
    if (v == PLAN_RAW) {
        memcpy(to, *at, sizeof *to);
        *at += sizeof *to;
        return to + 1;
    }
    if (v == PLAN_AGAIN) {
        uint64_t n = number(at), back = number(at);
        for (; n > 0; n--, to++)
            *to = *(to - back);
        return to;
    }
    memcpy(to, &functions[v - PLAN_FUNCTIONS], sizeof *functions);
    return to + 1;
}

static void put_image(uint64_t *to, const struct plan_code *code, const exec_fn *functions)
{
    const uint8_t *at = code->tokens, *end = at + code->bytes;
    while (at < end) {
        uint64_t token = number(&at), v = token >> 2;
        switch ((enum plan_kind)(token & 3)) {
        case PLAN_ZEROS:
            for (; v > 0; v--)
                *to++ = 0;
            break;
        case PLAN_NUMBER:
            *to++ = signed_number(v);
            break;
        case PLAN_ADDRESS:
            *to = (uint64_t)(uintptr_t)to + signed_number(v);
            to++;
            break;
        case PLAN_OTHER:
            to = put_other(to, v, &at, functions);
            break;
        }
    }
}

/* ---- memory ---- */

static size_t round_up(size_t n)
{
    return (n + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

/* Parts of the memory, each aligned; their ends. */
struct layout {
    size_t image, address, arena, workers, tiles, all;
    size_t worker, scratch; /* bytes of each worker's tiles and scratch memory; of these, before the latter */
};

static struct layout lay_out(const struct plan *p, uint32_t words, int threads)
{
    struct layout o;
    o.image = round_up(sizeof(struct planned));
    o.address = o.image + round_up(words * sizeof(uint64_t));
    o.arena = o.address + round_up((size_t)p->nslots * sizeof(char *));
    o.workers = o.arena + round_up((size_t)p->arena_bytes);
    o.tiles = o.workers + round_up((size_t)threads * sizeof(struct worker));
    o.scratch = round_up((size_t)p->tile_bytes);
    o.worker = o.scratch + round_up((size_t)p->scratch_bytes) + WORKER_GUARD;
    o.all = o.tiles + (size_t)threads * o.worker;
    return o;
}

size_t planned_size(const struct plan *p, uint32_t words, int threads)
{
    return lay_out(p, words, threads).all + PLAN_ALIGN;
}

static struct planned *refuse(const char *why)
{
    no_context = why;
    return NULL;
}

static void place_slots(struct planned *s)
{
    for (int i = 0; i < s->p->nslots; i++) {
        const struct plan_place *at = &s->p->slots[i];
        if (at->memory == PLAN_CONSTANTS)
            s->address[i] = (char *)s->constants + at->offset;
        else if (at->memory == PLAN_ARENA)
            s->address[i] = s->arena + at->offset;
    }
}

static void make_workers(struct planned *s, char *at, const struct layout *o,
                         const struct kernel_table *k)
{
    s->workers = (struct worker *)(at + o->workers);
    for (int i = 0; i < s->max; i++) {
        struct worker *me = &s->workers[i];
        me->hbm = s->address;
        me->tiles = at + o->tiles + (size_t)i * o->worker;
        me->scratch = me->tiles + o->scratch;
        me->stop = &s->stop;
        me->k = k;
    }
}

struct planned *planned_init(const struct planned_model *model, void *memory, size_t size)
{
    enum { WIDE = 16 };
    const struct kernel_table *k = kernels_get();
    size_t skip = (PLAN_ALIGN - (uintptr_t)memory % PLAN_ALIGN) % PLAN_ALIGN;
    char *at = (char *)memory + skip;
    no_context = "";
    if (!k)
        return refuse("this processor has none of the instruction sets it was compiled for");
    const struct plan_code *code = k->lanes == WIDE ? &model->wide : &model->narrow;
    if (!code->tokens)
        return refuse("this processor has none of the instruction sets it was compiled for");
    size_t before = skip + round_up(sizeof(struct planned));
    if (!memory || size < before || (size - before) / sizeof(uint64_t) < code->words)
        return refuse("the memory is too small");
    struct planned *s = (struct planned *)at;
    *s = (struct planned){.constants = model->constants, .threads = 1, .max = model->threads};
    uint64_t *image = (uint64_t *)(at + round_up(sizeof *s));
    put_image(image, code, model->functions);
    s->p = (const struct plan *)image;
    struct layout o = lay_out(s->p, code->words, s->max);
    if (size - skip < o.all)
        return refuse("the memory is too small");
    memset(at + o.address, 0, o.all - o.address);
    s->address = (char **)(at + o.address);
    s->arena = at + o.arena;
    make_workers(s, at, &o, k);
    place_slots(s);
    return s;
}

void planned_threads(struct planned *s, int threads, const struct parallel *by)
{
    s->by = *by;
    s->threads = !by->run || threads < 1 ? 1 : threads < s->max ? threads : s->max;
}

/* ---- running ---- */

static int wrong(struct planned *s, const char *what, int i, const char *is)
{
    char digits[12];
    int n = 0;
    do {
        digits[n++] = (char)('0' + i % 10);
    } while ((i /= 10) > 0);
    char *to = s->error, *end = to + sizeof s->error - 1;
    while (*what && to < end)
        *to++ = *what++;
    while (n > 0 && to < end)
        *to++ = digits[--n];
    while (*is && to < end)
        *to++ = *is++;
    *to = 0;
    return 1;
}

/* Where output i is written during a run. */
static char *output_at(const struct planned *s, int i, void *to)
{
    bool fits = to && (uintptr_t)to % OUTPUT_ALIGN == 0;
    return fits ? to : s->arena + s->p->outputs[i].own;
}

static void place_operands(struct planned *s, const void *const *inputs, void *const *outputs)
{
    for (int i = 0; i < s->p->nslots; i++) {
        const struct plan_place *at = &s->p->slots[i];
        if (at->memory == PLAN_INPUT)
            s->address[i] = (char *)inputs[at->number] + at->offset;
        else if (at->memory == PLAN_OUTPUT)
            s->address[i] = output_at(s, at->number, outputs[at->number]) + at->offset;
    }
}

int planned_run(struct planned *s, const void *const *inputs, void *const *outputs)
{
    const struct plan *p = s->p;
    _Atomic(const char *) error = NULL;
    s->error[0] = 0;
    s->ran = false;
    for (int i = 0; i < p->ninputs; i++)
        if (!inputs[i] && p->inputs[i].bytes > 0)
            return wrong(s, "input ", i, " is NULL");
    place_operands(s, inputs, outputs);
    for (int i = 0; i < p->nsteps; i++) {
        const struct plan_step *step = &p->steps[i];
        if (!bf16_rate_is_within(kernels_get()->bf16_rate, step->bf16_from, step->bf16_below))
            continue;
        launch_on(s->workers, s->threads, &s->by, step->kernel, &error);
        const char *why = atomic_load(&error);
        if (why) {
            wrong(s, "step ", i, ": ");
            strncat(s->error, why, sizeof s->error - strlen(s->error) - 1);
            return 1;
        }
    }
    for (int i = 0; i < p->noutputs; i++) {
        const char *from = s->address[p->outputs[i].slot];
        if (outputs[i] && from != outputs[i])
            memcpy(outputs[i], from, (size_t)p->outputs[i].bytes);
    }
    s->ran = true;
    return 0;
}

size_t planned_output_bytes(const struct planned *s, int i)
{
    return i >= 0 && i < s->p->noutputs ? (size_t)s->p->outputs[i].bytes : 0;
}

int planned_output_dims(const struct planned *s, int i, int64_t *dims)
{
    if (!s->ran || i < 0 || i >= s->p->noutputs)
        return -1;
    memcpy(dims, s->p->outputs[i].dims, sizeof *dims * (size_t)s->p->outputs[i].rank);
    return s->p->outputs[i].rank;
}

const char *planned_error(const struct planned *s)
{
    return s ? s->error : no_context;
}
