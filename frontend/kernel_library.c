#include "frontend/kernel_library.h"

#include "frontend/assemble.h"
#include "neff/base/file.h"
#include "neff/isa/asm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kernel_entry *kernel_library_find(const struct kernel_library *lib, const char *name)
{
    for (int i = 0; lib && i < lib->count; i++)
        if (!strcmp(lib->list[i].name, name))
            return &lib->list[i];
    return NULL;
}

const char *kernel_library_text(const struct kernel_library *lib, struct arena *a)
{
    const char *text = "";
    if (!lib || !lib->count)
        return "none; give a library with --kernels LIB.xasm";
    for (int i = 0; i < lib->count; i++)
        text = arena_printf(a, "%s%s%.200s (%s)", text, i ? ", " : "", lib->list[i].name,
                            lib->list[i].file);
    return text;
}

void kernel_library_free(struct kernel_library *lib)
{
    for (int i = 0; i < lib->count; i++)
        program_free(lib->list[i].p);
    struct arena a = lib->arena;
    arena_free(&a);
    *lib = (struct kernel_library){0};
}

/* ---- reading ---- */

/* Every size in the outputs and inside follows from a dimension of an input that is it alone. */
static bool symbols_are_bound(const struct program *p, struct diag *d)
{
    const struct program_region *main = &p->regions[0];
    for (int s = 0; s < p->dims.nsymbols; s++) {
        bool bound = false;
        for (int i = 0; i < main->nparams; i++) {
            const struct type *t = &p->slots[main->params[i]].type;
            for (int k = 0; k < t->rank; k++)
                bound |= dim_as_symbol(&p->dims, t->dims[k]) == s;
        }
        if (!bound)
            return fail(d, "no input of kernel '%.200s' has the size '%s' as a dimension",
                        p->name, p->dims.symbols[s].name);
    }
    return true;
}

/* The program's name belongs to a part of another: that one goes. False: to a program. */
static bool make_room(struct kernel_library *lib, const struct program *p)
{
    struct kernel_entry *other = (struct kernel_entry *)kernel_library_find(lib, p->name);
    if (!other)
        return true;
    if (!other->part)
        return false;
    program_free(other->p);
    *other = lib->list[--lib->count];
    return true;
}

/* Takes p over. */
static bool add(struct kernel_library *lib, struct program *p, const char *file, bool part,
                struct diag *d)
{
    const char *problem = !p->name || !*p->name ? "a program without a name"
                          : !p->regions[0].nresults ? "a kernel without an output"
                                                    : NULL;
    bool ok = !problem || fail(d, "%s: %s", file, problem);
    if (ok && !make_room(lib, p))
        ok = fail(d, "%s: kernel '%.200s' is in %s already; a name stands for one kernel", file,
                  p->name, kernel_library_find(lib, p->name)->file);
    ok = ok && (symbols_are_bound(p, d) || fail_in(d, "%s", file));
    if (!ok) {
        program_free(p);
        return false;
    }
    ARENA_GROW(&lib->arena, lib->list, lib->count, lib->cap);
    lib->list[lib->count++] = (struct kernel_entry){arena_strdup(&lib->arena, p->name),
                                                    arena_strdup(&lib->arena, file), p, part};
    return true;
}

/* ---- kernels of a program that launches several ---- */

/* Per slot whether the kernel reads it, and whether it writes it. */
struct slots_touched {
    bool *read, *written;
};

static struct slots_touched touched_by(const struct program *p, const struct kernel *k, struct arena *a)
{
    struct slots_touched t = {ARENA_ARRAY(a, bool, p->nslots + 1), ARENA_ARRAY(a, bool, p->nslots + 1)};
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int o = 0; o < info->naps; o++) {
            const struct ap *ap = &k->insns[i].ap[o];
            if (ap->mem != MEM_HBM)
                continue;
            t.read[ap->tensor] |= info->ap[o].access != 'w';
            t.written[ap->tensor] |= info->ap[o].access != 'r';
        }
    }
    return t;
}

/* Whether the kernel needs nothing that another one of the program makes. */
static bool stands_alone(const struct program *p, const struct slots_touched *t)
{
    for (int i = 0; i < p->nslots; i++) {
        int kind = p->slots[i].kind;
        bool known = kind == SLOT_INPUT || kind == SLOT_CONST || t->written[i];
        if ((t->read[i] && !known) || ((t->read[i] || t->written[i]) && kind == SLOT_VIEW) ||
            (t->written[i] && !p->slots[i].is_output))
            return false;
    }
    return true;
}

/* The program (of the same text, read once more) becomes that of its kernel k. */
static void keep_kernel(struct program *p, int k, const struct slots_touched *t)
{
    struct program_region *main = &p->regions[0];
    int nin = 0, nout = 0;
    for (int i = 0; i < main->nparams; i++)
        if (t->read[main->params[i]])
            main->params[nin++] = main->params[i];
    for (int i = 0; i < main->nresults; i++)
        if (t->written[main->results[i]]) {
            p->output_names[nout] = p->output_names[i];
            main->results[nout++] = main->results[i];
        }
    main->nparams = nin, main->nresults = nout;
    p->kernels[0] = p->kernels[k];
    p->nkernels = main->nsteps = 1;
    main->steps[0] = (struct step){.kind = STEP_LAUNCH, .index = 0};
    p->name = p->kernels[0].name;
    for (int i = 0; i < p->nslots; i++) /* the others are not touched */
        if (!t->read[i] && !t->written[i])
            p->slots[i] = (struct slot){.kind = SLOT_PLANNED,
                                        .base = -1,
                                        .type = type_tensor(DT_U8, 1, (dim_t[]){1})};
}

static bool add_kernels(struct kernel_library *lib, const struct program *p, const char *text,
                        size_t n, size_t at, const char *file, struct diag *d)
{
    struct arena scratch = {0};
    bool ok = true;
    for (int k = 0; ok && p->nkernels > 1 && p->ncalls == 0 && k < p->nkernels; k++) {
        struct slots_touched t = touched_by(p, &p->kernels[k], &scratch);
        const char *name = p->kernels[k].name;
        size_t from = at;
        if (!name || !*name || kernel_library_find(lib, name) || !stands_alone(p, &t))
            continue;
        struct program *own = program_parse_next(text, n, &from, file, d);
        ok = own && assemble_constants(own, file, d);
        if (ok)
            keep_kernel(own, k, &t);
        else
            program_free(own);
        ok = ok && add(lib, own, file, true, d);
    }
    arena_free(&scratch);
    return ok;
}

bool kernel_library_parse(struct kernel_library *lib, const char *text, size_t n, const char *file,
                   struct diag *d)
{
    size_t at = 0;
    do {
        size_t start = at;
        struct program *p = program_parse_next(text, n, &at, file, d);
        if (!p)
            return false;
        if (!assemble_constants(p, file, d)) {
            program_free(p);
            return false;
        }
        if (!add(lib, p, file, false, d) || !add_kernels(lib, p, text, n, start, file, d))
            return false;
    } while (at < n);
    return true;
}

bool kernel_library_read(struct kernel_library *lib, const char *path, struct diag *d)
{
    struct mapped_file f;
    if (!is_assembly(path))
        return fail(d, "%s: --kernels takes text, in a file named .xasm", path);
    if (!file_map(&f, path, d))
        return false;
    bool ok = kernel_library_parse(lib, (const char *)f.data, f.size, path, d);
    file_unmap(&f);
    return ok;
}

/* ---- calls ---- */

static void set_types(const struct program *p, const int32_t *slots, int n,
                      const char *const *names, const char *attribute, struct arena *a,
                      struct attrs *out)
{
    struct str *list = ARENA_ARRAY(a, struct str, n + 1);
    for (int i = 0; i < n; i++) {
        const struct slot *s = &p->slots[slots[i]];
        const char *name = names ? names[i] : s->name;
        const char *text = arena_printf(a, "%s %s", type_text(&p->dims, a, &s->type), name);
        list[i] = (struct str){text, strlen(text)};
    }
    attr_set_strs(a, out, attribute, list, n);
}

bool kernel_attributes(const struct kernel_entry *k, struct arena *a, struct attrs *out,
                       int *results, struct diag *d)
{
    const struct program_region *main = &k->p->regions[0];
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool ok = f && program_print_whole(k->p, f);
    if (f && fclose(f) != 0)
        ok = false;
    *out = (struct attrs){0};
    if (ok) {
        attr_set_str(a, out, "kernel", k->name);
        attr_set_strn(a, out, "assembly", (struct str){text, size});
        set_types(k->p, main->params, main->nparams, NULL, "inputs", a, out);
        set_types(k->p, main->results, main->nresults, k->p->output_names, "outputs", a, out);
        *results = main->nresults;
    }
    free(text);
    return ok || fail_memory(d, "out of memory");
}

bool kernel_attributes_of_text(const char *text, size_t n, const char *name, struct arena *a,
                               struct attrs *out, int *results, struct diag *d)
{
    struct kernel_library lib = {0};
    bool ok = kernel_library_parse(&lib, text, n, "assembly", d);
    const struct kernel_entry *k = ok ? name ? kernel_library_find(&lib, name) : &lib.list[0] : NULL;
    if (ok && !k)
        ok = fail(d, "the assembly that the call carries has no kernel '%.200s'; it has %s", name,
                  kernel_library_text(&lib, a));
    ok = ok && kernel_attributes(k, a, out, results, d);
    kernel_library_free(&lib);
    return ok;
}
