/*
 * Sizes known only while running, over cases of all operators.
 *
 *   random_sizes [--seed S] [--rounds N] [--runs N] FOLDER...
 *
 * Each folder is a test case (xcc test) of an ONNX model. In each round some dims of its inputs
 * become symbols, other inputs constants of the model, and it is compiled at -O2 and at -O0, where
 * everything runs by plain routines. Each run then draws sizes for the symbols, among them ones
 * that do not fit, and compiles the model for exactly these. All three give the same results, or
 * all refuse: a program that computes what the others refuse has dropped or invented data.
 *
 * A folder is looked at in a process of its own: a crash is a failure like others. Exit status 1
 * when anything differed.
 */
#include "backend/backend.h"
#include "frontend/driver.h"
#include "frontend/test_case.h"
#include "neff/base/file.h"
#include "runtime/exec/exec.h"
#include "runtime/io/apart.h"

#include "onnx.pb-c.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INPUTS = 16, MAX_OUTPUTS = 16, MAX_ELEMENTS = 1 << 14, SECONDS = 600 };

static uint64_t state;

static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return n > 0 ? (int)((state >> 33) % (uint64_t)n) : 0;
}

/* Each case draws other numbers, wherever its folder lies. */
static void begin_drawing(uint64_t seed, const char *folder)
{
    size_t n = strlen(folder), at;
    while (n > 1 && folder[n - 1] == '/')
        n--;
    for (at = n; at > 0 && folder[at - 1] != '/'; at--)
        continue;
    state = seed * 0x9E3779B97F4A7C15u;
    for (; at < n; at++)
        state = (state ^ (unsigned char)folder[at]) * 1099511628211u;
}

/* ---- what a round makes of the inputs' dims ---- */

struct sized_case { /* one model with its inputs */
    const char *folder;
    struct test_case files;
    int n;
    bool constant[MAX_INPUTS];
    const char *name[MAX_INPUTS];
    struct tensor given[MAX_INPUTS];
    int symbol[MAX_INPUTS][MAX_RANK]; /* -1: constant */
    int nsymbols;
    bool loops; /* has loops, whose results have dims of 0 where no turn tells others */
    int64_t original[MAX_INPUTS * MAX_RANK]; /* of each symbol */
    int64_t size[MAX_INPUTS * MAX_RANK];     /* in this run */
    struct arena arena;
};

static void draw_symbols(struct sized_case *c)
{
    int kind = below(3); /* one symbol for each size; for each dim; some of either, some constant */
    c->nsymbols = 0;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->given[i].rank; k++) {
            int64_t n = c->given[i].dims[k];
            c->symbol[i][k] = -1;
            if (c->constant[i] || (kind == 2 && below(2)))
                continue;
            int s = 0;
            while (s < c->nsymbols && (c->original[s] != n || kind == 1 || (kind == 2 && below(3))))
                s++;
            if (s == c->nsymbols)
                c->original[c->nsymbols++] = n;
            c->symbol[i][k] = s;
        }
}

/* Which inputs become constants: lists of integers more often, not all; none whose elements ONNX packs. */
static bool draw_constants(struct sized_case *c)
{
    bool any = below(2), open = false;
    for (int i = 0; i < c->n; i++) {
        bool list = dtype_is_int(c->given[i].dtype) && c->given[i].rank < 2;
        c->constant[i] = any && below(4) < (list ? 3 : 1) && dtype_info(c->given[i].dtype)->bits >= 8;
        open |= !c->constant[i] && c->given[i].rank > 0;
    }
    for (int i = 0; i < c->n && !open; i++)
        if (c->given[i].rank > 0) {
            c->constant[i] = false;
            open = true;
        }
    any = false;
    for (int i = 0; i < c->n; i++)
        any |= c->constant[i];
    return any;
}

/* A tensor as an initializer; NULL without memory. */
static Onnx__TensorProto *initializer(const char *name, const struct tensor *from)
{
    Onnx__TensorProto *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    onnx__tensor_proto__init(t);
    t->has_data_type = t->has_raw_data = 1;
    t->data_type = from->dtype; /* ONNX's numbers */
    t->name = strdup(name);
    t->dims = malloc((size_t)(from->rank + 1) * sizeof *t->dims);
    t->raw_data.data = malloc(tensor_bytes(from) + 1);
    if (!t->name || !t->dims || !t->raw_data.data) {
        onnx__tensor_proto__free_unpacked(t, NULL);
        return NULL;
    }
    for (; t->n_dims < (size_t)from->rank; t->n_dims++)
        t->dims[t->n_dims] = from->dims[t->n_dims];
    t->raw_data.len = tensor_bytes(from);
    memcpy(t->raw_data.data, from->data, t->raw_data.len);
    return t;
}

/* The input becomes one of the graph's constants. */
static bool make_constant(const struct sized_case *c, int i, Onnx__GraphProto *g)
{
    Onnx__TensorProto **list = realloc(g->initializer, (g->n_initializer + 1) * sizeof *list);
    if (!list)
        return false;
    g->initializer = list;
    if (!(list[g->n_initializer] = initializer(c->name[i], &c->given[i])))
        return false;
    g->n_initializer++;
    for (size_t k = 0; k < g->n_input; k++)
        if (!strcmp(g->input[k]->name, c->name[i])) {
            onnx__value_info_proto__free_unpacked(g->input[k], NULL);
            memmove(&g->input[k], &g->input[k + 1], (--g->n_input - k) * sizeof *g->input);
            return true;
        }
    return false;
}

/* From now on the model's file has the constants. */
static bool lend_constants(struct sized_case *c, struct diag *d)
{
    struct mapped_file f;
    if (!file_map(&f, c->files.model, d))
        return false;
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, f.size, f.data);
    file_unmap(&f);
    bool ok = m != NULL;
    for (int i = 0; i < c->n && ok; i++)
        ok = !c->constant[i] || make_constant(c, i, m->graph);
    uint8_t *bytes = ok ? malloc(onnx__model_proto__get_packed_size(m)) : NULL;
    ok = bytes ? file_lend(c->files.model, bytes, onnx__model_proto__pack(m, bytes), d)
               : fail(d, "its inputs do not become constants");
    free(bytes);
    if (m)
        onnx__model_proto__free_unpacked(m, NULL);
    return ok;
}

static void draw_sizes(struct sized_case *c)
{
    bool same = below(4) == 0;
    for (int s = 0; s < c->nsymbols; s++) {
        int64_t n = c->original[s];
        int64_t choice[] = {n, n, n, n, 1, 2, n + 1, n - 1, 2 * n, 1 + below(9), below(20) ? n : 0};
        c->size[s] = same ? n : choice[below(11)];
        if (c->size[s] < 0)
            c->size[s] = 0;
    }
}

enum { SYMBOLS, SIZES };
struct adapting {
    const struct sized_case *c;
    int as;
};

static void adapt(void *user, struct graph *g, const char *input, struct type *t)
{
    const struct adapting *a = user;
    for (int i = 0; i < a->c->n; i++) {
        if (strcmp(a->c->name[i], input) != 0 || t->kind != VK_TENSOR)
            continue;
        t->rank = (int8_t)a->c->given[i].rank;
        for (int k = 0; k < t->rank; k++) {
            char name[16];
            int s = a->c->symbol[i][k];
            snprintf(name, sizeof name, "s%d", s);
            t->dims[k] = s < 0              ? a->c->given[i].dims[k]
                         : a->as == SYMBOLS ? dim_symbol(&g->dims, name)
                                            : a->c->size[s];
        }
    }
}

/* ---- compiling and running ---- */

static struct model *compile(const struct sized_case *c, int as, int level, struct diag *d)
{
    struct adapting user = {c, as};
    struct import_options import = {.adapt = adapt, .user = &user};
    struct options o = {.opt_level = level, .small_batches = true};
    struct graph *g = onnx_import(c->files.model, &import, d);
    struct program *p =
        g && passes_run(g, &o, d) ? backend_compile(g, &o, machine_find("cpu"), d) : NULL;
    struct model *m = p ? model_new(p, d) : NULL;
    if (!m)
        graph_free(g); /* else the program needs its constants: for the life of the process */
    return m;
}

/* Into out, for inputs that are no constants: the input's elements over and over. */
static bool resize_input(const struct sized_case *c, int i, struct tensor *out)
{
    const struct tensor *from = &c->given[i];
    struct diag d = {0};
    int64_t dims[MAX_RANK], n = 1, have = tensor_count(from);
    for (int k = 0; k < from->rank; k++) {
        dims[k] = c->symbol[i][k] < 0 ? from->dims[k] : c->size[c->symbol[i][k]];
        n *= dims[k];
        if (n > MAX_ELEMENTS)
            return false;
    }
    if (!tensor_alloc(out, from->dtype, from->rank, dims, &d))
        return false;
    size_t bytes = dtype_bytes(from->dtype);
    for (int64_t k = 0; k < n && have; k++)
        memcpy((char *)out->data + (size_t)k * bytes,
               (const char *)from->data + (size_t)(k % have) * bytes, bytes);
    return true;
}

struct sized_outcome {
    bool ok;
    int n;
    struct tensor out[MAX_OUTPUTS];
    struct diag d;
};

static void run(struct model *m, const struct sized_case *s, const struct tensor *in, struct sized_outcome *o)
{
    struct context *c = context_new(m, 1, &o->d);
    static int runs; /* three of four in groups of one item, where a program may be (passes/separable.c) */
    if (c)
        context_set_group(c, runs++ % 4 == 0 ? 0 : 1);
    o->ok = c != NULL;
    for (int i = 0, at = 0; o->ok && i < s->n; i++)
        if (!s->constant[i])
            o->ok = context_set_input(c, at++, &in[i], &o->d);
    o->ok = o->ok && context_run(c, &o->d);
    o->n = model_program(m)->regions[0].nresults;
    for (int i = 0; o->ok && i < o->n && i < MAX_OUTPUTS; i++)
        o->ok = tensor_copy(&o->out[i], context_output(c, i), &o->d);
    context_free(c);
}

static void clear(struct sized_outcome *o)
{
    for (int i = 0; i < MAX_OUTPUTS; i++)
        tensor_free(&o->out[i]);
    memset(o, 0, sizeof *o);
    for (int i = 0; i < MAX_OUTPUTS; i++)
        o->out[i].kind = VK_NONE;
}

/* ---- judging ---- */

static bool tensors_agree(const struct tensor *x, const struct tensor *y, struct diag *d)
{
    const struct tolerance near = {.rtol = 2e-3, .atol = 1e-5, .norm = 2e-3};
    if (x->kind != VK_TENSOR || y->kind != VK_TENSOR || x->dtype == DT_STR)
        return x->kind == y->kind;
    if (dtype_is_int(x->dtype) && dtype_bytes(x->dtype) == 1 &&
        tensor_count(x) == tensor_count(y)) {
        bool close = true; /* a quantised sum in another order may round the other way */
        for (int64_t k = 0; k < tensor_count(y); k++)
            close &= llabs(tensor_i64(x, k) - tensor_i64(y, k)) <= 1;
        if (close)
            return true;
    }
    for (int64_t k = 0; dtype_is_float(x->dtype) && k < tensor_count(y); k++)
        if (!isfinite(tensor_f64(y, k)) || fabs(tensor_f64(y, k)) > 1e9)
            return true; /* the operator's numbers are not the subject */
    return compare_tensors(x, y, &near, d);
}

/* Two that are empty, and alike but for dims of 0: a compile for fixed sizes may know dims that running does not. */
static bool empties_agree(const struct tensor *x, const struct tensor *y)
{
    bool alike = x->kind == VK_TENSOR && y->kind == VK_TENSOR && x->dtype == y->dtype && x->rank == y->rank &&
                 !tensor_count(x) && !tensor_count(y);
    for (int k = 0; alike && k < x->rank; k++)
        alike = x->dims[k] == y->dims[k] || !x->dims[k] || !y->dims[k];
    return alike;
}

static bool is_empty(const struct sized_outcome *o)
{
    for (int i = 0; i < o->n && i < MAX_OUTPUTS; i++)
        if (o->out[i].kind == VK_TENSOR && tensor_count(&o->out[i]) == 0)
            return true;
    return false;
}

/* Why two outcomes differ, or NULL. Empty results may be refused: an image smaller than its window
 * has no result under symbols, and one without elements when compiled for its size. */
static const char *difference(const struct sized_case *c, const struct sized_outcome *x, const struct sized_outcome *y,
                              char *text, size_t room)
{
    if (x->ok != y->ok && !is_empty(x->ok ? x : y)) {
        snprintf(text, room, "one computes, the other says: %s", x->ok ? y->d.text : x->d.text);
        return text;
    }
    for (int i = 0; x->ok && y->ok && i < x->n && i < MAX_OUTPUTS; i++) {
        struct diag d = {0};
        if (tensors_agree(&x->out[i], &y->out[i], &d) || (c->loops && empties_agree(&x->out[i], &y->out[i])))
            continue;
        snprintf(text, room, "output %d: %s", i, d.text);
        return text;
    }
    return NULL;
}

static void report(const struct sized_case *c, uint64_t seed, const char *who, const char *why)
{
    printf("%s: %s differ: %s\n  --seed %llu, sizes", c->folder, who, why,
           (unsigned long long)seed);
    for (int i = 0; i < c->n; i++) {
        printf(" %s%s[", c->constant[i] ? "constant " : "", c->name[i]);
        for (int k = 0; k < c->given[i].rank; k++) {
            int s = c->symbol[i][k];
            if (s < 0)
                printf("%s%lld", k ? "," : "", (long long)c->given[i].dims[k]);
            else
                printf("%ss%d=%lld", k ? "," : "", s, (long long)c->size[s]);
        }
        printf("]");
    }
    printf("\n");
}

/* ---- a case ---- */

struct counts {
    long runs, refused, different, with_constants;
};

static bool is_repeatable(struct node *n, void *user)
{
    *(bool *)user |= n->op == OP_scan || n->op == OP_loop;
    return !(op_infos[n->op].flags & OPF_IMPURE);
}

static bool open_case(struct sized_case *c)
{
    const char *missing;
    struct diag d = {0};
    bool found;
    if (!test_case_find(&c->files, c->folder, NULL, &missing, &d) || !c->files.nsets ||
        !strstr(c->files.model, ".onnx"))
        return false;
    struct graph *g = onnx_import(c->files.model, NULL, &d);
    c->loops = false;
    bool ok = g && infer_types(g, &d) && g->main->nparams <= MAX_INPUTS && g->main->nparams > 0 &&
              g->noutputs <= MAX_OUTPUTS && region_walk(g->main, is_repeatable, &c->loops);
    c->n = ok ? g->main->nparams : 0;
    for (int i = 0; ok && i < c->n; i++) {
        struct tensor *t = &c->given[i];
        t->kind = VK_NONE;
        c->name[i] = arena_strdup(&c->arena, g->main->params[i]->name);
        ok = test_value_read(c->files.sets[0], "input", i, &g->main->params[i]->type, t, &found,
                             &d) &&
             found && t->kind == VK_TENSOR && t->dtype != DT_STR &&
             tensor_count(t) <= MAX_ELEMENTS;
    }
    graph_free(g);
    return ok;
}

/* Three programs at one choice of sizes. */
static void run_sizes(struct sized_case *c, struct model *const *symbolic, uint64_t seed,
                      struct counts *n)
{
    static struct sized_outcome o[3];
    struct tensor in[MAX_INPUTS];
    char why[2400];
    bool ok = true;
    draw_sizes(c);
    for (int i = 0; i < c->n; i++)
        in[i].kind = VK_NONE, in[i] = (struct tensor){.kind = VK_NONE};
    for (int i = 0; ok && i < c->n; i++)
        ok = resize_input(c, i, &in[i]);
    if (ok) {
        for (int i = 0; i < 3; i++)
            clear(&o[i]);
        struct model *fixed = compile(c, SIZES, 2, &o[2].d);
        run(symbolic[0], c, in, &o[0]);
        run(symbolic[1], c, in, &o[1]);
        if (fixed)
            run(fixed, c, in, &o[2]);
        n->runs += 3;
        n->refused += !o[0].ok + !o[1].ok + !o[2].ok;
        if (o[0].d.internal || o[1].d.internal || o[2].d.internal) {
            n->different++;
            report(c, seed, "-O2, -O0 or fixed", "an internal error");
        } else if (difference(c, &o[0], &o[1], why, sizeof why)) {
            n->different++;
            report(c, seed, o[0].ok ? "-O2 (computes) and -O0" : "-O2 (refuses) and -O0", why);
        } else if (difference(c, &o[0], &o[2], why, sizeof why)) {
            n->different++;
            report(c, seed,
                   o[0].ok ? "-O2 with symbols (computes) and fixed sizes"
                           : "-O2 with symbols (refuses) and fixed sizes",
                   why);
        }
        model_free(fixed);
    }
    for (int i = 0; i < c->n; i++)
        tensor_free(&in[i]);
}

static struct counts look_at(const char *folder, uint64_t first_seed, int rounds, int runs)
{
    static struct sized_case c;
    struct counts n = {0};
    c.folder = folder;
    if (!open_case(&c))
        return n;
    for (int r = 0; r < rounds; r++) {
        uint64_t seed = first_seed + (uint64_t)r;
        struct diag d[2];
        memset(d, 0, sizeof d);
        begin_drawing(seed, folder);
        bool constants = draw_constants(&c);
        draw_symbols(&c);
        file_lend(NULL, NULL, 0, &d[0]);
        n.with_constants += constants;
        if (constants && !lend_constants(&c, &d[0])) {
            n.different++;
            report(&c, seed, "the model and that with constants", d[0].text);
            continue;
        }
        struct model *m[2] = {compile(&c, SYMBOLS, 2, &d[0]), compile(&c, SYMBOLS, 0, &d[1])};
        if (!m[0] != !m[1] || d[0].internal) {
            n.different++;
            report(&c, seed, "compiles at -O2 and -O0", m[0] ? d[1].text : d[0].text);
        }
        for (int i = 0; m[0] && m[1] && i < runs && c.nsymbols; i++)
            run_sizes(&c, m, seed, &n);
        model_free(m[0]);
        model_free(m[1]);
    }
    return n;
}

struct task {
    const char *folder;
    uint64_t seed;
    int rounds, runs;
};

static int look_task(void *user, int fd)
{
    const struct task *t = user;
    alarm(SECONDS);
    struct counts n = look_at(t->folder, t->seed, t->rounds, t->runs);
    return write(fd, &n, sizeof n) != sizeof n;
}

static struct counts look_apart(const char *folder, uint64_t seed, int rounds, int runs)
{
    union {
        struct counts counts;
        char text[200];
    } out = {{0}};
    size_t n;
    int code = run_apart(look_task, &(struct task){folder, seed, rounds, runs}, &out,
                         sizeof out.text - 1, &n);
    if (code == 0 && n == sizeof out.counts)
        return out.counts;
    out.text[code < 0 ? n : 0] = 0;
    printf("%s: no result: %s, --seed %llu\n", folder, out.text, (unsigned long long)seed);
    return (struct counts){.different = 1};
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int rounds = 2, runs = 6, i = 1;
    struct counts all = {0};
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--rounds"))
            rounds = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--runs"))
            runs = atoi(argv[i + 1]);
    }
    for (; i < argc; i++) {
        struct counts n = look_apart(argv[i], seed, rounds, runs);
        all.runs += n.runs, all.refused += n.refused, all.different += n.different;
        all.with_constants += n.with_constants;
    }
    printf("%ld runs, %ld of them refused, %ld different; %ld models with constants\n", all.runs, all.refused,
           all.different, all.with_constants);
    return all.different > 0 || all.runs == 0;
}
