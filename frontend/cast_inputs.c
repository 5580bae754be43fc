/* Inputs to measure a cast on: files, or made up. */
#include "frontend/cast_trial.h"

#include "runtime/io/npy.h"
#include "runtime/io/random.h"

#include <stdlib.h>
#include <string.h>

static const struct slot *input_slot(const struct program *p, int i)
{
    return &p->slots[p->regions[0].params[i]];
}

bool has_symbols(const struct program *p)
{
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct type *t = &input_slot(p, i)->type;
        for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++)
            if (!dim_is_const(t->dims[k]))
                return true;
    }
    return false;
}

/* A size for a symbolic dim: one example, or some rows of a table; pictures of 128 x 128, sequences of
 * 16; and where the model refuses those, more, less, or 1 as xrun has it. The second dim after a
 * constant one is a sequence, or the examples that a state belongs to. */
static int64_t likely_size(const struct type *t, int axis, int attempt)
{
    static const int pictures[SIZE_ATTEMPTS] = {128, 224, 256, 64, 32, 1},
                     others[SIZE_ATTEMPTS] = {16, 512, 256, 1024, 8, 1},
                     second[SIZE_ATTEMPTS] = {16, 1, 1, 1, 1, 1};
    bool rows = t->rank == 2 && dim_is_const(t->dims[1]);
    if (axis == 0 && t->rank > 1 && !rows)
        return 1;
    if (axis == 1 && t->rank > 2 && dim_is_const(t->dims[0]))
        return second[attempt];
    return t->rank >= 4 && axis >= t->rank - 2 ? pictures[attempt] : others[attempt];
}

/* The smallest that is likely where a symbol stands: a decoder's token per sequence, [batch,1], looks like rows of a
 * table, and its states by [batch,heads,...] like one example. */
static void choose_sizes(const struct program *p, int attempt, int64_t *symbols)
{
    for (int s = 0; s < p->dims.nsymbols; s++)
        symbols[s] = 0;
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct type *t = &input_slot(p, i)->type;
        for (int k = 0; t->kind == VK_TENSOR && k < t->rank; k++) {
            int s = dim_is_const(t->dims[k]) ? -1 : dim_as_symbol(&p->dims, t->dims[k]);
            int64_t size = s >= 0 ? likely_size(t, k, attempt) : 0;
            if (s >= 0 && (!symbols[s] || size < symbols[s]))
                symbols[s] = size;
        }
    }
    for (int s = 0; s < p->dims.nsymbols; s++)
        symbols[s] = pinned_value(p, s, symbols[s] ? symbols[s] : 1);
}

/* Sizes that given tensors have. */
static void read_sizes(const struct program *p, const struct tensor *in, int64_t *symbols)
{
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct type *t = &input_slot(p, i)->type;
        for (int k = 0; in[i].kind == VK_TENSOR && k < t->rank && k < in[i].rank; k++) {
            int s = dim_is_const(t->dims[k]) ? -1 : dim_as_symbol(&p->dims, t->dims[k]);
            if (s >= 0)
                symbols[s] = in[i].dims[k];
        }
    }
}

static bool make_up(const struct program *p, int i, const int64_t *symbols, int set,
                    struct tensor *out, struct diag *d)
{
    const struct slot *s = input_slot(p, i);
    const struct type *t = &s->type;
    struct value_range range = {s->has_range, s->low, dim_eval(&p->dims, symbols, s->high)};
    uint64_t seed = 1 + (uint64_t)i;
    int64_t dims[MAX_RANK];
    /* Of examples as long as their axis, half is there at least: of very short ones some models make nothing. */
    if (range.known && t->rank <= 1 && !dim_is_const(s->high) && range.high / 2 > range.low)
        range.low = range.high / 2;
    if (t->kind == VK_OPTIONAL)
        return true;
    if (t->kind != VK_TENSOR || t->rank < 0 || t->dtype == DT_STR)
        return fail(d, "input '%s' cannot be made up", s->name);
    for (int k = 0; k < t->rank; k++)
        dims[k] = dim_eval(&p->dims, symbols, t->dims[k]);
    if (!tensor_alloc(out, t->dtype, t->rank, dims, d))
        return fail_in(d, "input '%s'", s->name);
    static void (*const fills[])(struct tensor *, const struct value_range *, uint64_t) = {
        random_fill, smooth_fill, steps_fill};
    fills[set % (int)(sizeof fills / sizeof *fills)](out, &range, seed);
    return true;
}

static int input_named(const struct program *p, const char *name)
{
    for (int i = 0; i < p->regions[0].nparams; i++)
        if (!strcmp(input_slot(p, i)->name, name))
            return i;
    return -1;
}

static bool read_set(const struct program *p, const char *path, struct tensor *in, struct diag *d)
{
    struct npz z;
    if (!npz_read(path, &z, d))
        return false;
    bool ok = true;
    for (int e = 0; ok && e < z.count; e++) {
        int i = input_named(p, z.entries[e].name);
        ok = i >= 0 ? npy_as(&z.entries[e].t, input_slot(p, i)->type.dtype, d)
                    : fail(d, "the model has no input '%s'", z.entries[e].name);
        if (ok)
            tensor_move(&in[i], &z.entries[e].t);
    }
    npz_free(&z);
    return ok || fail_in(d, "%s", path);
}

void input_sets_free(struct input_sets *s)
{
    for (int set = 0; set < MAX_INPUT_SETS; set++) {
        for (int i = 0; s->in[set] && i < s->nparams; i++)
            tensor_free(&s->in[set][i]);
        free(s->in[set]);
    }
    *s = (struct input_sets){0};
}

static bool make_set(struct input_sets *s, int set, const struct program *p,
                     const struct command *c, int attempt, struct diag *d)
{
    struct arena scratch = {0};
    int64_t *symbols = ARENA_ARRAY(&scratch, int64_t, p->dims.nsymbols + 1);
    struct tensor *in = s->in[set] = calloc((size_t)s->nparams + 1, sizeof *in);
    bool ok = in || fail_memory(d, "out of memory");
    for (int i = 0; ok && i < s->nparams; i++)
        in[i].kind = VK_NONE;
    ok = ok && (!c->ncalibrate || read_set(p, c->calibrate[set], in, d));
    if (ok) {
        choose_sizes(p, attempt, symbols);
        read_sizes(p, in, symbols);
    }
    for (int i = 0; ok && i < s->nparams; i++)
        if (in[i].kind == VK_NONE) {
            s->seeded = true;
            ok = make_up(p, i, symbols, set, &in[i], d);
        }
    arena_free(&scratch);
    return ok;
}

/* Floats along an axis on which they can change slowly. */
static bool has_signals(const struct program *p)
{
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct type *t = &input_slot(p, i)->type;
        for (int k = t->rank > 1; t->kind == VK_TENSOR && dtype_is_float(t->dtype) && k < t->rank;
             k++)
            if (!dim_is_const(t->dims[k]) || t->dims[k] > LONG_AXIS)
                return true;
    }
    return false;
}

bool input_sets_make(struct input_sets *s, const struct program *p, const struct command *c,
                     int attempt, struct diag *d)
{
    enum { TABLES = 1, SIGNALS = 3 };
    *s = (struct input_sets){.count = c->ncalibrate    ? c->ncalibrate
                                      : has_signals(p) ? SIGNALS
                                                       : TABLES,
                             .nparams = p->regions[0].nparams};
    bool ok = true;
    for (int set = 0; ok && set < s->count; set++)
        ok = make_set(s, set, p, c, attempt, d);
    if (!ok)
        input_sets_free(s);
    return ok;
}
