#include "frontend/standalone/sources.h"

#include <string.h>

struct closure {
    const struct used *u;
    bool *needed;
    bool calls, control;
};

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

static bool is_family(const char *path)
{
    return begins(path, "runtime/kernels/family_");
}

bool source_is_unit(const struct core_file *f)
{
    size_t n = strlen(f->path);
    return n > 2 && !strcmp(f->path + n - 2, ".c") && !is_family(f->path);
}

/* Whether " list of names " has the first n characters of name. */
static bool lists(const char *list, const char *name, size_t n)
{
    for (const char *s = list; (s = strchr(s, ' ')) && s[1]; s++)
        if (!strncmp(s + 1, name, n) && s[1 + n] == ' ')
            return true;
    return false;
}

static bool is_alone(const struct core_file *f)
{
    return strstr(f->path, "/alone/") != NULL;
}

/* Whether a file for programs without a system (alone/) defines a function of it: it is for others.
 */
static bool is_replaced(const struct core_file *f)
{
    for (const char *s = f->defines + 1; *s && !is_alone(f); s += strcspn(s, " ") + 1)
        for (int i = 0; i < ncore_files; i++)
            if (is_alone(&core_files[i]) && lists(core_files[i].defines, s, strcspn(s, " ")))
                return true;
    return false;
}

/* The file that defines a function; -1: none, or one that is replaced. */
static int find_definition(const char *name, size_t n)
{
    int found = -1;
    for (int i = 0; i < ncore_files; i++)
        if (lists(core_files[i].defines, name, n) && (found < 0 || is_alone(&core_files[i])))
            found = i;
    return found >= 0 && is_replaced(&core_files[found]) ? -1 : found;
}

static bool is_one_of(const char *const *list, size_t count, const char *name, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == n && !strncmp(name, list[i], n))
            return true;
    return false;
}

/*
 * What is not followed: the rows of tables, whose functions come from `use`, what only calls of operators, or loops and
 * branches, lead to where a program has none, and instructions that run together, which no program for itself has.
 */
static bool is_cut(const struct closure *c, bool table, const char *name, size_t n)
{
    static const char *const rows[] = {"exec_", "prepare_", "infer_", "eval_"};
    static const char *const of_calls[] = {"op_run",     "op_eval",           "infer_run",
                                           "run_region", "content_of_tensor", "op_signature"};
    static const char *const of_control[] = {"plan_control", "plan_quick", "plan_loops", "run_control", "quick_run"};
    static const char *const of_streams[] = {"stream_insns", "stream_takes", "bind_small_products"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && table; i++)
        if (begins(name, rows[i]))
            return true;
#define LISTS(list) is_one_of(list, sizeof list / sizeof *list, name, n)
    return (!c->calls && LISTS(of_calls)) || (!c->control && LISTS(of_control)) || LISTS(of_streams);
#undef LISTS
}

static void need_name(struct closure *c, const char *name, size_t n);

/* Headers, and tables that are included. */
static void need_includes(struct closure *c, const char *text)
{
    for (const char *s = text; (s = strstr(s, "#include \"")); s++) {
        const char *path = s + strlen("#include \"");
        size_t n = strcspn(path, "\"");
        for (int i = 0; i < ncore_files; i++)
            if (strlen(core_files[i].path) == n && !strncmp(core_files[i].path, path, n) &&
                !c->needed[i]) {
                c->needed[i] = true;
                need_includes(c, core_files[i].text);
            }
    }
}

static void need_file(struct closure *c, int i)
{
    if (i < 0 || c->needed[i])
        return;
    c->needed[i] = true;
    need_includes(c, core_files[i].text);
    bool table = !strcmp(core_files[i].path, "runtime/exec/executors.c") ||
                 !strcmp(core_files[i].path, "runtime/ops/common/dispatch.c");
    for (const char *s = core_files[i].needs + 1; *s;) {
        size_t n = strcspn(s, " ");
        if (!is_cut(c, table, s, n))
            need_name(c, s, n);
        s += n + 1;
    }
}

static void need_name(struct closure *c, const char *name, size_t n)
{
    need_file(c, find_definition(name, n));
}

static void need(struct closure *c, const char *name)
{
    need_name(c, name, strlen(name));
}

static void need_executor(struct closure *c, const char *insn, const char *exec,
                          const char *prepare)
{
    if (!use_has(c->u, insn))
        return;
    need(c, exec);
    need(c, prepare);
}

static void need_operator(struct closure *c, const char *call, const char *infer, const char *eval)
{
    if (!use_has(c->u, call))
        return;
    need(c, infer);
    need(c, eval);
}

bool *sources_needed(const struct used *u, struct arena *a)
{
    struct closure c = {u, ARENA_ARRAY(a, bool, ncore_files + 1), use_has(u, "CALLS"), use_has(u, "CONTROL")};
    need(&c, "standalone_init");
    need(&c, "planned_init");
    need(&c, "kernels_get");
#define EXECUTOR(name, prepare) need_executor(&c, "EXEC_" #name, "exec_" #name, #prepare);
#include "runtime/exec/executors.def"
#define OP(id, ...)    need_operator(&c, "CALL_" #id, "infer_" #id, "eval_" #id);
#define UNARY(id, ...) need_operator(&c, "CALL_" #id, "infer_elementwise", "eval_elementwise");
#define PARAMETRIC     UNARY
#define BINARY         UNARY
#define COMPARE        UNARY
#include "neff/core/op.def"
    for (int i = 0; i < ncore_files; i++) {
        const char *path = core_files[i].path;
        if (!is_family(path))
            continue;
        const char *name = path + strlen("runtime/kernels/family_");
        char family[64] = "FAMILY_";
        strncat(family, name, strcspn(name, "."));
        if (!strncmp(name, "rows", 4) || use_has(u, family))
            need_file(&c, i);
    }
    return c.needed;
}
