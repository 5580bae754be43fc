#define _GNU_SOURCE
#include "test/fuzz/fuzz.h"

#include "backend/backend.h"
#include "passes/pass.h"
#include "runtime/exec/exec.h"
#include "test/fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ELEMENTS = 1 << 14, MAX_STEPS = 2000, SYMBOL_SIZE = 2, MAX_SECONDS = 2, MAX_MEMORY = 1 << 28 };

const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) || (size && pwrite(fd, data, size, 0) != (ssize_t)size))
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void quiet(void *user, const char *text) {}

struct diag fuzz_diag(void)
{
    return (struct diag){.warn = quiet};
}

struct program *fuzz_compile(struct graph *g, const char *target, struct diag *d)
{
    const struct machine *machine = machine_find(target);
    struct options o = {.opt_level = 2, .verify_passes = true, .strict_target = machine->strict};
    return passes_run(g, &o, d) ? backend_compile(g, &o, machine, d) : NULL;
}

void fuzz_agree(bool ok, const struct diag *d)
{
    if (ok == diag_failed(d) || d->internal) {
        fprintf(stderr, "%s: '%s'\n", ok ? "succeeds with a message" : "fails", d->text);
        abort();
    }
}

/* ---- running ---- */

static bool count_steps(void *user, struct context *c, int step, struct diag *d)
{
    int *left = user;
    return --*left > 0 || fail(d, "enough steps");
}

uint64_t fuzz_seed(const uint8_t *data, size_t size)
{
    uint64_t seed = size;
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ data[i]) * 0x100000001b3u;
    return seed >> 8;
}

/* What one bit of a seed decides. */
enum { ODD_VALUES = 1, BIND_STATES = 2, RUN_TWICE = 4, FAST_BF16 = 8, GROUPED = 16 };

/* Ones, or numbers that are often wrong, in the shape of a parameter; false when it is large, negative or no tensor. */
static bool fill(const struct type *t, struct tensor *out, uint64_t *seed, bool odd, struct diag *d)
{
    int64_t dims[MAX_RANK], count = 1;
    if (t->kind != VK_TENSOR || t->rank < 0)
        return false;
    for (int i = 0; i < t->rank; i++) {
        dims[i] = dim_is_const(t->dims[i]) ? t->dims[i] : SYMBOL_SIZE;
        if (dims[i] < 0 || dims[i] > MAX_ELEMENTS || (count *= dims[i]) > MAX_ELEMENTS)
            return false;
    }
    if (!tensor_alloc(out, t->dtype, t->rank, dims, d))
        return false;
    for (int64_t i = 0; t->dtype != DT_STR && i < count; i++) {
        int64_t small = (int64_t)mutate_below(seed, 9) - 3;
        dtype_store_i64(t->dtype, out->data, (size_t)i, !odd ? 1 : mutate_below(seed, 4) ? small : mutate_value(seed));
    }
    return true;
}

/* States that a program has no room for stay as they are. */
static void bind_states(const struct program *p, struct context *c, uint64_t *seed)
{
    const struct program_region *main = &p->regions[0];
    for (int s = 0; s < p->nstates; s++)
        for (int i = 0; i < main->nparams; i++)
            for (int o = 0; o < main->nresults; o++)
                if (main->params[i] == p->states[s].input && main->results[o] == p->states[s].output) {
                    struct diag d = fuzz_diag();
                    context_bind_state(c, i, o, (int64_t)mutate_below(seed, 12), &d);
                }
}

/* Whether every slot that has a constant shape is small. */
static bool small(const struct program *p)
{
    for (int i = 0; i < p->nslots; i++) {
        const struct type *t = &p->slots[i].type;
        int64_t count = 1;
        for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++)
            if (dim_is_const(t->dims[k]) && t->dims[k] >= 0 && /* negative ones are the runtime's to refuse */
                (t->dims[k] > MAX_ELEMENTS || (count *= t->dims[k]) > MAX_ELEMENTS))
                return false;
    }
    return true;
}

void fuzz_run(struct program *p, uint64_t seed, struct diag *d)
{
    if (!small(p)) {
        program_free(p);
        return;
    }
    struct model *m = model_new(p, d);
    if (m) /* one of the ways that a program may have for some processors */
        model_set_bf16_rate(m, seed & FAST_BF16 ? MAX_BF16_RATE : 1);
    struct context *c = m ? context_new(m, 1, d) : NULL;
    int n = m ? p->regions[0].nparams : 0, steps = MAX_STEPS;
    bool grouped = seed & GROUPED;
    bool odd = seed & ODD_VALUES, bind = seed & BIND_STATES, twice = seed & RUN_TWICE;
    struct tensor *inputs = calloc((size_t)n + 1, sizeof *inputs);
    bool ok = c && inputs;
    if (ok && bind)
        bind_states(p, c, &seed);
    for (int i = 0; ok && i < n; i++)
        ok = fill(&p->slots[p->regions[0].params[i]].type, &inputs[i], &seed, odd, d) &&
             context_set_input(c, i, &inputs[i], d);
    if (ok) { /* a launch may have many instances, and a loop many launches */
        context_set_limits(c, &(struct run_limits){MAX_STEPS, MAX_MEMORY, MAX_SECONDS});
        if (grouped) /* which a watched run is not */
            context_set_group(c, 1);
        else
            context_watch(c, count_steps, &steps);
        if (context_run(c, d) && twice)
            context_run(c, d);
    }
    context_free(c);
    model_free(m);
    for (int i = 0; inputs && i < n; i++)
        tensor_free(&inputs[i]);
    free(inputs);
}

void fuzz_graph(struct graph *g, size_t size, struct diag *d)
{
    if (!g)
        return;
    struct program *p = fuzz_compile(g, size % 2 ? "trn1" : "cpu", d);
    fuzz_agree(p != NULL, d);
    if (p)
        fuzz_run(p, size / 2, d);
    graph_free(g);
}

static char *print(const struct fuzz_text *t, void *object, size_t *n)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, n);
    if (!f)
        abort();
    t->print(object, f);
    fclose(f);
    return text;
}

/* Parsing may simplify dims that a mutation made, and so print other text once, but not twice. */
void fuzz_reread(const struct fuzz_text *t, void *object, struct diag *d)
{
    enum { TIMES = 3 };
    size_t n, m;
    char *text = print(t, object, &n);
    for (int i = 0; i < TIMES; i++) {
        void *again = t->parse(text, n, d);
        fuzz_agree(again != NULL, d);
        if (!again) {
            fprintf(stderr, "what was printed is not read back: %s\n%s", d->text, text);
            abort();
        }
        char *next = print(t, again, &m);
        bool same = n == m && !memcmp(text, next, n);
        t->free(again);
        free(text);
        text = next;
        n = m;
        if (same)
            break;
        if (i == TIMES - 1)
            abort();
    }
    free(text);
}
