/*
 * xrun: runs a compiled model on files.
 */
#include "neff/base/memory.h"
#include "runtime/io/compare.h"
#include "runtime/io/feed.h"
#include "runtime/io/npy.h"
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

enum { OK = 0, BAD_INPUT = 1, USAGE = 2, DIFFERS = 3, MAX_FILES = 256 };

struct arguments {
    const char *model, *folder, *profile;
    const char *inputs[MAX_FILES], *expected[MAX_FILES];
    int ninputs, nexpected;
    int threads, bench;
    bool json, random, strict, engines, help;
    double rtol, atol;
};

static const char help_text[] =
    "usage: xrun MODEL.neff [IN.npy | NAME=IN.npy | IN.npz]... [options]\n"
    "  -o DIR            write each output to DIR/NAME.npy\n"
    "  --random          fill inputs that are not given, from a fixed seed\n"
    "  --expect FILE     compare the next output with FILE.npy; exit status 3 when they differ\n"
    "  --rtol R --atol A tolerances of --expect (1e-3, 1e-7)\n"
    "  --threads N       threads, default one per physical core\n"
    "  --engines=threads  for tests: each engine's stream in a thread of its own, on the program's semaphores\n"
    "  --strict-isa      the same bits on every CPU: IEEE operations in one order, slower\n"
    "  --bench N         run N more times and print the times\n"
    "  --json            print the times as one JSON object\n"
    "  --profile FILE    write Chrome trace events of one run; FILE.txt: a table of kernels by\n"
    "                    time, the fastest of the --bench runs of each, and what bounds it\n";

/* ---- arguments ---- */

static bool number(const char *option, const char *text, double *out)
{
    char *end;
    *out = text ? strtod(text, &end) : 0;
    if (text && *text && !*end && *out >= 0)
        return true;
    fprintf(stderr, "xrun: %s needs a number\n", option);
    return false;
}

static bool count(const char *option, const char *text, int *out)
{
    double v;
    if (!number(option, text, &v))
        return false;
    *out = (int)v;
    if (v <= 1 << 30 && v == *out)
        return true;
    fprintf(stderr, "xrun: %s needs a whole number\n", option);
    return false;
}

static bool add(const char **list, int *n, const char *text)
{
    if (text && *n < MAX_FILES) {
        list[(*n)++] = text;
        return true;
    }
    fprintf(stderr, "xrun: %s\n", text ? "too many files" : "a file name is missing");
    return false;
}

/* One option and its value; *used counts what it took. */
static bool parse_option(struct arguments *a, const char *s, const char *value, int *used)
{
    *used = 2;
    if (!strcmp(s, "-o"))
        return (a->folder = value) || (fprintf(stderr, "xrun: -o needs a folder\n"), false);
    if (!strcmp(s, "--expect"))
        return add(a->expected, &a->nexpected, value);
    if (!strcmp(s, "--rtol"))
        return number(s, value, &a->rtol);
    if (!strcmp(s, "--atol"))
        return number(s, value, &a->atol);
    if (!strcmp(s, "--threads"))
        return count(s, value, &a->threads);
    if (!strcmp(s, "--bench"))
        return count(s, value, &a->bench);
    if (!strcmp(s, "--profile"))
        return (a->profile = value) || (fprintf(stderr, "xrun: --profile needs a file\n"), false);
    *used = 1;
    if (!strcmp(s, "--json"))
        return a->json = true;
    if (!strcmp(s, "--random"))
        return a->random = true;
    if (!strcmp(s, "--engines=threads"))
        return a->engines = true;
    if (!strcmp(s, "--strict-isa"))
        return a->strict = true;
    if (!strcmp(s, "--help") || !strcmp(s, "-h"))
        return a->help = true;
    fprintf(stderr, "xrun: unknown option '%s'; --help lists them\n", s);
    return false;
}

static bool parse(struct arguments *a, int argc, char **argv)
{
    *a = (struct arguments){.rtol = 1e-3, .atol = 1e-7};
    for (int i = 1, used; i < argc; i += used) {
        used = 1;
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!parse_option(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used))
                return false;
        } else if (!a->model) {
            a->model = argv[i];
        } else if (!add(a->inputs, &a->ninputs, argv[i])) {
            return false;
        }
    }
    if (!a->model && !a->help)
        fprintf(stderr, "xrun: name a compiled model; --help tells more\n");
    return a->model || a->help;
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

/* Runs for a tenth of a second, at most as often as measured, before the clock counts. */
static bool bench(struct xrt_context *c, int runs, struct times *t, struct diag *d)
{
    double *ms = malloc(sizeof *ms * (size_t)runs), start = now_ms();
    if (!ms)
        return fail(d, "out of memory");
    bool ok = true;
    for (int i = 0; ok && i < runs && now_ms() - start < 100; i++)
        ok = xrt_run(c);
    for (int i = 0; ok && i < runs; i++) {
        double begin = now_ms();
        ok = xrt_run(c);
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

static void print_times(const struct arguments *a, const struct times *t, int threads)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double rss = (double)usage.ru_maxrss / 1024;
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

static bool give_outputs(const struct arguments *a, const struct xrt_model *m,
                         const struct xrt_context *c, struct diag *d)
{
    if (a->folder && mkdir(a->folder, 0777) && errno != EEXIST)
        return fail(d, "%s: cannot make the folder: %s", a->folder, strerror(errno));
    for (int i = 0; i < xrt_output_count(m); i++) {
        struct xrt_tensor x;
        const char *name = xrt_output_info(m, i)->name;
        if (!xrt_output(c, i, &x))
            return fail(d, "%s", xrt_error());
        struct tensor t = tensor_of(&x);
        if (a->folder && !write_output(a->folder, name, &t, d))
            return false;
        if (!a->folder && !a->json)
            print_output(stdout, name, &t);
    }
    return true;
}

/* DIFFERS after naming every output that does. */
static int compare_outputs(const struct arguments *a, const struct xrt_model *m,
                           const struct xrt_context *c, struct diag *d)
{
    struct tolerance tolerance = {a->rtol, a->atol, -1};
    int status = OK;
    if (a->nexpected > xrt_output_count(m)) {
        fail(d, "%d files to compare with, but the model has %d outputs", a->nexpected,
             xrt_output_count(m));
        return BAD_INPUT;
    }
    for (int i = 0; i < a->nexpected; i++) {
        struct tensor ref = {.kind = VK_NONE};
        struct xrt_tensor x;
        struct diag difference = {0};
        if (!xrt_output(c, i, &x))
            return fail(d, "%s", xrt_error()), BAD_INPUT;
        struct tensor t = tensor_of(&x);
        if (!npy_read(a->expected[i], &ref, d))
            return BAD_INPUT;
        npy_as(&ref, t.dtype, &difference);
        diag_clear(&difference);
        if (!compare_tensors(&t, &ref, &tolerance, &difference)) {
            fprintf(stderr, "xrun: output '%s' differs from %s: %s\n", xrt_output_info(m, i)->name,
                    a->expected[i], difference.text);
            status = DIFFERS;
        }
        tensor_free(&ref);
    }
    return status;
}

/* ---- the run ---- */

/* A table shows the fastest of all runs measured; a trace has one. */
static bool profile_run(const struct arguments *a, struct xrt_context *c, struct diag *d)
{
    if (!a->profile)
        return true;
    size_t n = strlen(a->profile);
    bool ok = xrt_profile(c, NULL), table = n > 4 && !strcmp(a->profile + n - 4, ".txt");
    for (int i = 0; ok && i < (table && a->bench ? a->bench : 1); i++)
        ok = xrt_run(c);
    return (ok && xrt_profile(c, a->profile)) || fail(d, "%s", xrt_error());
}

static int run(const struct arguments *a, struct xrt_model *m, struct feed *f, double started,
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
    ok = ok && (!a->random || feed_random(f, d)) && feed_complete(f, d) && feed_give(f, c, d);
    double begin = now_ms();
    if (ok && !xrt_run(c))
        ok = fail(d, "%s", xrt_error());
    t.first = t.min = t.median = t.p99 = t.max = now_ms() - begin;
    t.runs = 1;
    ok = ok && profile_run(a, c, d) && give_outputs(a, m, c, d);
    int status = ok ? compare_outputs(a, m, c, d) : BAD_INPUT;
    if (ok && a->bench)
        ok = bench(c, a->bench, &t, d);
    if (ok && (a->bench || a->json))
        print_times(a, &t, xrt_threads(c));
    xrt_context_free(c);
    return ok ? status : BAD_INPUT;
}

int main(int argc, char **argv)
{
    memory_cap();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write, with its message */
    struct arguments a;
    struct diag d = {0};
    struct feed f = {0};
    if (!parse(&a, argc, argv))
        return USAGE;
    if (a.help)
        return fputs(help_text, stdout), OK;
    double started = now_ms();
    engine_threads_select(a.engines);
    struct xrt_model *m = xrt_open(a.model);
    if (!m) {
        fprintf(stderr, "xrun: %s\n", xrt_error());
        return BAD_INPUT;
    }
    int status = run(&a, m, &f, started, &d);
    if (diag_failed(&d))
        fprintf(stderr, "xrun: %s: %s\n", a.model, d.text);
    feed_free(&f);
    xrt_close(m);
    return status;
}
