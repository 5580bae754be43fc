/*
 * xsim: how long an archive's program would take on a machine, and why.
 */
#include "neff/archive/archive.h"
#include "neff/base/memory.h"
#include "neff/isa/asm.h"
#include "runtime/sim/html.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, BAD_INPUT = 1, USAGE = 2, MAX_OPTIONS = 64 };

struct arguments {
    const char *path, *compare, *html, *profile, *perfetto;
    const struct machine *machine;
    struct sim_shape shapes[MAX_OPTIONS];
    struct sim_trips trips[MAX_OPTIONS];
    int nshapes, ntrips, cores, overlap;
    bool json, check, help, constants;
    struct arena arena;
};

static const char help_text[] =
    "usage: xsim MODEL.neff [options]\n"
    "Says how long a program, an archive or assembly, would take on a machine, and why.\n"
    "  --target NAME      trn1, inf2, trn2 or cpu; default: what it was compiled for\n"
    "  --shape NAME=DIMS  dims of an input (1,3,224,224), or the value of a symbol; 1 otherwise\n"
    "  --trips [NODE=]N   iterations of loops, or of one; of an `if` 1 or 0: which branch\n"
    "  --cores N          1 or 2: instances of grids are dealt out in turn\n"
    "  --overlap N        at most N instances of a grid at a time; default: as many as fit, up to "
    "8\n"
    "  --json             one JSON object\n"
    "  --html FILE        the time line as a page; with --compare, both\n"
    "  --profile TRACE    beside it what xrun --profile TRACE measured on this computer\n"
    "  --perfetto FILE    the time line as trace events, for Perfetto\n"
    "  --compare OTHER    another archive beside it\n"
    "  --check            no times: looks for hazards (races, wrong counts, deadlocks, "
    "overlapping\n"
    "                     buffers, reads of nothing, capacities); exit status 1 when there are "
    "any\n"
    "  --constants        the machines' constants and their sources\n";

/* ---- arguments ---- */

static bool wrong(const char *option, const char *what)
{
    fprintf(stderr, "xsim: %s: %s; --help tells more\n", option, what);
    return false;
}

static bool whole(const char *option, const char *text, int64_t most, int64_t *out)
{
    char *end;
    long long v = strtoll(text, &end, 10);
    if (!*text || *end || v < 0 || v > most)
        return wrong(option, "expected a whole number");
    *out = v;
    return true;
}

static bool parse_trips(struct arguments *a, const char *value)
{
    const char *equals = strrchr(value, '=');
    if (a->ntrips == MAX_OPTIONS)
        return wrong("--trips", "too many");
    struct sim_trips *t = &a->trips[a->ntrips++];
    t->node = equals ? arena_strndup(&a->arena, value, (size_t)(equals - value)) : NULL;
    return whole("--trips", equals ? equals + 1 : value, INT32_MAX, &t->count);
}

static bool parse_value(struct arguments *a, const char *option, const char *value)
{
    struct diag d = {0};
    int64_t n = 0;
    if (!strcmp(option, "--target")) {
        a->machine = machine_find(value);
        return a->machine || wrong(option, "expected trn1, inf2, trn2 or cpu");
    }
    if (!strcmp(option, "--shape")) {
        if (a->nshapes == MAX_OPTIONS)
            return wrong(option, "too many");
        return sim_shape_parse(&a->shapes[a->nshapes++], value, &a->arena, &d) ||
               wrong(option, d.text);
    }
    if (!strcmp(option, "--trips"))
        return parse_trips(a, value);
    if (!strcmp(option, "--perfetto"))
        return (a->perfetto = value) != NULL;
    if (!strcmp(option, "--html"))
        return (a->html = value) != NULL;
    if (!strcmp(option, "--profile"))
        return (a->profile = value) != NULL;
    if (!strcmp(option, "--compare"))
        return (a->compare = value) != NULL;
    if (!strcmp(option, "--cores")) {
        if (!whole(option, value, SIM_CORES, &n) || !n)
            return n ? false : wrong(option, "expected 1 or 2");
        a->cores = (int)n;
        return true;
    }
    if (!strcmp(option, "--overlap")) {
        if (!whole(option, value, INT32_MAX, &n))
            return false;
        a->overlap = (int)n;
        return true;
    }
    return wrong(option, "unknown option");
}

static bool parse(struct arguments *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *s = argv[i], *equals = strchr(s, '=');
        if (!strcmp(s, "--json"))
            a->json = true;
        else if (!strcmp(s, "--help") || !strcmp(s, "-h"))
            a->help = true;
        else if (!strcmp(s, "--check"))
            a->check = true;
        else if (!strcmp(s, "--constants"))
            a->constants = true;
        else if (!strncmp(s, "--", 2) && equals) {
            if (!parse_value(a, arena_strndup(&a->arena, s, (size_t)(equals - s)), equals + 1))
                return false;
        } else if (s[0] == '-' && s[1]) {
            if (i + 1 == argc)
                return wrong(s, "needs a value, or is unknown");
            if (!parse_value(a, s, argv[++i]))
                return false;
        } else if (a->path) {
            return wrong(s, "more than one archive");
        } else {
            a->path = s;
        }
    }
    if (!a->path && !a->help && !a->constants)
        fprintf(stderr, "xsim: name an archive; --help tells more\n");
    return a->path || a->help || a->constants;
}

static void print_constants(void)
{
    printf("%-24s %10s %10s %10s %10s  source\n", "constant", "cpu", "trn1", "inf2", "trn2");
    for (int i = 0; i < ntiming_rows; i++)
        printf("%-24s %10g %10g %10g %10g  %s\n", timing_rows[i].name, timing_rows[i].value[0],
               timing_rows[i].value[1], timing_rows[i].value[2], timing_rows[i].value[3],
               timing_rows[i].source);
}

/* ---- a run ---- */

struct simulated {
    struct neff_file file;
    struct mapped_file text;
    bool open;
    struct program *p;
    struct sim *s;
    struct sim_summary y;
    const char *assumed;
};

static void close_simulated(struct simulated *x)
{
    sim_free(x->s);
    program_free(x->p);
    if (x->open)
        neff_close(&x->file);
    if (x->text.data)
        file_unmap(&x->text);
}

/* An archive, or a program as text. */
static bool open_program(const char *path, struct simulated *x, struct diag *d)
{
    static const char first[] = "program ";
    if (!file_map(&x->text, path, d))
        return false;
    const char *text = (const char *)x->text.data;
    if (x->text.size > sizeof first && !memcmp(text, first, sizeof first - 1)) {
        x->p = program_parse(text, x->text.size, path, d);
        return x->p != NULL;
    }
    x->open = neff_open(&x->file, path, d);
    x->p = x->open ? neff_program(&x->file, false, d) : NULL;
    return x->p ? true : fail_in(d, "%s", path);
}

static bool simulate(struct arguments *a, const char *path, struct simulated *x, struct diag *d)
{
    if (!open_program(path, x, d))
        return false;
    struct sim_options o = {.machine = a->machine,
                            .cores = a->cores,
                            .overlap = a->overlap,
                            .trips = a->trips,
                            .ntrips = a->ntrips,
                            .most_records = 4 << 20};
    o.values = sim_bind(x->p, a->shapes, a->nshapes, &x->assumed, &a->arena, d);
    x->s = o.values ? sim_run(x->p, &o, d) : NULL;
    if (!x->s)
        return fail_in(d, "%s", path);
    sim_summarise(x->s, &x->y);
    return true;
}

/* Exit status. */
static int check(struct arguments *a, struct diag *d)
{
    struct simulated x = {0};
    int status = BAD_INPUT;
    if (open_program(a->path, &x, d)) {
        const int64_t *values = sim_bind(x.p, a->shapes, a->nshapes, NULL, &a->arena, d);
        const struct machine *m =
            a->machine ? a->machine : machine_find(x.p->target ? x.p->target : "cpu");
        if (values)
            status = sim_check(x.p, m, values, stdout) ? BAD_INPUT : OK;
    }
    close_simulated(&x);
    return status;
}

static bool write_perfetto(struct sim *s, const char *path, struct diag *d)
{
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    sim_print_perfetto(s, o.f);
    return out_commit(&o, d);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool write_html(const struct arguments *a, const struct simulated *x,
                       const struct simulated *other, struct diag *d)
{
    struct html_run runs[3] = {{.name = file_name(a->path), .s = x->s, .y = &x->y}};
    struct mapped_file trace = {0};
    struct out_file o;
    int n = 1;
    if (other->s)
        runs[n++] = (struct html_run){.name = file_name(a->compare), .s = other->s, .y = &other->y};
    if (a->profile && !file_map(&trace, a->profile, d))
        return false;
    if (trace.data)
        runs[n++] = (struct html_run){.name = file_name(a->profile),
                                      .trace = (const char *)trace.data,
                                      .trace_size = trace.size};
    bool ok = out_open(&o, a->html, d);
    if (ok) {
        ok = html_write(file_name(a->path), runs, n, o.f, d);
        if (ok)
            ok = out_commit(&o, d);
        else
            out_abandon(&o);
    }
    if (trace.data)
        file_unmap(&trace);
    return ok;
}

static int run(struct arguments *a, struct diag *d)
{
    struct simulated x = {0}, other = {0};
    bool ok = simulate(a, a->path, &x, d) && (!a->compare || simulate(a, a->compare, &other, d));
    ok = ok && (!a->perfetto || write_perfetto(x.s, a->perfetto, d));
    ok = ok && (!a->html || write_html(a, &x, &other, d));
    if (ok && a->json) {
        sim_print_json(x.s, &x.y, stdout);
    } else if (ok) {
        if (x.assumed)
            printf("not given, taken as 1: %s\n", x.assumed);
        sim_print(x.s, &x.y, stdout);
    }
    if (ok && other.s && !a->json)
        sim_print_comparison(x.s, &x.y, a->path, other.s, &other.y, a->compare, stdout);
    close_simulated(&other);
    close_simulated(&x);
    return ok ? OK : BAD_INPUT;
}

int main(int argc, char **argv)
{
    memory_cap();
    signal(SIGXFSZ, SIG_IGN);
    struct arguments a = {.cores = 1};
    struct diag d = {0};
    int status = USAGE;
    if (parse(&a, argc, argv)) {
        status = OK;
        if (a.help)
            fputs(help_text, stdout);
        else if (a.constants)
            print_constants();
        else
            status = a.check ? check(&a, &d) : run(&a, &d);
    }
    if (diag_failed(&d))
        fprintf(stderr, "xsim: %s\n", d.text);
    arena_free(&a.arena);
    return status;
}
