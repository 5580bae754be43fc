/*
 * The command line of xcc as one table.
 */
#include "frontend/driver.h"
#include "frontend/neuronx_options.h"
#include "neff/base/options.h"
#include "neff/isa/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOR_COMPILE = 1, FOR_TEST = 2, FOR_ALL = 3 }; /* groups */

static const struct {
    const char *name;
    int type;
} cast_types[] = {
    {"bf16", DT_BF16}, {"fp16", DT_F16}, {"tf32", CAST_TF32}, {"fp8_e4m3", DT_F8E4M3FN}};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

const char *cast_type_name(int type)
{
    int i = 0;
    while (i < COUNT(cast_types) - 1 && cast_types[i].type != type)
        i++;
    return cast_types[i].name;
}

static bool set_shape(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
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

static bool add_custom_op(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->import.custom = &c->custom;
    custom_choose(&c->custom, v, &c->arena);
    return true;
}

/* Of the library that was named last. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool add_custom_source(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    if (!c->custom.count)
        return fail(d, "--custom-op-source: name its library before it, with --custom-op");
    struct operator_sources *all = &c->operators;
    const char *library = c->custom.files[c->custom.count - 1];
    for (int i = 0; i < all->count; i++) /* they are copied to one folder */
        if (!strcmp(all->files[i].library, library) && !strcmp(name_of(all->files[i].path), name_of(v)))
            return fail(d, "--custom-op-source: '%s' and '%s' of one library have the same name: rename one",
                        all->files[i].path, v);
    ARENA_GROW(&c->arena, all->files, all->count, all->cap);
    all->files[all->count++] = (struct operator_source){v, library};
    return true;
}

static bool set_cast(void *to, const char *v, struct diag *d)
{
    static const char *const words[] = {
        [CAST_NONE] = "none", [CAST_MATMULT] = "matmult", [CAST_ALL] = "all"};
    struct command *c = to;
    c->cast_given = true;
    for (int i = 0; i < COUNT(words); i++)
        if (!strcmp(v, words[i])) {
            c->options.auto_cast = i;
            return true;
        }
    return fail(d, "--auto-cast takes none, matmult or all, got '%s'", v);
}

static bool set_cast_type(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->cast_given = true;
    for (int i = 0; i < COUNT(cast_types); i++)
        if (!strcmp(v, cast_types[i].name)) {
            c->options.cast_type = cast_types[i].type;
            return true;
        }
    return fail(d, "--auto-cast-type takes bf16, fp16, tf32 or fp8_e4m3, got '%s'", v);
}

/* The list of n words and one more; lists that others hold stay as they are. */
static const char **list_with(struct command *c, const char *const *list, int n, const char *word)
{
    const char **all = ARENA_ARRAY(&c->arena, const char *, n + 1);
    arena_move_(all, list, sizeof *all * (size_t)n);
    all[n] = word;
    return all;
}

static bool add_keep(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->options.keep_fp32 = list_with(c, c->options.keep_fp32, c->options.nkeep_fp32++, v);
    return true;
}

static bool add_kernels(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->kernel_files = list_with(c, c->kernel_files, c->nkernel_files++, v);
    return true;
}

static bool add_bind(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->import.binds = list_with(c, c->import.binds, c->import.nbinds++, v);
    return true;
}

const char *kernels_of_command(struct command *c, struct diag *d)
{
    for (int i = 0; !c->import.kernels && i < c->nkernel_files; i++)
        if (!kernel_library_read(&c->kernels, c->kernel_files[i], d))
            return c->kernel_files[i];
    c->import.kernels = &c->kernels;
    return NULL;
}

static bool add_calibrate(void *to, const char *v, struct diag *d)
{
    enum { LIMIT = 16 };
    struct command *c = to;
    int n = c->ncalibrate;
    if (n == LIMIT)
        return fail(d, "--calibrate: more than %d files", LIMIT);
    const char **all = ARENA_ARRAY(&c->arena, const char *, n + 1);
    arena_move_(all, c->calibrate, sizeof *all * (size_t)n);
    all[n] = v;
    c->calibrate = all;
    c->ncalibrate = n + 1;
    return true;
}

static bool set_explain(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->explain |= !v;
    c->explain_node = v ? v : c->explain_node;
    return !v || *v || fail(d, "--explain=NODE needs a name");
}

static bool set_level(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    if (v[0] < '0' || v[0] > '3' || v[1])
        return fail(d, "-O takes a level from 0 to 3, got '%s'", v);
    c->options.opt_level = v[0] - '0';
    return true;
}

static bool set_winograd(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    c->options.no_winograd = !strcmp(v, "off");
    return c->options.no_winograd || !strcmp(v, "on") ||
           fail(d, "--winograd takes on or off, got '%s'", v);
}

static bool set_target(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    if (c->neuronx && !strcmp(v, "trn1n")) /* trn1 with a faster network */
        v = "trn1";
    const struct machine *m = machine_find(v);
    char names[MACHINE_NAMES_SIZE];
    if (!m)
        return fail(d, "--target takes %s, got '%s'", machine_names(names), v);
    c->target = m->name;
    c->options.strict_target = m->strict;
    return true;
}

static bool set_emit(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    if (strcmp(v, "ir") && strcmp(v, "asm"))
        return fail(d, "--emit takes ir or asm, got '%s'", v);
    c->emit = v[0] == 'i' ? EMIT_IR : EMIT_ASM;
    return true;
}

static bool set_limit_seconds(void *to, const char *v, struct diag *d)
{
    struct command *c = to;
    return (option_number(v, &c->limit_seconds) && c->limit_seconds >= 1 &&
            c->limit_seconds < 1e9) ||
           fail(d, "--limit-seconds takes 1 or more, got '%s'", v);
}

#define AT(field) OPTION_AT(struct command, field)

static const char target_names[] =
#define MACHINE(name, ...) "|" #name
#include "neff/isa/machine.def"
    ;

static const struct option rows[] = {
    {"-o", "OUT.neff", OPTION_TEXT, AT(output), "where the archive goes", NULL, FOR_COMPILE},
    {"--output", "OUT.neff", OPTION_TEXT, AT(output), NULL, NULL, FOR_COMPILE},
    {"--shape", "NAME=1,3,224,224", OPTION_CALL, 0, "dims of an input, or of a named dim",
     set_shape, FOR_ALL},
    {"--bind", "PARAMS.npz|.safetensors", OPTION_CALL, 0,
     "arrays that inputs of their names become, as constants", add_bind, FOR_ALL},
    {"--auto-cast", "none|matmult|all", OPTION_CALL, 0,
     "what is cast from FP32; not given: matmult, with a check", set_cast, FOR_ALL},
    {"--auto-cast-type", "bf16|fp16|tf32|fp8_e4m3", OPTION_CALL, 0, "to which type (bf16)",
     set_cast_type, FOR_ALL},
    {"--keep-fp32", "GLOB", OPTION_CALL, 0, "but not these: node names, or op:Type", add_keep,
     FOR_ALL},
    {"--keep-tokens", NULL, OPTION_SWITCH, AT(import.keep_tokens),
     "tokens that an HLO program takes or returns: bool[0], named !token0, ...", NULL, FOR_ALL},
    {"--kernels", "LIB.xasm", OPTION_CALL, 0,
     "kernels that the model calls: domain xcc.kernel, custom-call", add_kernels, FOR_ALL},
    {"--cast-budget", "R", OPTION_NUMBER, AT(cast_budget),
     "keep in FP32 what it takes for outputs to be off by at most R of\ntheir largest value "
     "(0.03 where no --auto-cast is given); 0: no check",
     NULL, FOR_ALL},
    {"--calibrate", "IN.npz", OPTION_CALL, 0, "inputs to measure that on; may be repeated",
     add_calibrate, FOR_ALL},
    {"--winograd", "on|off", OPTION_CALL, 0,
     "3x3 convolutions by Winograd's method where that pays (on)", set_winograd, FOR_ALL},
    {"-O", "0|1|2|3", OPTION_JOINED, 0, "how much to optimise (2)", set_level, FOR_ALL},
    {"--target", target_names + 1, OPTION_CALL, 0, "the machine (cpu)", set_target, FOR_ALL},
    {"--custom-op", "FILE.so", OPTION_CALL, 0,
     "operators of your own (xop.h); the archive carries the file", add_custom_op, FOR_ALL},
    {"--custom-op-external", NULL, OPTION_SWITCH, AT(custom_external),
     "the archive has its name alone: xrun --custom-op FILE.so", NULL, FOR_COMPILE},
    {"--custom-op-source", "FILE", OPTION_CALL, 0,
     "a C or C++ file of it, or a header: part of what --standalone writes", add_custom_source,
     FOR_COMPILE},
    {"--emit", "ir|asm", OPTION_CALL, 0, "print the graph or the program instead", set_emit,
     FOR_COMPILE},
    {"--print-after", "PASS|all", OPTION_TEXT, AT(options.print_after),
     "print the graph after a pass", NULL, FOR_ALL},
    {"--passes", "A,B", OPTION_LIST, AT(options.only), "run these passes only", NULL, FOR_ALL},
    {"--explain", "NODE", OPTION_MAYBE, 0,
     "say what was fused, cast, placed, or not, and why: a summary;\n--explain=NODE: all about "
     "nodes of that name (a glob)",
     set_explain, FOR_ALL},
    {"--explain-nodes", NULL, OPTION_SWITCH, AT(explain_nodes), "all about all nodes", NULL,
     FOR_ALL},
    {"--standalone", "DIR", OPTION_TEXT, AT(standalone),
     "write C sources that make libNAME.a instead of an archive", NULL, FOR_COMPILE},
    {"--isa", "LIST", OPTION_TEXT, AT(isa),
     "of portable,avx2,avx512,avx512vnni,avx512bf16,amx,neon,neondot,neonbf16: what these sources have (all)", NULL,
     FOR_COMPILE},
    {"--amalgamate", NULL, OPTION_SWITCH, AT(amalgamate),
     "one C file instead, which compiles alone: weights, program, runtime", NULL, FOR_COMPILE},
    {"--threads", NULL, OPTION_SWITCH, AT(threads), NULL, NULL, FOR_COMPILE},
    {"--report", NULL, OPTION_SWITCH, AT(report),
     "say how long the target would take, as xsim does", NULL, FOR_COMPILE},
    {"--verify", NULL, OPTION_SWITCH, AT(verify), "compare with the plain routines, node by node",
     NULL, FOR_COMPILE},
    {"--verify-passes", NULL, OPTION_SWITCH, AT(options.verify_passes), NULL, NULL, FOR_ALL},
    {"--list-operators", NULL, OPTION_SWITCH, AT(list_operators), "print what is supported", NULL,
     FOR_COMPILE},
    {"--time-passes", NULL, OPTION_SWITCH, AT(options.time_passes),
     "time and peak memory of each pass", NULL, FOR_ALL},
    {"--framework", "XLA|ONNX", OPTION_CHOICE, AT(framework), NULL, NULL,
     FOR_COMPILE}, /* the content says what it is */
    {"--limit-memory", "BYTES", OPTION_NUMBER, AT(limit_memory),
     "give up when it takes more memory", NULL, FOR_ALL},
    {"--limit-seconds", "S", OPTION_CALL, 0, "give up when it takes longer", set_limit_seconds,
     FOR_ALL},
    {"-q", NULL, OPTION_SWITCH, AT(quiet), "print nothing but errors", NULL, FOR_ALL},
    {"-v", NULL, OPTION_SWITCH, AT(verbose), "print more", NULL, FOR_ALL},
    {"--rtol", "R", OPTION_NUMBER, AT(rtol), "test: relative tolerance (1e-3)", NULL, FOR_TEST},
    {"--atol", "A", OPTION_NUMBER, AT(atol), "test: absolute tolerance (1e-7)", NULL, FOR_TEST},
    {"--module", "NAME", OPTION_TEXT, AT(module), "test: the file to take from each folder", NULL,
     FOR_TEST},
    {"--norm-tol", "R", OPTION_NUMBER, AT(norm_tol), "test: max|out-ref| <= R * max|ref| instead",
     NULL, FOR_TEST},
    {"--reference", NULL, OPTION_SWITCH, AT(reference),
     "test: run by plain routines, do not compile", NULL, FOR_TEST},
    OPTIONS_STANDARD(struct command, FOR_ALL),
};

static bool add_file(void *to, const char *word, struct diag *d)
{
    struct command *c = to;
    c->files[c->nfiles++] = word; /* room for all of argv */
    return true;
}

static bool goes(void *to, const struct option *o, struct diag *d)
{
    bool test = ((struct command *)to)->test;
    return (o->group & (test ? FOR_TEST : FOR_COMPILE)) ||
           fail(d, "%s does not go with %s", o->name, test ? "xcc test" : "compiling");
}

static bool neuronx(void *to, int argc, char **argv, int *i, bool *taken, struct diag *d)
{
    struct command *c = to;
    return !c->neuronx || neuronx_flag(c, argc, argv, i, taken, d);
}

static const struct option_table table = {
    .rows = rows, .count = COUNT(rows), .file = add_file, .allowed = goes, .other = neuronx};

void print_help(void)
{
    printf("xcc: compiles a model into an archive for xrun\n\n"
           "    xcc MODEL -o OUT.neff [flags]       compile\n"
           "    xcc KERNEL.xasm -o OUT.neff [flags] assemble\n"
           "    xcc compile MODEL --output OUT.neff the same, as neuronx-cc spells it\n"
           "    xcc test [flags] DIR...             compile, run and compare test cases\n"
           "    xcc sign ARCHIVE --key KEY          for xrun --trust; --new-key KEY makes a key\n\n"
           "MODEL: ONNX (.onnx), StableHLO (.mlir, .mlirbc, .jaxexport), HLO (.hlo, .hlo.pb), or a "
           "graph\n"
           "as text (.xir)\n\n");
    options_help(stdout, &table);
    printf("\npasses:");
    for (int i = 0; i < npasses; i++)
        printf(" %s", passes[i].name);
    printf("\nexit status: 0 done, 1 bad or unsupported input, 2 usage, 70 internal error\n");
}

bool command_parse(struct command *c, int argc, char **argv, enum subcommand sub, struct diag *d)
{
    *c = (struct command){.target = "cpu", .rtol = -1, .atol = -1, .norm_tol = -1, .cast_budget = -1};
    c->options = (struct options){.opt_level = 2, .auto_cast = CAST_MATMULT, .cast_type = DT_BF16};
    c->files = ARENA_ARRAY(&c->arena, const char *, argc + 1);
    c->test = sub == COMMAND_TEST;
    if (sub == COMMAND_COMPILE)
        neuronx_defaults(c);
    return options_parse(&table, argc, argv, c, d);
}

void command_free(struct command *c)
{
    kernel_library_free(&c->kernels);
    struct arena a = c->arena;
    arena_free(&a);
}
