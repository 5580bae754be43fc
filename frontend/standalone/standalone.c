#include "frontend/standalone/sets.h"
#include "frontend/standalone/standalone.h"

#include "frontend/standalone/amalgamate.h"
#include "frontend/standalone/sources.h"
#include "neff/base/file.h"
#include "neff/isa/codec.h"
#include "neff/isa/program_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIN_ROOM = 4096 };   /* bytes of an output that only running sizes */
enum { MAX_IN_C = 1 << 20 };               /* bytes of weights that become C unless asked to */

/* ---- names ---- */

static const char *upper(struct arena *a, const char *name)
{
    char *s = arena_strdup(a, name);
    for (char *c = s; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return s;
}

/* ---- instruction sets ---- */

static const struct kernel_set *find_set(const char *name, size_t n)
{
    for (int i = 0; i < nkernel_sets; i++)
        if (strlen(kernel_sets[i].name) == n && !strncmp(kernel_sets[i].name, name, n))
            return &kernel_sets[i];
    return NULL;
}

/* The names of all sets, with a comma between them. */
static const char *all_sets(struct arena *a)
{
    const char *text = kernel_sets[0].name;
    for (int i = 1; i < nkernel_sets; i++)
        text = arena_printf(a, "%s,%s", text, kernel_sets[i].name);
    return text;
}

/* Sets are words between blanks. */
static char *with_set(struct arena *a, char *isa, const char *name, size_t n)
{
    const char *word = arena_printf(a, " %.*s ", (int)n, name);
    return strstr(isa, word) ? isa : arena_printf(a, "%s%s", isa, word + 1);
}

static bool read_isa(struct package *k, struct diag *d)
{
    const char *list = k->o->isa ? k->o->isa : all_sets(&k->arena);
    char *isa = arena_strdup(&k->arena, " ");
    for (const char *s = list; *s;) {
        size_t n = strcspn(s, ",");
        const struct kernel_set *set = find_set(s, n);
        if (!set)
            return fail(d, "--isa: '%.*s' is not known, expected some of %s", (int)n, s, all_sets(&k->arena));
        isa = with_set(&k->arena, isa, s, n);
        for (const char *w = set->with; w && *w; w += strcspn(w, " "), w += *w == ' ')
            isa = with_set(&k->arena, isa, w, strcspn(w, " "));
        s += n + (s[n] == ',');
    }
    k->isa = isa;
    return isa[1] || fail(d, "--isa: no instruction set is named");
}

/* Whether the name is one of those between commas. */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    const char *at = list;
    while (at && (strncmp(at, name, n) || (at[n] && at[n] != ',')))
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at != NULL;
}

int standalone_bf16_rate(const char *isa)
{
    int largest = 0;
#define KERNEL_VARIANT(name, built, base, dots, integer_dots, exact_base, unit, rate)                                  \
    if ((!isa || is_listed(isa, #name)) && (rate) > largest)                                                           \
        largest = rate;
#include "runtime/kernels/kernels.def"
    return largest;
}

/* ---- what can be a C function ---- */

static bool refuse(struct package *k, int slot, const char *name, const char *what, struct diag *d)
{
    return fail(d, "--standalone: %s '%s' is %s, only tensors of numbers are passed", what, name,
                type_text(&k->p->dims, &k->arena, &k->p->slots[slot].type));
}

/* Whether only running tells its size. */
static bool is_surprise(const struct program *p, const struct type *t)
{
    bool open = t->rank < 0;
    for (int i = 0; i < t->rank; i++)
        open |= dim_is_runtime(&p->dims, t->dims[i]);
    return open;
}

static bool check_program(struct package *k, struct diag *d)
{
    const struct program_region *r = &k->p->regions[0];
    if (k->p->target && strcmp(k->p->target, "cpu") != 0)
        return fail(d, "--standalone compiles for the cpu target, not for %s", k->p->target);
    for (int i = 0; i < r->nparams; i++) {
        const struct type *t = &k->p->slots[r->params[i]].type;
        if (t->kind != VK_TENSOR || t->dtype == DT_STR || is_surprise(k->p, t))
            return refuse(k, r->params[i], k->p->slots[r->params[i]].name, "input", d);
    }
    k->room = ARENA_ARRAY(&k->arena, size_t, r->nresults + 1);
    for (int i = 0; i < r->nresults; i++) {
        const struct type *t = &k->p->slots[r->results[i]].type;
        if (t->kind != VK_TENSOR || t->dtype == DT_STR)
            return refuse(k, r->results[i], k->p->output_names[i], "output", d);
        k->room[i] = is_surprise(k->p, t) ? MIN_ROOM : 0; /* or more, when it is measured */
    }
    return true;
}

/* Whether a dimension is that of a batch, rather than the length of something. */
static bool is_batch(const struct program *p, int symbol)
{
    const struct program_region *r = &p->regions[0];
    for (int i = 0; i < r->nparams; i++) {
        const struct type *t = &p->slots[r->params[i]].type;
        if (t->rank > 1 && dim_as_symbol(&p->dims, t->dims[0]) == symbol)
            return true;
    }
    return false;
}

static void find_open_dims(struct package *k)
{
    const struct program *p = k->p;
    k->open = ARENA_ARRAY(&k->arena, struct open_dim, p->dims.nsymbols + 1);
    for (int i = 0; i < p->dims.nsymbols; i++)
        if (!p->dims.symbols[i].runtime)
            k->open[k->nopen++] = (struct open_dim){.name = p->dims.symbols[i].name,
                                                    .batch = is_batch(p, i),
                                                    .limit = p->dims.symbols[i].max};
    for (int s = 0; s < p->nslots; s++)
        k->dynamic |= p->slots[s].kind == SLOT_DYNAMIC;
}

/* ---- files ---- */

/* The folders above a file that lies below `top`. */
static bool make_folders(struct arena *a, const char *top, const char *path, struct diag *d)
{
    for (const char *s = path; (s = strchr(s, '/')); s++)
        if (!make_folder(arena_printf(a, "%s/%.*s", top, (int)(s - path), path), d))
            return false;
    return true;
}

static bool write_constants(struct package *k, const char *path, struct diag *d)
{
    static const char zeros[CONSTANT_ALIGN];
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    for (int i = 0; i < k->p->nslots; i++) {
        const struct slot *s = &k->p->slots[i];
        if (s->kind != SLOT_CONST || s->type.dtype == DT_STR)
            continue;
        struct tensor made = {.kind = VK_NONE};
        bool make = !s->data.data && s->maker;
        if (make && !constant_make(s, &made, d)) {
            out_abandon(&o);
            return false;
        }
        const void *data = make ? made.data : s->data.data;
        size_t bytes = tensor_bytes(&s->data), rest = (CONSTANT_ALIGN - bytes % CONSTANT_ALIGN);
        fwrite(data, 1, bytes, o.f);
        fwrite(zeros, 1, rest % CONSTANT_ALIGN, o.f);
        tensor_free(&made);
    }
    fwrite(zeros, 1, k->constants_size ? 0 : 1, o.f);
    return out_commit(&o, d);
}

static bool encode(struct package *k, struct diag *d)
{
    struct codec c = codec_writer("program", &k->arena, d);
    k->at = program_constants(k->p, &k->arena, &k->constants_size);
    code_whole_program(&c, (struct program *)k->p, k->at, NULL); /* writing only reads it */
    k->code = c.out, k->code_size = c.at;
    return !c.failed;
}

static bool write_text(const struct package *k, const char *file, const bool *sources,
                       void (*text)(const struct package *k, const bool *sources, FILE *f),
                       struct diag *d)
{
    struct arena a = {0};
    struct out_file o;
    bool ok = out_open(&o, arena_printf(&a, "%s/%s", k->o->folder, file), d);
    if (ok)
        text(k, sources, o.f);
    ok = ok && out_commit(&o, d);
    arena_free(&a);
    return ok;
}

static void use_text(const struct package *k, const bool *sources, FILE *f)
{
    (void)sources;
    write_use(k, f);
}

static void header_text(const struct package *k, const bool *sources, FILE *f)
{
    (void)sources;
    write_header(k, f);
}

static void source_text(const struct package *k, const bool *sources, FILE *f)
{
    (void)sources;
    write_source(k, f);
}

static bool write_sources(struct package *k, const bool *needed, struct diag *d)
{
    const char *top = arena_printf(&k->arena, "%s/xrt", k->o->folder);
    if (!make_folder(top, d))
        return false;
    for (int i = 0; i < ncore_files; i++) {
        const struct core_file *f = &core_files[i];
        if (needed[i] && (!make_folders(&k->arena, top, f->path, d) ||
                          !file_write_all(arena_printf(&k->arena, "%s/%s", top, f->path), f->text,
                                          (size_t)(f->end - f->text), d)))
            return false;
    }
    return true;
}

static bool check_threads(const struct package *k, struct diag *d)
{
    return !k->o->threads || plan_is_possible(k) ||
           fail(d, "--threads: this model runs on the thread that calls it: %s",
                k->nopen ? "it has sizes that are open, set them by --shape"
                         : "not all of its operators are tile programs");
}

static bool write_package(struct package *k, struct diag *d)
{
    struct mapped_file constants;
    struct arena *a = &k->arena;
    const char *bin = arena_printf(a, "%s/%s.bin", k->o->folder, k->name);
    if (!make_folder(k->o->folder, d) || !write_constants(k, bin, d) ||
        !file_map(&constants, bin, d))
        return false;
    k->constants = constants.data;
    k->in_c = k->o->amalgamate || k->constants_size <= MAX_IN_C;
    k->bin = k->in_c ? "" : arena_printf(a, "%s.bin", k->name);
    bool ok = measure_context(k, d) && make_plan(k, d);
    if (ok) {
        k->use = use_find(k->p, k->forms, k->isa, a);
        bool *needed = sources_needed(k->use, a);
        bool one = k->o->amalgamate;
        ok = (one || (write_sources(k, needed, d) &&
                      write_text(k, arena_printf(a, "%s_use.h", k->name), needed, use_text, d))) &&
             copy_operators(k, d) &&
             write_text(k, arena_printf(a, "%s.h", k->name), needed, header_text, d) &&
             write_text(k, arena_printf(a, "%s.c", k->name), needed,
                        one ? write_amalgamation : source_text, d) &&
             write_text(k, "Makefile", needed, write_makefile, d);
    }
    file_unmap(&constants);
    if (k->in_c || !ok)
        unlink(bin);
    return ok;
}

bool standalone_write(struct program *p, const struct standalone_options *o, struct diag *d)
{
    struct package k = {.o = o, .p = p};
    k.name = c_identifier(&k.arena, o->model);
    k.upper = upper(&k.arena, k.name);
    find_open_dims(&k);
    bool ok = read_isa(&k, d) && check_program(&k, d) && check_threads(&k, d) && encode(&k, d);
    ok = ok && write_package(&k, d);
    arena_free(&k.arena);
    return ok;
}
