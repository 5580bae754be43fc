/*
 * `--amalgamate`: the program, its weights and the runtime as one file, NAME.c, that a compiler takes alone.
 *
 * Headers stand where the first file includes them, once. Each compiled file follows with its names
 * prefixed (rename.h); families of kernels once for each instruction set, between pragmas that select it.
 */
#include "frontend/standalone/sets.h"
#include "frontend/standalone/amalgamate.h"

#include "frontend/standalone/rename.h"
#include "frontend/standalone/sources.h"
#include "neff/base/version.h"

#include <stdlib.h>
#include <string.h>

struct whole {
    const struct package *k;
    struct arena arena;
    FILE *to;              /* the file from its first part on */
    struct shared_names shared;
    struct name_set defined; /* what its files define for others */
    struct name_set made_static;
    struct name_set system; /* headers of the system that are included */
    struct name_set done;   /* headers that stand there */
    int parts;
};

/* ---- reading ---- */

static const struct core_file *find_file(const char *path, size_t n)
{
    for (int i = 0; i < ncore_files; i++)
        if (strlen(core_files[i].path) == n && !strncmp(core_files[i].path, path, n))
            return &core_files[i];
    return NULL;
}

static bool ends_with(const char *path, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && !strncmp(path + n - m, end, m);
}

/* Headers that are another for each instruction set. */
static bool is_of_part(const char *path, size_t n)
{
    return ends_with(path, n, ".inc") || ends_with(path, n, "kernels/vec.h") ||
           ends_with(path, n, "kernels/overlay.h");
}

static void put_header(struct whole *w, const struct core_file *f);
static void expand(struct whole *w, const char *text, FILE *to);

static void put_include(struct whole *w, const char *path, FILE *to)
{
    size_t n = strcspn(path, "\"");
    const struct core_file *f = find_file(path, n);
    if (!f) /* NAME.h */
        return;
    bool table = ends_with(path, n, ".def");
    if (!table && !is_of_part(path, n)) {
        put_header(w, f);
        return;
    }
    fprintf(to, "%s", table ? (const char[]){TABLE_BEGINS, 0} : "");
    expand(w, f->text, to);
    fprintf(to, "%s", table ? (const char[]){TABLE_ENDS, 0} : "");
}

/* Headers that not every processor has stay where they are. */
static bool is_of_processor(const char *name)
{
    return strstr(name, "mmintrin.h") || strstr(name, "neon") || strstr(name, "cpuid");
}

static void expand_line(struct whole *w, const char *line, size_t n, FILE *to)
{
    static const char include[] = "#include ";
    const char *what = line + strlen(include);
    bool includes = n > strlen(include) && !strncmp(line, include, strlen(include));
    if (includes && *what == '"')
        put_include(w, what + 1, to);
    else if (includes && *what == '<' && !is_of_processor(arena_strndup(&w->arena, what, strcspn(what, "\n"))))
        names_add(&w->system, what, strcspn(what, ">") + 1);
    else if (!(includes && *what == 'X') && strncmp(line, "#define _GNU_SOURCE", 19) != 0)
        fprintf(to, "%.*s\n", (int)n, line);
}

static void expand(struct whole *w, const char *text, FILE *to)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        expand_line(w, text, n, to);
        text += n + (text[n] == '\n');
    }
}

/* ---- parts ---- */

static void put_header(struct whole *w, const struct core_file *f)
{
    if (names_have(&w->done, f->path, strlen(f->path)))
        return;
    names_add(&w->done, f->path, strlen(f->path));
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        arena_out_of_memory(0);
    expand(w, f->text, to);
    fclose(to);
    fprintf(w->to, "\n/* ---- %s ---- */\n", f->path);
    write_static(text, &w->defined, &w->made_static, w->to);
    free(text);
}

static const char *const redirected[] = {"malloc", "calloc",        "realloc",
                                         "free",   "aligned_alloc", "posix_memalign"};

/* A file's text, its headers before it. `before` and `after` stand around it. */
static void put_part(struct whole *w, const char *what, const char *source, const char *before,
                     const char *after)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        arena_out_of_memory(0);
    expand(w, source, to);
    fclose(to);
    fprintf(w->to, "\n/* ---- %s ---- */\n%s", what, before);
    for (size_t i = 0; i < sizeof redirected / sizeof *redirected; i++)
        fprintf(w->to, "#define %s mem_%s\n", redirected[i], redirected[i]);
    write_renamed(text, arena_printf(&w->arena, "p%d_", ++w->parts), &w->shared, w->to);
    fprintf(w->to, "%s", after);
    free(text);
}

/* ---- kernels ---- */

static void put_family(struct whole *w, const struct kernel_set *s, const char *family)
{
    const char *path = arena_printf(&w->arena, "runtime/kernels/family_%s.c", family);
    const char *before = arena_printf(&w->arena, "#define VARIANT %s\n", s->name), *after = "#undef VARIANT\n";
    for (int i = 0; s->macros[i]; i++) {
        before = arena_printf(&w->arena, "%s#define %s 1\n", before, s->macros[i]);
        after = arena_printf(&w->arena, "%s#undef %s\n", after, s->macros[i]);
    }
    if (*s->features) {
        const char *of_gcc = s->flags + strlen("-m"); /* of one architecture */
        if (s->processor == X86_64)
            of_gcc = arena_printf(&w->arena, "%s,prefer-vector-width=512", s->features);
        before = arena_printf(&w->arena,
                              "#ifdef __clang__\n"
                              "#pragma clang attribute push(__attribute__((target(\"%s\"))), apply_to = function)\n"
                              "#else\n#pragma GCC push_options\n#pragma GCC target(\"%s\")\n#endif\n%s",
                              s->features, of_gcc, before);
        after = arena_printf(&w->arena, "%s#ifdef __clang__\n#pragma clang attribute pop\n#else\n"
                                        "#pragma GCC pop_options\n#endif\n", after);
    }
    static const char *const where[] = {[X86_64] = "KERNELS_X86", [AARCH64] = "defined __aarch64__"};
    if (where[s->processor]) {
        const char *only = s->recent ? arena_printf(&w->arena, "defined USE_ISA_%s", s->name) : where[s->processor];
        before = arena_printf(&w->arena, "#if %s\n%s", only, before);
        after = arena_printf(&w->arena, "%s#endif\n", after);
    }
    const struct core_file *f = find_file(path, strlen(path));
    put_part(w, arena_printf(&w->arena, "%s, %s", path, s->name), f->text, before, after);
}

static void put_kernels(struct whole *w)
{
    for (int i = 0; i < nkernel_sets; i++)
        for (int n = 0; n < kernel_families; n++)
            if (family_wanted(w->k, n, kernel_sets[i].name))
                put_family(w, &kernel_sets[i], family_name(n));
}

/* ---- the file ---- */

static const char *const warnings[] = {
    "pedantic", "unused-function", "unused-parameter", "unused-variable", "unused-but-set-variable",
    "unused-const-variable", "sign-compare", "override-init", "missing-field-initializers", "maybe-uninitialized",
    "psabi", "array-bounds", "stringop-overflow", "cast-function-type", "type-limits", "implicit-fallthrough",
    "empty-body", "format-truncation", "shadow", "conversion", "sign-conversion", "float-conversion",
    "missing-prototypes", "strict-prototypes", "cast-qual", "undef", "double-promotion"};

static void write_pragmas(FILE *f)
{
    fprintf(f, "#if defined __clang__\n#pragma clang diagnostic ignored \"-Weverything\"\n"
               "#pragma STDC FP_CONTRACT OFF\n#elif defined __GNUC__\n"
               "#pragma GCC optimize(\"fp-contract=off\", \"no-math-errno\")\n");
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        fprintf(f, "#pragma GCC diagnostic ignored \"-W%s\"\n", warnings[i]);
    fprintf(f, "#endif\n#pragma GCC visibility push(hidden)\n\n");
}

/* What is defined for others only in programs of one model, or by macros. */
static const char *const more_globals[] = {"op_rows"};
static const char *const more_families[] = {"depthwise_f32", "depthwise_bf16"};

static void write_kernel_name(const struct whole *w, const char *family, const char *set, FILE *f)
{
    fprintf(f, "#define kernel_%s_%s %s_xrt_%s_%s\n", family, set, w->k->name, family, set);
}

/* Programs may have several models: what stays visible between files gets the model's name. */
static void write_global_names(const struct whole *w, FILE *f)
{
    for (size_t i = 0; i < sizeof more_globals / sizeof *more_globals; i++)
        fprintf(f, "#define %s %s_xrt_%s\n", more_globals[i], w->k->name, more_globals[i]);
    for (size_t i = 0; i < w->defined.cap; i++) {
        const char *name = w->defined.slot[i];
        if (name && !names_have(&w->made_static, name, strlen(name)))
            fprintf(f, "#define %s %s_xrt_%s\n", name, w->k->name, name);
    }
    for (int i = 0; i < nkernel_sets; i++) {
        fprintf(f, "#define kernel_table_%s %s_xrt_table_%s\n", kernel_sets[i].name, w->k->name, kernel_sets[i].name);
        for (int n = 0; n < kernel_families; n++)
            write_kernel_name(w, family_name(n), kernel_sets[i].name, f);
        for (size_t n = 0; n < sizeof more_families / sizeof *more_families; n++)
            write_kernel_name(w, more_families[n], kernel_sets[i].name, f);
    }
}

static void write_start(const struct whole *w, FILE *f)
{
    const char *n = w->k->name;
    fprintf(f, "/*\n * %s as one file: the program, its weights, and what of xcc's runtime it uses. It takes a "
               "compiler of\n * GNU C (gcc, clang), libc and libm. Made by xcc %s.\n */\n", n, xcc_version_text);
    fprintf(f, "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE 1\n#endif\n#include \"%s.h\"\n\n", n);
    for (size_t i = 0; i < w->system.cap; i++)
        if (w->system.slot[i])
            fprintf(f, "#include %s\n", w->system.slot[i]);
    fprintf(f, "\n#if defined __x86_64__\n#include <cpuid.h>\n#include <immintrin.h>\n#define KERNELS_X86 1\n#else\n"
               "#define KERNELS_X86 0\n#endif\n\n");
    write_pragmas(f);
    write_global_names(w, f);
    fprintf(f, "#define XRT_USE\n");
    write_use(w->k, f);
}

static void put_own(struct whole *w)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        arena_out_of_memory(0);
    write_source(w->k, to);
    fclose(to);
    put_part(w, arena_printf(&w->arena, "%s", w->k->name), text, "", "");
    free(text);
}

void write_amalgamation(const struct package *k, const bool *sources, FILE *f)
{
    struct whole w = {.k = k};
    char *text = NULL;
    size_t size = 0;
    w.made_static.arena = w.defined.arena = w.system.arena = w.done.arena = &w.arena;
    w.shared.names.arena = w.shared.macros.arena = w.shared.tags.arena = &w.arena;
    w.shared.bodies.arena = w.shared.starts.arena = &w.arena;
    w.to = open_memstream(&text, &size);
    if (!w.to)
        arena_out_of_memory(0);
    for (int i = 0; i < ncore_files; i++)
        for (const char *s = core_files[i].defines + 1; sources[i] && *s; s += strcspn(s, " ") + 1)
            names_add(&w.defined, s, strcspn(s, " "));
    for (int i = 0; i < ncore_files; i++)
        if (sources[i] && ends_with(core_files[i].path, strlen(core_files[i].path), ".h") &&
            !is_of_part(core_files[i].path, strlen(core_files[i].path)))
            share_names(&w.shared, core_files[i].text);
    for (int i = 0; i < ncore_files; i++)
        if (sources[i] && source_is_unit(&core_files[i]))
            put_part(&w, core_files[i].path, core_files[i].text, "", "");
    put_kernels(&w);
    put_own(&w);
    fclose(w.to);
    write_start(&w, f);
    fwrite(text, 1, size, f);
    fprintf(f, "#pragma GCC visibility pop\n");
    free(text);
    arena_free(&w.arena);
}
