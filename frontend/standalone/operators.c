/*
 * Libraries of custom operators (runtime/xop.h) in standalone programs. A library's code comes from
 * sources that are given, and become part of libNAME.a; otherwise libNAME.a leaves `xop_library` open for
 * the object that the program is linked with.
 */
#include "frontend/standalone/sources.h"
#include "frontend/standalone/standalone.h"

#include "neff/base/file.h"
#include "runtime/standalone/linked.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the n-th source is one of library i of the program. Names do not say it: two may have the same. */
static bool is_source_of(const struct package *k, int n, int i)
{
    struct diag ignored = {0}; /* it was loaded before */
    const struct custom_library *l = custom_open(k->o->operators->files[n].library, &ignored);
    return l && !strcmp(l->hash, k->p->libraries[i].hash);
}

static bool has_sources(const struct package *k, int i)
{
    for (int n = 0; n < k->o->operators->count; n++)
        if (is_source_of(k, n, i))
            return true;
    return false;
}

/* Whether another library of the program has this one's name, as an identifier. */
static bool has_namesake(const struct package *k, int i, const char *name, struct arena *a)
{
    for (int j = 0; j < k->p->nlibraries; j++)
        if (j != i && !strcmp(c_identifier(a, k->p->libraries[j].name), name))
            return true;
    return false;
}

/* Where library i's sources lie: those of several may have the same names. */
static const char *folder_of(const struct package *k, int i, struct arena *a)
{
    return k->p->nlibraries == 1 ? "operators" : arena_printf(a, "operators/%d", i);
}

/* The name of the library's table: a symbol. */
static const char *symbol_of(const struct package *k, int i, struct arena *a)
{
    if (has_sources(k, i))
        return arena_printf(a, "%s_operators_%d", k->name, i);
    if (k->p->nlibraries == 1)
        return "xop_library";
    const char *name = c_identifier(a, k->p->libraries[i].name);
    if (has_namesake(k, i, name, a))
        return arena_printf(a, "xop_library_%s_%d", name, i);
    return arena_printf(a, "xop_library_%s", name);
}

static bool copy_source(const struct package *k, int n, int i, struct arena *a, struct diag *d)
{
    const char *path = k->o->operators->files[n].path;
    struct mapped_file f;
    if (!file_map(&f, path, d))
        return false;
    const char *to = arena_printf(a, "%s/%s", k->o->folder, folder_of(k, i, a));
    bool ok = make_folder(to, d) && file_write_all(arena_printf(a, "%s/%s", to, base_name(path)), f.data, f.size, d);
    file_unmap(&f);
    return ok;
}

/* xop.h beside the sources, where no xrt/ has it. */
static bool copy_header(const struct package *k, struct arena *a, struct diag *d)
{
    const char *to = arena_printf(a, "%s/operators/xop.h", k->o->folder);
    for (int i = 0; i < ncore_files && k->o->amalgamate; i++)
        if (!strcmp(core_files[i].path, "runtime/xop.h"))
            return file_write_all(to, core_files[i].text,
                                  (size_t)(core_files[i].end - core_files[i].text), d);
    return true;
}

bool copy_operators(const struct package *k, struct diag *d)
{
    struct arena a = {0};
    bool ok = true;
    for (int i = 0; i < k->p->nlibraries; i++)
        for (int n = 0; ok && n < k->o->operators->count; n++) {
            const char *folder = arena_printf(&a, "%s/operators", k->o->folder);
            if (!is_source_of(k, n, i))
                continue;
            ok = make_folder(folder, d) && copy_header(k, &a, d) && copy_source(k, n, i, &a, d);
        }
    arena_free(&a);
    return ok;
}

/* "my.ops::Leaky, my.ops::Other" */
static const char *names_of(const struct package *k, int i, struct arena *a)
{
    const struct custom_library *l = custom_library_find(k->p->libraries[i].hash);
    const char *text = "";
    for (int n = 0; n < l->count && strlen(text) < 60; n++)
        text = arena_printf(a, "%s%s%s", text, n ? ", " : "", l->operators[n].full);
    return text;
}

void write_operators_note(const struct package *k, FILE *f)
{
    struct arena a = {0};
    for (int i = 0; i < k->p->nlibraries; i++)
        if (!has_sources(k, i)) {
            const char *symbol = symbol_of(k, i, &a);
            fprintf(f,
                    " *\n * Operators of %s (%s):\n * link with it, or with an object of its sources%s%s.\n",
                    k->p->libraries[i].name, names_of(k, i, &a),
                    k->p->nlibraries > 1 ? " compiled with\n * -DXOP_LIBRARY_NAME=" : "",
                    k->p->nlibraries > 1 ? symbol : "");
        }
    arena_free(&a);
}

static size_t text_size(const struct custom_library *l)
{
    size_t n = 0;
    for (int i = 0; i < l->count; i++) {
        const struct xop_operator *one = l->operators[i].code;
        n += linked_text_size(&(struct xop_library){.count = 1, .operators = &one});
    }
    return n;
}

/* What the i-th row of the table points to. */
static void write_library(const struct package *k, int i, const char *symbol, FILE *f)
{
    enum { SPARE = 4096 }; /* and as much again: other processors' structures */
    size_t size = 2 * custom_library_find(k->p->libraries[i].hash)->arena.used + SPARE;
    fprintf(f,
            "#pragma GCC visibility push(default)\nextern const struct xop_library %s;\n"
            "#pragma GCC visibility pop\nstatic struct custom_library parsed_%d;\n"
            "static _Atomic(int) state_%d;\nstatic char memory_%d[%zu] __attribute__((aligned(64)));\n",
            symbol, i, i, i, size);
}

void write_operators(const struct package *k, FILE *f)
{
    struct arena a = {0};
    int n = k->p->nlibraries;
    if (n)
        fprintf(f, "#include \"runtime/standalone/linked.h\"\n\n");
    for (int i = 0; i < n; i++)
        write_library(k, i, symbol_of(k, i, &a), f);
    if (n)
        fprintf(f, "const struct linked_library linked_libraries[] = {\n");
    for (int i = 0; i < n; i++) {
        const struct program_library *from = &k->p->libraries[i];
        fprintf(f,
                "    {\"%s\",\n     \"%s\",\n     &%s, &parsed_%d, &state_%d, memory_%d, sizeof memory_%d, "
                "%zu},\n",
                c_identifier(&a, from->name), from->hash, symbol_of(k, i, &a), i, i, i, i,
                text_size(custom_library_find(from->hash)));
    }
    if (n)
        fprintf(f, "};\nconst int nlinked_libraries = %d;\n\n", n);
    arena_free(&a);
}

/* ---- the Makefile ---- */

static bool ends_with_one_of(const char *name, const char *const *ends, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name_ends_with(name, ends[i]))
            return true;
    return false;
}

/* The variable that has the compiler; NULL: a header. */
static const char *compiler_of(const char *path)
{
    static const char *const cpp[] = {".cpp", ".cc", ".cxx", ".C"};
    if (name_ends_with(path, ".c"))
        return "CC";
    return ends_with_one_of(path, cpp, sizeof cpp / sizeof *cpp) ? "CXX" : NULL;
}

/* "operators/leaky.c.o": a leaky.cpp may be beside it. */
static const char *object_of(const struct package *k, int n, int i, struct arena *a)
{
    return arena_printf(a, "%s/%s.o", folder_of(k, i, a), base_name(k->o->operators->files[n].path));
}

void write_operator_objects(const struct package *k, FILE *f)
{
    struct arena a = {0};
    for (int i = 0; i < k->p->nlibraries; i++)
        for (int n = 0; n < k->o->operators->count; n++)
            if (is_source_of(k, n, i) && compiler_of(k->o->operators->files[n].path))
                fprintf(f, "OBJECTS += %s\n", object_of(k, n, i, &a));
    arena_free(&a);
}

void write_operator_rules(const struct package *k, FILE *f)
{
    struct arena a = {0};
    for (int i = 0; i < k->p->nlibraries; i++)
        for (int n = 0; n < k->o->operators->count; n++) {
            const char *path = k->o->operators->files[n].path, *compiler = compiler_of(path);
            if (is_source_of(k, n, i) && compiler)
                fprintf(f,
                        "%s: %s/%s\n\t$(%s) $(CFLAGS) $(OPT) $(OPERATOR_FLAGS) -fPIC "
                        "-ffunction-sections -fdata-sections -fvisibility=hidden \\\n\t    -I%s "
                        "-DXOP_LIBRARY_NAME=%s -c -o $@ $<\n",
                        object_of(k, n, i, &a), folder_of(k, i, &a), base_name(path), compiler,
                        k->o->amalgamate ? "operators" : "xrt/runtime", symbol_of(k, i, &a));
        }
    arena_free(&a);
}
