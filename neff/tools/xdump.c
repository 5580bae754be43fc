/*
 * xdump: what is in an archive.
 */
#include "neff/tools/xdump.h"

#include "neff/base/options.h"
#include "neff/base/terminal.h"
#include "neff/base/version.h"
#include "neff/isa/asm.h"
#include "neff/isa/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_BAD_INPUT = 1, EXIT_USAGE = 2, EXIT_DIFFERENT = 3 };
enum view { VIEW_SUMMARY, VIEW_HEADER, VIEW_INFO, VIEW_ASM, VIEW_PLAN, VIEW_JSON };

struct xdump_arguments {
    const char *path, *extract, *diff;
    bool view[VIEW_JSON + 1], help, version, opcodes;
    struct symbol_binding *bindings;
    int nbindings, bindings_cap;
    struct arena arena;
};

static bool add_binding(void *to, const char *text, struct diag *d)
{
    struct xdump_arguments *a = to;
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    errno = 0;
    long long v = equals ? strtoll(equals + 1, &end, 10) : -1;
    if (!equals || equals == text || *end || end == equals + 1 || errno || v < 0)
        return fail(d, "--dim '%s': expected NAME=VALUE, value 0 or more", text);
    ARENA_GROW(&a->arena, a->bindings, a->nbindings, a->bindings_cap);
    a->bindings[a->nbindings++] =
        (struct symbol_binding){arena_strndup(&a->arena, text, (size_t)(equals - text)), v};
    return true;
}

#define AT(field) OPTION_AT(struct xdump_arguments, field)

static const struct option rows[] = {
    OPTION_ONE_FILE(struct xdump_arguments, path, "archive"),
    {"--header", NULL, OPTION_SWITCH, AT(view[VIEW_HEADER]), "fields of the 1024-byte header", NULL,
     0},
    {"--info", NULL, OPTION_SWITCH, AT(view[VIEW_INFO]),
     "info.json: tool version, flags, inputs and outputs", NULL, 0},
    {"--asm", NULL, OPTION_SWITCH, AT(view[VIEW_ASM]), "the whole program as text", NULL, 0},
    {"--plan", NULL, OPTION_SWITCH, AT(view[VIEW_PLAN]),
     "slots with lifetimes and places in the arena", NULL, 0},
    {"--json", NULL, OPTION_SWITCH, AT(view[VIEW_JSON]),
     "everything that can be counted, as one JSON object", NULL, 0},
    {"--dim", "NAME=VALUE", OPTION_CALL, 0, "value of a symbolic dimension in sizes and plans (1)",
     add_binding, 0},
    {"--extract", "DIR", OPTION_TEXT, AT(extract),
     "write the archive's members, and every constant as .npy", NULL, 0},
    {"--diff", "OTHER.neff", OPTION_TEXT, AT(diff),
     "what differs; exit status 3 when anything does", NULL, 0},
    {"--opcodes", NULL, OPTION_SWITCH, AT(opcodes),
     "the table of instructions in FORMAT.md; needs no archive", NULL, 0},
    OPTIONS_STANDARD(struct xdump_arguments, 0),
};
static const struct option_table options = {.rows = rows, .count = sizeof rows / sizeof *rows};

static void print_help(void)
{
    printf("xdump: what is in an archive\n\n"
           "    xdump FILE.neff [view] [options]    without a view: a summary\n\n");
    options_help(stdout, &options);
}

/* VIEW_SUMMARY when none is given; -1 for several. */
static int view_of(const struct xdump_arguments *a)
{
    int view = VIEW_SUMMARY;
    for (int i = VIEW_SUMMARY + 1; i <= VIEW_JSON; i++)
        if (a->view[i])
            view = view == VIEW_SUMMARY ? i : -1;
    return view;
}

static bool parse(struct xdump_arguments *a, int argc, char **argv, struct diag *d)
{
    if (!options_parse(&options, argc - 1, argv + 1, a, d))
        return false;
    if (view_of(a) < 0)
        return fail(d, "more than one view; --help lists them");
    return a->path || a->help || a->version || a->opcodes ||
           fail(d, "name an archive; --help tells more");
}

static void print_targets(const struct insn_info *n)
{
    uint32_t all = nmachines < 32 ? (UINT32_C(1) << nmachines) - 1 : ~UINT32_C(0);
    if ((n->targets & all) == all) {
        printf("all");
        return;
    }
    const char *between = "";
    for (int i = 0; i < nmachines; i++)
        if (n->targets & machine_bit(&machines[i])) {
            printf("%s%s", between, machines[i].name);
            between = " ";
        }
}

static void print_opcodes(void)
{
    static const char *const reach[] = {
        [REACH_PLAIN] = "",    [REACH_PACKED] = "+",    [REACH_REDUCED] = "-",
        [REACH_PER_ROW] = "-", [REACH_EXCHANGED] = "^", [REACH_INDIRECT] = "@"};
    printf("| opcode | engines | targets | instruction | patterns | immediates | floats | "
           "functions | meaning |\n"
           "| --: | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int op = 0; op < INSN_COUNT; op++) {
        const struct insn_info *n = insn_info((enum opcode)op);
        printf("| %d | %s", op, engine_names[n->engine]);
        for (int e = 0; e < ENGINE_COUNT; e++)
            if (e != n->engine && n->engines >> e & 1)
                printf(" %s", engine_names[e]);
        printf(" | ");
        print_targets(n);
        printf(" | `%s` | ", n->name);
        for (int i = 0; i < n->naps; i++)
            printf("%s%s:%c%s%s", i ? " " : "", n->ap[i].name, n->ap[i].access,
                   n->ap[i].optional ? "?" : "", reach[n->ap[i].reach]);
        printf(" | ");
        for (int i = 0; i < n->nimms; i++)
            printf("%s%s%s", i ? " " : "", n->imm[i].name, n->imm[i].varies ? "~" : "");
        printf(" | ");
        for (int i = 0; i < n->nfloats; i++)
            printf("%s%s%s", i ? " " : "", n->flt[i].name, n->flt[i].standard == 1 ? "=1" : "");
        printf(" | ");
        for (int i = 0; i < n->nfuncs; i++)
            printf("%s%s", i ? " " : "", n->func[i]);
        printf(" | %s |\n", n->doc);
    }
}

/* ---- opening ---- */

bool dump_open(struct dump *u, const char *path, struct symbol_binding *b, int nb, struct diag *d)
{
    *u = (struct dump){.path = path, .bindings = b, .nbindings = nb};
    u->file = calloc(1, sizeof *u->file);
    if (!u->file)
        return fail_memory(d, "out of memory");
    if (!neff_open(u->file, path, d)) {
        free(u->file);
        u->file = NULL;
        return false;
    }
    u->p = neff_program(u->file, false, d);
    if (u->p)
        u->values = bind_symbols_for_report(u->p, b, nb, 1, &u->scratch, d);
    if (!u->values) {
        dump_close(u);
        return fail_in(d, "%s", path);
    }
    u->sizes = slot_sizes(u->p, u->values, &u->scratch);
    plan_memory(u->p, u->values, u->sizes, &u->scratch, &u->plan);
    u->life = program_lifetimes(u->p, &u->scratch);
    return true;
}

void dump_close(struct dump *u)
{
    program_free(u->p);
    if (u->file)
        neff_close(u->file);
    free(u->file);
    arena_free(&u->scratch);
    *u = (struct dump){0};
}

static bool show(struct dump *u, enum view view, struct diag *d)
{
    switch (view) {
    case VIEW_HEADER:
        dump_header(u);
        break;
    case VIEW_INFO:
        dump_info(u);
        break;
    case VIEW_ASM:
        program_print(u->p, stdout);
        break;
    case VIEW_PLAN:
        dump_plan(u);
        break;
    case VIEW_JSON:
        return dump_json(u, d);
    case VIEW_SUMMARY:
        dump_summary(u);
    }
    return true;
}

static int run(struct xdump_arguments *a, struct diag *d)
{
    struct dump u, other;
    int status = EXIT_BAD_INPUT;
    bool same = true;
    if (!dump_open(&u, a->path, a->bindings, a->nbindings, d))
        return status;
    bool ok = true;
    if (a->diff) {
        ok = dump_open(&other, a->diff, a->bindings, a->nbindings, d);
        if (ok) {
            ok = dump_diff(&u, &other, &same, d);
            dump_close(&other);
        }
    }
    if (ok && a->extract)
        ok = dump_extract(&u, a->extract, d);
    if (ok && (view_of(a) != VIEW_SUMMARY || (!a->diff && !a->extract)))
        ok = show(&u, (enum view)view_of(a), d);
    if (ok)
        status = same ? 0 : EXIT_DIFFERENT;
    dump_close(&u);
    return status;
}

int main(int argc, char **argv)
{
    struct xdump_arguments a = {0};
    struct diag d = {0};
    int status = 0;
    terminal_show_controls();
    file_note_inputs(true);
    if (!parse(&a, argc, argv, &d))
        status = EXIT_USAGE;
    else if (a.help)
        print_help();
    else if (a.version)
        printf("xdump %s\n", xcc_version_text);
    else if (a.opcodes)
        print_opcodes();
    else
        status = run(&a, &d);
    if (diag_failed(&d))
        fprintf(stderr, "xdump: %s\n", d.text);
    arena_free(&a.arena);
    return out_printed("xdump", status);
}
