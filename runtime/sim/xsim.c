/*
 * xsim: how long an archive's program would take on a machine, and why.
 */
#include "neff/archive/archive.h"
#include "neff/base/memory.h"
#include "neff/base/options.h"
#include "neff/base/terminal.h"
#include "neff/base/version.h"
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
    const char *trace; /* of --trips */
    bool json, steps, kinds, in_turn, check, help, version, constants;
    struct arena arena;
};

/* ---- arguments ---- */

static bool set_target(void *to, const char *text, struct diag *d)
{
    struct arguments *a = to;
    a->machine = machine_find(text);
    char names[MACHINE_NAMES_SIZE];
    return a->machine ||
           fail(d, "--target takes %s, got '%s'", machine_names(names), text);
}

static bool add_shape(void *to, const char *text, struct diag *d)
{
    struct arguments *a = to;
    if (a->nshapes == MAX_OPTIONS)
        return fail(d, "--shape: more than %d", MAX_OPTIONS);
    return sim_shape_parse(&a->shapes[a->nshapes++], text, &a->arena, d) || fail_in(d, "--shape");
}

static bool add_trips(void *to, const char *text, struct diag *d)
{
    struct arguments *a = to;
    const char *equals = strrchr(text, '=');
    size_t length = strlen(text);
    int count = 0;
    if (length > 5 && !strcmp(text + length - 5, ".json")) {
        a->trace = text;
        return true;
    }
    if (a->ntrips == MAX_OPTIONS)
        return fail(d, "--trips: more than %d", MAX_OPTIONS);
    if (!option_count(equals ? equals + 1 : text, &count))
        return fail(d, "--trips '%s': expected [NODE=]N, N a whole number, or TRACE.json of xrun --profile", text);
    a->trips[a->ntrips++] = (struct sim_trips){
        equals ? arena_strndup(&a->arena, text, (size_t)(equals - text)) : NULL, count};
    return true;
}

static bool set_overlap(void *to, const char *text, struct diag *d)
{
    struct arguments *a = to;
    return (option_count(text, &a->overlap) && a->overlap >= 1 && a->overlap <= SIM_OVERLAP) ||
           fail(d, "--overlap takes a whole number from 1 to %d, got '%s'", SIM_OVERLAP, text);
}

#define AT(field) OPTION_AT(struct arguments, field)

static const struct option rows[] = {
    OPTION_ONE_FILE(struct arguments, path, "archive"),
    {"--target", "NAME", OPTION_CALL, 0, "a machine of xcc; otherwise the one it was compiled for",
     set_target, 0},
    {"--shape", "NAME=DIMS", OPTION_CALL, 0,
     "dims of an input (1,3,224,224), or a symbol's value; 1 otherwise", add_shape, 0},
    {"--trips", "[NODE=]N", OPTION_CALL, 0,
     "iterations of loops, or of one; of an `if` 1 or 0: which branch. TRACE.json: as in that run of xrun --profile",
     add_trips, 0},
    {"--cores", "1|2", OPTION_COUNT, AT(cores), "instances of grids are dealt out in turn (1)",
     NULL, 0},
    {"--overlap", "N", OPTION_CALL, 0,
     "at most N instances of a grid at a time, 1 to 8; otherwise as many as fit, up to 8", set_overlap, 0},
    {"--in-turn", NULL, OPTION_SWITCH, AT(in_turn),
     "a step begins when the one before is complete, as if a barrier stood between them", NULL, 0},
    {"--json", NULL, OPTION_SWITCH, AT(json), "one JSON object", NULL, 0},
    {"--steps", NULL, OPTION_SWITCH, AT(steps),
     "a line for each step, and for each node of a step of several: time, bound, transfers, products; with --json too",
     NULL, 0},
    {"--kinds", NULL, OPTION_SWITCH, AT(kinds),
     "a line for each kind of layer: its time on the critical path and its bound; with --json too", NULL, 0},
    {"--html", "FILE", OPTION_TEXT, AT(html), "the time line as a page; with --compare, both", NULL,
     0},
    {"--profile", "TRACE", OPTION_TEXT, AT(profile),
     "on the page, what xrun --profile TRACE measured on this computer", NULL, 0},
    {"--perfetto", "FILE", OPTION_TEXT, AT(perfetto), "the time line as trace events", NULL, 0},
    {"--compare", "OTHER.neff", OPTION_TEXT, AT(compare), "another program beside it", NULL, 0},
    {"--check", NULL, OPTION_SWITCH, AT(check),
     "no times: looks for hazards within kernels and across steps; exit status 1 when there are any",
     NULL, 0},
    {"--constants", NULL, OPTION_SWITCH, AT(constants), "the machines' constants and their sources",
     NULL, 0},
    OPTIONS_STANDARD(struct arguments, 0),
};
static const struct option_table options = {.rows = rows, .count = sizeof rows / sizeof *rows};

static void print_help(void)
{
    printf("xsim: how long a program, an archive or assembly, would take on a machine, and why\n\n"
           "    xsim MODEL.neff [options]\n\n");
    options_help(stdout, &options);
}

static bool parse(struct arguments *a, int argc, char **argv, struct diag *d)
{
    if (!options_parse(&options, argc - 1, argv + 1, a, d))
        return false;
    if (a->cores < 1 || a->cores > SIM_CORES)
        return fail(d, "--cores takes 1 or 2, got %d", a->cores);
    if (a->profile && !a->html)
        return fail(d, "--profile is shown on the page of --html FILE");
    if (a->json && a->compare && !a->html)
        return fail(d, "--json prints one program: leave out --compare, or simulate both by themselves");
    if (a->check && (a->json || a->steps || a->kinds || a->html || a->perfetto || a->compare))
        return fail(d, "--check has no times: leave out --json, --steps, --kinds, --html, --perfetto and --compare");
    return a->path || a->help || a->constants || a->version ||
           fail(d, "name an archive; --help tells more");
}

static void print_constants(void)
{
    printf("%-24s %10s %10s %10s  source\n", "constant", "cpu", "v2", "v3");
    for (int i = 0; i < ntiming_rows; i++)
        printf("%-24s %10g %10g %10g  %s\n", timing_rows[i].name,
               timing_rows[i].value[GENERATION_cpu], timing_rows[i].value[GENERATION_v2],
               timing_rows[i].value[GENERATION_v3], timing_rows[i].source);
    for (int i = 0; i < nmachines; i++)
        printf("%-24s %s\n", machines[i].name, machines[i].doc);
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

/* Assembly, which may begin with a comment; no archive begins so. */
static bool is_text(const struct mapped_file *f)
{
    static const char first[] = "program ";
    return f->size > 0 && (f->data[0] == '#' || (f->size > sizeof first && !memcmp(f->data, first, sizeof first - 1)));
}

/* An archive, or a program as text. */
static bool open_program(const char *path, struct simulated *x, struct diag *d)
{
    if (!file_map(&x->text, path, d))
        return false;
    if (is_text(&x->text)) {
        x->p = program_parse((const char *)x->text.data, x->text.size, path, d);
        return x->p != NULL;
    }
    x->open = neff_open(&x->file, path, d);
    if (!x->open)
        return false;
    x->p = neff_program(&x->file, false, d);
    return x->p ? true : fail_in(d, "%s", path);
}

/* Whether a call that --trips can tell about belongs to a node of that name. */
static bool has_node(const struct program *p, const char *node)
{
    for (int i = 0; i < p->ncalls; i++) {
        const struct call *c = &p->calls[i];
        const char *name = c->nregions && c->node >= 0 ? p->nodes[c->node].name : NULL;
        if (name && !strcmp(name, node))
            return true;
    }
    return false;
}

static bool check_trips(const struct arguments *a, const struct program *p, struct diag *d)
{
    const char *names = "";
    struct arena scratch = {0};
    bool ok = true;
    for (int i = 0; i < p->ncalls && strlen(names) < 400; i++)
        if (p->calls[i].nregions && p->calls[i].node >= 0 && p->nodes[p->calls[i].node].name)
            names = arena_printf(&scratch, "%s '%s'", names, p->nodes[p->calls[i].node].name);
    for (int i = 0; ok && i < a->ntrips && !a->compare; i++) /* else the node may be the other program's */
        ok = !a->trips[i].node || has_node(p, a->trips[i].node) ||
             fail(d, "--trips %s: no loop and no `if` is of a node of that name; there %s%s", a->trips[i].node,
                  *names ? "are" : "is none", names);
    arena_free(&scratch);
    return ok;
}

/* From the trace of a run; what the command line says of a node goes before. */
static bool read_trips(struct arguments *a, const struct program *p, struct diag *d)
{
    struct mapped_file trace;
    struct sim_trips found[MAX_OPTIONS];
    if (!file_map(&trace, a->trace, d))
        return false;
    int n = sim_trips_of_trace(p, (const char *)trace.data, trace.size, found, MAX_OPTIONS, &a->arena, d);
    file_unmap(&trace);
    if (n < 0)
        return fail_in(d, "--trips %s", a->trace);
    if (n == 0)
        return fail(d, "--trips %s: has no loop and no `if` of this program; expected what xrun --profile writes of it",
                    a->trace);
    for (int i = 0; i < n && a->ntrips < MAX_OPTIONS; i++) {
        bool given = false;
        for (int k = 0; k < a->ntrips; k++)
            given |= a->trips[k].node && !strcmp(a->trips[k].node, found[i].node);
        if (!given)
            a->trips[a->ntrips++] = found[i];
    }
    return true;
}

static bool open_with(struct arguments *a, const char *path, struct simulated *x,
                      struct sim_options *o, struct diag *d)
{
    if (!open_program(path, x, d))
        return false;
    if (a->trace && !read_trips(a, x->p, d))
        return fail_in(d, "%s", path);
    *o = (struct sim_options){.machine = a->machine,
                              .cores = a->cores,
                              .overlap = a->overlap,
                              .in_turn = a->in_turn,
                              .trips = a->trips,
                              .ntrips = a->ntrips};
    o->values = check_trips(a, x->p, d) ? sim_bind(x->p, a->shapes, a->nshapes, &x->assumed, &a->arena, d) : NULL;
    return o->values || fail_in(d, "%s", path);
}

static bool simulate(struct arguments *a, const char *path, struct simulated *x, struct diag *d)
{
    struct sim_options o;
    if (!open_with(a, path, x, &o, d))
        return false;
    o.max_records = 4 << 20;
    x->s = sim_run(x->p, &o, d);
    if (!x->s)
        return fail_in(d, "%s", path);
    sim_summarise(x->s, &x->y);
    return true;
}

/* Sizes that are not given are looked at as 1, as 2, and as more than a memory has partitions: where a grid has one
 * instance, none is at another one's addresses. Of many sizes, what all steps do would take long. Exit status. */
static int check(struct arguments *a, struct diag *d)
{
    static const int64_t others[] = {1, 2, 130};
    struct simulated x = {0};
    int status = BAD_INPUT;
    struct sim_options o;
    bool ok = open_with(a, a->path, &x, &o, d);
    for (int i = 0; ok && i < (x.assumed ? (int)(sizeof others / sizeof *others) : 1); i++) {
        o.values = sim_bind_others(x.p, a->shapes, a->nshapes, others[i], NULL, &a->arena, d);
        if (i > 0 && !sim_admits(x.p, o.values))
            continue;
        if (x.assumed)
            printf("not given, taken as %lld: %s\n", (long long)others[i], x.assumed);
        int found = others[i] > 2 ? sim_check_kernels(x.p, &o, stdout) : sim_check(x.p, &o, stdout, d);
        status = found ? BAD_INPUT : OK;
        ok = status == OK;
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
        sim_print_json(x.s, &x.y, a->steps, a->kinds, stdout);
    } else if (ok && a->steps) {
        sim_print_steps(x.s, stdout);
        sim_print_last_line(&x.y, stdout);
    } else if (ok && a->kinds) {
        sim_print_kinds(x.s, &x.y, stdout);
        sim_print_last_line(&x.y, stdout);
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
    terminal_show_controls();
    out_clean_when_interrupted();
    file_note_inputs(true);
    signal(SIGXFSZ, SIG_IGN);
    struct arguments a = {.cores = 1};
    struct diag d = {0};
    int status = USAGE;
    if (parse(&a, argc, argv, &d)) {
        status = OK;
        if (a.help)
            print_help();
        else if (a.version)
            printf("xsim %s\n", xcc_version_text);
        else if (a.constants)
            print_constants();
        else
            status = a.check ? check(&a, &d) : run(&a, &d);
    }
    if (diag_failed(&d))
        fprintf(stderr, "xsim: %s\n", d.text);
    arena_free(&a.arena);
    return out_printed("xsim", status);
}
