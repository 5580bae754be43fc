#include "frontend/driver.h"

#include "frontend/assemble.h"
#include "frontend/cast_check.h"
#include "frontend/explain.h"
#include "frontend/report.h"
#include "frontend/guard_report.h"
#include "frontend/neuronx_options.h"
#include "frontend/standalone/standalone.h"
#include "neff/archive/archive.h"
#include "neff/base/clock.h"
#include "neff/isa/asm.h"
#include "neff/base/file.h"

#include <stdio.h>
#include <string.h>

int report_failure(const char *file, const struct diag *d)
{
    size_t n = strlen(file);
    bool named = !strncmp(d->text, file, n) && d->text[n] == ':';
    fprintf(stderr, "xcc: %s%s%s%s\n", named ? "" : file, named ? "" : ": ",
            d->internal ? "internal error: " : "", d->text);
    return d->internal ? EXIT_INTERNAL : EXIT_BAD_INPUT;
}

static void print_text(struct graph *g, const struct program *p, FILE *f)
{
    if (p)
        program_print(p, f);
    else
        graph_print(g, f, -1);
}

/* The graph, or the program when there is one. */
static bool write_text(struct graph *g, const struct program *p, const struct command *c,
                       struct diag *d)
{
    if (!c->output) {
        print_text(g, p, stdout);
        return true;
    }
    struct out_file o;
    if (!out_open(&o, c->output, d))
        return false;
    print_text(g, p, o.f);
    return out_commit(&o, d);
}

static bool write_standalone(struct program *p, const struct command *c, struct diag *d)
{
    struct standalone_options o = {.model = c->files[0],
                                   .folder = c->standalone,
                                   .isa = c->isa,
                                   .threads = c->threads,
                                   .operators = &c->operators,
                                   .amalgamate = c->amalgamate};
    return standalone_write(p, &o, d) && (!c->output || neff_write(p, c->output, d));
}

static bool write_program(struct program *p, const struct command *c, struct diag *d)
{
    if (c->standalone)
        return write_standalone(p, c, d);
    return c->emit == EMIT_ASM ? write_text(NULL, p, c, d)
                               : neff_write(p, c->output ? c->output : "file.neff", d);
}

static void say_cast(void *user, const char *text)
{
    const struct command *c = user;
    fprintf(stderr, "xcc: %s: %s\n", c->files[0], text);
}

static bool print_graph(struct graph *g, struct command *c, struct diag *d)
{
    if (!passes_run(g, &c->options, d))
        return false;
    if (c->options.reasons && !explain(c, c->options.reasons, NULL, d))
        return false;
    return write_text(g, NULL, c, d);
}

/* Takes *g, and may leave another. */
static bool compile(struct graph **g, struct command *c, struct diag *d)
{
    if (c->emit == EMIT_IR)
        return print_graph(*g, c, d);
    if (c->standalone)
        c->options.max_bf16_rate = standalone_bf16_rate(c->isa), c->options.whole_batch = true;
    struct program *p = compile_checked(c->files[0], g, c, c->quiet ? NULL : say_cast, c, d);
    if (p)
        report_guards(p, c);
    bool ok = p && (!c->options.reasons || explain(c, c->options.reasons, p, d));
    ok = ok && write_program(p, c, d);
    ok = ok && (!c->report || print_report(p, d));
    program_free(p);
    return ok;
}

static int assemble_command(const struct command *c)
{
    struct diag d = {0};
    struct program *p = NULL;
    if (c->emit == EMIT_IR)
        fail(&d, "assembly has no graph to print");
    else
        p = assemble(c->files[0], c, &d);
    bool ok = p && write_program(p, c, &d);
    program_free(p);
    return ok ? 0 : report_failure(c->files[0], &d);
}

int compile_command(struct command *c)
{
    struct diag d = {0};
    const char *model = c->files[0];
    double start = seconds_now();
    if (is_assembly(model))
        return assemble_command(c);
    neuronx_begin(c);
    struct reasons reasons = {0};
    if (explain_wanted(c))
        c->options.reasons = &reasons;
    const char *library = kernels_of_command(c, &d);
    struct graph *g = library ? NULL : load_model(model, &c->import, &d);
    if (g && c->options.time_passes)
        report_time("import", seconds_now() - start);
    int status = g && keep_fp32_check(g, &c->options, &d) && compile(&g, c, &d)
                     ? 0
                     : report_failure(library ? library : model, &d);
    graph_free(g);
    c->options.reasons = NULL;
    arena_free(&reasons.arena);
    if (status == 0 && c->options.time_passes)
        report_time("total", seconds_now() - start);
    neuronx_end(c, status, d.text);
    return status;
}
