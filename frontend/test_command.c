/*
 * xcc test: every folder in a process of its own, so that a crash in one does not end the run.
 */
#include "frontend/cast_check.h"
#include "frontend/compile.h"
#include "frontend/test_case.h"
#include "neff/archive/archive.h"
#include "runtime/exec/exec.h"
#include "runtime/io/apart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum outcome { PASSED, FAILED, SKIPPED };

struct values {
    struct tensor *v;
    int count;
};

static void free_values(struct values *vs)
{
    for (int i = 0; i < vs->count; i++)
        tensor_free(&vs->v[i]);
    free(vs->v);
    *vs = (struct values){0};
}

static bool make_values(struct values *vs, int n, struct diag *d)
{
    vs->v = calloc((size_t)n + 1, sizeof *vs->v);
    vs->count = vs->v ? n : 0;
    for (int i = 0; i < vs->count; i++)
        vs->v[i].kind = VK_NONE;
    return vs->v || fail_memory(d, "out of memory");
}

static bool read_inputs(struct graph *g, const char *set, struct values *in, struct diag *d)
{
    if (!make_values(in, g->main->nparams, d))
        return false;
    for (int i = 0; i < in->count; i++) {
        const struct value *p = g->main->params[i];
        bool found;
        if (!test_value_read(set, "input", i, &p->type, &in->v[i], &found, d))
            return fail_in(d, "input %d", i);
        if (!found && p->type.kind != VK_OPTIONAL)
            return fail(d, "there is no file for input %d ('%s')", i, p->name ? p->name : "");
    }
    return true;
}

/* One more failure, behind those of before. */
static void add_failure(struct diag *d, const struct diag *more)
{
    size_t n = strlen(d->text);
    snprintf(d->text + n, sizeof d->text - n, "%s%s", n ? "; " : "", more->text);
}

static bool check_output(struct graph *g, const char *set, int i, const struct tensor *got,
                         const struct tolerance *t, struct diag *d)
{
    const struct value *v = region_return(g->main)->in[i];
    struct tensor ref;
    bool found;
    if (!test_value_read(set, "output", i, v ? &v->type : NULL, &ref, &found, d))
        return fail_in(d, "expected output %d", i);
    if (!found)
        return fail(d, "there is no file for output %d", i);
    bool ok = compare_tensors(got, &ref, t, d);
    tensor_free(&ref);
    return ok || fail_in(d, "output '%s'", g->output_names[i]);
}

/* Tells of every output that is wrong. */
static bool check_outputs(struct graph *g, const char *set, const struct values *out,
                          const struct tolerance *t, struct diag *d)
{
    for (int i = 0; i < out->count; i++) {
        struct diag one = {0};
        if (!check_output(g, set, i, &out->v[i], t, &one))
            add_failure(d, &one);
    }
    return !diag_failed(d);
}

static bool execute(struct context *run, const struct values *in, struct values *out,
                    struct diag *d)
{
    for (int i = 0; i < in->count; i++)
        if (!context_set_input(run, i, &in->v[i], d))
            return false;
    if (!context_run(run, d))
        return false;
    for (int i = 0; i < out->count; i++)
        if (!tensor_copy(&out->v[i], context_output(run, i), d))
            return false;
    return true;
}

/* By the compiled program, or without one by the plain routines. */
static bool run_set(struct graph *g, struct context *run, const char *set,
                    const struct tolerance *t, struct diag *d)
{
    struct values in = {0}, out = {0};
    bool ok = read_inputs(g, set, &in, d) && make_values(&out, g->noutputs, d) &&
              (run ? execute(run, &in, &out, d)
                   : interpret(g, g->main, in.v, in.count, out.v, out.count, NULL, d)) &&
              check_outputs(g, set, &out, t, d);
    free_values(&in);
    free_values(&out);
    return ok;
}

static struct tolerance choose(const struct command *c, const struct test_case *t)
{
    return (struct tolerance){
        .rtol = c->rtol >= 0   ? c->rtol
                : t->rtol >= 0 ? t->rtol
                               : 1e-3,
        .atol = c->atol >= 0   ? c->atol
                : t->atol >= 0 ? t->atol
                               : 1e-7,
        .norm = c->norm_tol,
    };
}

/* Compiles the graph of `model`, writes the archive to PATH, loads it as xrun would. NULL after a
 * failure. */
static struct model *compile_and_load(const char *model, struct graph **g, const struct command *c,
                               const char *path, struct diag *d)
{
    struct program *p = compile_checked(model, g, c, NULL, NULL, d);
    bool ok = p && neff_write(p, path, d);
    program_free(p);
    struct neff_file *f = ok ? calloc(1, sizeof *f) : NULL;
    if (!f || !neff_open(f, path, d)) {
        free(f);
        return NULL;
    }
    p = neff_program(f, true, d);
    if (!p) {
        neff_close(f);
        free(f);
        return NULL;
    }
    return model_of(p, c, d);
}

/* Compiles to a temporary archive and loads that: what is tested is what a user runs. */
static struct model *build(const char *file, struct graph **g, const struct command *c,
                           struct diag *d)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/xcc_test_%ld.neff", folder ? folder : "/tmp", (long)getpid());
    struct model *m = compile_and_load(file, g, c, path, d);
    unlink(path);
    return m;
}

static bool run_case(struct command *c, const struct test_case *t, struct diag *d)
{
    struct tolerance tol = choose(c, t);
    struct graph *g = kernels_of_command(c, d) ? NULL : load_model(t->model, &c->import, d);
    struct model *m = NULL;
    struct context *run = NULL;
    bool ok = g != NULL;
    if (ok && c->reference) {
        struct options o = c->options;
        if (!o.only)
            o.only = "infer";
        ok = passes_run(g, &o, d);
    } else if (ok) {
        m = build(t->model, &g, c, d);
        run = m ? context_new(m, 1, d) : NULL;
        ok = run != NULL;
    }
    for (int i = 0, built = ok; built && i < t->nsets; i++) {
        struct diag one = {0};
        if (run_set(g, run, t->sets[i], &tol, &one))
            continue;
        if (t->nsets > 1)
            fail_in(&one, "data set %d", i);
        add_failure(d, &one);
        ok = false;
    }
    if (run)
        context_free(run);
    if (m)
        model_free(m);
    graph_free(g);
    return ok;
}

struct folder_run {
    struct command *c;
    const char *folder;
};

/* In the child: the outcome; the reason goes to the parent. */
static int run_here(void *user, int fd)
{
    struct folder_run *r = user;
    static struct test_case t;
    struct diag d = {0};
    const char *missing;
    enum outcome outcome = SKIPPED;
    if (test_case_find(&t, r->folder, r->c->module, &missing, &d))
        outcome = run_case(r->c, &t, &d) ? PASSED : FAILED;
    else if (!missing)
        outcome = FAILED;
    const char *text = missing ? missing : d.text;
    return outcome != PASSED && write(fd, text, strlen(text)) < 0 ? FAILED : outcome;
}

static enum outcome run_folder(struct command *c, const char *folder, char *text, size_t room)
{
    size_t n;
    int code = run_apart(run_here, &(struct folder_run){c, folder}, text, room - 1, &n);
    text[n] = 0;
    if (code > SKIPPED)
        snprintf(text, room, "ended with exit status %d", code);
    return code < 0 || code > SKIPPED ? FAILED : (enum outcome)code;
}

int test_command(struct command *c)
{
    static const char *const words[] = {"PASS", "FAIL", "SKIP"};
    int count[3] = {0};
    char text[2048];
    for (int i = 0; i < c->nfiles; i++) {
        char *folder = arena_strdup(&c->arena, c->files[i]);
        for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
            folder[n - 1] = 0;
        const char *slash = strrchr(folder, '/'), *name = slash && slash[1] ? slash + 1 : folder;
        enum outcome outcome = run_folder(c, folder, text, sizeof text);
        for (char *s = text; *s; s++) /* one line per folder */
            if (*s == '\n')
                *s = ' ';
        count[outcome]++;
        printf("%s %s%s%s\n", words[outcome], name, outcome == PASSED ? "" : ": ", text);
    }
    printf("%d passed, %d failed, %d skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
    return count[FAILED] ? EXIT_BAD_INPUT : 0;
}
