/*
 * xdump OUT.neff [--header|--info|--asm|--plan|--json] [--dim NAME=VALUE]... [--extract DIR]
 * [--diff OTHER.neff]
 */
#include "neff/tools/xdump.h"

#include "neff/isa/asm.h"
#include "neff/isa/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_BAD_INPUT = 1, EXIT_USAGE = 2, EXIT_DIFFERENT = 3 };
enum view { VIEW_SUMMARY, VIEW_HEADER, VIEW_INFO, VIEW_ASM, VIEW_PLAN, VIEW_JSON };

static const struct {
    const char *flag, *doc;
    enum view view;
} views[] = {
    {"--header", "fields of the 1024-byte header", VIEW_HEADER},
    {"--info", "info.json: tool version, flags, inputs and outputs", VIEW_INFO},
    {"--asm", "the whole program as text", VIEW_ASM},
    {"--plan", "slots with lifetimes and places in the arena", VIEW_PLAN},
    {"--json", "everything that can be counted, as one JSON object", VIEW_JSON},
};
enum { NVIEWS = sizeof views / sizeof *views };

struct arguments {
    const char *path, *extract, *diff;
    enum view view;
    bool has_view, help, opcodes;
    struct symbol_binding *bindings;
    int nbindings, bindings_cap;
    struct arena arena;
};

static void usage(FILE *out)
{
    fprintf(
        out,
        "usage: xdump FILE.neff [view] [--dim NAME=VALUE]... [--extract DIR] [--diff OTHER.neff]\n"
        "Without a view: a summary. Views:\n");
    for (int i = 0; i < NVIEWS; i++)
        fprintf(out, "  %-10s %s\n", views[i].flag, views[i].doc);
    fprintf(out,
            "  --dim NAME=VALUE   value of a symbolic dimension in sizes and plans (default 1)\n"
            "  --extract DIR      write the archive's members, and every constant as .npy\n"
            "  --diff OTHER.neff  what differs; exit status 3 when anything does\n"
            "  --opcodes          the table of instructions in FORMAT.md; needs no archive\n");
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
            printf("%s%s", i ? " " : "", n->flt[i]);
        printf(" | ");
        for (int i = 0; i < n->nfuncs; i++)
            printf("%s%s", i ? " " : "", n->func[i]);
        printf(" | %s |\n", n->doc);
    }
}

static bool add_binding(struct arguments *a, const char *text)
{
    const char *equals = strrchr(text, '=');
    char *end;
    if (!equals || equals == text)
        return false;
    errno = 0;
    long long v = strtoll(equals + 1, &end, 10);
    if (*end || end == equals + 1 || errno || v < 0)
        return false;
    ARENA_GROW(&a->arena, a->bindings, a->nbindings, a->bindings_cap);
    a->bindings[a->nbindings++] =
        (struct symbol_binding){arena_strndup(&a->arena, text, (size_t)(equals - text)), v};
    return true;
}

static bool wrong(const char *fmt, const char *what)
{
    fprintf(stderr, "xdump: ");
    fprintf(stderr, fmt, what);
    fprintf(stderr, "; see xdump --help\n");
    return false;
}

/* `--name value` and `--name=value`; NULL when arg is another flag. */
static const char *value_of(const char *name, int argc, char **argv, int *i, bool *missing)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n))
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (argv[*i][n])
        return NULL;
    if (*i + 1 < argc)
        return argv[++*i];
    *missing = true;
    return NULL;
}

static bool parse_view(struct arguments *a, const char *flag)
{
    for (int i = 0; i < NVIEWS; i++) {
        if (strcmp(views[i].flag, flag))
            continue;
        if (a->has_view)
            return wrong("more than one view: '%s'", flag);
        a->view = views[i].view;
        return a->has_view = true;
    }
    return wrong("unknown option '%s'", flag);
}

static bool parse_arguments(struct arguments *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *v, *flag = argv[i];
        bool missing = false;
        if (!strcmp(flag, "--help") || !strcmp(flag, "-h")) {
            a->help = true;
            return true;
        }
        if (!strcmp(flag, "--opcodes")) {
            a->opcodes = true;
            return true;
        }
        if ((v = value_of("--extract", argc, argv, &i, &missing))) {
            a->extract = v;
        } else if ((v = value_of("--diff", argc, argv, &i, &missing))) {
            a->diff = v;
        } else if ((v = value_of("--dim", argc, argv, &i, &missing))) {
            if (!add_binding(a, v))
                return wrong("--dim '%s': expected NAME=VALUE, value 0 or more", v);
        } else if (missing) {
            return wrong("'%s' needs a value", flag);
        } else if (*flag == '-' && flag[1]) {
            if (!parse_view(a, flag))
                return false;
        } else if (a->path) {
            return wrong("more than one archive: '%s'", flag);
        } else {
            a->path = flag;
        }
    }
    return a->path || wrong("expected an archive%s", "");
}

/* ---- opening ---- */

bool dump_open(struct dump *u, const char *path, struct symbol_binding *b, int nb, struct diag *d)
{
    *u = (struct dump){.path = path, .bindings = b, .nbindings = nb};
    u->file = calloc(1, sizeof *u->file);
    if (!u->file)
        return fail(d, "out of memory");
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

static int run(struct arguments *a, struct diag *d)
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
    if (ok && (a->has_view || (!a->diff && !a->extract)))
        ok = show(&u, a->view, d);
    if (ok && (fflush(stdout) || ferror(stdout)))
        ok = fail(d, "standard output: cannot write: %s", strerror(errno));
    if (ok)
        status = same ? 0 : EXIT_DIFFERENT;
    dump_close(&u);
    return status;
}

int main(int argc, char **argv)
{
    struct arguments a = {0};
    struct diag d = {0};
    int status = EXIT_USAGE;
    if (parse_arguments(&a, argc, argv)) {
        if (a.help)
            usage(stdout);
        if (a.opcodes)
            print_opcodes();
        status = a.help || a.opcodes ? 0 : run(&a, &d);
    }
    if (diag_failed(&d))
        fprintf(stderr, "xdump: %s\n", d.text);
    arena_free(&a.arena);
    return status;
}
