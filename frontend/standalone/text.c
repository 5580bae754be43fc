/*
 * The text of the files but for the runtime's sources.
 */
#include "frontend/standalone/standalone.h"

#include "neff/base/version.h"

#include <inttypes.h>
#include <string.h>

/* ---- the header ---- */

/* What an element is in C; numbers of other widths are bit patterns. */
static const char *c_type(int dtype)
{
    static const char *const types[DT_END] = {
        [DT_F32] = "float",    [DT_F64] = "double",   [DT_I8] = "int8_t",    [DT_U8] = "uint8_t",
        [DT_I16] = "int16_t",  [DT_U16] = "uint16_t", [DT_I32] = "int32_t",  [DT_U32] = "uint32_t",
        [DT_I64] = "int64_t",  [DT_U64] = "uint64_t", [DT_BOOL] = "uint8_t", [DT_F16] = "uint16_t",
        [DT_BF16] = "uint16_t"};
    if (types[dtype])
        return types[dtype];
    return dtype_bytes(dtype) == 1 ? "uint8_t" : dtype_bytes(dtype) == 8 ? "float" : "double";
}

/* Of a comment. */
static const char *plain(const char *name, struct arena *a)
{
    char *s = arena_strdup(a, name);
    for (char *c = s; *c; c++)
        if ((unsigned char)*c < ' ' || (*c == '*' && c[1] == '/') || (*c == '/' && c[1] == '*'))
            *c = '_';
    return s;
}

static void write_tensor(const struct package *k, const char *list, int i, const char *name,
                         const struct type *t, struct arena *a, FILE *f)
{
    const char *part = list[0] == 'i' ? "INPUT" : "OUTPUT";
    const struct program *p = k->p;
    int64_t count = 1;
    for (int j = 0; j < t->rank && count >= 0; j++)
        count = dim_is_const(t->dims[j]) ? count * t->dims[j] : -1;
    fprintf(f, "/* %ss[%d]: '%s', %s, elements of %s */\n", list, i, plain(name, a),
            plain(type_text(&p->dims, a, t), a), c_type(t->dtype));
    if (t->rank >= 0 && count >= 0)
        fprintf(f, "#define %s_%s_%d_COUNT %" PRId64 "\n", k->upper, part, i, count);
    if (*part == 'O' && k->room[i])
        fprintf(f,
                "#ifndef %s_OUTPUT_%d_BYTES /* of its memory: only running tells how many it takes */\n"
                "#define %s_OUTPUT_%d_BYTES %zu\n#endif\n",
                k->upper, i, k->upper, i, k->room[i]);
}

static void write_tensors(const struct package *k, FILE *f)
{
    const struct program_region *r = &k->p->regions[0];
    struct arena a = {0};
    for (int i = 0; i < r->nparams; i++)
        write_tensor(k, "input", i, k->p->slots[r->params[i]].name, &k->p->slots[r->params[i]].type,
                     &a, f);
    for (int i = 0; i < r->nresults; i++)
        write_tensor(k, "output", i, k->p->output_names[i], &k->p->slots[r->results[i]].type, &a,
                     f);
    for (int i = 0; i < k->nopen; i++)
        fprintf(f, "/* symbols[%d]: '%s', up to %" PRId64 " in %s_CONTEXT_SIZE bytes */\n", i,
                plain(k->open[i].name, &a), k->open[i].max, k->upper);
    fprintf(f, "enum { %s_INPUTS = %d, %s_OUTPUTS = %d, %s_SYMBOLS = %d };\n", k->upper, r->nparams,
            k->upper, r->nresults, k->upper, k->nopen);
    arena_free(&a);
}

#define PARALLEL "void (*run)(void *user, int n, void (*job)(void *arg, int i), void *arg), void *user"

static void write_threads_header(const struct package *k, FILE *f)
{
    const char *n = k->name;
    fprintf(
        f,
        "/* Runs from now on are shared by so many threads, at most %s_THREADS, of the caller's: run(user, "
        "n, job,\n   arg) calls job(arg, i) for each i below n, in any order and side by side, and returns "
        "when all are done.\n   Results keep their bits. run NULL: by the calling thread alone, as from the start. */\n"
        "#define %s_THREADS %d\nvoid %s_threads(struct %s *m, int threads,\n    " PARALLEL ");\n",
        k->upper, k->upper, MAX_THREADS, n, n);
}

static void write_threads(const struct package *k, bool planned, FILE *f)
{
    const char *n = k->name;
    fprintf(f, "\nvoid %s_threads(struct %s *m, int threads,\n    " PARALLEL ")\n{\n", n, n);
    if (planned)
        fprintf(f, "    planned_threads((struct planned *)m, threads, &(struct parallel){run, user});\n}\n");
    else
        fprintf(f, "    (void)m, (void)threads, (void)run, (void)user;\n}\n");
}

void write_header(const struct package *k, FILE *f)
{
    const char *n = k->name, *u = k->upper;
    fprintf(f, "/*\n * %s: a compiled model, made by xcc %s.\n *\n", n, xcc_version_text);
    fprintf(f, " *     static char memory[%s_CONTEXT_SIZE];\n", u);
    fprintf(f, " *     struct %s *m = %s_init(memory, sizeof memory);\n", n, n);
    if (k->nopen)
        fprintf(f, " *     %s_bind(m, symbols);\n", n);
    fprintf(f, " *     %s_run(m, inputs, outputs);\n *\n", n);
    fprintf(
        f,
        " * All memory is the caller's. A context belongs to one thread at a time; any number of\n"
        " * them may be used at once. Nothing is read but the arguments, and nothing is freed.\n");
    write_operators_note(k, f);
    fprintf(f, " */\n");
    fprintf(f, "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", u, u);
    fprintf(f, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n/* Tensors are dense, row-major, and "
               "aligned to their elements. */\n");
    write_tensors(k, f);
    fprintf(f, "\n/* Bytes of memory that a context needs%s. */\n",
            k->dynamic ? ", about: results of unknown size may need more" : "");
    if (k->plan)
        fprintf(f,
                "#if UINTPTR_MAX > 0xffffffff\n#define %s_CONTEXT_SIZE %zu\n#else\n"
                "#define %s_CONTEXT_SIZE %zu\n#endif\n",
                u, k->plan->context_size, u, k->context_size);
    else
        fprintf(f, "#define %s_CONTEXT_SIZE %zu\n", u, k->context_size);
    fprintf(f, "size_t %s_context_size(void);\n\n", n);
    fprintf(f, "/* A context in this memory. NULL after a failure: %s_error(NULL) says why. */\n",
            n);
    fprintf(f, "struct %s;\nstruct %s *%s_init(void *memory, size_t size);\n", n, n, n);
    if (k->nopen)
        fprintf(f,
                "/* Sets the sizes that the model leaves open, before the first run and whenever "
                "they change. 0, or\n   not 0 after a failure. */\n"
                "int %s_bind(struct %s *m, const int64_t *symbols);\n",
                n, n);
    if (k->o->threads)
        write_threads_header(k, f);
    fprintf(f,
            "/* Reads the inputs, writes the outputs; an output that is NULL is not wanted. 0, or "
            "not 0 after a\n   failure. */\n");
    fprintf(f, "int %s_run(struct %s *m, const void *const *inputs, void *const *outputs);\n", n,
            n);
    fprintf(f,
            "/* Bytes of an output. */\nsize_t %s_output_bytes(const struct %s *m, int output);\n",
            n, n);
    fprintf(
        f,
        "/* The rank of an output of the last run, and its dimensions (at most 12); -1: there is "
        "none. */\nint %s_output_dims(const struct %s *m, int output, int64_t *dims);\n",
        n, n);
    fprintf(f, "/* Why the last call failed, in English; \"\" when it did not. */\n");
    fprintf(f, "const char *%s_error(const struct %s *m);\n", n, n);
    fprintf(f, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- the source ---- */

static void write_words(const uint8_t *data, size_t size, FILE *f)
{
    enum { PER_LINE = 5 };
    for (size_t i = 0; i < size; i += 8) {
        uint64_t w = 0;
        for (size_t b = 0; b < 8 && i + b < size; b++)
            w |= (uint64_t)data[i + b] << (8 * b);
        fprintf(f, "%s0x%" PRIx64 ",", i / 8 % PER_LINE ? " " : "\n    ", w);
    }
}

static void write_data(const struct package *k, FILE *f)
{
    fprintf(f, "#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
               "#error \"the model's data is for little-endian processors\"\n#endif\n\n");
    if (k->in_c) {
        fprintf(f, "static const uint64_t constants[] __attribute__((aligned(64))) = {");
        write_words(k->constants, k->constants_size ? k->constants_size : 1, f);
        fprintf(f, "\n};\n\n");
        return;
    }
    fprintf(f, "extern const char %s_constants[];\n", k->name);
    fprintf(f,
            "__asm__(\".section .rodata.%s_constants,\\\"a\\\"\\n\"\n"
            "        \".balign 64\\n\"\n"
            "        \".hidden %s_constants\\n\"\n"
            "        \".globl %s_constants\\n\"\n"
            "        \"%s_constants: .incbin \\\"%s.bin\\\"\\n\"\n"
            "        \".previous\\n\");\n#define constants %s_constants\n\n",
            k->name, k->name, k->name, k->name, k->name, k->name);
}

static void write_program(const struct package *k, FILE *f)
{
    fprintf(f, "static const uint64_t program[] = {");
    write_words(k->code, k->code_size, f);
    fprintf(f, "\n};\n\nstatic const size_t room[] = {");
    for (int i = 0; i < k->p->regions[0].nresults; i++)
        if (k->room[i])
            fprintf(f, "%s_OUTPUT_%d_BYTES, ", k->upper, i);
        else
            fprintf(f, "0, ");
    fprintf(
        f, "0};\nstatic const struct standalone_model model = {program, %zu, constants, room};\n\n",
        k->code_size);
}

static void write_plan_text(const struct plan_text *t, const char *name, FILE *f)
{
    enum { PER_LINE = 24 };
    if (!t->tokens)
        return;
    fprintf(f, "static const uint8_t %s[] = {", name);
    for (size_t i = 0; i < t->bytes; i++)
        fprintf(f, "%s%d,", i % PER_LINE ? "" : "\n    ", t->tokens[i]);
    fprintf(f, "\n};\n");
}

static void write_plan(const struct plan_set *p, int threads, FILE *f)
{
    write_plan_text(&p->wide, "wide", f);
    write_plan_text(&p->narrow, "narrow", f);
    fprintf(f, "static const exec_fn functions[] = {");
    for (int i = 0; i < p->nfunctions; i++)
        fprintf(f, "%s%s,", i % 4 ? " " : "\n    ", p->functions[i]);
    fprintf(f, "\n    NULL};\nstatic const struct planned_model model = {\n");
    fprintf(f, "    {%s, %zu, %zu}, {%s, %zu, %zu}, functions, constants, %d};\n\n",
            p->wide.tokens ? "wide" : "NULL", p->wide.bytes, p->wide.words,
            p->narrow.tokens ? "narrow" : "NULL", p->narrow.bytes, p->narrow.words, threads);
}

/* The functions of the header, by those of planned.h or standalone.h. */
static void write_functions(const struct package *k, const char *by, FILE *f)
{
    const char *n = k->name;
    fprintf(f,
            "struct %s *%s_init(void *memory, size_t size)\n{\n"
            "    return (struct %s *)%s_init(&model, memory, size);\n}\n\n",
            n, n, n, by);
    if (k->nopen)
        fprintf(f,
                "int %s_bind(struct %s *m, const int64_t *symbols)\n{\n"
                "    return %s_bind((struct %s *)m, symbols);\n}\n\n",
                n, n, by, by);
    fprintf(f,
            "int %s_run(struct %s *m, const void *const *inputs, void *const *outputs)\n{\n"
            "    return %s_run((struct %s *)m, inputs, outputs);\n}\n\n",
            n, n, by, by);
    fprintf(f,
            "size_t %s_output_bytes(const struct %s *m, int output)\n{\n"
            "    return %s_output_bytes((const struct %s *)m, output);\n}\n\n",
            n, n, by, by);
    fprintf(f,
            "int %s_output_dims(const struct %s *m, int output, int64_t *dims)\n{\n"
            "    return %s_output_dims((const struct %s *)m, output, dims);\n}\n\n",
            n, n, by, by);
    fprintf(f,
            "const char *%s_error(const struct %s *m)\n{\n"
            "    return %s_error((const struct %s *)m);\n}\n",
            n, n, by, by);
}

void write_source(const struct package *k, FILE *f)
{
    const char *n = k->name;
    fprintf(f, "/* Made by xcc %s: the program, the weights, and the functions of %s.h. */\n",
            xcc_version_text, n);
    fprintf(f, "#pragma GCC visibility push(default)\n#include \"%s.h\"\n", n);
    fprintf(f, "#pragma GCC visibility pop\n\n#include \"runtime/standalone/standalone.h\"\n");
    if (k->plan)
        fprintf(f, "#include \"runtime/exec/engine.h\"\n#include \"runtime/standalone/planned.h\"\n");
    fprintf(f, "\n");
    write_data(k, f);
    write_operators(k, f);
    fprintf(f, "size_t %s_context_size(void)\n{\n    return %s_CONTEXT_SIZE;\n}\n\n", n, k->upper);
    if (k->plan) {
        fprintf(f, "#if UINTPTR_MAX > 0xffffffff /* the plan is for these */\n\n");
        write_plan(k->plan, k->o->threads ? MAX_THREADS : 1, f);
        write_functions(k, "planned", f);
        if (k->o->threads)
            write_threads(k, true, f);
        fprintf(f, "\n#else\n\n");
    }
    write_program(k, f);
    write_functions(k, "standalone", f);
    if (k->o->threads)
        write_threads(k, false, f);
    if (k->plan)
        fprintf(f, "\n#endif\n");
}
