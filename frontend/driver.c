#include "frontend/driver.h"

#include "frontend/assemble.h"
#include "frontend/compile.h"
#include "frontend/foreign.h"
#include "frontend/report.h"
#include "frontend/guard_report.h"
#include "frontend/hlo/syntax/hlo.h"
#include "frontend/neuronx_options.h"
#include "frontend/onnx/onnx.h"
#include "frontend/stablehlo/stablehlo.h"
#include "neff/archive/archive.h"
#include "neff/isa/asm.h"
#include "neff/base/file.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int report_failure(const char *file, const struct diag *d)
{
    size_t n = strlen(file);
    bool named = !strncmp(d->text, file, n) && d->text[n] == ':';
    fprintf(stderr, "xcc: %s%s%s%s\n", named ? "" : file, named ? "" : ": ",
            d->internal ? "internal error: " : "", d->text);
    return d->internal ? EXIT_INTERNAL : EXIT_BAD_INPUT;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static struct graph *load_text(const char *path, struct diag *d)
{
    struct mapped_file f;
    if (!file_map(&f, path, d))
        return NULL;
    struct graph *g = graph_parse((const char *)f.data, f.size, path, d);
    file_unmap(&f);
    return g;
}

/* --shape of a graph that is given as text: dims of an input, or of a symbol. */
static bool bind_text(struct graph *g, const struct import_options *o, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++) {
        struct shape_binding *b = &o->shapes[s];
        dim_t *with = ARENA_ARRAY(&g->arena, dim_t, g->dims.nsymbols + 1);
        for (int i = 0; i < g->dims.nsymbols; i++) {
            bool named = b->rank == 1 && b->dims[0] >= 0 && !g->dims.symbols[i].runtime &&
                         !strcmp(g->dims.symbols[i].name, b->name);
            with[i] = named ? b->dims[0] : DIM_NOT_BOUND;
            b->used |= named;
        }
        for (int i = 0; i < g->main->nparams; i++) {
            struct value *v = g->main->params[i];
            bool named = v->name && !strcmp(v->name, b->name);
            b->used |= named;
            if (named && v->type.rank >= 0 && v->type.rank != b->rank)
                return fail(d, "--shape %s: %d dims given, the input has %d", b->name, b->rank,
                            v->type.rank);
            for (int k = 0; k < v->type.rank; k++)
                v->type.dims[k] = named && b->dims[k] >= 0
                                      ? b->dims[k]
                                      : dim_substitute(&g->dims, v->type.dims[k], with);
        }
    }
    return true;
}

/* Every --shape has found its input or dim; else says what there is. */
static bool shapes_used(struct graph *g, const struct import_options *o, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++) {
        if (o->shapes[s].used)
            continue;
        char list[1024];
        size_t n = 0;
        list[0] = 0;
        for (int i = 0; i < g->main->nparams && n < sizeof list; i++)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s %s", i ? ", " : "",
                                  g->main->params[i]->name,
                                  type_text(&g->dims, &g->arena, &g->main->params[i]->type));
        return fail(d, "--shape %s: no input and no symbolic dim has that name; the inputs are %s",
                    o->shapes[s].name, list);
    }
    return true;
}

static struct graph *load_any(const char *path, const struct import_options *o, struct diag *d)
{
    if (ends_with(path, ".xir")) {
        struct graph *g = load_text(path, d);
        if (!g || bind_text(g, o, d))
            return g;
        graph_free(g);
        return NULL;
    }
    struct mapped_file f;
    if (!foreign_check_folder(path, d) || !file_map(&f, path, d))
        return NULL;
    bool known = foreign_check(path, f.data, f.size, d);
    bool onnx = ends_with(path, ".onnx");
    bool stablehlo = !onnx && stablehlo_detect(f.data, f.size);
    bool hlo = !onnx && !stablehlo && hlo_detect(f.data, f.size);
    if (known && !stablehlo && !hlo)
        known = foreign_check_text(f.data, f.size, d);
    file_unmap(&f);
    if (!known)
        return NULL;
    if (stablehlo)
        return stablehlo_import(path, o, d);
    return hlo ? hlo_import(path, o, d) : onnx_import(path, o, d);
}

struct graph *load_model(const char *path, const struct import_options *o, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++)
        o->shapes[s].used = false; /* of this model */
    struct graph *g = load_any(path, o, d);
    if (g && !shapes_used(g, o, d)) {
        graph_free(g);
        return NULL;
    }
    return g;
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

static bool write_program(struct program *p, const struct command *c, struct diag *d)
{
    return c->emit == EMIT_ASM ? write_text(NULL, p, c, d)
                               : neff_write(p, c->output ? c->output : "file.neff", d);
}

static bool compile(struct graph *g, struct command *c, struct diag *d)
{
    if (c->emit == EMIT_IR)
        return passes_run(g, &c->options, d) && write_text(g, NULL, c, d);
    struct program *p = compile_graph(g, c, d);
    if (p)
        report_guards(p, c);
    bool ok = p && write_program(p, c, d);
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

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int compile_command(struct command *c)
{
    struct diag d = {0};
    const char *model = c->files[0];
    double start = now();
    if (is_assembly(model))
        return assemble_command(c);
    neuronx_begin(c);
    struct graph *g = load_model(model, &c->import, &d);
    if (g && c->options.time_passes)
        report_time("import", now() - start);
    int status = g && keep_fp32_check(g, &c->options, &d) && compile(g, c, &d)
                     ? 0
                     : report_failure(model, &d);
    graph_free(g);
    if (status == 0 && c->options.time_passes)
        report_time("total", now() - start);
    neuronx_end(c, status, d.text);
    return status;
}
