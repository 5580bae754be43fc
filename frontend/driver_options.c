/*
 * The command line as one table.
 */
#include "frontend/driver.h"
#include "frontend/neuronx_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOR_COMPILE = 1, FOR_TEST = 2, FOR_ALL = 3 };

struct flag {
    const char *name;
    const char *value; /* what it takes, for the help; NULL: nothing. "" and on: part of the name */
    int who;
    bool (*set)(struct command *c, const char *value, struct diag *d);
    const char *doc; /* NULL: not in the help */
};

static const struct {
    const char *name;
    int type;
} cast_types[] = {
    {"bf16", DT_BF16}, {"fp16", DT_F16}, {"tf32", CAST_TF32}, {"fp8_e4m3", DT_F8E4M3FN}};
static const char *const cast_modes[] = {
    [CAST_NONE] = "none", [CAST_MATMULT] = "matmult", [CAST_ALL] = "all"};
static const char *const targets[] = {"cpu", "trn1", "trn2", "inf2"};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static bool set_output(struct command *c, const char *v, struct diag *d)
{
    c->output = v;
    return true;
}

static bool set_shape(struct command *c, const char *v, struct diag *d)
{
    const char *equals = strrchr(v, '=');
    struct shape_binding b = {0};
    if (!equals || equals == v || !equals[1])
        return fail(d, "--shape takes NAME=1,3,224,224, got '%s'", v);
    b.name = arena_strndup(&c->arena, v, (size_t)(equals - v));
    for (const char *s = equals + 1;; s++) {
        char *end;
        if (b.rank == IMPORT_MAX_RANK)
            return fail(d, "--shape %s: more than %d dimensions", v, IMPORT_MAX_RANK);
        int64_t n = *s == '?' ? -1 : strtoll(s, &end, 10);
        if (*s == '?')
            end = (char *)s + 1;
        if (end == s || (*end && *end != ',') || (n < 0 && *s != '?'))
            return fail(d, "--shape %s: expected a number or ? at '%s'", v, s);
        b.dims[b.rank++] = n;
        if (!*end)
            break;
        s = end;
    }
    struct shape_binding *all = ARENA_ARRAY(&c->arena, struct shape_binding, c->import.nshapes + 1);
    arena_move_(all, c->import.shapes, sizeof *all * (size_t)c->import.nshapes);
    all[c->import.nshapes++] = b;
    c->import.shapes = all;
    return true;
}

static bool set_auto_cast(struct command *c, const char *v, struct diag *d)
{
    for (int i = 0; i < COUNT(cast_modes); i++)
        if (!strcmp(v, cast_modes[i])) {
            c->options.auto_cast = i;
            return true;
        }
    return fail(d, "--auto-cast takes none, matmult or all, got '%s'", v);
}

static bool set_cast_type(struct command *c, const char *v, struct diag *d)
{
    for (int i = 0; i < COUNT(cast_types); i++)
        if (!strcmp(v, cast_types[i].name)) {
            c->options.cast_type = cast_types[i].type;
            return true;
        }
    return fail(d, "--auto-cast-type takes bf16, fp16, tf32 or fp8_e4m3, got '%s'", v);
}

static bool add_keep(struct command *c, const char *v, struct diag *d)
{
    int n = c->options.nkeep_fp32;
    const char **all = ARENA_ARRAY(&c->arena, const char *, n + 1);
    arena_move_(all, c->options.keep_fp32, sizeof *all * (size_t)n);
    all[n] = v;
    c->options.keep_fp32 = all;
    c->options.nkeep_fp32 = n + 1;
    return true;
}

static bool set_level(struct command *c, const char *v, struct diag *d)
{
    if (v[0] < '0' || v[0] > '3' || v[1])
        return fail(d, "-O takes a level from 0 to 3, got '%s'", v);
    c->options.opt_level = v[0] - '0';
    return true;
}

static bool set_winograd(struct command *c, const char *v, struct diag *d)
{
    c->options.no_winograd = !strcmp(v, "off");
    return c->options.no_winograd || !strcmp(v, "on") ||
           fail(d, "--winograd takes on or off, got '%s'", v);
}

static bool set_target(struct command *c, const char *v, struct diag *d)
{
    if (c->neuronx && !strcmp(v, "trn1n")) /* trn1 with a faster network */
        v = "trn1";
    for (int i = 0; i < COUNT(targets); i++)
        if (!strcmp(v, targets[i])) {
            c->target = targets[i];
            c->options.strict_target = i > 0;
            return true;
        }
    return fail(d, "--target takes cpu, trn1, trn2 or inf2, got '%s'", v);
}

static bool set_emit(struct command *c, const char *v, struct diag *d)
{
    if (strcmp(v, "ir") && strcmp(v, "asm"))
        return fail(d, "--emit takes ir or asm, got '%s'", v);
    c->emit = v[0] == 'i' ? EMIT_IR : EMIT_ASM;
    return true;
}

static bool set_framework(struct command *c, const char *v, struct diag *d)
{
    if (strcmp(v, "XLA") && strcmp(v, "ONNX"))
        return fail(d, "--framework takes XLA or ONNX, got '%s'", v);
    return true; /* the file's content says what it is */
}

static bool set_print_after(struct command *c, const char *v, struct diag *d)
{
    c->options.print_after = v;
    return true;
}

static bool set_passes(struct command *c, const char *v, struct diag *d)
{
    c->options.only = v;
    return true;
}

#define SWITCH(id, field)                                                                          \
    static bool set_##id(struct command *c, const char *v, struct diag *d)                         \
    {                                                                                              \
        c->field = true;                                                                           \
        return true;                                                                               \
    }
SWITCH(explain, options.explain)
SWITCH(verify, verify)
SWITCH(verify_passes, options.verify_passes)
SWITCH(time_passes, options.time_passes)
SWITCH(list_operators, list_operators)
SWITCH(quiet, quiet)
SWITCH(verbose, verbose)
SWITCH(help, help)
SWITCH(version, version)
SWITCH(reference, reference)

static bool number(const char *v, double *out, const char *flag, struct diag *d)
{
    char *end;
    *out = strtod(v, &end);
    if (end == v || *end || !(*out >= 0))
        return fail(d, "%s takes a number that is not negative, got '%s'", flag, v);
    return true;
}

static bool set_rtol(struct command *c, const char *v, struct diag *d)
{
    return number(v, &c->rtol, "--rtol", d);
}

static bool set_atol(struct command *c, const char *v, struct diag *d)
{
    return number(v, &c->atol, "--atol", d);
}

static bool set_module(struct command *c, const char *v, struct diag *d)
{
    c->module = v;
    return true;
}

static bool set_norm_tol(struct command *c, const char *v, struct diag *d)
{
    return number(v, &c->norm_tol, "--norm-tol", d);
}

static const struct flag flags[] = {
    {"-o", "OUT.neff", FOR_COMPILE, set_output, "where the archive goes"},
    {"--output", "OUT.neff", FOR_COMPILE, set_output, NULL},
    {"--shape", "NAME=1,3,224,224", FOR_ALL, set_shape, "dims of an input, or of a named dim"},
    {"--auto-cast", "none|matmult|all", FOR_ALL, set_auto_cast, "what is cast from FP32 (matmult)"},
    {"--auto-cast-type", "bf16|fp16|tf32|fp8_e4m3", FOR_ALL, set_cast_type, "to which type (bf16)"},
    {"--keep-fp32", "GLOB", FOR_ALL, add_keep, "but not these: node names, or op:Type"},
    {"--winograd", "on|off", FOR_ALL, set_winograd,
     "3x3 convolutions by Winograd's method where that pays (on)"},
    {"-O", "0|1|2|3", FOR_ALL, set_level, "how much to optimise (2)"},
    {"--target", "cpu|trn1|trn2|inf2", FOR_ALL, set_target, "the machine (cpu)"},
    {"--emit", "ir|asm", FOR_COMPILE, set_emit, "print the graph or the program instead"},
    {"--print-after", "PASS|all", FOR_ALL, set_print_after, "print the graph after a pass"},
    {"--passes", "A,B", FOR_ALL, set_passes, "run these passes only"},
    {"--explain", NULL, FOR_ALL, set_explain, "say why things were fused, cast, placed, or not"},
    {"--verify", NULL, FOR_COMPILE, set_verify, "compare with the plain routines, node by node"},
    {"--verify-passes", NULL, FOR_ALL, set_verify_passes, NULL},
    {"--list-operators", NULL, FOR_COMPILE, set_list_operators, "print what is supported"},
    {"--time-passes", NULL, FOR_ALL, set_time_passes, "time and peak memory of each pass"},
    {"--framework", "XLA|ONNX", FOR_COMPILE, set_framework, NULL},
    {"-q", NULL, FOR_ALL, set_quiet, "print nothing but errors"},
    {"-v", NULL, FOR_ALL, set_verbose, "print more"},
    {"--rtol", "R", FOR_TEST, set_rtol, "test: relative tolerance (1e-3)"},
    {"--atol", "A", FOR_TEST, set_atol, "test: absolute tolerance (1e-7)"},
    {"--module", "NAME", FOR_TEST, set_module, "test: the file to take from each folder"},
    {"--norm-tol", "R", FOR_TEST, set_norm_tol, "test: max|out-ref| <= R * max|ref| instead"},
    {"--reference", NULL, FOR_TEST, set_reference, "test: run by plain routines, do not compile"},
    {"--help", NULL, FOR_ALL, set_help, NULL},
    {"-h", NULL, FOR_ALL, set_help, NULL},
    {"--version", NULL, FOR_ALL, set_version, NULL},
};

void print_help(void)
{
    printf("xcc: compiles a model (.onnx, .hlo, .xir) into an archive for xrun\n\n"
           "    xcc MODEL -o OUT.neff [flags]       compile\n"
           "    xcc compile MODEL --output OUT.neff the same, as neuronx-cc spells it\n"
           "    xcc test [flags] DIR...             compile, run and compare test cases\n\n");
    for (int i = 0; i < COUNT(flags); i++) {
        char left[64];
        if (!flags[i].doc)
            continue;
        bool joined = !strcmp(flags[i].name, "-O");
        snprintf(left, sizeof left, "%s%s%s", flags[i].name, flags[i].value && !joined ? " " : "",
                 flags[i].value ? flags[i].value : "");
        printf("  %-42s%s\n", left, flags[i].doc);
    }
    printf("\npasses:");
    for (int i = 0; i < npasses; i++)
        printf(" %s", passes[i].name);
    printf("\nexit status: 0 done, 1 bad or unsupported input, 2 usage, 70 internal error\n");
}

/* The flag that argv[*i] spells, and its value: in the next word, after `=`, or joined to -O. */
static const struct flag *find_flag(char **argv, int argc, int *i, const char **value,
                                    struct diag *d)
{
    const char *word = argv[*i];
    size_t length = strcspn(word, "=");
    for (int k = 0; k < COUNT(flags); k++) {
        const struct flag *f = &flags[k];
        bool joined = !strcmp(f->name, "-O") && !strncmp(word, "-O", 2);
        if (!joined && (strlen(f->name) != length || strncmp(f->name, word, length)))
            continue;
        *value = NULL;
        if (joined)
            *value = word + 2;
        else if (!f->value && word[length])
            return fail(d, "%s takes no value", f->name), NULL;
        else if (f->value && word[length])
            *value = word + length + 1;
        else if (f->value && *i + 1 < argc)
            *value = argv[++*i];
        else if (f->value)
            return fail(d, "%s needs a value: %s", f->name, f->value), NULL;
        return f;
    }
    fail(d, "unknown flag '%s'; --help lists them", word);
    return NULL;
}

bool command_parse(struct command *c, int argc, char **argv, enum subcommand sub, struct diag *d)
{
    *c = (struct command){.target = "cpu", .rtol = -1, .atol = -1, .norm_tol = -1};
    c->options = (struct options){.opt_level = 2, .auto_cast = CAST_MATMULT, .cast_type = DT_BF16};
    c->files = ARENA_ARRAY(&c->arena, const char *, argc + 1);
    bool only_files = false, test = sub == COMMAND_TEST;
    if (sub == COMMAND_COMPILE)
        neuronx_defaults(c);
    for (int i = 0; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || !argv[i][1]) {
            c->files[c->nfiles++] = argv[i];
            continue;
        }
        if (!strcmp(argv[i], "--")) {
            only_files = true;
            continue;
        }
        const char *value;
        bool taken = false;
        if (c->neuronx && !neuronx_flag(c, argc, argv, &i, &taken, d))
            return false;
        if (taken)
            continue;
        const struct flag *f = find_flag(argv, argc, &i, &value, d);
        if (!f)
            return false;
        if (!(f->who & (test ? FOR_TEST : FOR_COMPILE)))
            return fail(d, "%s does not go with %s", f->name, test ? "xcc test" : "compiling");
        if (!f->set(c, value, d))
            return false;
    }
    return true;
}

void command_free(struct command *c)
{
    struct arena a = c->arena;
    arena_free(&a);
}
