#include "frontend/standalone/plan.h"

#include "frontend/standalone/forms.h"
#include "frontend/standalone/standalone.h"
#include "neff/isa/codec.h"
#include "neff/isa/program_code.h"
#include "runtime/exec/engine.h"
#include "runtime/standalone/planned.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 16, NARROW = 8, FIRST_ROOM = 1 << 20, PLAN_ALIGN = 64 };

/* ---- functions ---- */

static const struct named {
    exec_fn run;
    const char *name;
} named[] = {
#define EXECUTOR(name, prepare) {exec_##name, "exec_" #name},
#define OTHER_EXECUTOR(name)    {exec_##name, "exec_" #name},
#include "runtime/exec/executors.def"
};

/* Its number in the set's list, where it becomes one; -1: no executor. */
static int function_number(struct plan_set *s, struct arena *a, exec_fn run)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i].run != run)
            continue;
        for (int n = 0; n < s->nfunctions; n++)
            if (s->functions[n] == named[i].name)
                return n;
        if (!s->functions)
            s->functions = ARENA_ARRAY(a, const char *, sizeof named / sizeof *named);
        s->functions[s->nfunctions] = named[i].name;
        return s->nfunctions++;
    }
    return -1;
}

/* ---- the image ---- */

/* One of two that are made alike. */
struct context_image {
    char *start;
    size_t room, used;
    struct arena arena; /* gives memory from `start` on */
    struct plan *plan;
};

static int number_in(const int32_t *list, int n, int slot)
{
    for (int i = 0; i < n; i++)
        if (list[i] == slot)
            return i;
    return -1;
}

/* Memory behind the arena of the plan. */
static int64_t more_arena(struct plan *p, int64_t bytes)
{
    int64_t at = p->arena_bytes;
    p->arena_bytes += (bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
    return at;
}

/* Of a slot that is no view. */
static struct plan_place place_of(const struct package *k, const struct context *c, struct plan *to,
                                  int s)
{
    const struct program *p = c->m->p;
    const struct program_region *r = &p->regions[0];
    const struct slot *slot = &p->slots[s];
    if (slot->kind == SLOT_CONST)
        return (struct plan_place){PLAN_CONSTANTS, 0, (int64_t)k->at[s]};
    if (slot->kind == SLOT_INPUT)
        return (struct plan_place){PLAN_INPUT, number_in(r->params, r->nparams, s), 0};
    if (slot->kind != SLOT_PLANNED)
        return (struct plan_place){PLAN_NOWHERE, 0, 0};
    int out = slot->is_output ? number_in(r->results, r->nresults, s) : -1;
    int onto = c->now->plan.onto[s];
    if (out >= 0)
        return (struct plan_place){PLAN_OUTPUT, out, 0};
    if (onto != s && p->slots[onto].is_output)
        return place_of(k, c, to, onto);
    int64_t at = c->now->plan.offsets[s];
    if (at < 0)
        at = more_arena(to, (int64_t)tensor_bytes(&c->now->types[s]));
    return (struct plan_place){PLAN_ARENA, 0, at};
}

static void place_slots(const struct package *k, const struct context *c, struct context_image *m)
{
    const struct program *p = c->m->p;
    struct plan *to = m->plan;
    to->nslots = p->nslots;
    to->slots = ARENA_ARRAY(&m->arena, struct plan_place, p->nslots);
    for (int s = 0; s < p->nslots; s++)
        if (p->slots[s].kind != SLOT_VIEW)
            to->slots[s] = place_of(k, c, to, s);
    for (int s = 0; s < p->nslots; s++)
        if (p->slots[s].kind == SLOT_VIEW) {
            to->slots[s] = to->slots[p->slots[s].base];
            to->slots[s].offset += dim_value(c->now->values, p->slots[s].offset) *
                                   (int64_t)dtype_bytes(p->slots[s].type.dtype);
        }
}

static void place_operands(const struct context *c, struct context_image *m)
{
    const struct program_region *r = &c->m->p->regions[0];
    struct plan *to = m->plan;
    to->ninputs = r->nparams;
    to->inputs = ARENA_ARRAY(&m->arena, struct plan_input, r->nparams);
    for (int i = 0; i < r->nparams; i++)
        to->inputs[i].bytes = (int64_t)tensor_bytes(&c->now->types[r->params[i]]);
    to->noutputs = r->nresults;
    to->outputs = ARENA_ARRAY(&m->arena, struct plan_output, r->nresults);
    for (int i = 0; i < r->nresults; i++) {
        const struct tensor *t = &c->now->types[r->results[i]];
        struct plan_output *o = &to->outputs[i];
        o->slot = r->results[i];
        o->rank = t->rank;
        o->bytes = (int64_t)tensor_bytes(t);
        memcpy(o->dims, t->dims, sizeof *t->dims * (size_t)t->rank);
        o->own = -1;
        if (to->slots[o->slot].memory == PLAN_OUTPUT && to->slots[o->slot].number == i)
            o->own = more_arena(to, o->bytes);
    }
}

/* What products do in steps needs no executor. */
static void drop_skipped(struct bound_kernel *k)
{
    for (int n = 0; n < k->ninsns; n += 1 + k->insns[n].skip)
        for (int s = 1; s <= k->insns[n].skip; s++) {
            struct bound_insn *i = &k->insns[n + s];
            i->run = NULL;
            if (i->flat)
                flat_insn(i->flat)->run = NULL;
            i->flat = NULL;
        }
}

static bool place_kernels(const struct context *c, int lanes, struct context_image *m, struct diag *d)
{
    const struct program *p = c->m->p;
    const struct program_region *r = &p->regions[0];
    struct bound_kernel **kernels = calloc((size_t)p->nkernels + 1, sizeof *kernels);
    struct plan *to = m->plan;
    bool ok = kernels || fail_memory(d, "out of memory");
    to->nsteps = r->nsteps;
    to->steps = ARENA_ARRAY(&m->arena, struct plan_step, r->nsteps);
    for (int i = 0; ok && i < r->nsteps; i++) {
        int n = r->steps[i].index;
        if (!kernels[n])
            kernels[n] =
                bind_kernel(c->m, &p->kernels[n], c->now->values, lanes, &m->arena, d);
        ok = kernels[n] != NULL;
        if (!ok)
            break;
        to->steps[i] = (struct plan_step){kernels[n], r->steps[i].bf16_from, r->steps[i].bf16_below};
        kernels[n]->kernel = NULL; /* the program is not there when it runs */
        drop_skipped(kernels[n]);
        if (kernels[n]->tile_bytes > to->tile_bytes)
            to->tile_bytes = kernels[n]->tile_bytes;
        if (kernels[n]->scratch_bytes > to->scratch_bytes)
            to->scratch_bytes = kernels[n]->scratch_bytes;
    }
    free(kernels);
    return ok;
}

/* What padding of structures gets from here must not become part of a plan: the two images would
 * differ, and be refused. */
static __attribute__((noinline)) void paint_stack(int byte)
{
    enum { DEEP = 1 << 16 };
    volatile char deep[DEEP];
    memset((char *)deep, byte, sizeof deep);
}

static bool fill(const struct package *k, const struct context *c, int lanes, struct context_image *m,
                 int byte, struct diag *d)
{
    m->arena = (struct arena){.at = m->start, .end = m->start + m->room};
    m->plan = ARENA_NEW(&m->arena, struct plan);
    m->plan->arena_bytes = c->now->plan.size;
    place_slots(k, c, m);
    place_operands(c, m);
    paint_stack(byte);
    bool ok = place_kernels(c, lanes, m, d);
    m->used = (size_t)(m->arena.at - m->start);
    return ok;
}

/* ---- words ---- */

struct words {
    struct plan_set *set;
    struct arena *arena;
    size_t n;
    const uint64_t *word;
    uint8_t *kind;     /* enum plan_kind of each word */
    uint64_t *content; /* what becomes of v */
    uint8_t *out;
    size_t bytes, cap;
};

static uint64_t folded(int64_t v)
{
    return v < 0 ? (uint64_t)~v << 1 | 1 : (uint64_t)v << 1;
}

static bool note_function(struct words *w, const struct context_image *m, const struct bound_insn *i,
                          struct diag *d)
{
    if (!i->run)
        return true;
    size_t at = (size_t)((const char *)&i->run - m->start) / sizeof(uint64_t);
    int n = function_number(w->set, w->arena, i->run);
    w->kind[at] = PLAN_OTHER;
    w->content[at] = (uint64_t)(PLAN_FUNCTIONS + n);
    return n >= 0 || fail_internal(d, "an instruction is run by a function without a name");
}

static bool note_functions(struct words *w, const struct context_image *m, struct diag *d)
{
    bool ok = true;
    for (int s = 0; ok && s < m->plan->nsteps; s++) {
        const struct bound_kernel *k = m->plan->steps[s].kernel;
        for (int n = 0; ok && n < k->ninsns; n++)
            ok = note_function(w, m, &k->insns[n], d) &&
                 (!k->insns[n].flat || note_function(w, m, flat_insn(k->insns[n].flat), d));
    }
    return ok;
}

/* Words that differ as the images' addresses do are addresses. */
static bool classify(struct words *w, const struct context_image *a, const struct context_image *b, struct diag *d)
{
    const uint64_t *other = (const uint64_t *)b->start;
    for (size_t i = 0; i < w->n; i++) {
        uint64_t at = w->word[i] - (uint64_t)(uintptr_t)a->start;
        if (w->word[i] == other[i]) {
            w->kind[i] = PLAN_NUMBER;
            continue;
        }
        if (at != other[i] - (uint64_t)(uintptr_t)b->start || at > a->used)
            return fail_internal(d, "word %zu of the plan is not the same when it is made again", i);
        w->kind[i] = PLAN_ADDRESS;
        w->content[i] = folded((int64_t)at - (int64_t)(i * sizeof(uint64_t)));
    }
    return note_functions(w, a, d);
}

static void put_byte(struct words *w, uint8_t byte)
{
    ARENA_GROW(w->arena, w->out, w->bytes, w->cap);
    w->out[w->bytes++] = byte;
}

static void put_number(struct words *w, uint64_t v)
{
    for (; v > 127; v >>= 7)
        put_byte(w, (uint8_t)(v | 128));
    put_byte(w, (uint8_t)v);
}

static void put_token(struct words *w, enum plan_kind kind, uint64_t v)
{
    put_number(w, v << 2 | kind);
}

static bool same_word(const struct words *w, size_t x, size_t y)
{
    return w->kind[x] != PLAN_ADDRESS && w->kind[x] == w->kind[y] &&
           (w->kind[x] == PLAN_NUMBER ? w->word[x] == w->word[y] : w->content[x] == w->content[y]);
}

/* The longest run of words before word i that are those from i on. */
static size_t find_again(const struct words *w, size_t i, size_t *back)
{
    enum { FAR = 4096, ENOUGH = 64 };
    size_t best = 0;
    for (size_t d = 1; d <= i && d <= FAR && best < ENOUGH; d++) {
        size_t n = 0;
        while (i + n < w->n && same_word(w, i + n - d, i + n))
            n++;
        if (n > best)
            best = n, *back = d;
    }
    return best;
}

static bool is_zero(const struct words *w, size_t i)
{
    return i < w->n && w->kind[i] == PLAN_NUMBER && w->word[i] == 0;
}

/* Bytes that the word takes alone, about. */
static bool is_short(const struct words *w, size_t i)
{
    return w->kind[i] == PLAN_NUMBER && folded((int64_t)w->word[i]) < 1 << 12;
}

static void put_word(struct words *w, size_t i)
{
    enum { MAX_BITS = 48 };
    uint64_t v = folded((int64_t)w->word[i]);
    if (w->kind[i] != PLAN_NUMBER) {
        put_token(w, (enum plan_kind)w->kind[i], w->content[i]);
    } else if (v >> MAX_BITS == 0) {
        put_token(w, PLAN_NUMBER, v);
    } else {
        put_token(w, PLAN_OTHER, PLAN_RAW);
        for (int b = 0; b < 8; b++)
            put_byte(w, (uint8_t)(w->word[i] >> 8 * b));
    }
}

static void put_words(struct words *w)
{
    enum { MIN_AGAIN = 3 };
    for (size_t i = 0; i < w->n;) {
        size_t zeros = 0, back = 0;
        while (is_zero(w, i + zeros))
            zeros++;
        size_t again = find_again(w, i, &back);
        bool pays = again >= MIN_AGAIN || (again > 0 && !is_short(w, i));
        if (pays && again > zeros) {
            put_token(w, PLAN_OTHER, PLAN_AGAIN);
            put_number(w, again);
            put_number(w, back);
            i += again;
        } else if (zeros) {
            put_token(w, PLAN_ZEROS, zeros);
            i += zeros;
        } else {
            put_word(w, i++);
        }
    }
}

/* ---- plans ---- */

static bool write_image(struct package *k, const struct context_image *a, const struct context_image *b,
                        struct plan_text *to, struct diag *d)
{
    struct words w = {.set = k->plan, .arena = &k->arena, .n = a->used / sizeof(uint64_t)};
    w.word = (const uint64_t *)a->start;
    w.kind = calloc(w.n, 1);
    w.content = calloc(w.n, sizeof *w.content);
    bool ok = (w.kind && w.content) || fail_memory(d, "out of memory");
    ok = ok && classify(&w, a, b, d);
    if (ok) {
        put_words(&w);
        *to = (struct plan_text){w.out, w.bytes, w.n};
        size_t need = planned_size(a->plan, (uint32_t)w.n, k->o->threads ? MAX_THREADS : 1);
        if (need > k->plan->context_size)
            k->plan->context_size = need;
    }
    free(w.kind);
    free(w.content);
    return ok;
}

/* Twice, in more memory until it fits. */
static bool make_for(struct package *k, const struct context *c, int lanes, struct plan_text *to,
                     struct diag *d)
{
    bool ok = true, fits = false;
    for (size_t room = FIRST_ROOM; ok && !fits; room *= 4) {
        char *memory = aligned_alloc(PLAN_ALIGN, 2 * room);
        struct context_image a = {.start = memory, .room = room}, b = {.start = memory + room, .room = room};
        ok = (memory || fail_memory(d, "out of memory")) && fill(k, c, lanes, &a, 0x5a, d);
        fits = ok && !a.arena.head;
        ok = ok && (!fits || (fill(k, c, lanes, &b, 0xa5, d) && write_image(k, &a, &b, to, d)));
        arena_free(&a.arena);
        arena_free(&b.arena);
        free(memory);
    }
    return ok;
}

static bool has(const struct package *k, const char *isa)
{
    return strstr(k->isa, isa) != NULL;
}

bool plan_is_possible(const struct package *k)
{
    return k->nopen == 0 && !k->dynamic && k->p->ncalls == 0 && sizeof(void *) == sizeof(uint64_t);
}

/* The program as it is written, for the sizes that it states. */
static struct context *open_again(const struct package *k, struct diag *d)
{
    struct program *p = program_new();
    struct codec c = codec_reader("program", k->code, k->code_size, &p->arena, d);
    code_whole_program(&c, p, NULL, k->constants);
    struct model *m = c.failed ? NULL : model_new(p, d);
    if (m)
        m->one_by_one = true;
    struct context *x = m ? context_make(m, 1, NULL, d) : NULL;
    if (m && !x)
        model_free(m);
    return x;
}

/* Of dim expressions, for the values of symbols that memory was measured with. */
static const int64_t *values_of(const struct package *k, const struct dim_table *dims, struct arena *a)
{
    int64_t *symbols = ARENA_ARRAY(a, int64_t, dims->nsymbols + 1), *values = ARENA_ARRAY(a, int64_t, dims->nnodes + 1);
    for (int i = 0, n = 0; i < dims->nsymbols; i++)
        symbols[i] = dims->symbols[i].runtime ? DIM_NOT_BOUND : k->open[n++].max;
    dim_eval_with(dims, symbols, NULL, 0, values);
    return values;
}

bool make_plan(struct package *k, struct diag *d)
{
    const bool possible = plan_is_possible(k);
    struct diag ignored = {0};
    struct context *x = open_again(k, possible ? d : &ignored);
    if (!x)
        return !possible;
    struct model *m = x->m;
    struct forms_query q = {m, values_of(k, &m->p->dims, &k->arena), has(k, " avx512"),
                            has(k, " portable ") || has(k, " avx2 ") || has(k, " neon ")};
    bool ok = true;
    if (k->p->nstates == 0)
        k->forms = forms_find(&q, &k->arena);
    if (possible && !m->has_runtime && bind_ahead(x, 0)) {
        k->plan = ARENA_NEW(&k->arena, struct plan_set);
        ok = (!q.wide || make_for(k, x, WIDE, &k->plan->wide, d)) &&
             (!q.narrow || make_for(k, x, NARROW, &k->plan->narrow, d));
    }
    context_free(x);
    model_free(m);
    return ok;
}
