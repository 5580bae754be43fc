/*
 * xrun: runs a compiled model on files.
 */
#include "neff/base/file.h"
#include "neff/base/memory.h"
#include "neff/base/options.h"
#include "neff/base/terminal.h"
#include "neff/base/version.h"
#include "runtime/io/compare.h"
#include "runtime/io/crash.h"
#include "runtime/io/feed.h"
#include "runtime/io/npy.h"
#include "runtime/io/sign.h"
#include "runtime/io/value.h"
#include "runtime/exec/exec.h"
#include "runtime/kernels/kernels.h"
#include "runtime/xrt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, BAD_INPUT = 1, USAGE = 2, DIFFERS = 3, MAX_FILES = 1 << 14 };

struct xrun_arguments {
    const char *model, *folder, *profile;
    const char *inputs[MAX_FILES], *expected[MAX_FILES];
    const char *shapes[MAX_FILES]; /* of --random */
    int ninputs, nexpected, nshapes;
    int threads, bench, capacity;
    const char *trust; /* a public key */
    double steps, memory, seconds;
    const char *custom_ops[MAX_FILES];
    int ncustom_ops;
    bool allow_code, guard_operands;
    bool json, random, strict, engines, check, copy, help, version;
    double rtol, atol;
};

/* ---- arguments ---- */

static bool add(const char **list, int *n, const char *word, struct diag *d)
{
    if (*n == MAX_FILES)
        return fail(d, "more than %d files", MAX_FILES);
    list[(*n)++] = word;
    return true;
}

static bool add_file(void *to, const char *word, struct diag *d)
{
    struct xrun_arguments *a = to;
    if (a->model)
        return add(a->inputs, &a->ninputs, word, d);
    a->model = word;
    return true;
}

static bool add_expected(void *to, const char *word, struct diag *d)
{
    struct xrun_arguments *a = to;
    return add(a->expected, &a->nexpected, word, d);
}

static bool add_custom_op(void *to, const char *word, struct diag *d)
{
    struct xrun_arguments *a = to;
    return add(a->custom_ops, &a->ncustom_ops, word, d);
}

static bool add_shape(void *to, const char *word, struct diag *d)
{
    struct xrun_arguments *a = to;
    return add(a->shapes, &a->nshapes, word, d);
}

static bool set_engines(void *to, const char *value, struct diag *d)
{
    ((struct xrun_arguments *)to)->engines = !strcmp(value, "threads");
    return ((struct xrun_arguments *)to)->engines || fail(d, "--engines takes threads, got '%s'", value);
}

#define AT(field) OPTION_AT(struct xrun_arguments, field)

static const struct option rows[] = {
    {"-o", "DIR", OPTION_TEXT, AT(folder),
     "write each output to DIR/NAME.npy; sequences and maps to\nNAME.npz (an array per column or "
     "item) or NAME.json",
     NULL, 0},
    {"--random", NULL, OPTION_SWITCH, AT(random),
     "fill inputs that are not given, from a fixed seed", NULL, 0},
    {"--shape", "NAME=DIMS", OPTION_CALL, 0,
     "of --random: the size of a symbolic dimension (seq=64), or the\ndims of an input (1,3,224,224); "
     "small ones otherwise",
     add_shape, 0},
    {"--expect", "FILE.npy", OPTION_CALL, 0,
     "compare the next output; exit status 3 when they differ", add_expected, 0},
    {"--rtol", "R", OPTION_NUMBER, AT(rtol), "relative tolerance of --expect (1e-3)", NULL, 0},
    {"--atol", "A", OPTION_NUMBER, AT(atol), "absolute tolerance of --expect (1e-7)", NULL, 0},
    {"--threads", "N", OPTION_COUNT, AT(threads), "threads, default one per physical core", NULL,
     0},
    {"--engines", "threads", OPTION_CALL, 0,
     "for tests: each engine's stream in a thread of its own,\non the program's semaphores",
     set_engines, 0},
    {"--strict-isa", NULL, OPTION_SWITCH, AT(strict),
     "the same bits on every CPU: IEEE operations in one order, slower", NULL, 0},
    {"--bench", "N", OPTION_COUNT, AT(bench), "run N more times and print the times", NULL, 0},
    {"--state-capacity", "N", OPTION_COUNT, AT(capacity),
     "keep every output that is an input and more behind it in\nplace (xrt_bind_state), with room for N; "
     "--bench repeats the same step",
     NULL, 0},
    {"--json", NULL, OPTION_SWITCH, AT(json), "print the times as one JSON object", NULL, 0},
    {"--profile", "FILE", OPTION_TEXT, AT(profile),
     "write Chrome trace events of one run; FILE.txt: a table of\nkernels by time, the fastest of "
     "the --bench runs of each, and\n"
     "what bounds it",
     NULL, 0},
    {"--limit-steps", "N", OPTION_NUMBER, AT(steps),
     "kernels and calls of a run (5000000); 0: no limit, as with\nthose below", NULL, 0},
    {"--limit-memory", "BYTES", OPTION_NUMBER, AT(memory),
     "of tensors (1 GiB, and 1000 times the archive and the inputs)", NULL, 0},
    {"--limit-seconds", "S", OPTION_NUMBER, AT(seconds), "time of a run", NULL, 0},
    {"--allow-code", NULL, OPTION_SWITCH, AT(allow_code),
     "run operators whose code is in the archive: for makers you trust", NULL, 0},
    {"--custom-op", "FILE.so", OPTION_CALL, 0, "operators of your own, rather than the archive's",
     add_custom_op, 0},
    {"--guard-operands", NULL, OPTION_SWITCH, AT(guard_operands),
     "find accesses of those operators outside their operands; slow", NULL, 0},
    {"--check", NULL, OPTION_SWITCH, AT(check),
     "compare the archive's contents with its hash first", NULL, 0},
    {"--trust", "KEY.pub", OPTION_TEXT, AT(trust),
     "the archive must be signed by that key (xcc sign); implies\n--copy", NULL, 0},
    {"--copy", NULL, OPTION_SWITCH, AT(copy),
     "read the archive rather than map it: the file may change or\nshrink", NULL, 0},
    OPTIONS_STANDARD(struct xrun_arguments, 0),
};
static const struct option_table command_line = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .file = add_file};

static void print_help(void)
{
    printf("xrun: runs a compiled model on files\n\n"
           "    xrun MODEL.neff [IN.npy | NAME=IN.npy | IN.npz]... [options]\n\n"
           "An input that is a sequence or a map: NAME=IN.npz, an array for each item or key.\n\n");
    options_help(stdout, &command_line);
    printf("\nexit status: 0 done, 1 bad input, 2 usage, 3 outputs differ\n");
}

static bool parse(struct xrun_arguments *a, int argc, char **argv, struct diag *d)
{
    a->rtol = 1e-3, a->atol = 1e-7, a->steps = a->memory = -1;
    return options_parse(&command_line, argc - 1, argv + 1, a, d) &&
           (a->random || !a->nshapes || fail(d, "--shape gives sizes to --random, which is missing")) &&
           (a->model || a->help || a->version ||
            fail(d, "name a compiled model; --help tells more"));
}

/* ---- times ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

struct times {
    double load, first, min, median, p99, max;
    int runs;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Every state of the model has room for a->capacity. */
static bool bind_states(const struct xrun_arguments *a, const struct xrt_model *m, struct xrt_context *c,
                        struct diag *d)
{
    int bound = 0;
    for (int i = 0; a->capacity && i < xrt_output_count(m); i++) {
        int from = xrt_output_info(m, i)->grows_from;
        if (from && !xrt_bind_state(c, from - 1, i, a->capacity))
            return fail(d, "%s", xrt_error());
        bound += from > 0;
    }
    return !a->capacity || bound ||
           fail(d, "--state-capacity: no output of this model is an input with more behind it");
}

/* States are again what the inputs say: a run is the same step. */
static bool take_back(const struct xrun_arguments *a, const struct xrt_model *m, const struct feed *f,
                      struct xrt_context *c, struct diag *d)
{
    for (int i = 0; a->capacity && i < xrt_output_count(m); i++) {
        int from = xrt_output_info(m, i)->grows_from;
        if (!from)
            continue;
        const struct tensor *x = &f->inputs[from - 1];
        struct xrt_tensor t = {.dtype = dtype_name(x->dtype), .rank = x->rank};
        memcpy(t.dims, x->dims, sizeof *x->dims * (size_t)x->rank);
        if (!xrt_set_input(c, from - 1, &t))
            return fail(d, "%s", xrt_error());
    }
    return true;
}

/* Runs for a tenth of a second, at most as often as measured, before the clock counts. */
static bool bench(const struct xrun_arguments *a, const struct xrt_model *m, const struct feed *f,
                  struct xrt_context *c, struct times *t, struct diag *d)
{
    int runs = a->bench;
    double *ms = malloc(sizeof *ms * (size_t)runs), start = now_ms();
    if (!ms)
        return fail_memory(d, "out of memory");
    bool ok = true;
    for (int i = 0; ok && i < runs && now_ms() - start < 100; i++)
        ok = take_back(a, m, f, c, d) && xrt_run(c);
    for (int i = 0; ok && i < runs; i++) {
        ok = take_back(a, m, f, c, d);
        double begin = now_ms();
        ok = ok && xrt_run(c);
        ms[i] = now_ms() - begin;
    }
    if (ok) {
        qsort(ms, (size_t)runs, sizeof *ms, by_value);
        t->min = ms[0], t->max = ms[runs - 1], t->runs = runs;
        t->median = runs % 2 ? ms[runs / 2] : (ms[runs / 2] + ms[runs / 2 - 1]) / 2;
        t->p99 = ms[(int)((double)(runs - 1) * 0.99 + 0.5)];
    }
    free(ms);
    return ok || fail(d, "%s", xrt_error());
}

/* Peak memory of this program in MB. getrusage counts that of the process it was forked from too. */
static double peak_memory(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kb < 0 && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld kB", &kb);
    if (f)
        fclose(f);
    struct rusage usage;
    if (kb < 0 && !getrusage(RUSAGE_SELF, &usage))
        kb = usage.ru_maxrss;
    return (double)kb / 1024;
}

static void print_times(const struct xrun_arguments *a, const struct times *t, int threads)
{
    double rss = peak_memory();
    if (a->json)
        printf("{\"load_ms\":%.4f,\"first_ms\":%.4f,\"min_ms\":%.4f,\"median_ms\":%.4f,\"p99_ms\":%"
               ".4f,"
               "\"max_ms\":%.4f,\"runs\":%d,\"threads\":%d,\"peak_rss_mb\":%.1f}\n",
               t->load, t->first, t->min, t->median, t->p99, t->max, t->runs, threads, rss);
    else
        printf("load %.3f ms  first %.3f ms  min %.4f ms  median %.4f ms  p99 %.4f ms  max %.4f ms "
               " (%d runs, %d "
               "threads, %.1f MB)\n",
               t->load, t->first, t->min, t->median, t->p99, t->max, t->runs, threads, rss);
}

/* ---- outputs ---- */

/* No two outputs have the name of one file. */
static bool outputs_apart(const struct xrt_model *m, struct diag *d)
{
    for (int i = 1; i < xrt_output_count(m); i++)
        for (int k = 0; k < i; k++) {
            const char *x = xrt_output_info(m, k)->name, *y = xrt_output_info(m, i)->name;
            if (output_same_file(x, y))
                return fail(d, "outputs '%s' and '%s' would be one file; rename one of them in the model", x, y);
        }
    return true;
}

static bool give_outputs(const struct xrun_arguments *a, const struct xrt_model *m,
                         struct xrt_context *c, struct diag *d)
{
    if (a->folder && !outputs_apart(m, d))
        return false;
    if (a->folder && mkdir(a->folder, 0777) && errno != EEXIST)
        return fail(d, "%s: cannot make the folder: %s", a->folder, strerror(errno));
    for (int i = 0; i < xrt_output_count(m); i++) {
        struct xrt_value v;
        const char *name = xrt_output_info(m, i)->name;
        if (!xrt_value(c, i, &v))
            return fail(d, "%s", xrt_error());
        if (a->folder && !write_value(a->folder, name, &v, d))
            return false;
        if (!a->folder && !a->json && !print_value(stdout, name, &v, d))
            return false;
    }
    return true;
}

/* The reason for a difference in `why`; false for a file that cannot be read. */
static bool compare_file(const struct xrun_arguments *a, const struct xrt_value *v, const char *path,
                         struct diag *why, struct diag *d)
{
    struct tolerance tolerance = {a->rtol, a->atol, -1};
    if (v->kind != XRT_TENSOR)
        return compare_members(v, path, &tolerance, why, d);
    struct tensor ref = {.kind = VK_NONE}, t = tensor_of(&v->tensor);
    if (!npy_read(path, &ref, d))
        return false;
    npy_as(&ref, t.dtype, why);
    diag_clear(why);
    compare_tensors(&t, &ref, &tolerance, why);
    tensor_free(&ref);
    return true;
}

/* DIFFERS after naming every output that does. */
static int compare_outputs(const struct xrun_arguments *a, const struct xrt_model *m,
                           struct xrt_context *c, struct diag *d)
{
    int status = OK;
    if (a->nexpected > xrt_output_count(m)) {
        fail(d, "%d files to compare with, but the model has %d outputs", a->nexpected,
             xrt_output_count(m));
        return BAD_INPUT;
    }
    for (int i = 0; i < a->nexpected; i++) {
        struct xrt_value v;
        struct diag difference = {0};
        if (!xrt_value(c, i, &v))
            return fail(d, "%s", xrt_error()), BAD_INPUT;
        if (!compare_file(a, &v, a->expected[i], &difference, d))
            return BAD_INPUT;
        if (diag_failed(&difference)) {
            fprintf(stderr, "xrun: output '%s' differs from %s: %s\n", xrt_output_info(m, i)->name,
                    a->expected[i], difference.text);
            status = DIFFERS;
        }
    }
    return status;
}

/* ---- the run ---- */

/* Whether the profile would replace the archive or an input. */
static bool profile_replaces(const struct xrun_arguments *a)
{
    bool replaces = a->profile && file_same(a->profile, a->model);
    for (int i = 0; a->profile && i < a->ninputs; i++) {
        const char *equals = strchr(a->inputs[i], '='); /* NAME=FILE */
        replaces |= file_same(a->profile, a->inputs[i]) || (equals && file_same(a->profile, equals + 1));
    }
    return replaces;
}

/* A table shows the fastest of all runs measured; a trace has one. */
static bool profile_run(const struct xrun_arguments *a, const struct xrt_model *m, const struct feed *f,
                        struct xrt_context *c, struct diag *d)
{
    if (!a->profile)
        return true;
    size_t n = strlen(a->profile);
    bool ok = xrt_profile(c, NULL), table = n > 4 && !strcmp(a->profile + n - 4, ".txt");
    for (int i = 0; ok && i < (table && a->bench ? a->bench : 1); i++)
        ok = take_back(a, m, f, c, d) && xrt_run(c);
    return (ok && xrt_profile(c, a->profile)) || fail(d, "%s", xrt_error());
}

/* What no honest model takes: archives and inputs say how large a model is. */
enum { MEMORY_EACH = 1000, MEMORY_ALWAYS = 1 << 30, STEPS = 5000000 };

static void set_limits(const struct xrun_arguments *a, const struct feed *f, struct xrt_context *c)
{
    struct stat st;
    double given = stat(a->model, &st) == 0 ? (double)st.st_size : 0;
    for (int i = 0; f->inputs && i < f->count; i++)
        given += f->inputs[i].kind == VK_TENSOR ? (double)tensor_bytes(&f->inputs[i]) : 0;
    double bytes = a->memory < 0 ? MEMORY_ALWAYS + MEMORY_EACH * given : a->memory;
    double steps = a->steps < 0 ? STEPS : a->steps;
    struct xrt_limits l = {.steps = steps < 1e18 ? (int64_t)steps : 0,
                           .bytes = bytes < 1e18 ? (int64_t)bytes : 0,
                           .seconds = a->seconds};
    xrt_set_limits(c, &l);
}

static struct xrt_context *running;
static volatile sig_atomic_t was_interrupted;
static struct sigaction before_runs;

/* The run says where it was; a second interrupt does not wait for that. */
static void interrupted(int signal_number)
{
    if (was_interrupted) {
        out_remove_temporaries();
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    was_interrupted = 1;
    xrt_cancel(running);
}

/* From here to runs_end an interrupt cancels; a caller that wants them ignored has that. */
static void runs_begin(struct xrt_context *c)
{
    running = c;
    sigaction(SIGINT, NULL, &before_runs);
    if (before_runs.sa_handler != SIG_IGN)
        sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupted}, NULL);
}

static bool runs_end(bool ok, struct diag *d)
{
    sigaction(SIGINT, &before_runs, NULL);
    return ok && (!was_interrupted || fail(d, "interrupted"));
}

/* The archive as the arguments ask for; *memory: freed after the model. */
static struct xrt_model *open_model(const struct xrun_arguments *a, void **memory, struct diag *d)
{
    size_t size;
    struct xrt_options options = {.size = sizeof options,
                                  .flags = (a->allow_code ? XRT_ALLOW_CODE : 0) |
                                           (a->guard_operands ? XRT_GUARD_OPERANDS : 0),
                                  .custom_ops = a->custom_ops,
                                  .ncustom_ops = a->ncustom_ops};
    *memory = NULL;
    for (int i = 0; i < a->ncustom_ops; i++) /* also where the archive calls none of theirs */
        if (access(a->custom_ops[i], R_OK) != 0)
            return fail(d, "%s: cannot open: %s", a->custom_ops[i], strerror(errno)), NULL;
    if (!a->trust && !a->check && !a->copy) {
        struct xrt_model *m = xrt_open_with(a->model, &options);
        if (!m)
            fail(d, "%s", xrt_error());
        return m;
    }
    if (!read_copy(a->model, memory, &size, d) ||
        (a->trust && !check_signature(*memory, size, a->model, a->trust, d)) ||
        (a->check && !check_archive(*memory, size, a->model, d)))
        return NULL;
    struct xrt_model *m = xrt_open_memory_with(*memory, size, &options);
    if (!m)
        fail(d, "%s: %s", a->model, xrt_error());
    return m;
}

static int run(const struct xrun_arguments *a, struct xrt_model *m, struct feed *f, double started,
               struct diag *d)
{
    struct times t = {0};
    if (a->strict)
        kernels_select("strict"); /* runs everywhere */
    struct xrt_context *c = xrt_context_new(m, a->threads);
    if (!c)
        return fail(d, "%s", xrt_error()), BAD_INPUT;
    t.load = now_ms() - started;
    bool ok = feed_init(f, m, d);
    for (int i = 0; ok && i < a->ninputs; i++)
        ok = feed_file(f, a->inputs[i], d);
    ok = ok && (!a->random || feed_random(f, a->shapes, a->nshapes, d)) && feed_complete(f, d) &&
         bind_states(a, m, c, d) && feed_give(f, c, d);
    set_limits(a, f, c);
    runs_begin(c);
    double begin = now_ms();
    if (ok && !xrt_run(c))
        ok = fail(d, "%s", xrt_error());
    t.first = t.min = t.median = t.p99 = t.max = now_ms() - begin;
    t.runs = 1;
    ok = runs_end(ok && profile_run(a, m, f, c, d), d) && give_outputs(a, m, c, d);
    int status = ok ? compare_outputs(a, m, c, d) : BAD_INPUT;
    if (ok && a->bench) {
        runs_begin(c);
        ok = runs_end(bench(a, m, f, c, &t, d), d);
    }
    if (ok && (a->bench || a->json))
        print_times(a, &t, xrt_threads(c));
    xrt_context_free(c);
    return ok ? status : BAD_INPUT;
}

int main(int argc, char **argv)
{
    memory_cap();
    terminal_show_controls();
    out_clean_when_interrupted();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with its message */
    static struct xrun_arguments a; /* too large for a small stack */
    struct diag d = {0};
    struct feed f = {0};
    if (!parse(&a, argc, argv, &d))
        return fprintf(stderr, "xrun: %s\n", d.text), USAGE;
    if (a.help)
        return print_help(), out_printed("xrun", OK);
    if (a.version)
        return printf("xrun %s\n", xcc_version_text), out_printed("xrun", OK);
    if (profile_replaces(&a))
        return fprintf(stderr, "xrun: %s: is an input of this command, and would be lost; name another file\n",
                       a.profile),
               BAD_INPUT;
    crash_report_install("xrun");
    crash_report_limit(a.seconds); /* code that the run itself cannot end */
    double started = now_ms();
    engine_threads_select(a.engines);
    void *memory;
    file_note_inputs(true); /* the archive; an output may replace the tensor that was an input */
    struct xrt_model *m = open_model(&a, &memory, &d);
    file_note_inputs(false);
    if (!m) {
        fprintf(stderr, "xrun: %s\n", d.text);
        free(memory);
        return BAD_INPUT;
    }
    int status = run(&a, m, &f, started, &d);
    if (diag_failed(&d))
        fprintf(stderr, "xrun: %s: %s\n", a.model, d.text);
    feed_free(&f);
    xrt_close(m);
    free(memory);
    return out_printed("xrun", status);
}
